import { afterEach, beforeEach, expect, test } from 'vitest';
import { countDaysBetween, shiftDay } from '../../src/expiry/days.ts';
import { formatCalendarDay } from '../../src/zones/calendar-day.ts';
import { DAY_MS, getNineInBerlin, MINUTE_MS, Rig } from './rig.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
  // The first check starts the schedule; nothing is due before the next morning.
  await rig.runDigest();
});
afterEach(() => rig.stop());

test('each reminder is posted once in 130 days with two replicas, a clock change, an outage and restarts', async () => {
  const start = '2028-02-20';
  const OUTAGE_START = 50;
  const OUTAGE_END = 65;
  rig.now = getNineInBerlin(start);
  const names = Array.from({ length: 14 }, (_, index) => ({
    name: `n${index}.rest`,
    days: 61 + index * 5,
    // All hours of the day, including those near midnight.
    at: new Date(Date.parse(`${start}T00:00:00Z`) + (61 + index * 5) * DAY_MS + index * 59 * MINUTE_MS),
  }));
  for (const { name, days, at } of names) await rig.watch(name, days, { expiry: { at, source: 'rdap' } });

  let replicas = [rig.createReplica(), rig.createReplica()];
  for (let index = 1; index < 130; index += 1) {
    if (index >= OUTAGE_START && index < OUTAGE_END) continue;
    rig.now = getNineInBerlin(shiftDay(start, index));
    await Promise.all(replicas.map((replica) => rig.runDigest(replica)));
    if (index % 30 === 0) replicas = [rig.createReplica(), rig.createReplica()];
  }

  const firstDayBack = shiftDay(start, OUTAGE_END);
  for (const { name, at } of names) {
    const reminders = rig.poster.postedReminders.filter((each) => each.name === name);
    const thresholds = reminders.map(({ threshold }) => threshold);
    expect([name, thresholds], 'each threshold once, in descending order').toEqual([
      name,
      [...new Set(thresholds)].toSorted((a, b) => b - a),
    ]);
    const lastDay = formatCalendarDay(at, 'Europe/Berlin');
    for (const { threshold, at: postedAt } of reminders.filter((each) => each.threshold >= 0)) {
      const day = formatCalendarDay(postedAt, 'Europe/Berlin');
      const daysLeft = countDaysBetween(day, lastDay);
      if (day !== firstDayBack) expect([name, daysLeft], 'threshold on its day').toEqual([name, threshold]);
    }
    // Reminders that neither the outage nor the end of the simulation prevented.
    const expected = [60, 30, 14, 7, 3, 1].filter((threshold) => {
      const index = countDaysBetween(start, shiftDay(lastDay, -threshold));
      return index > 0 && index < 130 && (index < OUTAGE_START || index >= OUTAGE_END);
    });
    expect([name, thresholds]).toEqual([name, expect.arrayContaining(expected)]);
  }
});
