import { afterAll, beforeAll, expect, test } from 'vitest';
import { AcknowledgedSite, KINDS } from '../support/acknowledged.ts';

/*
 * The bot is killed as soon as Slack has its 200: acknowledged changes are saved. Long version:
 * test/torture/acknowledged.torture.ts.
 */

const AT_ONCE = 8;
const KILL_AFTER = 3;

let site: AcknowledgedSite;
beforeAll(async () => {
  site = await AcknowledgedSite.open();
});
afterAll(() => site.close());

test.each(KINDS)('no acknowledged change is lost: %s', async (kind) => {
  const { acknowledged, late, lost } = await site.killed(kind, AT_ONCE, KILL_AFTER);
  expect(acknowledged + late).toBeGreaterThanOrEqual(kind === 'settings' ? 1 : KILL_AFTER);
  expect(lost).toEqual([]);
});
