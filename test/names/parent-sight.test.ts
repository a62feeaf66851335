import { describe, expect, test } from 'vitest';
import { ABSENT, type Facts, seen, unseen } from '../../src/names/facts.ts';
import { mergeMajority } from '../../src/names/history.ts';
import {
  factsOfDelegation,
  findMajority,
  isChanged,
  isNewSighting,
} from '../../src/names/parent-delegation.ts';

const OURS = ['ns1.host.example', 'ns2.host.example'];
const THIEF = ['ns1.thief.example'];
const at = (minute: number) => new Date(Date.UTC(2026, 10, 22, 0, minute));
const said = (hosts: readonly string[], ds: readonly string[] = []): Facts => ({
  parent_nameservers: seen(hosts),
  ds: seen(ds),
});
const look = (minute: number, facts: Facts) => ({ name: 'cafe.rest', at: at(minute), facts });
const SILENT: Facts = { parent_nameservers: unseen('timeout'), ds: unseen('timeout') };

describe('the answer of a parent zone’s server', () => {
  test('is the same in any order and case', () => {
    const ds = { keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB' };
    const one = factsOfDelegation({ kind: 'delegated', nameServers: [...OURS].reverse(), ds: [ds] });
    expect(one).toEqual(said(OURS, ['1 13 2 ab']));
  });

  test('is absence only if the zone says so', () => {
    expect(factsOfDelegation({ kind: 'not_delegated' })).toEqual({ parent_nameservers: ABSENT, ds: ABSENT });
    expect(factsOfDelegation({ kind: 'unanswered', failure: 'refused' })).toEqual({
      parent_nameservers: unseen('refused'),
      ds: unseen('refused'),
    });
    expect(factsOfDelegation({ kind: 'delegated', nameServers: OURS, ds: undefined }).ds).toEqual(
      unseen('not_told'),
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
    expect(isChanged(history, settled)).toBe(false);
  });

  test('is a change after two lookups a minute apart', () => {
    const once = mergeMajority(history, look(1, said(THIEF)));
    const twice = mergeMajority(once.history, look(2, said(THIEF)));
    expect(once.changes).toEqual([]);
    expect(twice.changes.map(({ fact }) => fact)).toEqual(['parent_nameservers']);
    expect(isChanged(history, once.history)).toBe(false);
    expect(isChanged(history, twice.history)).toBe(true);
  });
});

describe('the servers of a zone', () => {
  test('are believed by the majority of those that answer', () => {
    expect(findMajority([said(THIEF), said(THIEF), said(OURS)])).toEqual(said(THIEF));
    expect(findMajority([said(THIEF), said(THIEF), SILENT])).toEqual(said(THIEF));
    expect(findMajority([said(THIEF)]), 'a zone with one server').toEqual(said(THIEF));
  });

  test.each([
    ['one of three is poisoned', [said(THIEF), said(OURS), said(OURS)], seen(OURS)],
    ['two disagree', [said(THIEF), said(OURS)], unseen('servers_disagree')],
    ['one answers and the others are silent', [said(THIEF), SILENT, SILENT], unseen('timeout')],
    ['none answers', [SILENT, SILENT], unseen('timeout')],
  ] as const)('change nothing if %s', (_case, answers, nameservers) => {
    expect(findMajority(answers).parent_nameservers).toEqual(nameservers);
  });
});
