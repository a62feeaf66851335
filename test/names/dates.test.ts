import { describe, expect, test } from 'vitest';
import {
  addYears,
  computeStaleLimit,
  hasNewExpiry,
  isDateless,
  isSameExpiry,
  isWhoisDue,
  type NameDates,
  UNKNOWN_DATES,
  type UnreliableDateReason,
  updateDatesAfterLookup,
  updateDatesAfterOrder,
  updateDatesAfterWhois,
} from '../../src/names/dates.ts';
import type { Registration, RegistryLookup } from '../../src/names/registry-record.ts';
import { computeLifecycle } from '../../src/zones/lifecycle.ts';
import { findZoneProfile } from '../../src/zones/rules.ts';
import { createRegistryLookup, registrationUntil } from '../support/registry-lookup.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS);

const KNOWN_DATES: NameDates = { ...UNKNOWN_DATES, expiry: { at: inDays(20), source: 'rdap' } };

function applyLookup(
  dates: NameDates,
  expiresAt: Date,
  { at = NOW, zone = 'rest', ...overrides }: Partial<Registration> & { at?: Date; zone?: string } = {},
): NameDates {
  return updateDatesAfterLookup(
    dates,
    createRegistryLookup(`cafe.${zone}`, at, registrationUntil(expiresAt, overrides)),
  );
}

function applyFailedLookup(result: RegistryLookup['result']): NameDates {
  return updateDatesAfterLookup(KNOWN_DATES, { name: 'cafe.rest', at: NOW, facts: {}, result });
}

describe('adding years', () => {
  test('turns 29 February into 28 February', () => {
    expect(addYears(new Date('2028-02-29T23:00:00Z'), 1)).toEqual(new Date('2029-02-28T23:00:00Z'));
    expect(addYears(new Date('2028-02-29T23:00:00Z'), 4)).toEqual(new Date('2032-02-29T23:00:00Z'));
    expect(addYears(new Date('2027-03-31T00:00:00Z'), -1)).toEqual(new Date('2026-03-31T00:00:00Z'));
  });
});

