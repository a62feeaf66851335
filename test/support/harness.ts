import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { bundleOnce } from './bundle.ts';
import { type Child, startChild } from './child.ts';
import { createTestDatabase } from './database.ts';
import { assertReadableMessages } from './held-messages.ts';
import { pickRudenessSeed } from './rudeness.ts';
import { CHARGED_TASKS } from './settings.ts';

/** The product's entry point. */
export const MAIN_BOT = new URL('../../src/main.ts', import.meta.url);
/** The same bot with short leases. */
export const SHORT_LEASE_BOT = new URL('./children/bot.ts', import.meta.url);

/** The sandbox service and the workspace, for bots in separate processes. */
export interface BotEnvironment {
  readonly service: SandboxService;
  readonly workspace: Workspace;
  readonly databaseUrl: string;
  /** A folder without a `.env` file. */
  readonly folder: string;
  /** The settings that a bot needs to connect to all of these. */
  readonly settings: Readonly<Record<string, string>>;
  /** Starts a bot and waits until it is ready; over HTTP unless its settings turn on Socket Mode. */
  start(entry?: URL, settings?: Readonly<Record<string, string | undefined>>): Promise<RunningBot>;
  /** Starts a bot without waiting for it. */
  launch(entry: URL, settings?: Readonly<Record<string, string | undefined>>): Promise<Child>;
  /** Stops all bots, then everything else. @throws {Error} if a bot posted something unreadable */
  stop(): Promise<void>;
}

export interface RunningBot {
  readonly child: Child;
  readonly url: string;
}

export async function startBotEnvironment(): Promise<BotEnvironment> {
  const database = await createTestDatabase();
  const service = await startSandboxService({ rude: pickRudenessSeed() });
  const workspace = await startWorkspace();
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-bot-'));
  const children: Child[] = [];
  const settings = {
    SLACK_BOT_TOKEN: workspace.botToken,
    SLACK_SIGNING_SECRET: workspace.signingSecret,
    SLACK_API_URL: workspace.apiUrl,
    PORT: '0',
    SERVICE_JSON_URL: service.jsonUrl,
    SERVICE_XML_URL: service.xmlUrl,
    CREDENTIALS_KEYS: `test:${randomBytes(32).toString('base64')}`,
    DATABASE_URL: database.url,
    APPROVERS: 'U0BOB,S0APPROVERS',
    APPROVAL_TASKS: CHARGED_TASKS,
    RDAP_BOOTSTRAP_URL: service.rdapBootstrapUrl,
    WHOIS: 'off',
    // Nothing listens there, so that tests stay on this machine.
    DNS_SERVERS: '127.0.0.1:9',
    LOG_LEVEL: 'info',
  };
  const launch = async (entry: URL, overrides: Readonly<Record<string, string | undefined>> = {}) => {
    const child = startChild(await bundleOnce(entry), { env: { ...settings, ...overrides }, cwd: folder });
    children.push(child);
    return child;
  };
  return {
    service,
    workspace,
    databaseUrl: database.url,
    folder,
    settings,
    async start(entry = MAIN_BOT, overrides = {}) {
      const child = await launch(entry, overrides);
      const [, port] = await child.waitForLine(/"port":(\d+).*"msg":"ready"/);
      const url = `http://127.0.0.1:${port}`;
      workspace.setRequestUrl(`${url}/slack/events`);
      return { child, url };
    },
    launch,
    async stop() {
      await Promise.all(children.map((child) => child.kill()));
      const { calls } = workspace;
      await workspace.close();
      await service.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
      assertReadableMessages(calls);
    },
  };
}
