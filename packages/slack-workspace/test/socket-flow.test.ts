import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { startWorkspace, type Workspace, type WorkspaceOptions } from '../src/index.ts';
import { type RunningApp, startSocketApp } from './bolt-app.ts';

let workspace: Workspace;
let runningApp: RunningApp;

async function start(options: WorkspaceOptions = {}, clientPingTimeout?: number): Promise<void> {
  workspace = await startWorkspace(options);
  runningApp = await startSocketApp(workspace, clientPingTimeout);
}
async function stop(): Promise<void> {
  await runningApp.stop();
  await workspace.close();
}

beforeEach(() => start());
afterEach(() => stop());

const plainText = (text: string) => ({ type: 'plain_text' as const, text });

test('delivers commands, submissions and events over Socket Mode', async () => {
  runningApp.app.command('/domain', async ({ ack, body, client }) => {
    await ack('hello');
    await client.views.open({
      trigger_id: body.trigger_id,
      view: { type: 'modal', callback_id: 'f', title: plainText('Form'), blocks: [{ type: 'divider' }] },
    });
  });
  runningApp.app.view('f', async ({ ack }) => {
    const blocks = Array.from({ length: 90 }, () => ({
      type: 'section' as const,
      text: { type: 'mrkdwn' as const, text: 'ä'.repeat(900) },
    }));
    await ack({ response_action: 'update', view: { type: 'modal', title: plainText('Long'), blocks } });
  });
  runningApp.app.event('app_home_opened', async ({ event, client }) => {
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
  runningApp.app.command('/domain', async () => {});
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: false, error: 'operation_timeout' });
});

test.each(['askToReconnect', 'disconnect'] as const)('the app reconnects after %s', async (methodName) => {
  await stop();
  await start({}, 150);
  runningApp.app.command('/domain', async ({ ack }) => ack('here again'));
  workspace.socket[methodName]();
  const countOpenCalls = () =>
    workspace.calls.filter(({ method, ok }) => method === 'apps.connections.open' && ok).length;
  await workspace.waitFor(
    () => (countOpenCalls() === 2 && workspace.socket.connectionCount === 1 ? true : undefined),
    {
      what: 'a second connection',
    },
  );
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: true, response: { text: 'here again' } });
});

test('a command fails without a connection', async () => {
  await runningApp.stop();
  await workspace.waitFor(() => (workspace.socket.connectionCount === 0 ? true : undefined), {
    what: 'no connection',
  });
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: false, error: 'dispatch_failed' });
});

test('stays available after invalid tickets, invalid JSON and oversized messages', async () => {
  const address = `${workspace.url.replace('http', 'ws')}link/?ticket=guessed`;
  await expect(once(new WebSocket(address), 'open')).rejects.toThrow('404');

  const openResponse = await fetch(`${workspace.apiUrl}apps.connections.open`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.appToken}` },
  });
  const { url } = z.object({ url: z.string() }).parse(await openResponse.json());
  const client = new WebSocket(url);
  await once(client, 'message');
  client.send('no JSON');
  client.send('x'.repeat(5 * 1024 * 1024));
  const [code] = await once(client, 'close');
  expect(code).toBe(1009);
  await workspace.waitFor(() => (workspace.socket.connectionCount === 1 ? true : undefined), {
    what: 'only the app’s connection',
  });
  runningApp.app.command('/domain', async ({ ack }) => ack('still here'));
  expect(await workspace.as('U0ALICE').command('C0DOMAINS', '/domain')).toMatchObject({ acked: true });
});