describe('after a registry lookup', () => {
  test('the registry’s date replaces a date from any source', () => {
    for (const source of ['person', 'order', 'rdap'] as const) {
      const updatedDates = applyLookup({ ...KNOWN_DATES, expiry: { at: inDays(5), source } }, inDays(9));
      expect(updatedDates).toMatchObject({ expiry: { at: inDays(9), source: 'rdap' }, lastLookupAt: NOW });
    }
    expect(applyLookup(UNKNOWN_DATES, inDays(9)).expiry).toEqual({ at: inDays(9), source: 'rdap' });
  });

  test('a missing or unreadable date is reported as a problem', () => {
    const record = createRegistryLookup('cafe.rest', NOW, {
      ...registrationUntil(NOW),
      expiresAt: undefined,
    });
    const facts = { expires_at: { state: 'unseen', reason: 'unreadable', text: '03/04/27' } } as const;
    const getDoubt = (lookup: RegistryLookup) => updateDatesAfterLookup(KNOWN_DATES, lookup).doubt;
    expect(getDoubt(record)).toMatchObject({ problem: { code: 'no_expiration' } });
    expect(getDoubt({ ...record, facts })).toMatchObject({
      problem: { code: 'unreadable_expiration', detail: '03/04/27' },
    });
  });

  test('a date a year later is a new expiry, and a date two days later a correction', () => {
    expect(hasNewExpiry(KNOWN_DATES, applyLookup(KNOWN_DATES, inDays(385)))).toBe(true);
    expect(hasNewExpiry(KNOWN_DATES, applyLookup(KNOWN_DATES, inDays(22)))).toBe(false);
  });

  test('a renewal counts until the registry shows it, and is doubted after 14 days', () => {
    const until = inDays(385);
    const renewed = {
      ...KNOWN_DATES,
      expiry: { at: until, source: 'order' as const },
      unpublishedRenewal: { until, at: NOW },
    };
    for (const shown of [inDays(20), inDays(382)]) {
      const stale = applyLookup(renewed, shown, { at: inDays(3) });
      expect(stale).toMatchObject({
        expiry: renewed.expiry,
        unpublishedRenewal: renewed.unpublishedRenewal,
        doubt: undefined,
      });
    }
    expect(applyLookup(renewed, inDays(20), { at: inDays(15) })).toMatchObject({
      expiry: renewed.expiry,
      doubt: { code: 'renewal_not_shown', shown: inDays(20) },
    });
    expect(applyLookup(renewed, inDays(20), { at: inDays(14) }).doubt, 'after 14 days').toBeUndefined();
    for (const shown of [inDays(383), inDays(385.2), inDays(750)]) {
      expect(applyLookup(renewed, shown, { at: inDays(3) })).toMatchObject({
        unpublishedRenewal: undefined,
        expiry: { at: shown, source: 'rdap' },
      });
    }
  });

  test.each(['rest', 'example'])('an automatic renewal by the .%s registry doesn’t count', (zone) => {
    const grace = { zone, statuses: ['active', 'auto renew period'] };
    const getExpiry = (dates: NameDates, expiresAt: Date, overrides = {}) =>
      applyLookup(dates, expiresAt, overrides).expiry?.at;
    const endedAt = new Date('2027-06-01T10:00:00Z');
    expect(getExpiry(KNOWN_DATES, addYears(endedAt, 1), grace)).toEqual(endedAt);
    expect(getExpiry(KNOWN_DATES, addYears(NOW, 1), grace), 'on expiry').toEqual(NOW);
    expect(getExpiry(KNOWN_DATES, addYears(endedAt, 1), { zone }), 'without the status').toEqual(
      addYears(endedAt, 1),
    );
    expect(getExpiry(KNOWN_DATES, endedAt, grace), 'a registry without automatic renewals').toEqual(endedAt);
    const longAgo = new Date('2027-04-01T10:00:00Z');
    expect(getExpiry(KNOWN_DATES, addYears(longAgo, 1), grace), 'after the grace period').toEqual(
      addYears(longAgo, 1),
    );
    // .example has no documented grace period: 45 days and the day of expiry are assumed.
    const graceEnds = zone === 'rest' ? undefined : addYears(inDays(-46), 1);
    if (graceEnds !== undefined)
      expect(getExpiry(KNOWN_DATES, graceEnds, grace), 'on the last day').toEqual(graceEnds);
    const renewedByBot = { ...KNOWN_DATES, unpublishedRenewal: { until: addYears(endedAt, 1), at: NOW } };
    expect(getExpiry(renewedByBot, addYears(endedAt, 1), grace), 'renewed through the bot').toEqual(
      addYears(endedAt, 1),
    );
  });

  test('a deletion that the registry doesn’t show counts for an hour', () => {
    const deleted = { ...KNOWN_DATES, deletedAt: NOW };
    const applyLookupAfter = (days: number, more = {}) =>
      applyLookup(deleted, inDays(20), { at: inDays(days), ...more });
    expect(applyLookupAfter(0.5 / 24).deletedAt).toEqual(NOW);
    expect(applyLookupAfter(1 / 24).deletedAt).toBeUndefined();
    expect(applyLookupAfter(0.5 / 24, { deletedAt: inDays(0.01) }).deletedAt).toEqual(inDays(0.01));
  });

  test('a deletion without a time is dated to the previous lookup', () => {
    const pendingDelete = { zone: 'example', statuses: ['pending delete'] };
    const before = { ...KNOWN_DATES, lastLookupAt: inDays(-3) };
    expect(applyLookup(before, inDays(20), pendingDelete).deletedAt).toEqual(inDays(-3));
    const afterSecondLookup = applyLookup(applyLookup(before, inDays(20), pendingDelete), inDays(20), {
      at: inDays(2),
      ...pendingDelete,
    });
    expect(afterSecondLookup.deletedAt).toEqual(inDays(-3));
    const afterRecordWithoutStatuses = applyLookup(afterSecondLookup, inDays(20), {
      at: inDays(30),
      statuses: undefined,
    });
    expect(afterRecordWithoutStatuses, 'a record without statuses').toMatchObject({
      deletedAt: inDays(-3),
      deletionPhase: 'pending_delete',
    });
    expect(
      applyLookup(afterSecondLookup, inDays(20), { at: inDays(30), statuses: ['active'] }).deletedAt,
    ).toBeUndefined();
  });

  // If no previous lookup succeeded, the name may have been deleted long ago.
  test('a restore has a deadline only if a previous lookup limits the age of the deletion', () => {
    const redemption = { zone: 'rest', statuses: ['redemption period'] };
    const computeStage = (before: NameDates, name = 'cafe.rest') => {
      const { deletedAt, deletionPhase } = applyLookup(before, inDays(20), redemption);
      return computeLifecycle(findZoneProfile(name), { expiresAt: inDays(20), deletedAt, deletionPhase }, NOW)
        .current;
    };
    const failedLookup = { code: 'undated', problem: { code: 'busy', detail: '429' } } as const;
    expect(computeStage(KNOWN_DATES)).toMatchObject({ phase: 'redemption', until: undefined });
    expect(computeStage({ ...KNOWN_DATES, lastLookupAt: inDays(-1), doubt: failedLookup })).toMatchObject({
      until: undefined,
    });
    const dateless = { code: 'undated', problem: { code: 'no_expiration' } } as const;
    for (const doubt of [undefined, dateless])
      expect(computeStage({ ...KNOWN_DATES, lastLookupAt: inDays(-1), doubt })).toMatchObject({
        until: inDays(29),
      });
    const ending = applyLookup(KNOWN_DATES, inDays(20), { zone: 'rest', statuses: ['pending delete'] });
    const dates = { expiresAt: inDays(20), ...ending };
    expect(computeLifecycle(findZoneProfile('cafe.rest'), dates, NOW).current).toMatchObject({
      phase: 'pending_delete',
      until: undefined,
    });
  });

  test.each<[RegistryLookup['result'], UnreliableDateReason]>([
    [{ kind: 'not_registered', server: 'rdap.example' }, { code: 'not_registered' }],
    [
      { kind: 'failed', problem: { code: 'busy', detail: '429' } },
      { code: 'undated', problem: { code: 'busy', detail: '429' } },
    ],
  ])('the result %o keeps the date and marks it as doubtful', (result, doubt) => {
    expect(applyFailedLookup(result)).toEqual({ ...KNOWN_DATES, doubt, lastLookupAt: NOW });
    expect(applyLookup(applyFailedLookup(result), inDays(20)).doubt).toBeUndefined();
  });
});

