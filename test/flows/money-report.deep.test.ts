import { expect, it } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import { performAndWaitForView, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand } from '../support/orders.ts';

const EXPIRY_CHANNEL = 'C0EXPIRY';
const DAY_MS = 86_400_000;
const FINANCE_CHANNEL = 'C0GENERAL';
const t = useTestDemo({ linkedPeople: ['alice', 'bob'], settings: { REPORT_CHANNEL: FINANCE_CHANNEL } });

const listReports = (channel = FINANCE_CHANNEL) =>
  t.workspace.messages(channel).filter((message) => textOf(message).includes('Money report'));

it('a finished month is reported once, with spending, upcoming costs, decisions and problems', async () => {
  const now = new Date();
  await t.demo.bot.prices.save(
    diffPrices(
      [],
      [
        {
          zone: 'rest',
          task: 'renew',
          period: 1,
          amount: { currency: 'EUR', minor: 1_850 },
          validFrom: '2020-01-01',
          source: 'Contract 7',
        },
      ],
    ),
    'U0ADA',
    now,
  );
  const noon = new Date(t.service.clock.registryTime() + 100 * DAY_MS).setUTCHours(12, 0, 0, 0);
  t.service.state.addDomain({ name: 'later.rest', context: 4, expires: noon });
  await readCommandReply(t.workspace, t.alice, '/domain watch later.rest');
  const renewal = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2'),
  );
  await renewal.waitForResult('SUCCEEDED');
  const denied = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(denied.card, 'order_deny'));
  await t.bob.submit(form, { reason: 'not needed' });
  await denied.waitForState('DENIED');
  expect(listReports()).toEqual([]);

  // On the second day of the next month, its first digest has been sent in every time zone.
  const secondOfNextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2, 12);
  await t.demo.moveTime(secondOfNextMonth - now.getTime());
  const [report] = listReports();
  const text = report === undefined ? 'no report' : textOf(report);
  const month = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  expect(text).toContain(`Money report for ${month.format(now)}`);
  expect(text).toContain('*Spent*: about €37.00, for 1 name');
  expect(text).toMatch(/\*Next 12 months\*: about €/);
  expect(text).toMatch(/<@U0BOB> approved 1 order in 1 minute/);
  expect(text).toMatch(/<@U0BOB> denied 1 order/);
  expect(text).toMatch(/\*New problems\*: .*Owner \(\d+\)/);
  await t.demo.moveTime(DAY_MS);
  expect(listReports()).toHaveLength(1);
  expect(listReports(EXPIRY_CHANNEL), 'reports in another channel').toEqual([]);
});
