import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { EmbeddedPostgresError } from '@domain-steward/embedded-postgres';
import { createAccounts } from './accounts/accounts.ts';
import { createMissingKeyLog } from './accounts/missing-keys.ts';
import { createVault } from './accounts/vault.ts';
import { cacheFor } from './computed-cache.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { type CrashPoint, withCrashPoints } from './crash-points.ts';
import { createExpiry, type Expiry } from './expiry/expiry.ts';
import { createLog, type Log } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createNames } from './names/names.ts';
import { createObservers } from './names/observers.ts';
import { advance } from './orders/advance.ts';
import { LEASE_MS, SEND_WITHIN_MS } from './orders/execute.ts';
import { keepOffboarding, offboard } from './orders/offboarding.ts';
import type { Order } from './orders/order.ts';
import { createOrders } from './orders/orders.ts';
import { markUnsentUnknown, startHeartbeat } from './orders/restore-guard.ts';
import { createRdapClient } from './rdap/client.ts';
import { createLoop, createReconciler, type Reconciler, type Repeated, repeat } from './reconcile.ts';
import { type HttpServer, type Readiness, startMetricsServer, startServer } from './server.ts';
import { createServiceClient } from './service/client.ts';
import { withSaved } from './settings.ts';
import { createGroupAlert } from './slack/admins.ts';
import { createSlackApp, type SlackApp } from './slack/app.ts';
import { createDigestPoster } from './slack/digest-messages.ts';
import { createDirectory, type SlackDirectory } from './slack/directory.ts';
import { adoptCard, NOTIFICATION_LEASE_MS, notifyOrder } from './slack/order-messages.ts';
import { createLimiter, HOUR_MS } from './slack/platform/limiter.ts';
import { isSlackAddress } from './slack/platform/response-url.ts';
import { isSignedBySlack } from './slack/platform/signature.ts';
import { createSlackWeb, SlackApiError } from './slack/platform/web.ts';
import { findDatabase, identify, migrateDatabase, retryAtStart, StartError, slackMode } from './start.ts';
import { createAccountStore } from './store/accounts.ts';
import { openDatabase } from './store/database.ts';
import { createWatchListStore } from './store/domains.ts';
import { createFeedStore } from './store/feeds.ts';
import { createHeartbeat } from './store/heartbeat.ts';
import { MigrationError } from './store/migrate.ts';
import { createImpactStore, createObservationStore } from './store/observations.ts';
import { createOrderStore } from './store/orders.ts';
import { type DatabaseProbe, openProbe } from './store/probe.ts';
import { createReminderStore } from './store/reminders.ts';
import { createSettingsStore } from './store/settings.ts';
import { createTokenStepStore } from './store/token-steps.ts';

/** What tests may put in place of the real thing. */
export interface Overrides {
  /** The clock that orders and expiry go by. Signatures, tokens and sessions follow real time, as their other ends do. */
  readonly now?: () => Date;
  readonly log?: Log;
  /** Address that the HTTP server listens on; every one of the machine when left out. */
  readonly host?: string;
  /** Commands that one person may use in a minute. */
  readonly commandsPerMinute?: number;
  /** How many times faster what a dead process left behind is taken up. */
  readonly speedup?: number;
  /** Between two requests to one registry, and between two messages of a digest, in milliseconds. */
  readonly spacingMs?: number;
  /** Gives a start up that is still waiting for something. */
  readonly signal?: AbortSignal;
  /** Told when the process reaches a moment at which a crash would hurt most. */
  readonly atCrashPoint?: (point: CrashPoint) => void;
}

/** A running bot. */
export interface Bot {
  /** Where its HTTP server listens. */
  readonly port: number;
  /** Where its metrics are served. */
  readonly metricsPort: number;
  readonly expiry: Expiry;
  /** Looks at once for what is due, instead of at the next turn: for clocks that jump. */
  catchUp(): Promise<void>;
  /** Ends work under way or leaves it where it can be resumed; takes at most 10 seconds. */
  stop(): Promise<void>;
}

