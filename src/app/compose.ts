import type { Account } from '../accounts/account.ts';
import { type Accounts, createAccounts } from '../accounts/accounts.ts';
import { createOrderSigning } from '../approvals/order-signing.ts';
import { createProposals } from '../approvals/proposals/proposals.ts';
import { createVerifier } from '../approvals/signing/assertion.ts';
import { listActiveKeys } from '../approvals/signing/key-ring.ts';
import { applySavedSettings } from '../config/settings.ts';
import { createExpiry, type Expiry } from '../expiry/expiry.ts';
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
import { shareRead } from '../store/batch.ts';
import type { Stores } from '../store/stores.ts';
import { createCeremonies } from '../web/ceremony.ts';
import { createLinks } from '../web/links.ts';
import { createPages } from '../web/routes.ts';
import { createLoop, createReconciler, type Loop, type Reconciler } from './reconcile.ts';
import type { Routes } from './server.ts';
import type { AppContext, Connections, Contexts } from './site.ts';

/** Each lookup can read up to two certificates. */
const MAX_PARALLEL_LOOKUPS = 8;
const USER_AGENT = 'domain-steward (expiry watch list)';

type FeatureParts = Pick<
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
  | 'savedSettings'
  | 'notifyDue'
>;

/** Builds the contexts. Starts nothing. */
export function compose(appContext: AppContext, connections: Connections): Contexts {
  const { config, pace, metrics, now, log, shutdown } = appContext;
  const { slack, stores, vault, relyingParty, publicUrl, teamDefaults } = connections;
  const { teamId } = slack.bot;
  const hasService = config.service.jsonUrl !== undefined;
  const accounts = createAccounts({
    ...{ teamId, store: stores.accounts, vault, now, log },
    createClient: (credential) => {
      const { jsonUrl, ...service } = config.service;
      if (jsonUrl === undefined) throw new Error('no domain service is connected');
      return createServiceClient({ ...service, jsonUrl, credential, tokenSteps: stores.tokenSteps });
    },
  });
  shutdown.onClose(() => accounts.close());
  const anchorFile = createAnchorFile(config.dataDir, teamId, log);
  const ledger = createLedger({ store: stores.ledger, key: connections.ledgerKey, anchorFile, now, log });
  const savedSettings = async () =>
    applySavedSettings(teamDefaults.current(), await stores.savedSettings.loadAll());
  const reconciler = createReconciler({
    ...pace,
    store: stores.orders,
    notifications: stores.notifications,
    advance: (orderId, lane) => advanceOrder(sending, orderId, lane),
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
  const expiry = createExpiry({
    ...namesContext,
    watchList: stores.watchList,
    reminders: stores.reminders,
    feeds: stores.feeds,
    vault,
    teamId,
    publicUrl,
    formatEvent: (name) => formatCalendarEvent(name, hasService),
    loadMandateCheck: () => createMandateCheck(orders),
    settings: savedSettings,
    startLookups: () => {
      void reconciler.checkRecords();
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
  const signingLinks = createLinks({ store: stores.links, publicUrl, relyingParty, now });
  const offboarding = composeOffboarding(appContext, connections, accounts, orders);
  const protectedChanges = createProtectedChanges({ ...orders, names: namesContext });
  const slackContext = composeSlack(appContext, connections, {
    ...{ accounts, ledger, names, orders, expiry, webhooks, signingLinks, savedSettings },
    protectedChanges,
    proposals: createProposals({
      orders,
      store: stores.proposals,
      findNameConfirmers: protectedChanges.findConfirmers,
    }),
    offboard: (userId) => offboard(offboarding, userId),
    notifyDue: reconciler.notifyDue,
  });
  const notifySubject = createNotifier(slackContext);
  const sending = composeSending(appContext, orders, { accounts, names, expiry });
  return { slack: slackContext, sending, offboarding, reconciler, observationLoop };
}

function composeSending(
  { pace, processId, metrics, shutdown }: AppContext,
  orders: OrdersContext,
  { accounts, names, expiry }: { accounts: Accounts; names: Names; expiry: Expiry },
): SendingContext {
  return {
    ...orders,
    recordAcceptedCredential: accounts.recordAccepted,
    workerId: processId,
    leaseMs: pace.leaseMs,
    maxSendDelayMs: pace.maxSendDelayMs,
    wallClock: Date.now,
    recordDuration: metrics.recordServiceRequest,
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
    work: names.lookUp,
    onFailed: () => metrics.countJobFailure('names'),
    log,
  });
}

function composeNames(
  { config, seams, pace: { spacingMs }, processId, now, log, shutdown }: AppContext,
  stores: Stores,
  { notifyDue: pollNotifications }: Reconciler,
): NamesContext {
  // The only client for registries, so that its rate limits cover all requests.
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
    certificateDays: config.certificateDays,
    now,
    log,
    signal: shutdown.backgroundSignal,
  });
}

interface OrderParts {
  readonly accounts: Accounts;
  readonly names: Names;
  readonly ledger: Ledger;
  readonly reconciler: Reconciler;
}

function composeOrders(
  { config, seams, log, now }: AppContext,
  connections: Connections,
  { accounts, names, ledger, reconciler }: OrderParts,
): OrdersContext {
  const { slack, stores, vault } = connections;
  const { bot, directory } = slack;
  const { prices, budgets, portfolio } = stores;
  const readTags = createTagLoader(portfolio.findTags);
  const priceOrder = createOrderPricer({ prices, now });
  const ruleFacts: OrdersContext['ruleFacts'] = {
    currency: config.currency,
    loadPrices: async (order) => mapAmountsByName(await priceOrder(order)),
    loadTags: portfolio.findTags,
    findMatchingNames: stores.mandates.findMatchingNames,
  };
  const trust = buildKeyTrust(config.signingRoots, connections);
  const areSigningEventsSealed = trust && shareRead(ledger.areSigningEventsSealed);
  const readRows = () => stores.keys.readRows(areSigningEventsSealed);
  const { policy } = seams;
  const signing = createOrderSigning({
    trust,
    readRows:
      policy === undefined
        ? readRows
        : async () => ({ ...(await readRows()), policy: await policy.current() }),
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
      // The daily message about the mandate shows the order.
      if (order.mandate !== undefined) void stores.mandates.requestUpdate(order.id, now());
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
    findFirstExpiry: stores.watchList.findFirstExpiry,
    checkImpact: names.impacts.assessAtApproval,
    recordImpactWarning: names.impacts.recordNotified,
    findLastImpactWarning: names.impacts.findLastWarningTime,
    incidents: names.orderIncidents,
    hasOpenIncident: async (name) => (await stores.incidents.listOpen([name])).length > 0,
    mandates: stores.mandates,
    loadAffectedTags: readTags,
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
  features: FeatureParts,
): SlackContext {
  const { savedSettings } = features;
  const { web, bot, orgId, directory } = slack;
  const { apiUrl, botToken } = config.slack;
  const cards = { orders: stores.orders, notifications: stores.notifications, now };
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
      stores.orders.refreshPending(now()).catch((err: unknown) => log.warn({ err }, 'updating cards failed')),
    adoptCard: (orderId, message) => adoptCard(cards, orderId, message),
    homeTabUpdates: createUpdateQueue('publishing a Home tab', log),
    formUpdates: createUpdateQueue('updating an open form', log),
    readFile: createFileReader(botToken, apiUrl, MAX_CSV_BYTES),
    isSlackResponseUrl: (address) => isSlackResponseUrl(address, apiUrl),
    settingsStore: stores.savedSettings,
    runDoctor: async function* () {
      const database = { url: databaseUrl, accounts: stores.accounts };
      const options = { config, database, vault, web, now: () => new Date() };
      yield* runChecks({ ...options, settings: await savedSettings() });
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
      recordLeft: (userId) => stores.portfolio.recordOwnerLeft(userId, now()),
      recordReturned: stores.portfolio.recordOwnerReturned,
    },
    directory: slack.directory,
    alertTeamAccountOwnerLeft: (account: Account, userId: string) =>
      stores.notifications.addIfMissing(toDepartureSubject(account, userId), now()),
    now,
    log,
  };
}

/** Creates the handler of the signing pages. It serves none if WebAuthn doesn't work at `PUBLIC_URL`. */
export function createPageHandler(
  { now }: AppContext,
  { stores, relyingParty, teamDefaults }: Connections,
  deps: SlackContext,
): Routes['page'] {
  if (relyingParty === undefined) return async () => false;
  const { links, keys, policies, savedSettings } = stores;
  const ceremonies = createCeremonies({
    ...{ links, keys, relyingParty, policies, now },
    orders: deps.orders,
    onRulesChanged: () => {
      deps.notifyDue();
      void deps.refreshPendingCards();
    },
    proposals: deps.proposals,
    loadSavedSettings: savedSettings.loadAll,
    applySavedSettings: (saved) => applySavedSettings(teamDefaults.current(), saved),
  });
  return createPages({ ceremonies, origin: relyingParty.origin, ...createPageTexts(deps) }).handle;
}

/**
 * If passkeys don't work at `PUBLIC_URL`, no signature is valid: a wrong setting must not turn signing off.
 * @returns undefined without `SIGNING_ROOTS`
 */
function buildKeyTrust(
  roots: readonly string[],
  { relyingParty, ledgerKey }: Connections,
): KeyTrust | undefined {
  if (roots.length === 0) return undefined;
  return { roots: new Set(roots), verifier: createVerifier(relyingParty), botSigner: ledgerKey };
}
