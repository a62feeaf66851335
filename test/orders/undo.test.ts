import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PreviousNameServers, undoOrder } from '../../src/orders/undo.ts';
import { acceptedOf, HOUR_MS, type Rig, startRig } from './rig.ts';

/* Undoing a change of nameservers: the request, permissions and the deadline. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const FORMER = ['ns1.former.example', 'ns2.former.example'];

async function changed() {
  const nameServers = ['ns1.new.example', 'ns2.new.example'];
  const { id } = await rig.ask('nameservers', { name: 'cafe.rest', nameServers });
  await rig.runDue();
  const order = await rig.read(id);
  expect(order.state).toBe('SUCCEEDED');
  return order;
}

const undo = (
  orderId: string,
  userId = 'U0ALICE',
  former: PreviousNameServers = { kind: 'known', nameServers: FORMER },
) =>
  undoOrder(rig.orders, {
    ...{ orderId, userId, reason: 'undo', deliveryId: `undo ${orderId} ${userId}` },
    findPreviousNameServers: async () => former,
  });
const refusal = (code: string) => ({ kind: 'refused', refusal: { code } });

test('requests the former nameservers with the same account', async () => {
  const order = await changed();
  expect(acceptedOf(await undo(order.id))).toMatchObject({
    task: 'nameservers',
    input: { name: 'cafe.rest', nameServers: FORMER },
    account: { id: order.account.id },
  });
});

test('is possible for 48 hours, and not a moment longer', async () => {
  const order = await changed();
  rig.pass(48 * HOUR_MS - 1);
  expect(await undo(order.id, 'U0ALICE', { kind: 'unknown' })).toMatchObject(
    refusal('previous_nameservers_unknown'),
  );
  rig.pass(1);
  expect(await undo(order.id)).toMatchObject(refusal('undo_expired'));
});

test('is for the requester and approvers, while there is something to restore', async () => {
  const order = await changed();
  expect(await undo(order.id, 'U0EVE')).toMatchObject({ kind: 'refused' });
  expect(await undo(order.id, 'U0BOB', { kind: 'same' })).toMatchObject(refusal('nothing_to_undo'));
  rig.accounts.clear();
  expect(await undo(order.id)).toMatchObject(refusal('retry_account_gone'));
});
