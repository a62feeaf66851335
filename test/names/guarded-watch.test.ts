import { setMaxListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { createFact, type FactName, isSameSet } from '../../src/names/facts.ts';
import { createGuardedWatch } from '../../src/names/guarded-watch.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { createDnsClient } from '../../src/registry/dns/client.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { parseDnsServers } from '../../src/registry/dns/servers.ts';
import { startDns } from '../registry/dns/sandbox-dns.ts';
import { namesContextWith, newNameRecord } from '../support/names-context.ts';

const OUR_NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];
const THIEF_NAMESERVERS = ['ns1.thief.example'];
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const NAME = 'cafe.rest';
const neverAborted = new AbortController().signal;
setMaxListeners(0, neverAborted);
const ZONE_SERVERS = ['a.nic.rest', 'b.nic.rest', 'c.nic.rest'];

/** Starts a zone with three servers, and a watch of names in it, with a manual clock. */
async function startWatch(names: readonly string[] = [NAME]) {
  const dns = await startDns({ serversPerRegistry: 3 });
  for (const name of names) dns.world.delegate(name, OUR_NAMESERVERS);
  let nowMs = Date.UTC(2026, 10, 22);
  const now = () => new Date(nowMs);
  const client = createDnsClient({
    resolvers: parseDnsServers(dns.resolver) ?? [],
    mayConnect: () => true,
    timeoutMs: 200,
    rounds: 1,
  });
  const known = new Map<string, NameHistory>(names.map((name) => [name, {}]));
  const changes: { readonly fact: FactName; readonly after: readonly string[] }[] = [];
  const askedRegistry: string[] = [];
  let hasLease = true;
  const lookUp = createGuardedWatch(
    namesContextWith({
      records: {
        listGuarded: async () => [...known].map(([name, history]) => ({ name, history })),
        find: async (name) => newNameRecord(name, known.get(name) ?? {}, now()),
        save: async ({ name, history }, { updatedRecord }) => {
          known.set(name, updatedRecord.history);
          for (const fact of ['parent_nameservers', 'ds'] as const) {
            const [before, value] = [
              history[fact]?.current?.value,
              updatedRecord.history[fact]?.current?.value,
            ];
            if (before !== undefined && value !== undefined && !isSameSet(before, value))
              changes.push({ fact, after: value });
          }
          return true;
        },
      },
      leases: { acquire: async () => hasLease },
      processId: 'process',
      parents: createParentZones(client, now),
      parentDns: client,
      observer: {},
      rdap: {
        fetchRecord: async (name) => {
          askedRegistry.push(name);
          return { kind: 'unavailable', problem: { code: 'busy' } };
        },
      },
      loadActivity: async () => ({ orders: [], hasOpenOrder: false, incidents: [], isGuarded: true }),
      now,
      log: createLog('silent'),
      signal: neverAborted,
    }),
  );
  const questions = () =>
    dns.questions.filter(({ server, name }) => server !== 'resolver' && known.has(name));
  return {
    dns,
    known,
    changes,
    askedRegistry,
    lookUp,
    questions,
    setHasLease: (value: boolean) => {
      hasLease = value;
    },
    /** Advances the clock minute by minute, and runs the watch after each minute. */
    async runMinutes(count: number) {
      for (let n = 0; n < count; n += 1) {
        nowMs += MINUTE_MS;
        await lookUp();
      }
    },
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('a guarded name', () => {
  test('is queried once a minute, at each server of its zone in turn', async () => {
    const t = await startWatch();
    await t.lookUp();
    const before = t.questions().length;
    t.advance(30 * SECOND_MS);
    await t.lookUp();
    expect(t.questions(), 'half a minute later').toHaveLength(before);
    t.advance(30 * SECOND_MS);
    await t.lookUp();
    await t.runMinutes(2);
    const sent = t.questions().slice(before);
    expect(sent.map(({ type, recursionDesired }) => [type, recursionDesired])).toEqual(
      Array(3).fill(['NS', false]),
    );
    expect(sent.map(({ server }) => server).sort()).toEqual(ZONE_SERVERS);
  });

  test('changes at the second sighting, and its registry is queried', async () => {
    const t = await startWatch();
    await t.runMinutes(2);
    t.dns.world.delegate(NAME, THIEF_NAMESERVERS);
    await t.runMinutes(1);
    expect(t.changes).toEqual([]);
    expect(t.askedRegistry).toEqual([]);
    await t.runMinutes(1);
    expect(t.changes.map(({ fact, after }) => [fact, after])).toEqual([
      ['parent_nameservers', THIEF_NAMESERVERS],
    ]);
    expect(t.askedRegistry).toEqual([NAME]);
  });

  test('has its DS checked by the same query', async () => {
    const t = await startWatch();
    await t.runMinutes(2);
    t.dns.world.delegate(NAME, OUR_NAMESERVERS, ['1 13 2 abcd']);
    await t.runMinutes(2);
    expect(t.changes.map(({ fact, after }) => [fact, after])).toEqual([['ds', ['1 13 2 abcd']]]);
  });

  test('has its DS queried if a server doesn’t return it with the delegation', async () => {
    const t = await startWatch();
    t.dns.world.delegate(NAME, OUR_NAMESERVERS, ['1 13 2 abcd']);
    t.dns.faults.set({ kind: 'no_dnssec' });
    await t.runMinutes(1);
    expect(t.known.get(NAME)?.ds?.current?.value).toEqual(['1 13 2 abcd']);
  });

  test('loses its delegation when its zone drops it', async () => {
    const t = await startWatch();
    await t.runMinutes(2);
    t.dns.world.undelegate(NAME);
    await t.runMinutes(2);
    expect(t.changes.map(({ fact, after }) => [fact, after])).toContainEqual(['parent_nameservers', []]);
  });

  test('is watched only by the process with the lease', async () => {
    const t = await startWatch();
    t.setHasLease(false);
    await t.runMinutes(2);
    expect(t.questions()).toEqual([]);
  });
});

describe('a parent zone', () => {
  test('with one poisoned server causes no change', async () => {
    const t = await startWatch();
    await t.runMinutes(2);
    t.dns.world.delegateAt('b.nic.rest', NAME, THIEF_NAMESERVERS);
    await t.runMinutes(12);
    expect(t.changes).toEqual([]);
    expect(t.known.get(NAME)?.parent_nameservers?.candidate).toBeUndefined();
  });

  test.each(['refused', 'garbage'] as const)(
    'whose servers all fail (%s) causes no change and is marked as unseen',
    async (kind) => {
      const t = await startWatch();
      await t.runMinutes(2);
      for (const server of ZONE_SERVERS) t.dns.faults.set({ kind, match: { server } });
      await t.runMinutes(12);
      const { current, unseen } = t.known.get(NAME)?.parent_nameservers ?? {};
      expect(t.changes).toEqual([]);
      expect(current?.value).toEqual(OUR_NAMESERVERS);
      expect(unseen).toBeDefined();
      t.dns.faults.clear();
      await t.runMinutes(16);
      expect(t.known.get(NAME)?.parent_nameservers?.unseen, 'seen soon after it responds').toBeUndefined();
    },
    30_000,
  );

  test('is watched again 17 minutes after it responds, even after a long silence', async () => {
    const t = await startWatch();
    await t.runMinutes(2);
    for (const server of ZONE_SERVERS) t.dns.faults.set({ kind: 'refused', match: { server } });
    await t.runMinutes(90);
    t.dns.faults.clear();
    t.dns.world.delegate(NAME, THIEF_NAMESERVERS);
    await t.runMinutes(17);
    expect(t.changes.map(({ after }) => after)).toEqual([THIEF_NAMESERVERS]);
  });

  test('gets fewer queries while it doesn’t respond', async () => {
    const t = await startWatch();
    await t.runMinutes(1);
    for (const server of ZONE_SERVERS) t.dns.faults.set({ kind: 'refused', match: { server } });
    const before = t.questions().length;
    await t.runMinutes(60);
    expect(t.questions().length - before).toBeLessThan(30);
  });

  test('gets at most 20 queries a second per server', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `name${n}.rest`);
    const t = await startWatch(names);
    await t.lookUp();
    const counts = ZONE_SERVERS.map((each) => t.questions().filter(({ server }) => server === each).length);
    expect(Math.max(...counts)).toBeLessThanOrEqual(20);
    for (let second = 0; second < 20; second += 1) {
      t.advance(SECOND_MS);
      await t.lookUp();
    }
    expect(new Set(t.questions().map(({ name }) => name)).size, 'every name is queried').toBe(100);
  });
});

