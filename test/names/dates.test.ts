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
import { lookThatShows, registrationUntil } from '../support/registry-lookup.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS);

const known: NameDates = { ...UNKNOWN_DATES, expiry: { at: inDays(20), source: 'rdap' } };

function afterLookup(
  dates: NameDates,
  expiresAt: Date,
  { at = NOW, zone = 'rest', ...more }: Partial<Registration> & { at?: Date; zone?: string } = {},
): NameDates {
  return updateDatesAfterLookup(dates, lookThatShows(`cafe.${zone}`, at, registrationUntil(expiresAt, more)));
}

function failed(doubt: RegistryLookup['result']): NameDates {
  return updateDatesAfterLookup(known, { name: 'cafe.rest', at: NOW, facts: {}, result: doubt });
}

describe('adding years', () => {
  test('a leap day becomes the day before, never the day after', () => {
    expect(addYears(new Date('2028-02-29T23:00:00Z'), 1)).toEqual(new Date('2029-02-28T23:00:00Z'));
    expect(addYears(new Date('2028-02-29T23:00:00Z'), 4)).toEqual(new Date('2032-02-29T23:00:00Z'));
    expect(addYears(new Date('2027-03-31T00:00:00Z'), -1)).toEqual(new Date('2026-03-31T00:00:00Z'));
  });
});

