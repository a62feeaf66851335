import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { answerBytes, HttpClient, type HttpRequest, readRequest, serve } from '../../bench/http.ts';

/* The bench's HTTP peers behave like the bot's real clients and servers. */

const POST = 'POST /api/a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\na=b&c';
const GET = 'GET /rdap HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
const ASKED = Buffer.from(POST);

const LENGTH = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\r\n\r\n';
const CHUNKED =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\nb;x=1\r\n0\r\n\r\nabcdef\r\n0\r\nx-late: 1\r\n\r\n';
const TO_THE_END = 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nwhatever';

/** @returns every proper prefix of the text, shortest first */
function beginnings(text: string): string[] {
  return Array.from({ length: text.length }, (_, size) => text.slice(0, size));
}

async function portOf(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  return address.port;
}

/** A server that handles each connection with the given function. */
function listen(take: (socket: Socket) => void): Promise<number> {
  return portOf(createServer(take));
}

function client(): HttpClient {
  const made = new HttpClient();
  onTestFinished(() => made.close());
  return made;
}

async function served(answer: (request: HttpRequest) => string | undefined): Promise<number> {
  const { server, port } = await serve(answer);
  onTestFinished(() => void server.close());
  return port;
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

test('a request is read when its last byte has arrived, without the next one’s bytes', () => {
  for (const part of beginnings(POST)) expect(readRequest(part), part).toBeUndefined();
  const whole = { target: '/api/a?b=c', body: 'a=b&c', keeps: true, bytes: POST.length };
  expect(readRequest(POST)).toEqual(whole);
  expect(readRequest(POST + GET)).toEqual(whole);
  expect(readRequest(GET + POST)).toEqual({ target: '/rdap', body: '', keeps: false, bytes: GET.length });
});

test.each([
  'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n',
  'POST / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n',
  'HEAD / HTTP/1.1\r\n\r\n',
  'GET / HTTP/1.0\r\n\r\n',
])('unsupported requests are refused: %j', async (request) => {
  const answer = vi.fn(() => '{}');
  const socket = await dial(await served(answer));
  socket.write(request);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 501 .*Connection: close\r\n\r\n.+\n$/s);
  expect(answer).not.toHaveBeenCalled();
});

test('the server keeps connections or closes them, as the client asks', async () => {
  const port = await served(({ target, body }) => JSON.stringify({ target, body, ü: 'ü' }));
  const undici = new Client(`http://127.0.0.1:${port}`);
  onTestFinished(() => undici.destroy());
  const connected = vi.fn();
  undici.on('connect', connected);
  for (const [n, reset] of [false, false, true, false].entries()) {
    const { statusCode, headers, body } = await undici.request({
      path: `/${n}?x`,
      method: 'POST',
      body: 'a=b',
      reset,
    });
    expect(statusCode).toBe(200);
    expect(headers['connection']).toBe(reset ? 'close' : 'keep-alive');
    expect(await body.json()).toEqual({ target: `/${n}?x`, body: 'a=b', ü: 'ü' });
  }
  expect(connected).toHaveBeenCalledTimes(2);
});

test('the server answers requests in order, in any number of pieces', async () => {
  const socket = await dial(await served(({ target }) => JSON.stringify({ target })));
  socket.setNoDelay(true);
  for (const byte of POST) {
    socket.write(byte);
    await nextTurn();
  }
  socket.write(POST + GET + POST);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text.match(/\{.*?\}/g)).toEqual([
    '{"target":"/api/a?b=c"}',
    '{"target":"/api/a?b=c"}',
    '{"target":"/rdap"}',
  ]);
});

test('a connection without a response stays open and takes no other request', async () => {
  const seen: string[] = [];
  const port = await served(({ target }) => {
    seen.push(target);
    return target === '/hang' ? undefined : '{}';
  });
  const hung = await dial(port);
  hung.write('GET /hang HTTP/1.1\r\n\r\nGET /after HTTP/1.1\r\n\r\n');
  await vi.waitFor(() => expect(seen).toEqual(['/hang']));
  const other = await dial(port);
  other.write(GET);
  await once(other.resume(), 'end');
  expect(seen).toEqual(['/hang', '/rdap']);
  expect(hung.readyState).toBe('open');
});

