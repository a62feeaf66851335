import type { Account } from '../accounts/account.ts';
import { type Accounts, createAccounts } from '../accounts/accounts.ts';
import { createOrderSigning } from '../approvals/order-signing.ts';
import { createProposals } from '../approvals/proposals/proposals.ts';
import { createVerifier } from '../approvals/signing/assertion.ts';
import { listActiveKeys } from '../approvals/signing/key-ring.ts';
import { applySavedSettings } from '../config/settings.ts';
import { createExpiryTracker, type ExpiryTracker } from '../expiry/expiry.ts';
import { createAnchorFile } from '../ledger/anchor-file.ts';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { MAX_CSV_BYTES } from '../lib/csv.ts';
import { createMandateCheck } from '../mandates/overview.ts';
import { createBudgetComparer } from '../money/budget-comparison.ts';
import { createOrderPricer, mapAmountsByName } from '../money/order-cost.ts';
import { calculateCost, getZone } from '../money/prices.ts';
import type { NamesContext } from '../names/context.ts';
import { createNames, createNamesContext, type Names } from '../names/names.ts';
import { createObservers } from '../names/observers.ts';
import { createProtectedChanges } from '../names/protected-changes.ts';
import { runChecks } from '../ops/doctor/doctor.ts';
import { advanceOrder } from '../orders/advance.ts';
import type { OrdersContext, SendingContext } from '../orders/context.ts';
import { type OffboardingContext, offboard } from '../orders/offboarding.ts';
import type { KeyTrust } from '../orders/ports.ts';
import { tryBuildStatement } from '../orders/statement.ts';
import { createWebhooks, WEBHOOK_TIMEOUT_MS } from '../outbox/webhooks/webhooks.ts';
import { createTagLoader } from '../policy/subject.ts';
import { createRdapClient } from '../registry/rdap/client.ts';
import { createWhoisClient } from '../registry/whois/client.ts';
import type { Credential } from '../service/authenticator/signature.ts';
import { createServiceClient } from '../service/client.ts';
import { getCredentialInterfaces } from '../service/interfaces.ts';
import { createLinkLimiter } from '../slack/accounts/link.ts';
import { createAdminLoader, toDepartureSubject } from '../slack/admins/admins.ts';
import { createPageTexts } from '../slack/approvals/signing/page-texts.ts';
import type { SlackContext } from '../slack/context.ts';
import { formatCalendarEvent } from '../slack/expiry/calendar.view.ts';
import { isCurrentAdmin } from '../slack/feature.ts';
import { adoptCard } from '../slack/orders/order-messages.ts';
import { createFileReader } from '../slack/outbound/download.ts';
import { createUpdateQueue } from '../slack/outbound/latest.ts';
import { isSlackResponseUrl } from '../slack/outbound/response-url.ts';
import { createNotifier } from '../slack/planners.ts';
import { createSharedRead } from '../store/batch.ts';
import type { Stores } from '../store/stores.ts';
import { createCeremonies } from '../web/ceremony.ts';
import { createSigningLinks } from '../web/links.ts';
import { createPages } from '../web/routes.ts';
import { createLoop, createReconciler, type Loop, type Reconciler } from './reconcile.ts';
import type { Routes } from './server.ts';
import type { AppContext, Connections, Contexts } from './site.ts';

/** Low, because each lookup can open TLS connections for two certificates. */
const MAX_PARALLEL_LOOKUPS = 8;
const USER_AGENT = 'domain-steward (expiry watch list)';

type FeatureServices = Pick<
  SlackContext,
  | 'accounts'
  | 'ledger'
  | 'names'
  | 'orders'
  | 'expiry'
  | 'webhooks'
  | 'signingLinks'
  | 'offboard'
  | 'protectedChanges'
  | 'proposals'
  | 'loadSettings'
  | 'notifyDue'
>;

