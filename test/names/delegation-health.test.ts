import { describe, expect, test } from 'vitest';
import { findDangers, findFaults, isHealthLookupDue } from '../../src/names/delegation-health.ts';
import { ABSENT, createFact, createUnknownFact, type Facts } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { NO_FAULTS } from '../../src/names/observe-delegation.ts';
import type { KnownChange } from '../../src/names/unexplained-changes.ts';

const HOUR = 3_600_000;
const HOSTS = ['ns1.host.example', 'ns2.host.example'];
const at = (hours: number) => new Date(Date.UTC(2026, 10, 22) + hours * HOUR);
const HEALTHY: Facts = { ...NO_FAULTS, parent_nameservers: createFact(HOSTS) };

/** The history after lookups at these hours. */
function historyAfter(...looks: readonly (readonly [hours: number, facts: Facts])[]): NameHistory {
  return looks.reduce<NameHistory>(
    (history, [hours, facts]) =>
      mergeObservation(history, { name: 'cafe.rest', at: at(hours), facts: { ...HEALTHY, ...facts } })
        .history,
    {},
  );
}
const kindsOf = (history: NameHistory, known: readonly KnownChange[] = []) =>
  findDangers(history, known).newDangers.map(({ change }) => change.kind);

describe('a delegation', () => {
  test('lists its faults, the most dangerous first, and keeps each until a lookup disproves it', () => {
    const history = historyAfter(
      [
        0,
        {
          silent_nameservers: createFact(['ns2.host.example']),
          registrable_domains: createFact(['host.example']),
        },
      ],
      [24, { silent_nameservers: ABSENT, registrable_domains: createUnknownFact('registry_unavailable') }],
    );
    expect(findFaults(history)).toEqual([
      { code: 'registrable', about: ['host.example'] },
      { code: 'silent', about: ['ns2.host.example'] },
    ]);
  });

  test('counts as all lame only if every nameserver is lame', () => {
    const codes = (lame: readonly string[]) =>
      findFaults(historyAfter([0, { lame_nameservers: createFact(lame) }])).map(({ code }) => code);
    expect(codes(HOSTS.slice(1))).toEqual(['lame']);
    expect(codes(HOSTS)).toEqual(['all_lame']);
  });

  test('is looked up once a day, and sooner if a part is unseen', () => {
    expect(isHealthLookupDue({}, at(0))).toBe(true);
    const history = historyAfter([0, {}]);
    expect(isHealthLookupDue(history, at(4))).toBe(false);
    expect(isHealthLookupDue(history, at(19))).toBe(true);
    expect(
      isHealthLookupDue(historyAfter([0, { mismatched_ds: createUnknownFact('not_published') }]), at(4)),
    ).toBe(true);
  });
});

describe('a danger', () => {
  const lame = { lame_nameservers: createFact(HOSTS) };
  const free = { registrable_domains: createFact(['host.example']) };

  test('becomes an incident at the second daily lookup, even if the name was never healthy', () => {
    expect(kindsOf(historyAfter([0, lame]))).toEqual([]);
    expect(kindsOf(historyAfter([0, lame], [4, lame])), 'two lookups on one day').toEqual([]);
    expect(kindsOf(historyAfter([0, lame], [24, lame]))).toEqual(['all_lame']);
    expect(kindsOf(historyAfter([0, free], [24, free]))).toEqual(['nameserver_registrable']);
  });

  test('needs every server to be lame, also in the latest lookup', () => {
    const one = { lame_nameservers: createFact(HOSTS.slice(1)) };
    expect(kindsOf(historyAfter([0, one], [24, one], [48, one]))).toEqual([]);
    expect(kindsOf(historyAfter([0, lame], [24, {}]))).toEqual([]);
  });

  test('includes a lame server if the others have no address', () => {
    const [first, second] = HOSTS;
    const rest = {
      lame_nameservers: createFact([first ?? '']),
      addressless_nameservers: createFact([second ?? '']),
    };
    expect(kindsOf(historyAfter([0, rest]))).toEqual([]);
    expect(kindsOf(historyAfter([0, rest], [24, rest]))).toEqual(['all_lame']);
    const back = { ...rest, addressless_nameservers: ABSENT };
    expect(kindsOf(historyAfter([0, rest], [24, back])), 'it has an address again').toEqual([]);
    const gone = { addressless_nameservers: createFact(HOSTS) };
    expect(kindsOf(historyAfter([0, gone], [24, gone])), 'nobody can take over the name there').toEqual([]);
  });

  test('is reported once while it lasts, and again when it comes back', () => {
    const history = historyAfter([0, lame], [24, lame]);
    const { knownChanges } = findDangers(history, []);
    expect(knownChanges.map(({ kind }) => kind)).toEqual(['all_lame']);
    expect(kindsOf(history, knownChanges)).toEqual([]);
    const flapped = historyAfter([0, lame], [24, lame], [48, {}]);
    expect(findDangers(flapped, knownChanges).knownChanges, 'one healthy lookup is not enough').toEqual(
      knownChanges,
    );
    const healthy = historyAfter([0, lame], [24, lame], [48, {}], [72, {}]);
    expect(findDangers(healthy, knownChanges).knownChanges).toEqual([]);
  });
});