test('WHOIS is queried once a day if the registry publishes no date', () => {
  const queriedAgo = (hours: number) => ({
    ...UNKNOWN_DATES,
    whois: { at: inDays(-hours / 24), registeredAt: undefined, registrar: undefined },
  });
  const isDue = (dates: NameDates, result: RegistryLookup['result']) =>
    isWhoisDue(dates, { name: 'cafe.hk', at: NOW, facts: {}, result });
  const noPublicRecord = { kind: 'failed', problem: { code: 'no_public_record' } } as const;
  const record = registrationUntil(inDays(9), {});
  const newRegisteredResult = (expiresAt: Date | undefined) =>
    ({ kind: 'registered', registration: { ...record, expiresAt }, server: 'rdap.example' }) as const;
  expect([
    isDue(UNKNOWN_DATES, newRegisteredResult(undefined)),
    isDue(UNKNOWN_DATES, newRegisteredResult(NOW)),
  ]).toEqual([true, false]);
  expect([
    isDue(UNKNOWN_DATES, noPublicRecord),
    isDue(queriedAgo(24), noPublicRecord),
    isDue(queriedAgo(23), noPublicRecord),
  ]).toEqual([true, true, false]);
  expect(isDue(UNKNOWN_DATES, { kind: 'failed', problem: { code: 'busy', detail: '429' } })).toBe(false);
  expect(isDue(UNKNOWN_DATES, { kind: 'not_registered', server: 'rdap.example' })).toBe(false);
});

