import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { listCandidateRanges } from '../../src/expiry/candidates.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { WatchedDomain, WatchListChange } from '../../src/expiry/ports.ts';
import type { Subject } from '../../src/outbox/notifications.ts';
import { createAccountStore } from '../../src/store/accounts.ts';
import { createBudgetStore } from '../../src/store/budgets.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createEventLog } from '../../src/store/events.ts';
import { createIncidentStore } from '../../src/store/incidents.ts';
import { createMandateStore } from '../../src/store/mandates.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { createReminderStore } from '../../src/store/reminders.ts';
import { newRequirements } from '../orders/sample.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { newOrderEvent } from '../support/log.ts';
import { createTestWatchList } from '../support/unprotected.ts';
import { newOrder } from './order-rig.ts';

/*
 * The database holds years of a team's work: 100,000 orders, nearly all of them closed. Each test records
 * the statements of a hot path, and checks that no plan scans a big table.
 */

const ORDER_COUNT = 100_000;
const NOW = new Date('2027-06-15T09:00:00Z');
const HOUR_MS = 3_600_000;
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * HOUR_MS);
let testDatabase: TestDatabase;
let admin: pg.Client;
let database: Database;
let recordedStatements: Statement[] = [];
/** Tables too large to be scanned. */
let bigTables: ReadonlySet<string>;

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = new pg.Client({ connectionString: testDatabase.url });
  await admin.connect();
  await fillDatabase();
  database = openDatabase({ url: testDatabase.url });
  recordStatements();
}, 60_000);

afterAll(async () => {
  vi.restoreAllMocks();
  await database?.close();
  await admin?.end();
  await testDatabase?.drop();
});

