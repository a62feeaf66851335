import { afterAll, beforeAll, expect, test } from 'vitest';
import { AcknowledgedSite, KINDS } from '../support/acknowledged.ts';

/*
 * A bot that is killed the moment Slack has its 200: acknowledged changes are kept. The long version is
 * test/torture/acknowledged.torture.ts.
 */

const AT_ONCE = 8;
const KILL_AFTER = 3;

let acknowledging: AcknowledgedSite;
beforeAll(async () => {
  acknowledging = await AcknowledgedSite.open();
});
afterAll(() => acknowledging.close());

test.each(KINDS)('%s', async (kind) => {
  const { acknowledged, late, lost } = await acknowledging.killed(kind, AT_ONCE, KILL_AFTER);
  expect(acknowledged + late).toBeGreaterThanOrEqual(kind === 'settings' ? 1 : KILL_AFTER);
  expect(lost).toEqual([]);
});
