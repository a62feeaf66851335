import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  SANDBOX_ACCOUNTS,
  SANDBOX_CONTACTS,
  SANDBOX_NAMESERVERS,
  SANDBOX_TRANSFERABLE_DOMAIN,
  type SandboxService,
  startSandboxService,
} from '@domain-steward/sandbox-service';
import {
  createDefaultSeed,
  type Seed,
  startWorkspace,
  type Workspace,
} from '@domain-steward/slack-workspace';
import { z } from 'zod';
import { type Bot, startBot } from '#src/app/bot.ts';
import { DEFAULT_PACE, type Seams } from '#src/app/seams.ts';
import { readConfig } from '#src/config/environment.ts';
import { createLog, type Log } from '#src/lib/log.ts';
import { isOffered } from '#src/slack/capability.ts';
import { COMMANDS } from '#src/slack/index.ts';
import { BOT_SCOPES } from '#src/slack/outbound/scopes.ts';
import { type DemoDns, startDemoDns } from './dns.ts';
import {
  addHolidayNames,
  HISTORY_DAYS,
  playHistory,
  RESTAURANTS,
  restoreAfterRestart,
  welcome,
} from './history.ts';
import { proxyPage } from './pass-on.ts';
import { createCertificate, showRecord, showRecords } from './records.ts';
import { findPageAddress, loadOrCreateRoot, signPage } from './root-key.ts';
import { passDays, playTheft } from './story.ts';
import { createReceiver } from './webhook-receiver.ts';

export interface DemoOptions {
  /** The port of the page; 0 takes any free port. */
  readonly port: number;
  /** The folder for the demo's data. It must exist. */
  readonly dataDir: string;
  readonly log?: Log;
  /** The folder of the built page. */
  readonly pageDir?: string;
  /** Settings of the bot that override those of the demo. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A PostgreSQL to use instead of the embedded one. */
  readonly databaseUrl?: string;
  /** Whether to start like `npm run demo`: with a history, a signing root and a webhook receiver. */
  readonly lived?: boolean;
  /** Whether to start with Slack's tokens alone: without a domain service, approvers and reminder channel. */
  readonly watchOnly?: boolean;
  /** A seed for sandbox responses in undocumented forms. */
  readonly rude?: number | undefined;
  /** Whether to use Socket Mode instead of HTTP. */
  readonly socketMode?: boolean;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
  /** Seams of the bot that override those of the demo. */
  readonly seams?: Seams;
  /** Overrides the workspace's people and channels. */
  readonly seed?: Partial<Seed>;
}

export interface Demo {
  readonly url: string;
  readonly service: SandboxService;
  readonly dns: DemoDns;
  readonly workspace: Workspace;
  readonly bot: Bot;
  /** Moves the clock of the bot and the sandbox, and does due work immediately. */
  moveTime(byMs: number): Promise<void>;
  /** Plays the theft of `cafe.rest`. Each step waits until the bot has reported it. */
  playTheft(): Promise<void>;
  stop(): Promise<void>;
}

const DAY_MS = 86_400_000;
const MAX_AHEAD_MS = 5 * 365 * DAY_MS;
const moveSchema = z.object({ addMs: z.number().int().optional(), reset: z.boolean().optional() });

/** The bot's pages are served at the workspace's address, because passkeys need an address that doesn't change. */
const PAGE_PATHS = /^\/(?:sign|keys|calendar)\//;
/** Ada, whose passkey is in the demo. */
const ROOT_OWNER = 'U0ADA';
const WEBHOOK_PATH = '/webhooks';

/** An empty setting counts as not set. */
const WATCH_ONLY = { SERVICE_JSON_URL: '', SERVICE_XML_URL: '', APPROVERS: '', REMINDER_CHANNEL: '' };

/** The name of the guide's second path. */
const STOLEN_NAME = 'cafe.rest';

