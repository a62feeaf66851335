import { randomUUID } from 'node:crypto';
import type { Account } from './accounts/account.ts';
import { type Accounts, createAccounts } from './accounts/accounts.ts';
import { createMissingKeyLog } from './accounts/missing-keys.ts';
import { createVault, type Vault, VaultError } from './accounts/vault.ts';
import { createBus } from './bus.ts';
import type { Config } from './config.ts';
import { MAX_CSV_BYTES } from './csv.ts';
import { openDigest } from './expiry/digest.ts';
import { createExpiry, type Expiry } from './expiry/expiry.ts';
import { createAnchorFile } from './ledger/anchor-file.ts';
import { createLedger, type Ledger, openLedgerKey } from './ledger/ledger.ts';
import { createLog, type Log } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createBudgetLook } from './money/budget-look.ts';
import { amountsByName, createOrderPricer } from './money/order-cost.ts';
import type { PriceStore } from './money/ports.ts';
import { costOf, zoneOf } from './money/prices.ts';
import { createFactChanges } from './names/fact-changes.ts';
import { isOpen as isIncidentOpen } from './names/incident.ts';
import { createNames, type Names } from './names/names.ts';
import { createObservers } from './names/observers.ts';
import { GUARDED } from './names/portfolio.ts';
import type { AdvanceDeps } from './orders/advance.ts';
import { tagsOfMandates } from './orders/mandates/life.ts';
import { mandatesByName } from './orders/mandates/overview.ts';
import { createMandateRuns, type RunDeps } from './orders/mandates/run.ts';
import { clearForMandate } from './orders/mandates/sending.ts';
import { offboard } from './orders/offboarding.ts';
import { createOrderSigning, type KeyUse } from './orders/order-signing.ts';
import { markUnsentUnknown, startHeartbeat } from './orders/restore-guard.ts';
import { readStatement } from './orders/statement.ts';
import { readTagsTouched } from './policy/subject.ts';
import { createRdapClient } from './rdap/client.ts';
import { createReadiness } from './readiness.ts';
import { PACE, type Seams } from './seams.ts';
import type { Routes } from './server.ts';
import { createServiceClient } from './service/client.ts';
import { credentialInterfaces } from './service/interfaces.ts';
import { withSaved } from './settings.ts';
import { createShutdown } from './shutdown.ts';
import { createVerifier, relyingPartyOf } from './signing/assertion.ts';
import { standingKeys } from './signing/key-ring.ts';
import { limitLinkTries } from './slack/accounts/link.ts';
import { departureOf } from './slack/admins/admins.ts';
import { formatCalendarEvent } from './slack/expiry/calendar.view.ts';
import { isAdminNow, type SlackDeps } from './slack/feature.ts';
import { isSignedBySlack } from './slack/inbound/slack-signature.ts';
import { openMoneyReport, openPriceDifferences } from './slack/money/money-report.ts';
import { adoptCard, refreshWaitingCards } from './slack/orders/order-messages.ts';
import { createFileReader } from './slack/outbound/download.ts';
import { createLatest } from './slack/outbound/latest.ts';
import { isSlackAddress } from './slack/outbound/response-url.ts';
import { createNotifier } from './slack/planners.ts';
import { pageWords } from './slack/signing/page-words.ts';
import {
  checkSettingsLater,
  connectDatabase,
  connectSlack,
  noteMissingChannel,
  retryAtStart,
  type Site,
  type Slack,
  slackMode,
  startApp,
  startServers,
} from './start.ts';
import type { Stores } from './store/stores.ts';
import { createCeremonies } from './web/ceremony.ts';
import { createLinks } from './web/links.ts';
import { createPages } from './web/routes.ts';
import { createWebhooks, WEBHOOK_TIMEOUT_MS } from './webhooks/webhooks.ts';
import { startWork } from './work.ts';

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
  /** Tags a watched name `guarded`, so that it is looked at by the minute. */
  guard(name: string): Promise<unknown>;
  /** Looks for due work at once, instead of at the next turn: for clocks that jump. */
  catchUp(): Promise<void>;
  /** Ends work under way, or leaves it where it can be resumed. Takes at most 10 seconds. */
  stop(): Promise<void>;
}

