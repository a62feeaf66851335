import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import PgBoss from 'pg-boss';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/*
 * A database that a release with a job queue has used: what its jobs stood for is due by the rows.
 */

const MIGRATION = '20261122064529_due_orders';
const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));
const QUEUES = [
  'order.execute',
  'order.show',
  'order.expire',
  'order.nudge',
  'expiry.follow',
  'expiry.refresh',
  'expiry.digest',
];
const NOW = new Date();
const ago = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000);

let database: TestDatabase;
let admin: pg.Client;
let boss: PgBoss;

beforeEach(async () => {
  database = await createTestDatabase('empty');
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  const former = await mkdtemp(join(tmpdir(), 'domain-steward-former-'));
  for (const name of await readdir(MIGRATIONS))
    if (name < MIGRATION) await cp(join(MIGRATIONS, name), join(former, name), { recursive: true });
  await migrate({ url: database.url, folder: former });
  await rm(former, { recursive: true });
  boss = new PgBoss({ connectionString: database.url, max: 2 });
  boss.on('error', () => undefined);
  await boss.start();
  for (const name of QUEUES) await boss.createQueue(name, { name, policy: 'standard', retryLimit: 0 });
  await boss.schedule('expiry.digest', '* * * * *');
});
afterEach(async () => {
  await boss.stop({ graceful: false, close: true, wait: false });
  await admin.end();
  await database.drop();
});

/** A row as the former release wrote it, with the job that stood for what it waits for. */
async function keep(
  id: string,
  state: string,
  order: { readonly task?: string; readonly updatedAt?: Date; readonly [column: string]: unknown },
  item: { readonly state: string; readonly [column: string]: unknown },
  job: { readonly queue: string; readonly startAfter?: Date },
): Promise<void> {
  const { task = 'renew', updatedAt = ago(1), ...columns } = order;
  const row = {
    id,
    task,
    state,
    version: 3,
    requester_id: 'U0ALICE',
    account_id: 'a',
    account_login: 'alice',
    account_method: 'password',
    names: [`${id}.rest`],
    input: '{}',
    has_secret_input: false,
    channel_id: 'C0DOMAINS',
    approvals_required: 1,
    delivery_id: id,
    created_at: ago(48),
    updated_at: updatedAt,
    shown_version: 3,
    ...columns,
  };
  await insert('orders', row);
  await insert('order_items', {
    order_id: id,
    n: 1,
    name: `${id}.rest`,
    client_tid: id,
    attempts: 1,
    ...item,
  });
  await boss.send(job.queue, { orderId: id }, { ...(job.startAfter && { startAfter: job.startAfter }) });
}

async function insert(table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const columns = Object.keys(row);
  await admin.query(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((_column, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
}

async function keepAll(): Promise<void> {
  const waiting = { state: 'WAITING' };
  const times = { remind_at: ago(1), expires_at: ago(-20) };
  await keep('to-nudge', 'PENDING', times, waiting, { queue: 'order.nudge' });
  await keep('to-expire', 'PENDING', { expires_at: ago(2) }, waiting, { queue: 'order.expire' });
  await keep('waits', 'PENDING', { expires_at: ago(-20) }, waiting, {
    queue: 'order.expire',
    startAfter: ago(-20),
  });
  await keep('to-execute', 'APPROVED', {}, waiting, { queue: 'order.execute' });
  const busy = { ...waiting, not_before: ago(-0.1) };
  await keep('busy', 'APPROVED', {}, busy, { queue: 'order.execute', startAfter: ago(-0.1) });
  const worker = { worker_id: 'dead', lease_until: ago(1) };
  await keep('abandoned', 'EXECUTING', worker, { state: 'SENT', sent_at: ago(1) }, { queue: 'order.show' });
  const unknown = { state: 'UNKNOWN', sent_at: ago(1) };
  await keep('unknown', 'UNKNOWN', {}, unknown, { queue: 'expiry.refresh' });
  const done = { state: 'SUCCEEDED', answered_at: ago(1), result: { summary: 'Done.' } };
  await keep('to-follow', 'SUCCEEDED', {}, done, { queue: 'expiry.follow' });
  await keep('followed', 'SUCCEEDED', {}, { ...done, followed_at: ago(1) }, { queue: 'order.expire' });
  await keep('not-shown', 'DENIED', { shown_version: 2 }, waiting, {
    queue: 'order.show',
    startAfter: ago(-0.05),
  });
  await keep('confirmed', 'SUCCEEDED', { task: 'owner-change' }, done, { queue: 'expiry.refresh' });
  await insert('order_events', {
    order_id: 'confirmed',
    version: 3,
    at: ago(1),
    actor: 'evidence',
    kind: 'shown',
    state: 'SUCCEEDED',
    detail: { n: 1, name: 'confirmed.rest' },
  });
  await keep('long-ago', 'SUCCEEDED', { updatedAt: ago(24 * 90) }, done, { queue: 'order.show' });
}

const schemas = async () =>
  (await admin.query("SELECT nspname FROM pg_namespace WHERE nspname = 'pgboss'")).rows.length;

test('every job that waits is due by its order’s row, and the queue is gone', async () => {
  await keepAll();
  await migrate({ url: database.url });
  expect(await schemas()).toBe(0);

  const db = openDatabase({ url: database.url });
  try {
    const store = createOrderStore(db);
    const inAWhile = new Date(NOW.getTime() + 1_000);
    const deadlines = await store.claimDue('deadlines', inAWhile, 60_000, 100);
    expect(deadlines.toSorted()).toEqual(['abandoned', 'to-expire', 'to-nudge']);
    expect(await store.claimDue('execution', inAWhile, 60_000, 100)).toEqual(['to-execute']);
    const observation = await store.claimDue('observation', inAWhile, 60_000, 100);
    expect(observation.toSorted()).toEqual(['confirmed', 'followed', 'to-follow', 'unknown']);
    expect(await store.claimTelling(inAWhile, 60_000, 100)).toEqual(['not-shown']);
    const later = ago(-21);
    expect(await store.claimDue('deadlines', later, 60_000, 100), 'when its time has come').toEqual([
      'waits',
    ]);
    expect(await store.claimDue('execution', later, 60_000, 100), 'when it has waited').toEqual(['busy']);
    expect((await store.load('confirmed'))?.items[0]?.result?.confirmedByRegistry).toBe(true);
    expect((await store.load('unknown'))?.items[0]?.result).toBeUndefined();
  } finally {
    await db.close();
  }
});

test('another program’s queues in the same schema stay, with their jobs', async () => {
  await boss.createQueue('invoices');
  await boss.send('invoices', { n: 1 });
  await boss.send('order.show', { orderId: 'x' });
  await migrate({ url: database.url });
  const { rows } = await admin.query<{ name: string }>(
    "SELECT name FROM pgboss.job WHERE name NOT LIKE '\\_\\_pgboss%'",
  );
  expect(rows.map(({ name }) => name)).toEqual(['invoices']);
  expect((await admin.query('SELECT name FROM pgboss.schedule')).rows).toEqual([]);
});

test('a database that never had the queue is migrated as well', async () => {
  await boss.stop({ graceful: false, close: true, wait: true });
  await admin.query('DROP SCHEMA pgboss CASCADE');
  await migrate({ url: database.url });
  expect(await schemas()).toBe(0);
});
