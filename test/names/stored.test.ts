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
const looks = fc.array(fc.array(fc.tuple(fc.constantFrom<FactName>(...FACT_NAMES), fact)), { maxLength: 8 });

/** A name's state after some lookups. */
function known(given: readonly (readonly (readonly [FactName, Fact])[])[]) {
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

function kept(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe('a name’s known facts', () => {
  test('survive a conversion to JSON', () => {
    fc.assert(
      fc.property(looks, (given) => {
        const { history, knownChanges } = known(given);
        expect(storedHistorySchema.parse(kept(history))).toEqual(history);
        expect(storedKnownChangesSchema.parse(kept(knownChanges))).toEqual(knownChanges);
      }),
    );
  });

  test('keep the order that explains a change', () => {
    const owner = (value: string) => [['owner', createFact([`fn:${value}`])]] as const;
    const { knownChanges } = known([owner('1'), owner('2'), owner('2')]);
    expect(storedKnownChangesSchema.parse(kept(knownChanges))).toMatchObject([
      { kind: 'owner', orderId: 'O1' },
    ]);
  });

  test('aren’t read from other values', () => {
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

  test('survives a conversion to JSON', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...IMPACT_TASKS),
        fc.array(fc.tuple(fc.constantFrom<FactName>(...FACT_NAMES), fact)),
        fc.constantFrom({ nameservers: some, mail: some, redirects: some }, undefined),
        fc.option(fc.array(check, { maxLength: 3 }), { nil: undefined }),
        (task, facts, dependents, checks) => {
          const impact = assessImpact({
            task,
            seenAt: new Date(0),
            facts: Object.fromEntries(facts),
            earlierFacts: {},
            dependents,
            checks,
          });
          const read = storedImpactSchema.parse(kept(impact));
          expect(read).toEqual(impact);
          expect(compareImpacts(impact, read)).toEqual({ appeared: [], disappeared: [], changed: [] });
        },
      ),
    );
  });

  test('isn’t read from other values', () => {
    expect(() => storedImpactSchema.parse({ task: 'delete' })).toThrow();
  });
});