/** The `User-Agent` of requests to registries. */
const USER_AGENT = 'domain-steward (expiry watch list)';

/**
 * Builds the bot from its parts and starts it. This is the only place that knows all of them.
 * @throws {StartError} with what the operator has to do
 */
export async function startBot(config: Config, options: BotOptions = {}): Promise<Bot> {
  const { log = createLog(config.logLevel), signal = new AbortController().signal, seams = {} } = options;
  const { now = () => new Date() } = seams;
  const shutdown = createShutdown(log);
  const parts = { metrics: createMetrics(), readiness: createReadiness(['database', 'slack']) };
  try {
    return await start({ config, log, signal, seams, now, bus: createBus(), shutdown, ...parts });
  } catch (error) {
    await shutdown.closeAll();
    throw error;
  }
}

async function start(site: Site): Promise<Bot> {
  const { config, seams, now, log, bus, shutdown, readiness } = site;
  const { pace = PACE } = seams;
  const { server, metricsServer } = await startServers(site);
  const { database, takeBackup } = await connectDatabase(site);
  const publicUrl = config.publicUrl ?? `http://localhost:${server.port}`;
  const keyUse = keyUseOf(config.signingRoots, publicUrl);
  const { slack, stores } = await connectSlack(site, database, { canSign: keyUse !== undefined });
  const settings = async () => withSaved(config.team, await stores.savedSettings.all());
  const { vault, accounts } = openAccounts(site, stores, slack.bot.teamId);
  const ledger = await openLedger(site, stores, vault, slack.bot.teamId);
  const processId = randomUUID();
  const names = buildNames(site, stores, processId);
  const expiry = createExpiry({
    store: stores.watchList,
    reminders: stores.reminders,
    feeds: stores.feeds,
    lookAtRegistry: names.lookAtRegistry,
    vault,
    teamId: slack.bot.teamId,
    publicUrl,
    formatEvent: formatCalendarEvent,
    mandatedNames: () =>
      mandatesByName({ store: stores.orders, namesFitting: stores.mandates.namesFitting, now }),
    settings,
    namesAdded: () => void bus.emit('namesAdded'),
    now,
    log,
    signal: shutdown.looking,
  });
  // Runs before any work is taken.
  const guard = { store: stores.orders, heartbeat: stores.heartbeat, now, log, processId };
  const known = await retryAtStart('the database', log, site.signal, () => markUnsentUnknown(guard));
  const heartbeat = startHeartbeat(guard, known);
  shutdown.onClose(() => heartbeat.stop());

  const webhooks = createWebhooks({
    ...config.webhooks,
    store: stores.webhooks,
    timeoutMs: WEBHOOK_TIMEOUT_MS,
    now,
    log,
    signal: shutdown.looking,
  });
  await retryAtStart('the database', log, site.signal, webhooks.open);

  const leaving = {
    store: stores.orders,
    accounts,
    feeds: stores.feeds,
    keys: {
      owners: async () => standingKeys(await stores.keys.read()).map(({ owner }) => owner),
      revoke: (userId: string) => stores.keys.revokeOfLeaver(userId, now()),
    },
    directory: slack.directory,
    alertOfTeamAccount: (account: Account, userId: string) =>
      stores.notifications.open(departureOf(account, userId), now()),
    now,
    log,
  };
  const links = createLinks({
    ...{ store: stores.links, publicUrl, now },
    relyingParty: relyingPartyOf(publicUrl),
  });
  const deps = featureDeps(site, {
    ...{ slack, stores, settings, vault, accounts, names, expiry, keyUse, links, webhooks, ledger },
    offboard: (userId) => offboard(leaving, userId),
  });
  const pause = pace.spacingMs === undefined ? {} : { pauseMs: pace.spacingMs };
  const notify = createNotifier(deps, {
    notifications: stores.notifications,
    leaseMs: pace.notificationLeaseMs,
    incidents: stores.incidents,
    records: stores.names,
    ledger: stores.ledger,
    watchList: stores.watchList,
    reminders: stores.reminders,
    reports: stores.moneyReports,
    teamAccount: accounts.team.current,
    signal: shutdown.looking,
    ...pause,
  });
  const { mandates } = deps;
  const execution: AdvanceDeps = {
    ...deps.orders,
    mandates: stores.mandates,
    clearForMandate: (order) => clearForMandate(mandates, order),
    log,
    accepted: accounts.accepted,
    workerId: guard.processId,
    leaseMs: pace.leaseMs,
    sendWithinMs: pace.sendWithinMs,
    observe: site.metrics.serviceRequest,
    follow: expiry.follow,
    lookForEvidence: names.evidence,
    lookAtRegistry: names.confirmation,
    lookAtDelegation: names.impacts.delegation,
    stopSending: shutdown.sending,
    stopLooking: shutdown.looking,
  };
  const { notifications, reminders, prices, spending, budgets, moneyReports: reports } = stores;
  const runMandates = createMandateRuns(mandates);
  // The message of its day says how an order stands by now.
  bus.on('orderChanged', ({ id, mandated }) => {
    if (mandated !== undefined) void stores.mandates.orderChanged(id, now());
  });
  const work = startWork({
    bus,
    execution,
    notifications,
    notify,
    names,
    webhooks,
    async openDue() {
      await runMandates();
      await openDigest({ settings, reminders, now });
      await openMoneyReport({ settings, prices, spending, budgets, reports, notifications, now });
      await openPriceDifferences({ notifications, now });
      await webhooks.queueDue(async () => {
        await slack.token.check();
        return slack.outage.current();
      });
    },
    async purge() {
      await stores.orders.purgeExpired(now());
      await stores.purgePendingChanges(now());
      await stores.links.purge(now());
    },
    takeBackup,
    seal: ledger.turn,
    checkLedger: ledger.checkIfDue,
    offboarding: { ...leaving, signal: shutdown.looking, ...pause },
    pace,
    now,
    log,
  });
  shutdown.onClose(work.stop);
  accounts.reseal().then(
    (count) => count > 0 && log.info({ count }, 'sealed credentials with the current key'),
    (err: unknown) => log.error({ err }, 'sealing credentials with the current key'),
  );
  const app = await startApp(site, slack, deps);
  const { signingSecret } = config.slack;
  server.serve({
    calendar: (token) => expiry.openFeed(token),
    page: openPages(site, { stores, deps, publicUrl }),
    isSigned: (headers, body) => signingSecret !== undefined && isSignedBySlack(signingSecret, headers, body),
    slack: () => (app.connected() ? app.requestListener : undefined),
  });
  noteMissingChannel(log, settings);
  shutdown.onClose(checkSettingsLater(site, slack, settings));
  warnOfMovedKeys(log, stores, relyingPartyOf(publicUrl)?.id);
  const ports = { port: server.port, metricsPort: metricsServer.port };
  log.info({ ...ports, mode: slackMode(config).kind }, 'ready');
  let stopped: Promise<void> | undefined;
  return {
    ...ports,
    expiry,
    prices,
    guard: (name) =>
      stores.portfolio.change(new Map([[name, { addTags: [GUARDED] }]]), 'system', now(), () => false),
    catchUp: work.catchUp,
    stop() {
      readiness.watch('shutdown', async () => 'shutting down');
      stopped ??= shutdown.stop({ heartbeat, work, app });
      return stopped;
    },
  };
}

