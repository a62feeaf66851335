import { describe, expect, test } from 'vitest';
import { createFact, createUnknownFact, type FactName, type FactValue } from '../../src/names/facts.ts';
import {
  collectRecentFacts,
  type FactChange,
  findNewValues,
  hasUnconfirmedChange,
  mergeObservation,
  type NameHistory,
  wasLookedUp,
} from '../../src/names/history.ts';
import fc from '../support/properties.ts';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 10, 22);

/** Merges one lookup per value. `''` is an absent value, and `?` a failed lookup. */
function mergeLookups(
  values: readonly string[],
  fact: FactName = 'mx',
  before: NameHistory = {},
  everyMs = HOUR_MS,
) {
  let history = before;
  const changes: FactChange[] = [];
  for (const [n, value] of values.entries()) {
    const at = new Date(START + n * everyMs);
    const observed = value === '?' ? createUnknownFact('timeout') : createFact(value === '' ? [] : [value]);
    const merged = mergeObservation(history, { name: 'cafe.rest', at, facts: { [fact]: observed } });
    history = merged.history;
    changes.push(...merged.changes);
  }
  const moves = changes.map(({ before: former, after }) => `${former.join()}→${after.join()}`);
  return { history, changes, moves, known: history[fact] };
}

describe('a value', () => {
  test('counts from its first sighting, with the times it was first and last seen', () => {
    const { known, moves } = mergeLookups(['a', 'a', 'a']);
    expect(moves).toEqual([]);
    expect(known?.current).toEqual({
      value: ['a'],
      firstSeen: new Date(START),
      lastSeen: new Date(START + 2 * HOUR_MS),
    });
  });

  test('changes after two sightings in a row, and keeps the former value', () => {
    expect(mergeLookups(['a', 'b']).moves).toEqual([]);
    const { changes, known } = mergeLookups(['a', 'b', 'b', 'b']);
    expect(changes).toEqual([
      {
        fact: 'mx',
        before: ['a'],
        after: ['b'],
        beforeLastSeenAt: new Date(START),
        afterFirstSeenAt: new Date(START + HOUR_MS),
      },
    ]);
    expect(known?.past.map(({ value }) => value)).toEqual([['a']]);
  });

  test.each([
    [['a', 'b', 'a', 'b', 'a'], []],
    [['a', 'b', 'c', 'd', 'e'], []],
    [['a', 'b', '?', 'b'], ['a→b']],
    [['a', '?', '?', 'a'], []],
    [['a', '?', '?', '?', '?'], []],
    [['a', '', ''], ['a→']],
    [['', 'b', 'b'], ['→b']],
    [
      ['a', 'b', 'b', 'c', 'c'],
      ['a→b', 'b→c'],
    ],
  ])('seen as %j makes the changes %j', (values, moves) => {
    expect(mergeLookups(values).moves).toEqual(moves);
  });

  test('has one sighting if two lookups are within a minute', () => {
    expect(mergeLookups(['a', 'b', 'b'], 'mx', {}, 20_000).moves).toEqual([]);
    expect(mergeLookups(['a', 'b', 'b', 'b', 'b', 'b'], 'mx', {}, 20_000).moves).toEqual(['a→b']);
  });

  test('that arrives late is ignored', () => {
    const { history } = mergeLookups(['a', 'a', 'a']);
    const lateObservation = {
      name: 'cafe.rest',
      at: new Date(START + HOUR_MS),
      facts: { mx: createFact(['b']) },
    };
    expect(mergeObservation(history, lateObservation)).toEqual({ history, changes: [] });
  });

  test('that soon comes back needs more lookups each time', () => {
    expect(mergeLookups(['a', 'b', 'b', 'a', 'a', 'a']).moves).toEqual(['a→b']);
    expect(mergeLookups(['a', 'b', 'b', 'a', 'a', 'a', 'a']).moves).toEqual(['a→b', 'b→a']);
    const byTurns = Array.from({ length: 100 }, (_, n) => (n % 6 < 3 ? 'a' : 'b'));
    expect(mergeLookups(byTurns).moves).toEqual(['a→b']);
  });

  test('that comes back after a week needs two lookups again', () => {
    expect(mergeLookups(['a', 'b', 'b', 'a', 'a'], 'mx', {}, 9 * 24 * HOUR_MS).moves).toEqual(['a→b', 'b→a']);
    expect(mergeLookups(['a', 'b', 'b', 'a', 'a'], 'mx', {}, 42 * HOUR_MS).moves).toEqual(['a→b', 'b→a']);
    expect(mergeLookups(['a', 'b', 'b', 'a', 'a'], 'mx', {}, 41 * HOUR_MS).moves).toEqual(['a→b']);
  });

  test('that hides owner fields is no change, but another owner is', () => {
    const newOwnerObservation = (at: number, ...value: string[]) => ({
      name: 'cafe.rest',
      at: new Date(START + at * HOUR_MS),
      facts: { owner: createFact(value) },
    });
    let history: NameHistory = {};
    const moves: (readonly FactValue[])[] = [];
    for (const observation of [
      newOwnerObservation(0, 'fn:1', 'org:1'),
      newOwnerObservation(1, 'org:1'),
      newOwnerObservation(2, 'org:1'),
      newOwnerObservation(3, 'fn:1'),
      newOwnerObservation(4, 'fn:2'),
      newOwnerObservation(5, 'fn:2', 'org:2'),
    ]) {
      const merged = mergeObservation(history, observation);
      history = merged.history;
      moves.push(...merged.changes.map(({ before, after }) => [before, after]));
    }
    expect(moves).toEqual([
      [
        ['fn:1', 'org:1'],
        ['fn:2', 'org:2'],
      ],
    ]);
  });
});