describe('after a registry lookup', () => {
  test('its date counts, whatever the source of the earlier one', () => {
    for (const source of ['person', 'order', 'rdap'] as const) {
      const looked = afterLookup({ ...known, expiry: { at: inDays(5), source } }, inDays(9));
      expect(looked).toMatchObject({ expiry: { at: inDays(9), source: 'rdap' }, lastLookupAt: NOW });
    }
    expect(afterLookup(UNKNOWN_DATES, inDays(9)).expiry).toEqual({ at: inDays(9), source: 'rdap' });
  });

  test('a record’s unreadable date is kept, and a missing one is reported', () => {
    const record = lookThatShows('cafe.rest', NOW, { ...registrationUntil(NOW), expiresAt: undefined });
    const facts = { expires_at: { state: 'unseen', reason: 'unreadable', text: '03/04/27' } } as const;
    const problemOf = (look: RegistryLookup) => updateDatesAfterLookup(known, look).doubt;
    expect(problemOf(record)).toMatchObject({ problem: { code: 'no_expiration' } });
    expect(problemOf({ ...record, facts })).toMatchObject({
      problem: { code: 'unreadable_expiration', detail: '03/04/27' },
    });
  });

  test('a year later is a new expiry, a day later a better date for the same one', () => {
    expect(hasNewExpiry(known, afterLookup(known, inDays(385)))).toBe(true);
    expect(hasNewExpiry(known, afterLookup(known, inDays(22)))).toBe(false);
  });

  test('a renewal counts until it is shown; weeks later the contradiction is a doubt', () => {
    const until = inDays(385);
    const renewed = {
      ...known,
      expiry: { at: until, source: 'order' as const },
      renewed: { until, at: NOW },
    };
    for (const shown of [inDays(20), inDays(382)]) {
      const stale = afterLookup(renewed, shown, { at: inDays(3) });
      expect(stale).toMatchObject({ expiry: renewed.expiry, renewed: renewed.renewed, doubt: undefined });
    }
    expect(afterLookup(renewed, inDays(20), { at: inDays(15) })).toMatchObject({
      expiry: renewed.expiry,
      doubt: { code: 'renewal_not_shown', shown: inDays(20) },
    });
    expect(afterLookup(renewed, inDays(20), { at: inDays(14) }).doubt, 'after 14 days').toBeUndefined();
    for (const shown of [inDays(383), inDays(385.2), inDays(750)]) {
      expect(afterLookup(renewed, shown, { at: inDays(3) })).toMatchObject({
        renewed: undefined,
        expiry: { at: shown, source: 'rdap' },
      });
    }
  });

  test.each(['rest', 'example'])('a year that the registry of .%s adds by itself isn’t paid for', (zone) => {
    const grace = { zone, statuses: ['active', 'auto renew period'] };
    const end = (dates: NameDates, expiresAt: Date, more = {}) =>
      afterLookup(dates, expiresAt, more).expiry?.at;
    const ended = new Date('2027-06-01T10:00:00Z');
    expect(end(known, addYears(ended, 1), grace)).toEqual(ended);
    expect(end(known, addYears(NOW, 1), grace), 'at the moment of the expiry').toEqual(NOW);
    expect(end(known, addYears(ended, 1), { zone }), 'without the status').toEqual(addYears(ended, 1));
    expect(end(known, ended, grace), 'a registry that adds nothing').toEqual(ended);
    const longAgo = new Date('2027-04-01T10:00:00Z');
    expect(end(known, addYears(longAgo, 1), grace), 'after the grace').toEqual(addYears(longAgo, 1));
    // .example has no documented grace: 45 days and the day of the expiry.
    const graceEnds = zone === 'rest' ? undefined : addYears(inDays(-46), 1);
    if (graceEnds !== undefined) expect(end(known, graceEnds, grace), 'at the end').toEqual(graceEnds);
    const paid = { ...known, renewed: { until: addYears(ended, 1), at: NOW } };
    expect(end(paid, addYears(ended, 1), grace), 'a renewal of ours').toEqual(addYears(ended, 1));
  });

  test('a deletion counts for an hour until it is shown; after that the record counts', () => {
    const deleted = { ...known, deletedAt: NOW };
    const looked = (days: number, more = {}) =>
      afterLookup(deleted, inDays(20), { at: inDays(days), ...more });
    expect(looked(0.5 / 24).deletedAt).toEqual(NOW);
    expect(looked(1 / 24).deletedAt).toBeUndefined();
    expect(looked(0.5 / 24, { deletedAt: inDays(0.01) }).deletedAt).toEqual(inDays(0.01));
  });

  test('a deletion without a time counts from the previous lookup, so that a restore isn’t delayed too long', () => {
    const gone = { zone: 'example', statuses: ['pending delete'] };
    const before = { ...known, lastLookupAt: inDays(-3) };
    expect(afterLookup(before, inDays(20), gone).deletedAt).toEqual(inDays(-3));
    const again = afterLookup(afterLookup(before, inDays(20), gone), inDays(20), { at: inDays(2), ...gone });
    expect(again.deletedAt).toEqual(inDays(-3));
    const silent = afterLookup(again, inDays(20), { at: inDays(30), statuses: undefined });
    expect(silent, 'a record without statuses').toMatchObject({
      deletedAt: inDays(-3),
      deletionPhase: 'pending_delete',
    });
    expect(
      afterLookup(again, inDays(20), { at: inDays(30), statuses: ['active'] }).deletedAt,
    ).toBeUndefined();
  });

  // Siblings: a first lookup, a previous lookup without a record, a record without a date.
  test('a restore is offered without a deadline if the deletion may be as old as its phase can last', () => {
    const gone = { zone: 'rest', statuses: ['redemption period'] };
    const stage = (before: NameDates, name = 'cafe.rest') => {
      const { deletedAt, deletionPhase } = afterLookup(before, inDays(20), gone);
      return computeLifecycle(findZoneProfile(name), { expiresAt: inDays(20), deletedAt, deletionPhase }, NOW)
        .current;
    };
    const unread = { code: 'undated', problem: { code: 'busy', detail: '429' } } as const;
    expect(stage(known)).toMatchObject({ phase: 'redemption', until: undefined });
    expect(stage({ ...known, lastLookupAt: inDays(-1), doubt: unread })).toMatchObject({ until: undefined });
    const dateless = { code: 'undated', problem: { code: 'no_expiration' } } as const;
    for (const doubt of [undefined, dateless])
      expect(stage({ ...known, lastLookupAt: inDays(-1), doubt })).toMatchObject({ until: inDays(29) });
    const ending = afterLookup(known, inDays(20), { zone: 'rest', statuses: ['pending delete'] });
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
  ])('%o is a doubt and keeps the date', (result, doubt) => {
    expect(failed(result)).toEqual({ ...known, doubt, lastLookupAt: NOW });
    expect(afterLookup(failed(result), inDays(20)).doubt).toBeUndefined();
  });
});

