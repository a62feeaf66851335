import { describe, expect, test } from 'vitest';
import {
  createFact,
  createUnknownFact,
  FACT_NAMES,
  type Fact,
  type FactName,
} from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { assessImpact, compareImpacts, IMPACT_TASKS } from '../../src/names/impact.ts';
import type { NameserverCheck } from '../../src/names/nameserver-check.ts';
import { storedHistorySchema, storedImpactSchema, storedKnownChangesSchema } from '../../src/names/stored.ts';
import { explainChanges, type KnownChange } from '../../src/names/unexplained-changes.ts';
import fc from '../support/properties.ts';

const START = new Date('2026-11-22T00:00:00Z');

const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constantFrom(createUnknownFact('timeout'), createUnknownFact('not_published'), createFact([])),
  fc.array(fc.constantFrom('a', 'b', 'pending transfer'), { minLength: 1 }).map(createFact),
);
const steps = fc.array(fc.array(fc.tuple(fc.constantFrom<FactName>(...FACT_NAMES), fact)), { maxLength: 8 });

/** A name's state after some lookups. */
function buildState(given: readonly (readonly (readonly [FactName, Fact])[])[]) {
  let history: NameHistory = {};
  let knownChanges: readonly KnownChange[] = [];
  for (const [n, facts] of given.entries()) {
    const at = new Date(START.getTime() + n * 3_600_000);
    const merged = mergeObservation(history, { name: 'cafe.rest', at, facts: Object.fromEntries(facts) });
    history = merged.history;
    const order = { id: 'O1', task: 'owner-change' as const, state: 'sent' as const, sentAt: START };
    knownChanges = explainChanges({
      changes: merged.changes,
      history,
      orders: [order],
      knownChanges,
    }).knownChanges;
  }
  return { history, knownChanges };
}

function roundTrip(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe('a name’s known facts', () => {
  test('survive a JSON round trip', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const { history, knownChanges } = buildState(given);
        expect(storedHistorySchema.parse(roundTrip(history))).toEqual(history);
        expect(storedKnownChangesSchema.parse(roundTrip(knownChanges))).toEqual(knownChanges);
      }),
    );
  });

  test('keep the order that explains a change', () => {
    const owner = (value: string) => [['owner', createFact([`fn:${value}`])]] as const;
    const { knownChanges } = buildState([owner('1'), owner('2'), owner('2')]);
    expect(storedKnownChangesSchema.parse(roundTrip(knownChanges))).toMatchObject([
      { kind: 'owner', orderId: 'O1' },
    ]);
  });

  test('are refused if malformed', () => {
    expect(() => storedHistorySchema.parse([])).toThrow();
    expect(() => storedHistorySchema.parse({ mx: { past: 'none' } })).toThrow();
    expect(() => storedKnownChangesSchema.parse({})).toThrow();
    expect(() =>
      storedKnownChangesSchema.parse([{ kind: 'ds', facts: ['ds'], after: [], firstSeen: 'soon' }]),
    ).toThrow();
  });
});

describe('an impact', () => {
  const check: fc.Arbitrary<NameserverCheck> = fc.record({
    host: fc.constantFrom('ns1', 'ns2', 'ns3'),
    state: fc.constantFrom('authoritative', 'not_authoritative', 'no_answer', 'no_address', 'unseen'),
    differences: fc.constantFrom([], [{ fact: 'mx' as const, now: ['10 a.example'], onNewServer: [] }]),
    uncomparedFacts: fc.subarray<FactName>(['mx', 'a']),
    ds: fc.constantFrom('match', 'mismatch', 'unknown', 'unsigned'),
  });
  const some = { count: 12, privateCount: 0, names: ['one.rest'] };

  test('survives a JSON round trip', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...IMPACT_TASKS),
        fc.array(fc.tuple(fc.constantFrom<FactName>(...FACT_NAMES), fact)),
        fc.constantFrom({ nameservers: some, mail: some, redirects: some }, undefined),
        fc.option(fc.array(check, { maxLength: 3 }), { nil: undefined }),
        (task, facts, dependents, nameserverChecks) => {
          const impact = assessImpact({
            task,
            seenAt: new Date(0),
            facts: Object.fromEntries(facts),
            earlierFacts: {},
            dependents,
            nameserverChecks,
          });
          const read = storedImpactSchema.parse(roundTrip(impact));
          expect(read).toEqual(impact);
          expect(compareImpacts(impact, read)).toEqual({
            addedItems: [],
            removedItems: [],
            changedItems: [],
          });
        },
      ),
    );
  });

  test('is refused if malformed', () => {
    expect(() => storedImpactSchema.parse({ task: 'delete' })).toThrow();
  });
});
