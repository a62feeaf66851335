import { describe, expect, test } from 'vitest';
import { listCandidateRanges } from '../../src/expiry/candidates.ts';
import { countDaysBetween, getExpiryDay, shiftDay } from '../../src/expiry/days.ts';
import { computeSnoozeEnd, planReminders, type WatchedName } from '../../src/expiry/plan.ts';
import { formatCalendarDay } from '../../src/zones/calendar-day.ts';
import fc, { runs } from '../support/properties.ts';

const DAY_MS = 86_400_000;
const THRESHOLDS = [60, 30, 14, 7, 3, 1];
const options = { now: new Date('2026-06-01T09:00:00Z'), thresholds: THRESHOLDS, timeZone: 'UTC' };

function createWatchedName(daysLeft: number, overrides: Partial<WatchedName> = {}): WatchedName {
  return {
    name: 'cafe.rest',
    expiresAt: new Date(Date.parse('2026-06-01T12:00:00Z') + daysLeft * DAY_MS),
    source: 'rdap',
    remindedThresholds: [],
    ...overrides,
  };
}

function planThreshold(daysLeft: number, overrides: Partial<WatchedName> = {}): number | undefined {
  return planReminders([createWatchedName(daysLeft, overrides)], options)[0]?.threshold;
}

describe('before the expiry', () => {
  test.each([
    [61, undefined],
    [60, 60],
    [31, 60],
    [30, 30],
    [15, 30],
    [6, 7],
    [3, 3],
    [2, 3],
    [1, 1],
    [0, 1],
  ])('%i days before, the threshold is %s', (daysLeft, threshold) => {
    expect(planThreshold(daysLeft)).toBe(threshold);
  });

  test('a threshold isn’t repeated, and isn’t used after a tighter one', () => {
    expect(planThreshold(6, { remindedThresholds: [60, 30, 14] })).toBe(7);
    expect(planThreshold(6, { remindedThresholds: [7] })).toBeUndefined();
    expect(planThreshold(6, { remindedThresholds: [3] })).toBeUndefined();
  });

  test('a name that is left to lapse or was renewed has no reminder', () => {
    expect(planThreshold(6, { isLapsing: true })).toBeUndefined();
    expect(planThreshold(-3, { isLapsing: true })).toBeUndefined();
    expect(planThreshold(6, { renewedUntil: new Date('2028-06-07') })).toBeUndefined();
    expect(planThreshold(-3, { renewedUntil: new Date('2028-06-07') })).toBeUndefined();
  });

  test('an estimated expiry and the last threshold are marked', () => {
    const [reminder] = planReminders([createWatchedName(1, { source: 'order' })], options);
    expect(reminder).toMatchObject({
      isEstimated: true,
      isLastThreshold: true,
      daysLeft: 1,
      expiry: '2026-06-02',
      expiryDay: '2026-06-02',
      lastSafeDay: '2026-06-01',
    });
    expect(planReminders([createWatchedName(3)], options)[0]).toMatchObject({
      isEstimated: false,
      isLastThreshold: false,
    });
  });

  test('days are counted in the team’s time zone', () => {
    const expiresAt = new Date('2026-06-02T02:00:00Z');
    const planIn = (timeZone: string, source: 'rdap' | 'person') =>
      planReminders([{ ...createWatchedName(0), expiresAt, source }], { ...options, timeZone })[0];
    expect(planIn('UTC', 'rdap')).toMatchObject({
      daysLeft: 1,
      expiryDay: '2026-06-02',
      expiry: '2026-06-02',
    });
    expect(planIn('America/New_York', 'rdap')).toMatchObject({
      daysLeft: 0,
      expiryDay: '2026-06-01',
      expiry: '2026-06-02',
    });
    expect(planIn('America/New_York', 'person')).toMatchObject({ daysLeft: 1, expiryDay: '2026-06-02' });
  });
});

