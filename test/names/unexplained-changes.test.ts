import { describe, expect, test } from 'vitest';
import {
  createFact,
  createUnknownFact,
  FACT_NAMES,
  type Fact,
  type FactName,
  type Facts,
} from '../../src/names/facts.ts';
import { type FactChange, mergeObservation, type NameHistory } from '../../src/names/history.ts';
import {
  computeTransferCountdown,
  explainChanges,
  type IncidentKind,
  type KnownChange,
  type NameOrder,
  type NameTask,
  type UnexplainedChange,
} from '../../src/names/unexplained-changes.ts';
import fc from '../support/properties.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1);
const ACTIVE = ['active', 'client transfer prohibited', 'client delete prohibited'];

type State = { [Name in FactName]?: readonly string[] };

/** A name's registry record and DNS, and the bot's state after its lookups. */
class Watched {
  now = START;
  history: NameHistory = {};
  knownChanges: readonly KnownChange[] = [];
  readonly orders: NameOrder[] = [];
  readonly unexplained: UnexplainedChange[] = [];
  readonly explained: { kind: IncidentKind; orderId: string }[] = [];
  readonly seenBefore = new Set<string>();
  state: State = {
    registration: ['registered'],
    registrar: ['iana:292', 'name:Ours'],
    statuses: ACTIVE,
    registry_nameservers: ['ns1.a.example', 'ns2.a.example'],
    parent_nameservers: ['ns1.a.example', 'ns2.a.example'],
    nameservers: ['ns1.a.example', 'ns2.a.example'],
    secure_dns: ['signed'],
    ds: ['1 13 2 ab'],
    owner: ['fn:1', 'org:1'],
    registered_at: ['2020-01-01T00:00:00.000Z'],
    expires_at: ['2026-06-01T00:00:00.000Z'],
    transferred_at: [],
  };

  constructor() {
    this.lookUp();
    this.advance(HOUR);
    this.lookUp();
  }

  advance(ms: number): void {
    this.now += ms;
  }

  change(state: State): void {
    this.state = { ...this.state, ...state };
  }

  setNameservers(...servers: readonly string[]): void {
    this.change({ registry_nameservers: servers, parent_nameservers: servers, nameservers: servers });
  }

  order(task: NameTask, more: Partial<NameOrder> = {}): string {
    const id = `O${this.orders.length + 1}`;
    this.orders.push({ id, task, state: 'succeeded', sentAt: new Date(this.now), ...more });
    return id;
  }

  /** Looks the name up once, with these facts overridden. */
  lookUp(overrides: Facts = {}): void {
    const at = new Date(this.now);
    const facts: { [Name in FactName]?: Fact } = {};
    for (const fact of FACT_NAMES) {
      const value = this.state[fact];
      if (value !== undefined) facts[fact] = createFact(value);
    }
    const merged = mergeObservation(this.history, {
      name: 'cafe.rest',
      at,
      facts: { ...facts, ...overrides },
    });
    const { history, changes } = merged;
    const found = explainChanges({ changes, history, orders: this.orders, knownChanges: this.knownChanges });
    this.history = history;
    this.knownChanges = found.knownChanges;
    this.unexplained.push(...found.unexplainedChanges);
    for (const { kind, orderId, facts: shownBy, firstSeen } of found.knownChanges) {
      const id = `${kind} ${shownBy[0]} ${firstSeen.getTime()}`;
      if (orderId !== undefined && !this.seenBefore.has(id)) this.explained.push({ kind, orderId });
      this.seenBefore.add(id);
    }
  }

  /** Days of lookups, several a day. */
  watch(days = 1, everyMs = 6 * HOUR): void {
    for (let ms = 0; ms < days * DAY; ms += everyMs) {
      this.advance(everyMs);
      this.lookUp();
    }
  }

  get kinds(): IncidentKind[] {
    return this.unexplained.map(({ change }) => change.kind);
  }
}

