import diagnostics from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DOMAINS, link, performAndReadReply, readCommandReply, until, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand, requestsOf } from '../support/orders.ts';

/* Socket Mode: Slack's deliveries arrive over a socket that the bot opens. */

const t = useTestDemo({ socketMode: true, linkedPeople: [] });

const get = async (path: string) => {
  const response = await fetch(t.botUrl + path);
  return { status: response.status, text: await response.text() };
};

const isReady = async () => t.workspace.socket.connectionCount > 0 && (await get('/readyz')).status === 200;

async function renew(name: string): Promise<void> {
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, `/domain renew ${name}`),
  );
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order)).toHaveLength(1);
}

test('a renewal works from linking to the result', async () => {
  await link(t.workspace, t.alice);
  await renew('cafe.rest');
  expect(new Set(t.workspace.deliveries.map(({ transport }) => transport))).toEqual(new Set(['socket']));
});

test('the HTTP server responds to health checks but accepts no deliveries', async () => {
  expect(await get('/healthz')).toMatchObject({ status: 200 });
  expect(await get('/readyz')).toMatchObject({ status: 200 });
  expect((await get('/metrics')).text).toMatch(/^domain_steward_orders\{state="SUCCEEDED"\} 1$/m);
  const response = await fetch(`${t.botUrl}/slack/events`, { method: 'POST', body: '{}' });
  expect(response.ok).toBe(false);
});

test('Slack’s events about people and groups arrive over the socket', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew diner.rest');
  await t.carol.openHome();
  await t.workspace.waitFor(() => t.carol.homeView(), { what: 'the Home tab, which caches the group' });
  await t.workspace.setUsergroupMembers('S0APPROVERS', []);
  const refused = performAndReadReply(t.workspace, t.carol, () => t.carol.click(order.card, 'order_approve'));
  expect(await refused).toContain('Only approvers can approve orders.');
  await t.workspace.changePerson('U0ALICE', { deleted: true });
  await order.waitForResult('FAILED');
  expect(requestsOf(t.service, order)).toEqual([]);
  await t.workspace.changePerson('U0ALICE', { deleted: false });
  await link(t.workspace, t.alice);
});

test('the bot reconnects when Slack asks it to', async () => {
  const countOpened = () =>
    t.workspace.calls.filter(({ method }) => method === 'apps.connections.open').length;
  const before = countOpened();
  t.workspace.socket.askToReconnect();
  await until('a new connection of the bot', async () => countOpened() > before && (await isReady()));
  await renew('bar.rest');
});

test('the bot isn’t ready between a lost connection and the next one', async () => {
  t.workspace.faults.set({
    method: 'apps.connections.open',
    kind: 'error',
    code: 'internal_error',
    times: 2,
  });
  t.workspace.socket.disconnect();
  await until('the bot isn’t ready', async () => {
    const { status, text } = await get('/readyz');
    return status === 503 && text.includes('"slack"');
  });
  await until('the bot is ready again', isReady);
  await renew('deli.rest');
});

test('the bot stays up during an outage of Slack and reconnects afterwards', async () => {
  t.workspace.faults.set({ method: 'apps.connections.open', kind: 'http_500', times: 1 });
  t.workspace.faults.set({ method: 'apps.connections.open', kind: 'lost_answer', times: 1 });
  t.workspace.socket.disconnect();
  await until('the connection is gone', () => t.workspace.socket.connectionCount === 0);
  await until('the bot is connected again', () => t.workspace.socket.connectionCount > 0, 15_000);
  await until('the bot is ready', isReady, 15_000);
  await renew('soup.rest');
});

test('the bot keeps working after a malformed delivery', async () => {
  const [some] = t.workspace.deliveries;
  if (some === undefined) throw new Error('no delivery');
  void t.workspace.redeliver({
    ...some,
    type: 'interactive',
    payload: { type: 'block_actions', actions: [] },
  });
  void t.workspace.redeliver({ ...some, type: 'slash_commands', payload: {} });
  expect(await readCommandReply(t.workspace, t.alice, '/domain whoami')).toContain('alice in context 4');
});

describe('a stopping bot', () => {
  const demoToStop = useTestDemo({ socketMode: true });

  test('acknowledges running deliveries over its socket', async () => {
    const { workspace, bob, demo } = demoToStop;
    workspace.faults.set({ method: 'users.info', kind: 'slow', delayMs: 800, times: 1 });
    const userLookup = waitForCall('users.info');
    const command = bob.command(DOMAINS, '/domain watch stopping.rest');
    await userLookup;
    await demo.bot.stopBot();
    expect((await command).acked).toBe(true);
  });
});

const call = z.object({ request: z.object({ path: z.string() }) });

/** Resolves when the bot calls a method of Slack's API. */
function waitForCall(method: string): Promise<void> {
  return new Promise((resolve) => {
    const onRequest = (message: unknown) => {
      if (!call.parse(message).request.path.endsWith(method)) return;
      diagnostics.unsubscribe('undici:request:create', onRequest);
      resolve();
    };
    diagnostics.subscribe('undici:request:create', onRequest);
  });
}
