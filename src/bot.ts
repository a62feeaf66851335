import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './accounts/account.ts';
import { createAccounts } from './accounts/accounts.ts';
import { createMissingKeyLog } from './accounts/missing-keys.ts';
import { createVault } from './accounts/vault.ts';
import type { Config } from './config.ts';
import { MAX_CSV_BYTES } from './csv.ts';
import { openDigest } from './expiry/digest.ts';
import { createExpiry, type Expiry } from './expiry/expiry.ts';
import { createLog, type Log } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createBudgetLook } from './money/budget-look.ts';
import { amountsByName, createOrderPricer, type PricedOrder } from './money/order-cost.ts';
import type { PriceStore } from './money/ports.ts';
import { createFactChanges, type FactChanges } from './names/fact-changes.ts';
import { createNames, type Names } from './names/names.ts';
import { createObservers } from './names/observers.ts';
import { isAtAnotherRegistrar } from './names/trust.ts';
import type { NotificationStore } from './notifications.ts';
import { advance } from './orders/advance.ts';
import { waitingDecision } from './orders/approvers.ts';
import { LEASE_MS, SEND_WITHIN_MS } from './orders/execute.ts';
import { keepOffboarding, offboard } from './orders/offboarding.ts';
import type { Order } from './orders/order.ts';
import { markUnsentUnknown, startHeartbeat } from './orders/restore-guard.ts';
import { readStatement } from './orders/statement.ts';
import { peopleWhoMayApprove } from './orders/visibility.ts';
import type { PolicySource } from './policy/ports.ts';
import { readTagsTouched } from './policy/subject.ts';
import { createRdapClient, type RdapClient } from './rdap/client.ts';
import { createLoop, createReconciler, type Loop, type Reconciler, repeat } from './reconcile.ts';
import { type HttpServer, type Readiness, startMetricsServer, startServer } from './server.ts';
import { createServiceClient } from './service/client.ts';
import { credentialInterfaces } from './service/interfaces.ts';
import { settingsAsText, withSaved } from './settings.ts';
import {
  createDeparturePlanner,
  createGroupPlanner,
  departureOf,
  noteUnreadableGroup,
} from './slack/admins/admins.ts';
import { createPlacePlanner } from './slack/admins/unreachable-places.ts';
import { formatCalendarEvent } from './slack/expiry/calendar.view.ts';
import { createDigestPlanner, createDigestViews } from './slack/expiry/digest-notifications.ts';
import { isAdmin, type SlackDeps } from './slack/feature.ts';
import { createSlackApp, type SlackApp } from './slack/inbound/app.ts';
import { isSignedBySlack } from './slack/inbound/signature.ts';
import { createLimiter, HOUR_MS } from './slack/kit/limiter.ts';
import { createEventPlanner } from './slack/log/event-notifications.ts';
import { createMoneyReportPlanner, openMoneyReport } from './slack/money/money-report.ts';
import { createPriceDifferencePlanner, openPriceDifferences } from './slack/money/price-differences.ts';
import { createAlarmPlanner } from './slack/names/alarm-notifications.ts';
import {
  adoptCard,
  createOrderPlanner,
  type OrderPlannerDeps,
  refreshWaitingCards,
} from './slack/orders/order-messages.ts';
import { createDirectory, type SlackDirectory } from './slack/outbound/directory.ts';
import { createFileReader } from './slack/outbound/download.ts';
import { createLatest } from './slack/outbound/latest.ts';
import { NOTIFICATION_LEASE_MS, type NotifierDeps, notify } from './slack/outbound/notify.ts';
import { isSlackAddress } from './slack/outbound/response-url.ts';
import { createTokenHealth, type TokenHealth } from './slack/outbound/token-health.ts';
import { createSlackWeb, SlackApiError } from './slack/outbound/web.ts';
import { createPendingChangePlanner } from './slack/policy/pending-change-notifications.ts';
import { findDatabase, identify, migrateDatabase, retryAtStart, StartError, slackMode } from './start.ts';
import { createAccountStore } from './store/accounts.ts';
import { createAlarmStore } from './store/alarms.ts';
import { createBudgetStore } from './store/budgets.ts';
import { openDatabase } from './store/database.ts';
import { createWatchListStore } from './store/domains.ts';
import { createEventLog } from './store/events.ts';
import { createFeedStore } from './store/feeds.ts';
import { createHeartbeat } from './store/heartbeat.ts';
import { createInstallationStore } from './store/installation.ts';
import { createMoneyReportStore } from './store/money-reports.ts';
import { createImpactStore, createNameRecordStore } from './store/name-records.ts';
import { createNotificationStore } from './store/notifications.ts';
import { createOrderStore } from './store/orders.ts';
import { createPendingChanges, purgePendingChanges } from './store/pending-changes.ts';
import { createPolicyStore } from './store/policies.ts';
import { createPendingFacts, createPortfolioStore } from './store/portfolio.ts';
import { createPresetStore } from './store/presets.ts';
import { createPriceStore, pendingPrices } from './store/prices.ts';
import { type DatabaseProbe, openProbe } from './store/probe.ts';
import { createReminderStore } from './store/reminders.ts';
import { createSettingsStore, pendingSettings } from './store/settings.ts';
import { createSpendStore } from './store/spend.ts';
import { createStandInStore } from './store/stand-ins.ts';
import { createTokenStepStore } from './store/token-steps.ts';

