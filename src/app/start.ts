import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { z } from 'zod';
import { createMissingKeyLogger } from '../accounts/missing-keys.ts';
import { createVault, type Vault, VaultError } from '../accounts/vault.ts';
import { parseRelyingParty } from '../approvals/signing/assertion.ts';
import { listActiveKeys } from '../approvals/signing/key-ring.ts';
import { getCredentialsKeyFile, loadCredentialsKeys } from '../config/credentials-key.ts';
import type { Config, SettingValues } from '../config/environment.ts';
import { applySavedSettings, formatSettings } from '../config/settings.ts';
import type { LedgerKey } from '../ledger/key.ts';
import { MAX_UNSEALED_SECONDS, openLedgerKey } from '../ledger/ledger.ts';
import type { Log } from '../lib/log.ts';
import { findLastBackupTime, takeDailyBackup } from '../ops/daily-backup.ts';
import { readFreeBytes } from '../ops/disk.ts';
import { checkSlackIds } from '../ops/doctor/slack-checks.ts';
import { recordUnreadableGroup } from '../slack/admins/admins.ts';
import type { SlackContext } from '../slack/context.ts';
import { createSlackApp, type SlackApp } from '../slack/inbound/app.ts';
import type { SlackMode } from '../slack/inbound/receiver.ts';
import { createDirectory, type SlackDirectory } from '../slack/outbound/directory.ts';
import { createOutageWatch } from '../slack/outbound/outage.ts';
import { createPacer } from '../slack/outbound/pacer.ts';
import { createTokenHealth } from '../slack/outbound/token-health.ts';
import {
  createSlackWeb,
  getRetryAfterMs,
  isTokenError,
  SlackApiError,
  type SlackWeb,
} from '../slack/outbound/web.ts';
import { takeBackup } from '../store/backup.ts';
import { type Database, openDatabase, StoreError } from '../store/database.ts';
import { createLedgerKeyStore } from '../store/ledger.ts';
import { MigrationError, migrate } from '../store/migrate.ts';
import { openProbe } from '../store/probe.ts';
import { createInstallationStores, createStores, type Stores } from '../store/stores.ts';
import type { GaugeValues } from './metrics.ts';
import { type HttpServer, type ListeningServer, startMetricsServer, startServer } from './server.ts';
import type { AppContext, BotIdentity, Connections, SlackConnection, TeamDefaults } from './site.ts';

/** Thrown when the bot can't start. The message tells the operator what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const MAX_START_WAIT_MS = 120_000;

/** Starts the embedded database if no database is configured. @returns the URL of the database */
async function startDatabase(
  config: Config,
  log: Log,
  onClose: (close: () => Promise<void>) => void,
): Promise<string> {
  if (config.databaseUrl !== undefined) return config.databaseUrl.reveal();
  const postgres = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log: (message) => log.info(message),
  });
  onClose(() => postgres.stop());
  return postgres.url;
}

async function migrateDatabase(url: string, log: Log): Promise<void> {
  const { applied } = await migrate({ url, log: (message) => log.info(message) });
  if (applied.length > 0) log.info({ applied }, 'migrated the database to this release’s schema');
}

const identitySchema = z.object({
  team_id: z.string(),
  user_id: z.string().default(''),
  enterprise_id: z.string().optional(),
});

export async function fetchBotIdentity(web: SlackWeb): Promise<BotIdentity> {
  const identity = await web.call('auth.test', {}, identitySchema);
  return { teamId: identity.team_id, userId: identity.user_id, orgId: identity.enterprise_id };
}

export function getSlackMode(config: Config): SlackMode {
  const { appToken, signingSecret } = config.slack;
  if (appToken !== undefined) return { kind: 'socket', appToken };
  if (signingSecret !== undefined) return { kind: 'http', signingSecret };
  throw new StartError('Set SLACK_SIGNING_SECRET, or SLACK_APP_TOKEN for Socket Mode.');
}

/**
 * Retries while the database or Slack is unreachable. Pauses for Slack's rate limits extend the deadline.
 * @throws {StartError} after the deadline, or if Slack refuses the token
 */
