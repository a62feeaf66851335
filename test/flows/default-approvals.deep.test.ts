import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { link, textOf, useTestDemo } from '../support/demo.ts';
import { MAIN, startSurroundings } from '../support/harness.ts';
import { ask } from '../support/orders.ts';
import { askAndConfirm } from '../support/people.ts';

/*
 * What waits for an approver where nobody has set it: what costs money, and what can lose a name.
 */

// Empty counts as unset: the default holds.
const t = useTestDemo({ settings: { APPROVAL_TASKS: '' } });

test('an auth code is fetched once an approver has let it go', async () => {
  const order = await ask(t.workspace, t.alice, '/domain authcode tavern.rest');
  await order.becomes('PENDING');
  expect(t.service.requestsFor({ task: 'domain.authinfo' })).toEqual([]);
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
});

test('a deletion that is confirmed waits for an approver', async () => {
  const order = await askAndConfirm(t.workspace, t.alice, '/domain delete deli.rest', 'deli.rest');
  await order.becomes('PENDING');
  expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);
});

test('nameservers that are confirmed go out at once', async () => {
  const text = '/domain nameservers cafe.rest ns1.example.net ns2.example.net';
  const order = await askAndConfirm(t.workspace, t.alice, text, 'cafe.rest');
  await order.ends('SUCCEEDED');
});

test('an update tells admins once of the new default, where the environment sets no tasks', {
  timeout: 60_000,
}, async () => {
  const s = await startSurroundings();
  onTestFinished(() => s.stop());
  const admins = { ADMINS: 'U0ADA', APPROVAL_TASKS: undefined };
  const former = await s.start(MAIN, admins);
  const alice = s.workspace.as('U0ALICE');
  await link(s.workspace, alice);
  const order = await ask(s.workspace, alice, '/domain renew deli.rest');
  await order.becomes('PENDING');
  await former.child.kill();
  expect(s.workspace.messages('D0ADA'), 'nothing is new to who starts with it').toEqual([]);

  const database = openDatabase({ url: s.databaseUrl });
  onTestFinished(() => database.close());
  // As a former release left it.
  await database.prisma.setting.deleteMany();
  await s.start(MAIN, admins);
  const told = await s.workspace.waitFor(() => s.workspace.messages('D0ADA')[0], { what: 'Ada to be told' });
  expect(textOf(told)).toContain('APPROVAL_TASKS=create,transfer,renew,restore');
});