describe('a change without an order is raised once', () => {
  test.each<[IncidentKind, State]>([
    ['registrar', { registrar: ['iana:999', 'name:Thief'] }],
    ['ds', { ds: ['2 13 2 cd'] }],
    ['ds', { ds: [], secure_dns: [] }],
    ['lock', { statuses: ['active', 'client delete prohibited'] }],
    ['owner', { owner: ['fn:2', 'org:1'] }],
    ['pending_transfer', { statuses: [...ACTIVE, 'pending transfer'] }],
    ['pending_delete', { statuses: [...ACTIVE, 'redemption period'] }],
    ['pending_delete', { statuses: [...ACTIVE, 'pending delete'] }],
    ['unregistered', { registration: [], registrar: [], statuses: [], registry_nameservers: [], owner: [] }],
  ])('%s: %j', (kind, state) => {
    const name = new Watched();
    name.change(state);
    name.watch(20);
    expect(name.kinds).toEqual([kind]);
    expect(name.explained).toEqual([]);
  });

  test('nameservers, even if three sources show them at different times', () => {
    const name = new Watched();
    const rogue = ['ns1.thief.example'];
    name.change({ parent_nameservers: rogue });
    name.watch(1);
    name.change({ nameservers: rogue });
    name.watch(2);
    name.change({ registry_nameservers: rogue });
    name.watch(2);
    expect(name.kinds).toEqual(['nameservers']);
    expect(name.knownChanges.map(({ facts }) => facts.toSorted())).toEqual([
      ['nameservers', 'parent_nameservers', 'registry_nameservers'],
    ]);
    expect(name.unexplained[0]?.change).toMatchObject({
      before: ['ns1.a.example', 'ns2.a.example'],
      after: rogue,
    });
  });

  test('only after two lookups', () => {
    const name = new Watched();
    name.advance(HOUR);
    name.lookUp({ registrar: createFact(['iana:999']), ds: createFact([]) });
    name.watch(1);
    name.change({ registrar: ['iana:999', 'name:Thief'] });
    name.advance(HOUR);
    name.lookUp();
    expect(name.kinds).toEqual([]);
    name.advance(HOUR);
    name.lookUp();
    expect(name.kinds).toEqual(['registrar']);
  });

  test('a deletion, with all its stages', () => {
    const name = new Watched();
    name.change({ statuses: ['redemption period'], secure_dns: [], ds: [] });
    name.setNameservers();
    name.watch(30);
    name.change({ statuses: ['pending delete'] });
    name.watch(5);
    name.change({ registration: [], registrar: [], statuses: [], owner: [], expires_at: [] });
    name.watch(5);
    // The deletion also removed the locks, which are reported.
    expect(name.kinds).toEqual(['lock', 'lock', 'pending_delete']);
  });

  test('a hold, which covers a later loss of the delegation, but no earlier one', () => {
    const gone = { parent_nameservers: [], ds: [] };
    const name = new Watched();
    name.change({ statuses: [...ACTIVE, 'server hold'] });
    name.watch(1);
    name.change(gone);
    name.watch(2);
    expect(name.kinds).toEqual(['hold']);
    const other = new Watched();
    other.change(gone);
    other.watch(1);
    other.change({ statuses: [...ACTIVE, 'client hold'] });
    other.watch(2);
    expect(other.kinds).toEqual(['delegation_gone', 'hold']);
  });

  test.each([
    ['hold', 'server hold'],
    ['pending_delete', 'redemption period'],
  ] as const)('a delegation lost after a %s has ended', (kind, status) => {
    const name = new Watched();
    name.change({ statuses: [...ACTIVE, status] });
    name.watch(1);
    name.change({ statuses: ACTIVE });
    name.watch(1);
    name.change({ parent_nameservers: [], nameservers: [] });
    name.watch(2);
    expect(name.kinds).toEqual([kind, 'delegation_gone']);
  });

  test('each removed lock, except a temporary one of the registry', () => {
    const name = new Watched();
    name.change({ statuses: ['active'] });
    name.watch(1);
    expect(name.unexplained.map(({ change }) => change.after)).toEqual([
      ['client transfer prohibited'],
      ['client delete prohibited'],
    ]);
    const young = new Watched();
    young.change({ statuses: [...ACTIVE, 'server transfer prohibited'] });
    young.change({ transferred_at: [new Date(young.now).toISOString()] });
    young.watch(60, DAY);
    young.change({ statuses: ACTIVE });
    young.watch(2);
    expect(young.kinds).toEqual([]);
    young.change({ statuses: [...ACTIVE, 'server transfer prohibited'] });
    young.watch(30, DAY);
    young.change({ statuses: ACTIVE });
    young.watch(2);
    expect(young.kinds).toEqual(['lock']);
  });

  test('a registrar’s lock, even on a young name', () => {
    const name = new Watched();
    name.change({ registered_at: [new Date(name.now).toISOString()] });
    name.watch(1);
    name.change({ statuses: ['active', 'client delete prohibited'] });
    name.watch(1);
    expect(name.kinds).toEqual(['lock']);
  });

  test('a name that disappears and comes back', () => {
    const name = new Watched();
    const before = name.state;
    name.change({
      registration: [],
      registrar: [],
      statuses: [],
      registry_nameservers: [],
      owner: [],
      secure_dns: [],
    });
    name.watch(2);
    name.state = before;
    name.watch(5);
    expect(name.kinds).toEqual(['unregistered']);
  });

  test('a second change of the same fact, separately', () => {
    const name = new Watched();
    name.change({ ds: ['2 13 2 cd'] });
    name.watch(1);
    name.change({ ds: ['3 13 2 ef'] });
    name.watch(1);
    expect(name.unexplained.map(({ change }) => change.after)).toEqual([['2 13 2 cd'], ['3 13 2 ef']]);
  });

  test('but not if a missing registrar and owner return', () => {
    const name = new Watched();
    const before = name.state;
    name.change({ registrar: [], owner: [] });
    name.watch(2);
    name.change({ registrar: before.registrar ?? [], owner: before.owner ?? [] });
    name.watch(5);
    expect(name.kinds).toEqual([]);
  });

  test('also if another registrar and owner appear after a time without one', () => {
    const name = new Watched();
    name.change({ registrar: [], owner: [] });
    name.watch(2);
    name.change({ registrar: ['iana:5'], owner: ['fn:5'] });
    name.watch(5);
    expect(name.kinds).toEqual(['registrar', 'owner']);
    expect(name.unexplained[0]?.change.before).toEqual(['iana:292', 'name:Ours']);
  });

  test('but not if the registrar is only renamed', () => {
    const name = new Watched();
    name.change({ registrar: ['iana:292', 'name:Ours Renamed'] });
    name.watch(5);
    expect(name.kinds).toEqual([]);
  });
});

