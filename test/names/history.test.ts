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

const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 22);

/** A fact's history after some lookups: a value, nothing (`''`) or not seen (`?`), an hour apart. */
function observe(values: readonly string[], fact: FactName = 'mx', before: NameHistory = {}, everyMs = HOUR) {
  let history = before;
  const changes: FactChange[] = [];
  for (const [n, value] of values.entries()) {
    const at = new Date(START + n * everyMs);
    const looked = value === '?' ? createUnknownFact('timeout') : createFact(value === '' ? [] : [value]);
    const merged = mergeObservation(history, { name: 'cafe.rest', at, facts: { [fact]: looked } });
    history = merged.history;
    changes.push(...merged.changes);
  }
  const moves = changes.map(({ before: was, after }) => `${was.join()}→${after.join()}`);
  return { history, changes, moves, known: history[fact] };
}

describe('a value', () => {
  test('counts from its first sighting, with the times it was first and last seen', () => {
    const { known, moves } = observe(['a', 'a', 'a']);
    expect(moves).toEqual([]);
    expect(known?.current).toEqual({
      value: ['a'],
      firstSeen: new Date(START),
      lastSeen: new Date(START + 2 * HOUR),
    });
  });

  test('changes after two sightings in a row, and keeps the former value', () => {
    expect(observe(['a', 'b']).moves).toEqual([]);
    const { changes, known } = observe(['a', 'b', 'b', 'b']);
    expect(changes).toEqual([
      {
        fact: 'mx',
        before: ['a'],
        after: ['b'],
        beforeLastSeenAt: new Date(START),
        afterFirstSeenAt: new Date(START + HOUR),
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
    expect(observe(values).moves).toEqual(moves);
  });

  test('has one sighting if two lookups are within a minute', () => {
    expect(observe(['a', 'b', 'b'], 'mx', {}, 20_000).moves).toEqual([]);
    expect(observe(['a', 'b', 'b', 'b', 'b', 'b'], 'mx', {}, 20_000).moves).toEqual(['a→b']);
  });

  test('that arrives late is ignored', () => {
    const { history } = observe(['a', 'a', 'a']);
    const late = { name: 'cafe.rest', at: new Date(START + HOUR), facts: { mx: createFact(['b']) } };
    expect(mergeObservation(history, late)).toEqual({ history, changes: [] });
  });

  test('that soon comes back needs more lookups each time', () => {
    expect(observe(['a', 'b', 'b', 'a', 'a', 'a']).moves).toEqual(['a→b']);
    expect(observe(['a', 'b', 'b', 'a', 'a', 'a', 'a']).moves).toEqual(['a→b', 'b→a']);
    const byTurns = Array.from({ length: 100 }, (_, n) => (n % 6 < 3 ? 'a' : 'b'));
    expect(observe(byTurns).moves).toEqual(['a→b']);
  });

  test('that comes back after a week needs two lookups again', () => {
    expect(observe(['a', 'b', 'b', 'a', 'a'], 'mx', {}, 9 * 24 * HOUR).moves).toEqual(['a→b', 'b→a']);
    expect(observe(['a', 'b', 'b', 'a', 'a'], 'mx', {}, 42 * HOUR).moves).toEqual(['a→b', 'b→a']);
    expect(observe(['a', 'b', 'b', 'a', 'a'], 'mx', {}, 41 * HOUR).moves).toEqual(['a→b']);
  });

  test('that hides owner fields is no change, but another owner is', () => {
    const owner = (at: number, ...value: string[]) => ({
      name: 'cafe.rest',
      at: new Date(START + at * HOUR),
      facts: { owner: createFact(value) },
    });
    let history: NameHistory = {};
    const moves: (readonly FactValue[])[] = [];
    for (const observation of [
      owner(0, 'fn:1', 'org:1'),
      owner(1, 'org:1'),
      owner(2, 'org:1'),
      owner(3, 'fn:1'),
      owner(4, 'fn:2'),
      owner(5, 'fn:2', 'org:2'),
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
      fc.property(values, (looks) => {
        const { changes, known } = observe(looks);
        const first = looks.find((value) => value !== '?');
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
      fc.property(values, (looks) => {
        const real = looks.filter((value) => value !== '?');
        const twice = new Set(real.filter((value, n) => value === real[n - 1]));
        for (const { after } of observe(looks).changes) expect(twice).toContain(after.join());
      }),
    );
  });

  test('an unseen value changes nothing', () => {
    fc.assert(
      fc.property(values, (looks) => {
        expect(observe(looks).moves).toEqual(observe(looks.filter((value) => value !== '?')).moves);
      }),
    );
  });

  test('duplicate or late lookups change nothing', () => {
    fc.assert(
      fc.property(values, fc.nat(39), (looks, n) => {
        const { history } = observe(looks);
        const value = looks[n] ?? '?';
        const again = {
          name: 'cafe.rest',
          at: new Date(START + n * HOUR),
          facts: {
            mx: value === '?' ? createUnknownFact('timeout') : createFact(value === '' ? [] : [value]),
          },
        };
        const merged = mergeObservation(history, again);
        if (n < looks.length) expect(merged.changes).toEqual([]);
        expect(mergeObservation(merged.history, again).changes).toEqual([]);
      }),
    );
  });
});

describe('facts', () => {
  test('count if seen recently, and otherwise are unseen with a reason', () => {
    const { history } = observe(['a', '?']);
    const known = observe([''], 'caa', history).history;
    const now = new Date(START + HOUR);
    expect(collectRecentFacts(known, now, 24 * HOUR)).toEqual({
      mx: createFact(['a']),
      caa: { state: 'absent' },
    });
    expect(collectRecentFacts(known, new Date(START + 24 * HOUR), 24 * HOUR)).toMatchObject({
      mx: createFact(['a']),
    });
    expect(collectRecentFacts(known, new Date(START + 25 * HOUR), 24 * HOUR)).toEqual({
      mx: { state: 'unseen', reason: 'timeout' },
      caa: { state: 'unseen', reason: 'stale' },
    });
    // A value seen once counts if the current value is stale.
    const moving = observe(['a', '?', '?', 'b'], 'a').history;
    expect(collectRecentFacts(moving, new Date(START + 3 * HOUR), 2 * HOUR)).toEqual({
      a: createFact(['b']),
    });
    expect(collectRecentFacts(moving, new Date(START + 3 * HOUR), 4 * HOUR)).toEqual({
      a: createFact(['a', 'b']),
    });
    expect(collectRecentFacts(observe(['?']).history, now, HOUR)).toEqual({
      mx: { state: 'unseen', reason: 'timeout' },
    });
  });

  test('are new if they differ from the previous lookup, except for signatures', () => {
    const { history } = observe(['a']);
    const found = (value: string) =>
      findNewValues(history, {
        name: 'cafe.rest',
        at: new Date(START + HOUR),
        facts: {
          mx: createFact([value]),
          signatures: createFact([value]),
          spf: createUnknownFact('timeout'),
        },
      });
    expect([found('a'), found('b')]).toEqual([{}, { mx: ['b'] }]);
    expect([wasLookedUp(history, ['spf', 'mx']), wasLookedUp(history, ['spf'])]).toEqual([true, false]);
  });

  test('are unconfirmed until the second lookup of a new value', () => {
    expect(hasUnconfirmedChange(observe(['a', 'b'], 'ds').history)).toBe(true);
    expect(hasUnconfirmedChange(observe(['a', 'b', 'b'], 'ds').history)).toBe(false);
    expect(hasUnconfirmedChange(observe(['a', 'b', 'a'], 'ds').history)).toBe(false);
    // Addresses may change with every lookup, so they don't count as unconfirmed.
    expect(hasUnconfirmedChange(observe(['a', 'b'], 'a').history)).toBe(false);
  });
});
