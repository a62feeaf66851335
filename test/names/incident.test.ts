import { describe, expect, test } from 'vitest';
import { createFact, type FactName } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import {
  confirmOwnChange,
  hashIncident,
  type Incident,
  isOpen,
  markAlarmRaised,
  updateIncidents,
} from '../../src/names/incident.ts';
import { listConfirmedTransfers } from '../../src/names/name-orders.ts';
import {
  explainChanges,
  type NameChange,
  type UnexplainedChange,
} from '../../src/names/unexplained-changes.ts';

const NAME = 'cafe.rest';
const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2027, 5, 14, 12);
const at = (hours: number) => new Date(START_MS + hours * HOUR_MS);
const OUR_NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];
const THIEF_NAMESERVERS = ['ns1.thief.example'];

function newChange(
  kind: NameChange['kind'],
  fact: FactName,
  before: readonly string[],
  after: readonly string[],
  hours = 0,
): UnexplainedChange {
  const change = { kind, fact, before, after, beforeLastSeenAt: at(hours - 4), afterFirstSeenAt: at(hours) };
  return { change, orders: [] };
}
const newLockRemoval = (removedLock: string, hours = 0) =>
  newChange('lock', 'statuses', ['active', removedLock], [removedLock], hours);
const newHijack = (hours = 0) =>
  newChange('nameservers', 'parent_nameservers', OUR_NAMESERVERS, THIEF_NAMESERVERS, hours);
const newReversal = (fact: FactName = 'parent_nameservers', hours = 0) =>
  newChange('nameservers', fact, THIEF_NAMESERVERS, OUR_NAMESERVERS, hours);

/** A history with these current values. */
function newHistory(facts: Readonly<Partial<Record<FactName, readonly string[]>>>): NameHistory {
  const entries = Object.entries(facts).map(([fact, texts]) => [fact, createFact(texts)]);
  return mergeObservation({}, { name: NAME, at: at(0), facts: Object.fromEntries(entries) }).history;
}

/** Confirms that we caused the changes of an incident. */
function confirmAsOurs(
  incident: Incident,
  confirmed: { readonly by: string; readonly reason: string },
  guarded: boolean,
) {
  return confirmOwnChange(incident, { ...confirmed, shownHash: hashIncident(incident) }, guarded);
}

function updateAfterLookup(
  latest: Incident | undefined,
  changes: readonly UnexplainedChange[],
  hours: number,
  history: NameHistory = newHistory({ parent_nameservers: THIEF_NAMESERVERS, statuses: ['active'] }),
) {
  return updateIncidents(latest === undefined ? [] : [latest], {
    name: NAME,
    unexplainedChanges: changes,
    history,
    at: at(hours),
  });
}

function openIncident(...changes: readonly UnexplainedChange[]): Incident {
  const update = updateAfterLookup(undefined, changes, 1);
  if (update === undefined) throw new Error('no incident was opened');
  return update.after;
}

const listKinds = (incident: Incident | undefined) => incident?.changes.map(({ kind }) => kind);

