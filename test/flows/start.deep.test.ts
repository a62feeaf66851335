import { realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bundled } from '../support/bundle.ts';
import { startChild } from '../support/child.ts';
import { answerTo, DOMAINS, link } from '../support/demo.ts';
import { MAIN, type Surroundings, startSurroundings } from '../support/harness.ts';

/* An operator's first steps: `npm start` with valid and invalid settings. */

const MAX_WAIT_MS = 120_000;

let s: Surroundings;
beforeAll(async () => {
  s = await startSurroundings();
}, MAX_WAIT_MS);
afterAll(() => s.stop());

/** Starts with these settings and waits for the expected failure. */
async function failsToStart(settings: Readonly<Record<string, string | undefined>>): Promise<string> {
  const child = startChild(await bundled(MAIN), { env: settings, cwd: s.folder });
  const end = await child.ended;
  expect(end, child.output()).toBe(1);
  return child.output();
}

describe('invalid settings stop the start with exit code 1', () => {
  test.concurrent('every problem is in one message, without any value that may be a secret', {
    timeout: MAX_WAIT_MS,
  }, async () => {
    const secrets = {
      SLACK_BOT_TOKEN: 'xoxp-the-wrong-token',
      SLACK_SIGNING_SECRET: 'short',
      CREDENTIALS_KEYS: 'first:bm90LTMyLWJ5dGVz',
      DATABASE_URL: 'mysql://steward:hunter2@localhost/steward',
    };
    const said = await failsToStart({
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
      expect(said).toMatch(new RegExp(`^  ${name} .*\\(example: .+\\)$`, 'm'));
    }
    expect(said).not.toMatch(/\n\s+at /);
    for (const value of [...Object.values(secrets), 'hunter2']) expect(said).not.toContain(value);
  });

  test.concurrent('a port in use', { timeout: MAX_WAIT_MS }, async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, resolve));
    onTestFinished(async () => {
      await new Promise((resolve) => other.close(resolve));
    });
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    expect(await failsToStart({ ...s.settings, PORT: port })).toMatch(new RegExp(`PORT ${port}.*EADDRINUSE`));
  });

  test.concurrent('a bot token that Slack refuses', { timeout: MAX_WAIT_MS }, async () => {
    const token = 'xoxb-of-another-app';
    const said = await failsToStart({ ...s.settings, SLACK_BOT_TOKEN: token });
    expect(said).toMatch(/Slack refuses SLACK_BOT_TOKEN \(invalid_auth\)/);
    expect(said).not.toContain(token);
  });

  test.concurrent('an app token that Slack refuses', { timeout: MAX_WAIT_MS }, async () => {
    const token = 'xapp-of-another-app';
    const said = await failsToStart({ ...s.settings, SLACK_APP_TOKEN: token });
    expect(said).toMatch(/Slack refuses SLACK_APP_TOKEN \(invalid_auth\)/);
    expect(said).not.toContain(token);
  });
});

test(
  'settings are read from a .env file, and without an address a database is created; both survive a restart, and belong to one bot',
  async () => {
    const { DATABASE_URL: _none, ...settings } = s.settings;
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"`);
    await writeFile(join(s.folder, '.env'), lines.join('\n'));
    onTestFinished(async () => {
      await rm(join(s.folder, '.env'));
      // If run by root, the data is elsewhere.
      await rm(await realpath(join(s.folder, 'data', 'postgres')), { recursive: true, force: true });
    });
    const fromFile = Object.fromEntries(Object.keys(s.settings).map((name) => [name, undefined]));
    const alice = s.workspace.as('U0ALICE');

    const first = await s.start(MAIN, fromFile);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${first.url}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${first.url}/metrics`)).text()).toContain('domain_steward_orders');
    await link(s.workspace, alice);

    const refused = await failsToStart(fromFile);
    expect(refused).toMatch(new RegExp(`^.*in use by process ${first.child.pid}.*DATABASE_URL\\n$`));
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);

    process.kill(first.child.pid, 'SIGTERM');
    expect(await first.child.ended, first.child.output()).toBe(0);
    // The log is JSON lines and nothing else.
    for (const line of first.child.output().trim().split('\n'))
      expect(() => JSON.parse(line), line).not.toThrow();
    expect(first.child.output()).not.toContain('alice-sandbox-password');

    const second = await s.start(MAIN, fromFile);
    expect(await answerTo(s.workspace, alice, '/domain whoami')).toContain('alice in context 4');
    process.kill(second.child.pid, 'SIGINT');
    expect(await second.child.ended, second.child.output()).toBe(0);
  },
  MAX_WAIT_MS,
);

test(
  'stopped during its start, it exits with 0',
  async () => {
    // Slack is down, so the start never finishes.
    s.workspace.faults.set({ method: 'auth.test', kind: 'http_500' });
    onTestFinished(() => s.workspace.faults.clear());
    const child = startChild(await bundled(MAIN), { env: s.settings, cwd: s.folder });
    await child.line(/waiting for Slack/);
    const toldAt = Date.now();
    process.kill(child.pid, 'SIGTERM');
    expect(await child.ended, child.output()).toBe(0);
    expect(Date.now() - toldAt, 'ms until it ended').toBeLessThan(10_000);
  },
  MAX_WAIT_MS,
);

test(
  'in Socket Mode it survives a delivery that crashes its library',
  async () => {
    const { SLACK_SIGNING_SECRET: _unused, ...settings } = s.settings;
    const bot = await s.start(MAIN, {
      ...settings,
      SLACK_SIGNING_SECRET: undefined,
      SLACK_APP_TOKEN: s.workspace.appToken,
    });
    const alice = s.workspace.as('U0ALICE');
    await alice.command(DOMAINS, '/domain help');
    const delivery = s.workspace.deliveries.at(-1);
    if (delivery?.transport !== 'socket') throw new Error('the command did not go through the socket');
    void s.workspace.redeliver({ ...delivery, type: 'events_api', payload: { type: 'event_callback' } });
    await bot.child.line(/unhandled rejection/);
    expect((await alice.command(DOMAINS, '/domain help')).acked).toBe(true);
    process.kill(bot.child.pid, 'SIGTERM');
    expect(await bot.child.ended, bot.child.output()).toBe(0);
  },
  MAX_WAIT_MS,
);
