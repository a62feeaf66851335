import { expect, test } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import { performAndWaitForView, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';

/* The cost of waiting is shown wherever people decide about a name. */

const EXPIRY = 'C0EXPIRY';
const DAY_MS = 86_400_000;
const t = useTestDemo();

test('the cost of waiting is shown by /domain name and before a lapse, and sorts the digest', async () => {
  const price = { period: 1, validFrom: '2020-01-01', source: 'Contract 7' } as const;
  const eur = (minor: number) => ({ currency: 'EUR', minor });
  await t.demo.bot.prices.save(
    diffPrices(
      [],
      [
        { ...price, zone: 'rest', task: 'renew', amount: eur(1_800) },
        { ...price, zone: 'rest', task: 'restore', amount: eur(8_000) },
      ],
    ),
    'U0ADA',
    new Date(),
  );
  const noon = new Date(t.service.clock.registryTime() + 8 * DAY_MS).setUTCHours(12, 0, 0, 0);
  for (const name of ['zebra.rest', 'aaa.example']) {
    if (name.endsWith('.rest')) t.service.state.addDomain({ name, context: 4, expires: noon });
    const day = name.endsWith('.rest') ? '' : ` ${new Date(noon).toISOString().slice(0, 10)}`;
    await readCommandReply(t.workspace, t.alice, `/domain watch ${name}${day}`);
  }
  expect(await readCommandReply(t.workspace, t.alice, '/domain name zebra.rest')).toMatch(
    /Deadlines and costs: renew by .*, about €18\.00, then late renewal .* then restore for about €98\.00 until .*, then anyone can register it/,
  );

  await t.demo.moveTime(DAY_MS);
  const digest = t.workspace.messages(EXPIRY).find((message) => textOf(message).includes('need a decision'));
  if (digest === undefined) throw new Error('no digest was posted');
  const text = textOf(digest);
  expect(text.indexOf('zebra.rest'), 'the more expensive name first').toBeLessThan(
    text.indexOf('aaa.example'),
  );

  const form = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(digest, 'reminder_lapse', { value: 'zebra.rest' }),
  );
  expect(JSON.stringify(form.blocks)).toContain('Deadlines and costs: renew by');
  await t.alice.submit(form, { reason: 'campaign is over' });
  await t.workspace.waitFor(
    () =>
      t.workspace
        .messages(EXPIRY)
        .some((message) => /let it lapse.*Deadlines and costs: renew by/s.test(textOf(message))) || undefined,
    { what: 'the cost of waiting in the request' },
  );
});