async function fillDatabase(): Promise<void> {
  const states = `CASE WHEN n % 1000 = 0 THEN 'PENDING' WHEN n % 5000 = 1 THEN 'APPROVED' WHEN n % 5000 = 2 THEN 'EXECUTING'
    WHEN n % 5000 = 3 THEN 'UNKNOWN' WHEN n % 5000 = 4 THEN 'DRAFT' WHEN n % 20 = 5 THEN 'DENIED' ELSE 'SUCCEEDED' END`;
  // One order is created every ten minutes, and the last one now.
  const created = `$1::timestamptz - interval '10 minutes' * (${ORDER_COUNT} - n)`;
  await admin.query(
    `INSERT INTO orders (id, task, state, version, requester_id, account_id, account_login, account_method, context, names,
       input, statement_hash, channel_id, approvals_required, policy_version, requirements, delivery_id, expires_at, remind_at, worker_id, lease_until,
       created_at, updated_at, closed_at, due_at)
     SELECT 'order-' || n, CASE n % 3 WHEN 0 THEN 'renew' WHEN 1 THEN 'nameservers' ELSE 'create' END, state, 5,
       'U0PERSON' || n % 300, 'account-' || n % 300, 'login', 'password', 4, ARRAY['name' || n % 40000 || '.rest'],
       '{"period": 1}', '', 'C0DOMAINS', 1, 0, $2::jsonb, 'delivery-' || n,
       CASE WHEN state IN ('PENDING', 'DRAFT') THEN at + interval '1 day' END,
       CASE WHEN state = 'PENDING' THEN at + interval '1 hour' END,
       CASE WHEN state = 'EXECUTING' THEN 'worker' END, CASE WHEN state = 'EXECUTING' THEN $1::timestamptz END,
       at, at, CASE WHEN state IN ('SUCCEEDED', 'DENIED') THEN at END,
       CASE WHEN state IN ('PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN') THEN at + interval '1 hour' END
     FROM (SELECT n, ${states} AS state, ${created} AS at FROM generate_series(1, ${ORDER_COUNT}) n) each`,
    [NOW, JSON.stringify(newRequirements([]))],
  );
  await admin.query(
    `INSERT INTO order_items (order_id, n, name, client_tid, state, open_key, attempts, followed_at)
     SELECT id, 1, names[1], id, CASE state WHEN 'SUCCEEDED' THEN 'SUCCEEDED' WHEN 'EXECUTING' THEN 'SENT' WHEN 'UNKNOWN'
       THEN 'UNKNOWN' WHEN 'DENIED' THEN 'FAILED' ELSE 'WAITING' END,
       CASE WHEN state IN ('PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN') THEN 'renew:open-' || id END, 1,
       CASE WHEN state = 'SUCCEEDED' AND task <> 'nameservers' THEN updated_at END FROM orders`,
  );
  await admin.query(
    `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
     SELECT 'order', id, CASE v WHEN 1 THEN 'reminded' ELSE 'cancelled' END, 'system', updated_at,
       jsonb_build_object('version', v, 'state', state)
     FROM orders, generate_series(1, 2) v ORDER BY updated_at, v`,
  );
  await admin.query(
    `INSERT INTO notifications (team_id, subject_kind, subject_id, purpose, version, shows, due_at, channel_id, ts, posted_at)
     SELECT team_id, 'order', id, purpose, 5, '5',
       CASE WHEN purpose = 'plan' AND right(id, 4) = '0007' THEN updated_at END, channel_id, '1700000000.000100', updated_at
     FROM orders, unnest(ARRAY['plan', 'card', 'reply:5:answered']) purpose WHERE state <> 'DRAFT'`,
  );
  await admin.query(
    `INSERT INTO approvals (order_id, user_id, at) SELECT id, 'U0BOB', updated_at FROM orders WHERE task = 'renew' AND state <> 'DRAFT'`,
  );
  await admin.query(
    `INSERT INTO revealable_secrets (order_id, n, expires_at, revealed_at)
     SELECT id, 1, updated_at + interval '1 hour', updated_at FROM orders WHERE task = 'create' AND state <> 'DRAFT'`,
  );
  await admin.query(
    `INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, reminded_threshold, renewed_at)
     SELECT 'name' || n || '.rest', $1::timestamptz + interval '1 day' * (n % 365), 'rdap', 'U0ALICE', $1,
       $1::timestamptz + interval '1 second' * (n - 20), $1::timestamptz + interval '1 second' * (n - 20), CASE WHEN n % 365 < 60 THEN n % 365 ELSE 2147483647 END,
       CASE WHEN n % 50 = 0 THEN $1::timestamptz - interval '1 hour' * (n % 5000) END
     FROM generate_series(1, 100000) n`,
    [NOW],
  );
  await admin.query(
    `INSERT INTO reminders (name, expires_at, threshold, digest_id, claimed_at)
     SELECT name, date_trunc('day', expires_at), reminded_threshold, 'digest-' || reminded_threshold, $1 FROM domains
     WHERE reminded_threshold <= 60`,
    [NOW],
  );
  await admin.query(
    `INSERT INTO prices (id, team_id, zone, task, period, amount_minor, currency, valid_from, source, updated_by, updated_at)
     SELECT 'price-' || n, 'T0STEWARD', 'zone' || n / 4, (ARRAY['create', 'transfer', 'renew', 'restore'])[1 + n % 4], 1,
       1000 + n, 'EUR', '2026-01-01', 'Contract 7', 'U0ALICE', $1 FROM generate_series(1, 20000) n`,
    [NOW],
  );
  await admin.query(
    `INSERT INTO budget_reservations (order_id, n, team_id, day, amount_minor, currency, tags)
     SELECT id, 1, 'T0STEWARD', created_at::date, 1000, 'EUR', ARRAY['brand'] FROM orders WHERE task = 'renew' AND state <> 'DRAFT'`,
  );
  await admin.query(
    `INSERT INTO budgets (id, team_id, tag, span, amount_minor, currency, updated_by, updated_at)
     VALUES ('budget-1', 'T0STEWARD', '', 'month', 1000000, 'EUR', 'U0ALICE', $1)`,
    [NOW],
  );
  // The mandate created a tenth of the orders, and holds the renewal of every third name.
  await admin.query(
    `UPDATE orders SET mandate_id = 'order-7' WHERE task = 'renew' AND state <> 'DRAFT' AND right(id, 1) IN ('1', '4', '7')`,
  );
  await admin.query(
    `INSERT INTO mandate_acts (id, team_id, name, expires_at, mandate_id, at, day, amount_minor, currency, held, order_id, ask_at, announced_at)
     SELECT 'act-' || n, 'T0STEWARD', 'name' || n || '.rest', $1::timestamptz + interval '1 day' * (n % 365), 'order-7',
       $1::timestamptz - interval '1 hour' * (n / 10), ($1::timestamptz - interval '1 hour' * (n / 10))::date, 1800, 'EUR',
       CASE WHEN n % 3 = 0 THEN 'price_above' END, CASE WHEN n % 3 <> 0 THEN 'order-' || n END, CASE WHEN n % 20000 = 0 THEN $1::timestamptz END,
       CASE WHEN n % 3 <> 0 THEN $1::timestamptz END
     FROM generate_series(1, 60000) n`,
    [NOW],
  );
  await admin.query(
    `INSERT INTO incidents (id, team_id, name, state, opened_at, changes)
     SELECT 'incident-' || n, 'T0STEWARD', 'name' || n || '.rest', CASE WHEN n % 1000 = 0 THEN 'open' ELSE 'over' END,
       $1::timestamptz - interval '1 hour' * n, '[]' FROM generate_series(1, 20000) n`,
    [NOW],
  );
  await admin.query('VACUUM ANALYZE');
  const { rows } = await admin.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND reltuples > 10000",
  );
  bigTables = new Set(rows.map(({ name }) => name));
}

