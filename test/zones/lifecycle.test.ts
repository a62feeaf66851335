import { describe, expect, test } from 'vitest';
import { formatCalendarDay } from '../../src/zones/calendar-day.ts';
import { generalZone } from '../../src/zones/general.ts';
import { computeLifecycle } from '../../src/zones/lifecycle.ts';
import { restZone } from '../../src/zones/rest.ts';
import fc from '../support/properties.ts';

const expiresAt = new Date('2026-03-01T10:00:00Z');

function getPhase(now: string, deletedAt?: Date) {
  return computeLifecycle(restZone, { expiresAt, deletedAt }, new Date(now)).current.phase;
}

test.each([
  ['.rest, redemption', restZone, 'redemption', 'redemption'],
  ['.rest, pending delete', restZone, 'pending_delete', 'pending_delete'],
  ['a zone without periods, redemption', generalZone, 'redemption', 'deleted'],
  ['a zone without periods, pending delete', generalZone, 'pending_delete', 'pending_delete'],
] as const)('the registry’s phase overrides the dates: %s', (_case, zone, deletionPhase, phase) => {
  // By dates alone, a .rest name is restorable a day after its deletion, and released after two months.
  for (const days of [1, 60]) {
    const now = new Date('2026-02-20T00:00:00Z');
    const deletedAt = new Date(now.getTime() - days * 86_400_000);
    const { current } = computeLifecycle(zone, { expiresAt, deletedAt, deletionPhase }, now);
    expect(current.phase).toBe(phase);
  }
});

describe('an unrenewed .rest name', () => {
  test.each([
    ['2026-03-01T09:59:59Z', 'registered'],
    ['2026-03-01T10:00:00Z', 'auto_renew_grace'],
    ['2026-04-15T09:59:59Z', 'auto_renew_grace'],
    ['2026-04-15T10:00:00Z', 'redemption'],
    ['2026-05-15T09:59:59Z', 'redemption'],
    ['2026-05-15T10:00:00Z', 'pending_delete'],
    ['2026-05-20T09:59:59Z', 'pending_delete'],
    ['2026-05-20T10:00:00Z', 'released'],
    ['2036-01-01T00:00:00Z', 'released'],
  ])('at %s is %s', (now, phase) => {
    expect(getPhase(now)).toBe(phase);
  });

  test('has a last safe day for each stage and a deadline for the restore', () => {
    const lifecycle = computeLifecycle(restZone, { expiresAt }, new Date('2026-03-02T00:00:00Z'));
    expect(lifecycle.stages.map(({ phase, lastSafeDay }) => [phase, lastSafeDay])).toEqual([
      ['registered', '2026-02-28'],
      ['auto_renew_grace', '2026-04-14'],
      ['redemption', '2026-05-14'],
      ['pending_delete', '2026-05-19'],
      ['released', undefined],
    ]);
    expect(lifecycle.stages.find(({ phase }) => phase === 'redemption')?.until).toEqual(
      new Date('2026-05-15T10:00:00Z'),
    );
    expect(lifecycle.isDeletionKnown).toBe(false);
  });
});

describe('a known deletion', () => {
  test('replaces the assumed deletion', () => {
    const deletedAt = new Date('2026-03-10T00:00:00Z');
    expect(getPhase('2026-03-09T00:00:00Z', deletedAt)).toBe('auto_renew_grace');
    expect(getPhase('2026-03-10T00:00:00Z', deletedAt)).toBe('redemption');
    const lifecycle = computeLifecycle(restZone, { expiresAt, deletedAt }, deletedAt);
    expect(lifecycle.current.until).toEqual(new Date('2026-04-09T00:00:00Z'));
    expect(lifecycle.isDeletionKnown).toBe(true);
  });

  test('before expiry leaves no grace period', () => {
    const deletedAt = new Date('2026-02-01T00:00:00Z');
    expect(getPhase('2026-01-31T00:00:00Z', deletedAt)).toBe('registered');
    expect(getPhase('2026-03-02T00:00:00Z', deletedAt)).toBe('redemption');
    expect(getPhase('2026-03-03T00:00:00Z', deletedAt)).toBe('pending_delete');
    expect(getPhase('2026-03-08T00:00:00Z', deletedAt)).toBe('released');
  });
});

test('the last safe day is a calendar day in people’s time zone', () => {
  const dates = { expiresAt: new Date('2026-03-01T02:00:00Z') };
  const getLastSafeDay = (zone: string) =>
    computeLifecycle(restZone, dates, dates.expiresAt, zone).stages[0]?.lastSafeDay;
  expect(getLastSafeDay('UTC')).toBe('2026-02-28');
  expect(getLastSafeDay('America/New_York')).toBe('2026-02-27');
  expect(getLastSafeDay('Pacific/Kiritimati')).toBe('2026-02-28');
});

test('a name in a zone without documented periods is either registered or expired', () => {
  const computeAt = (now: string) => computeLifecycle(generalZone, { expiresAt }, new Date(now));
  expect(computeAt('2026-03-01T09:59:59Z').current.phase).toBe('registered');
  expect(computeAt('2026-03-01T10:00:00Z').current.phase).toBe('expired');
  expect(computeAt('2036-01-01T00:00:00Z').current.phase).toBe('expired');
  expect(computeAt('2026-03-01T10:00:00Z').stages.map(({ phase }) => phase)).toEqual([
    'registered',
    'expired',
  ]);
});

test('a deleted name in a zone without documented periods stays deleted', () => {
  const getPhaseOfDeleted = (deletedAt: string, now: string) =>
    computeLifecycle(generalZone, { expiresAt, deletedAt: new Date(deletedAt) }, new Date(now)).current.phase;
  expect(getPhaseOfDeleted('2026-02-01T00:00:00Z', '2026-01-31T00:00:00Z')).toBe('registered');
  expect(getPhaseOfDeleted('2026-02-01T00:00:00Z', '2026-02-01T00:00:00Z')).toBe('deleted');
  expect(getPhaseOfDeleted('2026-02-01T00:00:00Z', '2036-01-01T00:00:00Z')).toBe('deleted');
  expect(getPhaseOfDeleted('2026-03-10T00:00:00Z', '2026-03-09T00:00:00Z')).toBe('expired');
  expect(getPhaseOfDeleted('2026-03-10T00:00:00Z', '2026-03-10T00:00:00Z')).toBe('deleted');
});

test('an unknown time zone is refused', () => {
  expect(() => formatCalendarDay(expiresAt, 'Mars/Olympus')).toThrow(RangeError);
});

test('stages have no gaps, the current one contains now, and its last safe day is before its end', () => {
  const moment = fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true });
  const zones = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/St_Johns',
    'Pacific/Apia',
    'Australia/Lord_Howe',
  );
  fc.assert(
    fc.property(
      moment,
      fc.option(moment, { nil: undefined }),
      moment,
      zones,
      (expiry, deletedAt, now, timeZone) => {
        const { stages, current } = computeLifecycle(
          restZone,
          { expiresAt: expiry, deletedAt },
          now,
          timeZone,
        );
        for (const [index, stage] of stages.entries()) {
          expect(stages[index + 1]?.from).toEqual(stage.until);
          if (stage.from && stage.until) expect(stage.from <= stage.until).toBe(true);
          if (stage.until && stage.lastSafeDay) {
            expect(stage.lastSafeDay < formatCalendarDay(stage.until, timeZone)).toBe(true);
          }
        }
        if (current.from) expect(current.from <= now).toBe(true);
        if (current.until) expect(now < current.until).toBe(true);
      },
    ),
  );
});