/** Builds the contexts. Starts nothing. */
export function composeContexts(appContext: AppContext, connections: Connections): Contexts {
  const { config, pace, metrics, now, log, shutdown } = appContext;
  const { slack, stores, vault, relyingParty, publicUrl, teamDefaults } = connections;
  const { teamId } = slack.bot;
  const hasService = config.service.jsonUrl !== undefined;
  const createClient = (credential: Credential) => {
    const { jsonUrl, ...service } = config.service;
    if (jsonUrl === undefined) throw new Error('no domain service is connected');
    return createServiceClient({ ...service, jsonUrl, credential, tokenSteps: stores.usedTokenSteps });
  };
  const accounts = createAccounts({ teamId, store: stores.accounts, vault, now, log, createClient });
  shutdown.onClose(() => accounts.close());
  const anchorFile = createAnchorFile(config.dataDir, teamId, log);
  const ledger = createLedger({ store: stores.ledger, key: connections.ledgerKey, anchorFile, now, log });
  const loadSettings = async () =>
    applySavedSettings(teamDefaults.current(), await stores.savedSettings.loadAll());
  const reconciler = createReconciler({
    ...pace,
    store: stores.orders,
    notifications: stores.notifications,
    advance: (orderId, lane) => advanceOrder(sendingContext, orderId, lane),
    notify: (subject, isClaimed) => notifySubject(subject, isClaimed),
    canRefresh: () => slack.pacer.hasCapacity('chat.update'),
    onFailed: metrics.countJobFailure,
    now,
    log,
  });
  const namesContext = composeNames(appContext, stores, reconciler);
  const names = createNames(namesContext);
  const observationLoop = createObservationLoop(appContext, names);
  const orders = composeOrders(appContext, connections, { accounts, names, ledger, reconciler });
  const expiry = createExpiryTracker({
    ...namesContext,
    watchList: stores.watchList,
    reminders: stores.reminders,
    feeds: stores.feeds,
    vault,
    teamId,
    publicUrl,
    formatEvent: (name) => formatCalendarEvent(name, hasService),
    loadMandateCheck: () => createMandateCheck(orders),
    settings: loadSettings,
    startLookups: () => {
      void reconciler.checkPublicRecords();
      void observationLoop.poll();
    },
  });
  const webhooks = createWebhooks({
    ...config.webhooks,
    store: stores.webhooks,
    timeoutMs: WEBHOOK_TIMEOUT_MS,
    now,
    log,
    signal: shutdown.backgroundSignal,
  });
  const signingLinks = createSigningLinks({ store: stores.links, publicUrl, relyingParty, now });
  const offboardingContext = composeOffboarding(appContext, connections, accounts, orders);
  const protectedChanges = createProtectedChanges({ ...orders, names: namesContext });
  const features = {
    accounts,
    ledger,
    names,
    orders,
    expiry,
    webhooks,
    signingLinks,
    loadSettings,
  };
  const slackContext = composeSlack(appContext, connections, {
    ...features,
    protectedChanges,
    proposals: createProposals({
      orders,
      store: stores.proposals,
      findNameConfirmers: protectedChanges.findConfirmers,
    }),
    offboard: (userId) => offboard(offboardingContext, userId),
    notifyDue: reconciler.pollNotifications,
  });
  const notifySubject = createNotifier(slackContext);
  const sendingContext = composeSending(appContext, orders, { accounts, names, expiry });
  return {
    slack: slackContext,
    sending: sendingContext,
    offboarding: offboardingContext,
    reconciler,
    observationLoop,
  };
}

function composeSending(
  { pace, processId, metrics, shutdown }: AppContext,
  orders: OrdersContext,
  { accounts, names, expiry }: { accounts: Accounts; names: Names; expiry: ExpiryTracker },
): SendingContext {
  return {
    ...orders,
    recordAcceptedCredential: accounts.recordAccepted,
    workerId: processId,
    leaseMs: pace.leaseMs,
    maxSendDelayMs: pace.maxSendDelayMs,
    wallClock: Date.now,
    recordRequestDuration: metrics.recordServiceRequest,
    updateWatchList: expiry.updateAfterOrder,
    findEvidence: names.findEvidence,
    lookUpAtRegistry: names.findConfirmation,
    lookUpDelegation: names.impacts.checkDelegation,
    sendingSignal: shutdown.sendingSignal,
    lookupSignal: shutdown.backgroundSignal,
  };
}

function createObservationLoop({ pace, metrics, log }: AppContext, names: Names): Loop {
  return createLoop({
    name: 'looking up names',
    concurrency: MAX_PARALLEL_LOOKUPS,
    periodMs: pace.periodMs,
    claim: names.claimDue,
    handle: names.lookUp,
    onFailed: () => metrics.countJobFailure('names'),
    log,
  });
}

