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
const HOUR = 3_600_000;
const T0 = Date.UTC(2027, 5, 14, 12);
const at = (hours: number) => new Date(T0 + hours * HOUR);
const OURS = ['ns1.host.example', 'ns2.host.example'];
const THIEF = ['ns1.thief.example'];

function unexplained(
  kind: NameChange['kind'],
  fact: FactName,
  before: readonly string[],
  after: readonly string[],
  hours = 0,
): UnexplainedChange {
  const change = { kind, fact, before, after, beforeLastSeenAt: at(hours - 4), afterFirstSeenAt: at(hours) };
  return { change, orders: [] };
}
const lock = (gone: string, hours = 0) => unexplained('lock', 'statuses', ['active', gone], [gone], hours);
const hijack = (hours = 0) => unexplained('nameservers', 'parent_nameservers', OURS, THIEF, hours);
const reversal = (fact: FactName = 'parent_nameservers', hours = 0) =>
  unexplained('nameservers', fact, THIEF, OURS, hours);

/** A history with these current values. */
function historyOf(facts: Readonly<Partial<Record<FactName, readonly string[]>>>): NameHistory {
  const entries = Object.entries(facts).map(([fact, texts]) => [fact, createFact(texts)]);
  return mergeObservation({}, { name: NAME, at: at(0), facts: Object.fromEntries(entries) }).history;
}

/** Confirms an incident, as it was shown, as ours. */
function confirmShown(
  incident: Incident,
  confirmed: { readonly by: string; readonly reason: string },
  guarded: boolean,
) {
  return confirmOwnChange(incident, { ...confirmed, shownHash: hashIncident(incident) }, guarded);
}

/** The incident's update after a lookup. */
function lookUp(
  latest: Incident | undefined,
  found: readonly UnexplainedChange[],
  hours: number,
  history: NameHistory = historyOf({ parent_nameservers: THIEF, statuses: ['active'] }),
) {
  return updateIncidents(latest === undefined ? [] : [latest], {
    name: NAME,
    unexplained: found,
    history,
    at: at(hours),
  });
}

function openWith(...found: readonly UnexplainedChange[]): Incident {
  const update = lookUp(undefined, found, 1);
  if (update === undefined) throw new Error('no incident was opened');
  return update.after;
}

const kinds = (incident: Incident | undefined) => incident?.changes.map(({ kind }) => kind);

describe('an incident', () => {
  test('is opened by the first change without an order', () => {
    expect(lookUp(undefined, [], 1)).toBeUndefined();
    const update = lookUp(undefined, [hijack()], 1);
    expect(update).toMatchObject({
      before: undefined,
      after: { name: NAME, state: 'open', openedAt: at(1) },
    });
    expect(update?.addedChanges).toEqual(update?.after.changes);
  });

  test('combines removed locks into one change', () => {
    const incident = openWith(lock('b'), hijack(), lock('a'));
    expect(incident.changes.map(({ kind, after }) => [kind, after])).toEqual([
      ['nameservers', THIEF],
      ['lock', ['a', 'b']],
    ]);
  });

  test('collects changes for 72 hours after its first sighting', () => {
    const incident = openWith(hijack());
    const update = lookUp(incident, [lock('a', 71)], 72);
    expect(update).toMatchObject({ before: { id: incident.id }, after: { id: incident.id, state: 'open' } });
    expect(kinds(update?.after)).toEqual(['nameservers', 'lock']);
    expect(update?.addedChanges.map(({ kind }) => kind)).toEqual(['lock']);
    const later = lookUp(incident, [lock('a', 73)], 73);
    expect(later?.before).toBeUndefined();
    expect(kinds(later?.after)).toEqual(['lock']);
  });

  test('that was confirmed as ours reopens after another change', () => {
    const confirmed = confirmShown(openWith(hijack()), { by: 'U0BOB', reason: 'planned' }, false);
    if (!confirmed.ok) throw new Error('unexpected refusal');
    const update = lookUp(confirmed.incident, [lock('a', 10)], 11);
    expect(update?.after).toMatchObject({
      state: 'open',
      explanation: undefined,
      proposedExplanation: undefined,
    });
  });

  test('that was raised stays raised after another change', () => {
    const raised = markAlarmRaised(openWith(hijack()), 'U0ALICE');
    if (!raised.ok) throw new Error('unexpected refusal');
    expect(lookUp(raised.incident, [lock('a', 10)], 11)?.after.state).toBe('raised');
  });
});

