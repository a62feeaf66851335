import { describe, expect, it } from 'vitest';
import { performAndReadReply, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

const t = useTestDemo({
  settings: { APPROVALS_REQUIRED: '2', APPROVAL_REMIND_AFTER: '1h', APPROVERS: 'U0BOB,U0ADA,S0APPROVERS' },
});

function waitForReply(order: VisibleOrder, text: string): Promise<string> {
  return t.workspace.waitFor(
    () =>
      order
        .replies()
        .map(textOf)
        .find((reply) => reply.includes(text)),
    { what: `the thread of ${order.id} to say “${text}”` },
  );
}

function waitForCardText(order: VisibleOrder, text: string): Promise<string> {
  return t.workspace.waitFor(() => [textOf(order.card)].find((card) => card.includes(text)), {
    what: `the card of ${order.id} to show “${text}”`,
  });
}

describe('the card', () => {
  it('shows everything an approver needs to know, in reading order', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2 -- client paid');
    const card = textOf(order.card);
    const positions = [
      'Renew cafe.rest for 2 years',
      'Waiting for <@U0BOB>, <@U0ADA> or <!subteam^S0APPROVERS>, until ',
      '0 of 2 approvals',
      '<@U0ALICE>: “client paid”',
      'This costs money (price unknown)',
      'Expiry unknown, because the name isn’t watched',
      'Approve',
      `LIVE · alice/4 · \`${order.id}\``,
    ].map((text) => [card.indexOf(text), text] as const);
    expect(positions.filter(([at]) => at < 0)).toEqual([]);
    expect(positions.map(([at]) => at)).toEqual(positions.map(([at]) => at).sort((a, b) => a - b));
    expect(order.card.notifies.sort()).toEqual(['S0APPROVERS', 'U0ADA', 'U0ALICE', 'U0BOB']);
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });

  it('shows the current and the new expiry of a renewal', async () => {
    await readCommandReply(t.workspace, t.alice, '/domain watch deli.rest');
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew deli.rest 2');
    const [expiry = '', day, year] = /Expires (\d+ \w+) (\d{4}) → .*/.exec(textOf(order.card)) ?? [];
    expect(expiry).toContain(`→ ${day} ${Number(year) + 2}`);
    expect(await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`)).toContain(expiry);
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
    expect(textOf(order.card)).not.toContain('Expires');
  });

  it('warns about a restore of a name with no known deletion', async () => {
    await readCommandReply(t.workspace, t.alice, '/domain watch deli.rest');
    const order = await requestByCommand(t.workspace, t.alice, '/domain restore deli.rest');
    expect(textOf(order.card)).toContain(':warning: No known deletion');
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });

  it('escapes mentions in people’s texts', async () => {
    const order = await requestByCommand(
      t.workspace,
      t.alice,
      '/domain renew cafe.rest -- <!channel> <!here> <@U0DAVE> @everyone <!subteam^S0ELSE|x>',
    );
    await giveReason(t.workspace, t.bob, order.card, 'order_deny', '<!channel> no <@U0DAVE>');
    await order.waitForResult('DENIED');
    const expected = ['U0ALICE', 'U0BOB', 'U0ADA', 'S0APPROVERS'];
    const notifiedIds = order.messages().flatMap(({ notifies }) => notifies);
    expect(notifiedIds.filter((id) => !expected.includes(id))).toEqual([]);
    expect(textOf(order.card)).toContain('“&lt;!channel&gt; no &lt;@U0DAVE&gt;”');
  });
});

describe('an order that needs two approvals', () => {
  it('drops the approval of a person who is no longer an approver', async () => {
    const order = await requestAndApprove(
      t.carol,
      requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest'),
    );
    expect(await waitForReply(order, 'approved')).toContain('1 more approval is needed');
    await waitForCardText(order, '1 of 2 approvals (<@U0CAROL>)');
    const secondClickReply = await performAndReadReply(t.workspace, t.carol, () =>
      t.carol.click(order.card, 'order_approve'),
    );
    expect(secondClickReply).toContain('It needs another approver');

    await t.workspace.setUsergroupMembers('S0APPROVERS', []);
    await t.bob.click(order.card, 'order_approve');
    await waitForReply(order, '<@U0CAROL>’s approval no longer counts');
    await waitForCardText(order, '1 of 2 approvals (<@U0BOB>) · <@U0CAROL>’s approval no longer counts');
    expect(order.state).toBe('PENDING');
    expect(t.service.requests.filter(({ ctid }) => ctid === order.id)).toEqual([]);
    const refusal = await performAndReadReply(t.workspace, t.carol, () =>
      t.carol.click(order.card, 'order_approve'),
    );
    expect(refusal).toContain('Only approvers can approve orders. The card lists them.');

    await t.ada.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
  });

  it('sends one reminder to all its approvers', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    await t.demo.moveTime(61 * 60_000);
    await waitForReply(order, 'still waiting for approval');
    await t.demo.moveTime(61 * 60_000);
    const reminders = order.replies().filter((reply) => textOf(reply).includes('still waiting'));
    expect(reminders.map(({ notifies }) => notifies)).toEqual([['U0BOB', 'U0ADA', 'S0APPROVERS']]);
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });
});
