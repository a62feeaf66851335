import { describe, expect, test } from 'vitest';
import { newlyWatched } from '../../src/expiry/change.ts';
import { findEvidence, lookAtRegistry } from '../../src/expiry/evidence.ts';
import type { RegistryRecord, WatchedDomain } from '../../src/expiry/ports.ts';
import type { OrderTaskName } from '../../src/orders/order.ts';
import type { RdapFound, RdapResult } from '../../src/rdap/client.ts';
import { recordFindingText } from '../../src/slack/views/record-finding.ts';
import { DAY_MS } from './rig.ts';

const SENT = new Date('2027-06-14T12:00:00Z');
/** The name's end before, six days after the request. */
const BEFORE = new Date('2027-06-20T12:00:00Z');
const RENEWED = new Date('2029-06-20T12:00:00Z');
const SERVERS = ['ns1.example.net', 'ns2.example.net'];
const INPUT = { period: 2, nameServers: SERVERS };
const inDays = (days: number) => new Date(SENT.getTime() + days * DAY_MS);

const record: RegistryRecord = {
  expiresAt: BEFORE,
  registrar: 'Registrar',
  secure: true,
  seenAt: inDays(-3),
};
const known: WatchedDomain = {
  ...newlyWatched('cafe.rest', 'U0ALICE', SENT),
  expiry: { at: BEFORE, source: 'rdap' },
  record,
};
const found: RdapFound = {
  kind: 'found',
  expiresAt: RENEWED,
  registrar: 'Registrar',
  nameServers: SERVERS,
  statuses: ['active'],
  server: 'rdap.example',
  secure: true,
};
const NONE: RdapResult = { kind: 'not_found', server: 'rdap.example', secure: true };

interface Look {
  readonly task: OrderTaskName;
  readonly result: RdapResult;
  readonly domain?: WatchedDomain | undefined;
  /** When it is looked, in days after the request. */
  readonly days?: number;
  readonly context?: number | undefined;
  readonly input?: unknown;
}

/** What is found: `done`, `nothing`, or the hint. */
async function look({ task, result, domain, days = 0.1, context = 4, input = INPUT }: Look): Promise<string> {
  const deps = { rdap: { lookup: async () => result }, find: async () => domain, now: () => inDays(days) };
  const order = { task, input, account: { id: 'a', login: 'alice', method: 'password', context } };
  const item = { name: 'cafe.rest', sentAt: SENT };
  const evidence = await findEvidence(deps, order, item, new AbortController().signal);
  return evidence.kind === 'hint' ? recordFindingText(evidence.seen) : evidence.kind;
}

test.each<[OrderTaskName, RdapResult, string]>([
  ['restore', { ...found, deletedAt: inDays(-3) }, 'not_shown'],
  ['restore', found, 'shown'],
  ['restore', NONE, 'unknown'],
  ['transfer', { ...found, transferredAt: inDays(1) }, 'shown'],
  ['transfer', { ...found, transferredAt: inDays(-0.02) }, 'shown'],
  ['transfer', { ...found, transferredAt: inDays(-100) }, 'not_shown'],
  ['transfer', { ...found, statuses: ['pending transfer'] }, 'not_shown'],
  ['transfer', found, 'unknown'],
  ['owner-change', found, 'unknown'],
])('what was accepted as a %s is, by the record %o, %s', async (task, result, seen) => {
  const deps = { rdap: { lookup: async () => result } };
  const item = { name: 'cafe.rest', sentAt: SENT, answeredAt: SENT };
  expect(await lookAtRegistry(deps, { task }, item, new AbortController().signal)).toBe(seen);
});

describe('a renewal', () => {
  const renewed = (more: Partial<Omit<Look, 'task'>> = {}) =>
    look({ task: 'renew', result: found, domain: known, ...more });
  const seenMoved = (days: number): WatchedDomain => ({
    ...known,
    record: { ...record, expiresAt: RENEWED, seenAt: inDays(days) },
    recordBefore: record,
  });

  test.each([
    ['the list still has the record before', known],
    ['the list has seen it move', seenMoved(1)],
  ])('is proved by a date that moved by the years asked for, when %s', async (_what, domain) => {
    expect(await renewed({ domain, days: 2 })).toBe('done');
  });

  test('is proved for a leap day, whose year later is the day before', async () => {
    const leap = { ...record, expiresAt: new Date('2028-02-29T12:00:00Z') };
    const result = { ...found, expiresAt: new Date('2030-03-01T12:00:00Z') };
    expect(await renewed({ domain: { ...known, record: leap }, result })).toBe('done');
  });

  test.each<[string, Partial<Omit<Look, 'task'>>, RegExp]>([
    ['came over plain http', { result: { ...found, secure: false } }, /expires on 20 Jun 2029.*plain http/],
    [
      'was seen over plain http before',
      { domain: { ...known, record: { ...record, secure: false } } },
      /expires on 20 Jun 2029/,
    ],
    [
      'shows another date than either',
      { result: { ...found, expiresAt: new Date('2028-06-20T12:00:00Z') } },
      /20 Jun 2028/,
    ],
    ['shows what it showed', { result: { ...found, expiresAt: BEFORE } }, /^No renewal was seen/],
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
    ['was seen after the old end', { days: 6.1 }, /moved after that day/],
    [
      'moved after the old end, as was seen then',
      { domain: seenMoved(6.1), days: 9 },
      /moved after that day/,
    ],
    ['names another registrar', { result: { ...found, registrar: 'Another' } }, /registrar may have changed/],
    [
      'names a registrar where it named none',
      { domain: { ...known, record: { ...record, registrar: undefined } } },
      /registrar/,
    ],
    ['names no registrar any more', { result: { ...found, registrar: undefined } }, /registrar/],
    [
      'shows a transfer since',
      { result: { ...found, transferredAt: inDays(0.01) } },
      /a transfer moves the date/,
    ],
    ['is of a name that nobody watched', { domain: undefined }, /before is not known/],
    [
      'was first seen after the request',
      { domain: { ...known, record: { ...record, seenAt: inDays(0.01) } } },
      /before is not known/,
    ],
    [
      'changed twice after the request',
      {
        domain: {
          ...known,
          record: { ...record, expiresAt: RENEWED, seenAt: inDays(2) },
          recordBefore: { ...record, seenAt: inDays(1) },
        },
        days: 3,
      },
      /before is not known/,
    ],
    [
      'is of a name whose end is an estimate',
      { domain: { ...known, record: undefined, expiry: { at: BEFORE, source: 'order' } } },
      /before is not known/,
    ],
  ])('is not proved where the record %s', async (_what, more, hint) => {
    expect(await renewed(more)).toMatch(hint);
  });

  test('is proved in spite of an old transfer, and with two records without a registrar', async () => {
    expect(await renewed({ result: { ...found, transferredAt: inDays(-9) } })).toBe('done');
    const unnamed = { ...known, record: { ...record, registrar: undefined } };
    expect(await renewed({ domain: unnamed, result: { ...found, registrar: undefined } })).toBe('done');
  });
});