test('WHOIS is asked once a day for a date that the registry doesn’t show', () => {
  const asked = (hours: number) => ({
    ...UNKNOWN_DATES,
    whois: { at: inDays(-hours / 24), registeredAt: undefined, registrar: undefined },
  });
  const due = (dates: NameDates, result: RegistryLookup['result']) =>
    isWhoisDue(dates, { name: 'cafe.hk', at: NOW, facts: {}, result });
  const secret = { kind: 'failed', problem: { code: 'no_public_record' } } as const;
  const record = registrationUntil(inDays(9), {});
  const registered = (expiresAt: Date | undefined) =>
    ({ kind: 'registered', registration: { ...record, expiresAt }, server: 'rdap.example' }) as const;
  expect([due(UNKNOWN_DATES, registered(undefined)), due(UNKNOWN_DATES, registered(NOW))]).toEqual([
    true,
    false,
  ]);
  expect([due(UNKNOWN_DATES, secret), due(asked(24), secret), due(asked(23), secret)]).toEqual([
    true,
    true,
    false,
  ]);
  expect(due(UNKNOWN_DATES, { kind: 'failed', problem: { code: 'busy', detail: '429' } })).toBe(false);
  expect(due(UNKNOWN_DATES, { kind: 'not_registered', server: 'rdap.example' })).toBe(false);
});

test('dates of one expiry differ by less than 30 days; a new one is more than 30 days later', () => {
  const later = new Date(inDays(30).getTime() + 1);
  expect([isSameExpiry(inDays(30), NOW), isSameExpiry(NOW, new Date(inDays(30).getTime() - 1))]).toEqual([
    false,
    true,
  ]);
  const until = (at: Date): NameDates => ({ ...known, expiry: { at, source: 'rdap' } });
  expect([hasNewExpiry(until(NOW), until(inDays(30))), hasNewExpiry(until(NOW), until(later))]).toEqual([
    false,
    true,
  ]);
});

test('a registry’s date is older than a renewal elsewhere for four days; a person’s is not', () => {
  expect(computeStaleLimit(known)).toEqual(inDays(24));
  expect(computeStaleLimit({ ...known, expiry: { at: NOW, source: 'person' } })).toBeUndefined();
  expect(computeStaleLimit(UNKNOWN_DATES)).toBeUndefined();
});

test('a first record of a deletion counts from the earliest time that its phase allows', () => {
  const deletedAt = (status: string) =>
    afterLookup(known, inDays(20), { zone: 'rest', statuses: [status] }).deletedAt;
  expect(deletedAt('redemption period')).toEqual(inDays(-30));
  expect(deletedAt('pending delete')).toEqual(inDays(-35));
});

test('a renewal counts as shown from two days before the requested date', () => {
  const shown = (ms: number): NameDates => ({
    ...known,
    expiry: { at: new Date(addYears(inDays(18), 1).getTime() + ms), source: 'rdap' },
    changed: { from: inDays(20), at: NOW },
  });
  const renewal = { task: 'renew', years: 1, sentAt: NOW, doneAt: NOW } as const;
  const isShown = (before: NameDates) => updateDatesAfterOrder(before, 'cafe.rest', renewal) === before;
  expect([isShown(shown(0)), isShown(shown(-1))]).toEqual([true, false]);
});

