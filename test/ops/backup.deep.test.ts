import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { type Actor, startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { type Bot, startBot } from '../../src/app/bot.ts';
import { readConfig } from '../../src/config/environment.ts';
import { createLog } from '../../src/lib/log.ts';
import { takeBackup } from '../../src/store/backup.ts';
import { restoreBackup } from '../../src/store/restore.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { link, textOf, until } from '../support/demo.ts';
import { countChargesFor, requestByCommand, requestsOf, type VisibleOrder } from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

/* After a restore, orders have the states of the backup. Requests sent since then must not be sent again. */

const MINUTE_MS = 60_000;

let service: SandboxService;
let workspace: Workspace;
let database: TestDatabase;
let admin: pg.Client;
let alice: Actor;
let bob: Actor;
let bot: Bot | undefined;
const credentialsKeys = `test:${randomBytes(32).toString('base64')}`;

beforeAll(async () => {
  service = await startSandboxService();
  workspace = await startWorkspace();
  database = await createTestDatabase();
  admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  alice = workspace.as('U0ALICE');
  bob = workspace.as('U0BOB');
  await startBotWithClockAhead(0);
  await link(workspace, alice);
});
afterEach(() => service.faults.clear());
afterAll(async () => {
  await bot?.stopBot();
  await workspace.close();
  await service.close();
  await admin.query(`DROP DATABASE IF EXISTS ${backupDatabase} WITH (FORCE)`);
  await admin.end();
  await database.drop();
});

const getDatabaseName = (url: string) => new URL(url).pathname.slice(1);
const backupDatabase = `backup_${randomBytes(6).toString('hex')}`;

async function startBotWithClockAhead(clockAheadMs: number): Promise<void> {
  const config = readConfig({
    SLACK_BOT_TOKEN: workspace.botToken,
    SLACK_SIGNING_SECRET: workspace.signingSecret,
    SLACK_API_URL: workspace.apiUrl,
    PORT: '0',
    SERVICE_JSON_URL: service.jsonUrl,
    CREDENTIALS_KEYS: credentialsKeys,
    DATABASE_URL: database.url,
    APPROVERS: 'U0BOB',
    ADMINS: 'U0ADA',
    RDAP_BOOTSTRAP_URL: service.rdapBootstrapUrl,
    WHOIS: 'off',
    // Nothing listens there: tests stay on this machine.
    DNS_SERVERS: '127.0.0.1:9',
  });
  bot = await startBot(config, {
    log: createLog('silent'),
    seams: { now: () => new Date(Date.now() + clockAheadMs) },
  });
  workspace.setRequestUrl(`http://127.0.0.1:${bot.port}/slack/events`);
}

async function stop(): Promise<void> {
  await bot?.stopBot();
  bot = undefined;
}

/** Replaces the database `to` with a copy of `from`, and closes all connections to both. */
async function copyDatabase(from: string, to: string): Promise<void> {
  await admin.query(`DROP DATABASE IF EXISTS ${to} WITH (FORCE)`);
  await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [from]);
  await admin.query(`CREATE DATABASE ${to} TEMPLATE ${from}`);
}

/** Whether an order was sent once and its retry is scheduled. */
async function isRetryScheduled(order: VisibleOrder): Promise<boolean> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const scheduledRetries = await client.query(
      `SELECT FROM orders o JOIN order_items i ON i.order_id = o.id
       WHERE o.id = $1 AND o.state = 'APPROVED' AND i.attempts = 1 AND i.not_before IS NOT NULL`,
      [order.id],
    );
    return scheduledRetries.rowCount === 1;
  } finally {
    await client.end();
  }
}

/** Creates an approved order that the service has rate-limited, so it is waiting to be sent. */
async function createUnsentOrder(name: string): Promise<VisibleOrder> {
  const order = await requestByCommand(workspace, alice, `/domain renew ${name}`);
  service.faults.set({ kind: 'status_429', retryAfter: 30, match: { task: 'domain.renew', name } });
  await bob.click(order.card, 'order_approve');
  await until('a retry is scheduled', () => isRetryScheduled(order));
  expect(requestsOf(service, order)).toHaveLength(1);
  return order;
}

test('a restored backup resends nothing, and its pending orders still work', async () => {
  const order = await createUnsentOrder('cafe.rest');
  const pendingOrder = await requestByCommand(workspace, alice, '/domain renew tapas.rest');
  await stop();
  await copyDatabase(getDatabaseName(database.url), backupDatabase);

  // The order is sent after the backup.
  service.faults.clear();
  await startBotWithClockAhead(MINUTE_MS);
  await order.waitForResult('SUCCEEDED', 15_000);
  expect(countChargesFor(service, 'cafe.rest')).toBe(1);
  await stop();

  await copyDatabase(backupDatabase, getDatabaseName(database.url));
  await startBotWithClockAhead(2 * MINUTE_MS);
  const reply = await order.waitForResult('UNKNOWN');
  expect(textOf(reply)).toContain('restored from a backup');
  await bob.click(pendingOrder.card, 'order_approve');
  await pendingOrder.waitForResult('SUCCEEDED');
  // This order was queued last, so all earlier ones have been processed.
  expect(countChargesFor(service, 'cafe.rest'), 'charges for the order in the backup').toBe(1);

  await giveReason(workspace, bob, reply, 'order_resolve_done', 'The service shows it');
  await order.waitForState('SUCCEEDED');
  await stop();
});

