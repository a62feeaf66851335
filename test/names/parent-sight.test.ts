import { describe, expect, test } from 'vitest';
import { ABSENT, createFact, createUnknownFact, type Facts } from '../../src/names/facts.ts';
import { mergeMajority } from '../../src/names/history.ts';
import {
  findMajorityFacts,
  hasNewDelegation,
  isNewSighting,
  toDelegationFacts,
} from '../../src/names/parent-delegation.ts';

const OURS = ['ns1.host.example', 'ns2.host.example'];
const THIEF = ['ns1.thief.example'];
const at = (minute: number) => new Date(Date.UTC(2026, 10, 22, 0, minute));
const reply = (hosts: readonly string[], ds: readonly string[] = []): Facts => ({
  parent_nameservers: createFact(hosts),
  ds: createFact(ds),
});
const lookup = (minute: number, facts: Facts) => ({ name: 'cafe.rest', at: at(minute), facts });
const SILENT: Facts = { parent_nameservers: createUnknownFact('timeout'), ds: createUnknownFact('timeout') };

describe('the answer of a parent zone’s server', () => {
  test('is the same in any order and case', () => {
    const ds = { keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB' };
    const one = toDelegationFacts({ kind: 'delegated', nameservers: [...OURS].reverse(), ds: [ds] });
    expect(one).toEqual(reply(OURS, ['1 13 2 ab']));
  });

  test('means absence only if the zone says so', () => {
    expect(toDelegationFacts({ kind: 'not_delegated' })).toEqual({ parent_nameservers: ABSENT, ds: ABSENT });
    expect(toDelegationFacts({ kind: 'unanswered', failure: 'refused' })).toEqual({
      parent_nameservers: createUnknownFact('refused'),
      ds: createUnknownFact('refused'),
    });
    expect(toDelegationFacts({ kind: 'delegated', nameservers: OURS, ds: undefined }).ds).toEqual(
      createUnknownFact('not_published'),
    );
  });
});

describe('a new sighting', () => {
  const { history } = mergeMajority({}, lookup(0, reply(OURS)));

  test('differs from the current value, or is the first one', () => {
    expect(isNewSighting(history, reply([...OURS].reverse()))).toBe(false);
    expect(isNewSighting(history, reply(THIEF))).toBe(true);
    expect(isNewSighting(history, reply(OURS, ['1 13 2 ab']))).toBe(true);
    expect(isNewSighting({}, reply(OURS))).toBe(true);
  });

  test('is not a failure', () => {
    expect(isNewSighting(history, SILENT)).toBe(false);
  });

  test('clears a flap at the next lookup', () => {
    const flapping = mergeMajority(history, lookup(1, reply(THIEF))).history;
    expect(isNewSighting(flapping, reply(OURS))).toBe(true);
    const settled = mergeMajority(flapping, lookup(2, reply(OURS))).history;
    expect(isNewSighting(settled, reply(OURS))).toBe(false);
    expect(hasNewDelegation(history, settled)).toBe(false);
  });

  test('becomes a change after two lookups a minute apart', () => {
    const once = mergeMajority(history, lookup(1, reply(THIEF)));
    const twice = mergeMajority(once.history, lookup(2, reply(THIEF)));
    expect(once.changes).toEqual([]);
    expect(twice.changes.map(({ fact }) => fact)).toEqual(['parent_nameservers']);
    expect(hasNewDelegation(history, once.history)).toBe(false);
    expect(hasNewDelegation(history, twice.history)).toBe(true);
  });
});

describe('the servers of a zone', () => {
  test('count by the majority of those that respond', () => {
    expect(findMajorityFacts([reply(THIEF), reply(THIEF), reply(OURS)])).toEqual(reply(THIEF));
    expect(findMajorityFacts([reply(THIEF), reply(THIEF), SILENT])).toEqual(reply(THIEF));
    expect(findMajorityFacts([reply(THIEF)]), 'a zone with one server').toEqual(reply(THIEF));
  });

  test.each([
    ['one of three is poisoned', [reply(THIEF), reply(OURS), reply(OURS)], createFact(OURS)],
    ['two disagree', [reply(THIEF), reply(OURS)], createUnknownFact('servers_disagree')],
    ['one answers and the others are silent', [reply(THIEF), SILENT, SILENT], createUnknownFact('timeout')],
    ['none answers', [SILENT, SILENT], createUnknownFact('timeout')],
  ] as const)('change nothing if %s', (_case, answers, nameservers) => {
    expect(findMajorityFacts(answers).parent_nameservers).toEqual(nameservers);
  });
});