/* One change, to the millisecond. */
describe('exact limits', () => {
  const at = (ms: number) => new Date(START + ms);
  const change = (fact: FactName, after: readonly string[], ms: number, before = ['x']): FactChange => ({
    ...{ fact, before, after, beforeLastSeenAt: at(ms), afterFirstSeenAt: at(ms) },
  });
  const known = (kind: IncidentKind, fact: FactName, after: readonly string[] = [], orderId?: string) =>
    ({ kind, after, facts: [fact], firstSeen: at(0), orderId }) satisfies KnownChange;
  const fact = (value: readonly string[], ms = 0) => ({
    ...{ candidate: undefined, past: [], unseen: undefined },
    current: { value, firstSeen: at(ms), lastSeen: at(ms) },
  });
  const explain = (
    changes: readonly FactChange[],
    former: readonly KnownChange[] = [],
    history: NameHistory = {},
    orders: readonly NameOrder[] = [],
  ) => explainChanges({ changes, history, orders, knownChanges: former });
  const order = (task: NameTask, ms: number, more: Partial<NameOrder> = {}): NameOrder => ({
    ...{ id: 'O1', task, state: 'succeeded', sentAt: at(ms), ...more },
  });
  const HOLD: NameHistory = { statuses: fact(['server hold']) };
  const ZONE: NameHistory = { requested_ds: fact(['2 13 2 cd']) };
  const YOUNG: NameHistory = { registered_at: fact([at(0).toISOString()]) };
  const LOCKED = ['server transfer prohibited'];

  test.each<[what: string, former: KnownChange, fact: FactName, after: string[], days: number, NameHistory?]>(
    [
      ['an unregistered name after a deletion', known('pending_delete', 'statuses'), 'registration', [], 100],
      ['a delegation lost during a hold', known('hold', 'statuses'), 'nameservers', [], 14, HOLD],
      ['a DS lost during a hold', known('hold', 'statuses'), 'ds', [], 14, HOLD],
      ['servers of a lost delegation', known('delegation_gone', 'parent_nameservers'), 'nameservers', [], 14],
      [
        'nameservers in the parent zone',
        known('nameservers', 'registry_nameservers', ['b']),
        'parent_nameservers',
        ['b'],
        14 + 1 / DAY,
      ],
      [
        'one of the nameservers',
        known('nameservers', 'registry_nameservers', ['b', 'c']),
        'nameservers',
        ['b'],
        14 + 1 / DAY,
      ],
    ],
  )('%s belongs to the earlier change until the limit', (_what, former, source, after, days, history) => {
    const isRaised = (ms: number) =>
      explain([change(source, after, ms)], [former], history).unexplainedChanges.length;
    expect([isRaised(days * DAY - 1), isRaised(days * DAY)]).toEqual([0, 1]);
  });

  test.each<[what: string, former: KnownChange, changed: FactChange, NameHistory?]>([
    ['another DS during a hold', known('hold', 'statuses'), change('ds', ['2 13 2 cd'], 1), HOLD],
    [
      'one of the nameservers in the parent zone',
      known('nameservers', 'registry_nameservers', ['b', 'c']),
      change('parent_nameservers', ['b'], 1),
    ],
  ])('%s is another change', (_what, former, changed, history) => {
    expect(explain([changed], [former], history).unexplainedChanges).toHaveLength(1);
  });

  test('a registry may remove its own lock without an incident for 65 days', () => {
    const isRaised = (ms: number) =>
      explain([change('statuses', [], ms, LOCKED)], [], YOUNG).unexplainedChanges.length;
    expect([isRaised(65 * DAY - 1), isRaised(65 * DAY)]).toEqual([0, 1]);
  });

  test('a zone’s DS request counts for 14 days, but not within 14 days of an unexpected change', () => {
    const isRaised = (ms: number, former: KnownChange[], seenAt = ms) =>
      explain([change('ds', ['2 13 2 cd'], ms)], former, { requested_ds: fact(['2 13 2 cd'], seenAt) })
        .unexplainedChanges.length;
    expect([isRaised(14 * DAY - 1, [], 0), isRaised(14 * DAY, [], 0)]).toEqual([0, 1]);
    const moved = [known('nameservers', 'nameservers', ['b'])];
    expect([isRaised(14 * DAY - 1, moved), isRaised(14 * DAY, moved)]).toEqual([1, 0]);
    expect(isRaised(1, [known('owner', 'owner', ['b'])]), 'after a change of another kind').toBe(0);
    expect(isRaised(1, [known('registrar', 'registrar', ['b'], 'O1')]), 'after an ordered change').toBe(0);
    expect(explain([change('nameservers', ['b'], 1)], [], ZONE).unexplainedChanges, 'not a DS').toHaveLength(
      1,
    );
  });

  test.each<[why: string, NameOrder, FactChange]>([
    ['used', order('nameservers', 5 * MINUTE, { nameServers: ['b'] }), change('nameservers', ['b', 'c'], 0)],
    [
      'sent_later',
      order('nameservers', 5 * MINUTE + 1, { nameServers: ['b'] }),
      change('nameservers', ['b'], 0),
    ],
    ['used', order('nameservers', 0, { nameServers: ['b'] }), change('nameservers', ['b'], 7 * DAY)],
    ['too_old', order('nameservers', 0, { nameServers: ['b'] }), change('nameservers', ['b'], 7 * DAY + 1)],
    [
      'content_mismatch',
      order('nameservers', 0, { nameServers: ['b'] }),
      change('parent_nameservers', ['b', 'c'], 0),
    ],
    ['used', order('authcode', 0), change('statuses', [], 0, ['client transfer prohibited'])],
    ['content_mismatch', order('authcode', 0), change('statuses', [], 0, ['client delete prohibited'])],
  ])('an order is %s: %j', (why, sent, changed) => {
    const found = explain([changed], [], {}, [sent]);
    expect(found.unexplainedChanges[0]?.orders[0]?.reason ?? 'used').toBe(why);
    expect(found.unexplainedChanges).toHaveLength(why === 'used' ? 0 : 1);
  });

  test('an order that explains one source must explain the others', () => {
    const sent = order('nameservers', 0, { nameServers: ['b'] });
    const isRaised = (after: string[], orderId?: string) =>
      explain(
        [change('nameservers', after, 1)],
        [known('nameservers', 'parent_nameservers', ['b', 'c'], orderId)],
        {},
        [sent],
      ).unexplainedChanges.length;
    expect([isRaised(['c'], 'O1'), isRaised(['c'])]).toEqual([1, 0]);
  });

  test('orders are listed latest first, then by descending ID', () => {
    const orders = [
      order('renew', 0, { id: 'O2' }),
      order('renew', 0, { id: 'O3' }),
      order('renew', 9, { id: 'O1' }),
    ];
    const [raised] = explain([change('owner', ['b'], 0)], [], {}, orders).unexplainedChanges;
    expect(raised?.orders.map(({ id }) => id)).toEqual(['O1', 'O3', 'O2']);
  });

  test('changes are sorted by source, and remembered for 150 days', () => {
    const both = [change('owner', ['b'], 150 * DAY), change('registrar', ['b'], 150 * DAY)];
    const kinds = (changes: FactChange[]) =>
      explain(changes).unexplainedChanges.map(({ change: { kind } }) => kind);
    expect(kinds(both)).toEqual(kinds(both.toReversed()));
    const young = { ...known('hold', 'statuses'), firstSeen: at(1) };
    const kept = explain(both, [known('hold', 'statuses'), young]).knownChanges;
    expect(kept.filter(({ kind }) => kind === 'hold')).toEqual([young]);
  });
});