test('the end of a response is known from its lengths', () => {
  for (const text of [LENGTH, CHUNKED]) {
    for (const part of beginnings(text)) {
      expect(answerBytes(part) ?? Number.POSITIVE_INFINITY, part).toBeGreaterThan(part.length);
    }
    expect(answerBytes(text)).toBe(text.length);
    expect(answerBytes(`${text}HTTP/1.1`)).toBe(text.length);
  }
  expect(answerBytes(TO_THE_END)).toBe(Number.POSITIVE_INFINITY);
});

test.each([LENGTH, CHUNKED, TO_THE_END])('a response may come byte by byte: %j', async (text) => {
  let sent = '';
  const port = await listen((socket) => {
    socket.setNoDelay(true).once('data', async () => {
      for (const byte of text) {
        sent += byte;
        socket.write(byte);
        await nextTurn();
      }
      if (text === TO_THE_END) socket.end();
    });
  });
  await client().send(port, ASKED);
  expect(sent).toBe(text);
});

test.each([
  ['HTTP/1.1 503 Service Unavailable\r\n\r\n', 'the answer was HTTP/1.1 503 Service Unavailable'],
  ['HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab', 'closed before the whole answer was there'],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n', 'closed before the whole answer'],
  ['', 'closed before the whole answer was there'],
  [`${LENGTH}x`, 'something came that is no part of the answer'],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nabc?', 'closed before'],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n?\r\n', 'no part of the answer'],
])('the client reports what is wrong with %j', async (text, why) => {
  const port = await listen((socket) => void socket.once('data', () => socket.end(text)));
  await expect(client().send(port, ASKED)).rejects.toThrow(why);
});

test('the client reports that nobody listens', async () => {
  const { server, port } = await serve(() => '{}');
  server.close();
  await once(server, 'close');
  await expect(client().send(port, ASKED)).rejects.toThrow(
    expect.objectContaining({
      message: `a request to port ${port}: the connection failed`,
      cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
    }),
  );
});

test('the client keeps as many connections as are busy at once', async () => {
  let held: (() => void)[] = [];
  const bodies: string[] = [];
  const connected = vi.fn();
  const server = createHttpServer(async (request, response) => {
    for await (const chunk of request) bodies.push(String(chunk));
    held.push(() => response.end());
    if (held.length < 3) return;
    for (const answer of held) answer();
    held = [];
  });
  const port = await portOf(server.on('connection', connected));
  const sending = client();
  for (let n = 0; n < 3; n += 1) await Promise.all([1, 2, 3].map(() => sending.send(port, ASKED)));
  expect(bodies).toEqual(Array.from({ length: 9 }, () => 'a=b&c'));
  expect(connected).toHaveBeenCalledTimes(3);
});

test.each([
  ['by the server', 'keep-alive', async (socket: Socket) => once(socket.end(), 'close')],
  ['by its answer', 'close', async () => undefined],
  [
    'by an answer to nothing',
    'keep-alive',
    async (socket: Socket) => {
      socket.write(LENGTH);
      await once(socket, 'close');
    },
  ],
  [
    'by its age',
    'keep-alive',
    async () => void vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 4_000),
  ],
])('a connection that was closed %s isn’t reused', async (_, connection, end) => {
  onTestFinished(() => void vi.restoreAllMocks());
  const sockets: Socket[] = [];
  const port = await listen((socket) => {
    sockets.push(socket);
    socket.on('data', () =>
      socket.write(`HTTP/1.1 200 OK\r\nConnection: ${connection}\r\ncontent-length: 0\r\n\r\n`),
    );
  });
  const sending = client();
  await sending.send(port, ASKED);
  const [first] = sockets;
  if (first === undefined) throw new Error('nobody connected');
  await end(first);
  await sending.send(port, ASKED);
  expect(sockets).toHaveLength(2);
  if (!first.destroyed) await once(first, 'close');
});