/** Keys are bound to the host of `PUBLIC_URL`. After it has changed they sign nothing, and everybody adds a new one. */
function warnOfMovedKeys(log: Log, { keys }: Stores, host: string | undefined): void {
  keys.read().then(
    (known) => {
      const moved = standingKeys(known).filter((key) => key.host !== host);
      if (moved.length === 0) return;
      const named = moved.map(({ owner, label, fingerprint, host: of }) => ({
        owner,
        label,
        fingerprint,
        host: of,
      }));
      log.warn(
        { keys: named, host },
        'PUBLIC_URL has another host than these passkeys: they have to be added anew',
      );
    },
    (err: unknown) => log.warn({ err }, 'looking which passkeys belong to PUBLIC_URL'),
  );
}

/** The pages on which people sign; none where WebAuthn does not work at `PUBLIC_URL`. */
function openPages(
  { config, log, now }: Site,
  {
    stores,
    deps,
    publicUrl,
  }: { readonly stores: Stores; readonly deps: SlackDeps; readonly publicUrl: string },
): Routes['page'] {
  const relyingParty = relyingPartyOf(publicUrl);
  if (relyingParty === undefined) return async () => false;
  const { links, keys, policies, pendingChanges, savedSettings } = stores;
  const ceremonies = createCeremonies({
    ...{ links, keys, relyingParty, policies, now },
    orders: deps.orders,
    decidingChanged: () => {
      deps.notifyDue();
      deps.refreshWaitingCards().catch((err: unknown) => log.warn({ err }, 'showing what decides on cards'));
    },
    pendingSettings: pendingChanges.settings,
    readSettings: savedSettings.all,
    settingsOf: (saved) => withSaved(config.team, saved),
  });
  return createPages({ ceremonies, origin: relyingParty.origin, ...pageWords(deps) }).handle;
}

