import { setMaxListeners } from 'node:events';
import { Writable } from 'node:stream';
import pg from 'pg';
import { inject } from 'vitest';
import type { Account, PersonAccount } from '../../src/accounts/account.ts';
import { createVault } from '../../src/accounts/vault.ts';
import { DEFAULT_PACE } from '../../src/app/seams.ts';
import { approveOrder } from '../../src/approvals/approve.ts';
import { createOrderSigning } from '../../src/approvals/order-signing.ts';
import { expireOrder, remindApprovers } from '../../src/approvals/pending.ts';
import type { TeamSettings } from '../../src/config/environment.ts';
import { createLog } from '../../src/lib/log.ts';
import { sumByCurrency } from '../../src/money/amount.ts';
import { createBudgetComparer } from '../../src/money/budget-comparison.ts';
import type { OrderCost } from '../../src/money/prices.ts';
import { advanceOrder } from '../../src/orders/advance.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import type { OrdersContext, SendingContext } from '../../src/orders/context.ts';
import { findItemsPendingWatchListUpdate } from '../../src/orders/due.ts';
import type { Order, OrderTaskName } from '../../src/orders/order.ts';
import type { Directory, DueLane, Membership, OrderCommit, OrderStore } from '../../src/orders/ports.ts';
import type { OrderRequest } from '../../src/orders/request-context.ts';
import { type RequestOutcome, requestOrder } from '../../src/orders/request-order.ts';
import type { RetryOutcome } from '../../src/orders/retry-button.ts';
import { MAX_SEND_DELAY_MS, sendOrder } from '../../src/orders/send-order.ts';
import { buildStatement, hashStatement, type ServiceEndpoints } from '../../src/orders/statement.ts';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { getCredentialInterfaces } from '../../src/service/interfaces.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { createBudgetStore } from '../../src/store/budgets.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createMandateStore } from '../../src/store/mandates.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { createStandInStore } from '../../src/store/stand-ins.ts';
import { DUE_TIMES_QUERY } from '../store/order-rig.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { addBudgetTags, NO_PRICES_OR_BUDGETS } from '../support/money.ts';
import { newTeamSettings } from '../support/settings.ts';
import { ENDPOINTS } from './sample.ts';
import { ScriptedService } from './scripted-service.ts';

/** Longer than any test takes. */
const LEASE_MS = 60_000;
const START = new Date('2026-03-01T09:00:00Z');
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

export const ALICE: PersonAccount = {
  id: 'account-alice',
  teamId: 'T0STEWARD',
  userId: 'U0ALICE',
  method: 'password',
  slot: '4',
  context: 4,
  login: 'alice',
  application: undefined,
  isActive: true,
  verifiedAt: START,
};

export const TEAM_SETTINGS = newTeamSettings({
  approvers: ['U0BOB', 'U0CAROL', 'S0LEADS'],
  approvalTasks: ['create', 'transfer', 'renew', 'restore'],
  approvalTtlMs: 72 * HOUR_MS,
  approvalRemindAfterMs: 4 * HOUR_MS,
  approvalEscalateAfterMs: 24 * HOUR_MS,
  reminderDays: [30],
});

const NO_RULES: Policy = { version: 0, rules: [] };

/** A rule for everything, with the given changes. */
function newRule(index: number, rule: Partial<PolicyRule> & Pick<PolicyRule, 'decision'>): PolicyRule {
  return {
    name: `rule ${index + 1}`,
    tasks: ['all'],
    names: ['*'],
    by: [],
    over: undefined,
    approvers: [],
    silent: [],
    needed: 1,
    ttlMs: undefined,
    remindAfterMs: undefined,
    escalateAfterMs: undefined,
    escalateTo: [],
    breakGlass: false,
    signed: false,
    ...rule,
  };
}

/** Sums up a task's cost for names from prices in cents. */
function computeCost(names: readonly string[], prices: ReadonlyMap<string, number>): OrderCost {
  const priced = names.map((name) => {
    const minor = prices.get(name);
    if (minor === undefined) return { name };
    return {
      name,
      quote: { amount: { currency: 'EUR', minor }, validFrom: '2026-01-01', source: '', times: 1 },
    };
  });
  const sums = sumByCurrency(priced.flatMap(({ quote }) => quote?.amount ?? []));
  const unknown = priced.filter(({ quote }) => quote === undefined).length;
  return { names: priced, sums, unknown, mayCostMore: false, days: ['2026-01-01'], sources: [] };
}

