import { describe, expect, test } from 'vitest';
import { listCandidateRanges } from '../../src/expiry/candidates.ts';
import { daysBetween, getExpiryDay, shiftDay } from '../../src/expiry/days.ts';
import { computeSnoozeEnd, planReminders, type WatchedName } from '../../src/expiry/plan.ts';
import { formatCalendarDay } from '../../src/zones/calendar-day.ts';
import fc, { runs } from '../support/properties.ts';

const DAY_MS = 86_400_000;
const THRESHOLDS = [60, 30, 14, 7, 3, 1];
const options = { now: new Date('2026-06-01T09:00:00Z'), thresholds: THRESHOLDS, timeZone: 'UTC' };

function watched(daysLeft: number, more: Partial<WatchedName> = {}): WatchedName {
  return {
    name: 'cafe.rest',
    expiresAt: new Date(Date.parse('2026-06-01T12:00:00Z') + daysLeft * DAY_MS),
    source: 'rdap',
    remindedThresholds: [],
    ...more,
  };
}

function planned(daysLeft: number, more: Partial<WatchedName> = {}): number | undefined {
  return planReminders([watched(daysLeft, more)], options)[0]?.threshold;
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
    expect(planned(daysLeft)).toBe(threshold);
  });

  test('a threshold isn’t repeated, and isn’t used after a tighter one', () => {
    expect(planned(6, { remindedThresholds: [60, 30, 14] })).toBe(7);
    expect(planned(6, { remindedThresholds: [7] })).toBeUndefined();
    expect(planned(6, { remindedThresholds: [3] })).toBeUndefined();
  });

  test('a name that is left to lapse or was renewed has no reminder', () => {
    expect(planned(6, { isLapsing: true })).toBeUndefined();
    expect(planned(-3, { isLapsing: true })).toBeUndefined();
    expect(planned(6, { renewedUntil: new Date('2028-06-07') })).toBeUndefined();
    expect(planned(-3, { renewedUntil: new Date('2028-06-07') })).toBeUndefined();
  });

  test('an estimated expiry and the last threshold are marked', () => {
    const [reminder] = planReminders([watched(1, { source: 'order' })], options);
    expect(reminder).toMatchObject({
      isEstimated: true,
      isLastThreshold: true,
      daysLeft: 1,
      expiry: '2026-06-02',
      expiryDay: '2026-06-02',
      lastSafeDay: '2026-06-01',
    });
    expect(planReminders([watched(3)], options)[0]).toMatchObject({
      isEstimated: false,
      isLastThreshold: false,
    });
  });

  test('days are counted in the team’s time zone', () => {
    const expiresAt = new Date('2026-06-02T02:00:00Z');
    const at = (timeZone: string, source: 'rdap' | 'person') =>
      planReminders([{ ...watched(0), expiresAt, source }], { ...options, timeZone })[0];
    expect(at('UTC', 'rdap')).toMatchObject({ daysLeft: 1, expiryDay: '2026-06-02', expiry: '2026-06-02' });
    expect(at('America/New_York', 'rdap')).toMatchObject({
      daysLeft: 0,
      expiryDay: '2026-06-01',
      expiry: '2026-06-02',
    });
    expect(at('America/New_York', 'person')).toMatchObject({ daysLeft: 1, expiryDay: '2026-06-02' });
  });
});

