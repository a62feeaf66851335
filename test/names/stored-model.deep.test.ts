import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import { createLog } from '../../src/lib/log.ts';
import { createFact, type Facts } from '../../src/names/facts.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { type Incident, updateIncidents } from '../../src/names/incident.ts';
import { lookUpName } from '../../src/names/lookup.ts';
import { explainChanges, type KnownChange, type NameOrder } from '../../src/names/unexplained-changes.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createIncidentStore } from '../../src/store/incidents.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { namesContextWith } from '../support/names-context.ts';
import fc from '../support/properties.ts';
import { createTestWatchList } from '../support/unprotected.ts';

/*
 * Runs random histories through the database with two concurrent processes. As in the pure functions, each
 * change is explained by exactly one order or raised once.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 10, 22);
const never = new AbortController().signal;
setMaxListeners(0, never);

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url });
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

let nameCount = 0;

async function arrange() {
  nameCount += 1;
  const name = `n${nameCount}.rest`;
  let nowMs = START;
  let facts: Facts = {};
  const orders: NameOrder[] = [];
  const now = () => new Date(nowMs);
  const store = createNameRecordStore(db, 'T0TEAM');
  const incidents = createIncidentStore(db, 'T0TEAM');
  await createTestWatchList(db).add(createWatchedDomain(name, 'U0ALICE', now()));
  const pure: {
    history: NameHistory;
    knownChanges: readonly KnownChange[];
    incidents: readonly Incident[];
    raised: string[];
  } = {
    history: {},
    incidents: [],
    knownChanges: [],
    raised: [],
  };
  const deps = namesContextWith({
    records: {
      ...store,
      find: async (which: string) => {
        const found = await store.find(which);
        // Every DNS lookup is due, and no registry lookup.
        return found && { ...found, nextDnsLookupAt: now(), nextRegistryLookupAt: new Date(nowMs + DAY_MS) };
      },
    },
    observer: {
      observe: async () => ({ name, at: now(), facts }),
      observeParent: async () => ({ state: 'absent' }) as const,
    },
    observeDelegation: async () => ({}),
    rdap: { fetchRecord: async () => ({ kind: 'unavailable', problem: { code: 'busy' } }) as const },
    planner: { reserve: (_host: string, _urgent: boolean, at: Date) => at },
    loadActivity: async () => ({
      orders,
      hasOpenOrder: false,
      incidents: await incidents.listForName(name, 10),
      isGuarded: false,
    }),
    now,
    log: createLog('silent'),
  });
  return {
    orders,
    pure,
    show(changes: Facts) {
      facts = { ...facts, ...changes };
    },
    order(id: string, nameServers: readonly string[]) {
      orders.push({ id, task: 'nameservers', state: 'succeeded', sentAt: now(), nameServers });
    },
    /** Two processes run a lookup at once; one is saved. */
    async lookUp(afterMs: number) {
      nowMs += afterMs;
      await Promise.all([lookUpName(deps, name, never), lookUpName(deps, name, never)]);
      const merged = mergeObservation(pure.history, { name, at: now(), facts });
      const { changes, history } = merged;
      const done = explainChanges({ changes, history, orders, knownChanges: pure.knownChanges });
      pure.history = history;
      pure.knownChanges = done.knownChanges;
      const { unexplainedChanges } = done;
      const update = updateIncidents(pure.incidents, { name, unexplainedChanges, history, at: now() });
      if (update !== undefined)
        pure.incidents = [
          update.after,
          ...pure.incidents.filter(({ id }) => id !== update.after.id),
        ].toSorted((a, b) => b.openedAt.getTime() - a.openedAt.getTime());
      pure.raised.push(...(update?.addedChanges ?? []).map(keyOf));
    },
    stored: async () =>
      (await incidents.listForName(name, 1_000)).flatMap(({ changes }) => changes.map(keyOf)),
    explained: async () =>
      ((await store.find(name))?.knownChanges ?? []).flatMap(({ kind, orderId }) =>
        orderId === undefined ? [] : `${kind} ${orderId}`,
      ),
  };
}

function keyOf(change: {
  readonly kind: string;
  readonly after: readonly string[];
  readonly afterFirstSeenAt: Date;
}) {
  return `${change.kind} ${change.after.join()} ${change.afterFirstSeenAt.toISOString()}`;
}

const LOCK = 'client transfer prohibited';
const delegation = (n: number): Facts => ({
  nameservers: createFact([`ns1.n${n}.example`]),
  parent_nameservers: createFact([`ns1.n${n}.example`]),
});

test('each change is explained by exactly one order or is part of one incident', async () => {
  const step = fc.constantFrom('asked', 'stray', 'owner', 'registrar', 'lock', 'quiet');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      const name = await arrange();
      name.show({
        ...delegation(0),
        owner: createFact(['fn:0']),
        registrar: createFact(['iana:101']),
        statuses: createFact(['active', LOCK]),
      });
      await name.lookUp(HOUR_MS);
      const wanted = { raised: 0, explained: 0 };
      let isLocked = true;
      for (const [index, what] of steps.entries()) {
        const n = index + 1;
        await name.lookUp(25 * DAY_MS);
        if (what === 'asked') name.order(`o${n}`, [`ns1.n${n}.example`]);
        if (what === 'asked' || what === 'stray') name.show(delegation(n));
        if (what === 'owner') name.show({ owner: createFact([`fn:${n}`]) });
        if (what === 'registrar') name.show({ registrar: createFact([`iana:${101 + n}`]) });
        if (what === 'lock') {
          isLocked = !isLocked;
          name.show({ statuses: createFact(isLocked ? ['active', LOCK] : ['active']) });
        }
        if (what === 'asked') wanted.explained += 1;
        else if (what !== 'quiet' && !(what === 'lock' && isLocked)) wanted.raised += 1;
        for (let look = 0; look < 3; look += 1) await name.lookUp(HOUR_MS);
      }
      const stored = await name.stored();
      expect(stored.toSorted()).toEqual(name.pure.raised.toSorted());
      expect(stored).toHaveLength(wanted.raised);
      const explained = await name.explained();
      expect(new Set(explained).size).toBe(explained.length);
      expect(explained.length).toBeLessThanOrEqual(wanted.explained);
    }),
    { numRuns: 12 },
  );
});

test('a year of renewals raises nothing', async () => {
  const name = await arrange();
  name.show({
    ...delegation(0),
    registrar: createFact(['iana:101']),
    statuses: createFact(['active', LOCK]),
  });
  for (let day = 0; day < 365; day += 1) {
    if (day % 120 === 60)
      name.show({ expires_at: createFact([new Date(START + (day + 365) * DAY_MS).toISOString()]) });
    if (day % 120 === 60) name.show({ statuses: createFact(['active', LOCK, 'renew period']) });
    if (day % 120 === 65) name.show({ statuses: createFact(['active', LOCK]) });
    await name.lookUp(DAY_MS);
  }
  expect(await name.stored()).toEqual([]);
}, 60_000);
