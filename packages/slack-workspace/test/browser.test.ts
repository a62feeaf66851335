import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startWorkspace, type Workspace, type WorkspaceOptions } from '../src/index.ts';
import { type Snapshot, snapshotSchema } from '../src/protocol.ts';
import { call } from './client.ts';

const channel = 'C0DOMAINS';
let tempDir = '';
let workspace: Workspace;
let options: WorkspaceOptions;

beforeEach(async () => {
  tempDir = await mkdtemp(join(tmpdir(), 'workspace-'));
  const pageDir = join(tempDir, 'page');
  await mkdir(pageDir);
  await writeFile(join(pageDir, 'index.html'), '<!doctype html><title>Steward</title>');
  await writeFile(join(pageDir, 'app.js'), 'export {};');
  await writeFile(join(tempDir, 'outside.txt'), 'outside');
  options = {
    pageDir,
    stateFile: join(tempDir, 'state', 'workspace.json'),
    commands: [{ command: '/domain', description: 'Domains', usage_hint: 'help' }],
    extraRoutes: {
      'GET /local/requests': ({ query }) => ({ after: query.get('after') }),
      'POST /local/clock': ({ body }) => ({ got: body }),
    },
  };
  workspace = await startWorkspace(options);
});

afterEach(async () => {
  await workspace.close();
  await rm(tempDir, { recursive: true });
});

async function post(name: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${workspace.url}local/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function fetchSnapshot(user: string): Promise<Snapshot> {
  const response = await fetch(`${workspace.url}local/state?user=${user}`);
  return snapshotSchema.parse(await response.json());
}

/** Sends the path and host unchanged: `fetch` would normalize the path and refuse the header. */
function requestStatus(path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(workspace.url);
    request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

test('shows people only their own channels and messages', async () => {
  await call(workspace, 'chat.postMessage', { channel, text: 'for all' });
  await call(workspace, 'chat.postEphemeral', { channel, user: 'U0ALICE', text: 'for Alice' });
  const alice = await fetchSnapshot('U0ALICE');
  expect(alice.messages[channel]?.map(({ text }) => text)).toEqual(['for all', 'for Alice']);
  expect(alice.commands).toHaveLength(1);
  const bob = await fetchSnapshot('U0BOB');
  expect(bob.messages[channel]?.map(({ text }) => text)).toEqual(['for all']);
  expect(bob.channels.map(({ id }) => id)).not.toContain('C0LOCKED');
  expect((await fetchSnapshot('U0DAVE')).channels.map(({ id }) => id)).toEqual([channel, 'D0DAVE']);
});

test('refuses requests from other sites and for other hosts', async () => {
  const { host, port } = new URL(workspace.url);
  expect(await requestStatus('/local/state?user=U0ALICE', host)).toBe(200);
  expect(await requestStatus('/local/state?user=U0ALICE', `localhost:${port}`)).toBe(200);
  expect(await requestStatus('/local/state?user=U0ALICE', `rebound.example:${port}`)).toBe(403);
  const body = { user: 'U0ALICE', channel, text: 'forged' };
  expect((await post('say', body, { origin: 'http://evil.example' })).status).toBe(403);
  expect((await post('say', body, { 'content-type': 'text/plain' })).status).toBe(415);
  expect(workspace.messages(channel)).toEqual([]);
});

test('serves only the page and its modules', async () => {
  const pageResponse = await fetch(workspace.url);
  expect(pageResponse.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(pageResponse.headers.get('content-security-policy')).toContain("script-src 'self'");
  const scriptResponse = await fetch(`${workspace.url}app.js`);
  expect([scriptResponse.status, scriptResponse.headers.get('content-type')]).toEqual([
    200,
    'text/javascript; charset=utf-8',
  ]);
  expect((await fetch(`${workspace.url}archives/${channel}/p1`)).status).toBe(200);
  const { host } = new URL(workspace.url);
  for (const path of [
    '/../outside.txt',
    '/%2e%2e/outside.txt',
    '/..%2foutside.txt',
    '/missing.js',
    '/%00',
    '/%zz',
  ]) {
    expect(await requestStatus(path, host), path).toBe(404);
  }
});

test("serves the host's own routes", async () => {
  const readResponse = await fetch(`${workspace.url}local/requests?after=3`);
  expect(await readResponse.json()).toEqual({ after: '3' });
  expect(await (await post('clock', { days: 1 })).json()).toEqual({ got: { days: 1 } });
});

test('keeps messages and Home views across restarts, and refuses a damaged state file', async () => {
  await call(workspace, 'chat.postMessage', { channel, text: 'kept' });
  await call(workspace, 'views.publish', {
    user_id: 'U0BOB',
    view: { type: 'home', blocks: [{ type: 'divider' }] },
  });
  const [messageBefore] = workspace.messages(channel);
  await workspace.close();
  // New messages must not be older than stored ones, even if the clock was set back.
  workspace = await startWorkspace({ ...options, now: () => Date.now() - 3_600_000 });
  expect(workspace.messages(channel)).toEqual([messageBefore]);
  expect(workspace.homeView('U0BOB')?.blocks).toHaveLength(1);
  const laterMessage = workspace.as('U0ALICE').say(channel, 'later');
  expect(laterMessage.ts > (messageBefore?.ts ?? '')).toBe(true);
  await workspace.close();
  expect(JSON.parse(await readFile(options.stateFile ?? '', 'utf8'))).toMatchObject({ format: 1 });
  await writeFile(options.stateFile ?? '', '{"format":1');
  await expect(startWorkspace(options)).rejects.toThrow('not a saved workspace');
  await rm(options.stateFile ?? '');
  workspace = await startWorkspace(options);
});

test('serves a reloading start page, but lets the app connect, until the workspace is open', async () => {
  let isOpen = false;
  const startingWorkspace = await startWorkspace({ isOpen: () => isOpen });
  try {
    for (const path of ['', 'local/state?user=U0ALICE']) {
      const earlyResponse = await fetch(startingWorkspace.url + path);
      expect([earlyResponse.status, earlyResponse.headers.get('retry-after')], path).toEqual([503, '1']);
      expect(await earlyResponse.text()).toMatch(/http-equiv="refresh" content="1".*is starting/s);
    }
    const appResponse = await fetch(`${startingWorkspace.apiUrl}auth.test`, {
      method: 'POST',
      headers: { authorization: `Bearer ${startingWorkspace.botToken}` },
    });
    expect(await appResponse.json(), 'auth.test of the app').toMatchObject({ ok: true });
    isOpen = true;
    expect((await fetch(`${startingWorkspace.url}local/state?user=U0ALICE`)).status).toBe(200);
  } finally {
    await startingWorkspace.close();
  }
});