describe('a registration', () => {
  const created = (more: Partial<RdapFound> = {}, input: unknown = INPUT) =>
    look({ task: 'create', result: { ...found, registeredAt: inDays(0.001), ...more }, input });

  test('is proved by one of that time with the nameservers asked for, in any sequence', async () => {
    expect(await created()).toBe('done');
    expect(await created({ nameServers: SERVERS.toReversed() })).toBe('done');
    expect(await created({ registeredAt: inDays(-0.003) }), 'the registry’s clock is behind').toBe('done');
  });

  test.each<[string, Partial<RdapFound>, RegExp]>([
    [
      'other nameservers',
      { nameServers: ['ns1.parked.example'] },
      /^The registry shows a registration of 14 Jun 2027 with other nameservers: ns1\.parked\.example\.$/,
    ],
    ['one of the nameservers', { nameServers: SERVERS.slice(0, 1) }, /other nameservers/],
    ['one nameserver more', { nameServers: [...SERVERS, 'ns3.example.net'] }, /other nameservers/],
    ['no nameservers', { nameServers: [] }, /with no nameservers/],
    [
      'a day long before',
      { registeredAt: inDays(-9) },
      /registration of 5 Jun 2027 with the nameservers asked for/,
    ],
    ['a day later', { registeredAt: inDays(1) }, /registration of 15 Jun 2027/],
    ['plain http', { secure: false }, /with the nameservers asked for\. The record came over plain http\.$/],
  ])('is not proved by a record with %s', async (_what, more, hint) => {
    expect(await created(more)).toMatch(hint);
  });

  test('is not proved where no nameservers were asked for', async () => {
    expect(await created({ nameServers: [] }, { nameServers: [] })).toMatch(/no nameservers/);
  });

  test('is not proved by a record without its first day', async () => {
    expect(await look({ task: 'create', result: found })).toMatch(/registration without a date/);
  });

  test.each([0.1, 1.1, 2.9])(
    'is never taken for not done: not seen after %d days is said as not seen',
    async (days) => {
      expect(await look({ task: 'create', result: NONE, days })).toBe(
        'No registration of the name was seen.',
      );
    },
  );
});

test.each<[OrderTaskName, Partial<RdapFound>, RegExp]>([
  [
    'transfer',
    { statuses: ['pending transfer'] },
    /names “Registrar” as the registrar, with the status “pending transfer”\. No transfer since/,
  ],
  [
    'transfer',
    { transferredAt: inDays(1), registrar: undefined },
    /names no registrar.*a transfer of 15 Jun 2027/,
  ],
  ['delete', { statuses: ['pending delete', 'inactive'] }, /with the status “pending delete”, “inactive”/],
  ['restore', { statuses: [] }, /with no status/],
  ['nameservers', {}, /shows the nameservers asked for/],
  ['nameservers', { nameServers: ['ns9.example.net'] }, /other nameservers: ns9\.example\.net/],
])('a %s is never proved, and what is seen is told', async (task, more, hint) => {
  expect(await look({ task, result: { ...found, ...more }, domain: known })).toMatch(hint);
});

test.each<[string, Look]>([
  [
    'a registry that is away',
    { task: 'renew', result: { kind: 'unavailable', reason: 'away' }, domain: known },
  ],
  ['a record that cannot be read', { task: 'create', result: { kind: 'unreadable', reason: 'odd' } }],
  ['a task that leaves nothing to see', { task: 'owner-change', result: found }],
  ['an order in the demo system', { task: 'renew', result: found, domain: known, context: 1 }],
])('%s tells nothing', async (_what, what) => {
  expect(await look(what)).toBe('nothing');
});

test('what was never sent is not looked for', async () => {
  const deps = { rdap: { lookup: async () => found }, find: async () => known, now: () => SENT };
  const order = {
    task: 'renew',
    input: INPUT,
    account: { id: 'a', login: 'alice', method: 'password', context: 4 },
  } as const;
  const item = { name: 'cafe.rest', sentAt: undefined };
  expect(await findEvidence(deps, order, item, new AbortController().signal)).toEqual({ kind: 'nothing' });
});