describe('a snooze', () => {
  const until = (day: string) => new Date(`${day}T15:00:00Z`);

  test('suppresses reminders until its last day begins, at any hour', () => {
    expect(planned(10, { snoozedUntil: until('2026-06-02') })).toBeUndefined();
    expect(planned(10, { snoozedUntil: until('2026-06-01') })).toBe(14);
    expect(planned(10, { snoozedUntil: until('2026-05-30') })).toBe(14);
  });

  test('ends on the last safe day, even if requested for longer', () => {
    const snoozedUntil = until('2027-01-01');
    expect(planned(2, { snoozedUntil })).toBeUndefined();
    expect(planned(1, { snoozedUntil })).toBe(1);
    expect(planned(0, { snoozedUntil })).toBe(1);
  });

  test('doesn’t hide the start of a phase after the expiry, nor the last safe days', () => {
    const snoozedUntil = until('2027-01-01');
    expect(planned(-1, { snoozedUntil })).toBe(-1);
    expect(planned(-40, { snoozedUntil, remindedThresholds: [-1] })).toBeUndefined();
    expect(planned(-44, { snoozedUntil, remindedThresholds: [-1] })).toBe(-3);
    expect(planned(-46, { snoozedUntil, remindedThresholds: [-1] })).toBe(-4);
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
    const [reminder] = planReminders([watched(daysLeft)], options);
    expect(reminder).toMatchObject({ phase, threshold, daysLeft });
    expect(reminder?.lastSafeDay).toBe(lastSafeDay);
    expect(reminder?.restoreUntil).toBe(restoreUntil);
  });

  test('a name in a zone without documented periods is expired, and reported four times in a month', () => {
    const shop = { name: 'cafe.shop' };
    expect(planReminders([watched(-1, shop)], options)[0]).toMatchObject({
      phase: 'expired',
      restoreUntil: undefined,
    });
    const told: [daysLeft: number, threshold: number][] = [];
    for (let daysLeft = -1; daysLeft >= -120; daysLeft -= 1) {
      const remindedThresholds = told.map(([, threshold]) => threshold);
      const threshold = planned(daysLeft, { ...shop, remindedThresholds });
      if (threshold !== undefined) told.push([daysLeft, threshold]);
    }
    expect(told).toEqual([
      [-1, -9],
      [-7, -10],
      [-14, -11],
      [-28, -12],
    ]);
  });

  test('a snooze hides the later ones of these reminders, but not the first', () => {
    const snoozed = { name: 'cafe.shop', snoozedUntil: new Date('2026-06-20T09:00:00Z') };
    expect(planned(-8, snoozed)).toBeUndefined();
    expect(planned(-1, snoozed)).toBe(-9);
  });

  test('a name that expired long ago has no more reminders', () => {
    expect(planned(-120)).toBe(-8);
    expect(planned(-121)).toBeUndefined();
  });

  test('a known deletion counts, even before the expiry', () => {
    const deletedAt = new Date('2026-05-20T00:00:00Z');
    expect(planReminders([watched(200, { deletedAt })], options)[0]).toMatchObject({
      phase: 'redemption',
      threshold: -4,
      lastSafeDay: '2026-06-18',
    });
    expect(planned(200, { deletedAt: options.now })).toBe(-4);
    expect(planned(200, { deletedAt: new Date('2026-06-02') })).toBeUndefined();
    expect(planned(200, { deletedAt, renewedUntil: new Date('2028-06-07') })).toBeUndefined();
  });
});

test('a name deleted in a zone without documented periods is reported once, and not as renewable', () => {
  const deletedAt = new Date('2026-05-20T00:00:00Z');
  for (const daysLeft of [200, 20, -20]) {
    const deleted = { name: 'cafe.shop', deletedAt };
    expect(planReminders([watched(daysLeft, deleted)], options)[0], `${daysLeft} days left`).toMatchObject({
      phase: 'deleted',
      threshold: -13,
      lastSafeDay: undefined,
    });
    expect(planned(daysLeft, { ...deleted, remindedThresholds: [-9, -13] })).toBeUndefined();
  }
});

