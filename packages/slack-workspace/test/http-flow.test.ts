import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startWorkspace, type Workspace, type WorkspaceOptions } from '../src/index.ts';
import { type RunningApp, startHttpApp } from './bolt-app.ts';

const plainText = (text: string) => ({ type: 'plain_text' as const, text });

const createForm = (callbackId: string) => ({
  type: 'modal' as const,
  callback_id: callbackId,
  title: plainText('Renew'),
  submit: plainText('Ask'),
  blocks: [
    {
      type: 'input' as const,
      block_id: 'names',
      label: plainText('Names'),
      element: { type: 'plain_text_input' as const, action_id: 'names', multiline: true },
    },
    {
      type: 'input' as const,
      block_id: 'period',
      label: plainText('Period'),
      optional: true,
      element: {
        type: 'static_select' as const,
        action_id: 'period',
        options: [1, 2].map((years) => ({ text: plainText(`${years}`), value: `${years}` })),
      },
    },
  ],
});

describe('a Bolt app over HTTP', () => {
  let clock = Date.now();
  let workspace: Workspace;
  let runningApp: RunningApp;

  async function start(options: WorkspaceOptions = {}): Promise<void> {
    clock = Date.now();
    workspace = await startWorkspace({ now: () => clock, eventRetryDelaysMs: [0, 10, 10], ...options });
    runningApp = await startHttpApp(workspace);
  }
  async function stop(): Promise<void> {
    await runningApp.stop();
    await workspace.close();
  }

  beforeEach(() => start());
  afterEach(() => stop());

  test('shows an error if a command isn’t acknowledged in time', async () => {
    await stop();
    await start({ ackTimeoutMs: 400 });
    runningApp.app.command('/domain', async () => {});
    const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain help');
    expect(result).toMatchObject({ acked: false, status: null, error: 'operation_timeout' });
    expect(workspace.as('U0ALICE').ephemerals()[0]?.text).toBe(
      '/domain failed with the error "operation_timeout"',
    );
  });

  test('gets events about changed people and group members', async () => {
    const events: unknown[] = [];
    runningApp.app.event('user_change', async ({ event }) => void events.push(event));
    runningApp.app.event('subteam_members_changed', async ({ event }) => void events.push(event));
    await workspace.changePerson('U0BOB', { deleted: true });
    await workspace.changePerson('U0BOB', { deleted: false, is_restricted: true }, false);
    await workspace.setUsergroupMembers('S0APPROVERS', ['U0ADA']);
    await workspace.waitFor(() => events[1], { what: 'both events' });
    expect(events).toEqual([
      {
        type: 'user_change',
        user: expect.objectContaining({
          id: 'U0BOB',
          team_id: workspace.teamId,
          deleted: true,
          is_restricted: false,
          is_ultra_restricted: false,
        }),
        cache_ts: Math.floor(clock / 1_000),
        event_ts: expect.any(String),
      },
      expect.objectContaining({
        type: 'subteam_members_changed',
        subteam_id: 'S0APPROVERS',
        team_id: workspace.teamId,
        added_users: ['U0ADA'],
        added_users_count: 1,
        removed_users: ['U0CAROL'],
        removed_users_count: 1,
      }),
    ]);
    const { user } = await runningApp.app.client.users.info({ user: 'U0BOB', token: workspace.botToken });
    expect(user).toMatchObject({ deleted: false, is_restricted: true });
  });

  test('can use a trigger once, within three seconds', async () => {
    runningApp.app.command('/domain', async ({ ack }) => ack());
    const { client } = runningApp.app;
    const alice = workspace.as('U0ALICE');
    const { triggerId } = await alice.command('C0DOMAINS', '/domain');
    const view = createForm('renew');
    clock += 3_000;
    await client.views.open({ trigger_id: triggerId, view });
    await expect(client.views.open({ trigger_id: triggerId, view })).rejects.toThrow('exchanged_trigger_id');
    const lateResult = await alice.command('C0DOMAINS', '/domain');
    clock += 3_001;
    await expect(client.views.open({ trigger_id: lateResult.triggerId, view })).rejects.toThrow(
      'expired_trigger_id',
    );
    await expect(client.views.open({ trigger_id: '1.2.abc', view })).rejects.toThrow('invalid_trigger_id');
  });

  test('accepts redeliveries, but refuses wrong signatures and old timestamps', async () => {
    let commandCount = 0;
    runningApp.app.command('/domain', async ({ ack }) => {
      commandCount += 1;
      await ack();
    });
    await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
    const [delivery] = workspace.deliveries;
    if (!delivery) throw new Error('nothing was delivered');
    const signature = `v0=${'0'.repeat(64)}`;
    expect(await workspace.redeliver(delivery, { signature })).toMatchObject({ acked: false, status: 401 });
    const oldTimestamp = Math.floor(Date.now() / 1_000) - 301;
    expect(await workspace.redeliver(delivery, { timestamp: oldTimestamp })).toMatchObject({
      acked: false,
      status: 401,
    });
    expect(commandCount).toBe(1);
    expect(await workspace.redeliver(delivery)).toMatchObject({ acked: true });
    expect(commandCount).toBe(2);
    expect(await workspace.verifyRequestUrl()).toBe(true);
  });

  test('can use a response URL five times within 30 minutes', async () => {
    const urls: string[] = [];
    runningApp.app.command('/domain', async ({ command, ack }) => {
      urls.push(command.response_url);
      await ack();
    });
    await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
    await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
    const [first = '', second = ''] = urls;
    const post = async (url: string): Promise<[number, string]> => {
      const response = await fetch(url, { method: 'POST', body: JSON.stringify({ text: 'hello' }) });
      return [response.status, await response.text()];
    };
    for (let use = 0; use < 5; use += 1) expect(await post(first)).toEqual([200, 'ok']);
    expect(await post(first)).toEqual([404, '{"ok":false,"error":"used_url"}']);
    clock += 30 * 60_000 + 1;
    expect(await post(second)).toEqual([404, '{"ok":false,"error":"expired_url"}']);
  });
});

test('many events can wait for an app that is down', async () => {
  const workspace = await startWorkspace();
  const alice = workspace.as('U0ALICE');
  await Promise.all(Array.from({ length: 12 }, () => alice.openHome()));
  // The first retry is immediate. Then each event waits a minute, or until the workspace closes.
  await workspace.waitFor(() => (workspace.deliveries.length >= 24 ? true : undefined), {
    what: 'the first retry of each event',
  });
  await workspace.close();
});