describe('for every sequence of lookups', () => {
  const values = fc.array(fc.constantFrom('a', 'b', 'c', '', '?'), { maxLength: 40 });

  test('the changes lead from the first value to the current one, without a gap', () => {
    fc.assert(
      fc.property(values, (lookups) => {
        const { changes, known } = mergeLookups(lookups);
        const first = lookups.find((value) => value !== '?');
        let current: FactValue = first === undefined || first === '' ? [] : [first];
        for (const { before, after } of changes) {
          expect(before).toEqual(current);
          current = [...after];
        }
        expect(known?.current?.value ?? []).toEqual(current);
      }),
    );
  });

  test('every change needs two lookups in a row', () => {
    fc.assert(
      fc.property(values, (lookups) => {
        const seenValues = lookups.filter((value) => value !== '?');
        const repeatedValues = new Set(seenValues.filter((value, n) => value === seenValues[n - 1]));
        for (const { after } of mergeLookups(lookups).changes) expect(repeatedValues).toContain(after.join());
      }),
    );
  });

  test('an unseen value changes nothing', () => {
    fc.assert(
      fc.property(values, (lookups) => {
        expect(mergeLookups(lookups).moves).toEqual(
          mergeLookups(lookups.filter((value) => value !== '?')).moves,
        );
      }),
    );
  });

  test('duplicate or late lookups change nothing', () => {
    fc.assert(
      fc.property(values, fc.nat(39), (lookups, n) => {
        const { history } = mergeLookups(lookups);
        const value = lookups[n] ?? '?';
        const repeatedLookup = {
          name: 'cafe.rest',
          at: new Date(START + n * HOUR_MS),
          facts: {
            mx: value === '?' ? createUnknownFact('timeout') : createFact(value === '' ? [] : [value]),
          },
        };
        const merged = mergeObservation(history, repeatedLookup);
        if (n < lookups.length) expect(merged.changes).toEqual([]);
        expect(mergeObservation(merged.history, repeatedLookup).changes).toEqual([]);
      }),
    );
  });
});

describe('facts', () => {
  test('count if seen recently, and otherwise are unseen with a reason', () => {
    const { history } = mergeLookups(['a', '?']);
    const known = mergeLookups([''], 'caa', history).history;
    const now = new Date(START + HOUR_MS);
    expect(collectRecentFacts(known, now, 24 * HOUR_MS)).toEqual({
      mx: createFact(['a']),
      caa: { state: 'absent' },
    });
    expect(collectRecentFacts(known, new Date(START + 24 * HOUR_MS), 24 * HOUR_MS)).toMatchObject({
      mx: createFact(['a']),
    });
    expect(collectRecentFacts(known, new Date(START + 25 * HOUR_MS), 24 * HOUR_MS)).toEqual({
      mx: { state: 'unseen', reason: 'timeout' },
      caa: { state: 'unseen', reason: 'stale' },
    });
    // A value seen once counts if the current value is stale.
    const changingHistory = mergeLookups(['a', '?', '?', 'b'], 'a').history;
    expect(collectRecentFacts(changingHistory, new Date(START + 3 * HOUR_MS), 2 * HOUR_MS)).toEqual({
      a: createFact(['b']),
    });
    expect(collectRecentFacts(changingHistory, new Date(START + 3 * HOUR_MS), 4 * HOUR_MS)).toEqual({
      a: createFact(['a', 'b']),
    });
    expect(collectRecentFacts(mergeLookups(['?']).history, now, HOUR_MS)).toEqual({
      mx: { state: 'unseen', reason: 'timeout' },
    });
  });

  test('are new if they differ from the previous lookup, except for signatures', () => {
    const { history } = mergeLookups(['a']);
    const findValues = (value: string) =>
      findNewValues(history, {
        name: 'cafe.rest',
        at: new Date(START + HOUR_MS),
        facts: {
          mx: createFact([value]),
          signatures: createFact([value]),
          spf: createUnknownFact('timeout'),
        },
      });
    expect([findValues('a'), findValues('b')]).toEqual([{}, { mx: ['b'] }]);
    expect([wasLookedUp(history, ['spf', 'mx']), wasLookedUp(history, ['spf'])]).toEqual([true, false]);
  });

  test('are unconfirmed until the second lookup of a new value', () => {
    expect(hasUnconfirmedChange(mergeLookups(['a', 'b'], 'ds').history)).toBe(true);
    expect(hasUnconfirmedChange(mergeLookups(['a', 'b', 'b'], 'ds').history)).toBe(false);
    expect(hasUnconfirmedChange(mergeLookups(['a', 'b', 'a'], 'ds').history)).toBe(false);
    // Addresses may change with every lookup, so they don't count as unconfirmed.
    expect(hasUnconfirmedChange(mergeLookups(['a', 'b'], 'a').history)).toBe(false);
  });
});