describe('an incident', () => {
  test('is opened by the first change without an order', () => {
    expect(updateAfterLookup(undefined, [], 1)).toBeUndefined();
    const update = updateAfterLookup(undefined, [newHijack()], 1);
    expect(update).toMatchObject({
      before: undefined,
      after: { name: NAME, state: 'open', openedAt: at(1) },
    });
    expect(update?.addedChanges).toEqual(update?.after.changes);
  });

  test('combines removed locks into one change', () => {
    const incident = openIncident(newLockRemoval('b'), newHijack(), newLockRemoval('a'));
    expect(incident.changes.map(({ kind, after }) => [kind, after])).toEqual([
      ['nameservers', THIEF_NAMESERVERS],
      ['lock', ['a', 'b']],
    ]);
  });

  test('collects changes for 72 hours after its first sighting', () => {
    const incident = openIncident(newHijack());
    const update = updateAfterLookup(incident, [newLockRemoval('a', 71)], 72);
    expect(update).toMatchObject({ before: { id: incident.id }, after: { id: incident.id, state: 'open' } });
    expect(listKinds(update?.after)).toEqual(['nameservers', 'lock']);
    expect(update?.addedChanges.map(({ kind }) => kind)).toEqual(['lock']);
    const separateUpdate = updateAfterLookup(incident, [newLockRemoval('a', 73)], 73);
    expect(separateUpdate?.before).toBeUndefined();
    expect(listKinds(separateUpdate?.after)).toEqual(['lock']);
  });

  test('that was confirmed as ours reopens after another change', () => {
    const confirmed = confirmAsOurs(openIncident(newHijack()), { by: 'U0BOB', reason: 'planned' }, false);
    if (!confirmed.ok) throw new Error('unexpected refusal');
    const update = updateAfterLookup(confirmed.incident, [newLockRemoval('a', 10)], 11);
    expect(update?.after).toMatchObject({
      state: 'open',
      explanation: undefined,
      proposedExplanation: undefined,
    });
  });

  test('that was raised stays raised after another change', () => {
    const raised = markAlarmRaised(openIncident(newHijack()), 'U0ALICE');
    if (!raised.ok) throw new Error('unexpected refusal');
    expect(updateAfterLookup(raised.incident, [newLockRemoval('a', 10)], 11)?.after.state).toBe('raised');
  });
});

