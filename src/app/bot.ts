import { randomUUID } from 'node:crypto';
import type { Proposals } from '../approvals/proposals/proposals.ts';
import type { Config } from '../config/environment.ts';
import type { ExpiryTracker } from '../expiry/expiry.ts';
import { createLog, type Log } from '../lib/log.ts';
import type { PriceStore } from '../money/ports.ts';
import type { ProtectedChanges } from '../names/protected-changes.ts';
import type { OrdersContext } from '../orders/context.ts';
import { markUnsentAsUnknown, type RunningHeartbeat, startHeartbeat } from '../orders/restore-guard.ts';
import { isSignedBySlack } from '../slack/inbound/slack-signature.ts';
import { composeContexts, createPageHandler } from './compose.ts';
import { createMetrics } from './metrics.ts';
import { createReadiness } from './readiness.ts';
import { DEFAULT_PACE, type Seams } from './seams.ts';
import { createShutdown } from './shutdown.ts';
import type { AppContext, Connections } from './site.ts';
import {
  checkSettingsLater,
  connect,
  getSlackMode,
  logMissingFeatures,
  retryAtStart,
  startApp,
  warnAboutUnusablePasskeys,
} from './start.ts';
import { startBackgroundWork } from './work.ts';

export interface Bot {
  readonly port: number;
  readonly metricsPort: number;
  readonly expiry: ExpiryTracker;
  readonly prices: PriceStore;
  readonly protectedChanges: ProtectedChanges;
  readonly proposals: Proposals;
  /** Finds and does all due work. Called after a clock jump. */
  catchUp(): Promise<void>;
  /** Finishes running work, or leaves it in a state from which it can be resumed, within 10 seconds. */
  stopBot(): Promise<void>;
}

/** @throws {StartError} with instructions for the operator */
export async function startBot(
  config: Config,
  options: {
    readonly log?: Log;
    /** Aborts the start. */
    readonly signal?: AbortSignal;
    readonly seams?: Seams;
  } = {},
): Promise<Bot> {
  const { log = createLog(config.logLevel), signal = new AbortController().signal, seams = {} } = options;
  const { now = () => new Date(), pace = DEFAULT_PACE } = seams;
  const shutdown = createShutdown(log);
  const parts = { metrics: createMetrics(), readiness: createReadiness(['database', 'slack']), shutdown };
  try {
    return await startComponents({
      config,
      log,
      signal,
      seams,
      pace,
      now,
      processId: randomUUID(),
      ...parts,
    });
  } catch (error) {
    await shutdown.closeAll();
    throw error;
  }
}

async function startComponents(appContext: AppContext): Promise<Bot> {
  const { config, log, readiness, shutdown } = appContext;
  const connections = await connect(appContext);
  const { server, metricsServer, slack, stores } = connections;
  const contexts = composeContexts(appContext, connections);
  const { accounts, expiry, loadSettings, protectedChanges, proposals } = contexts.slack;
  // Must run before any work is claimed.
  const heartbeat = await startCheckedHeartbeat(appContext, connections, contexts.slack.orders);
  await retryAtStart('the database', log, appContext.signal, contexts.slack.webhooks.registerEndpoints);
  const work = startBackgroundWork(appContext, connections, contexts);
  shutdown.onClose(work.stop);
  accounts.reseal().then(
    (count) => count > 0 && log.info({ count }, 'encrypted credentials with the current key'),
    (err: unknown) => log.error({ err }, 'encrypting credentials with the current key failed'),
  );
  const app = await startApp(appContext, slack, contexts.slack);
  const { signingSecret } = config.slack;
  server.serve({
    openCalendar: (token) => expiry.openFeed(token),
    servePage: createPageHandler(appContext, connections, contexts.slack),
    isSigned: (headers, body) => signingSecret !== undefined && isSignedBySlack(signingSecret, headers, body),
    getSlackListener: () => (app.isConnected() ? app.requestListener : undefined),
  });
  logMissingFeatures(appContext, loadSettings);
  shutdown.onClose(checkSettingsLater(appContext, slack, loadSettings));
  warnAboutUnusablePasskeys(appContext, connections);
  const ports = { port: server.port, metricsPort: metricsServer.port };
  log.info({ ...ports, mode: getSlackMode(config).kind }, 'ready');
  let stopPromise: Promise<void> | undefined;
  return {
    ...ports,
    expiry,
    prices: stores.prices,
    protectedChanges,
    proposals,
    catchUp: work.catchUp,
    stopBot() {
      readiness.setCheck('shutdown', async () => 'shutting down');
      stopPromise ??= shutdown.stop({ heartbeat, work, app });
      return stopPromise;
    },
  };
}

async function startCheckedHeartbeat(
  { processId, log, signal, shutdown }: AppContext,
  { stores }: Connections,
  orders: OrdersContext,
): Promise<RunningHeartbeat> {
  const guard = { ...orders, heartbeat: stores.heartbeat, processId };
  const knownDatabase = await retryAtStart('the database', log, signal, () => markUnsentAsUnknown(guard));
  const heartbeat = startHeartbeat(guard, knownDatabase);
  shutdown.onClose(() => heartbeat.stop());
  return heartbeat;
}
