import { describe, expect, test } from 'vitest';
import { createFact, type Facts } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import {
  checkConfirmation,
  findProofOrHint,
  type UnansweredRequest,
} from '../../src/names/order-evidence.ts';
import type { Registration } from '../../src/names/registry-record.ts';
import type { NameOrder } from '../../src/names/unexplained-changes.ts';
import { createRegistryLookup, registrationUntil } from '../support/registry-lookup.ts';

/* Proofs by lookups before and after a request. */

const SENT = new Date('2027-06-14T12:00:00Z');
const HOUR_MS = 3_600_000;
const hours = (amount: number) => new Date(SENT.getTime() + amount * HOUR_MS);
const OLD = ['ns1.old.example', 'ns2.old.example'];
const NEW = ['ns1.new.example', 'ns2.new.example'];

const record = registrationUntil(hours(200 * 24), {
  registeredAt: hours(-900 * 24),
  registrar: 'Ours Ltd',
  nameServers: OLD,
});

type ProofInput = UnansweredRequest & { readonly record: Registration };

function findProof({ record: shown, ...lost }: ProofInput) {
  const evidence = findProofOrHint(lost, createRegistryLookup('cafe.rest', SENT, shown));
  return evidence.kind === 'done' ? evidence.seen.code : undefined;
}

/** The history after a lookup, this many hours after the request. */
function historyAt(atHours: number, facts: Facts, history: NameHistory = {}): NameHistory {
  return mergeObservation(history, { name: 'cafe.rest', at: hours(atHours), facts }).history;
}

const before = historyAt(-20, {
  registry_nameservers: createFact(OLD),
  registrar: createFact(['name:Ours Ltd']),
  statuses: createFact(['active']),
});
const deletedBefore = historyAt(-20, {
  registrar: createFact(['name:Ours Ltd']),
  statuses: createFact(['redemption period']),
});

function input(task: ProofInput['order']['task'], changes: Partial<ProofInput> = {}): ProofInput {
  const order = { id: 'o1', task, input: { name: 'cafe.rest', nameServers: NEW } };
  return { order, sentAt: SENT, record, history: before, sightings: [], orders: [], now: SENT, ...changes };
}

const other = (changes: Partial<NameOrder> = {}): NameOrder => ({
  id: 'o2',
  task: 'nameservers',
  state: 'unknown',
  sentAt: hours(-1),
  ...changes,
});

describe('nameservers', () => {
  const done = { ...record, nameServers: [...NEW].reverse() };

  test('are proved if they match the request and differed before', () => {
    expect(findProof(input('nameservers', { record: done }))).toBe('nameservers_set');
    const confirmed = historyAt(
      4,
      { registry_nameservers: createFact(NEW) },
      historyAt(2, { registry_nameservers: createFact(NEW) }, before),
    );
    expect(findProof(input('nameservers', { record: done, history: confirmed }))).toBe('nameservers_set');
  });

  test.each<[string, Partial<ProofInput>]>([
    ['over plain http', { record: { ...done, usedHttps: false } }],
    ['with one missing', { record: { ...done, nameServers: NEW.slice(1) } }],
    ['without an earlier lookup', { record: done, history: {} }],
    ['with an earlier lookup weeks ago', { record: done, sentAt: hours(12 * 24) }],
    [
      'that were already set',
      { record: done, history: historyAt(-20, { registry_nameservers: createFact(NEW) }) },
    ],
    ['with another order since the previous lookup', { record: done, orders: [other()] }],
  ])('%s are not proved', (_what, changes) => {
    expect(findProof(input('nameservers', changes))).toBeUndefined();
  });

  test('are proved despite another order that the service refused', () => {
    expect(findProof(input('nameservers', { record: done, orders: [other({ state: 'refused' })] }))).toBe(
      'nameservers_set',
    );
  });
});

