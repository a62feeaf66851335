// The main story against what was built: Alice links an account and asks for a renewal, Bob approves it, and it goes out once.
//   node scripts/image-story.mjs IMAGE            in a container: read-only, without rights, not as root
//   node scripts/image-story.mjs --folder FOLDER  the image's folder of scripts/image-steps.mjs
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { SANDBOX_ACCOUNTS, startSandboxService } from '@domain-steward/sandbox-service';
import { startWorkspace } from '@domain-steward/slack-workspace';

const CHANNEL = 'C0DOMAINS';
const PORT = '3999';
const [first, second] = process.argv.slice(2);
if (first === undefined) throw new Error('Usage: node scripts/image-story.mjs IMAGE | --folder FOLDER');

const data = mkdtempSync(join(tmpdir(), 'domain-steward-story-'));
chmodSync(data, 0o755);
const postgres = await startEmbeddedPostgres({ dataDir: data });
const service = await startSandboxService();
const workspace = await startWorkspace();
const settings = {
  SLACK_BOT_TOKEN: workspace.botToken,
  SLACK_SIGNING_SECRET: workspace.signingSecret,
  SLACK_API_URL: workspace.apiUrl,
  PORT,
  SERVICE_JSON_URL: service.jsonUrl,
  CREDENTIALS_KEYS: `story:${randomBytes(32).toString('base64')}`,
  DATABASE_URL: postgres.url,
  APPROVERS: 'U0BOB',
  RDAP_BOOTSTRAP_URL: service.rdapBootstrapUrl,
  DNS_SERVERS: '127.0.0.1:9',
};
const child =
  first === '--folder'
    ? spawn(process.execPath, ['dist/main.js'], {
        cwd: second,
        env: { PATH: process.env.PATH, ...settings },
        stdio: 'inherit',
      })
    : spawn(
        'docker',
        [
          'run',
          '--rm',
          '--network=host',
          '--read-only',
          '--cap-drop=ALL',
          '--security-opt=no-new-privileges',
          '--memory=512m',
          '--tmpfs=/tmp',
          ...Object.entries(settings).map(([name, value]) => `--env=${name}=${value}`),
          first,
        ],
        { stdio: 'inherit' },
      );
const ended = new Promise((resolve) => child.once('exit', resolve));
try {
  await until('the bot to be ready', async () => (await fetch(`http://127.0.0.1:${PORT}/readyz`)).ok);
  workspace.setRequestUrl(`http://127.0.0.1:${PORT}/slack/events`);
  const [alice, bob] = [workspace.as('U0ALICE'), workspace.as('U0BOB')];
  await alice.command(CHANNEL, '/domain link');
  const form = await until('the form', async () => alice.openedViews().at(-1));
  const { user, context, password } = SANDBOX_ACCOUNTS.alice;
  await alice.submit(form, { user, context: String(context), password });
  await until('the link', async () => alice.ephemerals().some(({ text }) => text.includes('Linked')));
  await alice.command(CHANNEL, '/domain renew cafe.rest 2 -- client paid');
  const card = await until('the card', async () =>
    workspace.messages(CHANNEL).find(({ metadata }) => metadata),
  );
  await bob.click(card, 'order_approve');
  await until('the charge', async () => service.state.charges.length > 0);
  await until('the result', async () =>
    workspace
      .messages(CHANNEL)
      .some(({ metadata, thread_ts }) => thread_ts && metadata?.event_payload.state === 'SUCCEEDED'),
  );
  if (service.state.charges.length !== 1) throw new Error('it was charged more than once');
  child.kill('SIGTERM');
  const code = await ended;
  if (code !== 0) throw new Error(`it ended with ${code} after SIGTERM`);
  process.stdout.write('The story was told: asked, approved, charged once, shown, stopped cleanly.\n');
} finally {
  child.kill('SIGKILL');
  await workspace.close();
  await service.close();
  await postgres.stop();
  rmSync(data, { recursive: true, force: true });
}

/** Asks until there is an answer. */
async function until(what, ask) {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await Promise.resolve()
      .then(ask)
      .catch(() => undefined);
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`${what} does not come`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
