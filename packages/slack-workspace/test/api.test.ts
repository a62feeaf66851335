import { createServer, type Server } from 'node:http';
import { LogLevel, WebClient } from '@slack/web-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startWorkspace, type Workspace } from '../src/index.ts';
import { MAX_CALLS_PER_MINUTE } from '../src/limits.ts';
import { RateLimits } from '../src/rate-limits.ts';
import { call } from './client.ts';

const channel = 'C0DOMAINS';
let clock = 1_700_000_000_000;
let workspace: Workspace;
let client: WebClient;

beforeEach(async () => {
  clock = 1_700_000_000_000;
  workspace = await startWorkspace({
    now: () => clock,
    postsPerSecond: 2,
    bot: { scopes: ['chat:write', 'users:read', 'usergroups:read', 'files:write', 'im:write'] },
    eventRetryDelaysMs: [0, 10, 10],
  });
  client = new WebClient(workspace.botToken, {
    slackApiUrl: workspace.apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logLevel: LogLevel.ERROR,
  });
});

afterEach(() => workspace.close());

test('refuses missing and invalid tokens, the wrong kind of token, and missing scopes', async () => {
  expect(await call(workspace, 'auth.test', {}, '')).toMatchObject({ ok: false, error: 'not_authed' });
  expect(await call(workspace, 'auth.test', {}, 'xoxb-other')).toMatchObject({ error: 'invalid_auth' });
  expect(await call(workspace, 'auth.test', {}, workspace.appToken)).toMatchObject({
    error: 'not_allowed_token_type',
  });
  expect(await call(workspace, 'apps.connections.open', {})).toMatchObject({
    error: 'not_allowed_token_type',
  });
  expect(await call(workspace, 'conversations.info', { channel })).toMatchObject({
    error: 'missing_scope',
    needed: 'channels:read,groups:read,im:read,mpim:read',
    provided: 'chat:write,users:read,usergroups:read,files:write,im:write',
  });
  expect(await call(workspace, 'chat.mute', {})).toMatchObject({ error: 'unknown_method' });
  expect(await call(workspace, 'auth.test', {})).toMatchObject({ ok: true, user_id: workspace.botUserId });
});

test('supports people, user groups and direct messages', async () => {
  const { user: dave } = await client.users.info({ user: 'U0DAVE' });
  expect(dave).toMatchObject({
    team_id: 'T0ELSEWHERE',
    is_stranger: true,
    tz: 'Asia/Tokyo',
    tz_offset: 32_400,
  });
  const { user: ada } = await client.users.info({ user: 'U0ADA' });
  expect(ada).toMatchObject({ team_id: 'T0STEWARD', is_admin: true, tz_offset: 0 });
  await expect(client.users.info({ user: 'U0NOBODY' })).rejects.toThrow('user_not_found');
  expect((await client.usergroups.users.list({ usergroup: 'S0APPROVERS' })).users).toEqual(['U0CAROL']);
  await workspace.setUsergroupMembers('S0APPROVERS', ['U0BOB']);
  expect((await client.usergroups.users.list({ usergroup: 'S0APPROVERS' })).users).toEqual(['U0BOB']);
  await expect(client.usergroups.users.list({ usergroup: 'S0' })).rejects.toThrow('no_such_subteam');
  const openResponse = await client.conversations.open({ users: 'U0ALICE' });
  expect(openResponse.channel?.id).toBe('D0ALICE');
  await client.chat.postMessage({ channel: 'U0ALICE', text: 'hello' });
  expect(workspace.messages('D0ALICE')).toMatchObject([{ text: 'hello', user: workspace.botUserId }]);
});

test('accepts an uploaded file in a conversation and serves it', async () => {
  const csv = 'at,order\n2026-01-01,o1\n';
  await client.files.uploadV2({
    channel_id: 'D0ADA',
    filename: 'audit.csv',
    title: 'Audit log',
    content: csv,
    initial_comment: 'The audit log',
  });
  const [message] = workspace.messages('D0ADA');
  expect(message).toMatchObject({
    text: 'The audit log',
    files: [{ name: 'audit.csv', mimetype: 'text/csv', size: csv.length }],
  });
  const path = message?.files?.[0]?.url_private_download ?? '';
  const response = await fetch(new URL(path, workspace.url));
  expect(await response.text()).toBe(csv);
  expect(response.headers.get('content-disposition')).toContain('audit.csv');
  await expect(client.files.completeUploadExternal({ files: [{ id: 'F0' }] })).rejects.toThrow(
    'file_not_found',
  );
});

