import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Message, startWorkspace, type Workspace, type WorkspaceOptions } from '../src/index.ts';
import { httpApp, type RunningApp } from './bolt-app.ts';

const plain = (text: string) => ({ type: 'plain_text' as const, text });

const form = (callbackId: string) => ({
  type: 'modal' as const,
  callback_id: callbackId,
  title: plain('Renew'),
  submit: plain('Ask'),
  blocks: [
    {
      type: 'input' as const,
      block_id: 'names',
      label: plain('Names'),
      element: { type: 'plain_text_input' as const, action_id: 'names', multiline: true },
    },
    {
      type: 'input' as const,
      block_id: 'period',
      label: plain('Period'),
      optional: true,
      element: {
        type: 'static_select' as const,
        action_id: 'period',
        options: [1, 2].map((years) => ({ text: plain(`${years}`), value: `${years}` })),
      },
    },
  ],
});

const card = [
  { type: 'section' as const, text: { type: 'mrkdwn' as const, text: 'Renew *cafe.rest*' } },
  {
    type: 'actions' as const,
    elements: [
      { type: 'button' as const, action_id: 'order_approve', value: 'o1', text: plain('Approve') },
      { type: 'button' as const, action_id: 'order_deny', value: 'o1', text: plain('Deny') },
    ],
  },
];

