import { afterAll, beforeAll, expect, test } from 'vitest';
import { AcknowledgedSite, KINDS } from '../support/acknowledged.ts';
import { seeded } from '../support/seeded.ts';
import { numberFrom, seedFromEnvironment } from './seed.ts';

/*
 * Bots that are killed the moment Slack has its 200, with Slack's API at 150 ms a call, until ACKNOWLEDGED deliveries
 * were acknowledged: none of them is lost.
 */

const ACKNOWLEDGED = numberFrom('ACKNOWLEDGED', 1_000);
const AT_ONCE = numberFrom('AT_ONCE', 40);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const seed = seedFromEnvironment();

let acknowledging: AcknowledgedSite;
beforeAll(async () => {
  acknowledging = await AcknowledgedSite.open();
}, MINUTE_MS);
afterAll(() => acknowledging.close());

test(
  `killed right after the acknowledgement, ${ACKNOWLEDGED} deliveries, SEED=${seed}`,
  async () => {
    const random = seeded(seed);
    const sums = { acknowledged: 0, late: 0, kills: 0 };
    const lost: string[] = [];
    for (let turn = 0; sums.acknowledged < ACKNOWLEDGED; turn += 1) {
      const kind = KINDS[turn % KINDS.length] ?? 'approve';
      const killAfter = 1 + Math.floor(random() * AT_ONCE);
      const outcome = await acknowledging.killed(kind, AT_ONCE, killAfter);
      sums.acknowledged += outcome.acknowledged;
      sums.late += outcome.late;
      sums.kills += 1;
      lost.push(...outcome.lost.map((mark) => `${kind} ${mark}`));
      process.stdout.write(
        `${kind}, killed after ${killAfter}: ${JSON.stringify(sums)}, lost ${lost.length}\n`,
      );
    }
    expect(lost, `SEED=${seed}: acknowledged, and not kept`).toEqual([]);
  },
  HOUR_MS,
);
