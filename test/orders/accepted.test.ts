import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import type { Order } from '../../src/orders/order.ts';
import type { RegistryLookup } from '../../src/orders/ports.ts';
import { Secret } from '../../src/service/secret.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { textOf } from '../support/demo.ts';
import { type Rig, startRig } from './rig.ts';

/*
 * A task that the service has only accepted is done when the registry shows it. If the registry doesn't for long,
 * people are notified while there is time to ask.
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

async function accepted(task: 'restore' | 'transfer'): Promise<Order> {
  const secret = task === 'transfer' ? { secret: new Secret('x') } : {};
  const order = await rig.ask(task, task === 'transfer' ? TRANSFER : { name: 'cafe.rest' }, secret);
  await approveOrder(rig.orders, order.id, 'U0BOB');
  await rig.runDue();
  // As if the watch list had it.
  await rig.sql('UPDATE order_items SET followed_at = $1 WHERE order_id = $2', rig.now, order.id);
  return rig.read(order.id);
}

/** Some days pass, followed by a registry lookup. */
async function lookAfter(days: number, order: Order, seen: RegistryLookup): Promise<void> {
  rig.pass(days * DAY_MS);
  await rig.startProcess({ lookUpAtRegistry: async () => seen }).advance(order.id, 'observation');
}

const told = async (order: Order) =>
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
  'a %s that the registry doesn’t show is reported after %i days, once',
  async (task, days, words) => {
    const order = await accepted(task);
    expect(order.state).toBe('SUCCEEDED');
    await lookAfter(days - 0.1, order, 'not_shown');
    expect(await told(order)).toEqual([]);
    await lookAfter(0.1, order, 'unknown');
    expect(await told(order), 'many registries do not tell').toEqual([]);
    await lookAfter(0, order, 'not_shown');
    await lookAfter(1, order, 'not_shown');
    const [overdue, ...others] = await told(order);
    expect(others).toEqual([]);
    if (overdue === undefined) throw new Error('no one was notified');
    const reply = orderReply(await rig.read(order.id), overdue, []);
    expect(reply && textOf({ text: reply.text, blocks: [] })).toMatch(words);

    await lookAfter(1, order, 'shown');
    await lookAfter(1, order, 'not_shown');
    expect((await told(order)).map(({ kind }) => kind)).toEqual(['overdue', 'confirmed_by_registry']);
  },
);