function recordStatements(): void {
  const originalQuery = pg.Client.prototype.query;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [query, values] = args;
    const text = typeof query === 'string' ? query : readField(query, 'text');
    const statementValues = typeof query === 'string' ? values : readField(query, 'values');
    if (this !== admin && typeof text === 'string')
      recordedStatements.push({ text, values: Array.isArray(statementValues) ? statementValues : [] });
    return Reflect.apply(originalQuery, this, args);
  });
}

function readField(query: unknown, field: 'text' | 'values'): unknown {
  return typeof query === 'object' && query !== null && field in query
    ? Reflect.get(query, field)
    : undefined;
}

const PLANNED_STATEMENT = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;

async function runExplain(explain: string, values?: unknown[]): Promise<string[]> {
  const { rows } = await admin.query<{ 'QUERY PLAN': string }>(explain, values);
  return rows.map((row) => row['QUERY PLAN']);
}

/** The cost of planning a statement again, rounded up, in the units of plans. */
const PLANNING_COST = 100;

function parseCost([firstLine = '']: readonly string[]): number {
  return Number(/cost=[\d.]+\.\.([\d.]+)/.exec(firstLine)?.[1]);
}

/** Counts the planned statements of an action, and lists those with a plan that scans a big table. */
async function findFullScans(
  action: () => Promise<unknown>,
): Promise<{ statements: number; scans: string[] }> {
  recordedStatements = [];
  await action();
  const statements = recordedStatements.filter(({ text }) => PLANNED_STATEMENT.test(text));
  const scans: string[] = [];
  for (const { text, values } of statements) {
    const customPlan = await runExplain(`EXPLAIN ${text}`, values);
    const genericPlan = await runExplain(`EXPLAIN (GENERIC_PLAN) ${text}`);
    // The server keeps a generic plan if it costs hardly more than a custom one.
    const usedPlans =
      parseCost(genericPlan) < parseCost(customPlan) + PLANNING_COST
        ? [customPlan, genericPlan]
        : [customPlan];
    for (const plan of usedPlans) {
      const scanLines = plan.filter((line) => {
        const table = /Seq Scan on (\w+)/.exec(line)?.[1];
        return table !== undefined && bigTables.has(table);
      });
      if (scanLines.length > 0) scans.push(`${text.replace(/\s+/g, ' ').trim()}\n${plan.join('\n')}`);
    }
  }
  return { statements: statements.length, scans };
}