/** Creates a watch without DNS, and records when it calls each dependency, in seconds after the start. */
function createWatchWithoutDns(names: readonly string[], servers: readonly string[], history: NameHistory) {
  const start = Date.UTC(2026, 10, 22);
  let nowMs = start;
  const known = new Map<string, NameHistory>(names.map((name) => [name, history]));
  const calls: Record<'lease' | 'reload' | 'query' | 'save' | 'warn', number[]> = {
    ...{ lease: [], reload: [], query: [], save: [], warn: [] },
  };
  const getSeconds = () => (nowMs - start) / SECOND_MS;
  const world = { isSilent: false };
  const lookUp = createGuardedWatch(
    namesContextWith({
      records: {
        listGuarded: async () => {
          calls.reload.push(getSeconds());
          return [...known].map(([name, each]) => ({ name, history: each }));
        },
        find: async (name) => newNameRecord(name, known.get(name) ?? {}, new Date(nowMs)),
        save: async ({ name }, { updatedRecord }) => {
          known.set(name, updatedRecord.history);
          return calls.save.push(getSeconds()) > 0;
        },
      },
      leases: { acquire: async () => calls.lease.push(getSeconds()) > 0 },
      processId: 'process',
      parents: { findServers: async () => servers },
      parentDns: {
        queryDelegation: async () => {
          calls.query.push(getSeconds());
          return world.isSilent
            ? { kind: 'unanswered', failure: 'timeout' }
            : { kind: 'delegated', nameservers: OUR_NAMESERVERS, ds: [] };
        },
      },
      loadActivity: async () => ({ orders: [], hasOpenOrder: false, incidents: [], isGuarded: true }),
      now: () => new Date(nowMs),
      log: { warn: () => void calls.warn.push(getSeconds()) },
      signal: neverAborted,
    }),
  );
  const lookAt = async (...at: readonly number[]) => {
    for (const second of at) {
      nowMs = start + second * SECOND_MS;
      await lookUp();
    }
  };
  return { known, calls, world, lookAt };
}
const SEEN_HISTORY: NameHistory = mergeObservation(
  {},
  {
    ...{ name: NAME, at: new Date(Date.UTC(2026, 10, 21)) },
    facts: { parent_nameservers: createFact(OUR_NAMESERVERS), ds: createFact([]) },
  },
).history;
const listSeconds = (interval: number, until: number) =>
  Array.from({ length: until / interval + 1 }, (_, n) => n * interval);

