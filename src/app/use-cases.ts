import { type Accounts, createAccounts } from '../accounts/accounts.ts';
import { createMissingKeyLog } from '../accounts/missing-keys.ts';
import { createVault, type Vault } from '../accounts/vault.ts';
import { createOrderSigning } from '../approvals/order-signing.ts';
import { withSaved } from '../config/settings.ts';
import { createAnchorFile } from '../ledger/anchor-file.ts';
import type { LedgerKey } from '../ledger/key.ts';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { createTimestamping } from '../ledger/timestamping.ts';
import { MAX_CSV_BYTES } from '../lib/csv.ts';
import { mandatesInForce } from '../mandates/life.ts';
import { createBudgetLook } from '../money/budget-look.ts';
import { amountsByName, createOrderPricer } from '../money/order-cost.ts';
import { costOf, zoneOf } from '../money/prices.ts';
import { createNames, type Names } from '../names/names.ts';
import { createObservers } from '../names/observers.ts';
import { createProtectedChanges } from '../names/protected-changes.ts';
import { examine } from '../ops/doctor/doctor.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { KeyUse } from '../orders/ports.ts';
import { readStatement } from '../orders/statement.ts';
import { readTagsTouched } from '../policy/subject.ts';
import { createRdapClient } from '../registry/rdap/client.ts';
import { createServiceClient } from '../service/client.ts';
import { credentialInterfaces } from '../service/interfaces.ts';
import { limitLinkTries } from '../slack/accounts/link.ts';
import { createAdminsToNotify } from '../slack/admins/admins.ts';
import type { SlackContext } from '../slack/context.ts';
import { isAdminNow } from '../slack/feature.ts';
import { adoptCard } from '../slack/orders/order-messages.ts';
import { createFileReader } from '../slack/outbound/download.ts';
import { createLatest } from '../slack/outbound/latest.ts';
import { isSlackAddress } from '../slack/outbound/response-url.ts';
import type { Stores } from '../store/stores.ts';
import { PACE } from './seams.ts';
import type { Site, Slack } from './start.ts';

/** The `User-Agent` of requests to registries. */
const USER_AGENT = 'domain-steward (expiry watch list)';

export function openVault({ config, log, now, metrics }: Site): Vault {
  const logMissingKey = createMissingKeyLog(log, now);
  return createVault(config.credentialsKeys, (keyId) => {
    logMissingKey(keyId);
    metrics.unknownKey();
  });
}

/** The linked accounts, and the clients of the service that use them. */
export function openAccounts(
  { config, log, now, shutdown }: Site,
  stores: Stores,
  vault: Vault,
  teamId: string,
): Accounts {
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
  return accounts;
}

/** The ledger over the log. Without its key everything else works, and what is not sealed is told. */
export function openLedger(
  { config, log, now, shutdown }: Site,
  stores: Stores,
  key: LedgerKey | undefined,
  teamId: string,
): Ledger & { readonly stamp: () => Promise<void> } {
  const common = { store: stores.ledger, now, log };
  const memory = createAnchorFile(config.dataDir, teamId, log);
  return {
    ...createLedger({ ...common, key, memory }),
    stamp: createTimestamping({ ...common, url: config.ledgerTsaUrl, signal: shutdown.looking }),
  };
}