export async function retryAtStart<T>(
  dependency: string,
  log: Log,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  let deadline = Date.now() + MAX_START_WAIT_MS;
  for (let backoffMs = 250; ; backoffMs = Math.min(backoffMs * 2, 5_000)) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof SlackApiError && isTokenError(error)) {
        throw new StartError(
          `Slack refuses SLACK_BOT_TOKEN (${error.code}). Reinstall the app and set its bot token.`,
          { cause: error },
        );
      }
      const isUnreachable =
        error instanceof SlackApiError ||
        error instanceof StoreError ||
        (error instanceof MigrationError && error.issue === 'unreachable');
      if (!isUnreachable) throw error;
      if (Date.now() > deadline)
        throw new StartError(
          `Starting: ${dependency} did not answer for ${MAX_START_WAIT_MS / 1_000} seconds. See the log for details; start again when it answers.`,
          { cause: error },
        );
      const requestedPauseMs = getRetryAfterMs(error);
      deadline += requestedPauseMs ?? 0;
      const waitMs = requestedPauseMs ?? backoffMs;
      log.warn({ err: error, waitMs }, `waiting for ${dependency}`);
      await sleep(waitMs, undefined, { signal });
    }
  }
}

/** Runs before the database and Slack are connected, so that health checks show what isn't ready. */
async function startServers({ config, log, seams, metrics, readiness, shutdown }: AppContext) {
  const { metricsPort } = config;
  const listenOptions = { log, ...(seams.host === undefined ? {} : { host: seams.host }) };
  const awaitListening = async <StartedServer extends ListeningServer>(
    portVariable: string,
    port: number,
    serverPromise: Promise<StartedServer>,
  ): Promise<StartedServer> => {
    const server = await serverPromise.catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const message = `The HTTP server can’t listen on ${portVariable} ${port}: ${reason}. Choose another ${portVariable}.`;
      throw new StartError(message, { cause });
    });
    shutdown.onClose(() => server.close());
    return server;
  };
  const server: HttpServer = await awaitListening(
    'PORT',
    config.port,
    startServer({
      ...listenOptions,
      port: config.port,
      listUnreadyParts: readiness.listUnreadyParts,
      listDetails: readiness.listDetails,
      metrics: metricsPort === undefined ? metrics : undefined,
    }),
  );
  if (metricsPort === undefined) return { server, metricsServer: server };
  const startingServer = startMetricsServer({ ...listenOptions, port: metricsPort, metrics });
  return { server, metricsServer: await awaitListening('METRICS_PORT', metricsPort, startingServer) };
}

/** Starts the embedded database, if used, and migrates the schema. */
async function connectDatabase(appContext: AppContext) {
  const { config, log, signal, now, metrics, readiness, shutdown } = appContext;
  const url = await startDatabase(config, log, shutdown.onClose);
  await retryAtStart('the database', log, signal, async () => migrateDatabase(url, log));
  const database = openDatabase({ url, log });
  shutdown.onClose(() => database.close());
  const probe = openProbe({ url, log });
  shutdown.onClose(() => probe.close());
  metrics.setOrderSource(() => probe.readOrderFigures(now()));
  metrics.addGaugeSource(() => probe.readHealthFigures(now()));
  metrics.addGaugeSource(() => readDiskGauges(config));
  readiness.setCheck('database', async () => ((await probe.ping()) ? undefined : 'does not answer'));
  readiness.setDetailCheck('ledger', async () => {
    const seconds = await probe.readUnsealedSeconds().catch(() => 0);
    return seconds > MAX_UNSEALED_SECONDS
      ? `events have been waiting for a seal for ${Math.round(seconds)} s`
      : undefined;
  });
  return { database, databaseUrl: url, takeBackup: createDailyBackupTask(appContext, url) };
}

async function readDiskGauges({ databaseUrl, dataDir, backupDir }: Config): Promise<GaugeValues> {
  const lastBackupTime = backupDir === undefined ? undefined : await findLastBackupTime(backupDir);
  return {
    databaseDiskFreeBytes: databaseUrl === undefined ? await readFreeBytes(dataDir) : undefined,
    backupDiskFreeBytes: backupDir === undefined ? undefined : await readFreeBytes(backupDir),
    lastBackupAt: lastBackupTime === undefined ? undefined : lastBackupTime.getTime() / 1_000,
  };
}

function createDailyBackupTask(
  { config: { backupDir }, now, log }: AppContext,
  url: string,
): () => Promise<void> {
  if (backupDir === undefined) return async () => undefined;
  const backups = { folder: backupDir, takeBackup: (path: string) => takeBackup(url, path) };
  return async () => {
    const path = await takeDailyBackup(backups, now());
    if (path !== undefined) log.info({ path }, 'took the daily backup');
  };
}

