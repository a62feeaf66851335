import { afterEach, beforeEach, expect, test } from 'vitest';
import { daysBetween, shiftDay } from '../../src/expiry/days.ts';
import { formatCalendarDay } from '../../src/zones/calendar-day.ts';
import { DAY_MS, MINUTE_MS, nineInBerlin, Rig } from './rig.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
  // Starts the schedule: nothing is due before the next morning.
  await rig.digest();
});
afterEach(() => rig.stop());

test('each reminder is posted once in 130 days with two replicas, a clock change, an outage and restarts', async () => {
  const start = '2028-02-20';
  const OFF_FROM = 50;
  const OFF_UNTIL = 65;
  rig.now = nineInBerlin(start);
  const names = Array.from({ length: 14 }, (_, index) => ({
    name: `n${index}.rest`,
    days: 61 + index * 5,
    // All hours of the day, including those near midnight.
    at: new Date(Date.parse(`${start}T00:00:00Z`) + (61 + index * 5) * DAY_MS + index * 59 * MINUTE_MS),
  }));
  for (const { name, days, at } of names) await rig.watch(name, days, { expiry: { at, source: 'rdap' } });

  let replicas = [rig.replica(), rig.replica()];
  for (let index = 1; index < 130; index += 1) {
    if (index >= OFF_FROM && index < OFF_UNTIL) continue;
    rig.now = nineInBerlin(shiftDay(start, index));
    await Promise.all(replicas.map((replica) => rig.digest(replica)));
    if (index % 30 === 0) replicas = [rig.replica(), rig.replica()];
  }

  const firstDayBack = shiftDay(start, OFF_UNTIL);
  for (const { name, at } of names) {
    const reminders = rig.poster.said.filter((each) => each.name === name);
    const thresholds = reminders.map(({ threshold }) => threshold);
    expect([name, thresholds], 'each threshold once, in descending order').toEqual([
      name,
      [...new Set(thresholds)].toSorted((a, b) => b - a),
    ]);
    const lastDay = formatCalendarDay(at, 'Europe/Berlin');
    for (const { threshold, at: when } of reminders.filter((each) => each.threshold >= 0)) {
      const day = formatCalendarDay(when, 'Europe/Berlin');
      const left = daysBetween(day, lastDay);
      if (day !== firstDayBack) expect([name, left], 'threshold on its day').toEqual([name, threshold]);
    }
    // Reminders that neither the outage nor the end of the simulation prevented.
    const expected = [60, 30, 14, 7, 3, 1].filter((threshold) => {
      const index = daysBetween(start, shiftDay(lastDay, -threshold));
      return index > 0 && index < 130 && (index < OFF_FROM || index >= OFF_UNTIL);
    });
    expect([name, thresholds]).toEqual([name, expect.arrayContaining(expected)]);
  }
});
