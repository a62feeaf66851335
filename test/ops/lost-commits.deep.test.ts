import { randomBytes } from 'node:crypto';
import { type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bot, startBot } from '../../src/app/bot.ts';
import { readConfig } from '../../src/config/environment.ts';
import { createLog } from '../../src/lib/log.ts';
import { link, textOf, until } from '../support/demo.ts';
import { countChargesFor, requestAndApprove, requestByCommand, requestsOf } from '../support/orders.ts';
import { DedicatedServer } from '../support/own-server.ts';

/* The database server loses its latest commits in a crash, while the bot keeps running. */

const MAX_WAIT_MS = 120_000;

let server: DedicatedServer;
let service: SandboxService;
let workspace: Workspace;
let databaseUrl: string;
let bot: Bot | undefined;
let logOutput = '';
const credentialsKeys = `test:${randomBytes(32).toString('base64')}`;

beforeAll(async () => {
  server = await DedicatedServer.open({ synchronous_commit: 'off' });
  service = await startSandboxService();
  workspace = await startWorkspace();
  databaseUrl = await server.createDatabase();
  await startTestBot();
  await link(workspace, workspace.as('U0ALICE'));
}, MAX_WAIT_MS);

async function startTestBot(): Promise<void> {
  const config = readConfig({
    SLACK_BOT_TOKEN: workspace.botToken,
    SLACK_SIGNING_SECRET: workspace.signingSecret,
    SLACK_API_URL: workspace.apiUrl,
    PORT: '0',
    SERVICE_JSON_URL: service.jsonUrl,
    CREDENTIALS_KEYS: credentialsKeys,
    DATABASE_URL: databaseUrl,
    APPROVERS: 'U0BOB',
    RDAP_BOOTSTRAP_URL: service.rdapBootstrapUrl,
    WHOIS: 'off',
    // Nothing listens there: tests stay on this machine.
    DNS_SERVERS: '127.0.0.1:9',
  });
  const write = (line: string) => {
    logOutput += line;
  };
  bot = await startBot(config, { log: createLog('info', { write }) });
  workspace.setRequestUrl(`http://127.0.0.1:${bot.port}/slack/events`);
}
afterAll(async () => {
  await bot?.stopBot();
  await workspace?.close();
  await service?.close();
  await server?.close();
});

test(
  'a stopped bot resumes its orders after a database restart',
  async () => {
    const [alice, bob] = [workspace.as('U0ALICE'), workspace.as('U0BOB')];
    service.faults.set({ kind: 'status_429', retryAfter: 5, times: 1, match: { name: 'sushi.rest' } });
    const order = await requestAndApprove(
      bob,
      requestByCommand(workspace, alice, '/domain renew sushi.rest'),
    );
    await until('the service has rate-limited the order', () => requestsOf(service, order).length === 1);
    await bot?.stopBot();
    expect(await server.sql('SELECT at_work FROM heartbeats', databaseUrl)).toEqual([{ at_work: {} }]);
    await server.stop();
    await server.start();
    await startTestBot();
    await order.waitForResult('SUCCEEDED', 20_000);
    expect(countChargesFor(service, 'sushi.rest')).toBe(1);
  },
  MAX_WAIT_MS,
);

test(
  'after lost commits, earlier orders become unknown and aren’t sent again, but new ones are sent',
  async () => {
    const alice = workspace.as('U0ALICE');
    const bob = workspace.as('U0BOB');
    service.faults.set({ kind: 'status_429', retryAfter: 5, match: { name: 'bar.rest' } });
    const delayedOrder = await requestAndApprove(
      bob,
      requestByCommand(workspace, alice, '/domain renew bar.rest'),
    );
    await until(
      'the service has rate-limited the order',
      () => requestsOf(service, delayedOrder).length === 1,
    );
    const order = await requestByCommand(workspace, alice, '/domain renew cafe.rest');
    const restoreSnapshot = await server.snapshot();

    service.faults.set({ kind: 'slow', delayMs: 8_000, times: 1, match: { name: 'cafe.rest' } });
    await bob.click(order.card, 'order_approve');
    await until('the request reaches the service', () => requestsOf(service, order).length === 1);
    await restoreSnapshot();
    await server.start();

    expect(textOf(await delayedOrder.waitForResult('UNKNOWN', 20_000))).toContain('restored from a backup');
    expect(logOutput).toContain('the server lost commits');
    // Its approval is lost too, so the row is pending when the response comes.
    const reply = textOf(await order.waitForResult('UNKNOWN', 20_000));
    expect(reply).toMatch(/the bot’s database lost the record.*confirmed that it was carried out.*S0/s);
    expect(requestsOf(service, order), 'requests').toHaveLength(1);
    expect(countChargesFor(service, 'cafe.rest')).toBe(1);

    service.faults.clear();
    const later = await requestAndApprove(bob, requestByCommand(workspace, alice, '/domain renew deli.rest'));
    await later.waitForResult('SUCCEEDED', 20_000);
    expect(countChargesFor(service, 'bar.rest'), 'charges for the unknown order').toBe(0);
  },
  MAX_WAIT_MS,
);