/** The use cases of names: what registries and the DNS show, impact and incidents. */
export function buildNames(
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
export interface FeatureParts
  extends Pick<
    SlackContext,
    | 'ledger'
    | 'savedSettings'
    | 'accounts'
    | 'orders'
    | 'names'
    | 'expiry'
    | 'webhooks'
    | 'offboard'
    | 'links'
  > {
  readonly slack: Slack;
  readonly stores: Stores;
  readonly vault: Vault;
  /** The database's address. */
  readonly url: string;
}

/** Builds the context of orders, approvals and mandates. */
export function ordersContext(
  { config, seams, log, now }: Site,
  parts: {
    readonly slack: Slack;
    readonly stores: Stores;
    readonly vault: Vault;
    readonly accounts: Accounts;
    readonly names: Names;
    readonly keyUse: KeyUse | undefined;
    readonly areSigningEventsSealed: () => Promise<boolean>;
  },
): OrdersContext {
  const { slack, stores, vault, accounts, names } = parts;
  const { bot, directory } = slack;
  const { prices, budgets, portfolio, policies } = stores;
  const tagsOf = readTagsTouched(portfolio.tagsOf);
  const priceOf = createOrderPricer({ prices, now });
  const ruleFacts: OrdersContext['ruleFacts'] = {
    currency: config.currency,
    pricesOf: async (order) => amountsByName(await priceOf(order)),
    tagsOf: portfolio.tagsOf,
    namesFitting: stores.mandates.namesFitting,
  };
  const signing = createOrderSigning({
    use: parts.keyUse,
    readRows: () => stores.keys.readRows(parts.areSigningEventsSealed),
    directory,
    policies: seams.policy ?? policies,
    readSettings: stores.savedSettings.all,
    settingsOf: (saved) => withSaved(config.team, saved),
    start: withSaved(config.team, {}),
    ruleFacts,
    now,
  });
  const budgetLook = { teamId: bot.teamId, budgets, tagsOf };
  return {
    store: stores.orders,
    vault,
    settings: signing.settings,
    signing,
    policy: signing.policy,
    directory,
    ruleFacts,
    standIns: stores.standIns,
    priceOf,
    costOn: async (names, day) =>
      costOf(await prices.listOf([...new Set(names.map(zoneOf))]), { task: 'renew', names }, day),
    lookAtBudgets: createBudgetLook({ ...budgetLook, now }),
    budgetsOn: (day) => createBudgetLook({ ...budgetLook, now: () => new Date(day) }),
    isAdmin: (userId) => isAdminNow({ admins: config.admins, directory, log }, userId),
    firstExpiry: stores.watchList.firstExpiry,
    impactAtApproval: names.impacts.atApproval,
    impactTold: names.impacts.told,
    impactWarnedAt: names.impacts.warnedAt,
    incidents: names.orderIncidents,
    hasOpenIncident: async (name) => (await stores.incidents.openOf([name])).length > 0,
    mandates: stores.mandates,
    tagsTouched: tagsOf,
    findAccount: accounts.find,
    accountOf: accounts.forOrders,
    interfacesOf: ({ method }) => credentialInterfaces(method, config.service.xmlUrl !== undefined),
    clientFor: accounts.clientFor,
    servicePlaces: config.service,
    now,
    log,
  };
}

/** Builds the context of features. */
export function slackContext(site: Site, parts: FeatureParts): SlackContext {
  const { config, log, now, bus, shutdown } = site;
  const { pace = PACE } = site.seams;
  const { slack, stores, savedSettings, vault, accounts, orders, names, expiry, webhooks } = parts;
  const { web, bot, orgId, directory } = slack;
  const { prices, budgets, spending, portfolio, policies } = stores;
  const { apiUrl, botToken } = config.slack;
  const cards = { orders: stores.orders, notifications: stores.notifications, now };
  return {
    web,
    directory,
    admins: config.admins,
    adminsToNotify: createAdminsToNotify(config.admins, directory, log),
    teamId: bot.teamId,
    orgId,
    accounts,
    orders,
    statementOf: (order) => readStatement(order, config.service),
    notifications: stores.notifications,
    notificationLeaseMs: pace.notificationLeaseMs,
    ...(pace.spacingMs === undefined ? {} : { pauseMs: pace.spacingMs }),
    expiry,
    watchList: stores.watchList,
    reminders: stores.reminders,
    incidents: stores.incidents,
    nameRecords: stores.names,
    names,
    portfolio,
    presets: stores.presets,
    facts: createProtectedChanges({
      ...orders,
      portfolio,
      pending: stores.pendingChanges.facts,
      budgets,
      orders: stores.orders,
      incidents: stores.incidents,
      mandatesInForce: () => mandatesInForce(orders, 'system'),
    }),
    events: stores.events,
    ledger: parts.ledger,
    seals: stores.ledger,
    prices,
    standIns: stores.standIns,
    policies,
    pendingChanges: stores.pendingChanges,
    budgets,
    spending,
    moneyReports: stores.moneyReports,
    currency: config.currency,
    notifyDue: () => void bus.emit('notificationsDue'),
    refreshWaitingCards: () =>
      stores.orders.refreshPending(now()).catch((err: unknown) => log.warn({ err }, 'showing cards again')),
    adoptCard: (orderId, message) => adoptCard(cards, orderId, message),
    offboard: parts.offboard,
    links: parts.links,
    homeTabs: createLatest('publishing a Home tab', log),
    openForms: createLatest('changing an open form', log),
    readFile: createFileReader(botToken, apiUrl, MAX_CSV_BYTES),
    isSlackAddress: (address) => isSlackAddress(address, apiUrl),
    webhooks,
    savedSettings,
    settingsStore: stores.savedSettings,
    examine: async function* () {
      const database = { url: parts.url, accounts: stores.accounts };
      const site = { config, database, vault, web, now: () => new Date() };
      yield* examine({ ...site, settings: await savedSettings() });
    },
    linkTries: limitLinkTries(),
    defaultContext: config.service.defaultContext,
    stopLooking: shutdown.looking,
    now,
    log,
  };
}