/** Durations that tests change, in milliseconds. */
export interface Pace {
  /** How long an order belongs to a worker without a sign of life. */
  readonly leaseMs: number;
  /** A request that has not left this long after its `sentAt` is not sent. */
  readonly sendWithinMs: number;
  /** How long the messages of a subject belong to a process without a sign of life. */
  readonly notificationLeaseMs: number;
  /** The time between two looks for due orders, which bounds what a lost wake-up costs. */
  readonly periodMs: number;
  readonly purgeMs: number;
  /**
   * The pause between two requests to one registry, between two messages of a digest, and between two people. When left
   * out, each has its own default.
   */
  readonly spacingMs?: number;
}

export const PACE: Pace = {
  leaseMs: LEASE_MS,
  sendWithinMs: SEND_WITHIN_MS,
  notificationLeaseMs: NOTIFICATION_LEASE_MS,
  periodMs: 2_000,
  purgeMs: 10_000,
};

/** What tests and the demo put in the place of the real parts. Nothing else sets it. */
export interface Seams {
  /**
   * The clock that orders and expiry go by. Signatures, tokens and sessions follow real time, because their other ends
   * do.
   */
  readonly now?: () => Date;
  /** The address that the HTTP server listens on; every address of the machine when left out. */
  readonly host?: string;
  /** Commands that one person may use in a minute. */
  readonly commandsPerMinute?: number;
  readonly pace?: Pace;
  /** The policy that is in force. */
  readonly policy?: PolicySource;
  /** Wraps the store of orders: tests learn here what is committed, and when. */
  readonly wrapOrderStore?: (store: KeptOrders) => KeptOrders;
  /** Wraps the outbox. */
  readonly wrapNotificationStore?: (store: NotificationStore) => NotificationStore;
}

/** The store of orders. */
export type KeptOrders = ReturnType<typeof createOrderStore>;

export interface BotOptions {
  readonly log?: Log;
  /** Aborts a start that is still waiting for something. */
  readonly signal?: AbortSignal;
  readonly seams?: Seams;
}

/** A running bot. */
export interface Bot {
  /** Where its HTTP server listens. */
  readonly port: number;
  /** Where its metrics are served. */
  readonly metricsPort: number;
  readonly expiry: Expiry;
  readonly prices: PriceStore;
  /** Looks for due work at once, instead of at the next turn: for clocks that jump. */
  catchUp(): Promise<void>;
  /** Ends work under way, or leaves it where it can be resumed. Takes at most 10 seconds. */
  stop(): Promise<void>;
}

/** The `User-Agent` of requests to registries. */
const USER_AGENT = 'domain-steward (expiry watch list)';
/** How long a jump of the clock waits for the registries before it looks for due work. */
const CATCH_UP_MS = 10_000;
/** How many refused credentials one person may try. */
const LINK_TRIES_PER_HOUR = 10;
/** The time between two looks whether digests and reports are due. */
const SCHEDULE_MS = 60_000;
/** The number of names that one process looks at in parallel. */
const OBSERVED_AT_ONCE = 8;
/** Shutdown takes at most 10 s in all. Work under way gets this long; then its requests are aborted. */
const DRAIN_MS = 5_000;
const FINAL_NOTIFICATIONS_MS = 1_500;
const LAST_BEAT_MS = 1_000;

/**
 * Builds the bot from its parts and starts it. This is the only place that knows all of them.
 * @throws {StartError} with what the operator has to do
 */
