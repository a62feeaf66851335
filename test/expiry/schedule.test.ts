import { expect, test } from 'vitest';
import { findLastScheduledTime } from '../../src/expiry/schedule.ts';
import { formatCalendarDay } from '../../src/zones/calendar-day.ts';

/* A schedule uses wall-clock times: each comes once per local day, through every clock change. */

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 10, 1);
const FIVE_YEARS_MS = 5 * 365 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;

const formats = new Map<string, Intl.DateTimeFormat>();
/** The wall-clock time, as if it were UTC. */
function getWallClock(at: number, timeZone: string): number {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  formats.set(timeZone, format);
  return Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
}

interface ClockChange {
  readonly timeZone: string;
  /** The first moment after the change. */
  readonly at: number;
  /** The wall-clock time without the change, and with it. */
  readonly from: number;
  readonly to: number;
}

function findClockChanges(timeZone: string): ClockChange[] {
  const found: ClockChange[] = [];
  const getOffset = (at: number) => getWallClock(at, timeZone) - at;
  for (let week = FIRST_DAY; week < FIRST_DAY + FIVE_YEARS_MS; week += WEEK_MS) {
    const before = getOffset(week);
    if (getOffset(week + WEEK_MS) === before) continue;
    let [unchanged, at] = [week, week + WEEK_MS];
    while (at - unchanged > MINUTE_MS) {
      const middle = Math.floor((unchanged + at) / 2 / MINUTE_MS) * MINUTE_MS;
      if (getOffset(middle) === before) unchanged = middle;
      else at = middle;
    }
    found.push({ timeZone, at, from: at + before, to: getWallClock(at, timeZone) });
  }
  return found;
}

const toDailyCron = (time: number) => {
  const at = new Date(time);
  return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
};
const formatIso = (at: number) => new Date(at).toISOString();

/** When the clock first shows a time or a later one, found by checking every 15 minutes. */
function findFirstMoment(time: number, { timeZone, at }: ClockChange): number {
  let moment = at - 3 * DAY_MS;
  while (getWallClock(moment, timeZone) < time) moment += QUARTER_MS;
  return moment;
}

function listFailures(change: ClockChange): string[] {
  const { timeZone, at, from, to } = change;
  const [start, end] = [Math.min(from, to), Math.max(from, to)];
  const times = [start - QUARTER_MS, start, start + QUARTER_MS, end - QUARTER_MS, end, end + QUARTER_MS];
  return times.flatMap((time) => {
    const days = [-1, 0, 1].map((day) => findFirstMoment(time + day * DAY_MS, change));
    return days.flatMap((expected, index) => {
      const next = days[index + 1] ?? expected + QUARTER_MS;
      const probes = [expected, expected + 1, (expected + next) / 2, next - 1, Math.min(at, next - 1)];
      const wrongProbes = probes
        .filter((probe) => probe >= expected)
        .filter(
          (now) => findLastScheduledTime(toDailyCron(time), timeZone, new Date(now)).getTime() !== expected,
        );
      return wrongProbes.map(
        (now) => `${timeZone} ${toDailyCron(time)} at ${formatIso(now)} is not ${formatIso(expected)}`,
      );
    });
  });
}

test('each time comes once a day through every clock change of five years, in every zone', () => {
  const changes = Intl.supportedValuesOf('timeZone').flatMap(findClockChanges);
  // One zone is enough for all zones with the same changes.
  const distinct = new Map(
    changes.map((change) => [`${change.from % DAY_MS} ${change.to - change.from}`, change]),
  );
  expect(distinct.size).toBeGreaterThan(10);
  expect([...distinct.values()].flatMap(listFailures).slice(0, 5)).toEqual([]);
});

test.each([
  ['30 2 * * *', 'Europe/Berlin', '2027-03-28T12:00:00Z', '2027-03-28T01:00:00Z'],
  ['30 2 * * *', 'Europe/Berlin', '2027-10-31T12:00:00Z', '2027-10-31T00:30:00Z'],
  ['0 2 * * *', 'America/New_York', '2027-03-14T12:00:00Z', '2027-03-14T07:00:00Z'],
  ['30 1 * * *', 'Europe/London', '2027-03-28T12:00:00Z', '2027-03-28T01:00:00Z'],
  ['15 0 * * *', 'Africa/Cairo', '2027-04-30T12:00:00Z', '2027-04-29T22:00:00Z'],
  ['30 2 * * 0', 'Europe/Berlin', '2027-04-01T12:00:00Z', '2027-03-28T01:00:00Z'],
  ['30 2,14 * * *', 'Europe/Berlin', '2027-03-28T11:00:00Z', '2027-03-28T01:00:00Z'],
  ['0 9 * * 1-5', 'Europe/Berlin', '2027-03-28T12:00:00Z', '2027-03-26T08:00:00Z'],
  ['0 9 L * *', 'UTC', '2027-03-05T12:00:00Z', '2027-02-28T09:00:00Z'],
  ['0 9 1,15 * 1', 'UTC', '2027-03-14T12:00:00Z', '2027-03-08T09:00:00Z'],
  ['0 9 * * 1#2', 'UTC', '2027-03-14T12:00:00Z', '2027-03-08T09:00:00Z'],
  ['0 9 29 2 *', 'Asia/Kathmandu', '2027-03-14T12:00:00Z', '2024-02-29T03:15:00Z'],
  ['*/20 * * * *', 'Australia/Lord_Howe', '2027-04-03T15:05:00Z', '2027-04-03T14:40:00Z'],
  ['* * * * *', 'Europe/Berlin', '2027-10-31T01:30:00Z', '2027-10-31T00:59:00Z'],
  ['0 9 * * *', 'Europe/Berlin', '2027-03-01T07:59:59.999Z', '2027-02-28T08:00:00Z'],
  ['0 9 * * *', 'Europe/Berlin', '2027-03-01T08:00:00Z', '2027-03-01T08:00:00Z'],
])('the last scheduled time of “%s” in %s is found at %s', (cron, timeZone, now, expected) => {
  expect(findLastScheduledTime(cron, timeZone, new Date(now)).toISOString()).toBe(
    new Date(expected).toISOString(),
  );
});

test('each day of a year has one scheduled time', () => {
  for (const timeZone of ['America/Havana', 'Australia/Lord_Howe']) {
    const days = new Map<string, Set<number>>();
    for (let at = FIRST_DAY; at < FIRST_DAY + 365 * DAY_MS; at += 60 * MINUTE_MS) {
      const last = findLastScheduledTime('30 2 * * *', timeZone, new Date(at));
      const day = formatCalendarDay(last, timeZone);
      days.set(day, (days.get(day) ?? new Set()).add(last.getTime()));
    }
    expect([...days.values()].filter(({ size }) => size !== 1)).toEqual([]);
    expect(days.size).toBeGreaterThanOrEqual(365);
  }
});