/**
 * The product's order functions on the real store, with a separate database, a manual clock and a scripted
 * service. Due work runs only when a test runs it.
 */
export async function startRig(
  options: {
    /** Replaces the scripted service. */ readonly client?: (accountId: string) => ServiceClient;
    /** The service's addresses for that client. */ readonly endpoints?: ServiceEndpoints;
    /** Replaces the new test database. */ readonly database?: TestDatabase;
  } = {},
) {
  const { endpoints = ENDPOINTS } = options;
  const testDatabase = options.database ?? (await createTestDatabase());
  const databaseName = new URL(testDatabase.url).pathname.slice(1);
  const database = openDatabase({ url: testDatabase.url });
  const admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  const sql = async (text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    database.prisma.$queryRawUnsafe(text, ...values);
  const realStore = createOrderStore(database, BOT_SIGNER);
  const state = {
    now: START,
    /** How far the clock has advanced since {@link moveLeases} last ran. */
    msSinceLeaseUpdate: 0,
    team: TEAM_SETTINGS,
    policy: NO_RULES,
    /** Runs when a new order conflicts with an open one, before the conflict is handled. */
    onConflict: undefined as ((openOrderId: string) => Promise<void>) | undefined,
    /** Runs before each commit and can delay it. */
    beforeCommit: undefined as ((change: OrderCommit) => Promise<void>) | undefined,
    /** Fails like a broken connection: before the commit, or after it but before its confirmation. */
    commitFault: undefined as ((change: OrderCommit) => 'before' | 'after' | undefined) | undefined,
    logText: '',
    deliveries: 0,
  };
  const store: OrderStore = {
    ...realStore,
    create: async (creation) => {
      const conflict = await realStore.create(creation);
      if (conflict?.conflictingOrderId !== undefined) await state.onConflict?.(conflict.conflictingOrderId);
      return conflict;
    },
    commit: async (change) => {
      await state.beforeCommit?.(change);
      const fault = state.commitFault?.(change);
      if (fault === 'before') throw new Error('the connection broke');
      const outcome = await realStore.commit(change);
      if (fault === 'after') throw new Error('the connection broke after the commit');
      return outcome;
    },
  };

  const accounts = new Map<string, Account>([[ALICE.id, ALICE]]);
  const groups = new Map<string, readonly string[]>([['S0LEADS', ['U0DORA']]]);
  /** People that Slack doesn't report as members. */
  const memberships = new Map<string, Exclude<Membership, 'member'>>();
  const directory: Directory = {
    findMembership: async (userId) => memberships.get(userId) ?? 'member',
    listGroupMembers: async (group) => groups.get(group),
  };
  const standIns = createStandInStore(database, 'T0STEWARD');
  const tags = new Map<string, readonly string[]>();
  /** Prices are in cents. */
  const prices = new Map<string, number>();
  const findAccount = async (id: string) => accounts.get(id);
  const service = new ScriptedService();
  const vault = createVault([{ id: 'k1', key: Buffer.alloc(32, 7) }]);
  const log = createLog(
    'trace',
    new Writable({
      write(chunk, _encoding, done) {
        state.logText += String(chunk);
        done();
      },
    }),
  );
  const now = () => state.now;
  const loadClient = async (id: string) => {
    const account = accounts.get(id);
    if (account === undefined) return undefined;
    const { method, login, context } = account;
    return { ...(options.client?.(id) ?? service.client), account: { method, login, context } };
  };
  const acceptedAccountIds: string[] = [];
  const advanced: Order[] = [];
  const ruleFacts: OrdersContext['ruleFacts'] = {
    currency: 'EUR',
    loadTags: async (names) => new Map(names.map((name) => [name, tags.get(name) ?? []])),
    findMatchingNames: (patterns) => mandateStore.findMatchingNames(patterns),
    loadPrices: async ({ names }) =>
      new Map(
        names.flatMap((name) => {
          const minor = prices.get(name);
          return minor === undefined ? [] : [[name, { currency: 'EUR', minor }] as const];
        }),
      ),
  };
  /** No passkeys are set up. */
  const signing = createOrderSigning({
    trust: undefined,
    readRows: async () => ({
      log: { keys: { addedKeys: [], vouches: [], revocations: [], isComplete: true }, charters: [] },
      ...{ policy: state.policy, savedSettings: {}, standIns: new Map() },
    }),
    directory,
    applySavedSettings: () => state.team,
    environmentSettings: TEAM_SETTINGS,
    ruleFacts,
    now,
  });
  const mandateStore = createMandateStore(database, '', BOT_SIGNER);
  /** Names with an unexplained incident. */
  const incidents = new Set<string>();
  const budgets = createBudgetStore(database, '');
  const orders: OrdersContext = {
    store,
    advance: (order) => void advanced.push(order),
    vault,
    loadSettings: async () => state.team,
    directory,
    now,
    serviceEndpoints: endpoints,
    listInterfaces: ({ method }) => getCredentialInterfaces(method, true),
    loadClient,
    findAccount,
    ...NO_PRICES_OR_BUDGETS,
    findFirstExpiry: async () => undefined,
    isAdmin: async () => false,
    policy: {
      loadCurrentPolicy: async () => ({
        ...state.policy,
        isCharterMissing: false,
        tags: [],
        charterProblem: undefined,
      }),
    },
    ruleFacts,
    standIns,
    checkImpact: async () => 'none',
    findLastImpactWarning: async () => undefined,
    signing,
    recordImpactWarning: async () => undefined,
    incidents: {
      loadOpenIncidents: async () => undefined,
      recordShown: async () => undefined,
    },
    mandates: mandateStore,
    priceRenewals: async (names) => computeCost(names, prices),
    compareBudgetsOn: (day) =>
      createBudgetComparer({
        teamId: '',
        budgets: addBudgetTags(budgets, ruleFacts.loadTags),
        now: () => new Date(day),
      }),
    hasOpenIncident: async (name) => incidents.has(name),
    loadAffectedTags: ruleFacts.loadTags,
    findDefaultAccount: async () => accounts.get(ALICE.id),
    log,
  };

  /** The orders' context, with prices. */
  const mandates: OrdersContext = { ...orders, priceOrder: async ({ names }) => computeCost(names, prices) };

  let processCount = 0;
  /** Starts a bot process, which sends orders but takes no requests from people. */
  const startProcess = (overrides: Partial<SendingContext> = {}) => {
    processCount += 1;
    const shutdown = new AbortController();
    // Every running request adds a listener.
    setMaxListeners(0, shutdown.signal);
    const deps: SendingContext = {
      ...mandates,
      recordAcceptedCredential: async (id) => void acceptedAccountIds.push(id),
      workerId: `process-${processCount}`,
      leaseMs: DEFAULT_PACE.leaseMs,
      maxSendDelayMs: MAX_SEND_DELAY_MS,
      wallClock: Date.now,
      recordRequestDuration: () => undefined,
      updateWatchList: async () => undefined,
      findEvidence: async () => ({ kind: 'nothing' }),
      lookUpAtRegistry: async () => 'unknown',
      lookUpDelegation: async () => ({ kind: 'unknown' }),
      sendingSignal: shutdown.signal,
      lookupSignal: shutdown.signal,
      ...overrides,
    };
    return {
      execute: async (orderId: string) => {
        const order = await store.load(orderId, 'system');
        if (order !== undefined) await sendOrder(deps, order);
      },
      advance: (orderId: string, lane: DueLane) => advanceOrder(deps, orderId, lane),
      expire: (orderId: string) => expireOrder(deps, orderId),
      remind: (orderId: string) => remindApprovers(deps, orderId),
      shutDown: () => shutdown.abort(),
    };
  };
  const main = startProcess();

  /** Moves the ends of leases back by the time that has passed on the manual clock. */
  const moveLeases = async () => {
    const ms = state.msSinceLeaseUpdate;
    state.msSinceLeaseUpdate = 0;
    if (ms !== 0) await sql(`UPDATE orders SET lease_until = lease_until - $1 * interval '1 ms'`, ms);
  };
  /** Claims and runs the due work of these lanes. */
  const advanceDue = async (...lanes: readonly DueLane[]) => {
    const claimed: (readonly [id: string, lane: DueLane])[] = [];
    for (const lane of lanes) {
      const ids = await store.claimDue(lane, state.now, LEASE_MS, 500);
      claimed.push(...ids.map((id) => [id, lane] as const));
    }
    for (const [orderId, lane] of claimed) {
      await main.advance(orderId, lane).catch(async (err: unknown) => {
        log.error({ err, orderId }, 'advancing order failed, rescheduled');
        await store.postpone(orderId);
      });
    }
    return claimed.length;
  };

  return {
    orders,
    directory,
    database,
    service,
    accounts,
    groups,
    tags,
    prices,
    standIns,
    memberships,
    acceptedAccountIds,
    /** The orders that were advanced right after their commit. */
    advanced,
    mandates,
    incidents,
    budgets,
    sql,
    startProcess,
    /** Creates the store of another process, which doesn't share this one's cache. */
    createReplicaStore: () => createOrderStore(database, BOT_SIGNER),
    /** Opens connections like another process. */
    openConnections: () => openDatabase({ url: testDatabase.url }),
    store,
    realStore,
    vault,
    main,
    get now() {
      return state.now;
    },
    advanceClock(ms: number) {
      state.now = new Date(state.now.getTime() + ms);
      state.msSinceLeaseUpdate += ms;
    },
    moveLeases,
    log,
    setTeam(changes: Partial<TeamSettings>) {
      state.team = { ...state.team, ...changes };
    },
    /** Publishes a version of the policy. */
    setPolicy(version: number, ...rules: readonly (Partial<PolicyRule> & Pick<PolicyRule, 'decision'>)[]) {
      state.policy = { version, rules: rules.map((rule, index) => newRule(index, rule)) };
    },
    setCommitFault(fault: typeof state.commitFault) {
      state.commitFault = fault;
    },
    setOnConflict(act: typeof state.onConflict) {
      state.onConflict = act;
    },
    setBeforeCommit(hold: typeof state.beforeCommit) {
      state.beforeCommit = hold;
    },
    readLog: () => state.logText,
    /** Runs a process's recovery: releases overdue and abandoned work, but doesn't execute it. */
    async recover(): Promise<void> {
      await moveLeases();
      await advanceDue('deadlines');
      await store.purgeExpired(state.now);
    },

    /** Restores the initial state and deletes the orders. */
    async reset() {
      state.now = START;
      state.msSinceLeaseUpdate = 0;
      state.team = TEAM_SETTINGS;
      state.policy = NO_RULES;
      tags.clear();
      prices.clear();
      incidents.clear();
      state.onConflict = undefined;
      state.beforeCommit = undefined;
      state.commitFault = undefined;
      state.logText = '';
      accounts.clear();
      accounts.set(ALICE.id, ALICE);
      memberships.clear();
      groups.clear();
      groups.set('S0LEADS', ['U0DORA']);
      acceptedAccountIds.length = 0;
      advanced.length = 0;
      service.received.length = 0;
      service.prepare = new ScriptedService().prepare;
      service.answer = new ScriptedService().answer;
      // Much faster than TRUNCATE for so few rows.
      await sql(`DO $$ BEGIN
        DELETE FROM mandate_acts; DELETE FROM domains; DELETE FROM budget_reservations; DELETE FROM order_items; DELETE FROM approvals; DELETE FROM notifications;
        DELETE FROM revealable_secrets; DELETE FROM stand_ins; DELETE FROM orders;
      END $$`);
    },

    /** Alice requests a task. */
    request(
      task: OrderTaskName,
      input: unknown,
      changes: Partial<OrderRequest> = {},
    ): Promise<RequestOutcome> {
      state.deliveries += 1;
      return requestOrder(orders, {
        task,
        input,
        secret: undefined,
        reason: undefined,
        requesterId: 'U0ALICE',
        account: accounts.get(ALICE.id),
        channelId: 'C0DOMAINS',
        threadTs: undefined,
        deliveryId: `command:${state.deliveries}`,
        ...changes,
      });
    },
    /** Alice requests a task, which must be accepted. */
    async requestAccepted(
      task: OrderTaskName,
      input: unknown,
      changes: Partial<OrderRequest> = {},
    ): Promise<Order> {
      const order = requireAccepted(await this.request(task, input, changes));
      if (task !== 'nameservers' || order.state !== 'DRAFT') return order;
      const outcome = await confirmOrder(orders, order.id, order.requesterId);
      if (outcome.kind !== 'confirmed') throw new Error(`confirming failed: ${outcome.kind}`);
      return outcome.order;
    },
    /** Alice requests a renewal, and Bob approves it. */
    async requestApprovedRenewal(...names: string[]): Promise<Order> {
      const order = await this.requestAccepted('renew', { names, period: 1 });
      const outcome = await approveOrder(orders, order.id, 'U0BOB');
      if (!outcome.ok) throw new Error(refusalText(outcome.refusal));
      return outcome.order;
    },
    async read(orderId: string): Promise<Order> {
      const order = await store.load(orderId, 'system');
      if (order === undefined) throw new Error(`order ${orderId} doesn't exist`);
      return order;
    },
    /** Changes the input of an order as if it had been requested with it. */
    async changeRequestedInput(orderId: string, change: string): Promise<void> {
      await sql(`UPDATE orders SET input = ${change} WHERE id = $1`, orderId);
      const hash = hashStatement(buildStatement(await this.read(orderId), endpoints));
      await sql('ALTER TABLE orders DISABLE TRIGGER orders_statement_kept');
      await sql('UPDATE orders SET statement_hash = $2 WHERE id = $1', orderId, hash);
      await sql('ALTER TABLE orders ENABLE TRIGGER orders_statement_kept');
    },
    /** The history of an order, such as `approved by U0BOB`. */
    async listHistory(orderId: string): Promise<string[]> {
      const history = await store.loadHistory(orderId, 'system');
      return history.map(({ kind, actor }) => (actor === 'system' ? kind : `${kind} by ${actor}`));
    },
    async readDueTimes(
      orderId: string,
    ): Promise<{ readonly work: unknown; readonly notifications: unknown }> {
      const [row] = await sql(DUE_TIMES_QUERY, orderId);
      return { work: row?.['work'] ?? undefined, notifications: row?.['notifications'] ?? undefined };
    },
    async isDue(orderId: string): Promise<boolean> {
      const { work } = await this.readDueTimes(orderId);
      return work instanceof Date && work <= state.now;
    },
    /** Marks the order's current state as shown in Slack. */
    async markShown(orderId: string): Promise<void> {
      await sql('UPDATE notifications SET due_at = NULL, shows = version WHERE subject_id = $1', orderId);
    },
    /** The numbers of the items for which the watch list isn't updated yet. */
    async listItemsForWatchList(orderId: string): Promise<number[]> {
      const order = await store.load(orderId, 'system');
      return order === undefined ? [] : findItemsPendingWatchListUpdate(order).map(({ n }) => n);
    },
    /** Executes orders until nothing is due, with all leases expired. Sends no notifications. */
    async runDue(): Promise<void> {
      await moveLeases();
      await sql('UPDATE orders SET lease_until = NULL WHERE worker_id IS NULL');
      while ((await advanceDue('deadlines', 'execution')) > 0);
    },
    /** The whole content of the database, as text. */
    async dumpDatabase(): Promise<string> {
      const tables = await sql(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
      const rows = await Promise.all(
        tables.map(({ tablename }) => sql(`SELECT t::text AS row FROM "${String(tablename)}" t`)),
      );
      return JSON.stringify(rows);
    },
    /** Runs the work while the database can't be reached. */
    async withDatabaseDown(work: () => Promise<void>): Promise<void> {
      await admin.query(`ALTER DATABASE ${databaseName} ALLOW_CONNECTIONS false`);
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
        databaseName,
      ]);
      try {
        await work();
      } finally {
        await admin.query(`ALTER DATABASE ${databaseName} ALLOW_CONNECTIONS true`);
      }
    },
    async end() {
      await database.close();
      await admin.end();
      await testDatabase.drop();
    },
  };
}

export type Rig = Awaited<ReturnType<typeof startRig>>;

export function requireAccepted(outcome: RequestOutcome | RetryOutcome): Order {
  if (outcome.kind !== 'accepted') throw new Error(`the order was not accepted: ${JSON.stringify(outcome)}`);
  return outcome.order;
}

export function runConcurrently<T>(times: number, act: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => act(index)));
}

export async function waitUntil(condition: string, isMet: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!(await isMet())) {
    if (Date.now() > deadline) throw new Error(`timed out after 5 s waiting until ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A promise that the test resolves. */
export function newGate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
