import { expect, it } from 'vitest';
import { priceEdits } from '../../src/money/prices.ts';
import { textOf, useTestDemo } from '../support/demo.ts';

const FINANCE = 'C0GENERAL';
const t = useTestDemo({ settings: { REPORT_CHANNEL: FINANCE } });

it('the monthly report goes only to the channel chosen for it', async () => {
  const now = new Date();
  const amount = { currency: 'EUR', minor: 1_850 };
  const price = { zone: 'rest', task: 'renew', period: 1, validFrom: '2020-01-01', source: '' } as const;
  await t.demo.bot.prices.save(priceEdits([], [{ ...price, amount }]), 'U0ADA', now);
  // The second day of the next month, so that its first digest is over in every time zone.
  await t.demo.moveTime(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2, 12) - now.getTime());
  const reportsIn = (channel: string) =>
    t.workspace.messages(channel).filter((message) => textOf(message).includes('Money in')).length;
  expect(reportsIn(FINANCE)).toBe(1);
  expect(reportsIn('C0EXPIRY')).toBe(0);
});
