import type { Actor } from '@domain-steward/slack-workspace';
import { beforeEach, expect, test } from 'vitest';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import {
  buttonsOf,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { countChargesFor, requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { downloadAuditLog, forgeClick, giveReason } from '../support/people.ts';

/* An admin approves alone with break glass, and another admin signs it off. */

const RULE: PolicyRule = {
  name: 'renewals',
  tasks: ['renew'],
  names: ['*'],
  by: [],
  over: undefined,
  decision: 'approve',
  approvers: ['S0APPROVERS', 'U0ALICE'],
  silent: [],
  needed: 2,
  ttlMs: undefined,
  remindAfterMs: undefined,
  escalateAfterMs: undefined,
  escalateTo: [],
  breakGlass: true,
  signed: false,
};
let policy: Policy = { version: 3, rules: [RULE] };
const t = useTestDemo({
  policy: { loadCurrentPolicy: async () => policy },
  settings: { ADMINS: 'U0ADA,U0BOB,U0ALICE', ALLOW_SELF_APPROVAL: 'true' },
});

beforeEach(async () => {
  policy = { version: 3, rules: [RULE] };
  await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL', 'U0ADA']);
});

const actAndReadReplyOf = (person: Actor, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);
/** Lists direct messages to a person about an emergency approval of an order. */
const listNotices = (channel: string, order: VisibleOrder) =>
  t.workspace
    .messages(channel)
    .filter((message) => /alone \(break glass\)/.test(textOf(message)) && textOf(message).includes(order.id));
const waitForCardText = (order: VisibleOrder, text: string) =>
  until(`the card of ${order.id} shows “${text}”`, () => textOf(order.card).includes(text));

async function readHome(person: Actor): Promise<string> {
  const before = person.homeView()?.hash;
  await person.openHome();
  await until('a new version of Home', () => person.homeView()?.hash !== before);
  return textOf(person.homeView() ?? { blocks: [] });
}

test('an admin approves alone, everyone is notified, and another admin signs it off', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  expect(buttonsOf(order.card)).toContain('order_break_glass');
  expect(await actAndReadReplyOf(t.carol, () => t.carol.click(order.card, 'order_break_glass'))).toContain(
    'Only admins can use break glass.',
  );
  expect(await actAndReadReplyOf(t.alice, () => t.alice.click(order.card, 'order_break_glass'))).toContain(
    'You requested this, so you can’t use break glass for it.',
  );
  const form = await performAndWaitForView(t.workspace, t.ada, () =>
    t.ada.click(order.card, 'order_break_glass'),
  );
  expect(form.callback_id).toBe('break_glass');
  expect(await t.ada.submit(form, { reason: '  ' })).toMatchObject({ outcome: 'errors' });
  expect(order.state).toBe('PENDING');
  expect(await t.ada.submit(form, { reason: 'The <shop> is down' })).toEqual({ outcome: 'closed' });
  await order.waitForResult('SUCCEEDED');
  expect(countChargesFor(t.service, 'cafe.rest')).toBe(1);

  await waitForCardText(order, '<@U0ADA> used break glass (not reviewed yet): “The &lt;shop&gt; is down”');
  expect(buttonsOf(order.card)).toEqual(['order_look', 'order_sign_off', 'order_receipt']);
  const thread = order.replies().map(textOf);
  expect(thread.filter((text) => text.includes('<@U0ADA> approved this alone (break glass)'))).toHaveLength(
    1,
  );
  // Carol is an approver and Bob an admin; the person who approved and the requester already know.
  await until('notices to Carol and Bob', () =>
    ['D0CAROL', 'D0BOB'].every((channel) => listNotices(channel, order).length > 0),
  );
  expect(textOf(listNotices('D0CAROL', order)[0] ?? { blocks: [] })).toContain('“The &lt;shop&gt; is down”');
  await t.demo.bot.catchUp();
  expect(['D0CAROL', 'D0BOB', 'D0ADA', 'D0ALICE'].map((each) => listNotices(each, order).length)).toEqual([
    1, 1, 0, 0,
  ]);

  expect(await readCommandReply(t.workspace, t.carol, '/domain orders review')).toContain(order.id);
  expect(await readHome(t.bob)).toMatch(
    /Emergency approvals to sign off[\s\S]*Renew cafe\.rest.*approved alone by <@U0ADA> \(break glass\)/,
  );
  expect(await readHome(t.carol)).not.toContain('to sign off');
  expect(await readHome(t.ada)).toContain('Another admin has to sign off on it.');
  expect(await actAndReadReplyOf(t.ada, () => t.ada.click(order.card, 'order_sign_off'))).toContain(
    'You approved this alone, so another admin has to sign off on it.',
  );
  expect(await actAndReadReplyOf(t.alice, () => t.alice.click(order.card, 'order_sign_off'))).toContain(
    'You requested this, so another admin has to sign off on it.',
  );
  expect(await actAndReadReplyOf(t.carol, () => t.carol.click(order.card, 'order_sign_off'))).toContain(
    'Only admins can sign this off.',
  );
  const home = t.bob.homeView();
  if (home === undefined) throw new Error('Bob has no Home tab');
  await t.bob.click(home, 'order_sign_off', { value: order.id });
  await waitForCardText(
    order,
    '<@U0ADA> used break glass (signed off by <@U0BOB>): “The &lt;shop&gt; is down”',
  );
  expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
  expect(await readCommandReply(t.workspace, t.carol, '/domain orders review')).toContain(
    'Nothing is waiting for sign-off',
  );
  expect(await readHome(t.bob)).not.toContain('to sign off');
  await forgeClick(t.workspace, 'U0BOB', 'order_sign_off', order.id);
  await until('the reply to Bob that it is already signed off', () =>
    t.workspace
      .messages('D0BOB')
      .some((message) => textOf(message).includes('<@U0BOB> already signed this off.')),
  );
  expect(order.replies().map(textOf).join()).toContain(
    '<@U0BOB> signed off on <@U0ADA>’s emergency approval',
  );
  await t.demo.bot.catchUp();
  expect(listNotices('D0CAROL', order), 'notified once').toHaveLength(1);

  expect(await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`)).toMatch(
    /approved by one admin \(break glass\) by <@U0ADA> “The &lt;shop&gt; is down”[\s\S]*emergency approval signed off by <@U0BOB>/,
  );
  const { csv } = await downloadAuditLog(t.workspace);
  expect(csv).toMatch(
    new RegExp(
      `,emergency_approved,Ada \\(U0ADA\\),${order.id},APPROVED,.*Ada \\(U0ADA\\),The <shop> is down,`,
    ),
  );
  expect(csv).toMatch(new RegExp(`,signed_off,Bob \\(U0BOB\\),${order.id},SUCCEEDED,`));
});

test('an admin who can’t see the card gets the buttons with /domain order', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew grill.rest', 'D0ALICE');
  const showOrder = async (person: Actor) => {
    await readCommandReply(t.workspace, person, `/domain order ${order.id}`);
    const message = person.ephemerals().at(-1);
    if (message === undefined) throw new Error('the order was not shown');
    return message;
  };
  const pendingMessage = await showOrder(t.bob);
  expect(buttonsOf(pendingMessage)).toContain('order_break_glass');
  await giveReason(t.workspace, t.bob, pendingMessage, 'order_break_glass', 'The shop is down');
  await order.waitForResult('SUCCEEDED');
  expect(buttonsOf(await showOrder(t.ada))).toContain('order_sign_off');
  await t.ada.click(await showOrder(t.ada), 'order_sign_off');
  await waitForCardText(order, 'signed off by <@U0ADA>');
});

test('a notice to an unreachable person is retried without delaying other notices', async () => {
  t.workspace.faults.set({
    method: 'chat.postMessage',
    kind: 'error',
    code: 'internal_error',
    channel: 'D0CAROL',
  });
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew chef.rest');
  await giveReason(t.workspace, t.ada, order.card, 'order_break_glass', 'The shop is down');
  await order.waitForResult('SUCCEEDED');
  await until('a notice to Bob', () => listNotices('D0BOB', order).length > 0);
  expect(listNotices('D0CAROL', order)).toEqual([]);
  t.workspace.faults.clear();
  await t.demo.moveTime(60_000);
  await until('a notice to Carol', () => listNotices('D0CAROL', order).length > 0);
  await t.demo.bot.catchUp();
  expect(listNotices('D0BOB', order)).toHaveLength(1);
  expect(listNotices('D0CAROL', order)).toHaveLength(1);
});