/** @returns undefined if the key can't be decrypted; then nothing is sealed, but everything else works */
async function openLedgerKeyAtStart(
  { config, log, signal }: AppContext,
  database: Database,
  vault: Vault,
  teamId: string,
): Promise<LedgerKey | undefined> {
  const deps = { store: createLedgerKeyStore(database, teamId), vault, teamId };
  const key = await retryAtStart('the database', log, signal, () =>
    openLedgerKey(config.ledgerKey, deps),
  ).catch((err: unknown) => {
    if (!(err instanceof VaultError)) throw err;
    log.error({ err }, 'the ledger’s key can’t be decrypted, so nothing is sealed');
    return undefined;
  });
  if (key !== undefined) log.info({ fingerprint: key.fingerprint }, 'the ledger is signed with this key');
  return key;
}

/** @param loadAdmins loads the workspace's admins, who are the approvers if the settings list none */
function createTeamDefaults(
  initialSettings: SettingValues,
  loadAdmins: () => Promise<readonly string[]>,
): TeamDefaults {
  let currentSettings = initialSettings;
  return {
    current: () => currentSettings,
    refresh: async () => {
      if (initialSettings.approvers.length === 0)
        currentSettings = { ...initialSettings, approvers: await loadAdmins() };
    },
  };
}

/** Fetches the bot's identity from Slack, and creates the stores for its workspace. */
async function connectSlack(appContext: AppContext, database: Database, vault: Vault, canSign: boolean) {
  const { config, log, signal, now, seams, metrics, readiness } = appContext;
  const tokenHealth = createTokenHealth(() => fetchBotIdentity(web), log);
  const outageWatch = createOutageWatch(now);
  const pacer = createPacer(() => now().getTime());
  const recordSlackCall = (method: string, outcome: string) => {
    metrics.countSlackCall(method, outcome);
    tokenHealth.recordOutcome(outcome);
    outageWatch.recordOutcome(outcome);
  };
  const web = createSlackWeb(config.slack.botToken, config.slack.apiUrl, recordSlackCall, pacer);
  const bot = await retryAtStart('Slack', log, signal, () => fetchBotIdentity(web));
  readiness.setCheck(
    'slack',
    async () => describeTokenRefusal(await tokenHealth.check()) ?? 'not connected yet',
  );
  const installationStores = createInstallationStores(database);
  // Must run before any work is claimed, so that new rows belong to this workspace.
  await retryAtStart('the database', log, signal, () =>
    installationStores.installation.assignWorkspace(bot.teamId),
  );
  const ledgerKey = await openLedgerKeyAtStart(appContext, database, vault, bot.teamId);
  const teamDefaults = createTeamDefaults(config.defaultSettings, () => directory.loadWorkspaceAdmins());
  const formatSavedSettings = (saved: Readonly<Record<string, unknown>>) =>
    formatSettings(applySavedSettings(teamDefaults.current(), saved));
  const storeOptions = { teamId: bot.teamId, formatSavedSettings, canSign, botSigner: ledgerKey };
  const teamStores = createStores(database, installationStores, storeOptions);
  const { wrapOrderStore = (store) => store, wrapNotificationStore = (store) => store } = seams;
  const stores: Stores = {
    ...teamStores,
    orders: wrapOrderStore(teamStores.orders),
    notifications: wrapNotificationStore(teamStores.notifications),
  };
  const orgId = config.allowOrgMembers ? bot.orgId : undefined;
  if (config.allowOrgMembers && orgId === undefined)
    log.warn(
      'ALLOW_ORG_MEMBERS has no effect: this workspace is not part of an Enterprise Grid organization',
    );
  const recorderDeps = { notifications: stores.notifications, now, log };
  const directory: SlackDirectory = createDirectory(web, bot.teamId, {
    orgId,
    onUnreadableGroup: (groupId, error) => recordUnreadableGroup(recorderDeps, groupId, error),
  });
  await teamDefaults
    .refresh()
    .catch((err: unknown) =>
      log.warn({ err }, 'listing the workspace’s admins failed, so there are no approvers yet'),
    );
  const slack: SlackConnection = { web, pacer, bot, orgId, directory, tokenHealth, outageWatch };
  return { slack, stores, teamDefaults, ledgerKey };
}

