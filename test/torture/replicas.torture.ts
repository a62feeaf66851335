import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seeded } from '../support/crash.ts';
import { Replicas } from '../support/replicas.ts';
import { numberFrom, seedFromEnvironment } from './seed.ts';

/*
 * Three bots on one database, ORDERS orders, and CLICKS clicks on each of them at once, with and without bots that are
 * killed all the while.
 */

const ORDERS = numberFrom('ORDERS', 500);
const CLICKS = numberFrom('CLICKS', 20);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const seed = seedFromEnvironment();

describe.each([false, true])('killed all the while: %s', (areKilled) => {
  let replicas: Replicas;
  beforeAll(async () => {
    replicas = await Replicas.start(3);
  }, MINUTE_MS);
  afterAll(() => replicas.close());

  test(
    `${ORDERS} orders, ${CLICKS} clicks each, SEED=${seed}`,
    async () => {
      const { site } = replicas;
      const names = await replicas.asked(ORDERS, 'torture');
      let isOver = !areKilled;
      const killing = replicas.killing(seeded(seed), () => isOver);
      const waiting = [...names];
      const pressInTurn = async () => {
        for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
          await replicas.press(name, CLICKS);
        }
      };
      await Promise.all(Array.from({ length: 10 }, pressInTurn));
      isOver = true;
      const kills = await killing;
      const ends = new Map<string, number>();
      for (const name of names) {
        const order = await site.settles(name, `SEED=${seed}`);
        ends.set(order.state, (ends.get(order.state) ?? 0) + 1);
      }
      if (!areKilled) {
        expect(Object.fromEntries(ends), `SEED=${seed}`).toEqual({ SUCCEEDED: ORDERS });
        const sent = site.s.service.requests.filter(({ task }) => task === 'domain.renew');
        expect(sent, `SEED=${seed}: requests`).toHaveLength(ORDERS);
      }
      process.stdout.write(`${ORDERS} orders, ${kills} kills: ${JSON.stringify(Object.fromEntries(ends))}\n`);
    },
    HOUR_MS,
  );
});