describe('a Bolt app over HTTP', () => {
  let clock = Date.now();
  let workspace: Workspace;
  let running: RunningApp;

  async function start(options: WorkspaceOptions = {}): Promise<void> {
    clock = Date.now();
    workspace = await startWorkspace({ now: () => clock, eventRetryDelaysMs: [0, 10, 10], ...options });
    running = await httpApp(workspace);
  }
  async function stop(): Promise<void> {
    await running.stop();
    await workspace.close();
  }

  beforeEach(() => start());
  afterEach(() => stop());

  const cardIn = (channel: string): Promise<Message> =>
    workspace.waitFor(() => workspace.messages(channel).find(({ user }) => user === workspace.botUserId), {
      what: `the app's message in ${channel}`,
    });

  test('answers a command by acknowledgement and by response URL, with Slack’s escaping', async () => {
    const texts: string[] = [];
    running.app.command('/domain', async ({ command, ack, respond }) => {
      texts.push(command.text);
      await ack({ response_type: 'ephemeral', text: `got it, <@${command.user_id}>` });
      await respond('later');
      await respond({ text: 'for all', response_type: 'in_channel' });
    });
    const alice = workspace.as('U0ALICE');
    const result = await alice.command('C0DOMAINS', '/domain  renew <a> & b ');
    expect(result).toMatchObject({ acked: true, status: 200 });
    expect(texts).toEqual(['renew &lt;a&gt; &amp; b']);
    const posted = await cardIn('C0DOMAINS');
    expect(posted.text).toBe('for all');
    expect(alice.ephemerals('C0DOMAINS').map(({ text }) => text)).toEqual(['got it, <@U0ALICE>', 'later']);
    expect(workspace.as('U0BOB').ephemerals()).toEqual([]);
  });

  test('informs the person if a command isn’t acknowledged in time', async () => {
    await stop();
    await start({ ackTimeoutMs: 400 });
    running.app.command('/domain', async () => {});
    const result = await workspace.as('U0ALICE').command('C0DOMAINS', '/domain help');
    expect(result).toMatchObject({ acked: false, status: null, error: 'operation_timeout' });
    expect(workspace.as('U0ALICE').ephemerals()[0]?.text).toBe(
      '/domain failed with the error "operation_timeout"',
    );
  });

  test('shows a form with Slack’s errors, the app’s errors, an update, and its end', async () => {
    running.app.command('/domain', async ({ ack, body, client }) => {
      await ack();
      await client.views.open({ trigger_id: body.trigger_id, view: form('renew') });
    });
    const seen: unknown[] = [];
    running.app.view('renew', async ({ ack, view }) => {
      seen.push(view.state.values);
      const names = view.state.values['names']?.['names']?.value ?? '';
      if (names === 'bad') await ack({ response_action: 'errors', errors: { names: 'no such domain' } });
      else if (names === 'stray') await ack({ response_action: 'errors', errors: { nowhere: 'x' } });
      else if (names === 'check') await ack({ response_action: 'update', view: form('renew') });
      else if (names === 'push') await ack({ response_action: 'push', view: form('more') });
      else await ack();
    });
    const alice = workspace.as('U0ALICE');
    await alice.command('C0DOMAINS', '/domain renew');
    const view = await workspace.waitFor(() => alice.openedViews()[0], { what: 'the form' });

    expect(await alice.submit(view)).toEqual({
      outcome: 'errors',
      errors: { names: 'Please complete this required field.' },
      sent: false,
    });
    expect(await alice.submit(view, { names: 'bad' })).toEqual({
      outcome: 'errors',
      errors: { names: 'no such domain' },
      sent: true,
    });
    expect(await alice.submit(view, { names: 'stray' })).toEqual({
      outcome: 'failed',
      error: 'errors for blocks that are no inputs: nowhere',
    });
    const updated = await alice.submit(view, { names: 'check', period: '2' });
    expect(updated.outcome).toBe('updated');
    expect(alice.openedViews()[0]?.state.values['period']?.['period']).toMatchObject({
      selected_option: { value: '2' },
    });
    const pushed = await alice.submit(view, { names: 'push' });
    if (pushed.outcome !== 'pushed') throw new Error(`expected a pushed view, got ${JSON.stringify(pushed)}`);
    expect(alice.openedViews().map(({ callback_id }) => callback_id)).toEqual(['renew', 'more']);
    alice.close(pushed.view);
    expect(alice.openedViews().map(({ callback_id }) => callback_id)).toEqual(['renew']);
    expect(await alice.submit(view, { names: 'cafe.rest' })).toEqual({ outcome: 'closed' });
    expect(alice.openedViews()).toEqual([]);
    expect(seen).toHaveLength(5);
  });

  test('handles buttons of a card: payload, update, thread, metadata', async () => {
    const bodies: unknown[] = [];
    running.app.action('order_approve', async ({ ack, body, client, respond }) => {
      bodies.push(body);
      await ack();
      if (body.type !== 'block_actions' || !body.message || !body.channel) throw new Error('not a message');
      const { ts } = body.message;
      const channel = body.channel.id;
      await client.chat.update({ channel, ts, text: 'approved', blocks: [] });
      await client.chat.postMessage({ channel, thread_ts: ts, text: 'done, &lt;@U0ALICE&gt;' });
      await respond({ text: 'thank you', response_type: 'ephemeral', replace_original: false });
    });
    const metadata = { event_type: 'domain_order', event_payload: { order_id: 'o1', state: 'PENDING' } };
    await running.app.client.chat.postMessage({
      channel: 'C0DOMAINS',
      text: 'Order for <@U0BOB> and <!subteam^S0APPROVERS>',
      blocks: card,
      metadata,
    });
    const posted = await cardIn('C0DOMAINS');
    expect(posted.metadata).toEqual(metadata);
    expect(posted.notifies).toEqual(['U0BOB', 'S0APPROVERS']);

    const bob = workspace.as('U0BOB');
    const result = await bob.click(posted, 'order_approve');
    expect(result).toMatchObject({ acked: true });
    expect(bodies[0]).toMatchObject({
      type: 'block_actions',
      user: { id: 'U0BOB', team_id: 'T0STEWARD' },
      team: { id: 'T0STEWARD' },
      api_app_id: 'A0STEWARD',
      container: { type: 'message', message_ts: posted.ts, channel_id: 'C0DOMAINS', is_ephemeral: false },
      channel: { id: 'C0DOMAINS', name: 'domains' },
      actions: [{ type: 'button', action_id: 'order_approve', value: 'o1' }],
    });
    const reply = await workspace.waitFor(() => workspace.channel('domains').thread(posted.ts)[0], {
      what: 'the reply in the thread',
    });
    expect(reply.notifies).toEqual([]);
    const now = workspace.messages('C0DOMAINS')[0];
    expect(now).toMatchObject({ text: 'approved', blocks: [], metadata });
    await workspace.waitFor(() => bob.ephemerals('C0DOMAINS')[0], { what: 'the thanks' });
    await expect(async () => bob.click(posted, 'order_approve')).rejects.toThrow(
      'has no element order_approve',
    );
  });

  test('chooses a button in an overflow menu, in a message and in the Home tab', async () => {
    const chosen: unknown[] = [];
    running.app.action('order_more', async ({ ack, body }) => {
      await ack();
      if (body.type === 'block_actions') chosen.push(...body.actions);
    });
    const option = (value: string) => ({ text: plain(value), value });
    const blocks = [
      {
        type: 'section' as const,
        text: plain('Renew cafe.rest'),
        accessory: {
          type: 'overflow' as const,
          action_id: 'order_more',
          options: ['order_ask:o1', 'order_cancel:o1'].map(option),
        },
      },
    ];
    const { client } = running.app;
    await client.chat.postMessage({ channel: 'C0DOMAINS', text: 'Renew cafe.rest', blocks });
    await client.views.publish({ user_id: 'U0BOB', view: { type: 'home', blocks } });
    const bob = workspace.as('U0BOB');
    const posted = await cardIn('C0DOMAINS');
    await bob.click(posted, 'order_cancel', { value: 'o1' });
    await bob.click(posted, 'order_more', { value: 'order_ask:o1' });
    const home = bob.homeView();
    if (home === undefined) throw new Error('no Home tab was published');
    await bob.click(home, 'order_cancel');
    expect(chosen.map((action) => JSON.parse(JSON.stringify(action)))).toMatchObject(
      ['order_cancel:o1', 'order_ask:o1', 'order_cancel:o1'].map((value) => ({
        type: 'overflow',
        action_id: 'order_more',
        selected_option: option(value),
      })),
    );
    await expect(async () => bob.click(posted, 'order_approve')).rejects.toThrow(
      'has no element order_approve; it has order_more=order_ask:o1|order_cancel:o1',
    );
  });

  test('delivers message shortcuts and the opening of the Home tab', async () => {
    running.app.shortcut('domain_here', async ({ ack, shortcut, client }) => {
      await ack();
      await client.views.open({ trigger_id: shortcut.trigger_id, view: form('renew') });
    });
    running.app.event('app_home_opened', async ({ event, client }) => {
      await client.views.publish({
        user_id: event.user,
        view: { type: 'home', blocks: [{ type: 'header', text: plain('Orders') }] },
      });
    });
    const carol = workspace.as('U0CAROL');
    const message = carol.say('C0GENERAL', 'please renew');
    expect(await carol.shortcut('domain_here', message)).toMatchObject({ acked: true });
    await workspace.waitFor(() => carol.openedViews()[0], { what: 'the form' });
    expect(await carol.openHome()).toMatchObject({ acked: true });
    const home = await workspace.waitFor(() => carol.homeView(), { what: "Carol's Home" });
    expect(home.blocks).toHaveLength(1);
    expect(workspace.homeView('U0BOB')).toBeUndefined();
  });

  test('announces changed people, and joined and removed members of a group', async () => {
    const told: unknown[] = [];
    running.app.event('user_change', async ({ event }) => void told.push(event));
    running.app.event('subteam_members_changed', async ({ event }) => void told.push(event));
    await workspace.changePerson('U0BOB', { deleted: true });
    await workspace.changePerson('U0BOB', { deleted: false, is_restricted: true }, false);
    await workspace.setUsergroup('S0APPROVERS', ['U0ADA']);
    await workspace.waitFor(() => told[1], { what: 'both events' });
    expect(told).toEqual([
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
    const { user } = await running.app.client.users.info({ user: 'U0BOB', token: workspace.botToken });
    expect(user).toMatchObject({ deleted: false, is_restricted: true });
  });

  test('exchanges a trigger once and within three seconds', async () => {
    running.app.command('/domain', async ({ ack }) => ack());
    const { client } = running.app;
    const alice = workspace.as('U0ALICE');
    const { triggerId } = await alice.command('C0DOMAINS', '/domain');
    const view = form('renew');
    clock += 3_000;
    await client.views.open({ trigger_id: triggerId, view });
    await expect(client.views.open({ trigger_id: triggerId, view })).rejects.toThrow('exchanged_trigger_id');
    const late = await alice.command('C0DOMAINS', '/domain');
    clock += 3_001;
    await expect(client.views.open({ trigger_id: late.triggerId, view })).rejects.toThrow(
      'expired_trigger_id',
    );
    await expect(client.views.open({ trigger_id: '1.2.abc', view })).rejects.toThrow('invalid_trigger_id');
  });

  test('signs like Bolt expects, and redelivers', async () => {
    let commands = 0;
    running.app.command('/domain', async ({ ack }) => {
      commands += 1;
      await ack();
    });
    await workspace.as('U0ALICE').command('C0DOMAINS', '/domain');
    const [delivery] = workspace.deliveries;
    if (!delivery) throw new Error('nothing was delivered');
    const signature = `v0=${'0'.repeat(64)}`;
    expect(await workspace.redeliver(delivery, { signature })).toMatchObject({ acked: false, status: 401 });
    const old = Math.floor(Date.now() / 1_000) - 301;
    expect(await workspace.redeliver(delivery, { timestamp: old })).toMatchObject({
      acked: false,
      status: 401,
    });
    expect(commands).toBe(1);
    expect(await workspace.redeliver(delivery)).toMatchObject({ acked: true });
    expect(commands).toBe(2);
    expect(await workspace.verifyRequestUrl()).toBe(true);
  });

  test('gives a response URL five uses and thirty minutes', async () => {
    const urls: string[] = [];
    running.app.command('/domain', async ({ command, ack }) => {
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

test('many events wait at once for an app that is down', async () => {
  const workspace = await startWorkspace();
  const alice = workspace.as('U0ALICE');
  await Promise.all(Array.from({ length: 12 }, () => alice.openHome()));
  // The second try of each is immediate; then they wait for a minute, all listening for the end of the workspace.
  await workspace.waitFor(() => (workspace.deliveries.length >= 24 ? true : undefined), {
    what: 'the second try of each',
  });
  await workspace.close();
});