test('reminders start with the names that are lost soonest, and end with those that can’t be saved', () => {
  const names = [
    watched(30, { name: 'month.rest' }),
    watched(-81, { name: 'gone.rest' }),
    watched(-10, { name: 'grace.rest' }),
    watched(1, { name: 'b.rest' }),
    watched(1, { name: 'a.rest' }),
    watched(-77, { name: 'going.rest' }),
    watched(-60, { name: 'deleted.rest' }),
    watched(-50, { name: 'lately-deleted.rest' }),
    watched(-2, { name: 'other.shop' }),
    watched(0, { name: 'today.rest' }),
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
  interface Said {
    readonly at: Date;
    readonly threshold: number;
    readonly daysLeft: number;
  }

  const timeZone = 'Europe/Berlin';
  const start = new Date('2026-01-01T08:00:00Z');

  /** Nine in the morning in Berlin on a day, in winter and in summer. */
  function nineOClock(day: string): Date {
    const eight = new Date(`${day}T08:00:00Z`);
    const hour = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' }).format(
      eight,
    );
    return new Date(eight.getTime() + (9 - Number(hour)) * 3_600_000);
  }

  /** Two replicas with the same ticks, a memory with a unique key, and a bot that is off on some days. */
  function simulate(names: readonly WatchedName[], isOff: (index: number) => boolean): Map<string, Said[]> {
    const remembered = new Map<string, Set<number>>();
    const memoryOf = (name: string, expiry: string) => {
      const key = `${name} ${expiry}`;
      const known = remembered.get(key) ?? new Set();
      remembered.set(key, known);
      return known;
    };
    const said = new Map<string, Said[]>(names.map(({ name }) => [name, []]));
    for (let index = 0; index < 400; index += 1) {
      if (isOff(index)) continue;
      const now = nineOClock(shiftDay('2026-01-01', index));
      const snapshot = names.map((item) => ({
        ...item,
        remindedThresholds: [...memoryOf(item.name, item.expiresAt.toISOString().slice(0, 10))],
      }));
      // Both replicas read before either writes, and one of them is restarted on the same morning.
      const plans = [0, 1, 2].map(() => planReminders(snapshot, { now, thresholds: THRESHOLDS, timeZone }));
      for (const due of plans.flat()) {
        const memory = memoryOf(due.name, due.expiry);
        if (memory.has(due.threshold)) continue;
        memory.add(due.threshold);
        said.get(due.name)?.push({ at: now, threshold: due.threshold, daysLeft: due.daysLeft });
      }
    }
    return said;
  }

  /** Expiries at all hours, including those around clock changes. */
  const names: WatchedName[] = Array.from({ length: 60 }, (_, index) => ({
    name: `n${index}.rest`,
    expiresAt: new Date(start.getTime() + (70 + index * 3.9) * DAY_MS + index * 37 * 60_000),
    source: 'rdap' as const,
    remindedThresholds: [],
  }));

  test('each threshold is posted once, on its day, through both clock changes', () => {
    const said = simulate(names, () => false);
    for (const { name, expiresAt } of names) {
      const heard = said.get(name) ?? [];
      expect([name, heard.map(({ threshold }) => threshold)]).toEqual([
        name,
        [60, 30, 14, 7, 3, 1, -1, -2, -3, -4, -5, -6, -7, -8],
      ]);
      for (const { at, threshold, daysLeft } of heard.slice(0, 6)) {
        expect([name, daysLeft]).toEqual([name, threshold]);
        const lastDay = getExpiryDay(expiresAt, 'rdap', timeZone);
        expect(daysBetween(formatCalendarDay(at, timeZone), lastDay)).toBe(threshold);
      }
    }
  });

  test('after 30 days without the bot only the tightest is posted, and nothing twice', () => {
    const isOff = (index: number) => index >= 80 && index < 110;
    const said = simulate(names, isOff);
    for (const { name, expiresAt } of names) {
      const heard = (said.get(name) ?? []).map(({ threshold }) => threshold);
      expect([name, new Set(heard).size]).toEqual([name, heard.length]);
      expect([name, heard]).toEqual([name, heard.toSorted((a, b) => b - a)]);
      const firstDayBack = formatCalendarDay(nineOClock(shiftDay('2026-01-01', 110)), timeZone);
      const onReturn = (said.get(name) ?? []).filter(
        ({ at }) => formatCalendarDay(at, timeZone) === firstDayBack,
      );
      expect(onReturn.length).toBeLessThanOrEqual(1);
      const leftOnReturn = daysBetween(firstDayBack, getExpiryDay(expiresAt, 'rdap', timeZone));
      const missed = THRESHOLDS.filter((days) => days >= leftOnReturn && days < leftOnReturn + 31);
      if (leftOnReturn >= 0 && missed.length > 0) {
        expect([name, onReturn.map(({ threshold }) => threshold)]).toEqual([name, [Math.min(...missed)]]);
      }
    }
  });

  test('a bot that runs only on some days repeats nothing and never posts a looser threshold later', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 7, maxLength: 40 }), (pattern) => {
        const some = names.filter((_, index) => index % 12 === 0);
        for (const [name, heard] of simulate(some, (index) => pattern[index % pattern.length] === true)) {
          const thresholds = heard.map(({ threshold }) => threshold);
          const tightening = [...new Set(thresholds)].toSorted((a, b) => b - a);
          expect([name, thresholds]).toEqual([name, tightening]);
        }
      }),
      { numRuns: 15 },
    );
  });
});
