// Shared by the stories about a built bot: a database, the sandbox service, a workspace and people's actions.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { SANDBOX_ACCOUNTS, startSandboxService } from '@domain-steward/sandbox-service';
import { startWorkspace } from '@domain-steward/slack-workspace';

export const CHANNEL = 'C0DOMAINS';

/** Starts everything that a bot needs. @param port the bot's port */
export async function startSurroundings(port) {
  const data = mkdtempSync(join(tmpdir(), 'domain-steward-story-'));
  chmodSync(data, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir: data });
  const service = await startSandboxService();
  const workspace = await startWorkspace();
  workspace.setRequestUrl(`http://127.0.0.1:${port}/slack/events`);
  return {
    service,
    workspace,
    url: `http://127.0.0.1:${port}`,
    settings: {
      SLACK_BOT_TOKEN: workspace.botToken,
      SLACK_SIGNING_SECRET: workspace.signingSecret,
      SLACK_API_URL: workspace.apiUrl,
      PORT: port,
      SERVICE_JSON_URL: service.jsonUrl,
      CREDENTIALS_KEYS: `story:${randomBytes(32).toString('base64')}`,
      DATABASE_URL: postgres.url,
      DATA_DIR: data,
      APPROVERS: 'U0BOB',
      RDAP_BOOTSTRAP_URL: service.rdapBootstrapUrl,
      WHOIS: 'off',
      DNS_SERVERS: '127.0.0.1:9',
    },
    async close() {
      await workspace.close();
      await service.close();
      await postgres.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Starts a bot process. @param options for `spawn` */
export function startProcess([command, ...args], options, url) {
  const child = spawn(command, args, options);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return {
    child,
    ready: () => until('the bot to be ready', async () => (await fetch(`${url}/readyz`)).ok),
    async stop() {
      child.kill('SIGTERM');
      const code = await ended;
      if (code !== 0) throw new Error(`the bot exited with ${code} after SIGTERM`);
    },
  };
}

export async function linkAlice(workspace) {
  const alice = workspace.as('U0ALICE');
  await alice.command(CHANNEL, '/domain link');
  const form = await until('the form', async () => alice.openedViews().at(-1));
  const { user, context, password } = SANDBOX_ACCOUNTS.alice;
  await alice.submit(form, { user, context: String(context), password });
  // If the bot takes longer than Slack waits, the form says so.
  const told = () => JSON.stringify([alice.ephemerals(), alice.openedViews()]);
  await until('the link', async () => told().includes('Linked'));
}

/** Requests an order as Alice. @returns its card */
export async function ask(workspace, command) {
  const known = new Set(cards(workspace).map(({ ts }) => ts));
  await workspace.as('U0ALICE').command(CHANNEL, command);
  return until(`the card of ${command}`, async () => cards(workspace).find(({ ts }) => !known.has(ts)));
}

const cards = (workspace) =>
  workspace.messages(CHANNEL).filter(({ metadata, thread_ts: thread }) => metadata && !thread);

/** Waits until a card shows a state. */
export function reaches(workspace, { ts }, state) {
  return until(`the order to be ${state}`, async () =>
    workspace
      .messages(CHANNEL)
      .some((message) => message.ts === ts && message.metadata?.event_payload.state === state),
  );
}

/** Polls until there is a result. */
export async function until(what, ask) {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await Promise.resolve()
      .then(ask)
      .catch(() => undefined);
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