export async function startBot(config: Config, options: BotOptions = {}): Promise<Bot> {
  const site = createSite(config, options);
  try {
    const servers = await startServers(site);
    const opened = await openStores(site);
    const slack = await connectSlack(site, opened);
    const stores = { ...opened, ...slack.ofTeam };
    const accounts = openAccounts(site, stores, slack);
    const money = buildMoney(site, stores, slack);
    const rdap = openRdap(site);
    const names = buildNames(site, { stores, rdap });
    const expiry = buildExpiry(site, { servers, stores, slack, accounts, money, names });
    const orders = buildOrders(site, { stores, slack, accounts, money, names });
    const facts = createFactChanges({
      ...orders,
      portfolio: stores.portfolio,
      pending: stores.pendingChanges.facts,
      budgets: stores.budgets,
    });
    // Runs before any work is taken.
    const heartbeat = await checkServer(site, stores);
    const parts = { stores, slack, accounts, money, orders, expiry, names, facts };
    const work = startWork(site, parts);
    const people = watchPeople(site, stores, slack, accounts);
    const app = await startApp(site, { ...parts, work, people });
    noteMissingChannel(site, stores);
    site.log.info({ ...servers, mode: slackMode(config).kind }, 'ready');
    return running(site, { servers, heartbeat, money, expiry, work, people, app });
  } catch (error) {
    await site.closeAll();
    throw error;
  }
}

/** What every step of the composition needs. */
type Site = ReturnType<typeof createSite>;
type OpenedStores = Awaited<ReturnType<typeof openStores>>;
type Stores = OpenedStores & ReturnType<OpenedStores['ofTeam']>;
type Slack = Awaited<ReturnType<typeof connectSlack>>;
type OpenAccounts = ReturnType<typeof openAccounts>;
type Money = ReturnType<typeof buildMoney>;

/** The parts that later steps are made of. */
interface Parts {
  readonly servers: { readonly port: number; readonly metricsPort: number };
  readonly stores: Stores;
  readonly slack: Slack;
  readonly accounts: OpenAccounts;
  readonly money: Money;
  readonly orders: ReturnType<typeof buildOrders>;
  readonly rdap: RdapClient;
  readonly expiry: Expiry;
  readonly names: Names;
  readonly facts: FactChanges;
  readonly heartbeat: Awaited<ReturnType<typeof checkServer>>;
  readonly work: ReturnType<typeof startWork>;
  readonly people: ReturnType<typeof watchPeople>;
  readonly app: SlackApp;
}
type ExpiryParts = Pick<Parts, 'servers' | 'stores' | 'slack' | 'accounts' | 'money' | 'names'>;
type OrderParts = Pick<Parts, 'stores' | 'slack' | 'accounts' | 'money' | 'names'>;
type WorkParts = OrderParts & Pick<Parts, 'orders' | 'expiry' | 'facts'>;
type AppParts = WorkParts & Pick<Parts, 'work' | 'people'>;
type RunningParts = Omit<Parts, 'stores' | 'slack' | 'accounts' | 'orders' | 'rdap' | 'names' | 'facts'>;

function createSite(config: Config, options: BotOptions) {
  const { log = createLog(config.logLevel), signal = new AbortController().signal, seams = {} } = options;
  const { now = () => new Date(), pace = PACE } = seams;
  const closers: (() => Promise<void>)[] = [];
  // Every request under way listens to this signal.
  const stopWork = new AbortController();
  setMaxListeners(0, stopWork.signal);
  /** Parts that others refer to before they are built. */
  const late: {
    probe?: DatabaseProbe;
    token?: TokenHealth;
    expiry?: Expiry;
    reconciler?: Reconciler;
    observing?: Loop;
    app?: SlackApp;
  } = {};
  const missing: Record<string, string> = { database: 'not connected yet', slack: 'not connected yet' };
  return {
    config,
    log,
    signal,
    seams,
    now,
    pace,
    processId: randomUUID(),
    spacing: pace.spacingMs === undefined ? {} : { spacingMs: pace.spacingMs },
    pause: pace.spacingMs === undefined ? {} : { pauseMs: pace.spacingMs },
    late,
    /** The parts that are not ready. */
    missing,
    metrics: createMetrics({ orders: async () => late.probe?.figures(now()) }),
    stopWork,
    stopExpiry: new AbortController(),
    /** Each function closes a part. The parts that were built last are closed first. */
    closers,
    async closeAll() {
      for (const close of closers.splice(0).reverse()) {
        await close().catch((err: unknown) => log.error({ err }, 'closing a part'));
      }
    },
  };
}

