import type { Actor } from '@domain-steward/slack-workspace';
import { expect, it } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import { performAndReadReply, readCommandReply, textOf, until, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand } from '../support/orders.ts';

const t = useTestDemo({ settings: { APPROVERS: 'U0BOB' } });
const NOW = new Date();
const MONTH = NOW.toISOString().slice(0, 7);
const inDays = (days: number) => new Date(NOW.getTime() + days * 86_400_000).toISOString().slice(0, 10);
/** `November 2026`. */
const monthOf = (day: string) =>
  new Date(day).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

it('the spending of a year or month is shown with upcoming costs, and exported as a file', async () => {
  const price = { zone: 'rest', period: 1, validFrom: '2020-01-01', source: 'Contract 7' } as const;
  await t.demo.bot.prices.save(
    diffPrices([], [{ ...price, task: 'renew', amount: { currency: 'EUR', minor: 1_850 } }]),
    'U0ADA',
    NOW,
  );
  await readCommandReply(t.workspace, t.alice, `/domain watch later.rest ${inDays(100)}`);
  const renewed = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2'),
  );
  await renewed.waitForResult('SUCCEEDED');
  const denied = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  await t.alice.click(denied.card, 'order_cancel');
  await denied.waitForState('CANCELLED');

  const year = await readCommandReply(t.workspace, t.alice, '/domain spend');
  expect(year).toContain(`Spent about €37.00 in ${MONTH.slice(0, 4)}, for 1 name.`);
  const month = await readCommandReply(t.workspace, t.alice, `/domain spend ${MONTH}`);
  expect(month).toContain('about €37.00');
  expect(month).toContain(`${monthOf(inDays(100))}\nabout €18.50\n1`);
  expect(await readCommandReply(t.workspace, t.alice, '/domain spend 2021')).toContain(
    'No spending in 2021.',
  );
  expect(await readCommandReply(t.workspace, t.alice, '/domain spend last week')).toContain(
    'isn’t a year or month',
  );

  const shown = t.alice.ephemerals().find((message) => textOf(message).includes(`in ${monthOf(MONTH)}, for`));
  if (shown === undefined) throw new Error('the month was not shown');
  expect(JSON.stringify(shown.blocks)).toContain('data_visualization');
  await performAndReadReply(t.workspace, t.alice, () => t.alice.click(shown, 'spend_export'));
  const file = t.workspace.messages('D0ALICE').findLast(({ files }) => files !== undefined)?.files?.[0];
  if (file === undefined) throw new Error('no file was sent');
  const csv = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
  const lines = csv.split('\r\n');
  expect(lines.slice(0, 6)).toEqual([
    'list,what,names,names_without_price,amount,currency',
    'total,,1,0,37.00,EUR',
    `month,${MONTH},1,0,37.00,EUR`,
    'task,renew,1,0,37.00,EUR',
    'zone,rest,1,0,37.00,EUR',
    'person,Alice (U0ALICE),1,0,37.00,EUR',
  ]);
  expect(lines).toContain(`ahead,${inDays(100).slice(0, 7)},1,0,18.50,EUR`);
});

it('private orders are in everyone’s totals, but shown only to people who can see them', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest', 'D0ALICE');
  const copy = await t.workspace.waitFor(
    () => t.workspace.messages('D0BOB').find((message) => textOf(message).includes(order.id)),
    { what: 'the order’s card for Bob' },
  );
  await t.bob.click(copy, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  await t.demo.bot.catchUp();
  const showSpend = (person: Actor) => readCommandReply(t.workspace, person, `/domain spend ${MONTH}`);
  for (const person of [t.alice, t.bob, t.ada]) {
    const text = await showSpend(person);
    expect(text).toContain(`about €55.50 in ${monthOf(MONTH)}, for 2 names.`);
    expect(text).toMatch(/By zone\n\.rest\nabout €55\.50\n2\n/);
    expect(text).not.toContain('private orders');
  }
  const text = await showSpend(t.carol);
  expect(text, 'the team’s total').toContain(`about €55.50 in ${monthOf(MONTH)}, for 2 names.`);
  expect(text).toMatch(/By zone\nprivate orders\nabout €18\.50\n1\nBy zone\n\.rest\nabout €37\.00\n1/);
  expect(text).toMatch(/By person\nprivate orders\nabout €18\.50\n1/);

  const shown = t.carol.ephemerals().at(-1);
  if (shown === undefined) throw new Error('no spend report was shown');
  await performAndReadReply(t.workspace, t.carol, () => t.carol.click(shown, 'spend_export'));
  const file = t.workspace.messages('D0CAROL').findLast(({ files }) => files !== undefined)?.files?.[0];
  if (file === undefined) throw new Error('no file was sent');
  const csv = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
  expect(csv).toContain('person,private orders,1,0,18.50,EUR\r\nperson,Alice (U0ALICE),1,0,37.00,EUR');
});

it('paid names without a website or mail are listed, but not names whose lookups failed', async () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  await readCommandReply(t.workspace, t.alice, '/domain unwatch later.rest');
  sandbox.faults.set({ kind: 'servfail', match: { name: 'deli.rest' } });
  for (const name of ['locked.rest', 'deli.rest', 'cafe.rest']) {
    await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`);
  }
  const line = '1 name has no website or mail.';
  let text = '';
  await until('lookups of the names', async () => {
    await t.demo.bot.catchUp();
    text = await readCommandReply(t.workspace, t.alice, '/domain spend');
    return text.includes(line);
  });
  expect(text).toContain(
    `${line} Renewing it for 1 year would cost about €18.50. To list it, use \`/domain names unused\`.`,
  );
  const found = await readCommandReply(t.workspace, t.alice, '/domain names unused');
  expect(found).toContain('locked.rest');
  expect(found).not.toMatch(/deli\.rest|cafe\.rest/);
});
