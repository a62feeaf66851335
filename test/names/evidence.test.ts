import { describe, expect, test } from 'vitest';
import { checkConfirmation, findProofOrHint, getLiveSendTime } from '../../src/names/order-evidence.ts';
import type { RegistrySighting } from '../../src/names/ports.ts';
import type { Registration, RegistryLookup } from '../../src/names/registry-record.ts';
import type { OrderTaskName } from '../../src/orders/order.ts';
import { formatRecordFinding } from '../../src/slack/orders/record-finding.view.ts';
import { registrationUntil } from '../support/registry-lookup.ts';

const DAY_MS = 86_400_000;
const SENT = new Date('2027-06-14T12:00:00Z');
/** The name's earlier expiry, six days after the request. */
const BEFORE = new Date('2027-06-20T12:00:00Z');
const RENEWED = new Date('2029-06-20T12:00:00Z');
const SERVERS = ['ns1.example.net', 'ns2.example.net'];
const INPUT = { period: 2, nameServers: SERVERS };
const inDays = (days: number) => new Date(SENT.getTime() + days * DAY_MS);

/** The registry's record from a day on, counted from the request. */
function sighting(days: number, expiresAt = BEFORE, more: RegistrySighting['seen'] = {}): RegistrySighting {
  const record = { registrar: ['name:Registrar'], transport: ['https'] };
  return { at: inDays(days), seen: { expires_at: [expiresAt.toISOString()], ...record, ...more } };
}
const known = [sighting(-3)];
const found = registrationUntil(RENEWED, { nameServers: SERVERS });
const result = (registration: Registration) =>
  ({ kind: 'registered', registration, server: 'rdap.example' }) as const;
const NONE = { kind: 'not_registered', server: 'rdap.example' } as const;

interface LookupCase {
  readonly task: OrderTaskName;
  readonly result: Registration | RegistryLookup['result'];
  readonly seen?: readonly RegistrySighting[];
  /** The time of the lookup, in days after the request. */
  readonly days?: number;
  readonly input?: unknown;
}

/** The finding: `done`, `nothing`, or the hint. */
function describeEvidence({ task, result: given, seen = [], days = 0.1, input = INPUT }: LookupCase): string {
  const order = { id: 'o1', task, input };
  const now = inDays(days);
  const lost = { order, sentAt: SENT, history: {}, sightings: seen, orders: [], now };
  const outcome = 'kind' in given ? given : result(given);
  const evidence = findProofOrHint(lost, { name: 'cafe.rest', at: now, facts: {}, result: outcome });
  return evidence.kind === 'hint' ? formatRecordFinding(evidence.seen) : evidence.kind;
}

test.each<[OrderTaskName, LookupCase['result'], string]>([
  ['restore', { ...found, statuses: ['redemption period'], deletedAt: inDays(-3) }, 'not_shown'],
  ['restore', { ...found, statuses: ['pending delete'] }, 'not_shown'],
  ['restore', found, 'shown'],
  ['restore', NONE, 'unknown'],
  ['transfer', { ...found, transferredAt: inDays(1) }, 'shown'],
  ['transfer', { ...found, transferredAt: inDays(-0.02) }, 'shown'],
  ['transfer', { ...found, transferredAt: inDays(-100) }, 'not_shown'],
  ['transfer', { ...found, statuses: ['pending transfer'] }, 'not_shown'],
  ['transfer', found, 'unknown'],
])('an accepted %s with the record %o is %s', (task, given, seen) => {
  const outcome = 'kind' in given ? given : result(given);
  const at = inDays(1);
  expect(checkConfirmation({ task }, SENT, { name: 'cafe.rest', at, facts: {}, result: outcome })).toBe(seen);
});

