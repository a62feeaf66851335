import { describe, expect, test } from 'vitest';
import { findDangers, findFaults, isHealthLookupDue } from '../../src/names/delegation-health.ts';
import { ABSENT, createFact, createUnknownFact, type Facts } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { NO_FAULTS } from '../../src/names/observe-delegation.ts';
import type { KnownChange } from '../../src/names/unexplained-changes.ts';

const HOUR_MS = 3_600_000;
const HOSTS = ['ns1.host.example', 'ns2.host.example'];
const addHours = (hours: number) => new Date(Date.UTC(2026, 10, 22) + hours * HOUR_MS);
const HEALTHY: Facts = { ...NO_FAULTS, parent_nameservers: createFact(HOSTS) };

function mergeLookups(...lookups: readonly (readonly [hours: number, facts: Facts])[]): NameHistory {
  return lookups.reduce<NameHistory>(
    (history, [hours, facts]) =>
      mergeObservation(history, { name: 'cafe.rest', at: addHours(hours), facts: { ...HEALTHY, ...facts } })
        .history,
    {},
  );
}
const listNewDangers = (history: NameHistory, knownChanges: readonly KnownChange[] = []) =>
  findDangers(history, knownChanges).newDangers.map(({ change }) => change.kind);

describe('a delegation', () => {
  test('lists its faults, the most dangerous first, and keeps each until a lookup disproves it', () => {
    const history = mergeLookups(
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
      { code: 'registrable', hosts: ['host.example'] },
      { code: 'silent', hosts: ['ns2.host.example'] },
    ]);
  });

  test('counts as all lame only if every nameserver is lame', () => {
    const listFaultCodes = (lameHosts: readonly string[]) =>
      findFaults(mergeLookups([0, { lame_nameservers: createFact(lameHosts) }])).map(({ code }) => code);
    expect(listFaultCodes(HOSTS.slice(1))).toEqual(['lame']);
    expect(listFaultCodes(HOSTS)).toEqual(['all_lame']);
  });

  test('is looked up once a day, and sooner if a part is unseen', () => {
    expect(isHealthLookupDue({}, addHours(0))).toBe(true);
    const history = mergeLookups([0, {}]);
    expect(isHealthLookupDue(history, addHours(4))).toBe(false);
    expect(isHealthLookupDue(history, addHours(19))).toBe(true);
    expect(
      isHealthLookupDue(
        mergeLookups([0, { mismatched_ds: createUnknownFact('not_published') }]),
        addHours(4),
      ),
    ).toBe(true);
  });
});

describe('a danger', () => {
  const allLame = { lame_nameservers: createFact(HOSTS) };
  const registrable = { registrable_domains: createFact(['host.example']) };

  test('becomes an incident at the second daily lookup, even if the name was never healthy', () => {
    expect(listNewDangers(mergeLookups([0, allLame]))).toEqual([]);
    expect(listNewDangers(mergeLookups([0, allLame], [4, allLame])), 'two lookups on one day').toEqual([]);
    expect(listNewDangers(mergeLookups([0, allLame], [24, allLame]))).toEqual(['all_lame']);
    expect(listNewDangers(mergeLookups([0, registrable], [24, registrable]))).toEqual([
      'nameserver_registrable',
    ]);
  });

  test('needs every server to be lame, also in the latest lookup', () => {
    const oneLame = { lame_nameservers: createFact(HOSTS.slice(1)) };
    expect(listNewDangers(mergeLookups([0, oneLame], [24, oneLame], [48, oneLame]))).toEqual([]);
    expect(listNewDangers(mergeLookups([0, allLame], [24, {}]))).toEqual([]);
  });

  test('includes a lame server if the others have no address', () => {
    const [first, second] = HOSTS;
    const lameOrAddressless = {
      lame_nameservers: createFact([first ?? '']),
      addressless_nameservers: createFact([second ?? '']),
    };
    expect(listNewDangers(mergeLookups([0, lameOrAddressless]))).toEqual([]);
    expect(listNewDangers(mergeLookups([0, lameOrAddressless], [24, lameOrAddressless]))).toEqual([
      'all_lame',
    ]);
    const addressRestored = { ...lameOrAddressless, addressless_nameservers: ABSENT };
    expect(
      listNewDangers(mergeLookups([0, lameOrAddressless], [24, addressRestored])),
      'it has an address again',
    ).toEqual([]);
    const allAddressless = { addressless_nameservers: createFact(HOSTS) };
    expect(
      listNewDangers(mergeLookups([0, allAddressless], [24, allAddressless])),
      'nobody can take over the name there',
    ).toEqual([]);
  });

  test('is reported once while it lasts, and again when it comes back', () => {
    const history = mergeLookups([0, allLame], [24, allLame]);
    const { knownChanges } = findDangers(history, []);
    expect(knownChanges.map(({ kind }) => kind)).toEqual(['all_lame']);
    expect(listNewDangers(history, knownChanges)).toEqual([]);
    const healthyOnce = mergeLookups([0, allLame], [24, allLame], [48, {}]);
    expect(findDangers(healthyOnce, knownChanges).knownChanges, 'one healthy lookup is not enough').toEqual(
      knownChanges,
    );
    const healthyTwice = mergeLookups([0, allLame], [24, allLame], [48, {}], [72, {}]);
    expect(findDangers(healthyTwice, knownChanges).knownChanges).toEqual([]);
  });
});
