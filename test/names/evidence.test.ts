import { describe, expect, test } from 'vitest';
import { checkConfirmation, findProofOrHint, getLiveSendTime } from '../../src/names/order-evidence.ts';
import type { RegistrySighting } from '../../src/names/ports.ts';
import type { Registration, RegistryLookup } from '../../src/names/registry-record.ts';
import type { OrderTaskName } from '../../src/orders/order.ts';
import { recordFindingText } from '../../src/slack/orders/record-finding.view.ts';
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
function shown(days: number, expiresAt = BEFORE, more: RegistrySighting['seen'] = {}): RegistrySighting {
  const record = { registrar: ['name:Registrar'], transport: ['https'] };
  return { at: inDays(days), seen: { expires_at: [expiresAt.toISOString()], ...record, ...more } };
}
const known = [shown(-3)];
const found = registrationUntil(RENEWED, { nameServers: SERVERS });
const result = (registration: Registration) =>
  ({ kind: 'registered', registration, server: 'rdap.example' }) as const;
const NONE = { kind: 'not_registered', server: 'rdap.example' } as const;

interface Look {
  readonly task: OrderTaskName;
  readonly result: Registration | RegistryLookup['result'];
  readonly seen?: readonly RegistrySighting[];
  /** The time of the lookup, in days after the request. */
  readonly days?: number;
  readonly input?: unknown;
}

/** The finding: `done`, `nothing`, or the hint. */
function look({ task, result: given, seen = [], days = 0.1, input = INPUT }: Look): string {
  const order = { id: 'o1', task, input };
  const now = inDays(days);
  const lost = { order, sentAt: SENT, history: {}, sightings: seen, orders: [], now };
  const outcome = 'kind' in given ? given : result(given);
  const evidence = findProofOrHint(lost, { name: 'cafe.rest', at: now, facts: {}, result: outcome });
  return evidence.kind === 'hint' ? recordFindingText(evidence.seen) : evidence.kind;
}

test.each<[OrderTaskName, Look['result'], string]>([
  ['restore', { ...found, statuses: ['redemption period'], deletedAt: inDays(-3) }, 'not_shown'],
  ['restore', { ...found, statuses: ['pending delete'] }, 'not_shown'],
  ['restore', found, 'shown'],
  ['restore', NONE, 'unknown'],
  ['transfer', { ...found, transferredAt: inDays(1) }, 'shown'],
  ['transfer', { ...found, transferredAt: inDays(-0.02) }, 'shown'],
  ['transfer', { ...found, transferredAt: inDays(-100) }, 'not_shown'],
  ['transfer', { ...found, statuses: ['pending transfer'] }, 'not_shown'],
  ['transfer', found, 'unknown'],
])('an accepted %s is, by the record %o, %s', (task, given, seen) => {
  const outcome = 'kind' in given ? given : result(given);
  const at = inDays(1);
  expect(checkConfirmation({ task }, SENT, { name: 'cafe.rest', at, facts: {}, result: outcome })).toBe(seen);
});