test('dates of one expiry differ by less than 30 days; a new expiry is more than 30 days later', () => {
  const later = new Date(inDays(30).getTime() + 1);
  expect([isSameExpiry(inDays(30), NOW), isSameExpiry(NOW, new Date(inDays(30).getTime() - 1))]).toEqual([
    false,
    true,
  ]);
  const createDatesUntil = (at: Date): NameDates => ({ ...KNOWN_DATES, expiry: { at, source: 'rdap' } });
  expect([
    hasNewExpiry(createDatesUntil(NOW), createDatesUntil(inDays(30))),
    hasNewExpiry(createDatesUntil(NOW), createDatesUntil(later)),
  ]).toEqual([false, true]);
});

test('a registry’s date is stale four days after the expiry, and a person’s date never is', () => {
  expect(computeStaleLimit(KNOWN_DATES)).toEqual(inDays(24));
  expect(computeStaleLimit({ ...KNOWN_DATES, expiry: { at: NOW, source: 'person' } })).toBeUndefined();
  expect(computeStaleLimit(UNKNOWN_DATES)).toBeUndefined();
});

test('a deletion in the first record is dated as early as its phase allows', () => {
  const deletedAt = (status: string) =>
    applyLookup(KNOWN_DATES, inDays(20), { zone: 'rest', statuses: [status] }).deletedAt;
  expect(deletedAt('redemption period')).toEqual(inDays(-30));
  expect(deletedAt('pending delete')).toEqual(inDays(-35));
});

test('a renewal counts as shown if the date is at most two days short', () => {
  const newPublishedDates = (ms: number): NameDates => ({
    ...KNOWN_DATES,
    expiry: { at: new Date(addYears(inDays(18), 1).getTime() + ms), source: 'rdap' },
    expiryChange: { from: inDays(20), at: NOW },
  });
  const renewal = { task: 'renew', years: 1, sentAt: NOW, doneAt: NOW } as const;
  const isShown = (before: NameDates) => updateDatesAfterOrder(before, 'cafe.rest', renewal) === before;
  expect([isShown(newPublishedDates(0)), isShown(newPublishedDates(-1))]).toEqual([true, false]);
});