/** How the registries are told who asks. */
const USER_AGENT = 'domain-steward (expiry watch list)';
/** How long a jump of the clock waits for the registries before it looks at what is due. */
const CATCH_UP_MS = 10_000;
/** Credentials that the service refuses, of one person. */
const LINK_TRIES_PER_HOUR = 10;
/** Metrics and readiness are computed at most this often, however many ask. */
const READINESS_CACHE_MS = 1_000;
/** Between two looks for what is due: a lost wake-up costs no more. */
const PERIOD_MS = 2_000;
const DIGEST_MS = 60_000;
const PURGE_MS = 10_000;
/** Names of the watch list are found by the observation after this at the latest. */
const FOLLOW_WATCH_LIST_MS = 5 * 60_000;
/** Names that one process looks at at once. */
const OBSERVED_AT_ONCE = 8;
/** Shutdown in all takes at most 10 s: work under way gets this long, then requests are given up. */
const DRAIN_MS = 5_000;
const FINAL_NOTIFICATIONS_MS = 1_500;
const LAST_BEAT_MS = 1_000;
/** Before whoever sent the signal loses patience. */
const STOP_MS = 9_500;

/**
 * Builds the bot out of its parts and starts it. The only place that knows all of them.
 * @throws {StartError} with what the operator has to do
 */
