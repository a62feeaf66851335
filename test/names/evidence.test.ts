import { describe, expect, test } from 'vitest';
import { checkConfirmation, findProofOrHint, getNonDemoSentTime } from '../../src/names/order-evidence.ts';
import type { RegistrySighting } from '../../src/names/ports.ts';
import type { Registration, RegistryLookup } from '../../src/names/registry-record.ts';
import type { OrderTaskName } from '../../src/orders/order.ts';
import { formatRecordFinding } from '../../src/slack/orders/record-finding.view.ts';
import { registrationUntil } from '../support/registry-lookup.ts';

const DAY_MS = 86_400_000;
const SENT_AT = new Date('2027-06-14T12:00:00Z');
/** The expiry before the renewal, six days after the request. */
const OLD_EXPIRY = new Date('2027-06-20T12:00:00Z');
const NEW_EXPIRY = new Date('2029-06-20T12:00:00Z');
const SERVERS = ['ns1.example.net', 'ns2.example.net'];
const INPUT = { period: 2, nameServers: SERVERS };
const inDays = (days: number) => new Date(SENT_AT.getTime() + days * DAY_MS);

/** The registry's record at a lookup, in days after the request. */
function newSighting(
  days: number,
  expiresAt = OLD_EXPIRY,
  seenChanges: RegistrySighting['seen'] = {},
): RegistrySighting {
  const record = { registrar: ['name:Registrar'], transport: ['https'] };
  return { at: inDays(days), seen: { expires_at: [expiresAt.toISOString()], ...record, ...seenChanges } };
}
const SIGHTINGS_BEFORE_REQUEST = [newSighting(-3)];
const RENEWED_REGISTRATION = registrationUntil(NEW_EXPIRY, { nameServers: SERVERS });
const newRegisteredResult = (registration: Registration) =>
  ({ kind: 'registered', registration, server: 'rdap.example' }) as const;
const NOT_REGISTERED = { kind: 'not_registered', server: 'rdap.example' } as const;

interface LookupCase {
  readonly task: OrderTaskName;
  readonly result: Registration | RegistryLookup['result'];
  readonly seen?: readonly RegistrySighting[];
  /** The time of the lookup, in days after the request. */
  readonly days?: number;
  readonly input?: unknown;
}

/** Returns `done`, `nothing`, or the text of the hint. */
function describeEvidence({
  task,
  result: registrationOrResult,
  seen = [],
  days = 0.1,
  input = INPUT,
}: LookupCase): string {
  const order = { id: 'o1', task, input };
  const now = inDays(days);
  const unknownOrder = { order, sentAt: SENT_AT, history: {}, sightings: seen, orders: [], now };
  const outcome =
    'kind' in registrationOrResult ? registrationOrResult : newRegisteredResult(registrationOrResult);
  const evidence = findProofOrHint(unknownOrder, { name: 'cafe.rest', at: now, facts: {}, result: outcome });
  return evidence.kind === 'hint' ? formatRecordFinding(evidence.seen) : evidence.kind;
}

test.each<[OrderTaskName, LookupCase['result'], string]>([
  [
    'restore',
    { ...RENEWED_REGISTRATION, statuses: ['redemption period'], deletedAt: inDays(-3) },
    'not_shown',
  ],
  ['restore', { ...RENEWED_REGISTRATION, statuses: ['pending delete'] }, 'not_shown'],
  ['restore', RENEWED_REGISTRATION, 'shown'],
  ['restore', NOT_REGISTERED, 'unknown'],
  ['transfer', { ...RENEWED_REGISTRATION, transferredAt: inDays(1) }, 'shown'],
  ['transfer', { ...RENEWED_REGISTRATION, transferredAt: inDays(-0.02) }, 'shown'],
  ['transfer', { ...RENEWED_REGISTRATION, transferredAt: inDays(-100) }, 'not_shown'],
  ['transfer', { ...RENEWED_REGISTRATION, statuses: ['pending transfer'] }, 'not_shown'],
  ['transfer', RENEWED_REGISTRATION, 'unknown'],
])('an accepted %s with the record %o is %s', (task, registrationOrResult, seen) => {
  const outcome =
    'kind' in registrationOrResult ? registrationOrResult : newRegisteredResult(registrationOrResult);
  const at = inDays(1);
  expect(checkConfirmation({ task }, SENT_AT, { name: 'cafe.rest', at, facts: {}, result: outcome })).toBe(
    seen,
  );
});