test('accepts both form encoding and JSON', async () => {
  const blocks = [{ type: 'divider' }];
  await call(workspace, 'chat.postMessage', { channel, text: 'json', blocks });
  await client.chat.postMessage({ channel, text: 'form', blocks });
  expect(
    workspace.messages(channel).map(({ text, blocks: shownBlocks }) => [text, shownBlocks[0]?.['type']]),
  ).toEqual([
    ['json', 'divider'],
    ['form', 'divider'],
  ]);
});

test('limits the messages per second in each channel', async () => {
  for (const text of ['one', 'two']) await client.chat.postMessage({ channel, text });
  await expect(client.chat.postMessage({ channel, text: 'three' })).rejects.toMatchObject({ retryAfter: 1 });
  await client.chat.postMessage({ channel: 'C0GENERAL', text: 'elsewhere' });
  clock += 1_000;
  await client.chat.postMessage({ channel, text: 'three' });
  expect(workspace.messages(channel)).toHaveLength(3);
});

describe('faults', () => {
  const post = (text: string) => client.chat.postMessage({ channel, text });
  const texts = () => workspace.messages(channel).map(({ text }) => text);

  test('rate limits, errors and status 500 occur the given number of times and post nothing', async () => {
    workspace.faults.set({ method: 'chat.postMessage', kind: 'ratelimited', retryAfterSeconds: 7, times: 1 });
    await expect(post('a')).rejects.toMatchObject({ retryAfter: 7 });
    workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'internal_error', times: 1 });
    await expect(post('b')).rejects.toThrow('internal_error');
    workspace.faults.set({ method: '*', channel: 'C0GENERAL', kind: 'http_500' });
    await post('c');
    await expect(client.chat.postMessage({ channel: 'C0GENERAL', text: 'd' })).rejects.toThrow('500');
    workspace.faults.clear();
    await client.chat.postMessage({ channel: 'C0GENERAL', text: 'e' });
    expect(texts()).toEqual(['c']);
    expect(workspace.calls.map(({ ok, error }) => error ?? ok)).toEqual([
      'ratelimited',
      'internal_error',
      true,
      'http_500',
      true,
    ]);
  });

  test('a lost response posts the message and closes the connection', async () => {
    workspace.faults.set({ method: 'chat.postMessage', kind: 'lost_answer', times: 1 });
    await expect(post('once')).rejects.toThrow('A request error occurred');
    expect(texts()).toEqual(['once']);
  });

  test('a timeout neither responds nor posts', async () => {
    workspace.faults.set({ method: 'chat.postMessage', kind: 'timeout', times: 1 });
    const signal = AbortSignal.timeout(150);
    const args = { method: 'POST', body: JSON.stringify({ channel, text: 'never' }), signal };
    await expect(fetch(`${workspace.apiUrl}chat.postMessage`, args)).rejects.toThrow('timeout');
    expect(texts()).toEqual([]);
  });
});

