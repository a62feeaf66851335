import { randomUUID } from 'node:crypto';
import type { Proposals } from '../approvals/proposals/proposals.ts';
import type { Config } from '../config/environment.ts';
import type { Expiry } from '../expiry/expiry.ts';
import { createLog, type Log } from '../lib/log.ts';
import type { PriceStore } from '../money/ports.ts';
import type { ProtectedChanges } from '../names/protected-changes.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { RunningHeartbeat } from '../orders/restore-guard.ts';
import { markUnsentAsUnknown, startHeartbeat } from '../orders/restore-guard.ts';
import { isSignedBySlack } from '../slack/inbound/slack-signature.ts';
import { compose, createPageHandler } from './compose.ts';
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
  warnAboutMovedKeys,
} from './start.ts';
import { startWork } from './work.ts';

export interface Bot {
  readonly port: number;
  readonly metricsPort: number;
  readonly expiry: Expiry;
  readonly prices: PriceStore;
  readonly protectedChanges: ProtectedChanges;
  readonly proposals: Proposals;
  /** Finds and does all due work, after a clock jump. */
  catchUp(): Promise<void>;
  /** Finishes running work, or leaves it in a state from which it can be resumed, within 10 seconds. */
  stop(): Promise<void>;
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
    return await start({ config, log, signal, seams, pace, now, processId: randomUUID(), ...parts });
  } catch (error) {
    await shutdown.closeAll();
    throw error;
  }
}

async function start(appContext: AppContext): Promise<Bot> {
  const { config, log, readiness, shutdown } = appContext;
  const connections = await connect(appContext);
  const { server, metricsServer, slack, stores } = connections;
  const contexts = compose(appContext, connections);
  const { accounts, expiry, savedSettings, protectedChanges, proposals } = contexts.slack;
  // Must run before any work is claimed.
  const heartbeat = await startCheckedHeartbeat(appContext, connections, contexts.slack.orders);
  await retryAtStart('the database', log, appContext.signal, contexts.slack.webhooks.serve);
  const work = startWork(appContext, connections, contexts);
  shutdown.onClose(work.stop);
  accounts.reseal().then(
    (count) => count > 0 && log.info({ count }, 'encrypted credentials with the current key'),
    (err: unknown) => log.error({ err }, 'encrypting credentials with the current key failed'),
  );
  const app = await startApp(appContext, slack, contexts.slack);
  const { signingSecret } = config.slack;
  server.serve({
    calendar: (token) => expiry.openFeed(token),
    page: createPageHandler(appContext, connections, contexts.slack),
    isSigned: (headers, body) => signingSecret !== undefined && isSignedBySlack(signingSecret, headers, body),
    slack: () => (app.isConnected() ? app.requestListener : undefined),
  });
  logMissingFeatures(appContext, savedSettings);
  shutdown.onClose(checkSettingsLater(appContext, slack, savedSettings));
  warnAboutMovedKeys(appContext, connections);
  const ports = { port: server.port, metricsPort: metricsServer.port };
  log.info({ ...ports, mode: getSlackMode(config).kind }, 'ready');
  let stopped: Promise<void> | undefined;
  return {
    ...ports,
    expiry,
    prices: stores.prices,
    protectedChanges,
    proposals,
    catchUp: work.catchUp,
    stop() {
      readiness.watch('shutdown', async () => 'shutting down');
      stopped ??= shutdown.stop({ heartbeat, work, app });
      return stopped;
    },
  };
}

async function startCheckedHeartbeat(
  { processId, log, signal, shutdown }: AppContext,
  { stores }: Connections,
  orders: OrdersContext,
): Promise<RunningHeartbeat> {
  const guard = { ...orders, heartbeat: stores.heartbeat, processId };
  const database = await retryAtStart('the database', log, signal, () => markUnsentAsUnknown(guard));
  const heartbeat = startHeartbeat(guard, database);
  shutdown.onClose(() => heartbeat.stop());
  return heartbeat;
}