test('the lease is renewed after five seconds on the monotonic clock', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { calls, lookAt } = createWatchWithoutDns([NAME], ['a'], SEEN_HISTORY);
  await lookAt(0);
  vi.advanceTimersByTime(4_999);
  await lookAt(1);
  vi.advanceTimersByTime(1);
  await lookAt(2);
  vi.useRealTimers();
  expect(calls.lease).toEqual([0, 2]);
});

test('the guarded names are reloaded after 30 seconds, or if the clock is set back', async () => {
  const { calls, lookAt } = createWatchWithoutDns([NAME], ['a'], SEEN_HISTORY);
  await lookAt(0, 0, 29.999, 30, 59, 20);
  expect(calls.reload).toEqual([0, 30, 20]);
});

test('a name is queried once a minute', async () => {
  const { calls, lookAt } = createWatchWithoutDns([NAME], ['a'], SEEN_HISTORY);
  await lookAt(0, 0, 59.999, 60);
  expect(calls.query).toEqual([0, 60]);
});

test('a server is paused after three failures, and each further failure doubles the pause', async () => {
  const { known, calls, world, lookAt } = createWatchWithoutDns([NAME], ['a'], SEEN_HISTORY);
  world.isSilent = true;
  await lookAt(0);
  known.set('bar.rest', SEEN_HISTORY);
  await lookAt(...listSeconds(30, 480).slice(1));
  expect(calls.query).toEqual([0, 30, 60, 120, 240, 480]);
  expect(calls.warn).toEqual([60]);
});

test.each<[string, servers: string[], NameHistory, saved: number[], reason: string | undefined]>([
  ['all servers are silent', ['a'], SEEN_HISTORY, [600], 'unreachable'],
  ['the zone has no servers', [], SEEN_HISTORY, [600], 'no_parent'],
  ['it was never seen', ['a'], {}, [], undefined],
])(
  'only a name that was seen is saved as unseen, once after ten minutes: %s',
  async (_, servers, history, expectedSaves, reason) => {
    const { known, calls, world, lookAt } = createWatchWithoutDns([NAME], servers, history);
    world.isSilent = true;
    await lookAt(...listSeconds(60, 1_200));
    expect(calls.save).toEqual(expectedSaves);
    expect(known.get(NAME)?.parent_nameservers?.unseen?.reason).toBe(reason);
  },
);