test('an approved order is sent after a short stop, but becomes unknown after a long one', async () => {
  await startBotWithClockAhead(2 * MINUTE_MS);
  const shortStopOrder = await createUnsentOrder('sushi.rest');
  await stop();
  service.faults.clear();
  await startBotWithClockAhead(12 * MINUTE_MS);
  await shortStopOrder.waitForResult('SUCCEEDED');
  expect(countChargesFor(service, 'sushi.rest')).toBe(1);

  const longStopOrder = await createUnsentOrder('olive.rest');
  await stop();
  service.faults.clear();
  await startBotWithClockAhead(40 * MINUTE_MS);
  expect(textOf(await longStopOrder.waitForResult('UNKNOWN'))).toContain('no bot was running');
  expect(countChargesFor(service, 'olive.rest')).toBe(0);
});

test('a backup taken under load is consistent, and nothing is sent again after its restore', async () => {
  await startBotWithClockAhead(40 * MINUTE_MS);
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-backup-'));
  const file = join(folder, 'backup.sql.gz');
  const unsentOrder = await createUnsentOrder('noodle.rest');
  // Orders are requested, approved and carried out during the backup.
  const names = Array.from(
    { length: 12 },
    (_, n) => service.state.addDomain({ name: `load${n}.rest`, context: 4 }).name,
  );
  const orders = names.map(async (name) => {
    const order = await requestByCommand(workspace, alice, `/domain renew ${name}`, undefined, name);
    await bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED', 20_000);
  });
  const [manifest] = await Promise.all([takeBackup(database.url, file), ...orders]);
  expect(manifest.orders.underWay).toBeGreaterThan(0);
  expect(manifest.keys).toEqual(['test']);
  const before = countCharges();
  service.faults.clear();
  await stop();

  const restored = await createTestDatabase('empty');
  const { ledgers } = await restoreBackup(restored.url, createReadStream(file), () => undefined);
  await expect(restoreBackup(restored.url, createReadStream(file), () => undefined)).rejects.toThrow(
    'is not empty',
  );
  expect(await findInconsistentRows(restored.url)).toEqual([]);
  const originalDatabase = database;
  database = restored;
  await startBotWithClockAhead(41 * MINUTE_MS);
  expect(textOf(await unsentOrder.waitForResult('UNKNOWN'))).toContain('restored from a backup');
  const { rows } = await withClient((client) =>
    client.query("SELECT id FROM orders WHERE state IN ('APPROVED', 'EXECUTING')"),
  );
  expect(rows, 'orders that could be sent again').toEqual([]);
  const [{ data: restoreEventData }] = (
    await withClient((client) => client.query("SELECT data FROM events WHERE kind = 'database_restored'"))
  ).rows;
  expect(restoreEventData).toEqual({
    takenAt: manifest.takenAt.toISOString(),
    seal: ledgers[0]?.newestSealNumber,
  });
  await workspace.waitFor(
    () => workspace.messages('D0ADA').find((message) => textOf(message).includes('continues after seal')),
    { what: 'notifications to admins' },
  );
  expect(countCharges(), 'charges since the restore').toEqual(before);
  // New events follow the old ones, and orders requested before the backup can be approved.
  await requestByCommand(workspace, alice, '/domain renew bistro.rest');
  await stop();
  await originalDatabase.drop();
  await rm(folder, { recursive: true });
});

test('a truncated or changed backup is refused, and nothing is restored', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-backup-'));
  const file = join(folder, 'backup.sql.gz');
  await takeBackup(database.url, file);
  const bytes = await readFile(file);
  const text = gunzipSync(bytes).toString('latin1');
  const damagedBackups: Record<string, Buffer> = {
    'the second half is missing': bytes.subarray(0, Math.floor(bytes.length / 2)),
    'one letter is changed': gzipSync(Buffer.from(text.replace('U0ALICE', 'U0ALICF'), 'latin1')),
    'a row is missing': gzipSync(
      Buffer.from(text.replace(/(COPY public\."events"[^\n]*\n)[^\n]*\n/, '$1'), 'latin1'),
    ),
    'the end is missing': gzipSync(Buffer.from(text.slice(0, text.indexOf('-- end of backup')), 'latin1')),
  };
  for (const [damage, content] of Object.entries(damagedBackups)) {
    const empty = await createTestDatabase('empty');
    const restoring = restoreBackup(empty.url, Readable.from([content]), () => undefined);
    await expect(restoring, damage).rejects.toThrow('truncated or was changed');
    const client = new pg.Client(empty.url);
    await client.connect();
    expect((await client.query('SELECT FROM orders UNION ALL SELECT FROM events')).rowCount, damage).toBe(0);
    await client.end();
    await empty.drop();
  }
  await rm(folder, { recursive: true });
});

async function withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Finds orders without items, and successful orders without an event about their success. */
async function findInconsistentRows(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT o.id, o.state FROM orders o WHERE (SELECT count(*) FROM order_items i WHERE i.order_id = o.id) = 0
       OR (o.state = 'SUCCEEDED' AND NOT EXISTS (SELECT FROM events e WHERE e.subject_id = o.id AND e.data::text LIKE '%SUCCEEDED%'))`,
  );
  await client.end();
  return rows;
}

/** Counts paid requests to the service. */
function countCharges(): number {
  return service.requests.filter(({ task }) => task === 'domain.renew').length;
}
