import { createServer, type RequestListener } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createFetch } from '../../../src/slack/outbound/fetch.ts';

/** @returns the address of a server that lives as long as the test */
async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return `http://127.0.0.1:${address.port}/api/chat.update`;
}

const fetchWithTimeout = createFetch(10_000);

const POST_OPTIONS = {
  method: 'POST',
  headers: { 'content-type': 'text/plain', authorization: 'Bearer t' },
} as const;

test('a POST is sent, and its complete response is returned', async () => {
  const requests: unknown[] = [];
  const url = await startServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      requests.push([
        request.method,
        request.url,
        request.headers.authorization,
        request.headers['content-type'],
        body,
      ]);
      response.writeHead(429, { 'Retry-After': '30', 'content-type': 'application/json' });
      response.end('{"ok":false,"said":"größer"}');
    });
  });
  const result = await fetchWithTimeout(url, { ...POST_OPTIONS, body: 'ä=1' });
  expect(requests).toEqual([['POST', '/api/chat.update', 'Bearer t', 'text/plain', 'ä=1']]);
  expect(result).toMatchObject({ ok: false, status: 429, url });
  expect([
    result.headers.get('retry-after'),
    result.headers.get('Retry-After'),
    result.headers.get('none'),
  ]).toEqual(['30', '30', null]);
  expect(Object.fromEntries(result.headers.entries())).toMatchObject({ 'content-type': 'application/json' });
  expect(await result.json()).toEqual({ ok: false, said: 'größer' });
  expect(await result.text()).toContain('größer');
});

test('a redirect is not followed', async () => {
  let requests = 0;
  const url = await startServer((_request, response) => {
    requests += 1;
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  const result = await fetchWithTimeout(url, { ...POST_OPTIONS, body: 'token=secret' });
  expect([result.status, result.ok, requests]).toEqual([302, false, 1]);
});

test('a response that stalls is aborted', async () => {
  const url = await startServer((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"ok":');
  });
  await expect(createFetch(50)(url, { ...POST_OPTIONS, body: 'a=1' })).rejects.toMatchObject({
    name: 'HttpExchangeError',
    message: 'no complete response in time',
  });
});

test('an endless response is aborted', async () => {
  const url = await startServer((_request, response) => {
    const writeMore = () => {
      while (response.write('x'.repeat(1024 * 1024)));
      response.once('drain', writeMore);
    };
    writeMore();
  });
  await expect(fetchWithTimeout(url, { ...POST_OPTIONS, body: '' })).rejects.toMatchObject({
    name: 'HttpExchangeError',
    message: 'the response is too large',
  });
});

test('a body that isn’t text is refused', async () => {
  await expect(fetchWithTimeout('http://127.0.0.1:1/', { method: 'GET' })).rejects.toThrow(/only text/);
  await expect(
    fetchWithTimeout('http://127.0.0.1:1/', { ...POST_OPTIONS, body: new FormData() }),
  ).rejects.toThrow(/only text/);
});
