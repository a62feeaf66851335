import { realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bundleOnce } from '../support/bundle.ts';
import { startChild } from '../support/child.ts';
import { DOMAINS, link, readCommandReply } from '../support/demo.ts';
import { type BotEnvironment, MAIN_BOT, startBotEnvironment } from '../support/harness.ts';

/* `npm start` with valid and invalid settings. */

const MAX_WAIT_MS = 120_000;

let s: BotEnvironment;
beforeAll(async () => {
  s = await startBotEnvironment();
}, MAX_WAIT_MS);
afterAll(() => s.stop());

/** Starts with these settings and expects exit code 1. @returns the output */
async function failToStart(settings: Readonly<Record<string, string | undefined>>): Promise<string> {
  const child = startChild(await bundleOnce(MAIN_BOT), { env: settings, cwd: s.folder });
  const end = await child.ended;
  expect(end, child.output()).toBe(1);
  return child.output();
}

describe('the bot exits with code 1', () => {
  test.concurrent('and lists all invalid settings at once, without secret values', {
    timeout: MAX_WAIT_MS,
  }, async () => {
    const secrets = {
      SLACK_BOT_TOKEN: 'xoxp-the-wrong-token',
      SLACK_SIGNING_SECRET: 'short',
      CREDENTIALS_KEYS: 'first:bm90LTMyLWJ5dGVz',
      DATABASE_URL: 'mysql://steward:hunter2@localhost/steward',
    };
    const output = await failToStart({
      ...s.settings,
      ...secrets,
      PORT: 'http',
      SERVICE_JSON_URL: undefined,
      APPROVERS: 'bob',
      APPROVAL_TTL: 'soon',
      REMINDER_TIMEZONE: 'Mars/Olympus',
    });
    for (const name of [
      ...Object.keys(secrets),
      'PORT',
      'SERVICE_JSON_URL',
      'APPROVERS',
      'APPROVAL_TTL',
      'REMINDER_TIMEZONE',
    ]) {
      expect(output).toMatch(new RegExp(`^  ${name} .*\\(example: .+\\)$`, 'm'));
    }
    expect(output).not.toMatch(/\n\s+at /);
    for (const value of [...Object.values(secrets), 'hunter2']) expect(output).not.toContain(value);
  });

  test.concurrent('if its port is in use', { timeout: MAX_WAIT_MS }, async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, resolve));
    onTestFinished(async () => {
      await new Promise((resolve) => other.close(resolve));
    });
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    expect(await failToStart({ ...s.settings, PORT: port })).toMatch(new RegExp(`PORT ${port}.*EADDRINUSE`));
  });

  test.concurrent('if Slack refuses the bot token', { timeout: MAX_WAIT_MS }, async () => {
    const token = 'xoxb-of-another-app';
    const output = await failToStart({ ...s.settings, SLACK_BOT_TOKEN: token });
    expect(output).toMatch(/Slack refuses SLACK_BOT_TOKEN \(invalid_auth\)/);
    expect(output).not.toContain(token);
  });

  test.concurrent('if Slack refuses the app token', { timeout: MAX_WAIT_MS }, async () => {
    const token = 'xapp-of-another-app';
    const output = await failToStart({ ...s.settings, SLACK_APP_TOKEN: token });
    expect(output).toMatch(/Slack refuses SLACK_APP_TOKEN \(invalid_auth\)/);
    expect(output).not.toContain(token);
  });
});

test(
  'a bot without DATABASE_URL creates a database, keeps it over a restart and doesn’t share it',
  async () => {
    const { DATABASE_URL: _none, ...settings } = s.settings;
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"`);
    await writeFile(join(s.folder, '.env'), lines.join('\n'));
    onTestFinished(async () => {
      await rm(join(s.folder, '.env'));
      // If run by root, the data is in another place.
      await rm(await realpath(join(s.folder, 'data', 'postgres')), { recursive: true, force: true });
    });
    const fromFile = Object.fromEntries(Object.keys(s.settings).map((name) => [name, undefined]));
    const alice = s.workspace.as('U0ALICE');

    const first = await s.start(MAIN_BOT, fromFile);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${first.url}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${first.url}/metrics`)).text()).toContain('domain_steward_orders');
    await link(s.workspace, alice);

    const refused = await failToStart(fromFile);
    expect(refused).toMatch(new RegExp(`^.*in use by process ${first.child.pid}.*DATABASE_URL\\n$`));
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);

    process.kill(first.child.pid, 'SIGTERM');
    expect(await first.child.ended, first.child.output()).toBe(0);
    // The log has only JSON lines.
    for (const line of first.child.output().trim().split('\n'))
      expect(() => JSON.parse(line), line).not.toThrow();
    expect(first.child.output()).not.toContain('alice-sandbox-password');

    const second = await s.start(MAIN_BOT, fromFile);
    expect(await readCommandReply(s.workspace, alice, '/domain whoami')).toContain('alice in context 4');
    process.kill(second.child.pid, 'SIGINT');
    expect(await second.child.ended, second.child.output()).toBe(0);
  },
  MAX_WAIT_MS,
);

test(
  'a bot that is stopped during its start exits with 0',
  async () => {
    // Slack is down, so the start never finishes.
    s.workspace.faults.set({ method: 'auth.test', kind: 'http_500' });
    onTestFinished(() => s.workspace.faults.clear());
    const child = startChild(await bundleOnce(MAIN_BOT), { env: s.settings, cwd: s.folder });
    await child.waitForLine(/waiting for Slack/);
    const stoppedAt = Date.now();
    process.kill(child.pid, 'SIGTERM');
    expect(await child.ended, child.output()).toBe(0);
    expect(Date.now() - stoppedAt, 'ms until exit').toBeLessThan(10_000);
  },
  MAX_WAIT_MS,
);

test(
  'a bot in Socket Mode survives a delivery that crashes Slack’s library',
  async () => {
    const { SLACK_SIGNING_SECRET: _unused, ...settings } = s.settings;
    const bot = await s.start(MAIN_BOT, {
      ...settings,
      SLACK_SIGNING_SECRET: undefined,
      SLACK_APP_TOKEN: s.workspace.appToken,
    });
    const alice = s.workspace.as('U0ALICE');
    await alice.command(DOMAINS, '/domain help');
    const delivery = s.workspace.deliveries.at(-1);
    if (delivery?.transport !== 'socket') throw new Error('the command was not delivered over the socket');
    void s.workspace.redeliver({ ...delivery, type: 'events_api', payload: { type: 'event_callback' } });
    await bot.child.waitForLine(/unhandled rejection/);
    expect((await alice.command(DOMAINS, '/domain help')).acked).toBe(true);
    process.kill(bot.child.pid, 'SIGTERM');
    expect(await bot.child.ended, bot.child.output()).toBe(0);
  },
  MAX_WAIT_MS,
);
