import net from 'node:net';
import { buildConnector, Client } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exchange, type HttpRequest } from '../../src/http/exchange.ts';
import type { CallOptions, ServiceClient, ServiceClientOptions } from '../../src/service/client.ts';
import { SuspendedError } from '../../src/service/errors.ts';
import { describeRequest } from '../../src/service/request-description.ts';
import { domainDelete, domainRenew } from '../../src/service/tasks/domain.ts';
import { preregSearch } from '../../src/service/tasks/prereg.ts';
import { createTestClient, getServiceError, passwordCredential, sendMarked } from './clients.ts';
import {
  buildHttpResponse,
  OK_JSON,
  type RawService,
  type Respond,
  respondWith,
  startRawService,
} from './raw-service.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serving(respond: Respond): Promise<RawService> {
  const service = await startRawService(respond);
  closers.push(service.close);
  return service;
}

function client(origin: string, options: Partial<ServiceClientOptions> = {}): ServiceClient {
  const made = createTestClient(origin, passwordCredential, { timeoutMs: 250, ...options });
  closers.push(() => made.close());
  return made;
}

const charge = (c: ServiceClient, call?: CallOptions): Promise<unknown> =>
  c.run(domainRenew, { name: 'cafe.rest', period: 1 }, call);
const write = (c: ServiceClient, call?: CallOptions): Promise<unknown> =>
  c.run(domainDelete, { name: 'cafe.rest' }, call);
const read = (c: ServiceClient, call?: CallOptions): Promise<unknown> => c.run(preregSearch, {}, call);

type Steps = Parameters<typeof sendMarked>[3];
const markedCharge = (c: ServiceClient, steps: Steps): Promise<unknown> =>
  sendMarked(c, domainRenew, { name: 'cafe.rest', period: 1 }, steps);
const markedWrite = (c: ServiceClient, steps: Steps): Promise<unknown> =>
  sendMarked(c, domainDelete, { name: 'cafe.rest' }, steps);
const markedRead = (c: ServiceClient, steps: Steps): Promise<unknown> =>
  sendMarked(c, preregSearch, {}, steps);

/** @param onConnection runs before any byte is read */
async function startTcpServer(onConnection: (socket: net.Socket) => void): Promise<{ port: number }> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  );
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { port: address.port };
}

/** A port where nothing listens. */
async function findClosedPort(): Promise<number> {
  const { port } = await startTcpServer(() => undefined);
  await closers.pop()?.();
  return port;
}

describe('a request is not sent', () => {
  it('if the connection is refused', async () => {
    const error = await getServiceError(charge(client(`http://127.0.0.1:${await findClosedPort()}`)));
    expect(error.kind).toBe('not_sent');
    expect(error.cause, 'the system error must stay as the cause').toMatchObject({ code: 'ECONNREFUSED' });
    expect(error.message).toContain('renewing cafe.rest');
  });

  it('if the host name does not resolve', async () => {
    const error = await getServiceError(charge(client('http://no-such-host.invalid', { timeoutMs: 5_000 })));
    expect(error.kind).toBe('not_sent');
    expect(error.cause).toMatchObject({ syscall: 'getaddrinfo' });
  });

  it.each([
    ['doesn’t speak TLS', (socket: net.Socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['closes during the handshake', (socket: net.Socket) => socket.once('data', () => socket.destroy())],
    ['never responds to the handshake', () => undefined],
  ])('if the service %s', async (_name, behave) => {
    const { port } = await startTcpServer(behave);
    for (const send of [charge, write, read]) {
      expect((await getServiceError(send(client(`https://127.0.0.1:${port}`)))).kind).toBe('not_sent');
    }
  });

  it('if the call is aborted first', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const error = await getServiceError(charge(client(service.origin), { signal: AbortSignal.abort() }));
    expect(error.kind).toBe('not_sent');
    expect(service.requests).toHaveLength(0);
  });

  it('if the timeout passes while it is being prepared', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const slow = client(service.origin);
    const late = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
    for (const send of [markedCharge, markedWrite, markedRead]) {
      expect((await getServiceError(send(slow, { timeoutMs: 10, mark: late }))).kind).toBe('not_sent');
    }
    expect(service.requests).toHaveLength(0);
  });

  it.each([
    ['before connecting', 1, 0],
    ['after connecting', 2, 1],
  ])('if its send deadline passes %s', async (_when, stopsAt, connections) => {
    for (const send of [markedCharge, markedWrite]) {
      const service = await serving(respondWith(200, OK_JSON));
      let reads = 0;
      const clock = (): number => {
        reads += 1;
        return reads === stopsAt ? 1 : 0;
      };
      const sending = send(client(service.origin), { sendDeadline: { epochMs: 0, clock } });
      await expect(sending).rejects.toBeInstanceOf(SuspendedError);
      expect(service.connections).toBe(connections);
      expect(service.requests).toHaveLength(0);
    }
  });

  it('if preparing it fails, and that error is passed on unchanged', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const failure = new Error('the order was taken over');
    const sending = markedCharge(client(service.origin), { mark: () => Promise.reject(failure) });
    await expect(sending).rejects.toBe(failure);
    expect(service.connections).toBe(0);
  });
});