export async function startBot(config: Config, overrides: Overrides = {}): Promise<Bot> {
  const now = overrides.now ?? (() => new Date());
  const log = overrides.log ?? createLog(config.logLevel);
  const { signal = new AbortController().signal } = overrides;
  const missing: Record<string, string> = { database: 'not connected yet', slack: 'not connected yet' };
  const closers: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) {
      await close().catch((err: unknown) => log.error({ err }, 'closing a part'));
    }
  };

  let probe: DatabaseProbe | undefined;
  let slackApp: SlackApp | undefined;
  let expiry: Expiry | undefined;
  const measured = createMetrics({ orders: async () => probe?.figures(now()) });
  const readMetrics = cacheFor(READINESS_CACHE_MS, async () => ({
    contentType: measured.contentType,
    text: await measured.text(),
  }));
  const databaseAnswers = cacheFor(READINESS_CACHE_MS, async () => (await probe?.ping()) ?? true);
  const { signingSecret } = config.slack;
  const { metricsPort } = config;
  const listen = { log, ...(overrides.host === undefined ? {} : { host: overrides.host }) };
  const server: HttpServer = await startServer({
    ...listen,
    port: config.port,
    calendar: async (token) => expiry?.openFeed(token),
    isSigned: (headers, body) => signingSecret !== undefined && isSignedBySlack(signingSecret, headers, body),
    slack: () => (slackApp?.connected() === true ? slackApp.requestListener : undefined),
    metrics: metricsPort === undefined ? readMetrics : undefined,
    readiness: () => readiness(missing, databaseAnswers, slackApp),
  }).catch((cause: unknown) => refusePort('PORT', config.port, cause));
  closers.push(() => server.close());

  try {
    const metricsServer =
      metricsPort === undefined
        ? undefined
        : await startMetricsServer({ ...listen, port: metricsPort, metrics: readMetrics }).catch(
            (cause: unknown) => refusePort('METRICS_PORT', metricsPort, cause),
          );
    if (metricsServer !== undefined) closers.push(() => metricsServer.close());
    const databaseUrl = await findDatabase(config, log, closers);
    await retryAtStart('the database', log, signal, async () => migrateDatabase(databaseUrl, log));
    const db = openDatabase({ url: databaseUrl, log });
    closers.push(() => db.close());
    const probing = openProbe({ url: databaseUrl, log });
    probe = probing;
    closers.push(() => probing.close());
    delete missing['database'];

    const { atCrashPoint } = overrides;
    let reconciler: Reconciler | undefined;
    const kept = createOrderStore(db, (order) => reconciler?.changed(order));
    const store = atCrashPoint === undefined ? kept : withCrashPoints(kept, atCrashPoint);
    const settingsStore = createSettingsStore(db);
    const watchList = createWatchListStore(db);
    const settings = async () => withSaved(config.team, await settingsStore.all());
    const logMissingKey = createMissingKeyLog(log, now);
    const vault = createVault(config.credentialsKeys, (keyId) => {
      logMissingKey(keyId);
      measured.unknownKey();
    });

    const web = createSlackWeb(config.slack.botToken, config.slack.apiUrl, measured.slackCall);
    const accountStore = createAccountStore(db);
    const [bot] = await Promise.all([
      retryAtStart('Slack', log, signal, () => identify(web)),
      // Prisma compiles a query when it is first made: not within the three seconds that somebody's command has.
      Promise.allSettled([settingsStore.all(), accountStore.list('', ''), accountStore.find('')]),
    ]);
    const directory: SlackDirectory = createDirectory(web, bot.teamId, {
      onUnreadableGroup: (groupId, problem) => alertOfGroup(groupId, problem),
    });
    const alertOfGroup = createGroupAlert({ web, directory, admins: config.admins, now, log });
    const tokenSteps = createTokenStepStore(db);
    const accounts = createAccounts({
      teamId: bot.teamId,
      store: accountStore,
      vault,
      now,
      log,
      createClient: (credential) =>
        createServiceClient({
          jsonUrl: config.service.jsonUrl,
          xmlUrl: config.service.xmlUrl,
          credential,
          jsonAuth: config.service.auth,
          xmlAuth: config.service.xmlAuth,
          sessionPlace: config.service.sessionPlace,
          sessionMinutes: config.service.sessionMinutes,
          timeoutMs: config.service.timeout,
          replyTo: config.service.replyTo,
          tokenSteps,
        }),
    });
    closers.push(() => accounts.close());
    const orders = createOrders({
      store,
      vault,
      settings,
      directory,
      now,
      clientFor: accounts.clientFor,
      findAccount: accounts.find,
    });
    const { speedup: hurry = 1 } = overrides;
    const notifier = {
      web,
      directory,
      orders: store,
      messages: store,
      settings,
      // Orders are shown once it is there.
      impacts: { forCard: (order: Order) => names.impacts.forCard(order) },
      now,
      log,
      leaseMs: NOTIFICATION_LEASE_MS / hurry,
    };
    const stopWork = new AbortController();
    // Every request under way listens to it.
    setMaxListeners(0, stopWork.signal);
    const processId = randomUUID();
    const execution = {
      store,
      vault,
      now,
      log,
      clientFor: accounts.clientFor,
      findAccount: accounts.find,
      directory,
      accepted: accounts.accepted,
      workerId: processId,
      leaseMs: LEASE_MS / hurry,
      sendWithinMs: SEND_WITHIN_MS / hurry,
      observe: measured.serviceRequest,
    };

    const { spacingMs } = overrides;
    const rdap = createRdapClient({
      bootstrapUrl: config.rdapBootstrapUrl,
      userAgent: USER_AGENT,
      now,
      ...(spacingMs === undefined ? {} : { spacingMs }),
    });
    closers.push(() => rdap.close());
    const stopExpiry = new AbortController();
    const feeds = createFeedStore(db);
    let refreshing: Repeated | undefined;
    let following: Repeated | undefined;
    const expiring = createExpiry({
      store: watchList,
      reminders: createReminderStore(db),
      feeds,
      rdap,
      poster: createDigestPoster({ web, directory, admins: config.admins }),
      vault,
      teamId: bot.teamId,
      publicUrl: config.publicUrl ?? `http://localhost:${server.port}`,
      settings,
      loadOrder: store.load,
      requestRefresh: () => {
        void refreshing?.now();
        void reconciler?.askRecords();
        void following?.now();
      },
      now,
      log,
      ...(spacingMs === undefined ? {} : { pauseMs: spacingMs }),
      signal: stopExpiry.signal,
    });
    expiry = expiring;
    const names = createNames({
      store: createObservationStore(db, bot.teamId),
      impacts: createImpactStore(db, bot.teamId),
      orders: store,
      expiry: expiring,
      rdap,
      ...createObservers(config.dnsServers, now),
      now,
      log,
      signal: stopExpiry.signal,
    });
    // Before any work is taken.
    const guard = { store, heartbeat: createHeartbeat(db), now, log, processId };
    const known = await retryAtStart('the database', log, signal, () => markUnsentUnknown(guard));
    const heartbeat = startHeartbeat(guard, known);
    closers.push(async () => heartbeat.stop());

    const advancing = {
      ...execution,
      follow: expiring.follow,
      lookForEvidence: expiring.evidence,
      lookWhetherShown: expiring.isShown,
      stopSending: stopWork.signal,
      stopLooking: stopExpiry.signal,
    };
    const reconciling = createReconciler({
      store,
      advance: (orderId) => advance(advancing, orderId),
      show: (orderId, isClaimed) => notifyOrder(notifier, orderId, isClaimed),
      leaseMs: execution.leaseMs,
      showLeaseMs: notifier.leaseMs,
      periodMs: PERIOD_MS / hurry,
      now,
      log,
    });
    reconciler = reconciling;
    closers.push(async () => reconciling.stop());
    reconciling.start();
    const repeated = (name: string, everyMs: number, work: () => Promise<unknown>) => {
      const repetition = repeat({ name, everyMs, work, log });
      closers.push(async () => repetition.stop());
      return repetition;
    };
    // What is due is told by the rows and the settings, not by the tick: replicas share it.
    const observing = createLoop({
      name: 'looking at names',
      parallel: OBSERVED_AT_ONCE,
      periodMs: PERIOD_MS / hurry,
      claim: names.claimDue,
      work: names.look,
      log,
    });
    closers.push(async () => observing.stop());
    observing.start();
    following = repeated('following the watch list', FOLLOW_WATCH_LIST_MS, async () => {
      await names.followWatchList();
      await observing.look();
    });
    refreshing = repeated('looking names up', PERIOD_MS, expiring.refresh);
    const posting = repeated('posting reminders', DIGEST_MS, expiring.digest);
    const purging = repeated('purging what has run out', PURGE_MS / hurry, () => store.purgeExpired(now()));
    accounts.reseal().then(
      (count) => count > 0 && log.info({ count }, 'sealed credentials with the current key'),
      (err: unknown) => log.error({ err }, 'sealing credentials with the current key'),
    );

    const leaving = { store, accounts, feeds, directory, now, log };
    const offboarding = keepOffboarding({
      ...leaving,
      signal: stopExpiry.signal,
      ...(spacingMs === undefined ? {} : { pauseMs: spacingMs }),
    });
    closers.push(async () => offboarding.stop());

    const app = createSlackApp({
      deps: {
        teamId: bot.teamId,
        accounts,
        orders,
        expiry: expiring,
        names,
        audit: store,
        adoptCard: (orderId, message) => adoptCard(notifier, orderId, message),
        directory,
        offboard: (userId) => offboard(leaving, userId),
        web,
        isSlackAddress: (address) => isSlackAddress(address, config.slack.apiUrl),
        settings,
        settingsStore,
        admins: config.admins,
        linkTries: createLimiter(LINK_TRIES_PER_HOUR, HOUR_MS),
        defaultContext: config.service.defaultContext,
        now,
        log,
      },
      botToken: config.slack.botToken,
      botUserId: bot.userId,
      apiUrl: config.slack.apiUrl,
      mode: slackMode(config),
      acknowledged: measured.acknowledged,
      ...(overrides.commandsPerMinute === undefined
        ? {}
        : { commandsPerMinute: overrides.commandsPerMinute }),
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
    slackApp = app;
    delete missing['slack'];
    // It works already: a database that is slow at this moment must not end it.
    settings().then(
      ({ reminderChannel }) =>
        reminderChannel === undefined &&
        log.info('REMINDER_CHANNEL is not set: nobody is reminded of names that expire'),
      (err: unknown) => log.warn({ err }, 'looking where reminders go'),
    );
    log.info({ port: server.port, metricsPort: metricsServer?.port, mode: slackMode(config).kind }, 'ready');

    const stopCleanly = () =>
      heartbeat.stopCleanly().catch((err: unknown) => log.warn({ err }, 'saying that the bot stops'));
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      missing['shutdown'] = 'shutting down';
      reconciling.stop();
      observing.stop();
      offboarding.stop();
      for (const each of [refreshing, following, posting, purging]) each?.stop();
      // Look-ups and digests are resumed where they were left.
      stopExpiry.abort();
      const working = [reconciling, observing, refreshing, following, posting, purging];
      const idle = Promise.all(working.map((each) => each?.idle())).then(() => true);
      const drained = await Promise.all([
        app.stop(DRAIN_MS),
        Promise.race([idle, sleep(DRAIN_MS, false, { ref: false })]),
      ]);
      // What is still under way is given up; what was sent becomes UNKNOWN and is settled by a person.
      stopWork.abort();
      // What still may be sent leaves the next start something to doubt.
      if (!drained.includes(false) || (await Promise.race([idle, sleep(FINAL_NOTIFICATIONS_MS, false)])))
        await Promise.race([stopCleanly(), sleep(LAST_BEAT_MS)]);
      await closeAll();
      log.info('stopped');
    };
    return {
      port: server.port,
      metricsPort: metricsServer?.port ?? server.port,
      expiry: expiring,
      catchUp: async () => {
        const looking = Promise.all([
          reconciling.catchUp(),
          offboarding.lookIfDue(),
          refreshing?.now(),
          following?.now(),
          purging.now(),
        ]);
        await Promise.race([looking, sleep(CATCH_UP_MS, undefined, { ref: false })]);
        await expiring.digest();
      },
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** @throws {StartError} always */
function refusePort(variable: string, port: number, cause: unknown): never {
  throw new StartError(
    `The HTTP server cannot listen on ${variable} ${port}: ${cause instanceof Error ? cause.message : String(cause)}. Choose another ${variable}.`,
    { cause },
  );
}

async function readiness(
  missing: Readonly<Record<string, string>>,
  databaseAnswers: () => Promise<boolean>,
  slack: SlackApp | undefined,
): Promise<Readiness> {
  const found: Record<string, string> = { ...missing };
  if (!(await databaseAnswers())) found['database'] = 'does not answer';
  if (slack !== undefined && !slack.connected()) found['slack'] = 'not connected';
  return found;
}

/** Errors whose message says to the operator what to do. */
const FOR_OPERATORS = [ConfigError, StartError, MigrationError, EmbeddedPostgresError];

async function main(): Promise<void> {
  const told = new AbortController();
  const starting = Promise.resolve().then(() => {
    const config = loadConfig();
    const log = createLog(config.logLevel);
    // A library's slip over one delivery must not take the bot from everybody; the truth is in the database.
    process.on('unhandledRejection', (err) => log.error({ err }, 'a rejection that nobody handled'));
    return startBot(config, { log, signal: told.signal });
  });
  // From the first moment: process 1 of a container does not end by a signal that it does not handle.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      told.abort();
      const stopped = starting.then(
        (bot) => bot.stop(),
        () => undefined,
      );
      Promise.race([stopped, sleep(STOP_MS)]).then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
  }
  try {
    await starting;
  } catch (error) {
    if (told.signal.aborted) process.exit(0);
    const known = FOR_OPERATORS.some((type) => error instanceof type);
    const text = error instanceof Error ? (known ? error.message : error.stack) : String(error);
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