/** Opens the ports at once, so that health checks learn what is missing. */
async function startServers(site: Site): Promise<Parts['servers']> {
  const { config, log, late, metrics, closers } = site;
  const { metricsPort } = config;
  const { signingSecret } = config.slack;
  const listen = { log, ...(site.seams.host === undefined ? {} : { host: site.seams.host }) };
  const open = async (variable: string, port: number, opening: Promise<HttpServer>) => {
    const server = await opening.catch((cause: unknown) => refusePort(variable, port, cause));
    closers.push(() => server.close());
    return server;
  };
  const server = await open(
    'PORT',
    config.port,
    startServer({
      ...listen,
      port: config.port,
      calendar: async (token) => late.expiry?.openFeed(token),
      isSigned: (headers, body) =>
        signingSecret !== undefined && isSignedBySlack(signingSecret, headers, body),
      slack: () => (late.app?.connected() === true ? late.app.requestListener : undefined),
      metrics: metricsPort === undefined ? metrics : undefined,
      readiness: readiness(site),
    }),
  );
  if (metricsPort === undefined) return { port: server.port, metricsPort: server.port };
  const opening = startMetricsServer({ ...listen, port: metricsPort, metrics });
  return { port: server.port, metricsPort: (await open('METRICS_PORT', metricsPort, opening)).port };
}

/** Reports what is not ready. */
function readiness({ late, missing }: Site): () => Promise<Readiness> {
  return async () => {
    const found: Record<string, string> = { ...missing };
    if ((await late.probe?.ping()) === false) found['database'] = 'does not answer';
    if (late.app?.connected() === false) found['slack'] = 'not connected';
    const code = await late.token?.check();
    if (code !== undefined) found['slack'] = `refuses SLACK_BOT_TOKEN (${code})`;
    return found;
  };
}

/** @throws {StartError} always */
function refusePort(variable: string, port: number, cause: unknown): never {
  throw new StartError(
    `The HTTP server cannot listen on ${variable} ${port}: ${cause instanceof Error ? cause.message : String(cause)}. Choose another ${variable}.`,
    { cause },
  );
}

/** Starts the embedded database where it is used, brings the schema up to date, and opens all stores on it. */
async function openStores({ config, log, signal, seams, late, missing, closers }: Site) {
  const url = await findDatabase(config, log, closers);
  await retryAtStart('the database', log, signal, async () => migrateDatabase(url, log));
  const database = openDatabase({ url, log });
  closers.push(() => database.close());
  const probe = openProbe({ url, log });
  late.probe = probe;
  closers.push(() => probe.close());
  delete missing['database'];
  const {
    wrapOrderStore = (store: KeptOrders) => store,
    wrapNotificationStore = (store: NotificationStore) => store,
  } = seams;
  const saved = createSettingsStore(database);
  return {
    orders: wrapOrderStore(createOrderStore(database, (order) => late.reconciler?.changed(order))),
    accounts: createAccountStore(database),
    tokenSteps: createTokenStepStore(database),
    saved,
    /** The settings of this moment. */
    settings: async () => withSaved(config.team, await saved.all()),
    watchList: createWatchListStore(database),
    feeds: createFeedStore(database),
    heartbeat: createHeartbeat(database),
    purgePendingChanges: (now: Date) => purgePendingChanges(database, now),
    installation: createInstallationStore(database),
    ofTeam: (teamId: string) => ({
      spending: createSpendStore(database),
      policies: createPolicyStore(database, teamId),
      pendingChanges: {
        settings: createPendingChanges(
          database,
          teamId,
          pendingSettings((texts) => settingsAsText(withSaved(config.team, texts))),
        ),
        prices: createPendingChanges(database, teamId, pendingPrices(teamId)),
        facts: createPendingFacts(database, teamId),
      },
      portfolio: createPortfolioStore(database, teamId),
      presets: createPresetStore(database, teamId),
      prices: createPriceStore(database, teamId),
      standIns: createStandInStore(database, teamId),
      budgets: createBudgetStore(database, teamId),
      moneyReports: createMoneyReportStore(database),
      notifications: wrapNotificationStore(createNotificationStore(database, teamId)),
      reminders: createReminderStore(database, teamId),
      names: createNameRecordStore(database, teamId),
      impacts: createImpactStore(database, teamId),
      alarms: createAlarmStore(database, teamId),
      events: createEventLog(database, teamId),
    }),
  };
}