describe('a snooze', () => {
  const until = (day: string) => new Date(`${day}T15:00:00Z`);

  test('suppresses reminders until its last day begins, at any hour', () => {
    expect(planThreshold(10, { snoozedUntil: until('2026-06-02') })).toBeUndefined();
    expect(planThreshold(10, { snoozedUntil: until('2026-06-01') })).toBe(14);
    expect(planThreshold(10, { snoozedUntil: until('2026-05-30') })).toBe(14);
  });

  test('ends on the last safe day, even if requested for longer', () => {
    const snoozedUntil = until('2027-01-01');
    expect(planThreshold(2, { snoozedUntil })).toBeUndefined();
    expect(planThreshold(1, { snoozedUntil })).toBe(1);
    expect(planThreshold(0, { snoozedUntil })).toBe(1);
  });

  test('doesn’t hide the start of a phase after the expiry, nor the last safe days', () => {
    const snoozedUntil = until('2027-01-01');
    expect(planThreshold(-1, { snoozedUntil })).toBe(-1);
    expect(planThreshold(-40, { snoozedUntil, remindedThresholds: [-1] })).toBeUndefined();
    expect(planThreshold(-44, { snoozedUntil, remindedThresholds: [-1] })).toBe(-3);
    expect(planThreshold(-46, { snoozedUntil, remindedThresholds: [-1] })).toBe(-4);
  });

  test('ends at a future expiry at the latest', () => {
    const now = new Date('2026-06-01T09:00:00Z');
    const expiresAt = new Date('2026-06-05T00:00:00Z');
    expect(computeSnoozeEnd(expiresAt, 2, now)).toEqual(new Date('2026-06-03T09:00:00Z'));
    expect(computeSnoozeEnd(expiresAt, 7, now)).toEqual(expiresAt);
    expect(computeSnoozeEnd(now, 7, now), 'at the expiry').toEqual(new Date('2026-06-08T09:00:00Z'));
    expect(computeSnoozeEnd(new Date('2026-05-01'), 7, now)).toEqual(new Date('2026-06-08T09:00:00Z'));
  });
});

describe('after the expiry', () => {
  test.each([
    [-1, 'auto_renew_grace', -1, '2026-07-14', '2026-08-13'],
    [-37, 'auto_renew_grace', -2, '2026-06-08', '2026-07-08'],
    [-43, 'auto_renew_grace', -3, '2026-06-02', '2026-07-02'],
    [-44, 'auto_renew_grace', -3, '2026-06-01', '2026-07-01'],
    [-46, 'redemption', -4, '2026-06-29', '2026-06-29'],
    [-67, 'redemption', -5, '2026-06-08', '2026-06-08'],
    [-73, 'redemption', -6, '2026-06-02', '2026-06-02'],
    [-76, 'pending_delete', -7, '2026-06-04', undefined],
    [-81, 'released', -8, undefined, undefined],
  ])('with %i days left, the phase is %s', (daysLeft, phase, threshold, lastSafeDay, restoreUntil) => {
    const [reminder] = planReminders([createWatchedName(daysLeft)], options);
    expect(reminder).toMatchObject({ phase, threshold, daysLeft });
    expect(reminder?.lastSafeDay).toBe(lastSafeDay);
    expect(reminder?.restoreUntil).toBe(restoreUntil);
  });

  test('a name in a zone without documented periods is expired, and reported four times in a month', () => {
    const shop = { name: 'cafe.shop' };
    expect(planReminders([createWatchedName(-1, shop)], options)[0]).toMatchObject({
      phase: 'expired',
      restoreUntil: undefined,
    });
    const postedReminders: [daysLeft: number, threshold: number][] = [];
    for (let daysLeft = -1; daysLeft >= -120; daysLeft -= 1) {
      const remindedThresholds = postedReminders.map(([, threshold]) => threshold);
      const threshold = planThreshold(daysLeft, { ...shop, remindedThresholds });
      if (threshold !== undefined) postedReminders.push([daysLeft, threshold]);
    }
    expect(postedReminders).toEqual([
      [-1, -9],
      [-7, -10],
      [-14, -11],
      [-28, -12],
    ]);
  });

  test('in a zone without documented periods, a snooze hides all reminders but the first', () => {
    const snoozed = { name: 'cafe.shop', snoozedUntil: new Date('2026-06-20T09:00:00Z') };
    expect(planThreshold(-8, snoozed)).toBeUndefined();
    expect(planThreshold(-1, snoozed)).toBe(-9);
  });

  test('a name that expired long ago has no more reminders', () => {
    expect(planThreshold(-120)).toBe(-8);
    expect(planThreshold(-121)).toBeUndefined();
  });

  test('a known deletion starts redemption, even before the expiry', () => {
    const deletedAt = new Date('2026-05-20T00:00:00Z');
    expect(planReminders([createWatchedName(200, { deletedAt })], options)[0]).toMatchObject({
      phase: 'redemption',
      threshold: -4,
      lastSafeDay: '2026-06-18',
    });
    expect(planThreshold(200, { deletedAt: options.now })).toBe(-4);
    expect(planThreshold(200, { deletedAt: new Date('2026-06-02') })).toBeUndefined();
    expect(planThreshold(200, { deletedAt, renewedUntil: new Date('2028-06-07') })).toBeUndefined();
  });
});