const readAll = async (rows: AsyncIterable<unknown>) => {
  for await (const _ of rows);
};

const orderStore = () => createOrderStore(database, BOT_SIGNER);
const PENDING_ORDER_ID = `order-${ORDER_COUNT / 2}`;

async function approve(): Promise<void> {
  const before = await orderStore().load(PENDING_ORDER_ID, 'system');
  if (before === undefined) throw new Error('missing order');
  const after = { ...before, state: 'APPROVED', version: before.version + 1 } as const;
  const log = [
    { ...newOrderEvent('approved', 'APPROVED'), version: after.version, at: NOW, actor: 'U0BOB' },
  ] as const;
  const committed = await orderStore().commit({ before, after, log, guard: undefined });
  expect(committed).toEqual({ ok: true });
}

/** Changes the expiry date of a watched name that has no reminders. */
async function changeExpiryDate(): Promise<void> {
  const store = createTestWatchList(database);
  const before = await store.find('name78.rest');
  if (before === undefined) throw new Error('missing name');
  const at = new Date(NOW.getTime() + 1_000 * 24 * HOUR_MS);
  expect(await store.change(before, { ...before, expiry: { at, source: 'rdap' } })).toBe(true);
}

/** Updates the watch list after a renewal. */
async function updateAfterRenewal(): Promise<void> {
  const buildRenewal = (known: WatchedDomain | undefined): WatchListChange => {
    if (known === undefined) throw new Error('missing name');
    const expiry = { at: new Date(NOW.getTime() + 1_000 * 24 * HOUR_MS), source: 'order' } as const;
    const done = { task: 'renew', years: 1, sentAt: NOW, doneAt: NOW } as const;
    return {
      updatedDomain: { ...known, expiry },
      observation: { origin: 'order', at: NOW, orderId: 'order-79', done },
    };
  };
  expect(await createTestWatchList(database).updateAfterOrder('order-79', 1, NOW, buildRenewal)).toBe(true);
}

const mandateStore = () => createMandateStore(database, 'T0STEWARD', BOT_SIGNER);
const incidentStore = () => createIncidentStore(database, 'T0STEWARD');
const notificationStore = () => createNotificationStore(database, '');
const orderSubject = (id: string): Subject => ({ kind: 'order', id });