/** Asks Slack who the bot is. */
async function connectSlack({ config, log, signal, now, metrics, late }: Site, stores: OpenedStores) {
  const { botToken, apiUrl } = config.slack;
  const token = createTokenHealth(() => identify(web), log);
  const web = createSlackWeb(botToken, apiUrl, (method, outcome) => {
    metrics.slackCall(method, outcome);
    token.note(outcome);
  });
  const bot = await retryAtStart('Slack', log, signal, () => identify(web));
  late.token = token;
  // Before any work is taken: new rows belong to the team from here on.
  await retryAtStart('the database', log, signal, () => stores.installation.serve(bot.teamId));
  const ofTeam = stores.ofTeam(bot.teamId);
  const orgId = config.allowOrgMembers ? bot.orgId : undefined;
  if (config.allowOrgMembers && orgId === undefined)
    log.warn(
      'ALLOW_ORG_MEMBERS lets nobody in: this workspace is not part of an Enterprise Grid organisation',
    );
  const directory: SlackDirectory = createDirectory(web, bot.teamId, {
    orgId,
    onUnreadableGroup: (groupId, problem) => noteUnreadableGroup({ ...ofTeam, now, log }, groupId, problem),
  });
  /** What every part needs that writes to people by itself. */
  const messaging = { web, directory, admins: config.admins, now, log };
  return { web, bot, orgId, directory, messaging, ofTeam };
}

/** The linked accounts, and the clients of the service that use them. */
function openAccounts({ config, log, now, metrics, closers }: Site, stores: Stores, { bot }: Slack) {
  const logMissingKey = createMissingKeyLog(log, now);
  const vault = createVault(config.credentialsKeys, (keyId) => {
    logMissingKey(keyId);
    metrics.unknownKey();
  });
  const accounts = createAccounts({
    teamId: bot.teamId,
    store: stores.accounts,
    vault,
    now,
    log,
    createClient: (credential) =>
      createServiceClient({
        ...config.service,
        credential,
        tokenSteps: stores.tokenSteps,
      }),
  });
  closers.push(() => accounts.close());
  return { vault, accounts };
}

/** The team's price list and budgets, and the functions that apply them to orders. */
function buildMoney({ config, now, log }: Site, stores: Stores, { bot, directory }: Slack) {
  const { prices, budgets, spending } = stores;
  const tagsOf = readTagsTouched(stores.portfolio.tagsOf);
  return {
    prices,
    budgets,
    spending,
    priceOf: createOrderPricer({ prices, now }),
    tagsOf,
    lookAtBudgets: createBudgetLook({ teamId: bot.teamId, budgets, tagsOf, now }),
    /** Whether a person is an admin at this moment. Nobody is while Slack does not tell. */
    isAdmin: async (userId: string) => {
      try {
        return isAdmin(config, await directory.person(userId, undefined));
      } catch (error) {
        if (!(error instanceof SlackApiError)) throw error;
        log.warn({ err: error, userId }, 'asking whether somebody is an admin');
        return false;
      }
    },
  };
}

/** What the use cases of orders need. */
function buildOrders(
  { config, now, seams }: Site,
  { stores, slack, accounts: { vault, accounts }, money, names: { impacts } }: OrderParts,
) {
  const { standIns, policies } = stores;
  const { priceOf, lookAtBudgets, isAdmin } = money;
  return {
    store: stores.orders,
    vault,
    settings: stores.settings,
    directory: slack.directory,
    now,
    priceOf,
    firstExpiry: stores.watchList.firstExpiry,
    policy: seams.policy ?? policies,
    policies,
    ruleFacts: {
      currency: config.currency,
      pricesOf: async (order: PricedOrder) => amountsByName(await priceOf(order)),
      tagsOf: stores.portfolio.tagsOf,
    },
    standIns,
    impactAtApproval: impacts.atApproval,
    impactWarnedAt: impacts.warnedAt,
    lookAtBudgets,
    isAdmin,
    interfacesOf: ({ method }: Account) => credentialInterfaces(method, config.service.xmlUrl !== undefined),
    servicePlaces: config.service,
    clientFor: accounts.clientFor,
    findAccount: accounts.find,
  };
}

/** The only client of the registries, so that none is asked more often than it allows. */
function openRdap({ config, now, spacing, closers }: Site): RdapClient {
  const rdap = createRdapClient({
    bootstrapUrl: config.rdapBootstrapUrl,
    userAgent: USER_AGENT,
    now,
    ...spacing,
  });
  closers.push(() => rdap.close());
  return rdap;
}

