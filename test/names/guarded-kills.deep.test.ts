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
import { newProposalStore } from '../support/proposals.ts';
import { seededRandom } from '../support/seeded.ts';
import { createTestWatchList } from '../support/unprotected.ts';

/*
 * Processes that watch guarded names are killed at any time. The next process knows only what is in the database.
 * The database sees a killed process as a closed connection.
 */

const NAME_COUNT = 12;
const HIJACKED_COUNT = 6;
const DEADLY_MINUTES = 12;
const OUR_NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];
const THIEF_NAMESERVERS = ['ns1.thief.example'];
const MINUTE_MS = 60_000;
const TEAM = 'T0TEAM';
const random = seededRandom(44);

let testDatabase: TestDatabase;
let admin: pg.Client;
let dns: SandboxDns;
let nowMs = Date.UTC(2026, 10, 22);
const now = () => new Date(nowMs);
const names = Array.from({ length: NAME_COUNT }, (_, n) => `name-${n}.rest`);

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = new pg.Client({ connectionString: testDatabase.url });
  await admin.connect();
  dns = await startSandboxDns({ serversPerRegistry: 3 });
  for (const name of names) dns.world.delegate(name, OUR_NAMESERVERS);
  const database = openDatabase({ url: testDatabase.url });
  await createTestWatchList(database).importBatch(
    names.map((name) => ({ name })),
    'U0ALICE',
    now(),
  );
  // The next registry lookups are due in five days.
  const nextRegistryLookupAt = new Date(nowMs + 5 * 86_400_000);
  await database.prisma.domain.updateMany({ data: { tags: ['guarded'], nextRegistryLookupAt } });
  await database.close();
});
afterAll(async () => {
  await dns.close();
  await admin.end();
  await testDatabase.drop();
});

/** Starts a process that is killed after this number of statements. */
function startProcess(id: string, statements = Number.POSITIVE_INFINITY) {
  const openedDatabase = openDatabase({ url: testDatabase.url, maxConnections: 4 });
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  let statementsLeft = statements;
  async function kill(): Promise<void> {
    if (stop.signal.aborted) return;
    stop.abort(new Error('the process was killed'));
    await admin.query(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'domain-steward'`);
    // In production its lease expires within 20 seconds.
    await admin.query(`UPDATE leases SET until = '-infinity'`);
  }
  /** Kills the process after its last statement, and runs no others. */
  const makeKillable =
    (run: RunStatement): RunStatement =>
    async (statement) => {
      statementsLeft -= 1;
      if (statementsLeft < 0) await kill();
      stop.signal.throwIfAborted();
      return run(statement);
    };
  const database: Database = {
    ...openedDatabase,
    run: makeKillable(openedDatabase.run),
    transaction: (work) => openedDatabase.transaction((run) => work(makeKillable(run))),
  };
  const watch = createNames(
    createNamesContext({
      records: createNameRecordStore(database, TEAM),
      incidents: createIncidentStore(database, TEAM),
      impacts: createImpactStore(database, TEAM),
      pollNotifications: () => undefined,
      certificateWarningDays: [14],
      orders: createOrderStore(database, BOT_SIGNER),
      portfolio: createPortfolioStore(database, TEAM),
      rdap: {
        fetchRecord: async () => ({ kind: 'unavailable', problem: { code: 'busy' } }),
        close: async () => undefined,
      },
      ...createObservers(parseDnsServers(dns.resolver), now),
      leases: createLeaseStore(database),
      proposals: newProposalStore(database, TEAM),
      budgets: createBudgetStore(database, TEAM),
      processId: id,
      now,
      log: createLog('silent'),
      signal: stop.signal,
    }),
  );
  return {
    lookUp: () => watch.lookUpGuarded().catch(() => undefined),
    kill,
    isDead: () => stop.signal.aborted,
    close: () => openedDatabase.close().catch(() => undefined),
  };
}

const queryRows = async (sql: string) => (await admin.query<Record<string, unknown>>(sql)).rows;

test('killing processes while names are hijacked neither loses nor duplicates incidents', async () => {
  const hijackedAt = new Map<string, number>();
  let killCount = 0;
  let process = startProcess('process-0');
  /** Runs 60 rounds, a second apart. In a deadly minute, processes are killed at any time or statement. */
  const runMinute = async (isDeadly: boolean) => {
    for (let second = 0; second < 60; second += 1) {
      nowMs += MINUTE_MS / 60;
      const lookingUp = process.lookUp();
      if (isDeadly && random() < 0.1) {
        for (let turns = random() * 60; turns > 0; turns -= 1) await nextTurn();
        await process.kill();
      }
      await lookingUp;
      if (!process.isDead()) continue;
      await process.close();
      killCount += 1;
      process = startProcess(`process-${killCount}`, isDeadly ? 1 + Math.floor(random() * 20) : undefined);
    }
  };
  await runMinute(false);
  await runMinute(false);
  for (let n = 0; n < DEADLY_MINUTES; n += 1) {
    const hijackedName = n % 2 === 0 ? names[n / 2] : undefined;
    if (hijackedName !== undefined) {
      dns.world.delegate(hijackedName, THIEF_NAMESERVERS);
      hijackedAt.set(hijackedName, nowMs);
    }
    await runMinute(true);
  }
  for (let n = 0; n < 5; n += 1) await runMinute(false);
  await process.kill();
  await process.close();
  expect(killCount).toBeGreaterThan(40);

  const incidents = await queryRows(
    `SELECT name, opened_at, jsonb_array_length(changes) AS changes FROM incidents`,
  );
  expect(incidents.map(({ name }) => name).sort(), 'one incident per hijacked name').toEqual(
    [...hijackedAt.keys()].sort(),
  );
  expect(
    incidents.map(({ changes }) => changes),
    'one change per incident',
  ).toEqual(incidents.map(() => 1));
  const events = await queryRows(
    `SELECT subject_id, count(*)::int FROM events WHERE kind = 'incident_opened' GROUP BY 1`,
  );
  expect(events).toHaveLength(HIJACKED_COUNT);
  expect(new Set(events.map(({ count }) => count))).toEqual(new Set([1]));
  const plans = await queryRows(
    `SELECT 1 FROM notifications WHERE subject_kind = 'incident' AND purpose = 'plan'`,
  );
  expect(plans).toHaveLength(HIJACKED_COUNT);
  // If a process was killed between the incident and the registry lookup, the lookup is due anyway.
  const unscheduled = await queryRows(`
    SELECT name FROM domains JOIN incidents USING (name)
    WHERE last_lookup_at IS NULL AND next_registry_lookup_at > '${now().toISOString()}'`);
  expect(unscheduled).toEqual([]);
  const delays = incidents.map(({ name, opened_at: at }) => Number(at) - (hijackedAt.get(String(name)) ?? 0));
  expect(Math.max(...delays)).toBeLessThan(5 * MINUTE_MS);
}, 240_000);