describe('after WHOIS', () => {
  const UNDATED = updateDatesAfterLookup(UNKNOWN_DATES, {
    ...{ name: 'cafe.hk', at: NOW, facts: {} },
    result: { kind: 'failed', problem: { code: 'no_public_record' } },
  });
  const applyWhoisDate = (days: number, dates: NameDates = UNDATED) =>
    updateDatesAfterWhois(dates, dates, { ...RECORD, expiry: { kind: 'read', date: inDays(days) } }, NOW);
  const RECORD = { kind: 'record', creationDate: inDays(-900), registrar: 'Example Registrar' } as const;

  test('the WHOIS date counts if the registry publishes none', () => {
    expect(applyWhoisDate(30)).toMatchObject({
      expiry: { at: inDays(30), source: 'whois' },
      doubt: undefined,
      whois: { at: NOW, registeredAt: inDays(-900), registrar: 'Example Registrar' },
    });
  });

  test('the registry’s date comes first, then the earlier of WHOIS’s and a person’s', () => {
    const newDates = (days: number, source: 'person' | 'rdap') => ({
      ...UNDATED,
      expiry: { at: inDays(days), source },
    });
    expect(applyWhoisDate(30, newDates(90, 'rdap')).expiry).toMatchObject({ source: 'rdap' });
    expect(applyWhoisDate(30, newDates(30, 'person')).expiry).toMatchObject({ source: 'person' });
    expect(applyWhoisDate(30, newDates(20, 'person')).expiry).toMatchObject({ source: 'person' });
    expect(applyWhoisDate(30, newDates(40, 'person')).expiry).toMatchObject({
      at: inDays(30),
      source: 'whois',
    });
    expect(applyLookup(applyWhoisDate(30), inDays(31)).expiry).toEqual({ at: inDays(31), source: 'rdap' });
  });

  test('the last WHOIS date counts until the next one, and an unreadable date is reported', () => {
    const before = applyWhoisDate(30);
    const datesAfterLookup = { ...before, doubt: UNDATED.doubt };
    expect(updateDatesAfterWhois(before, datesAfterLookup, undefined, NOW)).toEqual(before);
    expect(updateDatesAfterWhois(before, datesAfterLookup, { kind: 'timeout' }, NOW)).toEqual(before);
    const unreadable = { ...RECORD, expiry: { kind: 'unreadable', text: '03/04/27' } } as const;
    expect(updateDatesAfterWhois(UNDATED, UNDATED, unreadable, NOW).doubt).toEqual({
      code: 'undated',
      problem: { code: 'unreadable_expiration', detail: '03/04/27' },
    });
  });

  test.each([
    'timeout',
    'unreachable',
    'too_large',
    'name_mismatch',
    'not_whois',
    'limited',
    'waiting',
  ] as const)('the WHOIS failure %s doesn’t make a name dateless', (kind) => {
    const failed = updateDatesAfterWhois(UNDATED, UNDATED, { kind }, NOW);
    expect(isDateless(failed)).toBe(false);
    expect(failed.doubt?.code).toBe('undated');
    const queried = { ...failed, whois: { at: NOW, registeredAt: undefined, registrar: undefined } };
    const next = { ...queried, doubt: UNDATED.doubt };
    expect(updateDatesAfterWhois(queried, next, undefined, NOW).doubt, 'no new query').toEqual(failed.doubt);
  });

  test('a WHOIS problem stays until the next WHOIS query', () => {
    const problem = (code: 'timeout' | 'no_public_record' | 'no_expiration' | 'unreachable') =>
      ({ code: 'undated', problem: { code } }) as const;
    const whois = { at: NOW, registeredAt: undefined, registrar: undefined };
    const getProblemCodeAfter = (
      before: Partial<NameDates>,
      datesAfterLookup: Partial<NameDates>,
      answer?: Parameters<typeof updateDatesAfterWhois>[2],
    ) => {
      const [from, to] = [before, datesAfterLookup].map((dates) => ({ ...UNKNOWN_DATES, ...dates }));
      const { doubt } = updateDatesAfterWhois(from ?? UNKNOWN_DATES, to ?? UNKNOWN_DATES, answer, NOW);
      return doubt?.code === 'undated' ? doubt.problem.code : undefined;
    };
    const next = { whois, doubt: problem('no_public_record') };
    expect(getProblemCodeAfter({ whois, doubt: problem('timeout') }, next)).toBe('timeout');
    expect(getProblemCodeAfter({ whois, doubt: problem('timeout') }, next, { kind: 'unreachable' })).toBe(
      'unreachable',
    );
    const undatedNext = { whois, doubt: problem('no_expiration') };
    expect(getProblemCodeAfter({ doubt: problem('timeout') }, undatedNext), 'RDAP’s problem').toBe(
      'no_expiration',
    );
    expect(getProblemCodeAfter({ whois, doubt: problem('no_public_record') }, undatedNext)).toBe(
      'no_expiration',
    );
  });

  test.each([{ kind: 'no_server' }, { kind: 'not_found' }, { ...RECORD, expiry: undefined }] as const)(
    'the WHOIS result %o makes a name dateless',
    (answer) => {
      expect(isDateless(updateDatesAfterWhois(UNDATED, UNDATED, answer, NOW))).toBe(true);
    },
  );

  test('a renewal through the bot counts until WHOIS shows it', () => {
    const renewed = updateDatesAfterOrder(applyWhoisDate(30), 'cafe.hk', {
      task: 'renew',
      years: 1,
      sentAt: NOW,
      doneAt: NOW,
    });
    expect(applyWhoisDate(30, renewed).expiry?.source).toBe('order');
    expect(applyWhoisDate(395, renewed)).toMatchObject({
      expiry: { source: 'whois' },
      unpublishedRenewal: undefined,
    });
  });
});