/** The watch list, its look-ups, reminders and calendar. */
function buildExpiry(site: Site, parts: ExpiryParts): Expiry {
  const { config, log, now, late } = site;
  const { stores, names } = parts;
  const { bot } = parts.slack;
  const { vault } = parts.accounts;
  const expiry = createExpiry({
    store: stores.watchList,
    reminders: stores.reminders,
    feeds: stores.feeds,
    lookAtRegistry: names.lookAtRegistry,
    vault,
    teamId: bot.teamId,
    publicUrl: config.publicUrl ?? `http://localhost:${parts.servers.port}`,
    formatEvent: formatCalendarEvent,
    settings: stores.settings,
    namesAdded: () => {
      void late.reconciler?.askRecords();
      void late.observing?.look();
    },
    now,
    log,
    signal: site.stopExpiry.signal,
  });
  late.expiry = expiry;
  return expiry;
}

/** The use cases of names: what registries and the DNS show, impact and alarms. */
function buildNames(
  { config, now, log, late, stopExpiry }: Site,
  { stores, rdap }: Pick<Parts, 'stores' | 'rdap'>,
): Names {
  return createNames({
    alarms: stores.alarms,
    alarmChanged: () => void late.reconciler?.notifyDue(),
    store: stores.names,
    impacts: stores.impacts,
    orders: stores.orders,
    tags: stores.portfolio,
    rdap,
    ...createObservers(config.dnsServers, now),
    now,
    log,
    signal: stopExpiry.signal,
  });
}

/** Finds out whether the database has lost anything since it was last used. Nothing is sent before that. */
async function checkServer({ log, now, signal, processId, closers }: Site, stores: Stores) {
  const guard = { store: stores.orders, heartbeat: stores.heartbeat, now, log, processId };
  const known = await retryAtStart('the database', log, signal, () => markUnsentUnknown(guard));
  const heartbeat = startHeartbeat(guard, known);
  closers.push(async () => heartbeat.stop());
  return heartbeat;
}

/** Starts with everything that is due. Rows say what is due, and replicas share it. */
function startWork(site: Site, parts: WorkParts) {
  const { log, late, pace, closers } = site;
  const { stores, names } = parts;
  const notifier = notifierOf(site, parts);
  const execution = executionOf(site, parts);
  const reconciler = createReconciler({
    store: stores.orders,
    advance: (orderId, lane) => advance(execution, orderId, lane),
    notifications: stores.notifications,
    notify: (subject, isClaimed) => notify(notifier, subject, isClaimed),
    leaseMs: pace.leaseMs,
    notificationLeaseMs: pace.notificationLeaseMs,
    periodMs: pace.periodMs,
    now: site.now,
    log,
  });
  late.reconciler = reconciler;
  closers.push(async () => reconciler.stop());
  reconciler.start();
  const repeated = (name: string, everyMs: number, work: () => Promise<unknown>) => {
    const repetition = repeat({ name, everyMs, work, log });
    closers.push(async () => repetition.stop());
    return repetition;
  };
  const observing = createLoop({
    name: 'looking at names',
    parallel: OBSERVED_AT_ONCE,
    periodMs: pace.periodMs,
    claim: names.claimDue,
    work: names.look,
    log,
  });
  closers.push(async () => observing.stop());
  late.observing = observing;
  observing.start();
  const { moneyReports: reports, reminders, settings } = stores;
  const opening = {
    ...parts.money,
    reports,
    reminders,
    settings,
    notifications: stores.notifications,
    now: site.now,
  };
  const scheduling = repeated('looking at the schedule', SCHEDULE_MS, async () => {
    await openDigest(opening);
    await openMoneyReport(opening);
    await openPriceDifferences(opening);
    await reconciler.notifyDue();
  });
  const purging = repeated('purging what has run out', pace.purgeMs, async () => {
    await stores.orders.purgeExpired(site.now());
    await stores.purgePendingChanges(site.now());
  });
  const loops = [reconciler, observing, scheduling, purging];
  return { reconciler, observing, scheduling, purging, loops };
}