describe('an incident is over', () => {
  const back = historyOf({
    parent_nameservers: OURS,
    statuses: ['active', 'client transfer prohibited'],
    registrar: ['name:Ours'],
  });

  test.each([
    ['nameservers', hijack()],
    ['a lock', lock('client transfer prohibited')],
    ['a hold', unexplained('hold', 'statuses', ['active'], ['server hold'])],
    ['a rejected transfer', unexplained('pending_transfer', 'statuses', [], ['pending transfer'])],
    ['a canceled deletion', unexplained('pending_delete', 'statuses', [], ['redemption period'])],
    ['a registrar', unexplained('registrar', 'registrar', ['name:Ours'], ['name:Theirs'])],
    ['a lost delegation', unexplained('delegation_gone', 'parent_nameservers', OURS, [])],
  ])('when the change is reverted: %s', (_case, change) => {
    const update = lookUp(openWith(change), [], 5, back);
    expect(update).toMatchObject({ after: { state: 'over', overAt: at(5) }, addedChanges: [] });
  });

  test('when lame servers serve the former records again, or the name leaves them', () => {
    const incident = openWith(unexplained('all_lame', 'lame_nameservers', [], OURS));
    const healthyWith = (address: string, hosts = OURS) =>
      [-48, 24, 48].reduce<NameHistory>((history, hours) => {
        const a = createFact([hours < 0 ? '198.51.100.7' : address]);
        const facts = { lame_nameservers: createFact([]), parent_nameservers: createFact(hosts), a };
        return mergeObservation(history, { name: NAME, at: at(hours), facts }).history;
      }, {});
    expect(lookUp(incident, [], 48, healthyWith('203.0.113.66')), 'maybe by a stranger').toBeUndefined();
    expect(lookUp(incident, [], 48, healthyWith('198.51.100.7'))?.after.state).toBe('over');
    expect(lookUp(incident, [], 48, healthyWith('203.0.113.66', ['ns1.b.example']))?.after.state).toBe(
      'over',
    );
  });

  const [FORMER, NEW] = ['198.51.100.7', '203.0.113.66'];
  test.each<[string, (readonly [hours: number, address: string])[], isOver: boolean]>([
    [
      'their first record',
      [
        [1, NEW],
        [48, NEW],
      ],
      true,
    ],
    [
      'a new record since',
      [
        [-48, FORMER],
        [1, NEW],
        [48, NEW],
      ],
      false,
    ],
    [
      'a new record as old as the change',
      [
        [-48, FORMER],
        [0, NEW],
        [48, NEW],
      ],
      true,
    ],
    [
      'a new record seen once',
      [
        [-48, FORMER],
        [48, NEW],
      ],
      false,
    ],
    [
      'the former record',
      [
        [-48, FORMER],
        [48, FORMER],
      ],
      true,
    ],
  ])('after lame servers recover, depending on their record: %s', (_, lookups, isOver) => {
    const history = lookups.reduce<NameHistory>((known, [hours, address]) => {
      const a = createFact([address]);
      const facts = { lame_nameservers: createFact([]), parent_nameservers: createFact(OURS), a };
      return mergeObservation(known, { name: NAME, at: at(hours), facts }).history;
    }, {});
    const incident = openWith(unexplained('all_lame', 'lame_nameservers', [], OURS));
    expect(lookUp(incident, [], 48, history)?.after.state === 'over').toBe(isOver);
  });

  test('when the name stops using an unregistered nameserver domain, not when someone registers it', () => {
    const incident = openWith(
      unexplained('nameserver_registrable', 'registrable_domains', [], ['gone.example']),
    );
    const hosts = ['ns1.gone.example', 'ns2.host.example'];
    const registered = historyOf({ parent_nameservers: hosts, registrable_domains: [] });
    expect(lookUp(incident, [], 5, registered), 'maybe by a stranger').toBeUndefined();
    const moved = historyOf({ parent_nameservers: OURS, registrable_domains: [] });
    expect(lookUp(incident, [], 5, moved)?.after.state).toBe('over');
  });

  test('only when all changes are reverted', () => {
    const incident = openWith(hijack(), lock('client transfer prohibited'));
    const half = historyOf({ parent_nameservers: OURS, statuses: ['active'] });
    expect(lookUp(incident, [], 5, half)).toBeUndefined();
    expect(lookUp(incident, [], 6, back)?.after.state).toBe('over');
  });

  test('not while a value is unseen, or seen only once', () => {
    const incident = openWith(hijack());
    const { parent_nameservers: known } = back;
    if (known === undefined) throw new Error('missing history');
    const hidden = { parent_nameservers: { ...known, unseen: { reason: 'timeout' as const, since: at(4) } } };
    expect(lookUp(incident, [], 5, hidden)).toBeUndefined();
    const value = { value: THIEF, firstSeen: at(4), lastSeen: at(4), sightings: 1 };
    expect(lookUp(incident, [], 5, { parent_nameservers: { ...known, candidate: value } })).toBeUndefined();
  });

  test('without adding the reversal as a change, whatever source shows it', () => {
    const incident = openWith(hijack());
    for (const fact of ['parent_nameservers', 'registry_nameservers', 'nameservers'] as const) {
      expect(lookUp(incident, [reversal(fact, 5)], 5, back)).toMatchObject({
        after: { state: 'over' },
        addedChanges: [],
      });
    }
    const gone = openWith(unexplained('delegation_gone', 'parent_nameservers', OURS, []));
    const returned = unexplained('nameservers', 'parent_nameservers', [], OURS, 5);
    expect(lookUp(gone, [returned], 5, back)).toMatchObject({
      after: { state: 'over' },
      addedChanges: [],
    });
  });

  const ds = (fact: FactName, before: readonly string[], after: readonly string[], hours = 0) =>
    unexplained('ds', fact, before, after, hours);
  const registrar = (from: string, to: string, hours = 0) =>
    unexplained('registrar', 'registrar', [`name:${from}`], [`name:${to}`], hours);

  test.each<[string, UnexplainedChange, UnexplainedChange, isReversal: boolean]>([
    ['another registrar', registrar('A', 'B'), registrar('B', 'C', 5), false],
    ['the former registrar', registrar('A', 'B'), registrar('B', 'A', 5), true],
    [
      'other nameservers',
      hijack(),
      unexplained('nameservers', 'nameservers', THIEF, ['ns9.x.example'], 5),
      false,
    ],
    ['a lock after the removal of DS', ds('ds', ['k'], []), lock('a', 5), false],
    ['DS at the registry after its removal', ds('ds', ['k'], []), ds('secure_dns', [], ['signed'], 5), true],
    [
      'no DS at the registry after its removal',
      ds('ds', ['k'], []),
      ds('secure_dns', ['signed'], [], 5),
      false,
    ],
    [
      'no DS at the registry after it was added',
      ds('ds', [], ['k']),
      ds('secure_dns', ['signed'], [], 5),
      true,
    ],
    [
      'another kind with the same value',
      lock('a'),
      unexplained('hold', 'statuses', ['a'], ['active', 'a'], 5),
      false,
    ],
  ])('only by a reversal, not by other changes: %s', (_, original, change, isReversal) => {
    const update = lookUp(openWith(original), [change], 5);
    expect(update?.addedChanges ?? []).toHaveLength(isReversal ? 0 : 1);
  });

  test('separately if two are open, and the reversal of one is never added to the other', () => {
    const older = openWith(hijack());
    const latest = lookUp(older, [lock('client transfer prohibited', 80)], 80)?.after;
    if (latest === undefined || latest.id === older.id) throw new Error('expected two incidents');
    const updateBoth = (found: readonly UnexplainedChange[], hours: number, history: NameHistory) =>
      updateIncidents([latest, older], { name: NAME, unexplained: found, history, at: at(hours) });
    const half = historyOf({ parent_nameservers: OURS, statuses: ['active'] });
    expect(updateBoth([reversal('parent_nameservers', 90)], 90, half)).toMatchObject({
      before: { id: older.id },
      after: { id: older.id, state: 'over' },
      addedChanges: [],
    });
    const other = historyOf({ parent_nameservers: THIEF, statuses: ['client transfer prohibited'] });
    expect(updateBoth([], 90, other)).toMatchObject({ after: { id: latest.id, state: 'over' } });
  });

  test('once, and reopens if the change recurs within 72 hours', () => {
    const over = lookUp(openWith(hijack()), [], 5, back)?.after;
    if (over === undefined) throw new Error('the incident is still open');
    expect(isOpen(over)).toBe(false);
    expect(lookUp(over, [], 6, back)).toBeUndefined();
    expect(lookUp(over, [hijack(7)], 8)).toMatchObject({
      after: { id: over.id, state: 'open', overAt: undefined },
    });
    expect(confirmShown(over, { by: 'U0BOB', reason: 'x' }, false)).toEqual({
      ok: false,
      refusal: { code: 'over' },
    });
    expect(markAlarmRaised(over, 'U0BOB')).toEqual({ ok: false, refusal: { code: 'over' } });
  });
});