describe('after WHOIS', () => {
  const undated = updateDatesAfterLookup(UNKNOWN_DATES, {
    ...{ name: 'cafe.hk', at: NOW, facts: {} },
    result: { kind: 'failed', problem: { code: 'no_public_record' } },
  });
  const until = (days: number, dates: NameDates = undated) =>
    updateDatesAfterWhois(dates, dates, { ...RECORD, expiry: { kind: 'read', at: inDays(days) } }, NOW);
  const RECORD = { kind: 'record', created: inDays(-900), registrar: 'Example Registrar' } as const;

  test('its date counts if the registry publishes none', () => {
    expect(until(30)).toMatchObject({
      expiry: { at: inDays(30), source: 'whois' },
      doubt: undefined,
      whois: { at: NOW, registeredAt: inDays(-900), registrar: 'Example Registrar' },
    });
  });

  test('the registry’s date takes precedence, then the earlier one of WHOIS and a person', () => {
    const given = (days: number, source: 'person' | 'rdap') => ({
      ...undated,
      expiry: { at: inDays(days), source },
    });
    expect(until(30, given(90, 'rdap')).expiry).toMatchObject({ source: 'rdap' });
    expect(until(30, given(30, 'person')).expiry).toMatchObject({ source: 'person' });
    expect(until(30, given(20, 'person')).expiry).toMatchObject({ source: 'person' });
    expect(until(30, given(40, 'person')).expiry).toMatchObject({ at: inDays(30), source: 'whois' });
    expect(afterLookup(until(30), inDays(31)).expiry).toEqual({ at: inDays(31), source: 'rdap' });
  });

  test('an earlier answer counts until the next one, and an unreadable date is shown', () => {
    const before = until(30);
    const looked = { ...before, doubt: undated.doubt };
    expect(updateDatesAfterWhois(before, looked, undefined, NOW)).toEqual(before);
    expect(updateDatesAfterWhois(before, looked, { kind: 'timeout' }, NOW)).toEqual(before);
    const unreadable = { ...RECORD, expiry: { kind: 'unreadable', text: '03/04/27' } } as const;
    expect(updateDatesAfterWhois(undated, undated, unreadable, NOW).doubt).toEqual({
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
  ] as const)('a registry whose WHOIS says %s may publish dates', (kind) => {
    const failed = updateDatesAfterWhois(undated, undated, { kind }, NOW);
    expect(isDateless(failed)).toBe(false);
    expect(failed.doubt?.code).toBe('undated');
    const asked = { ...failed, whois: { at: NOW, registeredAt: undefined, registrar: undefined } };
    const next = { ...asked, doubt: undated.doubt };
    expect(updateDatesAfterWhois(asked, next, undefined, NOW).doubt, 'not asked again').toEqual(failed.doubt);
  });

  test('an earlier problem of WHOIS stays only while WHOIS isn’t asked', () => {
    const problem = (code: 'timeout' | 'no_public_record' | 'no_expiration' | 'unreachable') =>
      ({ code: 'undated', problem: { code } }) as const;
    const whois = { at: NOW, registeredAt: undefined, registrar: undefined };
    const codeAfter = (
      before: Partial<NameDates>,
      looked: Partial<NameDates>,
      answer?: Parameters<typeof updateDatesAfterWhois>[2],
    ) => {
      const [from, to] = [before, looked].map((dates) => ({ ...UNKNOWN_DATES, ...dates }));
      const { doubt } = updateDatesAfterWhois(from ?? UNKNOWN_DATES, to ?? UNKNOWN_DATES, answer, NOW);
      return doubt?.code === 'undated' ? doubt.problem.code : undefined;
    };
    const next = { whois, doubt: problem('no_public_record') };
    expect(codeAfter({ whois, doubt: problem('timeout') }, next)).toBe('timeout');
    expect(codeAfter({ whois, doubt: problem('timeout') }, next, { kind: 'unreachable' })).toBe(
      'unreachable',
    );
    const undatedNext = { whois, doubt: problem('no_expiration') };
    expect(codeAfter({ doubt: problem('timeout') }, undatedNext), 'RDAP’s problem').toBe('no_expiration');
    expect(codeAfter({ whois, doubt: problem('no_public_record') }, undatedNext)).toBe('no_expiration');
  });

  test.each([{ kind: 'no_server' }, { kind: 'not_found' }, { ...RECORD, expiry: undefined }] as const)(
    'after %o the registry publishes no dates',
    (answer) => {
      expect(isDateless(updateDatesAfterWhois(undated, undated, answer, NOW))).toBe(true);
    },
  );

  test('a renewal through the bot counts until WHOIS shows it', () => {
    const renewed = updateDatesAfterOrder(until(30), 'cafe.hk', {
      task: 'renew',
      years: 1,
      sentAt: NOW,
      doneAt: NOW,
    });
    expect(until(30, renewed).expiry?.source).toBe('order');
    expect(until(395, renewed)).toMatchObject({ expiry: { source: 'whois' }, renewed: undefined });
  });
});