describe('events', () => {
  let server: Server;
  let statuses: number[] = [];
  const receivedRetries: (string | undefined)[] = [];

  beforeEach(async () => {
    server = createServer((request, response) => {
      const retryNumber = request.headers['x-slack-retry-num'];
      receivedRetries.push(
        typeof retryNumber === 'string'
          ? `${retryNumber} ${request.headers['x-slack-retry-reason']}`
          : undefined,
      );
      response.writeHead(statuses.shift() ?? 200).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    workspace.setRequestUrl(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`);
  });
  afterEach(() => void server.close());

  test('are retried until acknowledged', async () => {
    statuses = [500, 503];
    expect(await workspace.as('U0BOB').openHome()).toMatchObject({ acked: false, status: 500 });
    await workspace.waitFor(() => workspace.deliveries.find(({ answer }) => answer.acked), {
      what: 'an acknowledged retry',
    });
    expect(receivedRetries).toEqual([undefined, '1 http_error', '2 http_error']);
  });

  test('are sent only to apps with the required scope', async () => {
    await workspace.changePerson('U0BOB', { is_restricted: true });
    await workspace.setUsergroupMembers('S0APPROVERS', []);
    expect(workspace.deliveries).toHaveLength(2);
    const otherWorkspace = await startWorkspace({ bot: { scopes: ['chat:write'] } });
    await otherWorkspace.changePerson('U0BOB', { is_restricted: true });
    await otherWorkspace.setUsergroupMembers('S0APPROVERS', []);
    expect(otherWorkspace.deliveries).toEqual([]);
    await otherWorkspace.close();
  });
});

test('a timed-out wait reports its condition and the messages', async () => {
  await client.chat.postMessage({ channel, text: 'something else' });
  const wait = workspace.waitFor(() => undefined, { timeoutMs: 20, what: 'the result' });
  await expect(wait).rejects.toThrow(/waited 20 ms for the result\ndomains:\n {2}U0STEWARD: something else/);
});

describe('rate limits, if enabled', () => {
  test.each(Object.entries(MAX_CALLS_PER_MINUTE))('allow %s %i times a minute', (method, perMinute) => {
    const limits = new RateLimits(() => clock);
    limits.enabled = true;
    for (let calls = 0; calls < perMinute; calls += 1) expect(limits.take(method)).toBeUndefined();
    clock += 20_000;
    expect(limits.take(method)).toBe(40);
    expect(limits.take('auth.test'), 'another method').toBeUndefined();
    clock += 39_999;
    expect(limits.take(method)).toBe(1);
    clock += 1;
    for (let calls = 0; calls < perMinute; calls += 1) expect(limits.take(method)).toBeUndefined();
    expect(limits.take(method)).toBe(60);
  });

  test('return the seconds until the call can be retried', async () => {
    const { ts = '' } = await client.chat.postMessage({ channel, text: 'one' });
    workspace.rateLimits.enabled = true;
    const update = () => client.chat.update({ channel, ts, text: 'two' });
    for (let calls = 0; calls < 50; calls += 1) await update();
    clock += 20_000;
    await expect(update()).rejects.toMatchObject({ retryAfter: 40 });
    workspace.rateLimits.enabled = false;
    await update();
  });
});

describe('after a change, a channel that', () => {
  test.each([
    ['is archived', 'C0DOMAINS', { is_archived: true }, 'is_archived'],
    ['removed the app', 'C0DOMAINS', { members: ['U0ALICE'] }, 'not_in_channel'],
    ['is private and removed the app', 'C0LOCKED', { members: ['U0ALICE'] }, 'channel_not_found'],
  ])('%s refuses messages, updates and files until reverted', async (_change, id, changes, error) => {
    const members = [...new Set([...workspace.channel(id).members, workspace.botUserId])];
    workspace.changeChannel(id, { members });
    const { ts = '' } = await client.chat.postMessage({ channel: id, text: 'one' });
    const { file_id, upload_url } = await call(workspace, 'files.getUploadURLExternal', {
      filename: 'a.txt',
      length: 1,
    });
    await fetch(String(upload_url), { method: 'POST', body: 'a' });
    const files = JSON.stringify([{ id: file_id ?? '' }]);
    workspace.changeChannel(id, changes);
    for (const [method, args] of [
      ['chat.postMessage', { channel: id, text: 'two' }],
      ['chat.postMessage', { channel: id, text: 'reply', thread_ts: ts }],
      ['chat.postEphemeral', { channel: id, text: 'two', user: 'U0ALICE' }],
      ['chat.scheduleMessage', { channel: id, text: 'two', post_at: clock / 1_000 + 60 }],
      ['chat.update', { channel: id, text: 'two', ts }],
      ['files.completeUploadExternal', { channel_id: id, files }],
    ] as const)
      expect(await call(workspace, method, args), method).toMatchObject({ ok: false, error });
    workspace.changeChannel(id, { members, is_archived: false });
    expect(await call(workspace, 'chat.update', { channel: id, text: 'two', ts })).toMatchObject({
      ok: true,
    });
  });
});

test('refuses updates after the edit window', async () => {
  workspace.conditions.editWindowMs = 3 * 86_400_000;
  const { ts = '' } = await client.chat.postMessage({ channel, text: 'one' });
  clock += 3 * 86_400_000;
  expect(await call(workspace, 'chat.update', { channel, ts, text: 'two' })).toMatchObject({ ok: true });
  clock += 1;
  expect(await call(workspace, 'chat.update', { channel, ts, text: 'three' })).toMatchObject({
    ok: false,
    error: 'edit_window_closed',
  });
});

test('can delay responses after carrying out a call', async () => {
  workspace.conditions.getResponseDelayMs = () => 60;
  let isAnswered = false;
  const pendingPost = client.chat.postMessage({ channel, text: 'slow' }).then(() => {
    isAnswered = true;
  });
  await workspace.waitFor(() => workspace.messages(channel).at(-1), { what: 'the message' });
  expect(isAnswered).toBe(false);
  await pendingPost;
});
