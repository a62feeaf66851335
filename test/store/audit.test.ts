import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventLog } from '../../src/ledger/events.ts';
import { createEventLog } from '../../src/store/events.ts';
import { collectRows, newOrder, type Rig, secondsLater, startExecution, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const collectOrderEvents = async (read: ReturnType<EventLog['read']>) =>
  (await collectRows(read)).flatMap((logged) => ('event' in logged ? [] : logged));

test('the audit log of a period is sorted, with each event’s current order, at any batch size', async () => {
  const first = newOrder();
  await startExecution(rig, first);
  const second = await rig.save(newOrder({ createdAt: secondsLater(0) }));
  await rig.apply(second.id, { type: 'denied', by: 'U0BOB', reason: 'too dear' }, secondsLater(10));
  await rig.save(newOrder({ state: 'DRAFT' }));
  await rig.apply(first.id, { type: 'released' }, secondsLater(11));

  const expected = [
    [first.id, 'approved', secondsLater(1)],
    [first.id, 'claimed', secondsLater(2)],
    [first.id, 'sending', secondsLater(3)],
    [second.id, 'denied', secondsLater(10)],
  ];
  for (const batch of [1, 2, 3, 4, 5, 500]) {
    const rows = await collectOrderEvents(
      createEventLog(rig.database, '', batch).read(secondsLater(1), secondsLater(11)),
    );
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
    const all = await collectOrderEvents(
      createEventLog(rig.database, '', batch).read(secondsLater(-1), secondsLater(60)),
    );
    expect(
      all.map(({ entry }) => entry.kind),
      `with simultaneous events, in batches of ${batch}`,
    ).toEqual(['requested', 'requested', 'approved', 'claimed', 'sending', 'denied', 'released', 'finished']);
  }
  expect(
    await collectRows(createEventLog(rig.database, '').read(secondsLater(100), secondsLater(200))),
  ).toEqual([]);
});