describe('explaining a change', () => {
  test('an order explains its nameservers in any source, and nothing else', () => {
    const name = new Watched();
    const id = name.order('nameservers', { nameServers: ['ns1.b.example', 'ns2.b.example'] });
    name.setNameservers('ns2.b.example', 'ns1.b.example');
    name.watch(3);
    expect(name.kinds).toEqual([]);
    expect(name.explained).toEqual([{ kind: 'nameservers', orderId: id }]);
    expect(name.knownChanges.map(({ facts }) => facts.toSorted())).toEqual([
      ['nameservers', 'parent_nameservers', 'registry_nameservers'],
    ]);
    name.setNameservers('ns1.b.example', 'ns1.thief.example');
    name.watch(3);
    expect(name.kinds).toEqual(['nameservers']);
    expect(name.unexplained[0]?.orders).toMatchObject([{ id }]);
  });

  test('an order doesn’t explain a hijack during its nameserver change', () => {
    const name = new Watched();
    name.order('nameservers', { nameServers: ['ns1.b.example'] });
    name.change({ nameservers: ['ns1.b.example', 'ns9.b.example'] });
    name.watch(1);
    name.change({ parent_nameservers: ['ns1.b.example', 'ns1.thief.example'] });
    name.watch(1);
    expect(name.explained).toHaveLength(1);
    expect(name.kinds).toEqual(['nameservers']);
  });

  test('a nameserver order explains the loss of the DS, but no new DS', () => {
    const name = new Watched();
    name.order('nameservers', { nameServers: ['ns1.b.example'] });
    name.setNameservers('ns1.b.example');
    name.change({ ds: [], secure_dns: [] });
    name.watch(2);
    expect(name.kinds).toEqual([]);
    const other = new Watched();
    other.order('nameservers', { nameServers: ['ns1.b.example'] });
    other.setNameservers('ns1.b.example');
    other.change({ ds: ['2 13 2 cd'] });
    other.watch(2);
    expect(other.kinds).toEqual(['ds']);
  });

  test('a zone’s request explains a DS, even after the request has ended', () => {
    const name = new Watched();
    name.change({ requested_ds: ['2 13 2 cd', '2 13 4 ef'] });
    name.watch(1);
    name.change({ ds: ['2 13 2 cd'], requested_ds: [] });
    name.watch(2);
    name.change({ requested_ds: ['0 0 0 00'] });
    name.watch(1);
    name.change({ ds: [], secure_dns: [] });
    name.watch(2);
    expect(name.kinds).toEqual([]);
    expect(name.explained).toEqual([
      { kind: 'ds', orderId: 'zone' },
      { kind: 'ds', orderId: 'zone' },
    ]);
  });

  test.each<[string, State, State]>([
    ['another DS', { requested_ds: ['2 13 2 cd'] }, { ds: ['3 13 2 ef'] }],
    ['a DS beside the requested one', { requested_ds: ['2 13 2 cd'] }, { ds: ['2 13 2 cd', '3 13 2 ef'] }],
    ['a removal', { requested_ds: ['2 13 2 cd'] }, { ds: [], secure_dns: [] }],
    ['a DS instead of a removal', { requested_ds: ['0 0 0 00'] }, { ds: ['2 13 2 cd'] }],
  ])('a zone’s request doesn’t explain %s', (_case, request, change) => {
    const name = new Watched();
    name.change(request);
    name.watch(1);
    name.change(change);
    name.watch(2);
    expect(name.kinds).toEqual(['ds']);
  });

  test('a zone’s DS request explains the registry’s signed flag, but no other DS', () => {
    const name = new Watched();
    name.change({ ds: [], secure_dns: [], requested_ds: ['0 0 0 00'] });
    name.watch(2);
    name.advance(30 * DAY);
    name.change({ requested_ds: ['2 13 2 cd'] });
    name.watch(2);
    name.change({ secure_dns: ['signed'] });
    name.watch(2);
    expect(name.kinds).toEqual([]);
    name.change({ ds: ['3 13 2 ef'] });
    name.watch(2);
    expect(name.kinds).toEqual(['ds']);
  });

  test('a zone on unexpected nameservers explains nothing', () => {
    const name = new Watched();
    name.setNameservers('ns1.thief.example');
    name.change({ requested_ds: ['2 13 2 cd'], ds: ['2 13 2 cd'] });
    name.watch(2);
    expect(name.kinds).toEqual(['nameservers', 'ds']);
  });

  test('a transfer order explains all its consequences', () => {
    const name = new Watched();
    const id = name.order('transfer', { nameServers: ['ns1.b.example'] });
    name.change({ statuses: ['active', 'pending transfer'] });
    name.watch(6);
    name.setNameservers('ns1.b.example');
    name.change({ registrar: ['iana:1'], statuses: ['active'], owner: ['fn:9'], ds: [], secure_dns: [] });
    name.watch(3);
    expect(name.kinds).toEqual([]);
    expect(new Set(name.explained.map(({ orderId }) => orderId))).toEqual(new Set([id]));
  });

  test('orders explain a deletion, an owner change, and a lock removed by an auth code', () => {
    const deleted = new Watched();
    deleted.order('delete');
    deleted.change({ statuses: ['redemption period'], ds: [], secure_dns: [] });
    deleted.setNameservers();
    deleted.watch(30);
    deleted.change({ registration: [], registrar: [], statuses: [], owner: [] });
    deleted.watch(5);
    expect(deleted.kinds).toEqual([]);

    const owned = new Watched();
    owned.order('owner-change');
    owned.watch(10);
    owned.change({ owner: ['fn:2', 'org:2'] });
    owned.watch(2);
    expect(owned.kinds).toEqual([]);

    const unlocked = new Watched();
    unlocked.order('authcode');
    unlocked.change({ statuses: ['active'] });
    unlocked.watch(2);
    expect(unlocked.unexplained.map(({ change }) => change.after)).toEqual([['client delete prohibited']]);
  });

  test('an auth code order doesn’t explain a transfer, since anyone may have the code', () => {
    const name = new Watched();
    const id = name.order('authcode');
    name.change({ statuses: [...ACTIVE, 'pending transfer'] });
    name.watch(2);
    expect(name.unexplained).toMatchObject([{ change: { kind: 'pending_transfer' }, orders: [{ id }] }]);
  });

  test('a decision to let the name lapse explains its deletion', () => {
    const name = new Watched();
    name.order('lapse');
    name.watch(80, DAY);
    name.change({
      statuses: ['redemption period', 'client transfer prohibited', 'client delete prohibited'],
    });
    name.setNameservers();
    name.watch(20, DAY);
    expect(name.kinds).toEqual([]);
  });

  test.each([
    ['refused by the service', { state: 'refused' as const }],
    ['for other nameservers', { nameServers: ['ns1.c.example'] }],
    ['sent after the change was seen', { sentAt: new Date(START + 10 * DAY) }],
    ['sent long before', { sentAt: new Date(START - 30 * DAY) }],
  ])('an order explains nothing if it was %s', (_case, more) => {
    const name = new Watched();
    name.order('nameservers', { nameServers: ['ns1.b.example'], ...more });
    name.setNameservers('ns1.b.example');
    name.watch(3);
    expect(name.kinds).toEqual(['nameservers']);
  });

  test('an order explains one change of a kind, and the next needs its own order', () => {
    const name = new Watched();
    name.order('owner-change');
    name.change({ owner: ['fn:2', 'org:2'] });
    name.watch(2);
    name.change({ owner: ['fn:3', 'org:3'] });
    name.watch(2);
    expect(name.explained).toHaveLength(1);
    expect(name.kinds).toEqual(['owner']);
  });

  test('the latest matching order explains the change', () => {
    const name = new Watched();
    name.order('owner-change');
    name.advance(HOUR);
    const later = name.order('owner-change', { state: 'unknown' });
    name.change({ owner: ['fn:2', 'org:2'] });
    name.watch(2);
    expect(name.explained).toEqual([{ kind: 'owner', orderId: later }]);
  });
});