describe('an incident is over', () => {
  const REVERTED_HISTORY = newHistory({
    parent_nameservers: OUR_NAMESERVERS,
    statuses: ['active', 'client transfer prohibited'],
    registrar: ['name:Ours'],
  });

  test.each([
    ['nameservers', newHijack()],
    ['a lock', newLockRemoval('client transfer prohibited')],
    ['a hold', newChange('hold', 'statuses', ['active'], ['server hold'])],
    ['a rejected transfer', newChange('pending_transfer', 'statuses', [], ['pending transfer'])],
    ['a canceled deletion', newChange('pending_delete', 'statuses', [], ['redemption period'])],
    ['a registrar', newChange('registrar', 'registrar', ['name:Ours'], ['name:Theirs'])],
    ['a lost delegation', newChange('delegation_gone', 'parent_nameservers', OUR_NAMESERVERS, [])],
  ])('when the change is reverted: %s', (_case, change) => {
    const update = updateAfterLookup(openIncident(change), [], 5, REVERTED_HISTORY);
    expect(update).toMatchObject({ after: { state: 'over', overAt: at(5) }, addedChanges: [] });
  });

  test('when lame servers serve the former records again, or the name leaves them', () => {
    const incident = openIncident(newChange('all_lame', 'lame_nameservers', [], OUR_NAMESERVERS));
    const newHealthyHistory = (address: string, hosts = OUR_NAMESERVERS) =>
      [-48, 24, 48].reduce<NameHistory>((history, hours) => {
        const a = createFact([hours < 0 ? '198.51.100.7' : address]);
        const facts = { lame_nameservers: createFact([]), parent_nameservers: createFact(hosts), a };
        return mergeObservation(history, { name: NAME, at: at(hours), facts }).history;
      }, {});
    expect(
      updateAfterLookup(incident, [], 48, newHealthyHistory('203.0.113.66')),
      'maybe by a stranger',
    ).toBeUndefined();
    expect(updateAfterLookup(incident, [], 48, newHealthyHistory('198.51.100.7'))?.after.state).toBe('over');
    expect(
      updateAfterLookup(incident, [], 48, newHealthyHistory('203.0.113.66', ['ns1.b.example']))?.after.state,
    ).toBe('over');
  });

  const [FORMER_ADDRESS, NEW_ADDRESS] = ['198.51.100.7', '203.0.113.66'];
  test.each<[string, (readonly [hours: number, address: string])[], isOver: boolean]>([
    [
      'their first record',
      [
        [1, NEW_ADDRESS],
        [48, NEW_ADDRESS],
      ],
      true,
    ],
    [
      'a new record since',
      [
        [-48, FORMER_ADDRESS],
        [1, NEW_ADDRESS],
        [48, NEW_ADDRESS],
      ],
      false,
    ],
    [
      'a new record as old as the change',
      [
        [-48, FORMER_ADDRESS],
        [0, NEW_ADDRESS],
        [48, NEW_ADDRESS],
      ],
      true,
    ],
    [
      'a new record seen once',
      [
        [-48, FORMER_ADDRESS],
        [48, NEW_ADDRESS],
      ],
      false,
    ],
    [
      'the former record',
      [
        [-48, FORMER_ADDRESS],
        [48, FORMER_ADDRESS],
      ],
      true,
    ],
  ])('after lame servers recover, depending on their record: %s', (_, lookups, isOver) => {
    const history = lookups.reduce<NameHistory>((known, [hours, address]) => {
      const a = createFact([address]);
      const facts = { lame_nameservers: createFact([]), parent_nameservers: createFact(OUR_NAMESERVERS), a };
      return mergeObservation(known, { name: NAME, at: at(hours), facts }).history;
    }, {});
    const incident = openIncident(newChange('all_lame', 'lame_nameservers', [], OUR_NAMESERVERS));
    expect(updateAfterLookup(incident, [], 48, history)?.after.state === 'over').toBe(isOver);
  });

  test('when the name stops using an unregistered nameserver domain, not when someone registers it', () => {
    const incident = openIncident(
      newChange('nameserver_registrable', 'registrable_domains', [], ['gone.example']),
    );
    const hosts = ['ns1.gone.example', 'ns2.host.example'];
    const registered = newHistory({ parent_nameservers: hosts, registrable_domains: [] });
    expect(updateAfterLookup(incident, [], 5, registered), 'maybe by a stranger').toBeUndefined();
    const moved = newHistory({ parent_nameservers: OUR_NAMESERVERS, registrable_domains: [] });
    expect(updateAfterLookup(incident, [], 5, moved)?.after.state).toBe('over');
  });

  test('only when all changes are reverted', () => {
    const incident = openIncident(newHijack(), newLockRemoval('client transfer prohibited'));
    const halfReverted = newHistory({ parent_nameservers: OUR_NAMESERVERS, statuses: ['active'] });
    expect(updateAfterLookup(incident, [], 5, halfReverted)).toBeUndefined();
    expect(updateAfterLookup(incident, [], 6, REVERTED_HISTORY)?.after.state).toBe('over');
  });

  test('not while a value is unseen, or seen only once', () => {
    const incident = openIncident(newHijack());
    const { parent_nameservers: knownNameservers } = REVERTED_HISTORY;
    if (knownNameservers === undefined) throw new Error('missing history');
    const hidden = {
      parent_nameservers: { ...knownNameservers, unseen: { reason: 'timeout' as const, since: at(4) } },
    };
    expect(updateAfterLookup(incident, [], 5, hidden)).toBeUndefined();
    const value = { value: THIEF_NAMESERVERS, firstSeen: at(4), lastSeen: at(4), sightings: 1 };
    expect(
      updateAfterLookup(incident, [], 5, { parent_nameservers: { ...knownNameservers, candidate: value } }),
    ).toBeUndefined();
  });

  test('without adding the reversal as a change, whatever source shows it', () => {
    const incident = openIncident(newHijack());
    for (const fact of ['parent_nameservers', 'registry_nameservers', 'nameservers'] as const) {
      expect(updateAfterLookup(incident, [newReversal(fact, 5)], 5, REVERTED_HISTORY)).toMatchObject({
        after: { state: 'over' },
        addedChanges: [],
      });
    }
    const gone = openIncident(newChange('delegation_gone', 'parent_nameservers', OUR_NAMESERVERS, []));
    const returned = newChange('nameservers', 'parent_nameservers', [], OUR_NAMESERVERS, 5);
    expect(updateAfterLookup(gone, [returned], 5, REVERTED_HISTORY)).toMatchObject({
      after: { state: 'over' },
      addedChanges: [],
    });
  });

  const newDsChange = (fact: FactName, before: readonly string[], after: readonly string[], hours = 0) =>
    newChange('ds', fact, before, after, hours);
  const newRegistrarChange = (from: string, to: string, hours = 0) =>
    newChange('registrar', 'registrar', [`name:${from}`], [`name:${to}`], hours);

  test.each<[string, UnexplainedChange, UnexplainedChange, isReversal: boolean]>([
    ['another registrar', newRegistrarChange('A', 'B'), newRegistrarChange('B', 'C', 5), false],
    ['the former registrar', newRegistrarChange('A', 'B'), newRegistrarChange('B', 'A', 5), true],
    [
      'other nameservers',
      newHijack(),
      newChange('nameservers', 'nameservers', THIEF_NAMESERVERS, ['ns9.x.example'], 5),
      false,
    ],
    ['a lock after the removal of DS', newDsChange('ds', ['k'], []), newLockRemoval('a', 5), false],
    [
      'DS at the registry after its removal',
      newDsChange('ds', ['k'], []),
      newDsChange('secure_dns', [], ['signed'], 5),
      true,
    ],
    [
      'no DS at the registry after its removal',
      newDsChange('ds', ['k'], []),
      newDsChange('secure_dns', ['signed'], [], 5),
      false,
    ],
    [
      'no DS at the registry after it was added',
      newDsChange('ds', [], ['k']),
      newDsChange('secure_dns', ['signed'], [], 5),
      true,
    ],
    [
      'another kind with the same value',
      newLockRemoval('a'),
      newChange('hold', 'statuses', ['a'], ['active', 'a'], 5),
      false,
    ],
  ])('only by a reversal, not by other changes: %s', (_, original, change, isReversal) => {
    const update = updateAfterLookup(openIncident(original), [change], 5);
    expect(update?.addedChanges ?? []).toHaveLength(isReversal ? 0 : 1);
  });

  test('separately if two are open, and the reversal of one is never added to the other', () => {
    const older = openIncident(newHijack());
    const latest = updateAfterLookup(older, [newLockRemoval('client transfer prohibited', 80)], 80)?.after;
    if (latest === undefined || latest.id === older.id) throw new Error('expected two incidents');
    const updateBoth = (changes: readonly UnexplainedChange[], hours: number, history: NameHistory) =>
      updateIncidents([latest, older], { name: NAME, unexplainedChanges: changes, history, at: at(hours) });
    const nameserversReverted = newHistory({ parent_nameservers: OUR_NAMESERVERS, statuses: ['active'] });
    expect(updateBoth([newReversal('parent_nameservers', 90)], 90, nameserversReverted)).toMatchObject({
      before: { id: older.id },
      after: { id: older.id, state: 'over' },
      addedChanges: [],
    });
    const lockRestored = newHistory({
      parent_nameservers: THIEF_NAMESERVERS,
      statuses: ['client transfer prohibited'],
    });
    expect(updateBoth([], 90, lockRestored)).toMatchObject({ after: { id: latest.id, state: 'over' } });
  });

  test('once, and reopens if the change recurs within 72 hours', () => {
    const over = updateAfterLookup(openIncident(newHijack()), [], 5, REVERTED_HISTORY)?.after;
    if (over === undefined) throw new Error('the incident is still open');
    expect(isOpen(over)).toBe(false);
    expect(updateAfterLookup(over, [], 6, REVERTED_HISTORY)).toBeUndefined();
    expect(updateAfterLookup(over, [newHijack(7)], 8)).toMatchObject({
      after: { id: over.id, state: 'open', overAt: undefined },
    });
    expect(confirmAsOurs(over, { by: 'U0BOB', reason: 'x' }, false)).toEqual({
      ok: false,
      refusal: { code: 'over' },
    });
    expect(markAlarmRaised(over, 'U0BOB')).toEqual({ ok: false, refusal: { code: 'over' } });
  });
});