test('a name deleted in a zone without documented periods is reported once, and not as renewable', () => {
  const deletedAt = new Date('2026-05-20T00:00:00Z');
  for (const daysLeft of [200, 20, -20]) {
    const deleted = { name: 'cafe.shop', deletedAt };
    expect(
      planReminders([createWatchedName(daysLeft, deleted)], options)[0],
      `${daysLeft} days left`,
    ).toMatchObject({
      phase: 'deleted',
      threshold: -13,
      lastSafeDay: undefined,
    });
    expect(planThreshold(daysLeft, { ...deleted, remindedThresholds: [-9, -13] })).toBeUndefined();
  }
});

test('reminders start with the names that are lost soonest, and end with those that can’t be saved', () => {
  const names = [
    createWatchedName(30, { name: 'month.rest' }),
    createWatchedName(-81, { name: 'gone.rest' }),
    createWatchedName(-10, { name: 'grace.rest' }),
    createWatchedName(1, { name: 'b.rest' }),
    createWatchedName(1, { name: 'a.rest' }),
    createWatchedName(-77, { name: 'going.rest' }),
    createWatchedName(-60, { name: 'deleted.rest' }),
    createWatchedName(-50, { name: 'lately-deleted.rest' }),
    createWatchedName(-2, { name: 'other.shop' }),
    createWatchedName(0, { name: 'today.rest' }),
  ];
  expect(planReminders(names, options).map(({ phase, name }) => `${phase} ${name}`)).toEqual([
    'redemption deleted.rest',
    'redemption lately-deleted.rest',
    'auto_renew_grace grace.rest',
    'expired other.shop',
    'registered today.rest',
    'registered a.rest',
    'registered b.rest',
    'registered month.rest',
    'pending_delete going.rest',
    'released gone.rest',
  ]);
});

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/St_Johns',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'Africa/Casablanca',
];

test('every due name is in the candidate range of its threshold', () => {
  const minute = fc.integer({ min: -130 * 1440, max: 80 * 1440 });
  const source = fc.constantFrom('rdap' as const, 'order' as const, 'person' as const);
  const name = fc.constantFrom('cafe.rest', 'cafe.shop');
  fc.assert(
    fc.property(
      minute,
      minute,
      source,
      name,
      fc.constantFrom(...ZONES),
      (shift, left, kind, named, timeZone) => {
        const now = new Date(options.now.getTime() + shift * 60_000);
        const moment = new Date(now.getTime() + left * 60_000);
        const expiresAt = kind === 'person' ? new Date(moment.toISOString().slice(0, 10)) : moment;
        const [due] = planReminders([{ name: named, expiresAt, source: kind, remindedThresholds: [] }], {
          now,
          thresholds: THRESHOLDS,
          timeZone,
        });
        if (!due) return;
        const range = listCandidateRanges({ now, thresholds: THRESHOLDS, timeZone }).find(
          ({ threshold }) => threshold === due.threshold,
        );
        expect(range && range.from <= expiresAt && expiresAt < range.until).toBe(true);
      },
    ),
    { numRuns: runs(2000) },
  );
});

