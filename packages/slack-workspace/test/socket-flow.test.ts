import { afterEach, beforeEach, expect, test } from 'vitest';
import { startWorkspace, type Workspace } from '../src/index.ts';
import { type RunningApp, socketApp } from './bolt-app.ts';

let workspace: Workspace;
let running: RunningApp;

beforeEach(async () => {
  workspace = await startWorkspace({ ackTimeoutMs: 300 });
  running = await socketApp(workspace);
});

afterEach(async () => {
  await running.stop();
  await workspace.close();
});

const plain = (text: string) => ({ type: 'plain_text' as const, text });

test('carries commands, submissions and events over Socket Mode', async () => {
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
  // An answer of 180 kB takes the long form of a frame's length.
  expect(await alice.submit(view)).toMatchObject({ outcome: 'updated', view: { title: { text: 'Long' } } });
  await alice.openHome();
  await workspace.waitFor(() => alice.homeView(), { what: 'the Home tab' });
  expect(workspace.deliveries.map(({ type, over }) => [type, over])).toEqual([
    ['slash_commands', 'socket'],
    ['interactive', 'socket'],
    ['events_api', 'socket'],
  ]);
});

test('says so when an envelope is not acknowledged in time', async () => {
  running.app.command('/domain', async () => {});
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: false, error: 'operation_timeout' });
});

test.each(['askToReconnect', 'cut'] as const)('is connected to again after %s', async (how) => {
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

test('reports that nothing is connected', async () => {
  await running.stop();
  await workspace.waitFor(() => (workspace.socket.connections === 0 ? true : undefined), {
    what: 'no connection',
  });
  const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
  expect(result).toMatchObject({ acked: false, error: 'dispatch_failed' });
});
