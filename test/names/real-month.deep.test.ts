import { expect, test } from 'vitest';
import { formatTable, type MonthSizes, playMonth } from './real-month.ts';

/*
 * Plays a month with real parts. `MONTH=1000,20000,35,15,6,1` sets another size and prints the table of
 * docs/performance.md: guarded names, others, real changes of each, flaps of each kind, minutes per round.
 */

const SMALL: MonthSizes = {
  ...{ days: 11, guardedCount: 14, otherCount: 20, guardedChanges: 8, otherChanges: 10 },
  ...{ flapsPerKind: 1, stepMinutes: 240 },
};

function sizesOf(text: string | undefined): MonthSizes {
  if (text === undefined) return SMALL;
  const [
    guardedCount = 0,
    otherCount = 0,
    guardedChanges = 0,
    otherChanges = 0,
    flapsPerKind = 0,
    stepMinutes = 1,
  ] = text.split(',').map(Number);
  return { days: 30, guardedCount, otherCount, guardedChanges, otherChanges, flapsPerKind, stepMinutes };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FEW_MINUTES = new Set(['nameservers', 'ds', 'delegation_gone']);
const HEALTH = new Set(['all_lame', 'nameserver_registrable']);
/** The longest time to detect a change: two sightings at the name's lookup rate, each in the next round. */
function maxDelay(isGuarded: boolean, kind: string, stepMs: number): number {
  const roundsMs = 2 * (stepMs + 5 * 60_000);
  if (isGuarded) return FEW_MINUTES.has(kind) ? 180_000 : 4 * HOUR_MS + roundsMs;
  if (HEALTH.has(kind)) return 2 * DAY_MS + 12 * HOUR_MS + roundsMs;
  return FEW_MINUTES.has(kind) ? DAY_MS + HOUR_MS + roundsMs : 7 * DAY_MS + HOUR_MS + roundsMs;
}

test('a month of flaps and outages raises every incident in time, and no false one', async () => {
  const sizes = sizesOf(process.env['MONTH']);
  const isLarge = process.env['MONTH'] !== undefined;
  const result = await playMonth(sizes, 43, (day) => {
    if (isLarge) process.stderr.write(`day ${day}\n`);
  });
  const table = formatTable(result);
  if (isLarge)
    process.stderr.write(
      `${table}\nfalse: ${result.falseAlarms.length}; ${result.questions} questions, ${result.registryRequests} requests\n`,
    );
  const late = result.changes.filter(
    ({ isGuarded, kind, changedAt, foundAt }) =>
      foundAt === undefined || foundAt - changedAt > maxDelay(isGuarded, kind, sizes.stepMinutes * 60_000),
  );
  expect(result.falseAlarms, table).toEqual([]);
  expect(late, table).toEqual([]);
  expect(result.changes).toHaveLength(sizes.guardedChanges + sizes.otherChanges);
}, 36_000_000);
