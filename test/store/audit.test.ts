import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventLog } from '../../src/ledger/events.ts';
import { createEventLog } from '../../src/store/events.ts';
import { at, collect, newOrder, type Rig, startExecution, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const ofOrders = async (read: ReturnType<EventLog['read']>) =>
  (await collect(read)).flatMap((logged) => ('event' in logged ? [] : logged));

test('the audit log of a period is sorted, with each line’s current order, for any batch size', async () => {
  const first = newOrder();
  await startExecution(rig, first);
  const second = await rig.save(newOrder({ createdAt: at(0) }));
  await rig.apply(second.id, { type: 'denied', by: 'U0BOB', reason: 'too dear' }, at(10));
  await rig.save(newOrder({ state: 'DRAFT' }));
  await rig.apply(first.id, { type: 'released' }, at(11));

  const expected = [
    [first.id, 'approved', at(1)],
    [first.id, 'claimed', at(2)],
    [first.id, 'sending', at(3)],
    [second.id, 'denied', at(10)],
  ];
  for (const batch of [1, 2, 3, 4, 5, 500]) {
    const rows = await ofOrders(createEventLog(rig.database, '', batch).read(at(1), at(11)));
    expect(
      rows.map(({ order, entry }) => [order.id, entry.kind, entry.at]),
      `in batches of ${batch}`,
    ).toEqual(expected);
    expect(rows[0]?.order).toEqual(await rig.read(first.id));
    expect(rows[3]).toMatchObject({
      order: { id: second.id, state: 'DENIED' },
      entry: { reason: 'too dear' },
    });
  }
  for (const batch of [1, 2, 3, 500]) {
    const all = await ofOrders(createEventLog(rig.database, '', batch).read(at(-1), at(60)));
    expect(
      all.map(({ entry }) => entry.kind),
      `with simultaneous events, in batches of ${batch}`,
    ).toEqual(['requested', 'requested', 'approved', 'claimed', 'sending', 'denied', 'released', 'finished']);
  }
  expect(await collect(createEventLog(rig.database, '').read(at(100), at(200)))).toEqual([]);
});