describe('a renewal', () => {
  const renewed = (more: Partial<Omit<Look, 'task'>> = {}) =>
    look({ task: 'renew', result: found, seen: known, ...more });
  const seenMoved = (days: number) => [shown(days, RENEWED), ...known];

  test.each([
    ['the list still has the record before', known],
    ['the list has seen it move', seenMoved(1)],
  ])('is proved by a date that moved by the requested years, when %s', (_what, seen) => {
    expect(renewed({ seen, days: 2 })).toBe('done');
  });

  test('is proved for a leap day, whose next year’s date is the day before', () => {
    const leap = [shown(-3, new Date('2028-02-29T12:00:00Z'))];
    const later = { ...found, expiresAt: new Date('2030-03-01T12:00:00Z') };
    expect(renewed({ seen: leap, result: later })).toBe('done');
  });

  test.each<[string, Partial<Omit<Look, 'task'>>, RegExp]>([
    [
      'came over plain http',
      { result: { ...found, usedHttps: false } },
      /shows the expiry date 20 Jun 2029.*plain HTTP/,
    ],
    [
      'was seen over plain http before',
      { seen: [shown(-3, BEFORE, { transport: ['http'] })] },
      /shows the expiry date 20 Jun 2029/,
    ],
    [
      'shows another date than either',
      { result: { ...found, expiresAt: new Date('2028-06-20T12:00:00Z') } },
      /20 Jun 2028/,
    ],
    ['shows what it showed', { result: { ...found, expiresAt: BEFORE } }, /^No renewal found/],
    [
      'shows what it showed after two days',
      { result: { ...found, expiresAt: BEFORE }, days: 2 },
      /^No renewal/,
    ],
    [
      'shows what it showed after 13 days',
      { result: { ...found, expiresAt: BEFORE }, days: 13 },
      /^No renewal/,
    ],
    ['was seen after the old end', { days: 6.1 }, /changed after the name expired/],
    [
      'moved after the old end, as was seen then',
      { seen: seenMoved(6.1), days: 9 },
      /changed after the name expired/,
    ],
    [
      'names another registrar',
      { result: { ...found, registrar: 'Another' } },
      /registrar may also have changed/,
    ],
    ['names a registrar where it named none', { seen: [shown(-3, BEFORE, { registrar: [] })] }, /registrar/],
    ['names no registrar any more', { result: { ...found, registrar: undefined } }, /registrar/],
    [
      'shows a transfer since',
      { result: { ...found, transferredAt: inDays(0.01) } },
      /a transfer changes the date too/,
    ],
    ['is of a name that nobody watched', { seen: [] }, /previous date is unknown/],
    ['was first seen after the request', { seen: [shown(0.01)] }, /previous date is unknown/],
    [
      'changed twice after the request',
      {
        seen: [shown(2, RENEWED), shown(1)],
        days: 3,
      },
      /previous date is unknown/,
    ],
  ])('is not proved if the record %s', (_what, more, hint) => {
    expect(renewed(more)).toMatch(hint);
  });

  test('is proved despite an old transfer, and with two records without a registrar', () => {
    expect(renewed({ result: { ...found, transferredAt: inDays(-9) } })).toBe('done');
    const unnamed = [shown(-3, BEFORE, { registrar: [] })];
    expect(renewed({ seen: unnamed, result: { ...found, registrar: undefined } })).toBe('done');
  });
});

describe('a registration', () => {
  const created = (more: Partial<Registration> = {}, input: unknown = INPUT) =>
    look({ task: 'create', result: { ...found, registeredAt: inDays(0.001), ...more }, input });

  test('is proved by one of that time with the requested nameservers, in any order', () => {
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
    ['one of the nameservers', { nameServers: SERVERS.slice(0, 1) }, /other nameservers/],
    ['one nameserver more', { nameServers: [...SERVERS, 'ns3.example.net'] }, /other nameservers/],
    ['no nameservers', { nameServers: [] }, /with no nameservers/],
    [
      'a day long before',
      { registeredAt: inDays(-9) },
      /registration on 5 Jun 2027, with the requested nameservers/,
    ],
    ['a day later', { registeredAt: inDays(1) }, /registration on 15 Jun 2027/],
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
    expect(look({ task: 'create', result: found })).toMatch(/registration, with/);
  });

  test.each([0.1, 1.1, 2.9])(
    'is never counted as not done: after %d days it is shown as not seen',
    (days) => {
      expect(look({ task: 'create', result: NONE, days })).toBe('No registration of the name was found.');
    },
  );
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
])('a %s is never proved, and the record is shown', (task, more, hint) => {
  expect(look({ task, result: { ...found, ...more }, seen: known })).toMatch(hint);
});

test.each<[string, Look]>([
  [
    'a registry that is away',
    { task: 'renew', result: { kind: 'failed', problem: { code: 'busy' } }, seen: known },
  ],
  [
    'a record that cannot be read',
    { task: 'create', result: { kind: 'failed', problem: { code: 'not_a_domain' } } },
  ],
  ['a task that leaves nothing to see', { task: 'owner-change', result: found }],
])('%s shows nothing', (_what, what) => {
  expect(look(what)).toBe('nothing');
});

test('unsent orders, and those of the demo system, aren’t looked up', () => {
  const order = (context: number) =>
    ({ account: { id: 'a', login: 'alice', method: 'password', context } }) as const;
  expect(getLiveSendTime(order(4), { sentAt: SENT })).toEqual(SENT);
  expect(getLiveSendTime(order(4), { sentAt: undefined })).toBeUndefined();
  expect(getLiveSendTime(order(1), { sentAt: SENT })).toBeUndefined();
});
