import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { startWorkspace, type Workspace, type WorkspaceOptions } from '../src/index.ts';
import { type RunningApp, startSocketApp } from './bolt-app.ts';

let workspace: Workspace;
let running: RunningApp;

async function start(options: WorkspaceOptions = {}, clientPingTimeout?: number): Promise<void> {
  workspace = await startWorkspace(options);
  running = await startSocketApp(workspace, clientPingTimeout);
}
async function stop(): Promise<void> {
  await running.stop();
  await workspace.close();
}

beforeEach(() => start());
afterEach(() => stop());

const plain = (text: string) => ({ type: 'plain_text' as const, text });

test('delivers commands, submissions and events over Socket Mode', async () => {
  running.app.command('/domain', async ({ ack, body, client }) => {
    await ack('hello');
    await client.views.open({
      trigger_id: body.trigger_id,
      view: { type: 'modal', callback_id: 'f', title: plain('Form'), blocks: [{ type: 'divider' }] },
    });
  });
  running.app.view('f', async ({ ack }) => {
    const blocks = Array.from({ length: 90 }, () => ({
      type: 'section' as const,
      text: { type: 'mrkdwn' as const, text: 'ä'.repeat(900) },
    }));
    await ack({ response_action: 'update', view: { type: 'modal', title: plain('Long'), blocks } });
  });
  running.app.event('app_home_opened', async ({ event, client }) => {
    await client.views.publish({
      user_id: event.user,
      view: { type: 'home', blocks: [{ type: 'divider' }] },
    });
  });
  const alice = workspace.as('U0ALICE');
  expect(await alice.command('C0DOMAINS', '/domain')).toMatchObject({ acked: true, status: 200 });
  expect(alice.ephemerals()[0]?.text).toBe('hello');
  const view = await workspace.waitFor(() => alice.openedViews()[0], { what: 'the form' });
  // A response of 180 kB needs the extended frame length (RFC 6455, section 5.2).
  expect(await alice.submit(view)).toMatchObject({ outcome: 'updated', view: { title: { text: 'Long' } } });
  await alice.openHome();
  await workspace.waitFor(() => alice.homeView(), { what: 'the Home tab' });
  expect(workspace.deliveries.map(({ type, transport }) => [type, transport])).toEqual([
    ['slash_commands', 'socket'],
    ['interactive', 'socket'],
    ['events_api', 'socket'],
  ]);
});

test('a command times out if its envelope isn’t acknowledged', async () => {
  await stop();
  await start({ ackTimeoutMs: 300 });
  running.app.command('/domain', async () => {});
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: false, error: 'operation_timeout' });
});

test.each(['askToReconnect', 'disconnect'] as const)('the app reconnects after %s', async (how) => {
  await stop();
  await start({}, 150);
  running.app.command('/domain', async ({ ack }) => ack('here again'));
  workspace.socket[how]();
  const opened = () =>
    workspace.calls.filter(({ method, ok }) => method === 'apps.connections.open' && ok).length;
  await workspace.waitFor(() => (opened() === 2 && workspace.socket.connections === 1 ? true : undefined), {
    what: 'a second connection',
  });
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: true, response: { text: 'here again' } });
});

test('a command fails without a connection', async () => {
  await running.stop();
  await workspace.waitFor(() => (workspace.socket.connections === 0 ? true : undefined), {
    what: 'no connection',
  });
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: false, error: 'dispatch_failed' });
});

test('continues after clients without a ticket, invalid JSON and oversized messages', async () => {
  const { url: api } = workspace;
  const address = `${api.replace('http', 'ws')}link/?ticket=guessed`;
  await expect(once(new WebSocket(address), 'open')).rejects.toThrow('404');

  const open = await fetch(`${workspace.apiUrl}apps.connections.open`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.appToken}` },
  });
  const { url } = z.object({ url: z.string() }).parse(await open.json());
  const client = new WebSocket(url);
  await once(client, 'message');
  client.send('no JSON');
  client.send('x'.repeat(5 * 1024 * 1024));
  const [code] = await once(client, 'close');
  expect(code).toBe(1009);
  await workspace.waitFor(() => (workspace.socket.connections === 1 ? true : undefined), {
    what: 'only the app’s connection',
  });
  running.app.command('/domain', async ({ ack }) => ack('still here'));
  expect(await workspace.as('U0ALICE').command('C0DOMAINS', '/domain')).toMatchObject({ acked: true });
});