/** What is told of each kind of subject. */
function notifierOf(site: Site, parts: WorkParts): NotifierDeps {
  const { stores, slack, money, expiry } = parts;
  const { alarms, portfolio, moneyReports: reports, notifications, settings } = stores;
  const { messaging } = slack;
  const month = createMoneyReportPlanner({ ...messaging, ...money, settings, reports });
  const day = createPriceDifferencePlanner({ ...messaging, ...money, reports });
  return {
    ...messaging,
    notifications,
    leaseMs: site.pace.notificationLeaseMs,
    planners: {
      order: createOrderPlanner(orderPlannerOf(site, parts)),
      alarm: createAlarmPlanner({
        ...messaging,
        alarms,
        store: stores.orders,
        settings,
        nameOf: async (name) => {
          const [watched, details, record] = await Promise.all([
            expiry.find(name),
            portfolio.find(name),
            stores.names.find(name),
          ]);
          return {
            owner: details?.owner ?? watched?.registeredBy ?? watched?.addedBy,
            channel: details?.channel,
            isElsewhere: record !== undefined && isAtAnotherRegistrar(record, messaging.now()),
          };
        },
      }),
      digest: createDigestPlanner({
        ...messaging,
        store: stores.watchList,
        reminders: stores.reminders,
        settings,
        views: createDigestViews({ ...messaging, ...money, settings }),
        signal: site.stopExpiry.signal,
        ...site.pause,
      }),
      report: (claim, send) => (claim.id.length === 'YYYY-MM'.length ? month : day)(claim, send),
      place: createPlacePlanner({ ...messaging, settings }),
      group: createGroupPlanner(messaging),
      event: createEventPlanner({ ...messaging, ...stores, expiry, impacts: parts.names.impacts }),
      pending_change: createPendingChangePlanner({ ...messaging, ...stores, facts: parts.facts }),
      departure: createDeparturePlanner({ ...messaging, teamAccount: parts.accounts.accounts.team.current }),
    },
  };
}

/** What an order sends to the service of this configuration. */
function statementsFor({ service }: Config) {
  return (order: Order) => readStatement(order, service);
}

/** What telling people of orders needs. */
function orderPlannerOf(
  { config }: Site,
  { stores, slack, orders, expiry, names }: WorkParts,
): OrderPlannerDeps {
  const { priceOf, lookAtBudgets, firstExpiry, settings } = orders;
  return {
    ...slack.messaging,
    priceOf,
    lookAtBudgets,
    firstExpiry,
    findListed: expiry.findListed,
    settings,
    decisionOf: (order) => waitingDecision(orders, order),
    peopleWhoMayApprove: (order) => peopleWhoMayApprove(orders, order),
    impacts: names.impacts,
    statementOf: statementsFor(config),
    orders: stores.orders,
  };
}

/** What carrying out orders needs. */
function executionOf(site: Site, { orders, accounts: { accounts }, expiry, names }: WorkParts) {
  return {
    ...orders,
    log: site.log,
    accepted: accounts.accepted,
    workerId: site.processId,
    leaseMs: site.pace.leaseMs,
    sendWithinMs: site.pace.sendWithinMs,
    observe: site.metrics.serviceRequest,
    follow: expiry.follow,
    lookForEvidence: names.evidence,
    lookAtRegistry: names.confirmation,
    lookAtDelegation: names.impacts.delegation,
    stopSending: site.stopWork.signal,
    stopLooking: site.stopExpiry.signal,
  };
}

/** Seals credentials with the current key, and forgets those of people who leave. */
function watchPeople(site: Site, stores: Stores, { messaging }: Slack, { accounts }: OpenAccounts) {
  const { log } = site;
  accounts.reseal().then(
    (count) => count > 0 && log.info({ count }, 'sealed credentials with the current key'),
    (err: unknown) => log.error({ err }, 'sealing credentials with the current key'),
  );
  const { orders: store, feeds, notifications } = stores;
  const alertOfTeamAccount = (account: Account, userId: string) =>
    notifications.open(departureOf(account, userId), site.now());
  const leaving = { ...messaging, store, accounts, alertOfTeamAccount, feeds };
  const offboarding = keepOffboarding({ ...leaving, signal: site.stopExpiry.signal, ...site.pause });
  site.closers.push(async () => offboarding.stop());
  return { offboarding, offboard: (userId: string) => offboard(leaving, userId) };
}