describe('a renewal', () => {
  const describeRenewalEvidence = (changes: Partial<Omit<LookupCase, 'task'>> = {}) =>
    describeEvidence({
      task: 'renew',
      result: RENEWED_REGISTRATION,
      seen: SIGHTINGS_BEFORE_REQUEST,
      ...changes,
    });
  const listSightingsAfterRenewal = (days: number) => [
    newSighting(days, NEW_EXPIRY),
    ...SIGHTINGS_BEFORE_REQUEST,
  ];

  test.each([
    ['seen in this lookup', SIGHTINGS_BEFORE_REQUEST],
    ['seen in an earlier lookup', listSightingsAfterRenewal(1)],
  ])('is proved by an expiry date that moved by the requested years, %s', (_what, seen) => {
    expect(describeRenewalEvidence({ seen, days: 2 })).toBe('done');
  });

  test('is proved for an expiry date on a leap day', () => {
    const leapDaySightings = [newSighting(-3, new Date('2028-02-29T12:00:00Z'))];
    const later = { ...RENEWED_REGISTRATION, expiresAt: new Date('2030-03-01T12:00:00Z') };
    expect(describeRenewalEvidence({ seen: leapDaySightings, result: later })).toBe('done');
  });

  test.each<[string, Partial<Omit<LookupCase, 'task'>>, RegExp]>([
    [
      'came over plain http',
      { result: { ...RENEWED_REGISTRATION, usedHttps: false } },
      /shows the expiry date 20 Jun 2029.*plain HTTP/,
    ],
    [
      'came over plain http before the request',
      { seen: [newSighting(-3, OLD_EXPIRY, { transport: ['http'] })] },
      /shows the expiry date 20 Jun 2029/,
    ],
    [
      'shows an unrelated date',
      { result: { ...RENEWED_REGISTRATION, expiresAt: new Date('2028-06-20T12:00:00Z') } },
      /20 Jun 2028/,
    ],
    ['is unchanged', { result: { ...RENEWED_REGISTRATION, expiresAt: OLD_EXPIRY } }, /^No renewal found/],
    [
      'is unchanged after two days',
      { result: { ...RENEWED_REGISTRATION, expiresAt: OLD_EXPIRY }, days: 2 },
      /^No renewal/,
    ],
    [
      'is unchanged after 13 days',
      { result: { ...RENEWED_REGISTRATION, expiresAt: OLD_EXPIRY }, days: 13 },
      /^No renewal/,
    ],
    ['is first seen after the old expiry date', { days: 6.1 }, /changed after the name expired/],
    [
      'changed after the old expiry date',
      { seen: listSightingsAfterRenewal(6.1), days: 9 },
      /changed after the name expired/,
    ],
    [
      'names another registrar',
      { result: { ...RENEWED_REGISTRATION, registrar: 'Another' } },
      /registrar may also have changed/,
    ],
    [
      'names a registrar for the first time',
      { seen: [newSighting(-3, OLD_EXPIRY, { registrar: [] })] },
      /registrar/,
    ],
    [
      'no longer names a registrar',
      { result: { ...RENEWED_REGISTRATION, registrar: undefined } },
      /registrar/,
    ],
    [
      'shows a transfer since the request',
      { result: { ...RENEWED_REGISTRATION, transferredAt: inDays(0.01) } },
      /a transfer changes the date too/,
    ],
    ['has no earlier sighting', { seen: [] }, /previous date is unknown/],
    ['was first seen after the request', { seen: [newSighting(0.01)] }, /previous date is unknown/],
    [
      'changed twice after the request',
      {
        seen: [newSighting(2, NEW_EXPIRY), newSighting(1)],
        days: 3,
      },
      /previous date is unknown/,
    ],
  ])('is not proved if the record %s', (_what, changes, hint) => {
    expect(describeRenewalEvidence(changes)).toMatch(hint);
  });

  test('is proved despite an old transfer, and if no record names a registrar', () => {
    expect(describeRenewalEvidence({ result: { ...RENEWED_REGISTRATION, transferredAt: inDays(-9) } })).toBe(
      'done',
    );
    const unnamed = [newSighting(-3, OLD_EXPIRY, { registrar: [] })];
    expect(
      describeRenewalEvidence({ seen: unnamed, result: { ...RENEWED_REGISTRATION, registrar: undefined } }),
    ).toBe('done');
  });
});

