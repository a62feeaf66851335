import { createServer } from 'node:http';
import { connect } from 'node:net';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startMetricsServer } from '../../src/app/server.ts';
import { boltStub, SIGNATURE_HEADER, startTestServer } from '../support/http-server.ts';

test('healthz responds whatever is missing, and readyz names what is missing', async () => {
  const url = await startTestServer({ listUnreadyParts: async () => ({ database: 'does not answer' }) });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const ready = await fetch(`${url}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ missing: { database: 'does not answer' } });
});

test('readyz is 200 if nothing is missing, and metrics are served unchanged', async () => {
  const url = await startTestServer();
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const metrics = await fetch(`${url}/metrics`);
  expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4');
  expect(await metrics.text()).toBe('orders 3\n');
});

test('a separate metrics port serves only metrics, and the main port none', async () => {
  const url = await startTestServer({ metrics: undefined });
  const metrics = await startMetricsServer({
    port: 0,
    log: pino({ level: 'silent' }),
    metrics: { contentType: 'text/plain; version=0.0.4', text: async () => 'orders 3\n' },
  });
  onTestFinished(() => metrics.close());
  const own = `http://127.0.0.1:${metrics.port}`;
  expect((await fetch(`${url}/metrics`)).status).toBe(404);
  const answered = await fetch(`${own}/metrics`);
  expect([answered.headers.get('cache-control'), await answered.text()]).toEqual(['no-store', 'orders 3\n']);
  for (const path of ['/', '/readyz', '/healthz', '/slack/events', '/metrics/more']) {
    expect([path, (await fetch(own + path)).status]).toEqual([path, 404]);
  }
  expect((await fetch(`${own}/metrics`, { method: 'POST' })).status).toBe(404);
});

test('a failing handler responds with 500, without details', async () => {
  const text = () => Promise.reject(new Error('password is hunter2'));
  const url = await startTestServer({ metrics: { contentType: 'text/plain', text } });
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('hunter2');
});

test('every response has headers against sniffing, framing and caching', async () => {
  const url = await startTestServer();
  for (const path of ['/healthz', '/readyz', '/nothing-here']) {
    const { headers } = await fetch(url + path);
    expect(headers.get('x-content-type-options'), path).toBe('nosniff');
    expect(headers.get('content-security-policy'), path).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control'), path).toBe('no-store');
  }
});

test.each([
  ['GET', '/', 404],
  ['GET', '/slack/events/more', 404],
  ['POST', '/healthz', 404],
  ['HEAD', '/healthz', 200],
])('%s %s responds with %i', async (method, path, status) => {
  const url = await startTestServer();
  expect((await fetch(url + path, { method })).status).toBe(status);
});

test('deliveries are refused while Slack isn’t connected, so that Slack retries them', async () => {
  const url = await startTestServer();
  const response = await fetch(`${url}/slack/events`, { method: 'POST', body: '{}' });
  expect(response.status).toBe(503);
});

test('a delivery reaches Bolt with its original bytes and a normalized media type', async () => {
  const url = await startTestServer({ getSlackListener: () => boltStub });
  const response = await fetch(`${url}/slack/events`, {
    method: 'POST',
    body: '{"a":1}',
    headers: { 'content-type': 'Application/JSON; charset=utf-8', ...SIGNATURE_HEADER },
  });
  expect(await response.text()).toBe('application/json {"a":1}');
});

describe('a body isn’t parsed before its signature is verified', () => {
  test.each([
    ['unsigned', {}, 401],
    ['wrongly signed', SIGNATURE_HEADER, 401],
  ])('%s: responds with 401 to any body', async (_what, headers, status) => {
    const verified: string[] = [];
    const url = await startTestServer({
      getSlackListener: () => boltStub,
      isSigned: (_headers, body) => {
        verified.push(body.toString());
        return false;
      },
    });
    // Parsing invalid JSON would respond with 400.
    for (const body of ['{"broken', '%', 'payload=%7B', '']) {
      const response = await fetch(`${url}/slack/events`, { method: 'POST', body, headers });
      expect([body, response.status]).toEqual([body, status]);
    }
    expect(verified).toHaveLength('x-slack-signature' in headers ? 4 : 0);
  });

  test('correctly signed: responds with 400 to invalid JSON', async () => {
    const url = await startTestServer({ getSlackListener: () => boltStub });
    const response = await fetch(`${url}/slack/events`, {
      method: 'POST',
      body: '{"broken',
      headers: SIGNATURE_HEADER,
    });
    expect(response.status).toBe(400);
  });
});

describe('Slack’s certificate check', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  test.each<[what: string, path: string, init: RequestInit]>([
    ['by GET', '?ssl_check=1', {}],
    ['by GET with a token', '?token=x&ssl_check=1', {}],
    ['by POST', '', { method: 'POST', headers: form, body: 'ssl_check=1&token=x' }],
    ['by POST in the query', '?ssl_check=1', { method: 'POST', headers: form, body: 'token=x' }],
    [
      'with a timestamp',
      '',
      { method: 'POST', headers: { ...form, 'x-slack-request-timestamp': '1' }, body: 'ssl_check=1' },
    ],
  ])('%s responds with an empty 200, even if Slack isn’t connected', async (_what, path, init) => {
    const url = await startTestServer();
    const response = await fetch(`${url}/slack/events${path}`, init);
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  const command = 'command=%2Fdomain&text=whoami&user_id=U0ALICE';

  test.each<
    [what: string, path: string, headers: Readonly<Record<string, string>>, body: string, status: number]
  >([
    ['last in the body', '', {}, `${command}&ssl_check=1`, 200],
    ['first in the body', '', {}, `ssl_check=1&${command}`, 200],
    ['in the query', '?ssl_check=1', {}, command, 200],
    ['in both', '?ssl_check=1', {}, `ssl_check=1&${command}`, 200],
    ['with a timestamp', '', { 'x-slack-request-timestamp': '1' }, `ssl_check=1&${command}`, 200],
    ['wrongly signed', '', SIGNATURE_HEADER, `ssl_check=1&${command}`, 401],
    ['wrongly signed, in the query', '?ssl_check=1', SIGNATURE_HEADER, command, 401],
    ['longer than a check', '', {}, `ssl_check=1&${command}&filler=${'x'.repeat(1_000)}`, 401],
    ['in another encoding', '', {}, `%73sl_check=1&${command}`, 401],
    ['twice', '', {}, `ssl_check=0&ssl_check=1&${command}`, 200],
    ['with another value', '', {}, `ssl_check=11&${command}`, 401],
  ])('%s never passes a command to Slack’s handler', async (_what, path, headers, body, status) => {
    const handled: string[] = [];
    const url = await startTestServer({
      isSigned: () => false,
      getSlackListener: () => (request, response) => {
        handled.push(request.url ?? '');
        response.end();
      },
    });
    const response = await fetch(`${url}/slack/events${path}`, {
      method: 'POST',
      body,
      headers: { ...form, ...headers },
    });
    expect(response.status).toBe(status);
    if (status === 200) expect(await response.text()).toBe('');
    expect(handled).toEqual([]);
  });
});

test('a connection is reused for the next delivery', async () => {
  const url = await startTestServer({ getSlackListener: () => boltStub });
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8');
  onTestFinished(() => {
    socket.destroy();
  });
  const request =
    'POST /slack/events HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nx-slack-signature: v0=0\r\n\r\n{}';
  let answers = '';
  const answered = (count: number) =>
    new Promise<void>((resolve) => {
      socket.on('data', (text: string) => {
        answers += text;
        if (answers.split('HTTP/1.1 200').length > count) resolve();
      });
      socket.write(request);
    });
  await answered(1);
  await answered(2);
});

test('an endless body is refused at one megabyte', async () => {
  const url = await startTestServer({ getSlackListener: () => boltStub });
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(
    'POST /slack/events HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nx-slack-signature: v0=0\r\n\r\n',
  );
  const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`;
  for (let sent = 0; sent < 15; sent += 1) socket.write(chunk);
  await closed;
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
});

test('the server can’t start on a port in use', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, resolve));
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await expect(startTestServer({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await new Promise((resolve) => other.close(resolve));
});
