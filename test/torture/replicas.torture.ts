import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Replicas } from '../support/replicas.ts';
import { seeded } from '../support/seeded.ts';
import { readInteger, readSeed } from './seed.ts';

/*
 * Three bots on one database, ORDERS orders, and CLICKS concurrent clicks on each. With and without bots that
 * are killed during requests and clicks, during execution and during notification.
 */

const ORDERS = readInteger('ORDERS', 500);
const CLICKS = readInteger('CLICKS', 20);
/** Concurrent people and names. */
const LANES = 10;
const MINUTE_MS = 60_000;
const PATIENCE_WITH_KILLS_MS = 5 * MINUTE_MS;
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
    `send ${ORDERS} orders with ${CLICKS} clicks each once, SEED=${seed}`,
    async () => {
      const { site } = replicas;
      const ends = new Map<string, number>();
      let kills = 0;
      if (areKilled) {
        const names = Array.from({ length: ORDERS }, (_, n) => site.names(`torture-${n}`));
        const patience = { clicks: CLICKS, withinMs: PATIENCE_WITH_KILLS_MS };
        kills = await replicas.killBotsDuring(seeded(seed), () =>
          runInLanes(names, LANES, (name) => site.waitUntilSettled(name, `SEED=${seed}`, patience)),
        );
        for (const name of names) {
          const { state } = await site.waitUntilSettled(name, `SEED=${seed}`);
          ends.set(state, (ends.get(state) ?? 0) + 1);
        }
        const ctids = site.requests().map(({ ctid }) => ctid);
        expect(new Set(ctids).size, `SEED=${seed}: distinct requests`).toBe(ctids.length);
      } else {
        const names = await replicas.requestRenewals(ORDERS, 'torture');
        await runInLanes(names, LANES, (name) => replicas.press(name, CLICKS));
        for (const name of names) {
          const { state } = await site.waitUntilSettled(name, `SEED=${seed}`);
          ends.set(state, (ends.get(state) ?? 0) + 1);
        }
        expect(Object.fromEntries(ends), `SEED=${seed}`).toEqual({ SUCCEEDED: ORDERS });
        expect(site.requests(), `SEED=${seed}: requests`).toHaveLength(ORDERS);
        expect([...site.strays], `SEED=${seed}: cards that no bot keeps up to date`).toEqual([]);
      }
      process.stdout.write(
        `${mode}, ${ORDERS} orders, ${kills} kills, ${replicas.askedAgain} requested again, ${site.strays.size} stray cards: ${JSON.stringify(Object.fromEntries(ends))}\n`,
      );
    },
    HOUR_MS,
  );
});

/** Runs work for each with a fixed concurrency. */
async function runInLanes<T>(
  all: readonly T[],
  lanes: number,
  work: (each: T) => Promise<unknown>,
): Promise<void> {
  const waiting = all.values();
  const lane = async () => {
    for (const each of waiting) await work(each);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