/** What keys are measured by; undefined without `SIGNING_ROOTS`, or where browsers sign nothing at `PUBLIC_URL`. */
function keyUseOf(roots: readonly string[], publicUrl: string): KeyUse | undefined {
  const relyingParty = relyingPartyOf(publicUrl);
  if (relyingParty === undefined || roots.length === 0) return undefined;
  return { roots: new Set(roots), verifier: createVerifier(relyingParty) };
}

/** The linked accounts, and the clients of the service that use them. */
function openAccounts(
  { config, log, now, metrics, shutdown }: Site,
  stores: Stores,
  teamId: string,
): { readonly vault: Vault; readonly accounts: Accounts } {
  const logMissingKey = createMissingKeyLog(log, now);
  const vault = createVault(config.credentialsKeys, (keyId) => {
    logMissingKey(keyId);
    metrics.unknownKey();
  });
  const accounts = createAccounts({
    teamId,
    store: stores.accounts,
    vault,
    now,
    log,
    createClient: (credential) =>
      createServiceClient({ ...config.service, credential, tokenSteps: stores.tokenSteps }),
  });
  shutdown.onClose(() => accounts.close());
  return { vault, accounts };
}

/** The ledger over the log. Without its key everything else works, and what is not sealed is told. */
async function openLedger(
  { config, log, now, signal }: Site,
  stores: Stores,
  vault: Vault,
  teamId: string,
): Promise<Ledger> {
  const parts = { store: stores.ledgerKey, vault, teamId };
  const key = await retryAtStart('the database', log, signal, () =>
    openLedgerKey(config.ledgerKey, parts),
  ).catch((err: unknown) => {
    if (!(err instanceof VaultError)) throw err;
    log.error({ err }, 'nothing is sealed: the key of the ledger cannot be opened');
    return undefined;
  });
  if (key !== undefined)
    log.info({ fingerprint: key.fingerprint }, 'seals of the ledger are signed by this key');
  return createLedger({
    store: stores.ledger,
    key,
    memory: createAnchorFile(config.dataDir, teamId, log),
    now,
    log,
  });
}

/** The use cases of names: what registries and the DNS show, impact and incidents. */
function buildNames(
  { config, seams, now, log, bus, shutdown }: Site,
  stores: Stores,
  processId: string,
): Names {
  const { spacingMs } = seams.pace ?? PACE;
  // The only client of the registries, so that none is asked more often than it allows.
  const rdap = createRdapClient({
    bootstrapUrl: config.rdapBootstrapUrl,
    userAgent: USER_AGENT,
    now,
    ...(spacingMs === undefined ? {} : { spacingMs }),
  });
  shutdown.onClose(() => rdap.close());
  return createNames({
    incidents: stores.incidents,
    incidentChanged: () => void bus.emit('notificationsDue'),
    store: stores.names,
    impacts: stores.impacts,
    orders: stores.orders,
    tags: stores.portfolio,
    leases: stores.leases,
    processId,
    rdap,
    ...createObservers(config.dnsServers, now),
    now,
    log,
    signal: shutdown.looking,
  });
}

/** What features are made of. */
interface FeatureParts
  extends Pick<
    SlackDeps,
    'ledger' | 'settings' | 'accounts' | 'names' | 'expiry' | 'webhooks' | 'offboard' | 'links'
  > {
  readonly slack: Slack;
  readonly stores: Stores;
  readonly vault: Vault;
  readonly keyUse: KeyUse | undefined;
}

/** More incidents than one name ever has that are open. */
const MAX_INCIDENTS = 100;