/** Opens the ports, then connects to the database, then to Slack. */
export async function connect(appContext: AppContext): Promise<Connections> {
  const { config } = appContext;
  const servers = await startServers(appContext);
  const { database, ...databaseParts } = await connectDatabase(appContext);
  const publicUrl = config.publicUrl ?? `http://localhost:${servers.server.port}`;
  const relyingParty = parseRelyingParty(publicUrl);
  const vault = openVault(appContext);
  const canSign = config.signingRoots.length > 0 && relyingParty !== undefined;
  const connections = await connectSlack(appContext, database, vault, canSign);
  return { ...servers, ...databaseParts, ...connections, publicUrl, relyingParty, vault };
}

function openVault({ config, log, now, metrics }: AppContext): Vault {
  const logMissingKey = createMissingKeyLogger(log, now);
  const keys = loadCredentialsKeys(config);
  if (config.credentialsKeys === undefined)
    log.info(
      { path: getCredentialsKeyFile(config) },
      'backups don’t contain the credentials key file: keep a separate copy',
    );
  return createVault(keys, (keyId) => {
    logMissingKey(keyId);
    metrics.countUnknownKey();
  });
}

/** Starts accepting requests from Slack. */
export async function startApp(
  { config, signal, metrics, seams, readiness }: AppContext,
  { bot, tokenHealth }: SlackConnection,
  context: SlackContext,
): Promise<SlackApp> {
  const { botToken, apiUrl } = config.slack;
  const app = createSlackApp({
    context,
    botToken,
    botUserId: bot.userId,
    apiUrl,
    mode: getSlackMode(config),
    onAcknowledged: metrics.recordAcknowledgement,
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
  readiness.setCheck(
    'slack',
    async () =>
      describeTokenRefusal(await tokenHealth.check()) ?? (app.isConnected() ? undefined : 'not connected'),
  );
  return app;
}

function describeTokenRefusal(code: string | undefined): string | undefined {
  return code === undefined ? undefined : `refuses SLACK_BOT_TOKEN (${code})`;
}

/** During startup, other calls to Slack are more urgent. */
const SETTINGS_CHECK_DELAY_MS = 30_000;

/**
 * Warns about people, groups and channels in the settings that don't exist in Slack.
 * @returns a function that cancels the check
 */
export function checkSettingsLater(
  { config, log }: Pick<AppContext, 'config' | 'log'>,
  { web, bot, orgId }: Pick<SlackConnection, 'web' | 'bot' | 'orgId'>,
  loadSettings: SlackContext['loadSettings'],
): () => void {
  const check = async () => {
    const settingsToCheck = {
      settings: await loadSettings(),
      admins: config.admins,
      allowOrgMembers: config.allowOrgMembers,
    };
    for (const { subject, outcome, found, action } of await checkSlackIds(web, settingsToCheck, {
      teamId: bot.teamId,
      orgId,
    }))
      if (outcome !== 'ok') log.warn({ setting: subject, found, action }, 'a setting doesn’t match Slack');
  };
  const timer = setTimeout(() => {
    check().catch((err: unknown) => log.warn({ err }, 'checking settings in Slack failed'));
  }, SETTINGS_CHECK_DELAY_MS);
  return () => clearTimeout(timer);
}

/** Doesn't wait for the database, because the bot is already running. */
export function logMissingFeatures(
  { config, log }: AppContext,
  loadSettings: SlackContext['loadSettings'],
): void {
  if (config.service.jsonUrl === undefined)
    log.info('SERVICE_JSON_URL is not set: no domain service is connected, so the bot only watches names');
  loadSettings().then(
    ({ reminderChannel }) =>
      reminderChannel === undefined && log.info('REMINDER_CHANNEL is not set: there are no expiry reminders'),
    (err: unknown) => log.warn({ err }, 'checking where reminders are posted failed'),
  );
}

/** Passkeys are bound to the host in `PUBLIC_URL`. If the host changes, everyone must add new passkeys. */
export function warnAboutUnusablePasskeys({ log }: AppContext, { stores, relyingParty }: Connections): void {
  const publicHost = relyingParty?.id;
  stores.keys.readRows().then(
    ({ log: keyLog }) => {
      const keys = listActiveKeys(keyLog.keys)
        .filter((key) => key.host !== publicHost)
        .map(({ owner, label, fingerprint, host }) => ({ owner, label, fingerprint, host }));
      if (keys.length === 0) return;
      log.warn(
        { keys, host: publicHost },
        'these passkeys belong to a different host than PUBLIC_URL: add them again',
      );
    },
    (err: unknown) => log.warn({ err }, 'checking which passkeys belong to PUBLIC_URL failed'),
  );
}