describe('a transfer', () => {
  const moved = { ...record, registrar: 'New Ltd', transferredAt: hours(30), nameServers: NEW };

  test('to another registrar after the request, with the requested nameservers, is proved', () => {
    expect(findProof(input('transfer', { record: moved }))).toBe('transferred');
  });

  test.each<[string, Registration]>([
    ['with other nameservers', { ...moved, nameServers: OLD }],
    ['before the request', { ...moved, transferredAt: hours(-30) }],
    ['without a date', { ...record, registrar: 'New Ltd', nameServers: NEW }],
    ['with the same registrar', { ...moved, registrar: 'OURS LTD.' }],
  ])('%s is not proved', (_what, shown) => {
    expect(findProof(input('transfer', { record: shown }))).toBeUndefined();
  });
});

describe('a deletion', () => {
  const gone = { ...record, statuses: ['redemption period'], deletedAt: hours(0.01) };

  test('within the hour, long before expiry, is proved', () => {
    expect(findProof(input('delete', { record: gone }))).toBe('deleted');
  });

  test.each<[string, Partial<ProofInput>]>([
    ['on a later day', { record: { ...gone, deletedAt: hours(30) } }],
    ['after expiry', { record: { ...gone, expiresAt: hours(-1) } }],
    ['that was already there', { record: gone, history: deletedBefore }],
  ])('%s is not proved', (_what, changes) => {
    expect(findProof(input('delete', changes))).toBeUndefined();
  });
});

describe('a restore', () => {
  test('of a deleted name with the same registration is proved', () => {
    expect(findProof(input('restore', { history: deletedBefore }))).toBe('restored');
  });

  test.each<[string, Partial<ProofInput>]>([
    ['of a name that was not deleted', {}],
    [
      'of a name that is still deleted',
      { history: deletedBefore, record: { ...record, statuses: ['redemption period'] } },
    ],
    ['of a new registration', { history: deletedBefore, record: { ...record, registeredAt: hours(1) } }],
    ['at another registrar', { history: deletedBefore, record: { ...record, registrar: 'New Ltd' } }],
  ])('%s is not proved', (_what, changes) => {
    expect(findProof(input('restore', changes))).toBeUndefined();
  });
});

const DAYS = 24;
const MS = 1 / HOUR_MS;
const MINUTES = 1 / 60;
const gone = { ...record, statuses: ['redemption period'], deletedAt: hours(0) };
const moved = { ...record, registrar: 'New Ltd', transferredAt: hours(0), nameServers: NEW };
const set = { ...record, nameServers: NEW };

test.each<[what: string, hours: number, inside: number, at: (when: Date) => ProofInput]>([
  [
    'a deletion just before',
    -5 * MINUTES,
    1,
    (deletedAt) => input('delete', { record: { ...gone, deletedAt } }),
  ],
  ['a deletion an hour after', 1, -1, (deletedAt) => input('delete', { record: { ...gone, deletedAt } })],
  [
    'a deletion before the expiry',
    1 + MS,
    1,
    (expiresAt) => input('delete', { record: { ...gone, expiresAt } }),
  ],
  [
    'a transfer just before',
    -5 * MINUTES,
    1,
    (transferredAt) => input('transfer', { record: { ...moved, transferredAt } }),
  ],
  [
    'a transfer 21 days after',
    21 * DAYS,
    -1,
    (transferredAt) => input('transfer', { record: { ...moved, transferredAt } }),
  ],
  ['a lookup 9 days before', -20 + 9 * DAYS, -1, (sentAt) => input('nameservers', { record: set, sentAt })],
  [
    'another order before the last lookup',
    -20 - MS,
    -1,
    (sentAt) => input('nameservers', { record: set, orders: [other({ sentAt })] }),
  ],
  [
    'a registration before it was deleted',
    -20 - MS,
    -1,
    (registeredAt) => input('restore', { history: deletedBefore, record: { ...record, registeredAt } }),
  ],
  [
    'a registration just before',
    -5 * MINUTES,
    1,
    (registeredAt) => input('create', { record: { ...set, registeredAt } }),
  ],
  [
    'a registration an hour after',
    1,
    -1,
    (registeredAt) => input('create', { record: { ...set, registeredAt } }),
  ],
])('a proof’s limit around the request is exact: %s', (_what, limit, inside, at) => {
  const proofs = [limit, limit + inside * MS, limit - inside * MS].map(
    (each) => findProof(at(hours(each))) !== undefined,
  );
  expect(proofs).toEqual([true, true, false]);
});