function composeNames(
  { config, seams, pace: { spacingMs }, processId, now, log, shutdown }: AppContext,
  stores: Stores,
  { pollNotifications }: Reconciler,
): NamesContext {
  // All RDAP requests must use this client, because it enforces the registries' rate limits.
  const rdap = createRdapClient({
    bootstrapUrl: config.rdapBootstrapUrl,
    userAgent: USER_AGENT,
    now,
    ...(spacingMs === undefined ? {} : { spacingMs }),
  });
  shutdown.onClose(() => rdap.close());
  return createNamesContext({
    incidents: stores.incidents,
    pollNotifications,
    records: stores.names,
    impacts: stores.impacts,
    orders: stores.orders,
    portfolio: stores.portfolio,
    proposals: stores.proposals,
    budgets: stores.budgets,
    leases: stores.leases,
    processId,
    rdap,
    whois:
      config.whoisServers &&
      createWhoisClient({
        servers: config.whoisServers,
        now,
        ...(spacingMs === undefined ? {} : { spacingMs }),
      }),
    ...createObservers(config.dnsServers, now, seams.readCertificate, config.lookUpPrivateAddresses),
    certificateWarningDays: config.certificateDays,
    now,
    log,
    signal: shutdown.backgroundSignal,
  });
}

interface OrderDependencies {
  readonly accounts: Accounts;
  readonly names: Names;
  readonly ledger: Ledger;
  readonly reconciler: Reconciler;
}

function composeOrders(
  { config, seams, log, now }: AppContext,
  connections: Connections,
  { accounts, names, ledger, reconciler }: OrderDependencies,
): OrdersContext {
  const { slack, stores, vault } = connections;
  const { bot, directory } = slack;
  const { prices, budgets, portfolio } = stores;
  const priceOrder = createOrderPricer({ prices, now });
  const ruleFacts: OrdersContext['ruleFacts'] = {
    currency: config.currency,
    loadPrices: async (order) => mapAmountsByName(await priceOrder(order)),
    loadTags: portfolio.findTags,
    findMatchingNames: stores.mandates.findMatchingNames,
  };
  const trust = buildKeyTrust(config.signingRoots, connections);
  const areSigningEventsSealed = trust && createSharedRead(ledger.areSigningEventsSealed);
  const readSigningRows = () => stores.keys.readRows(areSigningEventsSealed);
  const { policy: policySource } = seams;
  const signing = createOrderSigning({
    trust,
    readRows:
      policySource === undefined
        ? readSigningRows
        : async () => ({ ...(await readSigningRows()), policy: await policySource.loadCurrentPolicy() }),
    directory,
    applySavedSettings: (saved) => applySavedSettings(connections.teamDefaults.current(), saved),
    environmentSettings: applySavedSettings(connections.teamDefaults.current(), {}),
    ruleFacts,
    now,
  });
  const budgetSources = { teamId: bot.teamId, budgets };
  return {
    store: stores.orders,
    advance: (order) => {
      // Updates the mandate's daily message, which shows the order.
      if (order.mandate !== undefined) void stores.mandates.requestMessageUpdate(order.id, now());
      reconciler.advance(order);
    },
    vault,
    loadSettings: signing.loadSettings,
    signing,
    policy: signing.policy,
    directory,
    ruleFacts,
    standIns: signing.standIns,
    priceOrder,
    priceRenewals: async (names, day) =>
      calculateCost(
        await prices.listForZones([...new Set(names.map(getZone))]),
        { task: 'renew', names },
        day,
      ),
    compareBudgets: createBudgetComparer({ ...budgetSources, now }),
    compareBudgetsOn: (day) => createBudgetComparer({ ...budgetSources, now: () => new Date(day) }),
    isAdmin: (userId) => isCurrentAdmin({ admins: config.admins, directory, log }, userId),
    findFirstExpiry: stores.watchList.findEarliestExpiry,
    checkImpact: names.impacts.assessAtApproval,
    recordImpactWarning: names.impacts.recordNotified,
    findLastImpactWarning: names.impacts.findLastWarningTime,
    incidents: names.orderIncidents,
    hasOpenIncident: async (name) => (await stores.incidents.listOpen([name])).length > 0,
    mandates: stores.mandates,
    loadAffectedTags: createTagLoader(portfolio.findTags),
    findAccount: accounts.find,
    findDefaultAccount: accounts.findDefault,
    listInterfaces: ({ method }) => getCredentialInterfaces(method, config.service.xmlUrl !== undefined),
    loadClient: accounts.loadClient,
    serviceEndpoints: config.service,
    now,
    log,
  };
}