/** Starts the demo. It connects only to this machine. */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  const { lived = false, watchOnly = false, log = createLog('warn') } = options;
  const stateFile = join(options.dataDir, 'workspace.json');
  const isNew = lived && !existsSync(stateFile);
  let aheadMs = isNew ? -HISTORY_DAYS * DAY_MS : 0;
  const now = () => new Date(Date.now() + aheadMs);
  const service = await startSandboxService({
    stateFile: join(options.dataDir, 'service.json'),
    rude: options.rude,
  });
  service.clock.setOffset(aheadMs);
  if (isNew) addHolidayNames(service);
  if (lived || watchOnly) showRecords(service);
  if (lived) showRecord(service, STOLEN_NAME);
  const dns = await startDemoDns(service, [SANDBOX_ACCOUNTS.alice.context], options.rude);
  let demo: Demo | undefined;
  let ceremonies: readonly string[] = [];
  const recordCeremony = (title: string | undefined) => {
    if (title === undefined) return;
    ceremonies = [...ceremonies, title];
    workspace.emitHostEvent('ceremonies');
  };
  /** The number of the last request that belongs to the history. */
  let lastHistoryRequest = 0;
  const receiver = createReceiver(() => workspace.emitHostEvent('webhooks'));

  let bot: Bot | undefined;

  const setClock = (offsetMs: number) => {
    aheadMs = offsetMs;
    service.clock.setOffset(aheadMs);
  };
  const moveTime = async (offsetMs: number) => {
    setClock(Math.min(Math.max(offsetMs, 0), MAX_AHEAD_MS));
    await demo?.bot.catchUp();
    workspace.emitHostEvent('time');
    return { now: now().toISOString(), aheadMs };
  };

  const workspace = await startWorkspace({
    port: options.port,
    // The history's messages have past times. Moving the clock forward doesn't affect messages.
    now: () => Date.now() + Math.min(aheadMs, 0),
    bot: { scopes: BOT_SCOPES.map(({ scope }) => scope), escapeEntities: true },
    seed: {
      teamName: 'Steward & Co',
      appName: 'Domain Steward',
      ...(lived ? createHistorySeed() : {}),
      ...options.seed,
    },
    stateFile,
    commands: [...COMMANDS.values()]
      .filter((command) => isOffered(command, { hasService: !watchOnly }))
      .map(({ usage, summary }) => ({ command: '/domain', usage_hint: usage, description: summary })),
    shortcuts: [{ name: 'Domain task…', callback_id: 'domain_here' }],
    ...(options.pageDir === undefined ? {} : { pageDir: options.pageDir }),
    // A command would be lost before the bot is ready.
    isOpen: () => demo !== undefined,
    async handleRequest(path, request, response) {
      if (path === WEBHOOK_PATH && request.method === 'POST') await receiver.receive(request, response);
      else if (bot !== undefined && PAGE_PATHS.test(path))
        recordCeremony(await proxyPage(request, response, bot.port));
      else return false;
      return true;
    },
    extraRoutes: {
      'GET /local/requests': ({ query }) => {
        const afterNumber = Math.max(Number(query.get('after') ?? 0), lastHistoryRequest);
        return {
          requests: service.requests
            .filter((request) => request.n > afterNumber)
            .slice(-200)
            .reverse(),
        };
      },
      'GET /local/time': () => ({ now: now().toISOString(), aheadMs }),
      'POST /local/time': async ({ body }) => {
        const move = moveSchema.parse(body);
        return moveTime(move.reset === true ? 0 : aheadMs + (move.addMs ?? 0));
      },
      'POST /local/theft': async () => {
        await demo?.playTheft();
        return { now: now().toISOString(), aheadMs };
      },
      'POST /local/days': () => passDays(workspace, (byMs) => moveTime(aheadMs + byMs)),
      'GET /local/webhooks': () => ({ webhooks: receiver.received() }),
      'GET /local/ceremonies': () => ({ ceremonies }),
      'POST /local/root': async () => {
        const text = workspace.as(ROOT_OWNER).ephemerals().at(-1)?.text ?? '';
        const address = findPageAddress(text);
        if (address === undefined || bot === undefined) throw new Error('Ada has nothing to sign');
        recordCeremony(await signPage(root, address, `http://127.0.0.1:${bot.port}`));
      },
      'GET /local/hints': () => ({
        accounts: SANDBOX_ACCOUNTS,
        transfer: SANDBOX_TRANSFERABLE_DOMAIN,
        contacts: SANDBOX_CONTACTS,
        nameServers: SANDBOX_NAMESERVERS,
      }),
    },
  });
  service.onRequest(() => {
    dns.syncDelegations();
    workspace.emitHostEvent('requests');
  });

  /** Plays the history, and leaves the clock at the present. */
  const prepareHistory = async (startedBot: Bot) => {
    const moveTo = (daysAgo: number) => {
      options.signal?.throwIfAborted();
      setClock(-daysAgo * DAY_MS);
    };
    const parts = { service, dns, workspace, bot: startedBot, root, moveTo };
    const logFailure = (task: Promise<void>) =>
      task.catch((err: unknown) => {
        options.signal?.throwIfAborted();
        log.error({ err }, 'the demo begins with less history than it should');
      });
    if (isNew) await logFailure(playHistory(parts));
    setClock(0);
    await logFailure(restoreAfterRestart(parts));
    if (isNew) welcome(workspace);
    workspace.forgetEphemerals();
    lastHistoryRequest = service.requests.at(-1)?.n ?? 0;
  };
  const publicUrl = `http://localhost:${new URL(workspace.url).port}`;
  const root = await loadOrCreateRoot(options.dataDir, { id: 'localhost', origin: publicUrl });
  try {
    const config = readConfig({
      SLACK_BOT_TOKEN: workspace.botToken,
      SLACK_SIGNING_SECRET: workspace.signingSecret,
      ...(options.socketMode === true ? { SLACK_APP_TOKEN: workspace.appToken } : {}),
      SLACK_API_URL: workspace.apiUrl,
      PORT: '0',
      SERVICE_JSON_URL: service.jsonUrl,
      SERVICE_XML_URL: service.xmlUrl,
      CREDENTIALS_KEYS: await loadCredentialsKey(options.dataDir),
      DATA_DIR: options.dataDir,
      BACKUP_DIR: 'none',
      ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
      APPROVERS: 'U0BOB,S0APPROVERS',
      ADMINS: 'U0ADA',
      REMINDER_CHANNEL: 'C0EXPIRY',
      RDAP_BOOTSTRAP_URL: service.rdapBootstrapUrl,
      WHOIS: 'off',
      DNS_SERVERS: dns.resolver,
      ...(lived
        ? {
            WEBHOOK_URLS: new URL(WEBHOOK_PATH, workspace.url).href,
            WEBHOOK_SECRET: receiver.secret,
            PUBLIC_URL: publicUrl,
            SIGNING_ROOTS: root.fingerprint,
            // A policy is published by one admin and confirmed by another.
            ADMINS: 'U0ADA,U0BOB',
          }
        : {}),
      ...(watchOnly ? WATCH_ONLY : {}),
      ...options.settings,
    });
    const startedBot = await startBot(config, {
      log,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      seams: {
        now,
        host: '127.0.0.1',
        readCertificate: async (name) => createCertificate(name, service.clock.realTime()),
        ...options.seams,
        pace: { ...(options.seams?.pace ?? DEFAULT_PACE), spacingMs: 10 },
      },
    });
    bot = startedBot;
    workspace.setRequestUrl(`http://127.0.0.1:${startedBot.port}/slack/events`);
    if (lived) await prepareHistory(startedBot);
    demo = {
      url: workspace.url,
      service,
      dns,
      workspace,
      bot: startedBot,
      moveTime: async (byMs) => void (await moveTime(aheadMs + byMs)),
      async playTheft() {
        const { sandbox } = dns;
        // This machine can't run its own DNS.
        if (sandbox === undefined) return;
        const origin = { channelId: '' };
        await startedBot.protectedChanges.changeReminders(
          [{ name: STOLEN_NAME, isNew: true }],
          'U0ALICE',
          origin,
        );
        await startedBot.protectedChanges.changeDetails(
          new Map([[STOLEN_NAME, { addTags: ['guarded'] }]]),
          'U0ALICE',
          origin,
        );
        await playTheft({
          service,
          dns: sandbox,
          name: STOLEN_NAME,
          moveTime: (byMs) => moveTime(aheadMs + byMs),
          listReportedKinds: () =>
            workspace.messages('C0EXPIRY').flatMap(({ metadata, thread_ts }) => {
              if (metadata?.event_type !== 'domain_incident' || thread_ts !== undefined) return [];
              const { name, kinds } = metadata.event_payload;
              return name === STOLEN_NAME ? String(kinds).split(',') : [];
            }),
        });
      },
      async stop() {
        await startedBot.stopBot();
        await workspace.close();
        await dns.close();
        await service.close();
      },
    };
    return demo;
  } catch (error) {
    await bot?.stopBot();
    await workspace.close();
    await dns.close();
    await service.close();
    throw error;
  }
}

function createHistorySeed(): Partial<Seed> {
  const { channels } = createDefaultSeed();
  const [firstChannel, ...rest] = channels;
  if (firstChannel === undefined) throw new Error('the workspace has no channel');
  const history = {
    ...firstChannel,
    id: RESTAURANTS,
    name: 'restaurants',
    topic: 'Domains of our restaurants',
  };
  return { channels: [firstChannel, history, ...rest] };
}

/** The key is stored with the demo's data, so that linked accounts survive a restart. */
async function loadCredentialsKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'credentials.key');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch {
    const key = `demo:${randomBytes(32).toString('base64')}`;
    await writeFile(file, `${key}\n`, { mode: 0o600 });
    return key;
  }
}