it('a dedicated connection is closed after the call', async () => {
  let open = 0;
  const { port } = await startTcpServer((socket) => {
    open += 1;
    socket.on('close', () => {
      open -= 1;
    });
    socket.resume();
  });
  await getServiceError(charge(client(`https://127.0.0.1:${port}`)));
  await vi.waitUntil(() => open === 0);
});

describe('a connection established too late', () => {
  it('doesn’t send the aborted request', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const connect = buildConnector({});
    let connected = false;
    const dispatcher = new Client(service.origin, {
      connect: (options, callback) => {
        setTimeout(() => {
          connected = true;
          connect(options, callback);
        }, 40);
      },
    });
    closers.push(() => dispatcher.destroy());
    const request: HttpRequest = {
      origin: service.origin,
      path: '/',
      method: 'POST',
      headers: [],
      body: '{}',
    };
    const fault = await exchange(dispatcher, request, { timeoutMs: 10, maxBytes: 1000 }).catch(
      (error) => error,
    );
    expect(fault).toMatchObject({ mayHaveBeenSent: false });
    expect(connected).toBe(false);
    await vi.waitUntil(() => service.connections === 1);
    await dispatcher.close();
    expect(service.requests, 'the request left after it was reported as not sent').toHaveLength(0);
  });
});