test('a transfer without requested nameservers isn’t proved', () => {
  const order = { id: 'o1', task: 'transfer', input: { name: 'cafe.rest', nameServers: [] } } as const;
  expect(findProof(input('transfer', { order, record: { ...moved, nameServers: [] } }))).toBeUndefined();
});

test('a task without a public trace isn’t proved', () => {
  expect(findProof(input('owner-change'))).toBeUndefined();
});

describe('a renewal', () => {
  const expiring = hours(10 * DAYS);
  const nextYear = new Date('2028-06-24T12:00:00Z');
  const sighting = (atHours: number, expiresAt: Date, registrar = 'name:Ours Ltd') => ({
    at: hours(atHours),
    seen: { expires_at: [expiresAt.toISOString()], registrar: [registrar], transport: ['https'] },
  });
  const last = sighting(-20, expiring);
  const evidenceOf = (changes: Partial<ProofInput>) => {
    const order = { id: 'o1', task: 'renew', input: { names: ['cafe.rest'], period: 1 } } as const;
    const renewed = { ...record, expiresAt: nextYear };
    const { record: shown, ...lost } = input('renew', {
      order,
      record: renewed,
      sightings: [last],
      ...changes,
    });
    const evidence = findProofOrHint(lost, createRegistryLookup('cafe.rest', SENT, shown));
    if (evidence.kind === 'nothing') return 'nothing';
    const { code, otherCause = code } = { otherCause: undefined, ...evidence.seen };
    return otherCause;
  };

  test.each<[string, Partial<ProofInput>, string]>([
    ['by the requested period', {}, 'renewed'],
    ['with a date first seen at the request', { sightings: [{ ...last, at: SENT }] }, 'expiry_seen'],
    [
      'whose date was missing at the last sighting',
      { sightings: [{ at: hours(-1), seen: { expires_at: [] } }, last] },
      'renewed',
    ],
    ['first seen at its expiry', { now: expiring }, 'expiry_passed'],
    ['first seen just before its expiry', { now: new Date(expiring.getTime() - 1) }, 'renewed'],
    [
      'seen before expiry, and without a date since',
      { now: expiring, sightings: [{ at: hours(2), seen: { expires_at: [] } }, sighting(1, nextYear), last] },
      'renewed',
    ],
    [
      'with a transfer after the request',
      { record: { ...record, expiresAt: nextYear, transferredAt: hours(MS) } },
      'transfer',
    ],
    [
      'with a transfer at the request',
      { record: { ...record, expiresAt: nextYear, transferredAt: SENT } },
      'renewed',
    ],
  ])('%s', (_, changes, expected) => {
    expect(evidenceOf(changes)).toBe(expected);
  });
});

test('a transfer’s hint has the transfer date, unless it is before the request', () => {
  const hintOf = (transferredAt: Date) => {
    const { record: shown, ...lost } = input('transfer', { record: { ...record, transferredAt } });
    return findProofOrHint(lost, createRegistryLookup('cafe.rest', SENT, shown));
  };
  expect(hintOf(SENT)).toMatchObject({ seen: { transferredAt: SENT.toISOString() } });
  expect(hintOf(hours(-MS))).not.toHaveProperty('seen.transferredAt');
});

test.each([
  [-1, 'not_shown'],
  [-1 + MS, 'shown'],
])('a transfer %s hours after an accepted order is %s', (after, expected) => {
  const lookup = createRegistryLookup('cafe.rest', SENT, { ...record, transferredAt: hours(after) });
  expect(checkConfirmation({ task: 'transfer' }, SENT, lookup)).toBe(expected);
});

test.each([
  ['a value first seen at the request', historyAt(0, { registry_nameservers: createFact(OLD) }), undefined],
  [
    'a value seen before and since',
    historyAt(1, { registry_nameservers: createFact(OLD) }, before),
    'nameservers_set',
  ],
])('only a value seen before the request counts as the former value: %s', (_, history, expected) => {
  expect(
    findProof(
      input('nameservers', { record: set, history, orders: [other({ sentAt: hours(0.5), id: 'o1' })] }),
    ),
  ).toBe(expected);
});
