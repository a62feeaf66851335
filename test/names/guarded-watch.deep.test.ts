import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import { createLog } from '../../src/lib/log.ts';
import { createGuardedWatch } from '../../src/names/guarded-watch.ts';
import { createObservers } from '../../src/names/observers.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { parseDnsServers } from '../../src/registry/dns/servers.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createLeaseStore } from '../../src/store/leases.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { startDns } from '../registry/dns/sandbox-dns.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { namesContextWith } from '../support/names-context.ts';
import { createTestWatchList } from '../support/unprotected.ts';

/* Watches guarded names with a real database, real sockets, and a parent zone with three servers. */

const NAME_COUNT = 1_000;
const NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];
const MINUTE_MS = 60_000;
const neverAborted = new AbortController().signal;
setMaxListeners(0, neverAborted);

let database: TestDatabase;
let db: Database;
let nowMs = Date.UTC(2026, 10, 22);
const now = () => new Date(nowMs);

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url });
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

describe('leases', () => {
  test('belong to one process until they expire', async () => {
    const leases = createLeaseStore(db);
    expect(await leases.acquire('guarded_watch', 'one', 60_000)).toBe(true);
    expect(await leases.acquire('guarded_watch', 'other', 60_000)).toBe(false);
    expect(await leases.acquire('guarded_watch', 'one', 60_000)).toBe(true);
    await db.prisma.lease.updateMany({ data: { until: new Date(0) } });
    expect(await leases.acquire('guarded_watch', 'other', 60_000)).toBe(true);
    expect(await leases.acquire('guarded_watch', 'one', 60_000)).toBe(false);
  });
});

test('1,000 guarded names take less than 5 % of a core, with one query a minute each', async () => {
  const dns = await startDns({ serversPerRegistry: 3 });
  const names = Array.from({ length: NAME_COUNT }, (_, n) => `name-${n}.rest`);
  const list = createTestWatchList(db);
  for (const name of names) {
    dns.world.delegate(name, NAMESERVERS);
    await list.add(createWatchedDomain(name, 'U0ALICE', now()));
  }
  await db.prisma.domain.updateMany({ data: { tags: ['guarded'] } });
  const store = createNameRecordStore(db, 'T0TEAM');
  const observers = createObservers(parseDnsServers(dns.resolver), now);
  const lookUp = createGuardedWatch(
    namesContextWith({
      ...observers,
      parents: createParentZones(observers.dns, now),
      records: store,
      leases: createLeaseStore(db),
      processId: 'process',
      rdap: { fetchRecord: () => Promise.reject(new Error('unexpected registry lookup')) },
      loadActivity: async () => ({ orders: [], hasOpenOrder: false, incidents: [], isGuarded: true }),
      ...{ now, log: createLog('silent'), signal: neverAborted },
    }),
  );
  await db.prisma.lease.deleteMany();
  /** Runs 60 rounds, a second apart. Returns the CPU usage, which includes the sandbox's servers. */
  const runMinute = async () => {
    const before = process.cpuUsage();
    for (let second = 0; second < 60; second += 1) {
      nowMs += MINUTE_MS / 60;
      await lookUp();
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / MINUTE_MS;
  };
  await runMinute();
  expect((await store.listGuarded()).filter(({ history }) => history.parent_nameservers)).toHaveLength(
    NAME_COUNT,
  );
  const questionsBefore = dns.questions.length;
  const usage = await runMinute();
  const queryCount = dns.questions.length - questionsBefore;
  expect(usage, `${(usage * 100).toFixed(2)} % of a core, ${queryCount} questions`).toBeLessThan(0.05);
  expect(queryCount).toBeGreaterThan(NAME_COUNT * 0.9);
  expect(queryCount).toBeLessThan(NAME_COUNT * 1.1);
}, 120_000);
