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
import { orderEvent } from '../support/log.ts';
import { arrangedList } from '../support/unprotected.ts';
import { newOrder } from './order-rig.ts';

/*
 * A team's years: 100,000 orders, nearly all of them closed. Every statement of a hot path is recorded,
 * and its plan must not scan a big table.
 */

const ORDERS = 100_000;
const NOW = new Date('2027-06-15T09:00:00Z');
const HOUR_MS = 3_600_000;
const ago = (hours: number) => new Date(NOW.getTime() - hours * HOUR_MS);
let testDatabase: TestDatabase;
let admin: pg.Client;
let database: Database;
let sent: Statement[] = [];
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
  await fill();
  database = openDatabase({ url: testDatabase.url });
  recordStatements();
}, 60_000);

afterAll(async () => {
  vi.restoreAllMocks();
  await database?.close();
  await admin?.end();
  await testDatabase?.drop();
});

async function fill(): Promise<void> {
  const states = `CASE WHEN n % 1000 = 0 THEN 'PENDING' WHEN n % 5000 = 1 THEN 'APPROVED' WHEN n % 5000 = 2 THEN 'EXECUTING'
    WHEN n % 5000 = 3 THEN 'UNKNOWN' WHEN n % 5000 = 4 THEN 'DRAFT' WHEN n % 20 = 5 THEN 'DENIED' ELSE 'SUCCEEDED' END`;
  // One about every ten minutes, the last one now.
  const created = `$1::timestamptz - interval '10 minutes' * (${ORDERS} - n)`;
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
     FROM (SELECT n, ${states} AS state, ${created} AS at FROM generate_series(1, ${ORDERS}) n) each`,
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
  // A mandate that has created a tenth of the orders; for every third name it has a reason not to act.
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

/** Records statements from now on. */
function recordStatements(): void {
  const send = pg.Client.prototype.query;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [query, values] = args;
    const text = typeof query === 'string' ? query : readField(query, 'text');
    const given = typeof query === 'string' ? values : readField(query, 'values');
    if (this !== admin && typeof text === 'string')
      sent.push({ text, values: Array.isArray(given) ? given : [] });
    return Reflect.apply(send, this, args);
  });
}

function readField(query: unknown, field: 'text' | 'values'): unknown {
  return typeof query === 'object' && query !== null && field in query
    ? Reflect.get(query, field)
    : undefined;
}

const PLANNED = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;

async function planOf(explain: string, values?: unknown[]): Promise<string[]> {
  const { rows } = await admin.query<{ 'QUERY PLAN': string }>(explain, values);
  return rows.map((row) => row['QUERY PLAN']);
}

/** The server's cost of planning again, in the unit of plans, rounded up. */
const PLANNING_COST = 100;

function calculateCost([first = '']: readonly string[]): number {
  return Number(/cost=[\d.]+\.\.([\d.]+)/.exec(first)?.[1]);
}

/** Every plan node that scans a big table, with its statement. */
async function findFullScans(what: () => Promise<unknown>): Promise<{ statements: number; scans: string[] }> {
  sent = [];
  await what();
  const statements = sent.filter(({ text }) => PLANNED.test(text));
  const scans: string[] = [];
  for (const { text, values } of statements) {
    const own = await planOf(`EXPLAIN ${text}`, values);
    const general = await planOf(`EXPLAIN (GENERIC_PLAN) ${text}`);
    // The server keeps a generic plan if it costs hardly more than a custom one.
    const usedPlans = calculateCost(general) < calculateCost(own) + PLANNING_COST ? [own, general] : [own];
    for (const plan of usedPlans) {
      const found = plan.filter((line) => {
        const table = /Seq Scan on (\w+)/.exec(line)?.[1];
        return table !== undefined && bigTables.has(table);
      });
      if (found.length > 0) scans.push(`${text.replace(/\s+/g, ' ').trim()}\n${plan.join('\n')}`);
    }
  }
  return { statements: statements.length, scans };
}

const drain = async (rows: AsyncIterable<unknown>) => {
  for await (const _ of rows);
};

const orders = () => createOrderStore(database, BOT_SIGNER);
const PENDING = `order-${ORDERS / 2}`;

async function approve(): Promise<void> {
  const before = await orders().load(PENDING, 'system');
  if (before === undefined) throw new Error('missing order');
  const after = { ...before, state: 'APPROVED', version: before.version + 1 } as const;
  const log = [
    { ...orderEvent('approved', 'APPROVED'), version: after.version, at: NOW, actor: 'U0BOB' },
  ] as const;
  const committed = await orders().commit({ before, after, log, guard: undefined });
  expect(committed).toEqual({ ok: true });
}

/** Changes the date of a watched name without reminders. */
async function changeDate(): Promise<void> {
  const store = arrangedList(database);
  const before = await store.find('name78.rest');
  if (before === undefined) throw new Error('missing name');
  const at = new Date(NOW.getTime() + 1_000 * 24 * HOUR_MS);
  expect(await store.change(before, { ...before, expiry: { at, source: 'rdap' } })).toBe(true);
}

/** Updates the watch list after a renewal. */
async function updateAfterRenewal(): Promise<void> {
  const renewed = (known: WatchedDomain | undefined): WatchListChange => {
    if (known === undefined) throw new Error('missing name');
    const expiry = { at: new Date(NOW.getTime() + 1_000 * 24 * HOUR_MS), source: 'order' } as const;
    const done = { task: 'renew', years: 1, sentAt: NOW, doneAt: NOW } as const;
    return {
      after: { ...known, expiry },
      observation: { origin: 'order', at: NOW, orderId: 'order-79', done },
    };
  };
  expect(await arrangedList(database).updateAfterOrder('order-79', 1, NOW, renewed)).toBe(true);
}

const mandates = () => createMandateStore(database, 'T0STEWARD', BOT_SIGNER);
const incidents = () => createIncidentStore(database, 'T0STEWARD');
const outbox = () => createNotificationStore(database, '');
const subject = (id: string): Subject => ({ kind: 'order', id });

const HOT_PATHS: Readonly<Record<string, () => Promise<unknown>>> = {
  'creating an order': () => orders().create({ order: newOrder({ id: 'new-1' }), log: [] }),
  'creating a duplicate order': () =>
    orders().create({ order: newOrder({ id: 'new-2', deliveryId: 'delivery-7' }), log: [] }),
  'creating an order for a name with an open order': () =>
    orders().create({ order: newOrder({ id: 'new-3' }, [`open-${PENDING}`]), log: [] }),
  'approving an order': approve,
  'extending a lease': () => orders().extendLease(`order-${ORDERS / 2 + 2}`, 'worker', 20_000),
  'loading the sealed input of an order': () => orders().loadSealedInput(PENDING),
  'loading the history of an order': () => orders().loadHistory(PENDING, 'system'),
  'claiming the messages of an order': () => outbox().claim(subject(PENDING), NOW, 12_000),
  'loading an order with its history': () => orders().loadWithHistory(PENDING, 'system'),
  'releasing the messages of an order': async () => {
    const claim = await outbox().read(subject(PENDING));
    if (claim !== undefined)
      await outbox().release(claim, {
        updated: [{ purpose: 'card', shownVersion: '6' }],
        repeatAt: undefined,
        isComplete: true,
      });
  },
  'adopting a message': () =>
    outbox().adopt(subject(PENDING), { channelId: 'C0DOMAINS', ts: '1.3' }, ['card:1.3'], NOW),
  'recording a posted message': () =>
    outbox().recordPosted(subject(PENDING), {
      purpose: 'reply:9:denied',
      channelId: 'C0DOMAINS',
      ts: '1.2',
      shownVersion: 'once',
    }),
  'claiming orders by deadline': () => orders().claimDue('deadlines', NOW, 20_000, 4),
  'claiming orders to execute': () => orders().claimDue('execution', NOW, 20_000, 48),
  'claiming orders to find evidence for': () => orders().claimDue('observation', NOW, 600_000, 4),
  'claiming due notifications': () => outbox().claimDue(NOW, 12_000, 8),
  'claiming due refreshes': () => outbox().claimDue(NOW, 12_000, 4, true),
  'postponing an order': () => orders().postpone(PENDING),
  'releasing an order to other processes': () => orders().releaseToOthers(PENDING),
  'rescheduling an order': () => orders().reschedule({ id: PENDING, version: 5 }, NOW),
  'requesting a notification': () => orders().requestNotification(PENDING, NOW),
  'purging expired data': () => orders().purgeExpired(NOW),
  'listing orders in progress': () => orders().listInProgressIds(),
  'listing unfinished orders': () => orders().listUnfinishedIds(['account-7', 'account-8'], 'U0PERSON7'),
  'deleting private data of a person': () => orders().deletePrivateData('U0PERSON7'),
  'taking a revealable secret': () => orders().takeRevealableSecret(PENDING, 1, NOW),
  'listing the latest orders': () => orders().list({ viewer: 'system', limit: 20 }),
  'listing a person’s orders': () => orders().list({ viewer: 'system', requesterId: 'U0PERSON7', limit: 20 }),
  'listing open orders of a person': () =>
    orders().list({
      viewer: 'system',
      requesterId: 'U0PERSON7',
      states: ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'],
      limit: 20,
    }),
  'listing orders of a person without orders': () =>
    orders().list({ viewer: 'system', requesterId: 'U0NOBODY', limit: 20 }),
  'listing pending orders': () => orders().list({ viewer: 'system', states: ['PENDING'], limit: 20 }),
  'listing orders with an unknown outcome': () =>
    orders().list({ viewer: 'system', states: ['UNKNOWN'], limit: 20 }),
  'listing orders for a name': () => orders().list({ viewer: 'system', name: 'name77.rest', limit: 20 }),
  'finding the order that prefills a form': () => orders().findLatest('create', 'U0PERSON8', 4),
  'reading the audit log of a day': () => drain(createEventLog(database, '').read(ago(24), NOW)),
  'listing prices of zones': () => createPriceStore(database, 'T0STEWARD').listForZones(['zone7', 'zone8']),
  'listing budget statuses': () => createBudgetStore(database, 'T0STEWARD').listStatuses('2027-06-15'),
  'listing accounts of a person': () => createAccountStore(database).list('T0STEWARD', 'U0PERSON7'),
  'updating the watch list after an order': updateAfterRenewal,
  'adding a name to the watch list': () =>
    arrangedList(database).add({
      ...createWatchedDomain('new.rest', 'U0BOB', NOW),
      expiry: { at: NOW, source: 'person' },
    }),
  'claiming due lookups': () => createNameRecordStore(database, '').claimDue(NOW, 60_000, 50),
  'loading the record of a name': () => createNameRecordStore(database, '').find('name77.rest'),
  'loading a watched name': () => arrangedList(database).find('name77.rest'),
  'listing a page of expiring names': () =>
    arrangedList(database).listPage({ from: NOW, until: ago(-30 * 24), deletedFrom: ago(35 * 24) }, 0, 20),
  'counting expiring names': () =>
    arrangedList(database).count({ from: NOW, until: ago(-30 * 24), deletedFrom: ago(35 * 24) }),
  'listing unconfirmed renewals': () =>
    createReminderStore(database, 'T0STEWARD').listUnconfirmedRenewals(ago(3 * 24), NOW, 20),
  'streaming candidates for reminders': () =>
    drain(
      createReminderStore(database, 'T0STEWARD').streamCandidates(
        listCandidateRanges({ now: NOW, thresholds: [60, 30, 14, 7, 3, 1], timeZone: 'UTC' }),
      ),
    ),
  'changing a date': changeDate,
  'importing dates': () =>
    arrangedList(database).importBatch([{ name: 'name77.rest', expiresAt: NOW }], 'U0BOB', NOW),
  'listing names that are due for mandates': () =>
    mandates().listDue(ago(45 * 24), ago(-30 * 24), undefined, 200),
  'listing more names that are due for mandates': () =>
    mandates().listDue(ago(45 * 24), ago(-30 * 24), { name: 'name77.rest', expiresAt: ago(-20 * 24) }, 200),
  'loading the mandates’ acts for names': () => mandates().findMany(['name77.rest', 'name78.rest']),
  'loading the used amounts of a mandate': () => mandates().loadUsedAmounts('order-7'),
  'loading the spending of a mandate': () => mandates().loadSpending('order-7', '2027-06-01', '2027-07-01'),
  'listing recent acts of a mandate': () => mandates().listActs('order-7', ago(30 * 24)),
  'finding the latest account of a name': () => mandates().findLatestAccount('name77.rest'),
  'saving a held act of a mandate': () =>
    mandates().saveHeld(
      {
        ...{ name: 'name77.rest', expiresAt: ago(-1_000 * 24), mandateId: 'order-7', at: NOW },
        amount: undefined,
      },
      'price_unknown',
    ),
  'holding an order of a mandate': () => mandates().hold('order-8', 'price_above', NOW),
  'listing names that are due for a regular order': () => mandates().listDueForRegularOrder(NOW, 500),
  'counting delayed orders': () => mandates().countDelayedOrders(),
  'finding the act of an order': () => mandates().findByOrder('order-8'),
  'listing the acts of a day': () => mandates().listActsOfDay('2027-06-15'),
  'recording announced acts': () =>
    mandates().recordAnnounced(['act-7', 'act-8'], NOW, { channelId: 'C0EXPIRY', ts: '1.1' }),
  'requesting an update of a mandate message': () => mandates().requestUpdate('order-8', NOW),
  'listing orders in progress of a mandate': () => mandates().listInProgressIds('order-7'),
  'listing incidents of a name': () => incidents().listForName('name77.rest', 10),
  'listing open incidents': () => incidents().listAllOpen(100),
  'streaming deleted names that are due': () =>
    drain(createReminderStore(database, 'T0STEWARD').streamDeletedCandidates(ago(80 * 24))),
  'listing reminder keys of a digest': () =>
    createReminderStore(database, 'T0STEWARD').listReminderKeys('digest-7', ''),
  'listing planned reminders': () => createReminderStore(database, 'T0STEWARD').listPlanned('digest-7', ':1'),
  'releasing unsent reminders of a digest': () =>
    createReminderStore(database, 'T0STEWARD').releaseClaims('digest-7'),
};

test.each(Object.entries(HOT_PATHS))('%s', async (_what, run) => {
  const { statements, scans } = await findFullScans(run);
  expect(statements, 'statements that were planned').toBeGreaterThan(0);
  expect(scans, 'statements that scan a big table').toEqual([]);
});
