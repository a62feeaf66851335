import { parse } from 'csv-parse/sync';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { diffPrices } from '../../src/money/prices.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { rule } from '../policy/sample.ts';
import { actAndReadReply, actUntilOpened, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { downloadAuditLog, expectFormClosed } from '../support/people.ts';

/*
 * For each decision the audit file has who decided, for whom, the rule, the statement, and who approved exceeding
 * which budget.
 */

const DECIDED = rule({
  name: 'what Bob decides',
  tasks: ['renew'],
  names: ['bar.rest'],
  approvers: ['U0BOB'],
});
const TWO = rule({
  name: 'what two decide',
  tasks: ['renew'],
  names: ['cafe.rest'],
  approvers: ['S0APPROVERS'],
  needed: 2,
});
const FREE = rule({ name: 'deli is free', tasks: ['renew'], names: ['deli.rest'], decision: 'free' });
const policy: Policy = { version: 7, rules: [DECIDED, TWO, FREE] };
const t = useTestDemo({ policy: { current: async () => policy } });

afterEach(() => t.workspace.setUsergroup('S0APPROVERS', ['U0BOB', 'U0CAROL']));

const rows = z.array(z.record(z.string(), z.string()));

/** The lines of an order in the audit file, by event. */
async function auditLinesOf(order: VisibleOrder): Promise<Record<string, Record<string, string>>> {
  const { csv } = await downloadAuditLog(t.workspace);
  const found = rows
    .parse(parse(csv, { columns: true, bom: true }))
    .filter(({ order: id }) => id === order.id);
  return Object.fromEntries(found.map((line) => [line['event'] ?? '', line]));
}

const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);

test('a stand-in’s decision has the absent person, the rule, its version and the statement', async () => {
  await readCommandReply(t.workspace, t.bob, '/domain away 2d @carol');
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  await t.carol.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  const refused = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  const form = await actUntilOpened(t.workspace, t.carol, () => t.carol.click(refused.card, 'order_deny'));
  expectFormClosed(await t.carol.submit(form, { reason: 'not again' }));
  await refused.waitForResult('DENIED');
  await readCommandReply(t.workspace, t.bob, '/domain back');
  expect((await auditLinesOf(refused))['denied']).toMatchObject({
    decided_by: 'Carol (U0CAROL)',
    decision_reason: 'not again',
    for: 'Carol (U0CAROL) for Bob (U0BOB)',
    rule: 'what Bob decides',
    policy_version: '7',
    statement: HASH,
  });
  const { requested, approved } = await auditLinesOf(order);
  expect(approved).toMatchObject({
    decided_by: 'Carol (U0CAROL)',
    for: 'Carol (U0CAROL) for Bob (U0BOB)',
    rule: 'what Bob decides',
    policy_version: '7',
    statement: HASH,
    exceeded: '',
  });
  expect(requested).toMatchObject({
    rule: 'what Bob decides',
    policy_version: '7',
    statement: approved?.['statement'],
  });
});

test('a decision without a rule, or by a free rule, is marked as such', async () => {
  const free = await requestByCommand(t.workspace, t.alice, '/domain renew deli.rest');
  await free.waitForResult('SUCCEEDED');
  expect((await auditLinesOf(free))['requested']).toMatchObject({
    rule: 'deli is free',
    policy_version: '7',
    for: '',
  });
  const other = await requestByCommand(t.workspace, t.alice, '/domain renew tavern.rest');
  await t.bob.click(other.card, 'order_approve');
  await other.waitForResult('SUCCEEDED');
  expect((await auditLinesOf(other))['approved']).toMatchObject({
    decided_by: 'Bob (U0BOB)',
    rule: 'the settings',
    policy_version: '7',
    for: '',
  });
});

test('a dropped approval isn’t listed in decided_by', async () => {
  await t.workspace.setUsergroup('S0APPROVERS', ['U0BOB', 'U0ADA', 'U0CAROL']);
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  await t.bob.click(order.card, 'order_approve');
  await t.workspace.waitFor(() => textOf(order.card).includes('1 of 2 approvals') || undefined, {
    what: 'the first approval',
  });
  await t.workspace.setUsergroup('S0APPROVERS', ['U0ADA', 'U0CAROL']);
  await t.ada.click(order.card, 'order_approve');
  await t.carol.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  const lines = await auditLinesOf(order);
  for (const event of ['approved', 'sending', 'answered'])
    expect(lines[event]?.['decided_by'], event).toBe('Ada (U0ADA); Carol (U0CAROL)');
});

test('an approval to exceed a budget names the admin', async () => {
  const amount = { currency: 'EUR', minor: 1_800 };
  const price = { zone: 'rest', task: 'renew', period: 1, validFrom: '2020-01-01', source: 'C' } as const;
  await t.demo.bot.prices.save(diffPrices([], [{ ...price, amount }]), 'U0ADA', new Date());
  await readCommandReply(t.workspace, t.ada, '/domain spend');
  const report = t.ada.ephemerals().at(-1);
  if (report === undefined) throw new Error('no spend report was shown');
  const form = await actUntilOpened(t.workspace, t.ada, () => t.ada.click(report, 'budget_add'));
  await actAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(form, { amount: '10.00', span: 'month' })),
  );
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew catering.rest');
  await t.bob.click(order.card, 'order_approve');
  await t.workspace.waitFor(() => order.replies().length > 0 || undefined, {
    what: 'the request to an admin in the thread',
  });
  await t.ada.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  const { approved } = await auditLinesOf(order);
  expect(approved).toMatchObject({
    decided_by: 'Bob (U0BOB); Ada (U0ADA)',
    exceeded: expect.stringMatching(/budget for all names by €.*Approved by Ada \(U0ADA\)\.$/),
  });
});
