import { describe, expect, test } from 'vitest';
import type { NameActivity } from '../../src/names/context.ts';
import { createFact, type Facts } from '../../src/names/facts.ts';
import { mergeObservation } from '../../src/names/history.ts';
import type { Incident } from '../../src/names/incident.ts';
import { type LookupResults, lookUpMissingDns, mergeLookups } from '../../src/names/lookup.ts';
import type { NameRecord } from '../../src/names/ports.ts';
import { namesContextWith, newNameRecord } from '../support/names-context.ts';

const NAME = 'cafe.rest';
const NOW = new Date('2026-11-22T12:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const addToNow = (ms: number) => new Date(NOW.getTime() + ms);
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
  registryDueAt: undefined,
};
const NO_ACTIVITY: NameActivity = { orders: [], hasOpenOrder: false, incidents: [], isGuarded: false };
const RECORD = newNameRecord(NAME, {}, NOW);
const newObservation = (ms: number, facts: Facts) => ({ name: NAME, at: addToNow(ms), facts });

function mergeResults(
  results: Partial<LookupResults>,
  recordChanges: Partial<NameRecord> = {},
  activity: Partial<NameActivity> = {},
  now = NOW,
) {
  return mergeLookups(
    { ...RECORD, ...recordChanges },
    { ...NO_RESULTS, ...results },
    { ...NO_ACTIVITY, ...activity },
    { now, random: () => 0, certificateDays: [] },
  );
}

test('only values that differ from the previous lookup are stored as observations', () => {
  const facts = { a: createFact(['192.0.2.1']) };
  const first = mergeResults({ dns: newObservation(0, facts) });
  expect(first.observations).toContainEqual({ origin: 'dns', at: NOW, seen: { a: ['192.0.2.1'] } });
  const again = mergeResults({ dns: newObservation(HOUR_MS, facts) }, first.updatedRecord);
  expect(again.observations).toEqual([]);
});

describe('findings', () => {
  const listFindingChanges = ({ observations }: ReturnType<typeof mergeResults>) =>
    observations.flatMap((each) =>
      each.origin === 'finding' ? [{ opened: each.opened, closed: each.closed }] : [],
    );

  test('are stored only when they open and close', () => {
    expect(listFindingChanges(mergeResults({}))).toEqual([{ opened: ['undated', 'no_owner'], closed: [] }]);
    expect(listFindingChanges(mergeResults({}, mergeResults({}).updatedRecord))).toEqual([]);
    const ownedRecord = { ...mergeResults({}).updatedRecord, hasOwner: true };
    expect(listFindingChanges(mergeResults({}, ownedRecord))).toEqual([{ opened: [], closed: ['no_owner'] }]);
    const recordWithIncident = { ...ownedRecord, findings: ['undated', 'incident'] } as const;
    expect(listFindingChanges(mergeResults({}, { ...recordWithIncident, hasOwner: false }))).toEqual([
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
  ])('are updated for %s', (_, recordChanges, activity, expected) => {
    expect(mergeResults({}, recordChanges, activity).updatedRecord.findings).toEqual(expected);
  });
});

describe('the registry lookup', () => {
  test.each([
    ['postponed', 1, true],
    ['not postponed', 0, false],
  ])('keeps a reserved time only if it was postponed: %s', (_, ms, isReserved) => {
    const known = { nextRegistryLookupAt: NOW };
    const { updatedRecord } = mergeResults({ registryDueAt: addToNow(ms) }, known);
    expect([updatedRecord.isRegistryReserved, updatedRecord.nextRegistryLookupAt]).toEqual([
      isReserved,
      addToNow(ms),
    ]);
  });

  test.each<[string, 'parent' | 'dns', times: number, isAtOnce: boolean]>([
    ['a confirmed change at the parent zone', 'parent', 2, true],
    ['an unconfirmed change at the parent zone', 'parent', 1, false],
    ['a change in DNS', 'dns', 2, false],
  ])('follows at once only after a confirmed change at the parent: %s', (_, source, times, isAtOnce) => {
    const delegatedTo = (host: string) => ({ parent_nameservers: createFact([host]) });
    let { updatedRecord } = mergeResults({ [source]: newObservation(0, delegatedTo('ns1.a.example')) });
    for (let n = 1; n <= times; n += 1)
      ({ updatedRecord } = mergeResults(
        { [source]: newObservation(n * HOUR_MS, delegatedTo('ns1.b.example')) },
        { ...updatedRecord, nextRegistryLookupAt: addToNow(5 * DAY_MS) },
        {},
        addToNow(n * HOUR_MS),
      ));
    expect(updatedRecord.nextRegistryLookupAt.getTime() === addToNow(times * HOUR_MS).getTime()).toBe(
      isAtOnce,
    );
  });

  test.each([
    [30 * DAY_MS - 1, true],
    [30 * DAY_MS, false],
  ])('is urgent for 30 days after an incident (%s ms: %s)', (ms, isUrgent) => {
    expect(mergeResults({}, {}, { incidents: [INCIDENT] }, addToNow(ms)).updatedRecord.isUrgent).toBe(
      isUrgent,
    );
  });

  test.each<[string, Partial<NameRecord>, Partial<NameActivity>, isUrgent: boolean]>([
    ['a quiet name', {}, {}, false],
    ['a name with an open order', {}, { hasOpenOrder: true }, true],
    [
      'a name with an unpublished renewal',
      { unpublishedRenewal: { until: addToNow(DAY_MS), at: NOW } },
      {},
      true,
    ],
    [
      'a name with a pending status',
      {
        history: mergeObservation({}, newObservation(0, { statuses: createFact(['pending transfer']) }))
          .history,
      },
      {},
      true,
    ],
  ])('is urgent only if something is pending: %s', (_, recordChanges, activity, isUrgent) => {
    expect(mergeResults({}, recordChanges, activity).updatedRecord.isUrgent).toBe(isUrgent);
  });

  test.each([
    [-1, -1],
    [365 * DAY_MS, 7 * DAY_MS],
  ])('stays due, and is never later than its interval (planned in %s ms)', (next, expected) => {
    const { updatedRecord } = mergeResults(
      {},
      { nextRegistryLookupAt: addToNow(next), nextDnsLookupAt: addToNow(next) },
    );
    expect(updatedRecord.nextRegistryLookupAt).toEqual(addToNow(expected));
    expect(updatedRecord.nextDnsLookupAt).toEqual(addToNow(Math.min(expected, DAY_MS)));
  });
});

test.each([
  ['unknown', {}, 1],
  ['known', mergeObservation({}, newObservation(0, { a: createFact([]) })).history, 0],
])('DNS is looked up only if it is missing: %s', async (_, history, lookups) => {
  let count = 0;
  const context = namesContextWith({
    now: () => NOW,
    records: { find: async () => ({ ...RECORD, history }), save: async () => true },
    loadActivity: async () => NO_ACTIVITY,
    observeDelegation: async () => ({}),
    observer: {
      observe: async () => {
        count += 1;
        return newObservation(0, {});
      },
    },
  });
  await lookUpMissingDns(context, NAME, new AbortController().signal);
  expect(count).toBe(lookups);
});