/** What the subcommands, forms and buttons need. */
function featureDeps({ config, seams, log, now, bus }: Site, parts: FeatureParts): SlackDeps {
  const { slack, stores, settings, vault, accounts, names, expiry, webhooks } = parts;
  const { web, bot, orgId, directory } = slack;
  const { prices, budgets, spending, portfolio, policies } = stores;
  const { apiUrl, botToken } = config.slack;
  const tagsOf = readTagsTouched(portfolio.tagsOf);
  const priceOf = createOrderPricer({ prices, now });
  const ruleFacts: SlackDeps['orders']['ruleFacts'] = {
    currency: config.currency,
    pricesOf: async (order) => amountsByName(await priceOf(order)),
    tagsOf: portfolio.tagsOf,
    namesFitting: stores.mandates.namesFitting,
  };
  const signing = createOrderSigning({
    use: parts.keyUse,
    readKeys: stores.keys.read,
    directory,
    policies: seams.policy ?? policies,
    readSettings: stores.savedSettings.all,
    settingsOf: (saved) => withSaved(config.team, saved),
    start: withSaved(config.team, {}),
    ruleFacts,
    now,
  });
  const orders: SlackDeps['orders'] = {
    store: stores.orders,
    vault,
    settings: signing.settings,
    signing,
    directory,
    now,
    priceOf,
    firstExpiry: stores.watchList.firstExpiry,
    policy: signing.policy,
    ruleFacts,
    standIns: stores.standIns,
    impactAtApproval: names.impacts.atApproval,
    impactWarnedAt: names.impacts.warnedAt,
    incidents: names.orderIncidents,
    lookAtBudgets: createBudgetLook({ teamId: bot.teamId, budgets, tagsOf, now }),
    isAdmin: (userId) => isAdminNow({ admins: config.admins, directory, log }, userId),
    interfacesOf: ({ method }) => credentialInterfaces(method, config.service.xmlUrl !== undefined),
    servicePlaces: config.service,
    clientFor: accounts.clientFor,
    findAccount: accounts.find,
  };
  const mandates: RunDeps = {
    ...orders,
    mandates: stores.mandates,
    budgetsOn: (day) => createBudgetLook({ teamId: bot.teamId, budgets, tagsOf, now: () => new Date(day) }),
    hasOpenIncident: async (name) =>
      (await stores.incidents.ofName(name, MAX_INCIDENTS)).some(isIncidentOpen),
    costOn: async (names, day) =>
      costOf(await prices.listOf([...new Set(names.map(zoneOf))]), { task: 'renew', names }, day),
    tagsTouched: tagsOf,
    accountOf: accounts.forOrders,
    log,
  };
  const cards = { orders: stores.orders, notifications: stores.notifications, now };
  return {
    web,
    directory,
    admins: config.admins,
    teamId: bot.teamId,
    orgId,
    accounts,
    orders,
    statementOf: (order) => readStatement(order, config.service),
    notifications: stores.notifications,
    expiry,
    names,
    portfolio,
    presets: stores.presets,
    facts: createFactChanges({
      ...orders,
      portfolio,
      pending: stores.pendingChanges.facts,
      budgets,
      mandateTags: () => tagsOfMandates(stores.orders, now()),
    }),
    events: stores.events,
    ledger: parts.ledger,
    prices,
    priceOf,
    standIns: stores.standIns,
    policies,
    pendingChanges: stores.pendingChanges,
    mandates,
    budgets,
    spending,
    tagsOf,
    currency: config.currency,
    notifyDue: () => void bus.emit('notificationsDue'),
    refreshWaitingCards: () =>
      refreshWaitingCards(cards).catch((err: unknown) => log.warn({ err }, 'showing cards again')),
    adoptCard: (orderId, message) => adoptCard(cards, orderId, message),
    offboard: parts.offboard,
    links: parts.links,
    homeTabs: createLatest('publishing a Home tab', log),
    readFile: createFileReader(botToken, apiUrl, MAX_CSV_BYTES),
    isSlackAddress: (address) => isSlackAddress(address, apiUrl),
    webhooks,
    settings,
    settingsStore: stores.savedSettings,
    linkTries: limitLinkTries(),
    defaultContext: config.service.defaultContext,
    now,
    log,
  };
}