describe('an unknown outcome', () => {
  const hang: Respond = () => undefined;
  const half = buildHttpResponse(200, OK_JSON).subarray(0, -10);
  const faults: [name: string, respond: Respond][] = [
    ['hangs before the headers', hang],
    ['hangs while sending headers', (_r, socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-le')],
    ['hangs while sending the body', (_r, socket) => socket.write(half)],
    ['sends one byte at a time', trickle],
    ['resets after the request', (_r, socket) => socket.resetAndDestroy()],
    ['closes after the request', (_r, socket) => socket.end()],
    ['closes in the body', (_r, socket) => socket.end(half)],
    ['resets in the body', (_r, socket) => socket.write(half, () => socket.resetAndDestroy())],
    ['truncates a body without a length', cutUnframed],
    ['doesn’t answer with HTTP', (_r, socket) => socket.end('S0999 done, password pä55 wörd/+&\r\n\r\n')],
    ['answers with HTML', respondWith(200, '<html><body>OK</body></html>', ['content-type: text/html'])],
    ['answers with an empty body', respondWith(200, '')],
    ['answers without content', (_r, socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n')],
    ['answers with JSON that isn’t an envelope', respondWith(200, '{"ok":true}')],
    ['answers with a status without a code', respondWith(200, '{"status":{"text":"done","type":"SUCCESS"}}')],
    [
      'announces a size above the limit',
      (_r, socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 52428800\r\n\r\n'),
    ],
    ['sends more than the limit', flood],
    ['redirects', respondWith(307, OK_JSON, ['location: /v1/elsewhere'])],
    ['answers 408', respondWith(408, '')],
    ['answers 500', respondWith(500, '{"status":{"code":"EF00512","text":"broken","type":"ERROR"}}')],
    ['answers 502 with HTML', respondWith(502, '<html></html>')],
    ['answers 503', respondWith(503, OK_JSON, ['retry-after: 3'])],
    ['answers 400 with a success code', respondWith(400, OK_JSON)],
  ];

  function trickle(_request: unknown, socket: net.Socket): void {
    const bytes = buildHttpResponse(200, OK_JSON);
    let at = 0;
    const timer = setInterval(() => socket.write(bytes.subarray(at, ++at)), 20);
    socket.on('close', () => clearInterval(timer));
  }

  function cutUnframed(_request: unknown, socket: net.Socket): void {
    socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${OK_JSON.slice(0, -1)}`);
  }

  function flood(_request: unknown, socket: net.Socket): void {
    const chunk = Buffer.alloc(256 * 1024, ' ');
    const more = (): void => {
      if (socket.writable) socket.write(chunk, more);
    };
    socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n', more);
  }

  it.each(faults)('is reported if the service %s', async (name, respond) => {
    const service = await serving(respond);
    const one = client(service.origin);
    const errors = await Promise.all([charge, write, read].map((send) => getServiceError(send(one))));
    const kinds = errors.map(({ kind }) => kind);
    const reading = name === 'answers 503' ? 'busy' : 'invalid_response';
    expect(kinds).toEqual(['unknown_outcome', 'unknown_outcome', reading]);
    expect(service.requests, 'requests, one per call').toHaveLength(3);
    if (/limit/.test(name)) expect(errors[0]?.message, 'it must stop at the limit').toContain('too large');
  });

  it('is reported if the call is aborted after it was sent', async () => {
    const controller = new AbortController();
    const service = await serving(() => controller.abort());
    const error = await getServiceError(charge(client(service.origin), { signal: controller.signal }));
    expect(error.kind).toBe('unknown_outcome');
  });

  it('is reported if a kept connection is closed during the request', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const kept = client(service.origin);
    await write(kept);
    service.respond = (_request, socket) => socket.destroy();
    expect((await getServiceError(write(kept))).kind).toBe('unknown_outcome');
    expect(service.requests, 'it must not be sent again on another connection').toHaveLength(2);
  });

  it('keeps the code, text and transaction ids of a server error', async () => {
    const body = '{"stid":"s-1","status":{"code":"EF00512","text":"broken","type":"ERROR"}}';
    const service = await serving(respondWith(500, body));
    const error = await getServiceError(charge(client(service.origin), { ctid: 'order-1' }));
    expect(error).toMatchObject({
      httpStatus: 500,
      code: 'EF00512',
      text: 'broken',
      stid: 's-1',
      ctid: 'order-1',
    });
  });
});

describe('connections', () => {
  it('are new for every task that charges, and reused for other tasks', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const kept = client(service.origin);
    for (const send of [write, write, charge, read, charge, write, charge]) await send(kept);
    const connectionsOf = (charges: boolean): number[] =>
      service.requests
        .filter(({ line }) => line.includes('_renew') === charges)
        .map(({ connection }) => connection);
    expect(new Set(connectionsOf(true)).size, 'charges must not share a connection').toBe(3);
    expect(connectionsOf(true).filter((each) => connectionsOf(false).includes(each))).toEqual([]);
    expect(new Set(connectionsOf(false)).size, 'other tasks must reuse connections').toBeLessThan(4);
  });

  it('send nothing without a new signature for each request', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const description = describeRequest(domainRenew, { name: 'cafe.rest', period: 1 }, 'json');
    const call = client(service.origin).beginDescribedCall(domainRenew, {
      description,
      itemName: 'cafe.rest',
    });
    await expect(call.send()).rejects.toThrow(/must be signed before it is sent/);
    await call.sign();
    await call.send();
    await expect(call.send()).rejects.toThrow(/must be signed before it is sent/);
    call.end();
    expect(service.requests).toHaveLength(1);
  });

  it('send each task once, after it is prepared', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const requestCounts: number[] = [];
    const mark = async (): Promise<void> => {
      requestCounts.push(service.requests.length);
    };
    await markedCharge(client(service.origin), { mark });
    expect(requestCounts).toEqual([0]);
    expect(service.requests).toHaveLength(1);
  });

  it('finish running calls before the client closes', async () => {
    let answer: (() => void) | undefined;
    const service = await serving((_request, socket) => {
      answer = () => socket.write(buildHttpResponse(200, OK_JSON));
    });
    const closing = client(service.origin, { timeoutMs: 5_000 });
    const call = write(closing);
    await vi.waitUntil(() => answer !== undefined);
    const closed = closing.close();
    answer?.();
    await expect(call).resolves.toMatchObject({ httpStatus: 200 });
    await closed;
  });

  it('are not opened once the client is closed', async () => {
    const service = await serving(respondWith(200, OK_JSON));
    const closed = client(service.origin);
    await closed.close();
    expect((await getServiceError(charge(closed))).kind).toBe('not_sent');
    expect(service.connections).toBe(0);
  });
});
