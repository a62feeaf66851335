import { randomUUID } from 'node:crypto';
import type { Account } from '../accounts/account.ts';
import type { Witness } from '../approvals/charter.ts';
import { createVerifier, relyingPartyOf } from '../approvals/signing/assertion.ts';
import { activeKeys } from '../approvals/signing/key-ring.ts';
import type { Config } from '../config/environment.ts';
import { withSaved } from '../config/settings.ts';
import { createExpiry, type Expiry } from '../expiry/expiry.ts';
import { createLog, type Log } from '../lib/log.ts';
import { mandatesInTime } from '../mandates/overview.ts';
import type { PriceStore } from '../money/ports.ts';
import type { ProtectedChanges } from '../names/protected-changes.ts';
import type { SendingContext } from '../orders/context.ts';
import { createDepartureCheck, offboard } from '../orders/offboarding.ts';
import type { KeyUse } from '../orders/ports.ts';
import { markUnsentUnknown, startHeartbeat } from '../orders/restore-guard.ts';
import { createWebhooks, WEBHOOK_TIMEOUT_MS } from '../outbox/webhooks/webhooks.ts';
import { departureOf } from '../slack/admins/admins.ts';
import { pageWords } from '../slack/approvals/signing/page-words.ts';
import type { SlackContext } from '../slack/context.ts';
import { formatCalendarEvent } from '../slack/expiry/calendar.view.ts';
import { isSignedBySlack } from '../slack/inbound/slack-signature.ts';
import { createNotifier } from '../slack/planners.ts';
import { shareRead } from '../store/batch.ts';
import type { Stores } from '../store/stores.ts';
import { createCeremonies } from '../web/ceremony.ts';
import { createLinks } from '../web/links.ts';
import { createPages } from '../web/routes.ts';
import { createBus } from './bus.ts';
import { createJobHealth } from './job-health.ts';
import { jobsOf } from './jobs.ts';
import { createMetrics } from './metrics.ts';
import { createReadiness } from './readiness.ts';
import { PACE, type Seams } from './seams.ts';
import type { Routes } from './server.ts';
import { createShutdown } from './shutdown.ts';
import {
  checkSettingsLater,
  connectDatabase,
  connectSlack,
  noteMissingChannel,
  retryAtStart,
  type Site,
  slackMode,
  startApp,
  startServers,
} from './start.ts';
import { buildNames, openAccounts, openLedger, openVault, ordersContext, slackContext } from './use-cases.ts';
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
  readonly facts: ProtectedChanges;
  /** Looks for due work at once, instead of at the next turn: for clocks that jump. */
  catchUp(): Promise<void>;
  /** Ends work under way, or leaves it where it can be resumed. Takes at most 10 seconds. */
  stop(): Promise<void>;
}

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
  const { database, url, takeBackup } = await connectDatabase(site);
  const publicUrl = config.publicUrl ?? `http://localhost:${server.port}`;
  const canSign = config.signingRoots.length > 0 && relyingPartyOf(publicUrl) !== undefined;
  const vault = openVault(site);
  const { slack, stores, ledgerKey } = await connectSlack(site, database, { canSign, vault });
  const savedSettings = async () => withSaved(config.team, await stores.savedSettings.all());
  const accounts = openAccounts(site, stores, vault, slack.bot.teamId);
  const ledger = openLedger(site, stores, ledgerKey, slack.bot.teamId);
  const keyUse = keyUseOf(config.signingRoots, publicUrl, ledgerKey);
  const processId = randomUUID();
  const names = buildNames(site, stores, processId);
  const orders = ordersContext(site, {
    ...{ slack, stores, vault, accounts, names, keyUse },
    areSigningEventsSealed: shareRead(ledger.areSigningEventsSealed),
  });
  const expiry = createExpiry({
    store: stores.watchList,
    reminders: stores.reminders,
    feeds: stores.feeds,
    lookAtRegistry: names.lookAtRegistry,
    vault,
    teamId: slack.bot.teamId,
    publicUrl,
    formatEvent: formatCalendarEvent,
    mandated: () => mandatesInTime(orders),
    settings: savedSettings,
    namesAdded: () => void bus.emit('namesAdded'),
    now,
    log,
    signal: shutdown.looking,
  });
  // Runs before any work is taken.
  const guard = { ...orders, heartbeat: stores.heartbeat, processId };
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
  await retryAtStart('the database', log, site.signal, webhooks.serve);

  const leaving = {
    store: stores.orders,
    accounts,
    feeds: stores.feeds,
    keys: {
      owners: async () => activeKeys((await stores.keys.readRows()).log.keys).map(({ owner }) => owner),
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
  const deps = slackContext(site, {
    ...{ slack, stores, savedSettings, vault, accounts, orders, names, expiry, links, webhooks, ledger, url },
    offboard: (userId) => offboard(leaving, userId),
  });
  const pause = pace.spacingMs === undefined ? {} : { pauseMs: pace.spacingMs };
  const notify = createNotifier(deps);
  const execution: SendingContext = {
    ...orders,
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
  const { notifications, prices } = stores;
  // The message of its day says how an order stands by now.
  bus.on('orderChanged', ({ id, mandated }) => {
    if (mandated !== undefined) void stores.mandates.orderChanged(id, now());
  });
  const health = createJobHealth(now, site.metrics.jobFailed);
  readiness.watchDetail('jobs', async () => health.lastingFailures());
  readiness.watchDetail('channels', async () => {
    const refused = await notifications.refusedChannels();
    if (refused.length === 0) return undefined;
    return refused.map(({ channelId, code }) => `${channelId}: ${code}`).join(', ');
  });
  const jobs = jobsOf(site, {
    ...{ deps, stores, slack, ledger, webhooks, takeBackup },
    checkDepartures: createDepartureCheck({ ...leaving, signal: shutdown.looking, ...pause }),
  });
  for (const { name } of jobs) site.metrics.jobFailed(name, 0);
  const work = startWork({
    bus,
    execution,
    notifications,
    notify,
    mayRefresh: () => slack.pacer.hasRoom('chat.update'),
    names,
    webhooks,
    jobs,
    health,
    itemFailed: site.metrics.jobFailed,
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
  noteMissingChannel(log, savedSettings);
  shutdown.onClose(checkSettingsLater(site, slack, savedSettings));
  warnOfMovedKeys(log, stores, relyingPartyOf(publicUrl)?.id);
  const ports = { port: server.port, metricsPort: metricsServer.port };
  log.info({ ...ports, mode: slackMode(config).kind }, 'ready');
  let stopped: Promise<void> | undefined;
  return {
    ...ports,
    expiry,
    prices,
    facts: deps.facts,
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
  keys.readRows().then(
    ({ log: known }) => {
      const moved = activeKeys(known.keys).filter((key) => key.host !== host);
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
  }: { readonly stores: Stores; readonly deps: SlackContext; readonly publicUrl: string },
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
    facts: deps.facts,
    readSettings: savedSettings.all,
    settingsOf: (saved) => withSaved(config.team, saved),
  });
  return createPages({ ceremonies, origin: relyingParty.origin, ...pageWords(deps) }).handle;
}

/**
 * What keys are measured by; undefined without `SIGNING_ROOTS`. Where `PUBLIC_URL` doesn't allow passkeys, no signature counts: a
 * mistake there must not switch signatures off.
 */
function keyUseOf(
  roots: readonly string[],
  publicUrl: string,
  witness: Witness | undefined,
): KeyUse | undefined {
  if (roots.length === 0) return undefined;
  return { roots: new Set(roots), verifier: createVerifier(relyingPartyOf(publicUrl)), witness };
}
