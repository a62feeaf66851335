import { parse } from 'csv-parse/sync';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { diffPrices } from '../../src/money/prices.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { newPolicyRule } from '../policy/sample.ts';
import {
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { downloadAuditLog, expectFormClosed } from '../support/people.ts';

/*
 * Each decision in the audit file has the person who decided, the person they stood in for, the rule, the
 * statement, and the admin who approved exceeding a budget.
 */

const BOB_RULE = newPolicyRule({
  name: 'what Bob decides',
  tasks: ['renew'],
  names: ['bar.rest'],
  approvers: ['U0BOB'],
});
const TWO_APPROVALS_RULE = newPolicyRule({
  name: 'what two decide',
  tasks: ['renew'],
  names: ['cafe.rest'],
  approvers: ['S0APPROVERS'],
  needed: 2,
});
const FREE_RULE = newPolicyRule({
  name: 'deli is free',
  tasks: ['renew'],
  names: ['deli.rest'],
  decision: 'free',
});
const policy: Policy = { version: 7, rules: [BOB_RULE, TWO_APPROVALS_RULE, FREE_RULE] };
const t = useTestDemo({ policy: { loadCurrentPolicy: async () => policy } });

afterEach(() => t.workspace.setUsergroupMembers('S0APPROVERS', ['U0BOB', 'U0CAROL']));

const rowsSchema = z.array(z.record(z.string(), z.string()));

/** Reads the lines of an order from the audit file, by event. */
async function readAuditLines(order: VisibleOrder): Promise<Record<string, Record<string, string>>> {
  const { csv } = await downloadAuditLog(t.workspace);
  const lines = rowsSchema
    .parse(parse(csv, { columns: true, bom: true }))
    .filter(({ order: id }) => id === order.id);
  return Object.fromEntries(lines.map((line) => [line['event'] ?? '', line]));
}

const ANY_HASH = expect.stringMatching(/^[0-9a-f]{64}$/);

test('a stand-in’s decision has the absent person, the rule, its version and the statement', async () => {
  await readCommandReply(t.workspace, t.bob, '/domain away 2d @carol');
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  await t.carol.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  const deniedOrder = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  const form = await performAndWaitForView(t.workspace, t.carol, () =>
    t.carol.click(deniedOrder.card, 'order_deny'),
  );
  expectFormClosed(await t.carol.submit(form, { reason: 'not again' }));
  await deniedOrder.waitForResult('DENIED');
  await readCommandReply(t.workspace, t.bob, '/domain back');
  expect((await readAuditLines(deniedOrder))['denied']).toMatchObject({
    decided_by: 'Carol (U0CAROL)',
    decision_reason: 'not again',
    for: 'Carol (U0CAROL) for Bob (U0BOB)',
    rule: 'what Bob decides',
    policy_version: '7',
    statement: ANY_HASH,
  });
  const { requested, approved } = await readAuditLines(order);
  expect(approved).toMatchObject({
    decided_by: 'Carol (U0CAROL)',
    for: 'Carol (U0CAROL) for Bob (U0BOB)',
    rule: 'what Bob decides',
    policy_version: '7',
    statement: ANY_HASH,
    exceeded: '',
  });
  expect(requested).toMatchObject({
    rule: 'what Bob decides',
    policy_version: '7',
    statement: approved?.['statement'],
  });
});

test('a free order names its rule, and a decision without a rule names the settings', async () => {
  const freeOrder = await requestByCommand(t.workspace, t.alice, '/domain renew deli.rest');
  await freeOrder.waitForResult('SUCCEEDED');
  expect((await readAuditLines(freeOrder))['requested']).toMatchObject({
    rule: 'deli is free',
    policy_version: '7',
    for: '',
  });
  const otherOrder = await requestByCommand(t.workspace, t.alice, '/domain renew tavern.rest');
  await t.bob.click(otherOrder.card, 'order_approve');
  await otherOrder.waitForResult('SUCCEEDED');
  expect((await readAuditLines(otherOrder))['approved']).toMatchObject({
    decided_by: 'Bob (U0BOB)',
    rule: 'the settings',
    policy_version: '7',
    for: '',
  });
});

test('a dropped approval isn’t listed in decided_by', async () => {
  await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0BOB', 'U0ADA', 'U0CAROL']);
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  await t.bob.click(order.card, 'order_approve');
  await t.workspace.waitFor(() => textOf(order.card).includes('1 of 2 approvals') || undefined, {
    what: 'the first approval',
  });
  await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0ADA', 'U0CAROL']);
  await t.ada.click(order.card, 'order_approve');
  await t.carol.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  const lines = await readAuditLines(order);
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
  const form = await performAndWaitForView(t.workspace, t.ada, () => t.ada.click(report, 'budget_add'));
  await performAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(form, { amount: '10.00', span: 'month' })),
  );
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew catering.rest');
  await t.bob.click(order.card, 'order_approve');
  await t.workspace.waitFor(() => order.replies().length > 0 || undefined, {
    what: 'the request to an admin in the thread',
  });
  await t.ada.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  const { approved } = await readAuditLines(order);
  expect(approved).toMatchObject({
    decided_by: 'Bob (U0BOB); Ada (U0ADA)',
    exceeded: expect.stringMatching(/budget for all names by €.*Approved by Ada \(U0ADA\)\.$/),
  });
});
