import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { startWorkspace } from '@domain-steward/slack-workspace';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import { createFileReader, isSlackFileUrl } from '../../../src/slack/outbound/download.ts';
import { uploadText } from '../../../src/slack/outbound/upload.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';

const API_URL = 'http://127.0.0.1:1234/api/';

test.each([
  ['https://files.slack.com/files-pri/T1-F1/names.csv', true],
  ['https://files.slack-gov.com/files-pri/T1-F1/names.csv', true],
  ['http://127.0.0.1:1234/files-pri/F1/names.csv', true],
  ['http://files.slack.com/files-pri/T1-F1/names.csv', false],
  ['https://files.slack.com.evil.example/names.csv', false],
  ['https://evil.example/files.slack.com/names.csv', false],
  ['https://files.slack.com@evil.example/names.csv', false],
  ['http://127.0.0.1:4321/files-pri/F1/names.csv', false],
  ['no address', false],
])('the bot’s token is sent to %s: %s', (address, isSent) => {
  expect(isSlackFileUrl(address, API_URL)).toBe(isSent);
});

test('a file at another address is refused', async () => {
  const read = createFileReader(new Secret('xoxb-token'), API_URL, 1_000);
  await expect(read('https://evil.example/names.csv')).rejects.toMatchObject({ code: 'not_a_file_address' });
});

test('a compressed file is read, unless it expands beyond the limit or can’t be decoded', async () => {
  const bodies = new Map<string, readonly [string, Buffer]>([
    ['/names.csv', ['gzip', gzipSync('name\ncafe.rest\n')]],
    ['/bomb.csv', ['gzip', gzipSync(Buffer.alloc(5_000))]],
    ['/odd.csv', ['zstd', Buffer.from('(\xb5')]],
  ]);
  const server = createServer(({ url = '' }, response) => {
    const [coding, body] = bodies.get(url) ?? [];
    response.writeHead(200, { 'content-encoding': coding }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const root = `http://127.0.0.1:${port}`;
  const read = createFileReader(new Secret('xoxb-token'), `${root}/api/`, 1_000);
  expect(Buffer.from(await read(`${root}/names.csv`)).toString()).toBe('name\ncafe.rest\n');
  await expect(read(`${root}/bomb.csv`)).rejects.toMatchObject({ code: 'too_large' });
  await expect(read(`${root}/odd.csv`)).rejects.toMatchObject({ code: 'content_coding' });
  server.closeAllConnections();
  server.close();
});

describe('reading a file', () => {
  /** Reads a file from a server with this handler. */
  async function readFrom(answer: RequestListener): Promise<string> {
    const server = createServer(answer).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close().closeAllConnections());
    await once(server, 'listening');
    const address = server.address();
    const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const read = createFileReader(new Secret('xoxb-token'), `${origin}/api/`, 1_000);
    return Buffer.from(await read(`${origin}/files-pri/F1/names.csv`)).toString();
  }

  const signInPage = '<!DOCTYPE html><html><body>Sign in</body></html>';
  test.each<[string, number, Record<string, string>, string, string]>([
    ['a redirect to the sign-in page', 302, { location: 'https://slack.com/' }, '', 'missing_scope'],
    ['the sign-in page', 200, { 'content-type': 'text/html; charset=utf-8' }, signInPage, 'missing_scope'],
    [
      'the sign-in page as plain text',
      200,
      { 'content-type': 'text/plain' },
      `\n${signInPage}`,
      'missing_scope',
    ],
    ['a missing permission', 403, {}, '', 'missing_scope'],
    ['a deleted file', 404, {}, 'not found', 'file_deleted'],
    ['a file that is gone', 410, {}, '', 'file_deleted'],
    ['a bad request', 400, {}, '', 'http_400'],
    ['a server error', 502, {}, '', 'http_502'],
  ])('fails if Slack returns %s', async (_what, status, headers, body, code) => {
    const readResult = readFrom((_request, response) => response.writeHead(status, headers).end(body));
    await expect(readResult).rejects.toMatchObject({ code });
  });

  test('is retried after a rate limit of a second, but not after a long one', async () => {
    let requests = 0;
    const text = await readFrom((_request, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(429, { 'retry-after': '1' }).end();
      else response.writeHead(200, { 'content-type': 'text/csv' }).end('name\ncafe.rest');
    });
    expect([requests, text]).toEqual([2, 'name\ncafe.rest']);
    const secondRead = readFrom((_request, response) =>
      response.writeHead(429, { 'retry-after': '30' }).end(),
    );
    await expect(secondRead).rejects.toMatchObject({ kind: 'rate_limited', retryAfterMs: 30_000 });
  });
});

test.each(['files.getUploadURLExternal', 'files.completeUploadExternal'])(
  'an upload retries %s after a rate limit of a second',
  async (method) => {
    const workspace = await startWorkspace();
    onTestFinished(() => workspace.close());
    const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
    workspace.faults.set({ method, kind: 'ratelimited', retryAfterSeconds: 1, times: 1 });
    const upload = { filename: 'a.csv', channelId: 'C0DOMAINS', comment: 'A list', text: 'name' };
    await expect(uploadText(web, upload)).resolves.toBeUndefined();
  },
);
