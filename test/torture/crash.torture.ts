import { afterAll, beforeAll, expect, test } from 'vitest';
import { CRASH_POINTS, CrashSite, seeded } from '../support/crash.ts';
import { numberFrom, seedFromEnvironment } from './seed.ts';

/*
 * A bot that is killed at every crash point and at KILLS random moments, each time with several orders under way.
 */

const KILLS = numberFrom('KILLS', 1_000);
const MINUTE_MS = 60_000;
const seed = seedFromEnvironment();

let site: CrashSite;
beforeAll(async () => {
  site = await CrashSite.open();
}, MINUTE_MS);
afterAll(() => site.close());

test.each(CRASH_POINTS)(
  'killed at: %s',
  async (point) => {
    await site.diesAt(point, point.replaceAll(/\W+/g, '-').toLowerCase());
  },
  3 * MINUTE_MS,
);

test(
  `killed at ${KILLS} random moments, SEED=${seed}`,
  async () => {
    const random = seeded(seed);
    const ends = new Map<string, number>();
    for (let round = 1; round <= KILLS; round += 1) {
      const orders = 1 + Math.floor(random() * 5);
      const settled = await site.killedAfter(random() * 1_500, `kill-${round}`, orders);
      for (const { state } of settled) ends.set(state, (ends.get(state) ?? 0) + 1);
    }
    const requests = site.s.service.requests.filter(({ task }) => task === 'domain.renew');
    const twice = requests.filter(({ ctid }, at) => requests.findIndex((one) => one.ctid === ctid) !== at);
    expect(twice, `SEED=${seed}: requests that reached the service twice`).toEqual([]);
    process.stdout.write(
      `${KILLS} kills, SEED=${seed}, orders: ${JSON.stringify(Object.fromEntries(ends))}\n`,
    );
  },
  (KILLS + 1) * MINUTE_MS,
);
