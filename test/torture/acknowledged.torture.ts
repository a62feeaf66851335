import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACTION_KINDS, AcknowledgementCrashSite } from '../support/acknowledged.ts';
import { seededRandom } from '../support/seeded.ts';
import { readInteger, readSeed } from './seed.ts';

/*
 * Bots are killed as soon as Slack has its 200, with Slack's API at 150 ms a call, until ACKNOWLEDGED
 * deliveries were acknowledged. None of them may be lost.
 */

const ACKNOWLEDGED = readInteger('ACKNOWLEDGED', 1_000);
const AT_ONCE = readInteger('AT_ONCE', 40);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const seed = readSeed();

let site: AcknowledgementCrashSite;
beforeAll(async () => {
  site = await AcknowledgementCrashSite.open();
}, MINUTE_MS);
afterAll(() => site.close());

test(
  `${ACKNOWLEDGED} deliveries survive kills right after their acknowledgement, SEED=${seed}`,
  async () => {
    const random = seededRandom(seed);
    const totals = { acknowledged: 0, late: 0, kills: 0 };
    const lost: string[] = [];
    for (let turn = 0; totals.acknowledged < ACKNOWLEDGED; turn += 1) {
      const kind = ACTION_KINDS[turn % ACTION_KINDS.length] ?? 'approve';
      const killAfter = 1 + Math.floor(random() * AT_ONCE);
      const outcome = await site.deliverAndKill(kind, AT_ONCE, killAfter);
      totals.acknowledged += outcome.acknowledged;
      totals.late += outcome.late;
      totals.kills += 1;
      lost.push(...outcome.lost.map((mark) => `${kind} ${mark}`));
      process.stdout.write(
        `${kind}, killed after ${killAfter}: ${JSON.stringify(totals)}, lost ${lost.length}\n`,
      );
    }
    expect(lost, `SEED=${seed}: acknowledged deliveries that are lost`).toEqual([]);
  },
  HOUR_MS,
);
