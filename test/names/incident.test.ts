import { describe, expect, test } from 'vitest';
import { createFact, type FactName } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import {
  confirmAsOurs,
  hashIncident,
  type Incident,
  isOpen,
  markRaised,
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
const moved = (hours = 0) => unexplained('nameservers', 'parent_nameservers', OURS, THIEF, hours);
const movedBack = (fact: FactName = 'parent_nameservers', hours = 0) =>
  unexplained('nameservers', fact, THIEF, OURS, hours);

/** A history with facts that have counted for a while. */
function historyOf(facts: Readonly<Partial<Record<FactName, readonly string[]>>>): NameHistory {
  const entries = Object.entries(facts).map(([fact, texts]) => [fact, createFact(texts)]);
  return mergeObservation({}, { name: NAME, at: at(0), facts: Object.fromEntries(entries) }).history;
}

/** Says that a shown incident was ours. */
function sayShown(
  incident: Incident,
  said: { readonly by: string; readonly reason: string },
  guarded: boolean,
) {
  return confirmAsOurs(incident, { ...said, shownHash: hashIncident(incident) }, guarded);
}

/** A name after the lookups of several hours. */
function look(
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

function opened(...found: readonly UnexplainedChange[]): Incident {
  const update = look(undefined, found, 1);
  if (update === undefined) throw new Error('nothing was opened');
  return update.after;
}

const kinds = (incident: Incident | undefined) => incident?.changes.map(({ kind }) => kind);

describe('an incident', () => {
  test('is opened by the first change without an order', () => {
    expect(look(undefined, [], 1)).toBeUndefined();
    const update = look(undefined, [moved()], 1);
    expect(update).toMatchObject({
      before: undefined,
      after: { name: NAME, state: 'open', openedAt: at(1) },
    });
    expect(update?.addedChanges).toEqual(update?.after.changes);
  });

  test('has the removal of several locks as one change', () => {
    const incident = opened(lock('b'), moved(), lock('a'));
    expect(incident.changes.map(({ kind, after }) => [kind, after])).toEqual([
      ['nameservers', THIEF],
      ['lock', ['a', 'b']],
    ]);
  });

  test('gets changes within 72 hours of its first sighting, and no later ones', () => {
    const incident = opened(moved());
    const update = look(incident, [lock('a', 71)], 72);
    expect(update).toMatchObject({ before: { id: incident.id }, after: { id: incident.id, state: 'open' } });
    expect(kinds(update?.after)).toEqual(['nameservers', 'lock']);
    expect(update?.addedChanges.map(({ kind }) => kind)).toEqual(['lock']);
    const later = look(incident, [lock('a', 73)], 73);
    expect(later?.before).toBeUndefined();
    expect(kinds(later?.after)).toEqual(['lock']);
  });

  test('that was ours is open again after another change', () => {
    const said = sayShown(opened(moved()), { by: 'U0BOB', reason: 'planned' }, false);
    if (!said.ok) throw new Error('it was refused');
    const update = look(said.incident, [lock('a', 10)], 11);
    expect(update?.after).toMatchObject({
      state: 'open',
      explanation: undefined,
      proposedExplanation: undefined,
    });
  });

  test('that was raised stays raised after another change', () => {
    const raised = markRaised(opened(moved()), 'U0ALICE');
    if (!raised.ok) throw new Error('it was refused');
    expect(look(raised.incident, [lock('a', 10)], 11)?.after.state).toBe('raised');
  });
});

describe('an incident is over', () => {
  const back = historyOf({
    parent_nameservers: OURS,
    statuses: ['active', 'client transfer prohibited'],
    registrar: ['name:Ours'],
  });

  test.each([
    ['nameservers', moved()],
    ['a lock', lock('client transfer prohibited')],
    ['a hold', unexplained('hold', 'statuses', ['active'], ['server hold'])],
    ['a transfer that was rejected', unexplained('pending_transfer', 'statuses', [], ['pending transfer'])],
    ['a deletion that was taken back', unexplained('pending_delete', 'statuses', [], ['redemption period'])],
    ['a registrar', unexplained('registrar', 'registrar', ['name:Ours'], ['name:Theirs'])],
    ['a delegation that was gone', unexplained('delegation_gone', 'parent_nameservers', OURS, [])],
  ])('when everything is back: %s', (_case, change) => {
    const update = look(opened(change), [], 5, back);
    expect(update).toMatchObject({ after: { state: 'over', overAt: at(5) }, addedChanges: [] });
  });

  test('of servers that didn’t know the name when it is set up again, or moved away, not when it is set up differently', () => {
    const incident = opened(unexplained('all_lame', 'lame_nameservers', [], OURS));
    const healthyWith = (address: string, hosts = OURS) =>
      [-48, 24, 48].reduce<NameHistory>((history, hours) => {
        const a = createFact([hours < 0 ? '198.51.100.7' : address]);
        const facts = { lame_nameservers: createFact([]), parent_nameservers: createFact(hosts), a };
        return mergeObservation(history, { name: NAME, at: at(hours), facts }).history;
      }, {});
    expect(look(incident, [], 48, healthyWith('203.0.113.66')), 'by whom, nobody knows').toBeUndefined();
    expect(look(incident, [], 48, healthyWith('198.51.100.7'))?.after.state).toBe('over');
    expect(look(incident, [], 48, healthyWith('203.0.113.66', ['ns1.b.example']))?.after.state).toBe('over');
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
      'another record since',
      [
        [-48, FORMER],
        [1, NEW],
        [48, NEW],
      ],
      false,
    ],
    [
      'another record as old as the change',
      [
        [-48, FORMER],
        [0, NEW],
        [48, NEW],
      ],
      true,
    ],
    [
      'another record seen once',
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
  ])('of servers that know the name again, with %s', (_, lookups, isOver) => {
    const history = lookups.reduce<NameHistory>((known, [hours, address]) => {
      const a = createFact([address]);
      const facts = { lame_nameservers: createFact([]), parent_nameservers: createFact(OURS), a };
      return mergeObservation(known, { name: NAME, at: at(hours), facts }).history;
    }, {});
    const incident = opened(unexplained('all_lame', 'lame_nameservers', [], OURS));
    expect(look(incident, [], 48, history)?.after.state === 'over').toBe(isOver);
  });

  test('of a nameserver’s free domain when the name no longer depends on it, not when a stranger has registered it', () => {
    const incident = opened(
      unexplained('nameserver_registrable', 'registrable_domains', [], ['gone.example']),
    );
    const hosts = ['ns1.gone.example', 'ns2.host.example'];
    const registered = historyOf({ parent_nameservers: hosts, registrable_domains: [] });
    expect(look(incident, [], 5, registered), 'by whom, nobody knows').toBeUndefined();
    const moved = historyOf({ parent_nameservers: OURS, registrable_domains: [] });
    expect(look(incident, [], 5, moved)?.after.state).toBe('over');
  });

  test('when all of it is back, and not before', () => {
    const incident = opened(moved(), lock('client transfer prohibited'));
    const half = historyOf({ parent_nameservers: OURS, statuses: ['active'] });
    expect(look(incident, [], 5, half)).toBeUndefined();
    expect(look(incident, [], 6, back)?.after.state).toBe('over');
  });

  test('not while something can’t be seen, or was seen only once', () => {
    const incident = opened(moved());
    const { parent_nameservers: known } = back;
    if (known === undefined) throw new Error('it is not known');
    const hidden = { parent_nameservers: { ...known, unseen: { reason: 'timeout' as const, since: at(4) } } };
    expect(look(incident, [], 5, hidden)).toBeUndefined();
    const value = { value: THIEF, firstSeen: at(4), lastSeen: at(4), sightings: 1 };
    expect(look(incident, [], 5, { parent_nameservers: { ...known, candidate: value } })).toBeUndefined();
  });

  test('without counting the way back as a change, whatever source shows it', () => {
    const incident = opened(moved());
    for (const fact of ['parent_nameservers', 'registry_nameservers', 'nameservers'] as const) {
      expect(look(incident, [movedBack(fact, 5)], 5, back)).toMatchObject({
        after: { state: 'over' },
        addedChanges: [],
      });
    }
    const gone = opened(unexplained('delegation_gone', 'parent_nameservers', OURS, []));
    const returned = unexplained('nameservers', 'parent_nameservers', [], OURS, 5);
    expect(look(gone, [returned], 5, back)).toMatchObject({ after: { state: 'over' }, addedChanges: [] });
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
      moved(),
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
  ])('only by the way back, not by other changes: %s', (_, original, change, isReversal) => {
    const update = look(opened(original), [change], 5);
    expect(update?.addedChanges ?? []).toHaveLength(isReversal ? 0 : 1);
  });

  test('each on its own if two are open, and the way back of the older one never joins the other', () => {
    const older = opened(moved());
    const latest = look(older, [lock('client transfer prohibited', 80)], 80)?.after;
    if (latest === undefined || latest.id === older.id) throw new Error('there is one');
    const look2 = (found: readonly UnexplainedChange[], hours: number, history: NameHistory) =>
      updateIncidents([latest, older], { name: NAME, unexplained: found, history, at: at(hours) });
    const half = historyOf({ parent_nameservers: OURS, statuses: ['active'] });
    expect(look2([movedBack('parent_nameservers', 90)], 90, half)).toMatchObject({
      before: { id: older.id },
      after: { id: older.id, state: 'over' },
      addedChanges: [],
    });
    const other = historyOf({ parent_nameservers: THIEF, statuses: ['client transfer prohibited'] });
    expect(look2([], 90, other)).toMatchObject({ after: { id: latest.id, state: 'over' } });
  });

  test('once: if it happens again within the time, it is reopened', () => {
    const over = look(opened(moved()), [], 5, back)?.after;
    if (over === undefined) throw new Error('it is not over');
    expect(isOpen(over)).toBe(false);
    expect(look(over, [], 6, back)).toBeUndefined();
    expect(look(over, [moved(7)], 8)).toMatchObject({
      after: { id: over.id, state: 'open', overAt: undefined },
    });
    expect(sayShown(over, { by: 'U0BOB', reason: 'x' }, false)).toEqual({
      ok: false,
      refusal: { code: 'over' },
    });
    expect(markRaised(over, 'U0BOB')).toEqual({ ok: false, refusal: { code: 'over' } });
  });
});

describe('that it was ours', () => {
  const bob = { by: 'U0BOB', reason: 'planned' };

  test('is said by one person', () => {
    expect(sayShown(opened(moved()), bob, false)).toMatchObject({
      ok: true,
      incident: { state: 'ours', explanation: bob },
    });
  });

  test('is said by two people for a guarded name', () => {
    const first = sayShown(opened(moved()), bob, true);
    if (!first.ok) throw new Error('it was refused');
    expect(first.incident).toMatchObject({ state: 'open', proposedExplanation: bob, explanation: undefined });
    expect(sayShown(first.incident, bob, true)).toEqual({
      ok: false,
      refusal: { code: 'needs_another_person' },
    });
    expect(sayShown(first.incident, { by: 'U0ADA', reason: 'yes' }, true)).toMatchObject({
      ok: true,
      incident: { state: 'ours', explanation: { by: 'U0ADA' } },
    });
  });

  test('doesn’t cover changes, or a proposal, after it was shown', () => {
    const shown = opened(moved());
    const joined = look(shown, [lock('a', 10)], 11)?.after;
    const proposed = sayShown(shown, bob, true);
    if (joined === undefined || !proposed.ok) throw new Error('nothing joined it');
    for (const later of [joined, proposed.incident])
      expect(
        confirmAsOurs(later, { by: 'U0ADA', reason: 'x', shownHash: hashIncident(shown) }, false),
      ).toEqual({
        ok: false,
        refusal: { code: 'changed' },
      });
  });

  test('is said once, after which nothing is raised', () => {
    const said = sayShown(opened(moved()), bob, false);
    if (!said.ok) throw new Error('it was refused');
    const refusal = { code: 'already_explained', by: 'U0BOB' };
    expect(sayShown(said.incident, bob, false)).toEqual({ ok: false, refusal });
    expect(markRaised(said.incident, 'U0ALICE')).toEqual({ ok: false, refusal });
  });
});

test('it is raised once, and can turn out to be ours', () => {
  const first = markRaised(opened(moved()), 'U0ALICE');
  if (!first.ok) throw new Error('it was refused');
  expect(markRaised(first.incident, 'U0BOB')).toEqual({
    ok: false,
    refusal: { code: 'already_raised', by: 'U0ALICE' },
  });
  expect(sayShown(first.incident, { by: 'U0BOB', reason: 'ours' }, false)).toMatchObject({ ok: true });
});

test('a transfer that was ours explains its consequences, and no later transfer', () => {
  const transfer = unexplained('pending_transfer', 'statuses', ['active'], ['pending transfer']);
  const registrar = unexplained('registrar', 'registrar', ['name:Ours'], ['name:Other'], 1);
  const unexplainedAfter = (...found: readonly UnexplainedChange[]) => {
    const said = sayShown(opened(...found), { by: 'U0BOB', reason: 'ours' }, false);
    if (!said.ok) throw new Error(said.refusal.code);
    const later = { beforeLastSeenAt: at(90), afterFirstSeenAt: at(100) };
    const changes = [
      { fact: 'registrar', before: ['name:Other'], after: ['name:Thief'], ...later },
      { fact: 'statuses', before: ['active'], after: ['active', 'pending transfer'], ...later },
      { fact: 'owner', before: ['fn:Us'], after: ['fn:Me'], ...later },
    ] as const;
    const orders = listConfirmedTransfers([said.incident]);
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
