import { describe, expect, test } from 'vitest';
import type { NameActivity } from '../../src/names/context.ts';
import { createFact, type Facts } from '../../src/names/facts.ts';
import { mergeObservation } from '../../src/names/history.ts';
import type { Incident } from '../../src/names/incident.ts';
import { type LookupResults, lookUpMissingDns, mergeLookups } from '../../src/names/lookup.ts';
import type { NameRecord } from '../../src/names/ports.ts';
import { namesContextWith, recordWith } from '../support/names-context.ts';

const NAME = 'cafe.rest';
const NOW = new Date('2026-11-22T12:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const later = (ms: number) => new Date(NOW.getTime() + ms);
const CHANGE = {
  ...({ kind: 'nameservers', fact: 'parent_nameservers', before: ['ns1.a.example'], orders: [] } as const),
  ...{
    after: ['ns1.b.example'],
    beforeLastSeenAt: NOW,
    afterFirstSeenAt: NOW,
    noticedAt: NOW,
    expiry: undefined,
  },
};
const INCIDENT: Incident = {
  ...{ id: 'i1', name: NAME, version: 1, state: 'open', openedAt: NOW, changes: [CHANGE], overAt: undefined },
  ...{ proposedExplanation: undefined, explanation: undefined, raisedBy: undefined, channelId: undefined },
};
const NO_RESULTS = {
  dns: undefined,
  parent: undefined,
  registry: undefined,
  whois: undefined,
  registryAt: undefined,
};
const QUIET: NameActivity = { orders: [], hasOpenOrder: false, incidents: [], isGuarded: false };
const RECORD = recordWith(NAME, {}, NOW);
const seenAt = (ms: number, facts: Facts) => ({ name: NAME, at: later(ms), facts });

function merge(
  results: Partial<LookupResults>,
  known: Partial<NameRecord> = {},
  activity: Partial<NameActivity> = {},
  now = NOW,
) {
  return mergeLookups(
    { ...RECORD, ...known },
    { ...NO_RESULTS, ...results },
    { ...QUIET, ...activity },
    { now, random: () => 0, certificateDays: [] },
  );
}

test('only values that differ from the previous lookup are stored as observations', () => {
  const facts = { a: createFact(['192.0.2.1']) };
  const first = merge({ dns: seenAt(0, facts) });
  expect(first.observations).toContainEqual({ origin: 'dns', at: NOW, seen: { a: ['192.0.2.1'] } });
  const again = merge({ dns: seenAt(HOUR_MS, facts) }, first.after);
  expect(again.observations).toEqual([]);
});

describe('findings', () => {
  const changes = ({ observations }: ReturnType<typeof merge>) =>
    observations.flatMap((each) =>
      each.origin === 'finding' ? [{ opened: each.opened, closed: each.closed }] : [],
    );

  test('are stored only when they open and close', () => {
    expect(changes(merge({}))).toEqual([{ opened: ['undated', 'no_owner'], closed: [] }]);
    expect(changes(merge({}, merge({}).after))).toEqual([]);
    const owned = { ...merge({}).after, hasOwner: true };
    expect(changes(merge({}, owned))).toEqual([{ opened: [], closed: ['no_owner'] }]);
    const swapped = { ...owned, findings: ['undated', 'incident'] } as const;
    expect(changes(merge({}, { ...swapped, hasOwner: false }))).toEqual([
      { opened: ['no_owner'], closed: ['incident'] },
    ]);
  });

  test.each<[string, Partial<NameRecord>, Partial<NameActivity>, string[]]>([
    ['a name without an incident', {}, {}, ['undated', 'no_owner']],
    ['an open incident', {}, { incidents: [INCIDENT] }, ['incident', 'undated', 'no_owner']],
    ['an ended incident', {}, { incidents: [{ ...INCIDENT, state: 'over' }] }, ['undated', 'no_owner']],
    [
      'a requested lapse',
      { lapse: { reason: '', requestedBy: 'U0A', confirmed: undefined } },
      {},
      ['undated', 'no_owner'],
    ],
    [
      'a confirmed lapse',
      { lapse: { reason: '', requestedBy: 'U0A', confirmed: { by: 'U0B', at: NOW } } },
      {},
      [],
    ],
  ])('of %s', (_, known, activity, expected) => {
    expect(merge({}, known, activity).after.findings).toEqual(expected);
  });
});

describe('the registry lookup', () => {
  test.each([
    ['postponed', 1, true],
    ['not postponed', 0, false],
  ])('keeps a reserved time only if it was postponed: %s', (_, ms, isReserved) => {
    const known = { nextRegistryLookupAt: NOW };
    const { after } = merge({ registryAt: later(ms) }, known);
    expect([after.isRegistryReserved, after.nextRegistryLookupAt]).toEqual([isReserved, later(ms)]);
  });

  test.each<[string, 'parent' | 'dns', times: number, isAtOnce: boolean]>([
    ['a confirmed change at the parent zone', 'parent', 2, true],
    ['an unconfirmed change at the parent zone', 'parent', 1, false],
    ['a change in DNS', 'dns', 2, false],
  ])('follows at once only after a confirmed change at the parent: %s', (_, source, times, isAtOnce) => {
    const delegatedTo = (host: string) => ({ parent_nameservers: createFact([host]) });
    let { after } = merge({ [source]: seenAt(0, delegatedTo('ns1.a.example')) });
    for (let n = 1; n <= times; n += 1)
      ({ after } = merge(
        { [source]: seenAt(n * HOUR_MS, delegatedTo('ns1.b.example')) },
        { ...after, nextRegistryLookupAt: later(5 * DAY_MS) },
        {},
        later(n * HOUR_MS),
      ));
    expect(after.nextRegistryLookupAt.getTime() === later(times * HOUR_MS).getTime()).toBe(isAtOnce);
  });

  test.each([
    [30 * DAY_MS - 1, true],
    [30 * DAY_MS, false],
  ])('is urgent for 30 days after an incident (%s ms: %s)', (ms, isUrgent) => {
    expect(merge({}, {}, { incidents: [INCIDENT] }, later(ms)).after.isUrgent).toBe(isUrgent);
  });

  test.each<[string, Partial<NameRecord>, Partial<NameActivity>, isUrgent: boolean]>([
    ['a quiet name', {}, {}, false],
    ['a name with an open order', {}, { hasOpenOrder: true }, true],
    ['a name renewed elsewhere', { renewed: { until: later(DAY_MS), at: NOW } }, {}, true],
    [
      'a name with a pending status',
      { history: mergeObservation({}, seenAt(0, { statuses: createFact(['pending transfer']) })).history },
      {},
      true,
    ],
  ])('is urgent only if something is pending: %s', (_, known, activity, isUrgent) => {
    expect(merge({}, known, activity).after.isUrgent).toBe(isUrgent);
  });

  test.each([
    [-1, -1],
    [365 * DAY_MS, 7 * DAY_MS],
  ])('stays due, and is never later than its interval (%s)', (next, expected) => {
    const { after } = merge({}, { nextRegistryLookupAt: later(next), nextDnsLookupAt: later(next) });
    expect(after.nextRegistryLookupAt).toEqual(later(expected));
    expect(after.nextDnsLookupAt).toEqual(later(Math.min(expected, DAY_MS)));
  });
});

test.each([
  ['unknown', {}, 1],
  ['known', mergeObservation({}, seenAt(0, { a: createFact([]) })).history, 0],
])('DNS is looked up only if it is missing: %s', async (_, history, lookups) => {
  let count = 0;
  const context = namesContextWith({
    now: () => NOW,
    records: { find: async () => ({ ...RECORD, history }), save: async () => true },
    loadActivity: async () => QUIET,
    observeDelegation: async () => ({}),
    observer: {
      observe: async () => {
        count += 1;
        return seenAt(0, {});
      },
    },
  });
  await lookUpMissingDns(context, NAME, new AbortController().signal);
  expect(count).toBe(lookups);
});