test('a registrar that changes together with the date is raised with both dates', () => {
  const name = new Watched();
  name.change({ expires_at: ['2027-06-01T00:00:00.000Z'], registrar: ['iana:999', 'name:Thief'] });
  name.watch(1);
  expect(name.unexplained).toMatchObject([
    {
      change: {
        kind: 'registrar',
        expiry: { before: '2026-06-01T00:00:00.000Z', after: '2027-06-01T00:00:00.000Z' },
      },
    },
  ]);
});

test('a changed expiry date alone is no incident', () => {
  const name = new Watched();
  for (const date of ['2027-06-01T00:00:00.000Z', '2026-05-01T00:00:00.000Z']) {
    name.change({ expires_at: [date] });
    name.watch(1);
  }
  expect(name.kinds).toEqual([]);
});

test('the transfer countdown starts at the last lookup without the transfer', () => {
  const name = new Watched();
  const before = new Date(name.now);
  name.change({ statuses: [...ACTIVE, 'pending transfer'] });
  name.watch(1);
  const [alarm] = name.unexplained;
  if (alarm === undefined) throw new Error('missing incident');
  const now = new Date(before.getTime() + 2 * DAY);
  expect(computeTransferCountdown(alarm.change, now)).toEqual({
    completesAt: new Date(before.getTime() + 5 * DAY),
    msLeft: 3 * DAY,
  });
  expect(computeTransferCountdown(alarm.change, new Date(before.getTime() + 9 * DAY), 7).msLeft).toBe(0);
});