describe('confirming an incident as ours', () => {
  const bob = { by: 'U0BOB', reason: 'planned' };

  test('takes one person', () => {
    expect(confirmShown(openWith(hijack()), bob, false)).toMatchObject({
      ok: true,
      incident: { state: 'ours', explanation: bob },
    });
  });

  test('takes two people for a guarded name', () => {
    const first = confirmShown(openWith(hijack()), bob, true);
    if (!first.ok) throw new Error('unexpected refusal');
    expect(first.incident).toMatchObject({ state: 'open', proposedExplanation: bob, explanation: undefined });
    expect(confirmShown(first.incident, bob, true)).toEqual({
      ok: false,
      refusal: { code: 'needs_another_person' },
    });
    expect(confirmShown(first.incident, { by: 'U0ADA', reason: 'yes' }, true)).toMatchObject({
      ok: true,
      incident: { state: 'ours', explanation: { by: 'U0ADA' } },
    });
  });

  test('is refused if the incident has changed since it was shown', () => {
    const shown = openWith(hijack());
    const joined = lookUp(shown, [lock('a', 10)], 11)?.after;
    const proposed = confirmShown(shown, bob, true);
    if (joined === undefined || !proposed.ok) throw new Error('the incident did not change');
    for (const later of [joined, proposed.incident])
      expect(
        confirmOwnChange(later, { by: 'U0ADA', reason: 'x', shownHash: hashIncident(shown) }, false),
      ).toEqual({
        ok: false,
        refusal: { code: 'changed' },
      });
  });

  test('is possible once, and rules out raising it', () => {
    const confirmed = confirmShown(openWith(hijack()), bob, false);
    if (!confirmed.ok) throw new Error('unexpected refusal');
    const refusal = { code: 'already_explained', by: 'U0BOB' };
    expect(confirmShown(confirmed.incident, bob, false)).toEqual({ ok: false, refusal });
    expect(markAlarmRaised(confirmed.incident, 'U0ALICE')).toEqual({ ok: false, refusal });
  });
});

