import { createServer, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { type HttpServer, type ServerOptions, startServer } from '../src/server.ts';

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(options: Partial<ServerOptions> = {}): Promise<string> {
  server = await startServer({
    port: 0,
    log: pino({ level: 'silent' }),
    readiness: async () => ({}),
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'orders 3\n' }),
    calendar: async () => undefined,
    slack: () => undefined,
    ...options,
  });
  return `http://127.0.0.1:${server.port}`;
}

/** Stands in for Bolt: says what reached it. */
const bolt: RequestListener = (request, response) => {
  const body = 'rawBody' in request && Buffer.isBuffer(request.rawBody) ? request.rawBody.toString() : '';
  response.end(`${request.headers['content-type']} ${body}`);
};

const now = () => String(Math.floor(Date.now() / 1_000));

test('healthz lives whatever else is missing; readyz names it', async () => {
  const url = await serve({ readiness: async () => ({ database: 'does not answer' }) });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const ready = await fetch(`${url}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ missing: { database: 'does not answer' } });
});

test('readyz is 200 when nothing is missing, metrics are served as they are', async () => {
  const url = await serve();
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const metrics = await fetch(`${url}/metrics`);
  expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4');
  expect(await metrics.text()).toBe('orders 3\n');
});

test('a part that fails is answered with 500 that says nothing of it', async () => {
  const url = await serve({ metrics: () => Promise.reject(new Error('password is hunter2')) });
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('hunter2');
});

test('every answer forbids to be sniffed, framed or kept', async () => {
  const url = await serve();
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
])('%s %s is %i', async (method, path, status) => {
  const url = await serve();
  expect((await fetch(url + path, { method })).status).toBe(status);
});

test('while Slack cannot be answered, deliveries are refused for Slack to send them again', async () => {
  const url = await serve();
  const response = await fetch(`${url}/slack/events`, { method: 'POST', body: '{}' });
  expect(response.status).toBe(503);
});

test.each([
  ['just now', 0, 200],
  ['four minutes ago', -240, 200],
  ['six minutes ago', -360, 401],
  ['in six minutes', 360, 401],
])('a delivery signed %s: %i s from now is %i', async (_when, offset, status) => {
  const url = await serve({ slack: () => bolt });
  const response = await fetch(`${url}/slack/events`, {
    method: 'POST',
    body: '{"a":1}',
    headers: {
      'content-type': 'Application/JSON; charset=utf-8',
      'x-slack-request-timestamp': String(Number(now()) + offset),
    },
  });
  expect(response.status).toBe(status);
  if (status === 200) expect(await response.text()).toBe('application/json {"a":1}');
});

test.each([undefined, '', 'soon', 'NaN', '1e999'])(
  'a delivery with the timestamp %s is refused',
  async (given) => {
    const url = await serve({ slack: () => bolt });
    const headers = given === undefined ? {} : { 'x-slack-request-timestamp': given };
    const response = await fetch(`${url}/slack/events`, { method: 'POST', body: '{}', headers });
    expect(response.status).toBe(401);
  },
);

test('a body without an end is cut off at a megabyte', async () => {
  const url = await serve({ slack: () => bolt });
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(
    `POST /slack/events HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nx-slack-request-timestamp: ${now()}\r\n\r\n`,
  );
  const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`;
  for (let sent = 0; sent < 15; sent += 1) socket.write(chunk);
  await closed;
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
});

test('a port that is taken is refused', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, resolve));
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await expect(serve({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await new Promise((resolve) => other.close(resolve));
});