describe('a renewal', () => {
  const renewed = (more: Partial<Omit<LookupCase, 'task'>> = {}) =>
    describeEvidence({ task: 'renew', result: found, seen: known, ...more });
  const afterMove = (days: number) => [sighting(days, RENEWED), ...known];

  test.each([
    ['seen in this lookup', known],
    ['seen in an earlier lookup', afterMove(1)],
  ])('is proved by an expiry date that moved by the requested years, %s', (_what, seen) => {
    expect(renewed({ seen, days: 2 })).toBe('done');
  });

  test('is proved for an expiry date on a leap day', () => {
    const leap = [sighting(-3, new Date('2028-02-29T12:00:00Z'))];
    const later = { ...found, expiresAt: new Date('2030-03-01T12:00:00Z') };
    expect(renewed({ seen: leap, result: later })).toBe('done');
  });

  test.each<[string, Partial<Omit<LookupCase, 'task'>>, RegExp]>([
    [
      'came over plain http',
      { result: { ...found, usedHttps: false } },
      /shows the expiry date 20 Jun 2029.*plain HTTP/,
    ],
    [
      'came over plain http before the request',
      { seen: [sighting(-3, BEFORE, { transport: ['http'] })] },
      /shows the expiry date 20 Jun 2029/,
    ],
    [
      'shows an unrelated date',
      { result: { ...found, expiresAt: new Date('2028-06-20T12:00:00Z') } },
      /20 Jun 2028/,
    ],
    ['is unchanged', { result: { ...found, expiresAt: BEFORE } }, /^No renewal found/],
    ['is unchanged after two days', { result: { ...found, expiresAt: BEFORE }, days: 2 }, /^No renewal/],
    ['is unchanged after 13 days', { result: { ...found, expiresAt: BEFORE }, days: 13 }, /^No renewal/],
    ['is first seen after the old expiry date', { days: 6.1 }, /changed after the name expired/],
    [
      'changed after the old expiry date',
      { seen: afterMove(6.1), days: 9 },
      /changed after the name expired/,
    ],
    [
      'names another registrar',
      { result: { ...found, registrar: 'Another' } },
      /registrar may also have changed/,
    ],
    [
      'names a registrar for the first time',
      { seen: [sighting(-3, BEFORE, { registrar: [] })] },
      /registrar/,
    ],
    ['no longer names a registrar', { result: { ...found, registrar: undefined } }, /registrar/],
    [
      'shows a transfer since the request',
      { result: { ...found, transferredAt: inDays(0.01) } },
      /a transfer changes the date too/,
    ],
    ['has no earlier sighting', { seen: [] }, /previous date is unknown/],
    ['was first seen after the request', { seen: [sighting(0.01)] }, /previous date is unknown/],
    [
      'changed twice after the request',
      {
        seen: [sighting(2, RENEWED), sighting(1)],
        days: 3,
      },
      /previous date is unknown/,
    ],
  ])('is not proved if the record %s', (_what, more, hint) => {
    expect(renewed(more)).toMatch(hint);
  });

  test('is proved despite an old transfer, and if no record names a registrar', () => {
    expect(renewed({ result: { ...found, transferredAt: inDays(-9) } })).toBe('done');
    const unnamed = [sighting(-3, BEFORE, { registrar: [] })];
    expect(renewed({ seen: unnamed, result: { ...found, registrar: undefined } })).toBe('done');
  });
});

describe('a registration', () => {
  const created = (more: Partial<Registration> = {}, input: unknown = INPUT) =>
    describeEvidence({ task: 'create', result: { ...found, registeredAt: inDays(0.001), ...more }, input });

  test('is proved by a record of that time with the requested nameservers, in any order', () => {
    expect(created()).toBe('done');
    expect(created({ nameServers: SERVERS.toReversed() })).toBe('done');
    expect(created({ registeredAt: inDays(-0.003) }), 'the registry’s clock is behind').toBe('done');
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
  ])('is not proved by a record with %s', (_what, more, hint) => {
    expect(created(more)).toMatch(hint);
  });

  test('is not proved if no nameservers were requested', () => {
    expect(created({ nameServers: [] }, { nameServers: [] })).toMatch(/no nameservers/);
  });

  test('is not proved by a record without its registration date', () => {
    expect(describeEvidence({ task: 'create', result: found })).toMatch(/registration, with/);
  });

  test.each([0.1, 1.1, 2.9])('isn’t counted as failed after %d days without a record', (days) => {
    expect(describeEvidence({ task: 'create', result: NONE, days })).toBe(
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
])('a %s is never proved, but the record is quoted: %o', (task, more, hint) => {
  expect(describeEvidence({ task, result: { ...found, ...more }, seen: known })).toMatch(hint);
});

test.each<[string, LookupCase]>([
  [
    'an unavailable registry',
    { task: 'renew', result: { kind: 'failed', problem: { code: 'busy' } }, seen: known },
  ],
  ['an unreadable record', { task: 'create', result: { kind: 'failed', problem: { code: 'not_a_domain' } } }],
  ['a task without a public trace', { task: 'owner-change', result: found }],
])('%s gives no evidence', (_what, what) => {
  expect(describeEvidence(what)).toBe('nothing');
});

test('unsent orders and demo orders have no live send time', () => {
  const order = (context: number) =>
    ({ account: { id: 'a', login: 'alice', method: 'password', context } }) as const;
  expect(getLiveSendTime(order(4), { sentAt: SENT })).toEqual(SENT);
  expect(getLiveSendTime(order(4), { sentAt: undefined })).toBeUndefined();
  expect(getLiveSendTime(order(1), { sentAt: SENT })).toBeUndefined();
});
