import { afterAll, beforeAll, test } from 'vitest';
import { CrashSite } from '../support/crash.ts';
import { seededRandom } from '../support/seeded.ts';

/*
 * The bot is killed (SIGKILL) at crash points and at random times, and restarted: no request is sent twice, no order is
 * lost, and each result is posted. `npm run test:torture` covers all points, and a thousand kills.
 */

const MAX_WAIT_MS = 120_000;
const SEED = 7;

let site: CrashSite;
beforeAll(async () => {
  site = await CrashSite.open();
}, MAX_WAIT_MS);
afterAll(() => site.close());

test.each(['order committed', 'sentAt committed', 'answer read', 'reply posted, not recorded'] as const)(
  'a bot killed at “%s” loses no order and sends nothing twice',
  async (point) => {
    await site.crashAndRecover(point);
  },
  MAX_WAIT_MS,
);

test(
  'a bot killed at random times loses no order and sends nothing twice',
  async () => {
    await site.killRandomly(4, seededRandom(SEED), 'random');
  },
  MAX_WAIT_MS,
);
