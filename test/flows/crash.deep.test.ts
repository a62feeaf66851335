import { afterAll, beforeAll, test } from 'vitest';
import { CrashSite } from '../support/crash.ts';
import { seeded } from '../support/seeded.ts';

/*
 * The bot is killed (SIGKILL) at crash points, and at random times while people work. Another one continues: no request
 * is sent twice, no order is lost, and each result is posted. All points, and a thousand times: `npm run test:torture`.
 */

const MAX_WAIT_MS = 120_000;
const SEED = 7;

let site: CrashSite;
beforeAll(async () => {
  site = await CrashSite.open();
}, MAX_WAIT_MS);
afterAll(() => site.close());

test.each(['order committed', 'sentAt committed', 'answer read', 'reply posted, not recorded'] as const)(
  'killed at: %s',
  async (point) => {
    await site.diesAt(point);
  },
  MAX_WAIT_MS,
);

test(
  'killed at random times',
  async () => {
    await site.killed(4, seeded(SEED), 'random');
  },
  MAX_WAIT_MS,
);