describe('a registration', () => {
  const describeCreateEvidence = (changes: Partial<Registration> = {}, input: unknown = INPUT) =>
    describeEvidence({
      task: 'create',
      result: { ...RENEWED_REGISTRATION, registeredAt: inDays(0.001), ...changes },
      input,
    });

  test('is proved by a record of that time with the requested nameservers, in any order', () => {
    expect(describeCreateEvidence()).toBe('done');
    expect(describeCreateEvidence({ nameServers: SERVERS.toReversed() })).toBe('done');
    expect(describeCreateEvidence({ registeredAt: inDays(-0.003) }), 'the registry’s clock is behind').toBe(
      'done',
    );
  });

  test.each<[string, Partial<Registration>, RegExp]>([
    [
      'other nameservers',
      { nameServers: ['ns1.parked.example'] },
      /^The registry shows a registration on 14 Jun 2027, with other nameservers: ns1\.parked\.example\.$/,
    ],
    ['only one of the nameservers', { nameServers: SERVERS.slice(0, 1) }, /other nameservers/],
    ['an extra nameserver', { nameServers: [...SERVERS, 'ns3.example.net'] }, /other nameservers/],
    ['no nameservers', { nameServers: [] }, /with no nameservers/],
    [
      'a date long before',
      { registeredAt: inDays(-9) },
      /registration on 5 Jun 2027, with the requested nameservers/,
    ],
    ['a date a day later', { registeredAt: inDays(1) }, /registration on 15 Jun 2027/],
    [
      'plain http',
      { usedHttps: false },
      /with the requested nameservers\. The record came over plain HTTP\.$/,
    ],
  ])('is not proved by a record with %s', (_what, changes, hint) => {
    expect(describeCreateEvidence(changes)).toMatch(hint);
  });

  test('is not proved if no nameservers were requested', () => {
    expect(describeCreateEvidence({ nameServers: [] }, { nameServers: [] })).toMatch(/no nameservers/);
  });

  test('is not proved by a record without its registration date', () => {
    expect(describeEvidence({ task: 'create', result: RENEWED_REGISTRATION })).toMatch(/registration, with/);
  });

  test.each([0.1, 1.1, 2.9])('isn’t counted as failed after %d days without a record', (days) => {
    expect(describeEvidence({ task: 'create', result: NOT_REGISTERED, days })).toBe(
      'No registration of the name was found.',
    );
  });
});

test.each<[OrderTaskName, Partial<Registration>, RegExp]>([
  [
    'transfer',
    { statuses: ['pending transfer'] },
    /shows “Registrar” as the registrar, with the status “pending transfer”\. No transfer found since/,
  ],
  [
    'transfer',
    { transferredAt: inDays(1), registrar: undefined },
    /shows no registrar.*a transfer on 15 Jun 2027/,
  ],
  ['delete', { statuses: ['pending delete', 'inactive'] }, /with the status “pending delete”, “inactive”/],
  ['restore', { statuses: [] }, /with no status/],
  ['nameservers', {}, /shows the requested nameservers/],
  ['nameservers', { nameServers: ['ns9.example.net'] }, /other nameservers: ns9\.example\.net/],
])('a %s is never proved, but the record is quoted: %o', (task, changes, hint) => {
  expect(
    describeEvidence({
      task,
      result: { ...RENEWED_REGISTRATION, ...changes },
      seen: SIGHTINGS_BEFORE_REQUEST,
    }),
  ).toMatch(hint);
});

test.each<[string, LookupCase]>([
  [
    'an unavailable registry',
    { task: 'renew', result: { kind: 'failed', problem: { code: 'busy' } }, seen: SIGHTINGS_BEFORE_REQUEST },
  ],
  ['an unreadable record', { task: 'create', result: { kind: 'failed', problem: { code: 'not_a_domain' } } }],
  ['a task without a public trace', { task: 'owner-change', result: RENEWED_REGISTRATION }],
])('%s gives no evidence', (_what, lookupCase) => {
  expect(describeEvidence(lookupCase)).toBe('nothing');
});

test('unsent orders and demo orders have no live send time', () => {
  const order = (context: number) =>
    ({ account: { id: 'a', login: 'alice', method: 'password', context } }) as const;
  expect(getNonDemoSentTime(order(4), { sentAt: SENT_AT })).toEqual(SENT_AT);
  expect(getNonDemoSentTime(order(4), { sentAt: undefined })).toBeUndefined();
  expect(getNonDemoSentTime(order(1), { sentAt: SENT_AT })).toBeUndefined();
});
