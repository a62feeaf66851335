import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type SandboxDns, startSandboxDns } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { createNames, createNamesContext } from '../../src/names/names.ts';
import { createObservers } from '../../src/names/observers.ts';
import { parseDnsServers } from '../../src/registry/dns/servers.ts';
import { createBudgetStore } from '../../src/store/budgets.ts';
import { type Database, openDatabase, type RunStatement } from '../../src/store/database.ts';
import { createIncidentStore } from '../../src/store/incidents.ts';
import { createLeaseStore } from '../../src/store/leases.ts';
import { createImpactStore, createNameRecordStore } from '../../src/store/name-records.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { proposalsOf } from '../support/proposals.ts';
import { seeded } from '../support/seeded.ts';
import { arrangedList } from '../support/unprotected.ts';

/*
 * Processes that watch guarded names and die at any moment. A dead process's memory is lost: the next one only has the
 * database. For the database, a killed process is a closed connection.
 */

const NAMES = 12;
const STOLEN = 6;
const MINUTES = 12;
const OURS = ['ns1.host.example', 'ns2.host.example'];
const THIEF = ['ns1.thief.example'];
const MINUTE_MS = 60_000;
const TEAM = 'T0TEAM';
const random = seeded(44);

let testDatabase: TestDatabase;
let admin: pg.Client;
let dns: SandboxDns;
let nowMs = Date.UTC(2026, 10, 22);
const now = () => new Date(nowMs);
const names = Array.from({ length: NAMES }, (_, n) => `name-${n}.rest`);

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = new pg.Client({ connectionString: testDatabase.url });
  await admin.connect();
  dns = await startSandboxDns({ serversPerRegistry: 3 });
  for (const name of names) dns.world.delegate(name, OURS);
  const database = openDatabase({ url: testDatabase.url });
  await arrangedList(database).importBatch(
    names.map((name) => ({ name })),
    'U0ALICE',
    now(),
  );
  // The last lookups were a while ago, and the next ones are in some days.
  const nextRegistryAt = new Date(nowMs + 5 * 86_400_000);
  await database.prisma.domain.updateMany({ data: { tags: ['guarded'], nextRegistryAt } });
  await database.close();
});
afterAll(async () => {
  await dns.close();
  await admin.end();
  await testDatabase.drop();
});

/** A process with only the database. It dies instead of a statement, if it lives for that many. */
function startProcess(id: string, statements = Number.POSITIVE_INFINITY) {
  const opened = openDatabase({ url: testDatabase.url, maxConnections: 4 });
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  let left = statements;
  async function die(): Promise<void> {
    if (stop.signal.aborted) return;
    stop.abort(new Error('it is dead'));
    await admin.query(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'domain-steward'`);
    // In reality its lease ends within twenty seconds.
    await admin.query(`UPDATE leases SET until = '-infinity'`);
  }
  /** After its death it does nothing. */
  const mortal =
    (run: RunStatement): RunStatement =>
    async (statement) => {
      left -= 1;
      if (left < 0) await die();
      stop.signal.throwIfAborted();
      return run(statement);
    };
  const database: Database = {
    ...opened,
    run: mortal(opened.run),
    transaction: (work) => opened.transaction((run) => work(mortal(run))),
  };
  const watching = createNames(
    createNamesContext({
      records: createNameRecordStore(database, TEAM),
      incidents: createIncidentStore(database, TEAM),
      impacts: createImpactStore(database, TEAM),
      notifyDue: () => undefined,
      certificateDays: [14],
      orders: createOrderStore(database, BOT_SIGNER),
      portfolio: createPortfolioStore(database, TEAM),
      rdap: {
        fetchRecord: async () => ({ kind: 'unavailable', problem: { code: 'busy' } }),
        close: async () => undefined,
      },
      ...createObservers(parseDnsServers(dns.resolver), now),
      leases: createLeaseStore(database),
      proposals: proposalsOf(database, TEAM),
      budgets: createBudgetStore(database, TEAM),
      processId: id,
      now,
      log: createLog('silent'),
      signal: stop.signal,
    }),
  );
  return {
    look: () => watching.lookUpGuarded().catch(() => undefined),
    die,
    isDead: () => stop.signal.aborted,
    close: () => opened.close().catch(() => undefined),
  };
}

const rowsOf = async (sql: string) => (await admin.query<Record<string, unknown>>(sql)).rows;

test('kills while names are stolen lose no incident and report none twice', async () => {
  const stolenAt = new Map<string, number>();
  let deaths = 0;
  let process = startProcess('process-0');
  /** A minute of seconds, in which processes die at some time, or instead of some statement. */
  const minute = async (isDeadly: boolean) => {
    for (let second = 0; second < 60; second += 1) {
      nowMs += MINUTE_MS / 60;
      const looking = process.look();
      if (isDeadly && random() < 0.1) {
        for (let turns = random() * 60; turns > 0; turns -= 1) await nextTurn();
        await process.die();
      }
      await looking;
      if (!process.isDead()) continue;
      await process.close();
      deaths += 1;
      process = startProcess(`process-${deaths}`, isDeadly ? 1 + Math.floor(random() * 20) : undefined);
    }
  };
  await minute(false);
  await minute(false);
  for (let n = 0; n < MINUTES; n += 1) {
    const stolen = n % 2 === 0 ? names[n / 2] : undefined;
    if (stolen !== undefined) {
      dns.world.delegate(stolen, THIEF);
      stolenAt.set(stolen, nowMs);
    }
    await minute(true);
  }
  for (let n = 0; n < 5; n += 1) await minute(false);
  await process.die();
  await process.close();
  expect(deaths).toBeGreaterThan(40);

  const incidents = await rowsOf(
    `SELECT name, opened_at, jsonb_array_length(changes) AS changes FROM incidents`,
  );
  expect(incidents.map(({ name }) => name).sort(), 'an incident a theft').toEqual(
    [...stolenAt.keys()].sort(),
  );
  expect(
    incidents.map(({ changes }) => changes),
    'each change once',
  ).toEqual(incidents.map(() => 1));
  const events = await rowsOf(
    `SELECT subject_id, count(*)::int FROM events WHERE kind = 'incident_opened' GROUP BY 1`,
  );
  expect(events).toHaveLength(STOLEN);
  expect(new Set(events.map(({ count }) => count))).toEqual(new Set([1]));
  const plans = await rowsOf(
    `SELECT 1 FROM notifications WHERE subject_kind = 'incident' AND purpose = 'plan'`,
  );
  expect(plans).toHaveLength(STOLEN);
  // If a process died between the incident and the registry lookup, that is due anyway.
  const unasked = await rowsOf(`
    SELECT name FROM domains JOIN incidents USING (name)
    WHERE last_lookup_at IS NULL AND next_registry_at > '${now().toISOString()}'`);
  expect(unasked).toEqual([]);
  const delays = incidents.map(({ name, opened_at: at }) => Number(at) - (stolenAt.get(String(name)) ?? 0));
  expect(Math.max(...delays)).toBeLessThan(5 * MINUTE_MS);
}, 240_000);