test('a year of renewals, redaction and reordering raises nothing', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat(99)), fc.nat(330), (dice, renewalDay) => {
      const name = new Watched();
      const roll = () => dice.next().value ?? 0;
      for (let day = 0; day < 365; day += 1) {
        if (day === renewalDay) {
          if (roll() < 50) name.order('renew');
          name.change({ expires_at: ['2027-06-01T00:00:00.000Z'], statuses: [...ACTIVE, 'renew period'] });
        }
        if (day === renewalDay + 5) name.change({ statuses: ACTIVE });
        if (day === 200) name.change({ statuses: [...(name.state.statuses ?? []), 'auto renew period'] });
        if (day === 245) name.change({ statuses: ACTIVE });
        name.advance(DAY);
        const noise: { [Name in FactName]?: Fact } = {};
        if (roll() < 20) noise.owner = createFact(roll() < 50 ? ['org:1'] : ['fn:1']);
        if (roll() < 20) noise.owner = createUnknownFact('not_published');
        if (roll() < 10) noise.registrar = createFact(['name:OURS.']);
        if (roll() < 10) noise.registrar = createUnknownFact('registry_unavailable');
        if (roll() < 10) noise.statuses = createFact((name.state.statuses ?? []).toReversed());
        if (roll() < 10) noise.ds = createUnknownFact('timeout');
        // A stale answer now and then; never twice in a row, which would look like a change.
        if (day % 2 === 0 && roll() < 5) noise.nameservers = createFact(['old.a.example']);
        if (day % 2 === 0 && roll() < 5) noise.registration = createFact([]);
        name.lookUp(noise);
      }
      expect(name.kinds).toEqual([]);
      expect(name.explained).toEqual([]);
    }),
    { numRuns: 25 },
  );
});

