import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import type { Order } from '../../src/orders/order.ts';
import type { RegistryLookup } from '../../src/orders/ports.ts';
import { Secret } from '../../src/service/secret.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { textOf } from '../support/demo.ts';
import { type Rig, startRig } from './rig.ts';

/*
 * A task that the service has accepted is complete when the registry shows it. If the registry doesn't show it for
 * days, people are notified early enough to ask the service.
 */

const DAY_MS = 86_400_000;
let rig: Rig;

beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const TRANSFER = {
  name: 'cafe.rest',
  auth: 'x',
  ownerc: '1',
  adminc: '1',
  techc: '1',
  nameServers: ['a.example', 'b.example'],
};

async function createAcceptedOrder(task: 'restore' | 'transfer'): Promise<Order> {
  const secret = task === 'transfer' ? { secret: new Secret('x') } : {};
  const order = await rig.requestAccepted(
    task,
    task === 'transfer' ? TRANSFER : { name: 'cafe.rest' },
    secret,
  );
  await approveOrder(rig.orders, order.id, 'U0BOB');
  await rig.runDue();
  // Marks the watch list as updated.
  await rig.sql('UPDATE order_items SET followed_at = $1 WHERE order_id = $2', rig.now, order.id);
  return rig.read(order.id);
}

/** Advances the clock, and processes the result of a registry lookup. */
async function lookUpAfter(days: number, order: Order, lookup: RegistryLookup): Promise<void> {
  rig.advanceClock(days * DAY_MS);
  await rig.startProcess({ lookUpAtRegistry: async () => lookup }).advance(order.id, 'observation');
}

const listNotices = async (order: Order) =>
  (await rig.store.loadHistory(order.id, 'system')).filter(
    ({ kind }) => kind === 'overdue' || kind === 'confirmed_by_registry',
  );

test.each([
  [
    'restore',
    3,
    /^Restore cafe\.rest: the registry still shows cafe\.rest as deleted, 3 days after .*lost when its redemption period ends\.$/,
  ],
  [
    'transfer',
    7,
    /^Transfer cafe\.rest: the registry doesn’t show the transfer of cafe\.rest, 7 days after /,
  ],
] as const)(
  'a %s that the registry doesn’t show is reported once, after %i days',
  async (task, days, expectedText) => {
    const order = await createAcceptedOrder(task);
    expect(order.state).toBe('SUCCEEDED');
    await lookUpAfter(days - 0.1, order, 'not_shown');
    expect(await listNotices(order)).toEqual([]);
    await lookUpAfter(0.1, order, 'unknown');
    expect(await listNotices(order), 'after a lookup without a result').toEqual([]);
    await lookUpAfter(0, order, 'not_shown');
    await lookUpAfter(1, order, 'not_shown');
    const [overdue, ...others] = await listNotices(order);
    expect(others).toEqual([]);
    if (overdue === undefined) throw new Error('no notification was recorded');
    const reply = orderReply(await rig.read(order.id), overdue, []);
    expect(reply && textOf({ text: reply.text, blocks: [] })).toMatch(expectedText);

    await lookUpAfter(1, order, 'shown');
    await lookUpAfter(1, order, 'not_shown');
    expect((await listNotices(order)).map(({ kind }) => kind)).toEqual(['overdue', 'confirmed_by_registry']);
  },
);
