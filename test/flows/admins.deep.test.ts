import { expect, test } from 'vitest';
import { textOf, until, useTestDemo } from '../support/demo.ts';
import { requestByCommand, VisibleOrder } from '../support/orders.ts';

/* Without `ADMINS`, the workspace's admins and owners get the notifications for admins. */

const EXPIRY_CHANNEL = 'C0EXPIRY';
const t = useTestDemo({
  settings: {
    ADMINS: '',
    APPROVAL_ESCALATE_AFTER: '1s',
    REMINDER_CHANNEL: EXPIRY_CHANNEL,
  },
});

test('an escalation notifies the workspace’s admins, and the thread names them', async () => {
  const expires = new Date(t.service.clock.registryTime() + 86_400_000).setUTCHours(12, 0, 0, 0);
  t.service.state.addDomain({ name: 'waits.rest', context: 4, expires });
  await t.alice.command(EXPIRY_CHANNEL, '/domain watch waits.rest');
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew waits.rest');
  const escalation = await t.workspace.waitFor(
    () => order.replies().find((reply) => textOf(reply).includes('still waiting for approval')),
    { what: 'the escalation in the thread' },
  );
  expect(textOf(escalation)).toContain('I messaged <@U0ADA>');
  expect(new VisibleOrder(t.workspace, order.id, 'D0ADA').messages()).toHaveLength(1);
});

test('a channel that refuses messages is reported to the admins once and shown in /readyz', async () => {
  t.workspace.faults.set({
    method: 'chat.postMessage',
    channel: EXPIRY_CHANNEL,
    kind: 'error',
    code: 'is_archived',
  });
  const listAlerts = () =>
    t.workspace.messages('D0ADA').filter((message) => textOf(message).includes(`<#${EXPIRY_CHANNEL}>`));
  await t.demo.moveTime(86_400_000);
  await until('an admin is notified', () => listAlerts().length > 0);
  await t.demo.moveTime(86_400_000);
  await t.demo.bot.catchUp();
  expect(listAlerts()).toHaveLength(1);
  const ready = await fetch(`http://127.0.0.1:${t.demo.bot.port}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.text()).toContain(`${EXPIRY_CHANNEL}: is_archived`);
});