const HOT_PATHS: Readonly<Record<string, () => Promise<unknown>>> = {
  'creating an order': () => orderStore().create({ order: newOrder({ id: 'new-1' }), log: [] }),
  'creating a duplicate order': () =>
    orderStore().create({ order: newOrder({ id: 'new-2', deliveryId: 'delivery-7' }), log: [] }),
  'creating an order for a name with an open order': () =>
    orderStore().create({ order: newOrder({ id: 'new-3' }, [`open-${PENDING_ORDER_ID}`]), log: [] }),
  'approving an order': approve,
  'extending a lease': () => orderStore().extendLease(`order-${ORDER_COUNT / 2 + 2}`, 'worker', 20_000),
  'loading the sealed input of an order': () => orderStore().loadSealedInput(PENDING_ORDER_ID),
  'loading the history of an order': () => orderStore().loadHistory(PENDING_ORDER_ID, 'system'),
  'claiming the messages of an order': () =>
    notificationStore().claim(orderSubject(PENDING_ORDER_ID), NOW, 12_000),
  'loading an order with its history': () => orderStore().loadWithHistory(PENDING_ORDER_ID, 'system'),
  'releasing the messages of an order': async () => {
    const claim = await notificationStore().loadSubject(orderSubject(PENDING_ORDER_ID));
    if (claim !== undefined)
      await notificationStore().release(claim, {
        updatedMessages: [{ purpose: 'card', shownVersion: '6' }],
        repeatAt: undefined,
        isComplete: true,
      });
  },
  'adopting a message': () =>
    notificationStore().adoptMessage(
      orderSubject(PENDING_ORDER_ID),
      { channelId: 'C0DOMAINS', ts: '1.3' },
      ['card:1.3'],
      NOW,
    ),
  'recording a posted message': () =>
    notificationStore().recordPosted(orderSubject(PENDING_ORDER_ID), {
      purpose: 'reply:9:denied',
      channelId: 'C0DOMAINS',
      ts: '1.2',
      shownVersion: 'once',
    }),
  'claiming orders with a due deadline': () => orderStore().claimDue('deadlines', NOW, 20_000, 4),
  'claiming orders to execute': () => orderStore().claimDue('execution', NOW, 20_000, 48),
  'claiming orders to search for evidence': () => orderStore().claimDue('observation', NOW, 600_000, 4),
  'claiming due notifications': () => notificationStore().claimDueSubjects(NOW, 12_000, 8),
  'claiming due refreshes': () => notificationStore().claimDueSubjects(NOW, 12_000, 4, true),
  'postponing an order': () => orderStore().postpone(PENDING_ORDER_ID),
  'releasing an order to other processes': () => orderStore().releaseToOthers(PENDING_ORDER_ID),
  'rescheduling an order': () => orderStore().reschedule({ id: PENDING_ORDER_ID, version: 5 }, NOW),
  'queueing a message update': () => orderStore().queueMessageUpdate(PENDING_ORDER_ID, NOW),
  'purging expired data': () => orderStore().purgeExpired(NOW),
  'listing orders in progress': () => orderStore().listInProgressIds(),
  'listing unfinished orders': () => orderStore().listUnfinishedIds(['account-7', 'account-8'], 'U0PERSON7'),
  'deleting private data of a person': () => orderStore().deletePrivateData('U0PERSON7'),
  'taking a revealable secret': () => orderStore().takeRevealableSecret(PENDING_ORDER_ID, 1, NOW),
  'listing the latest orders': () => orderStore().list({ viewer: 'system', limit: 20 }),
  'listing a person’s orders': () =>
    orderStore().list({ viewer: 'system', requesterId: 'U0PERSON7', limit: 20 }),
  'listing open orders of a person': () =>
    orderStore().list({
      viewer: 'system',
      requesterId: 'U0PERSON7',
      states: ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'],
      limit: 20,
    }),
  'listing orders of a person without orders': () =>
    orderStore().list({ viewer: 'system', requesterId: 'U0NOBODY', limit: 20 }),
  'listing pending orders': () => orderStore().list({ viewer: 'system', states: ['PENDING'], limit: 20 }),
  'listing orders with an unknown outcome': () =>
    orderStore().list({ viewer: 'system', states: ['UNKNOWN'], limit: 20 }),
  'listing orders for a name': () => orderStore().list({ viewer: 'system', name: 'name77.rest', limit: 20 }),
  'finding the order that prefills a form': () => orderStore().findLatest('create', 'U0PERSON8', 4),
  'reading the audit log of a day': () => readAll(createEventLog(database, '').read(hoursAgo(24), NOW)),
  'listing prices of zones': () => createPriceStore(database, 'T0STEWARD').listForZones(['zone7', 'zone8']),
  'listing budget statuses': () => createBudgetStore(database, 'T0STEWARD').listStatuses('2027-06-15'),
  'listing accounts of a person': () => createAccountStore(database).list('T0STEWARD', 'U0PERSON7'),
  'updating the watch list after an order': updateAfterRenewal,
  'adding a name to the watch list': () =>
    createTestWatchList(database).add({
      ...createWatchedDomain('new.rest', 'U0BOB', NOW),
      expiry: { at: NOW, source: 'person' },
    }),
  'claiming due lookups': () => createNameRecordStore(database, '').claimDue(NOW, 60_000, 50),
  'loading the record of a name': () => createNameRecordStore(database, '').find('name77.rest'),
  'loading a watched name': () => createTestWatchList(database).find('name77.rest'),
  'listing a page of expiring names': () =>
    createTestWatchList(database).listPage(
      { from: NOW, until: hoursAgo(-30 * 24), deletedFrom: hoursAgo(35 * 24) },
      0,
      20,
    ),
  'counting expiring names': () =>
    createTestWatchList(database).count({
      from: NOW,
      until: hoursAgo(-30 * 24),
      deletedFrom: hoursAgo(35 * 24),
    }),
  'listing unconfirmed renewals': () =>
    createReminderStore(database, 'T0STEWARD').listUnconfirmedRenewals(hoursAgo(3 * 24), NOW, 20),
  'streaming candidates for reminders': () =>
    readAll(
      createReminderStore(database, 'T0STEWARD').streamCandidates(
        listCandidateRanges({ now: NOW, thresholds: [60, 30, 14, 7, 3, 1], timeZone: 'UTC' }),
      ),
    ),
  'changing an expiry date': changeExpiryDate,
  'importing expiry dates': () =>
    createTestWatchList(database).importBatch([{ name: 'name77.rest', expiresAt: NOW }], 'U0BOB', NOW),
  'listing names that are due for mandates': () =>
    mandateStore().listDueNames(hoursAgo(45 * 24), hoursAgo(-30 * 24), undefined, 200),
  'listing the next page of names that are due for mandates': () =>
    mandateStore().listDueNames(
      hoursAgo(45 * 24),
      hoursAgo(-30 * 24),
      { name: 'name77.rest', expiresAt: hoursAgo(-20 * 24) },
      200,
    ),
  'loading the acts of mandates for names': () => mandateStore().findMany(['name77.rest', 'name78.rest']),
  'loading the used amounts of a mandate': () => mandateStore().loadUsedAmounts('order-7'),
  'loading the spending of a mandate': () =>
    mandateStore().loadSpending('order-7', '2027-06-01', '2027-07-01'),
  'listing recent acts of a mandate': () => mandateStore().listActs('order-7', hoursAgo(30 * 24)),
  'finding the latest account of a name': () => mandateStore().findLatestAccountId('name77.rest'),
  'saving a held act of a mandate': () =>
    mandateStore().saveHold(
      {
        ...{ name: 'name77.rest', expiresAt: hoursAgo(-1_000 * 24), mandateId: 'order-7', at: NOW },
        amount: undefined,
      },
      'price_unknown',
    ),
  'holding an order of a mandate': () => mandateStore().holdOrder('order-8', 'price_above', NOW),
  'listing names that are due for a regular order': () => mandateStore().listDueForRegularOrder(NOW, 500),
  'counting delayed orders': () => mandateStore().countDelayedOrders(),
  'finding the act of an order': () => mandateStore().findByOrder('order-8'),
  'listing the acts of a day': () => mandateStore().listActsOfDay('2027-06-15'),
  'recording announced acts': () =>
    mandateStore().recordAnnouncement(['act-7', 'act-8'], NOW, { channelId: 'C0EXPIRY', ts: '1.1' }),
  'requesting an update of a mandate message': () => mandateStore().requestMessageUpdate('order-8', NOW),
  'listing orders in progress of a mandate': () => mandateStore().listInProgressOrderIds('order-7'),
  'listing incidents of a name': () => incidentStore().listForName('name77.rest', 10),
  'listing open incidents': () => incidentStore().listAllOpen(100),
  'streaming deleted candidates for reminders': () =>
    readAll(createReminderStore(database, 'T0STEWARD').streamDeletedCandidates(hoursAgo(80 * 24))),
  'listing reminder keys of a digest': () =>
    createReminderStore(database, 'T0STEWARD').listReminderKeys('digest-7', ''),
  'listing planned reminders': () =>
    createReminderStore(database, 'T0STEWARD').listPlannedReminders('digest-7', ':1'),
  'releasing unsent reminders of a digest': () =>
    createReminderStore(database, 'T0STEWARD').releaseClaims('digest-7'),
};

test.each(Object.entries(HOT_PATHS))('%s scans no big table', async (_what, run) => {
  const { statements, scans } = await findFullScans(run);
  expect(statements, 'the number of planned statements').toBeGreaterThan(0);
  expect(scans, 'statements that scan a big table').toEqual([]);
});