describe('in every history', () => {
  type Step =
    | { readonly kind: 'order' | 'stray'; readonly what: Subject; readonly delayHours: number }
    | { readonly kind: 'noise' };
  type Subject = 'nameservers' | 'owner' | 'transfer' | 'ds' | 'lock';
  const subject = fc.constantFrom<Subject>('nameservers', 'owner', 'transfer', 'ds', 'lock');
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constantFrom('order', 'stray'), what: subject, delayHours: fc.nat(30) }),
    fc.record({ kind: fc.constant('noise' as const) }),
  );

  /** The state after the step, and its alarms without an order. */
  function stateOf(what: Subject, n: number, before: State): readonly [State, readonly IncidentKind[]] {
    const servers = [`ns1.n${n}.example`, `ns2.n${n}.example`];
    const delegation = {
      registry_nameservers: servers,
      parent_nameservers: servers,
      nameservers: servers,
    };
    switch (what) {
      case 'nameservers':
        return [delegation, ['nameservers']];
      case 'owner':
        return [{ owner: [`fn:n${n}`, 'org:1'] }, ['owner']];
      case 'transfer':
        return [
          { ...delegation, registrar: [`iana:${1000 + n}`], expires_at: [`${2030 + n}-01-01T00:00:00.000Z`] },
          ['nameservers', 'registrar'],
        ];
      case 'ds':
        return [{ ds: [`${n} 13 2 ab`] }, ['ds']];
      case 'lock': {
        const isLocked = before.statuses?.includes('client transfer prohibited') === true;
        // Locking again is no incident.
        return [
          { statuses: isLocked ? ['active'] : ['active', 'client transfer prohibited'] },
          isLocked ? ['lock'] : [],
        ];
      }
    }
  }

  const TASKS: Partial<Record<Subject, NameTask>> = {
    nameservers: 'nameservers',
    owner: 'owner-change',
    transfer: 'transfer',
    lock: 'authcode',
  };

  test('each change is explained by exactly one order or raised exactly once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const name = new Watched();
        name.change({ statuses: ['active', 'client transfer prohibited'] });
        name.watch(1);
        const [before, raisedBefore] = [name.explained.length, name.unexplained.length];
        const wanted = { raised: [] as string[], explained: [] as string[] };
        for (const [index, each] of steps.entries()) {
          const n = index + 2;
          // Leftovers of an old change must not explain the next one.
          name.watch(25, DAY);
          if (each.kind === 'noise') {
            name.advance(HOUR);
            name.lookUp({
              registrar: createFact(['iana:5']),
              ds: createUnknownFact('timeout'),
              parent_nameservers: createFact(['x.example']),
            });
            continue;
          }
          const [state, kinds] = stateOf(each.what, n, name.state);
          const task = each.kind === 'order' ? TASKS[each.what] : undefined;
          const servers = state.nameservers;
          const orderId =
            task === undefined
              ? undefined
              : name.order(task, servers === undefined ? {} : { nameServers: servers });
          name.advance(each.delayHours * HOUR);
          const { registry_nameservers: registry, ...dns } = state;
          // The DNS shows it first, the registry's record days later.
          name.change(dns);
          name.watch(2);
          if (registry !== undefined) name.change({ registry_nameservers: registry });
          name.watch(2);
          for (const kind of kinds) {
            if (orderId === undefined) wanted.raised.push(kind);
            else wanted.explained.push(`${kind} ${orderId}`);
          }
        }
        expect(name.kinds.slice(raisedBefore).toSorted()).toEqual(wanted.raised.toSorted());
        const explained = name.explained.slice(before).map(({ kind, orderId }) => `${kind} ${orderId}`);
        expect(explained.toSorted()).toEqual(wanted.explained.toSorted());
        expect(new Set(explained).size).toBe(explained.length);
      }),
      { numRuns: 80 },
    );
  });
});