/** Starts taking deliveries from Slack. */
async function startApp(site: Site, parts: AppParts): Promise<SlackApp> {
  const { config, signal, late, missing, seams } = site;
  const { botToken, apiUrl } = config.slack;
  const app = createSlackApp({
    deps: featureDeps(site, parts),
    botToken,
    botUserId: parts.slack.bot.userId,
    apiUrl,
    mode: slackMode(config),
    acknowledged: site.metrics.acknowledged,
    commandsPerMinute: seams.commandsPerMinute,
  });
  signal.addEventListener('abort', () => void app.stop(0), { once: true });
  await app.start().catch((cause: unknown) => {
    if (!(cause instanceof SlackApiError)) throw cause;
    throw new StartError(
      `Slack refuses SLACK_APP_TOKEN (${cause.code}). Set an app-level token of this app with the scope connections:write.`,
      { cause },
    );
  });
  signal.throwIfAborted();
  late.app = app;
  delete missing['slack'];
  return app;
}

/** What the subcommands, forms and buttons need. */
function featureDeps({ config, log, now }: Site, parts: AppParts): SlackDeps {
  const { stores, slack, accounts, money, orders, expiry, names, facts, people } = parts;
  const cards = { orders: stores.orders, notifications: stores.notifications, now };
  return {
    ...slack.messaging,
    ...money,
    teamId: slack.bot.teamId,
    orgId: slack.orgId,
    accounts: accounts.accounts,
    orders,
    statementOf: statementsFor(config),
    notifications: stores.notifications,
    expiry,
    names,
    portfolio: stores.portfolio,
    presets: stores.presets,
    facts,
    events: stores.events,
    standIns: stores.standIns,
    policies: stores.policies,
    pendingChanges: stores.pendingChanges,
    notifyDue: () => void parts.work.reconciler.notifyDue(),
    currency: config.currency,
    refreshWaitingCards: () => refreshWaitingCards(cards),
    adoptCard: (orderId, message) => adoptCard(cards, orderId, message),
    offboard: people.offboard,
    homeTabs: createLatest('publishing a Home tab', log),
    readFile: createFileReader(config.slack.botToken, config.slack.apiUrl, MAX_CSV_BYTES),
    isSlackAddress: (address) => isSlackAddress(address, config.slack.apiUrl),
    settings: stores.settings,
    settingsStore: stores.saved,
    linkTries: createLimiter(LINK_TRIES_PER_HOUR, HOUR_MS),
    defaultContext: config.service.defaultContext,
  };
}

/** The bot works already, so a database that is slow at this moment must not end it. */
function noteMissingChannel({ log }: Site, { settings }: Stores): void {
  settings().then(
    ({ reminderChannel }) =>
      reminderChannel === undefined &&
      log.info('REMINDER_CHANNEL is not set: nobody is reminded of names that expire'),
    (err: unknown) => log.warn({ err }, 'looking where reminders go'),
  );
}

function running(site: Site, parts: RunningParts): Bot {
  const { servers, money, expiry, work, people } = parts;
  let stopped: Promise<void> | undefined;
  return {
    ...servers,
    expiry,
    prices: money.prices,
    async catchUp() {
      const looking = Promise.all([
        work.reconciler.catchUp(),
        people.offboarding.lookIfDue(),
        work.observing.look(),
        work.purging.now(),
      ]);
      await Promise.race([looking, sleep(CATCH_UP_MS, undefined, { ref: false })]);
      await work.scheduling.now();
      await Promise.race([work.reconciler.idle(), sleep(CATCH_UP_MS, undefined, { ref: false })]);
    },
    stop() {
      stopped ??= stop(site, parts);
      return stopped;
    },
  };
}

async function stop(site: Site, { heartbeat, work, people, app }: RunningParts): Promise<void> {
  const { log } = site;
  const { loops } = work;
  site.missing['shutdown'] = 'shutting down';
  people.offboarding.stop();
  for (const loop of loops) loop.stop();
  // Look-ups and digests are resumed later where they were left.
  site.stopExpiry.abort();
  const idle = Promise.all(loops.map((loop) => loop.idle())).then(() => true);
  const drained = await Promise.all([
    app.stop(DRAIN_MS),
    Promise.race([idle, sleep(DRAIN_MS, false, { ref: false })]),
  ]);
  // Requests that are still under way are aborted. What was sent becomes `UNKNOWN` and is settled by a person.
  site.stopWork.abort();
  // Without a clean stop the next start doubts orders that may still have been sent.
  if (!drained.includes(false) || (await Promise.race([idle, sleep(FINAL_NOTIFICATIONS_MS, false)]))) {
    const lastBeat = heartbeat
      .stopCleanly()
      .catch((err: unknown) => log.warn({ err }, 'saying that the bot stops'));
    await Promise.race([lastBeat, sleep(LAST_BEAT_MS)]);
  }
  await site.closeAll();
  log.info('stopped');
}
