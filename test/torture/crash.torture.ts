import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CRASH_POINTS, CrashSite } from '../support/crash.ts';
import { seeded } from '../support/seeded.ts';
import { readInteger, readSeed } from './seed.ts';

/*
 * A bot is killed at every crash point, with one name and several in the order, and at KILLS random times.
 */

const KILLS = readInteger('KILLS', 1_000);
/** Kills before everything is checked and a new database and workspace are used. */
const KILLS_A_SITE = 25;
const LANES = 2;
const MINUTE_MS = 60_000;
const seed = readSeed();

describe('an order survives a kill at', () => {
  let site: CrashSite;
  beforeAll(async () => {
    site = await CrashSite.open();
  }, MINUTE_MS);
  afterAll(() => site.close());

  test.each(CRASH_POINTS.flatMap((point) => [1, 4].map((names) => [point, names] as const)))(
    '%s, with %i names',
    async (point, names) => {
      await site.crashAndRecover(point, names);
    },
    3 * MINUTE_MS,
  );
});

test(
  `orders survive ${KILLS} kills at random times, SEED=${seed}`,
  async () => {
    const ends = new Map<string, number>();
    const sites = Array.from({ length: Math.ceil(KILLS / KILLS_A_SITE) }, (_, n) => n);
    const waiting = sites.values();
    const lane = async () => {
      for (const n of waiting) {
        const kills = Math.min(KILLS_A_SITE, KILLS - n * KILLS_A_SITE);
        const site = await CrashSite.open();
        try {
          const settled = await site.killed(kills, seeded(seed + n), `SEED=${seed}, site ${n}`);
          for (const { state } of settled) ends.set(state, (ends.get(state) ?? 0) + 1);
          const sent = site.requests();
          const twice = sent.filter(({ ctid }, at) => sent.findIndex((one) => one.ctid === ctid) !== at);
          expect(twice, `SEED=${seed}: requests that reached the service twice`).toEqual([]);
        } finally {
          await site.close();
        }
        process.stdout.write(`site ${n}: ${kills} kills, ${JSON.stringify(Object.fromEntries(ends))}\n`);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  },
  (KILLS + 10) * MINUTE_MS,
);
