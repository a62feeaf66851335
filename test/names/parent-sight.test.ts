import { describe, expect, test } from 'vitest';
import { ABSENT, createFact, createUnknownFact, type Facts } from '../../src/names/facts.ts';
import { mergeMajority } from '../../src/names/history.ts';
import {
  findMajority,
  hasNewDelegation,
  isNewSighting,
  toDelegationFacts,
} from '../../src/names/parent-delegation.ts';

const OURS = ['ns1.host.example', 'ns2.host.example'];
const THIEF = ['ns1.thief.example'];
const at = (minute: number) => new Date(Date.UTC(2026, 10, 22, 0, minute));
const said = (hosts: readonly string[], ds: readonly string[] = []): Facts => ({
  parent_nameservers: createFact(hosts),
  ds: createFact(ds),
});
const look = (minute: number, facts: Facts) => ({ name: 'cafe.rest', at: at(minute), facts });
const SILENT: Facts = { parent_nameservers: createUnknownFact('timeout'), ds: createUnknownFact('timeout') };

describe('the answer of a parent zone’s server', () => {
  test('is the same in any order and case', () => {
    const ds = { keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB' };
    const one = toDelegationFacts({ kind: 'delegated', nameServers: [...OURS].reverse(), ds: [ds] });
    expect(one).toEqual(said(OURS, ['1 13 2 ab']));
  });

  test('is absence only if the zone says so', () => {
    expect(toDelegationFacts({ kind: 'not_delegated' })).toEqual({ parent_nameservers: ABSENT, ds: ABSENT });
    expect(toDelegationFacts({ kind: 'unanswered', failure: 'refused' })).toEqual({
      parent_nameservers: createUnknownFact('refused'),
      ds: createUnknownFact('refused'),
    });
    expect(toDelegationFacts({ kind: 'delegated', nameServers: OURS, ds: undefined }).ds).toEqual(
      createUnknownFact('not_published'),
    );
  });
});

describe('news', () => {
  const { history } = mergeMajority({}, look(0, said(OURS)));

  test('counts if it differs from the current value, and if it is new', () => {
    expect(isNewSighting(history, said([...OURS].reverse()))).toBe(false);
    expect(isNewSighting(history, said(THIEF))).toBe(true);
    expect(isNewSighting(history, said(OURS, ['1 13 2 ab']))).toBe(true);
    expect(isNewSighting({}, said(OURS))).toBe(true);
  });

  test('is not a failure', () => {
    expect(isNewSighting(history, SILENT)).toBe(false);
  });

  test('ends a doubt: a flap is forgotten at the next lookup', () => {
    const flapping = mergeMajority(history, look(1, said(THIEF))).history;
    expect(isNewSighting(flapping, said(OURS))).toBe(true);
    const settled = mergeMajority(flapping, look(2, said(OURS))).history;
    expect(isNewSighting(settled, said(OURS))).toBe(false);
    expect(hasNewDelegation(history, settled)).toBe(false);
  });

  test('is a change after two lookups a minute apart', () => {
    const once = mergeMajority(history, look(1, said(THIEF)));
    const twice = mergeMajority(once.history, look(2, said(THIEF)));
    expect(once.changes).toEqual([]);
    expect(twice.changes.map(({ fact }) => fact)).toEqual(['parent_nameservers']);
    expect(hasNewDelegation(history, once.history)).toBe(false);
    expect(hasNewDelegation(history, twice.history)).toBe(true);
  });
});

describe('the servers of a zone', () => {
  test('are believed by the majority of those that answer', () => {
    expect(findMajority([said(THIEF), said(THIEF), said(OURS)])).toEqual(said(THIEF));
    expect(findMajority([said(THIEF), said(THIEF), SILENT])).toEqual(said(THIEF));
    expect(findMajority([said(THIEF)]), 'a zone with one server').toEqual(said(THIEF));
  });

  test.each([
    ['one of three is poisoned', [said(THIEF), said(OURS), said(OURS)], createFact(OURS)],
    ['two disagree', [said(THIEF), said(OURS)], createUnknownFact('servers_disagree')],
    ['one answers and the others are silent', [said(THIEF), SILENT, SILENT], createUnknownFact('timeout')],
    ['none answers', [SILENT, SILENT], createUnknownFact('timeout')],
  ] as const)('change nothing if %s', (_case, answers, nameservers) => {
    expect(findMajority(answers).parent_nameservers).toEqual(nameservers);
  });
});