describe('over 400 days', () => {
  interface PostedReminder {
    readonly at: Date;
    readonly threshold: number;
    readonly daysLeft: number;
  }

  const timeZone = 'Europe/Berlin';
  const start = new Date('2026-01-01T08:00:00Z');

  /** Nine in the morning in Berlin on a day, in winter and in summer. */
  function nineInBerlin(day: string): Date {
    const eight = new Date(`${day}T08:00:00Z`);
    const hour = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' }).format(
      eight,
    );
    return new Date(eight.getTime() + (9 - Number(hour)) * 3_600_000);
  }

  /** Simulates a bot with two replicas, which never post a threshold twice, and days when it is off. */
  function simulate(
    names: readonly WatchedName[],
    isOff: (index: number) => boolean,
  ): Map<string, PostedReminder[]> {
    const thresholdsByExpiry = new Map<string, Set<number>>();
    const getRemindedThresholds = (name: string, expiry: string) => {
      const key = `${name} ${expiry}`;
      const known = thresholdsByExpiry.get(key) ?? new Set();
      thresholdsByExpiry.set(key, known);
      return known;
    };
    const postedByName = new Map<string, PostedReminder[]>(names.map(({ name }) => [name, []]));
    for (let index = 0; index < 400; index += 1) {
      if (isOff(index)) continue;
      const now = nineInBerlin(shiftDay('2026-01-01', index));
      const snapshot = names.map((item) => ({
        ...item,
        remindedThresholds: [...getRemindedThresholds(item.name, item.expiresAt.toISOString().slice(0, 10))],
      }));
      // Both replicas read before either writes, and one of them is restarted on the same morning.
      const plans = [0, 1, 2].map(() => planReminders(snapshot, { now, thresholds: THRESHOLDS, timeZone }));
      for (const due of plans.flat()) {
        const reminded = getRemindedThresholds(due.name, due.expiry);
        if (reminded.has(due.threshold)) continue;
        reminded.add(due.threshold);
        postedByName.get(due.name)?.push({ at: now, threshold: due.threshold, daysLeft: due.daysLeft });
      }
    }
    return postedByName;
  }

  /** Expiries at all hours, including those around clock changes. */
  const names: WatchedName[] = Array.from({ length: 60 }, (_, index) => ({
    name: `n${index}.rest`,
    expiresAt: new Date(start.getTime() + (70 + index * 3.9) * DAY_MS + index * 37 * 60_000),
    source: 'rdap' as const,
    remindedThresholds: [],
  }));

  test('each threshold is posted once, on its day, through both clock changes', () => {
    const postedByName = simulate(names, () => false);
    for (const { name, expiresAt } of names) {
      const postedReminders = postedByName.get(name) ?? [];
      expect([name, postedReminders.map(({ threshold }) => threshold)]).toEqual([
        name,
        [60, 30, 14, 7, 3, 1, -1, -2, -3, -4, -5, -6, -7, -8],
      ]);
      for (const { at, threshold, daysLeft } of postedReminders.slice(0, 6)) {
        expect([name, daysLeft]).toEqual([name, threshold]);
        const lastDay = getExpiryDay(expiresAt, 'rdap', timeZone);
        expect(countDaysBetween(formatCalendarDay(at, timeZone), lastDay)).toBe(threshold);
      }
    }
  });

  test('after an outage of 30 days, only the tightest threshold is posted, and nothing twice', () => {
    const isOff = (index: number) => index >= 80 && index < 110;
    const postedByName = simulate(names, isOff);
    for (const { name, expiresAt } of names) {
      const thresholds = (postedByName.get(name) ?? []).map(({ threshold }) => threshold);
      expect([name, new Set(thresholds).size]).toEqual([name, thresholds.length]);
      expect([name, thresholds]).toEqual([name, thresholds.toSorted((a, b) => b - a)]);
      const firstDayBack = formatCalendarDay(nineInBerlin(shiftDay('2026-01-01', 110)), timeZone);
      const onReturn = (postedByName.get(name) ?? []).filter(
        ({ at }) => formatCalendarDay(at, timeZone) === firstDayBack,
      );
      expect(onReturn.length).toBeLessThanOrEqual(1);
      const leftOnReturn = countDaysBetween(firstDayBack, getExpiryDay(expiresAt, 'rdap', timeZone));
      const missed = THRESHOLDS.filter((days) => days >= leftOnReturn && days < leftOnReturn + 31);
      if (leftOnReturn >= 0 && missed.length > 0) {
        expect([name, onReturn.map(({ threshold }) => threshold)]).toEqual([name, [Math.min(...missed)]]);
      }
    }
  });

  test('a bot that runs only on some days repeats nothing and never posts a looser threshold later', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 7, maxLength: 40 }), (pattern) => {
        const sampledNames = names.filter((_, index) => index % 12 === 0);
        for (const [name, postedReminders] of simulate(
          sampledNames,
          (index) => pattern[index % pattern.length] === true,
        )) {
          const thresholds = postedReminders.map(({ threshold }) => threshold);
          const descending = [...new Set(thresholds)].toSorted((a, b) => b - a);
          expect([name, thresholds]).toEqual([name, descending]);
        }
      }),
      { numRuns: 15 },
    );
  });
});