describe('confirming an incident as ours', () => {
  const bob = { by: 'U0BOB', reason: 'planned' };

  test('takes one person', () => {
    expect(confirmAsOurs(openIncident(newHijack()), bob, false)).toMatchObject({
      ok: true,
      incident: { state: 'ours', explanation: bob },
    });
  });

  test('takes two people for a guarded name', () => {
    const first = confirmAsOurs(openIncident(newHijack()), bob, true);
    if (!first.ok) throw new Error('unexpected refusal');
    expect(first.incident).toMatchObject({ state: 'open', proposedExplanation: bob, explanation: undefined });
    expect(confirmAsOurs(first.incident, bob, true)).toEqual({
      ok: false,
      refusal: { code: 'needs_another_person' },
    });
    expect(confirmAsOurs(first.incident, { by: 'U0ADA', reason: 'yes' }, true)).toMatchObject({
      ok: true,
      incident: { state: 'ours', explanation: { by: 'U0ADA' } },
    });
  });

  test('is refused if the incident has changed since it was shown', () => {
    const shown = openIncident(newHijack());
    const withAddedChange = updateAfterLookup(shown, [newLockRemoval('a', 10)], 11)?.after;
    const proposed = confirmAsOurs(shown, bob, true);
    if (withAddedChange === undefined || !proposed.ok) throw new Error('the incident did not change');
    for (const later of [withAddedChange, proposed.incident])
      expect(
        confirmOwnChange(later, { by: 'U0ADA', reason: 'x', shownHash: hashIncident(shown) }, false),
      ).toEqual({
        ok: false,
        refusal: { code: 'changed' },
      });
  });

  test('is possible once, and the incident can’t be raised afterwards', () => {
    const confirmed = confirmAsOurs(openIncident(newHijack()), bob, false);
    if (!confirmed.ok) throw new Error('unexpected refusal');
    const refusal = { code: 'already_explained', by: 'U0BOB' };
    expect(confirmAsOurs(confirmed.incident, bob, false)).toEqual({ ok: false, refusal });
    expect(markAlarmRaised(confirmed.incident, 'U0ALICE')).toEqual({ ok: false, refusal });
  });
});

