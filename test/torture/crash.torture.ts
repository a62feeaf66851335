import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CRASH_POINTS, CrashSite } from '../support/crash.ts';
import { seededRandom } from '../support/seeded.ts';
import { readInteger, readSeed } from './seed.ts';

/*
 * A bot is killed at every crash point, with one name and several in the order, and at KILLS random times.
 */

const KILLS = readInteger('KILLS', 1_000);
/** After this many kills, everything is checked and the database and workspace are replaced. */
const KILLS_PER_SITE = 25;
const CONCURRENT_SITES = 2;
const MINUTE_MS = 60_000;
const seed = readSeed();

describe('an order survives a kill at the point', () => {
  let site: CrashSite;
  beforeAll(async () => {
    site = await CrashSite.open();
  }, MINUTE_MS);
  afterAll(() => site.close());

  test.each(CRASH_POINTS.flatMap((point) => [1, 4].map((names) => [point, names] as const)))(
    '“%s” (names: %i)',
    async (point, names) => {
      await site.crashAndRecover(point, names);
    },
    3 * MINUTE_MS,
  );
});

test(
  `orders survive ${KILLS} kills at random times, SEED=${seed}`,
  async () => {
    const stateCounts = new Map<string, number>();
    const sites = Array.from({ length: Math.ceil(KILLS / KILLS_PER_SITE) }, (_, n) => n);
    const siteQueue = sites.values();
    const runSites = async () => {
      for (const n of siteQueue) {
        const kills = Math.min(KILLS_PER_SITE, KILLS - n * KILLS_PER_SITE);
        const site = await CrashSite.open();
        try {
          const settled = await site.killRandomly(kills, seededRandom(seed + n), `SEED=${seed}, site ${n}`);
          for (const { state } of settled) stateCounts.set(state, (stateCounts.get(state) ?? 0) + 1);
          const sent = site.listRenewalRequests();
          const repeated = sent.filter(({ ctid }, at) => sent.findIndex((one) => one.ctid === ctid) !== at);
          expect(repeated, `SEED=${seed}: requests that reached the service twice`).toEqual([]);
        } finally {
          await site.close();
        }
        process.stdout.write(
          `site ${n}: ${kills} kills, ${JSON.stringify(Object.fromEntries(stateCounts))}\n`,
        );
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_SITES }, runSites));
  },
  (KILLS + 10) * MINUTE_MS,
);
