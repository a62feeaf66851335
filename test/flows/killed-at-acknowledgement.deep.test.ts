import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACTION_KINDS, AcknowledgementCrashSite } from '../support/acknowledged.ts';

/*
 * The bot is killed right after it acknowledges changes to Slack. They must be saved. The long version is
 * test/torture/acknowledged.torture.ts.
 */

const CONCURRENT_ACTIONS = 8;
const KILL_AFTER_ACTIONS = 3;

let site: AcknowledgementCrashSite;
beforeAll(async () => {
  site = await AcknowledgementCrashSite.open();
});
afterAll(() => site.close());

test.each(ACTION_KINDS)('no acknowledged change is lost: %s', async (kind) => {
  const { acknowledged, late, lost } = await site.deliverAndKill(
    kind,
    CONCURRENT_ACTIONS,
    KILL_AFTER_ACTIONS,
  );
  expect(acknowledged + late).toBeGreaterThanOrEqual(kind === 'settings' ? 1 : KILL_AFTER_ACTIONS);
  expect(lost).toEqual([]);
});
