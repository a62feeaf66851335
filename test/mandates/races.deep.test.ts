import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { type Rig, startRig, waitUntil } from '../orders/rig.ts';
import { seededRandom } from '../support/seeded.ts';
import { createMandateHelpers } from './mandate-rig.ts';

/* Stop and sending race 80 times on a real database. Exactly one of them wins. */

const RACES = 80;
const AT_ONCE = 20;

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.end());

test('either Stop or sending wins, and a name is charged only if it wasn’t stopped', async () => {
  const on = createMandateHelpers(rig);
  const random = seededRandom(1_000);
  let [stopped, sent] = [0, 0];
  for (let round = 0; round < RACES / AT_ONCE; round += 1) {
    await rig.reset();
    for (let n = 0; n < AT_ONCE; n += 1) await on.watch(`name${n}.rest`, 10, 100);
    await on.createMandate();
    await on.run();
    await on.markAnnounced();
    rig.advanceClock(DAY_MS + 12 * HOUR_MS);
    await on.recordLookup();
    const orders = (await on.listActs()).map(({ orderId }) => orderId ?? '');
    expect(orders).toHaveLength(AT_ONCE);
    let clicked = 0;
    /** Stop is clicked after a random number of the round's orders was sent or clicked. */
    const stop = async (id: string) => {
      const others = Math.floor(random() * AT_ONCE);
      await waitUntil('others are done', () => rig.service.received.length + clicked >= others);
      clicked += 1;
      await stopOrder(rig.orders, id, 'U0BOB');
    };
    await Promise.all(orders.flatMap((id) => [rig.main.execute(id), stop(id)]));
    await rig.runDue();
    for (const id of orders) {
      const order = await rig.read(id);
      const requests = rig.service.received.filter(({ ctid }) => ctid === id).length;
      expect([order.state, requests]).toEqual(
        order.state === 'CANCELLED' ? ['CANCELLED', 0] : ['SUCCEEDED', 1],
      );
      if (requests === 0) stopped += 1;
      else sent += 1;
    }
  }
  expect(stopped + sent).toBe(RACES);
  expect(
    [stopped, sent].every((count) => count > RACES / 20),
    `${stopped} stopped, ${sent} sent`,
  ).toBe(true);
}, 240_000);
