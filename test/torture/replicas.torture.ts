import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Replicas } from '../support/replicas.ts';
import { seededRandom } from '../support/seeded.ts';
import { readInteger, readSeed } from './seed.ts';

/*
 * Three bots on one database get ORDERS orders, and CLICKS concurrent clicks on each. In half of the tests, bots
 * are killed during requests, clicks, execution and notification.
 */

const ORDERS = readInteger('ORDERS', 500);
const CLICKS = readInteger('CLICKS', 20);
/** How many names are worked on at once. */
const CONCURRENCY = 10;
const MINUTE_MS = 60_000;
const SETTLE_TIMEOUT_WITH_KILLS_MS = 5 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const seed = readSeed();

describe.each([
  ['HTTP', false],
  ['HTTP', true],
  ['Socket Mode', false],
  ['Socket Mode', true],
] as const)('three bots over %s (kills: %s)', (mode, areKilled) => {
  let replicas: Replicas;
  beforeAll(async () => {
    replicas = await Replicas.start(3, { socketMode: mode === 'Socket Mode' });
  }, MINUTE_MS);
  afterAll(() => replicas.close());

  test(
    `send each of ${ORDERS} orders once despite ${CLICKS} clicks on each, SEED=${seed}`,
    async () => {
      const { site } = replicas;
      const stateCounts = new Map<string, number>();
      let kills = 0;
      if (areKilled) {
        const names = Array.from({ length: ORDERS }, (_, n) => site.addNames(`torture-${n}`));
        const options = { clicks: CLICKS, withinMs: SETTLE_TIMEOUT_WITH_KILLS_MS };
        kills = await replicas.killBotsDuring(seededRandom(seed), () =>
          runConcurrently(names, CONCURRENCY, (name) => site.waitUntilSettled(name, `SEED=${seed}`, options)),
        );
        for (const name of names) {
          const { state } = await site.waitUntilSettled(name, `SEED=${seed}`);
          stateCounts.set(state, (stateCounts.get(state) ?? 0) + 1);
        }
        const ctids = site.listRenewalRequests().map(({ ctid }) => ctid);
        expect(new Set(ctids).size, `SEED=${seed}: distinct requests`).toBe(ctids.length);
      } else {
        const names = await replicas.requestRenewals(ORDERS, 'torture');
        await runConcurrently(names, CONCURRENCY, (name) => replicas.clickApprove(name, CLICKS));
        for (const name of names) {
          const { state } = await site.waitUntilSettled(name, `SEED=${seed}`);
          stateCounts.set(state, (stateCounts.get(state) ?? 0) + 1);
        }
        expect(Object.fromEntries(stateCounts), `SEED=${seed}`).toEqual({ SUCCEEDED: ORDERS });
        expect(site.listRenewalRequests(), `SEED=${seed}: requests`).toHaveLength(ORDERS);
        expect([...site.strayCards], `SEED=${seed}: cards that no bot keeps up to date`).toEqual([]);
      }
      process.stdout.write(
        `${mode}, ${ORDERS} orders, ${kills} kills, ${replicas.repeatedRequestCount} requested again, ${site.strayCards.size} stray cards: ${JSON.stringify(Object.fromEntries(stateCounts))}\n`,
      );
    },
    HOUR_MS,
  );
});

/** Runs work for each item, with a fixed concurrency. */
async function runConcurrently<T>(
  all: readonly T[],
  concurrency: number,
  work: (each: T) => Promise<unknown>,
): Promise<void> {
  const queue = all.values();
  const runInTurn = async () => {
    for (const each of queue) await work(each);
  };
  await Promise.all(Array.from({ length: concurrency }, runInTurn));
}