test('an incident can be raised once, and confirmed as ours later', () => {
  const first = markAlarmRaised(openWith(hijack()), 'U0ALICE');
  if (!first.ok) throw new Error('unexpected refusal');
  expect(markAlarmRaised(first.incident, 'U0BOB')).toEqual({
    ok: false,
    refusal: { code: 'already_raised', by: 'U0ALICE' },
  });
  expect(confirmShown(first.incident, { by: 'U0BOB', reason: 'ours' }, false)).toMatchObject({ ok: true });
});

test('a transfer confirmed as ours explains its consequences, but no later transfer', () => {
  const transfer = unexplained('pending_transfer', 'statuses', ['active'], ['pending transfer']);
  const registrar = unexplained('registrar', 'registrar', ['name:Ours'], ['name:Other'], 1);
  const unexplainedAfter = (...found: readonly UnexplainedChange[]) => {
    const confirmed = confirmShown(openWith(...found), { by: 'U0BOB', reason: 'ours' }, false);
    if (!confirmed.ok) throw new Error(confirmed.refusal.code);
    const later = { beforeLastSeenAt: at(90), afterFirstSeenAt: at(100) };
    const changes = [
      { fact: 'registrar', before: ['name:Other'], after: ['name:Thief'], ...later },
      { fact: 'statuses', before: ['active'], after: ['active', 'pending transfer'], ...later },
      { fact: 'owner', before: ['fn:Us'], after: ['fn:Me'], ...later },
    ] as const;
    const orders = listConfirmedTransfers([confirmed.incident]);
    return explainChanges({ changes, history: {}, orders, knownChanges: [] }).unexplained.map(
      ({ change: { kind }, orders: [order] }) => [kind, order?.reason],
    );
  };
  expect(unexplainedAfter(transfer)).toEqual([['pending_transfer', 'used']]);
  expect(unexplainedAfter(transfer, registrar)).toEqual([
    ['registrar', 'used'],
    ['pending_transfer', 'used'],
  ]);
});