test('an incident can be raised once, and confirmed as ours later', () => {
  const first = markAlarmRaised(openIncident(newHijack()), 'U0ALICE');
  if (!first.ok) throw new Error('unexpected refusal');
  expect(markAlarmRaised(first.incident, 'U0BOB')).toEqual({
    ok: false,
    refusal: { code: 'already_raised', by: 'U0ALICE' },
  });
  expect(confirmAsOurs(first.incident, { by: 'U0BOB', reason: 'ours' }, false)).toMatchObject({ ok: true });
});

test('a transfer confirmed as ours explains its consequences, but no later transfer', () => {
  const transfer = newChange('pending_transfer', 'statuses', ['active'], ['pending transfer']);
  const registrarChange = newChange('registrar', 'registrar', ['name:Ours'], ['name:Other'], 1);
  const unexplainedAfter = (...openChanges: readonly UnexplainedChange[]) => {
    const confirmed = confirmAsOurs(openIncident(...openChanges), { by: 'U0BOB', reason: 'ours' }, false);
    if (!confirmed.ok) throw new Error(confirmed.refusal.code);
    const later = { beforeLastSeenAt: at(90), afterFirstSeenAt: at(100) };
    const changes = [
      { fact: 'registrar', before: ['name:Other'], after: ['name:Thief'], ...later },
      { fact: 'statuses', before: ['active'], after: ['active', 'pending transfer'], ...later },
      { fact: 'owner', before: ['fn:Us'], after: ['fn:Me'], ...later },
    ] as const;
    const orders = listConfirmedTransfers([confirmed.incident]);
    return explainChanges({ changes, history: {}, orders, knownChanges: [] }).unexplainedChanges.map(
      ({ change: { kind }, orders: [order] }) => [kind, order?.reason],
    );
  };
  expect(unexplainedAfter(transfer)).toEqual([['pending_transfer', 'used']]);
  expect(unexplainedAfter(transfer, registrarChange)).toEqual([
    ['registrar', 'used'],
    ['pending_transfer', 'used'],
  ]);
});