function composeSlack(
  { config, pace, log, now, shutdown }: AppContext,
  { slack, stores, vault, databaseUrl }: Connections,
  features: FeatureServices,
): SlackContext {
  const { loadSettings } = features;
  const { web, bot, orgId, directory } = slack;
  const { apiUrl, botToken } = config.slack;
  const cardDeps = { orders: stores.orders, notifications: stores.notifications, now };
  return {
    ...stores,
    ...features,
    web,
    directory,
    hasService: config.service.jsonUrl !== undefined,
    admins: config.admins,
    adminsToNotify: createAdminLoader(config.admins, directory, log),
    teamId: bot.teamId,
    orgId,
    buildStatement: (order) => tryBuildStatement(order, config.service),
    notificationLeaseMs: pace.notificationLeaseMs,
    ...(pace.spacingMs === undefined ? {} : { pauseMs: pace.spacingMs }),
    nameRecords: stores.names,
    seals: stores.ledger,
    currency: config.currency,
    certificateDays: config.certificateDays,
    refreshPendingCards: () =>
      stores.orders
        .queuePendingMessageUpdates(now())
        .catch((err: unknown) => log.warn({ err }, 'updating cards failed')),
    adoptCard: (orderId, message) => adoptCard(cardDeps, orderId, message),
    homeTabUpdates: createUpdateQueue('publishing a Home tab', log),
    formUpdates: createUpdateQueue('updating an open form', log),
    readFile: createFileReader(botToken, apiUrl, MAX_CSV_BYTES),
    isSlackResponseUrl: (address) => isSlackResponseUrl(address, apiUrl),
    settingsStore: stores.savedSettings,
    runDoctor: async function* () {
      const database = { url: databaseUrl, accounts: stores.accounts };
      const options = { config, database, vault, web, now: () => new Date() };
      yield* runChecks({ ...options, settings: await loadSettings() });
    },
    linkAttempts: createLinkLimiter(),
    defaultContext: config.service.defaultContext,
    digestAbortSignal: shutdown.backgroundSignal,
    now,
    log,
  };
}

function composeOffboarding(
  { log, now }: AppContext,
  { slack, stores }: Connections,
  accounts: Accounts,
  { store, advance }: OrdersContext,
): OffboardingContext {
  return {
    store,
    advance,
    accounts,
    feeds: stores.feeds,
    keys: {
      listOwners: async () =>
        listActiveKeys((await stores.keys.readRows()).log.keys).map(({ owner }) => owner),
      revoke: (userId: string) => stores.keys.revokeForDeparture(userId, now()),
    },
    owners: {
      listOwners: stores.portfolio.listOwners,
      recordDeparture: (userId) => stores.portfolio.recordOwnerDeparture(userId, now()),
      recordReturn: stores.portfolio.recordOwnerReturn,
    },
    directory: slack.directory,
    alertTeamAccountOwnerLeft: (account: Account, userId: string) =>
      stores.notifications.addSubjectIfMissing(toDepartureSubject(account, userId), now()),
    now,
    log,
  };
}

/** Creates the handler for the signing pages. It serves no pages if WebAuthn doesn't work at `PUBLIC_URL`. */
export function createPageHandler(
  { now }: AppContext,
  { stores, relyingParty, teamDefaults }: Connections,
  slackContext: SlackContext,
): Routes['servePage'] {
  if (relyingParty === undefined) return async () => false;
  const { links, keys, policies, savedSettings } = stores;
  const ceremonies = createCeremonies({
    links,
    keys,
    relyingParty,
    policies,
    now,
    orders: slackContext.orders,
    onPolicyOrSettingsChanged: () => {
      slackContext.notifyDue();
      void slackContext.refreshPendingCards();
    },
    proposals: slackContext.proposals,
    loadSavedSettings: savedSettings.loadAll,
    applySavedSettings: (saved) => applySavedSettings(teamDefaults.current(), saved),
  });
  return createPages({ ceremonies, origin: relyingParty.origin, ...createPageTexts(slackContext) }).handle;
}

/**
 * If passkeys don't work at `PUBLIC_URL`, no signature is valid: a wrong setting must not turn signing off.
 * @returns undefined if `SIGNING_ROOTS` is empty
 */
function buildKeyTrust(
  roots: readonly string[],
  { relyingParty, ledgerKey }: Connections,
): KeyTrust | undefined {
  if (roots.length === 0) return undefined;
  return { roots: new Set(roots), verifier: createVerifier(relyingParty), botSigner: ledgerKey };
}
