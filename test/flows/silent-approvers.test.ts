import { expect, test } from 'vitest';
import { openedAfter, openForm, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { ask, orderAfter, type SeenOrder } from '../support/orders.ts';
import { closed } from '../support/people.ts';

/* Silent approvers may approve, and are never mentioned, messaged or reminded. */

const t = useTestDemo({
  settings: { ADMINS: 'U0ADA,U0BOB', APPROVERS: 'U0BOB', SILENT_APPROVERS: 'U0CAROL' },
});

const MENTION = '<@U0CAROL>';
const POSTED = new Set(['chat.postMessage', 'chat.update']);

function expectSilence(order: SeenOrder): void {
  const posted = t.workspace.calls.filter(({ method }) => POSTED.has(method));
  expect(posted.filter((call) => JSON.stringify(call).includes(MENTION))).toEqual([]);
  expect(order.messages().flatMap(({ notifies }) => notifies)).not.toContain('U0CAROL');
  expect(t.workspace.messages('D0CAROL')).toEqual([]);
}

test('a silent approver approves, is named without a mention, and is listed by Details', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew catering.rest');
  expect(textOf(order.card)).toMatch(/Waiting for <@U0BOB>, until/);
  const details = await openedAfter(t.workspace, t.bob, () => t.bob.click(order.card, 'order_look'));
  expect(textOf(details)).toMatch(/Can approve, not notified.*<@U0CAROL>/s);
  await t.carol.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
  await t.demo.bot.catchUp();
  expect(textOf(order.card)).toContain(`${t.carol.user.real_name} approved`);
  expectSilence(order);
});

test('copies, reminders and escalation reach only those who are called', async () => {
  const order = await orderAfter(
    t.workspace,
    () => t.alice.command('D0ALICE', '/domain renew chef.rest'),
    'D0ALICE',
  );
  await t.demo.moveTime(4 * 3_600_000 + 60_000);
  await t.demo.bot.catchUp();
  await t.demo.moveTime(21 * 3_600_000);
  await t.demo.bot.catchUp();
  expect(t.workspace.messages('D0BOB').map(textOf).join('\n')).toContain('chef.rest');
  expectSilence(order);
});

test('one more silent approver waits for another admin; a rule has its own', async () => {
  const view = await openForm(t.workspace, t.ada, '/domain settings');
  const told = await toldAfter(t.workspace, t.ada, async () =>
    closed(await t.ada.submit(view, { silent_approvers: ['U0CAROL', 'U0ADA'] })),
  );
  expect(told).toContain('Waiting for another admin');
  expect(told).toMatch(/Silent approvers: <@U0CAROL> → <@U0CAROL>, <@U0ADA>/);
});
