import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { openForm, textOf, until, useTestDemo } from '../support/demo.ts';

/* `runDoctor` as a process beside a running bot: its output for correct and wrong settings. */

const CLI = new URL('../../src/cli.ts', import.meta.url);
let requestCount = 0;
const responseTrigger = new EventEmitter();
/** Listens at the bot’s `PUBLIC_URL`, and responds only after the event `now`. */
const publicServer = createServer((_request, response) => {
  requestCount += 1;
  responseTrigger.on('now', () => response.writeHead(404).end());
});
const settings: Record<string, string> = { ADMINS: 'U0ADA' };
beforeAll(async () => {
  await new Promise<void>((resolve) => publicServer.listen(0, '127.0.0.1', resolve));
  settings['PUBLIC_URL'] = `http://127.0.0.1:${(publicServer.address() as AddressInfo).port}`;
});
afterAll(() => publicServer.close());
const t = useTestDemo({ settings });
const validSettings = () => ({
  SLACK_BOT_TOKEN: t.workspace.botToken,
  SLACK_SIGNING_SECRET: t.workspace.signingSecret,
  SLACK_APP_TOKEN: t.workspace.appToken,
  SLACK_API_URL: t.workspace.apiUrl,
  SERVICE_JSON_URL: t.service.jsonUrl,
  CREDENTIALS_KEYS: `other:${randomBytes(32).toString('base64')}`,
  DATABASE_URL: t.databaseUrl,
  PUBLIC_URL: t.botUrl,
  APPROVERS: 'U0BOB,S0APPROVERS',
  ADMINS: 'U0ADA',
  REMINDER_CHANNEL: 'C0EXPIRY',
  RDAP_BOOTSTRAP_URL: t.service.rdapBootstrapUrl,
});

async function runDoctor(env: Readonly<Record<string, string>> = {}) {
  const child = startChild(CLI, { args: ['doctor'], env: { ...validSettings(), ...env } });
  const code = await child.ended;
  return { code, output: child.output(), lines: child.output().trim().split('\n') };
}

test('prints one line for each correct setting, and leaves no message in Slack', async () => {
  const { code, output } = await runDoctor();
  for (const line of [
    /^ok {7}Database: PostgreSQL \d+/m,
    /^ok {7}Database clock: in sync/m,
    /^ok {7}Slack: SLACK_BOT_TOKEN belongs to the workspace /m,
    /^ok {7}Scopes: all scopes of manifest\.yml/m,
    /^ok {7}APPROVERS: U0BOB is a member/m,
    /^ok {7}APPROVERS: the group S0APPROVERS has 1 member\./m,
    /^ok {7}ADMINS: U0ADA is a member/m,
    /^ok {7}REMINDER_CHANNEL: the bot can post in C0EXPIRY/m,
    /^ok {7}Slack: SLACK_APP_TOKEN opens Socket Mode/m,
    /^ok {7}Slack’s clock: /m,
    /^warning {2}SERVICE_JSON_URL: 127\.0\.0\.1:\d+ is reachable, without TLS/m,
    /^ok {7}Registries: the list at http/m,
    /^ok {7}PUBLIC_URL: reaches a bot/m,
  ])
    expect(output).toMatch(line);
  // The stored values are sealed with the demo's key.
  expect(output).toMatch(
    /^wrong {4}Keys: “demo” encrypts 1 account, 1 key of the ledger, and isn’t in CREDENTIALS_KEYS\. Add it/m,
  );
  expect(code).toBe(1);
  expect(t.workspace.scheduledMessageChannels.size).toBe(0);
  expect(t.workspace.calls.filter(({ method }) => method === 'chat.scheduleMessage')).toHaveLength(1);
});

test('prints a line for each problem, with what to do', async () => {
  const { code, output, lines } = await runDoctor({
    APPROVERS: 'U0NOBODY,S0NOBODY',
    REMINDER_CHANNEL: 'C0NOWHERE',
    SLACK_APP_TOKEN: 'xapp-wrong',
    SERVICE_JSON_URL: 'http://127.0.0.1:9/v1',
    // Not the workspace's address, which forwards requests to the bot.
    PUBLIC_URL: new URL(t.demo.service.jsonUrl).origin,
    CREDENTIALS_KEYS: `demo:${randomBytes(32).toString('base64')}`,
    REMINDER_CRONN: '1',
    RDAP_BOOTSTRAP_URL: 'http://127.0.0.1:9/dns.json',
  });
  expect(output).toMatch(/^warning {2}Settings: REMINDER_CRONN is unknown\. Did you mean REMINDER_CRON\?/m);
  expect(output).toMatch(/^wrong {4}Keys: “demo” encrypts .* but can’t decrypt it\./m);
  expect(output).toMatch(/^warning {2}APPROVERS: U0NOBODY: Slack says user_not_found\. Remove U0NOBODY/m);
  expect(output).toMatch(/^warning {2}APPROVERS: the group S0NOBODY: Slack says /m);
  expect(output).toMatch(
    /^warning {2}REMINDER_CHANNEL: C0NOWHERE: Slack says channel_not_found\. Invite the bot/m,
  );
  expect(output).toMatch(/^wrong {4}Slack: SLACK_APP_TOKEN: /m);
  expect(output).toMatch(/^wrong {4}SERVICE_JSON_URL: 127\.0\.0\.1:9 can’t be reached: /m);
  expect(output).toMatch(/^warning {2}Registries: http:\/\/127\.0\.0\.1:9\/dns\.json can’t be reached: /m);
  expect(output).toMatch(/^warning {2}PUBLIC_URL: something else answers there/m);
  expect(lines.at(-1)).toMatch(/^Next: \w+/);
  expect(lines.at(-2)).toMatch(/^\d+ wrong, \d+ warning, \d+ ok\.$/);
  expect(code).toBe(1);
});

test('runs the other checks even if Slack refuses the token and the database is down', async () => {
  const { output } = await runDoctor({
    SLACK_BOT_TOKEN: 'xoxb-wrong',
    DATABASE_URL: 'postgresql://127.0.0.1:9/steward',
  });
  expect(output).toMatch(/^wrong {4}Database: connecting to the database steward at 127\.0\.0\.1:9/m);
  expect(output).toMatch(/^wrong {4}Slack: SLACK_BOT_TOKEN: Slack says invalid_auth\. Reinstall the app/m);
  expect(output).toMatch(/^ok {7}PUBLIC_URL: /m);
});

test('admins see the same results in the settings form, while the checks run', async () => {
  const form = await openForm(t.workspace, t.ada, '/domain settings');
  // The click is acknowledged before the last check has finished.
  await t.ada.click(form, 'settings_check');
  await until('the bot requests PUBLIC_URL', async () => requestCount > 0);
  const page = () => t.ada.openedViews().map(textOf).at(-1) ?? '';
  await until('the first results are shown', async () => page().includes('*APPROVERS*'));
  expect(page()).toContain('I’m checking every setting');
  responseTrigger.emit('now');
  await until('all checks are done', async () => page().includes(' warning, '));
  const { lines } = await runDoctor();
  // Keys, addresses and people of the demo differ from the command's.
  const sharedLines = lines.filter((line) =>
    /^ok +(Database|Slack’s clock|Slack: SLACK_BOT|Scopes)/.test(line),
  );
  expect(sharedLines.length).toBeGreaterThan(4);
  const normalizeText = (text: string) =>
    text.replaceAll('*', '').replaceAll('&amp;', '&').replaceAll(/\d+/g, 'N');
  for (const line of sharedLines)
    expect(normalizeText(page())).toContain(normalizeText(line.replace(/^ok +/, '')));
});
