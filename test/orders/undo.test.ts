import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PreviousNameServers, undoOrder } from '../../src/orders/undo.ts';
import { HOUR_MS, type Rig, requireAccepted, startRig } from './rig.ts';

/* Undoing a nameserver change: the request, permissions and the deadline. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const FORMER_NAMESERVERS = ['ns1.former.example', 'ns2.former.example'];

async function changeNameServers() {
  const nameServers = ['ns1.new.example', 'ns2.new.example'];
  const { id } = await rig.requestAccepted('nameservers', { name: 'cafe.rest', nameServers });
  await rig.runDue();
  const order = await rig.read(id);
  expect(order.state).toBe('SUCCEEDED');
  return order;
}

const undo = (
  orderId: string,
  userId = 'U0ALICE',
  former: PreviousNameServers = { kind: 'known', nameServers: FORMER_NAMESERVERS },
) =>
  undoOrder(rig.orders, {
    ...{ orderId, userId, reason: 'undo', deliveryId: `undo ${orderId} ${userId}` },
    findPreviousNameServers: async () => former,
  });
const refusedWith = (code: string) => ({ kind: 'refused', refusal: { code } });

test('undoing requests the former nameservers with the same account', async () => {
  const order = await changeNameServers();
  expect(requireAccepted(await undo(order.id))).toMatchObject({
    task: 'nameservers',
    input: { name: 'cafe.rest', nameServers: FORMER_NAMESERVERS },
    account: { id: order.account.id },
  });
});

test('undoing is possible for exactly 48 hours', async () => {
  const order = await changeNameServers();
  rig.advanceClock(48 * HOUR_MS - 1);
  expect(await undo(order.id, 'U0ALICE', { kind: 'unknown' })).toMatchObject(
    refusedWith('previous_nameservers_unknown'),
  );
  rig.advanceClock(1);
  expect(await undo(order.id)).toMatchObject(refusedWith('undo_expired'));
});

test('only the requester and approvers can undo, if there is something to restore', async () => {
  const order = await changeNameServers();
  expect(await undo(order.id, 'U0EVE')).toMatchObject({ kind: 'refused' });
  expect(await undo(order.id, 'U0BOB', { kind: 'same' })).toMatchObject(refusedWith('nothing_to_undo'));
  rig.accounts.clear();
  expect(await undo(order.id)).toMatchObject(refusedWith('retry_account_gone'));
});
