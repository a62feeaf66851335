import { describe, expect, test } from 'vitest';
import type { FactName, FactValue } from '../../src/names/facts.ts';
import type { NameHistory } from '../../src/names/history.ts';
import { listPastChanges } from '../../src/names/timeline.ts';
import type { KnownChange } from '../../src/names/unexplained-changes.ts';

const DAY = 86_400_000;
const at = (days: number) => new Date(Date.UTC(2027, 0, 1) + days * DAY);
const factOf = (...values: readonly (readonly [value: FactValue, from: number, until: number])[]) => {
  const [current, ...past] = values.map(([value, from, until]) => ({
    value,
    firstSeen: at(from),
    lastSeen: at(until),
  }));
  return { current, candidate: undefined, past, unseen: undefined };
};
const entry = (facts: readonly FactName[], day: number, orderId?: string): KnownChange => ({
  kind: 'nameservers',
  after: ['ns1.new.example'],
  facts,
  firstSeen: at(day),
  orderId,
});
const OLD = ['ns1.old.example'];
const NEW = ['ns1.new.example'];
const moved: NameHistory = {
  registry_nameservers: factOf([NEW, 11, 20], [OLD, 0, 10]),
  parent_nameservers: factOf([NEW, 12, 20], [OLD, 0, 11]),
  nameservers: factOf([NEW, 13, 20], [OLD, 0, 12]),
};

describe('the changes of a name', () => {
  test('show a nameserver change in several sources once, with the order that explains it', () => {
    const knownChanges = [entry(['registry_nameservers', 'parent_nameservers', 'nameservers'], 11, 'O1')];
    expect(listPastChanges(moved, knownChanges)).toEqual([
      {
        fact: 'registry_nameservers',
        before: OLD,
        after: NEW,
        beforeLastSeenAt: at(10),
        afterFirstSeenAt: at(11),
        cause: { orderId: 'O1' },
      },
    ]);
  });

  test('show another value at the name itself separately', () => {
    const history = { ...moved, nameservers: factOf([['ns1.thief.example'], 13, 20], [OLD, 0, 12]) };
    expect(listPastChanges(history, []).map(({ fact }) => fact)).toEqual([
      'nameservers',
      'registry_nameservers',
    ]);
  });

  test('show that no order explains a change that needs one', () => {
    const history = { ...moved, mx: factOf([['10 b.example'], 15, 20], [['10 a.example'], 0, 14]) };
    const knownChanges = [entry(['registry_nameservers'], 11)];
    expect(listPastChanges(history, knownChanges).map(({ fact, cause }) => [fact, cause])).toEqual([
      ['mx', undefined],
      ['registry_nameservers', 'none'],
    ]);
  });

  test('come latest first, with every value of a fact', () => {
    const a = factOf([['3'], 20, 30], [['2'], 10, 19], [['1'], 0, 9]);
    expect(listPastChanges({ a }, []).map(({ before, after }) => [before, after])).toEqual([
      [['2'], ['3']],
      [['1'], ['2']],
    ]);
  });

  test('leave out consequences of other changes', () => {
    const updated = factOf([['2027-02-01T00:00:00.000Z'], 20, 30], [['2027-01-01T00:00:00.000Z'], 0, 9]);
    expect(listPastChanges({ updated_at: updated }, [])).toEqual([]);
  });
});
