import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRdapClient, type RdapClient, resolveRedirect } from '../../../src/registry/rdap/client.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const HOUR_MS = 3_600_000;
let now: Date;
let registry: FakeRegistry;
let clients: RdapClient[];

/** A server that responds like a registry, and serves the bootstrap file that points to it. */
class FakeRegistry {
  readonly requests: IncomingMessage[] = [];
  readonly #server: Server;
  bootstrap: Handler = (_request, response) =>
    json(response, { version: '1.0', services: [[['rest'], [`${this.url}/rdap/`]]] });
  domain: Handler = (request, response) => json(response, record(request.url?.split('/').at(-1) ?? ''));

  constructor() {
    this.#server = createServer((request, response) => {
      this.requests.push(request);
      if (request.url === '/dns.json') this.bootstrap(request, response);
      else this.domain(request, response);
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  get paths(): (string | undefined)[] {
    return this.requests.map(({ url }) => url);
  }
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/rdap+json' });
  response.end(JSON.stringify(body));
}

function record(name: string, expiration: unknown = '2027-03-01T12:00:00Z') {
  return {
    objectClassName: 'domain',
    ldhName: name.toUpperCase(),
    status: ['active'],
    events: [
      { eventAction: 'registration', eventDate: '2020-03-01T12:00:00Z' },
      { eventAction: 'expiration', eventDate: expiration },
    ],
  };
}

function client(options: Partial<Parameters<typeof createRdapClient>[0]> = {}): RdapClient {
  const made = createRdapClient({
    bootstrapUrl: `${registry.url}/dns.json`,
    userAgent: 'domain-steward-test',
    now: () => now,
    spacingMs: 0,
    ...options,
  });
  clients.push(made);
  return made;
}

function refuse(status: number, headers: Record<string, string> = {}): Handler {
  return (_request, response) => response.writeHead(status, headers).end('{}');
}

function redirectTo(location: string): Handler {
  return refuse(302, { location });
}

beforeEach(async () => {
  now = new Date('2026-06-01T00:00:00Z');
  clients = [];
  registry = await new FakeRegistry().start();
});

afterEach(async () => {
  await Promise.all(clients.map((made) => made.close()));
  await registry.stop();
});

describe('a lookup', () => {
  test('returns the record and sends no credentials', async () => {
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({
      kind: 'answered',
      body: record('cafe.rest'),
    });
    const [, asked] = registry.requests;
    expect(asked?.url).toBe('/rdap/domain/cafe.rest');
    expect(asked?.headers).toMatchObject({ 'user-agent': 'domain-steward-test' });
    expect(asked?.headers.accept).toContain('application/rdap+json');
    expect(Object.keys(asked?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/authorization|cookie/)]),
    );
  });

  test('reads compressed records, and keeps the digits of their numbers', async () => {
    registry.bootstrap = (_request, response) => {
      const list = { version: '1.0', services: [[['rest'], [`${registry.url}/rdap/`]]] };
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(list)));
    };
    registry.domain = (_request, response) =>
      response
        .writeHead(200, { 'content-encoding': 'br' })
        .end(brotliCompressSync('{"handle":9007199254740993}'));
    const body = { handle: '9007199254740993' };
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({ kind: 'answered', body });
  });

  test('returns the whole record, even without an expiry date', async () => {
    const undated = { objectClassName: 'domain', ldhName: 'cafe.rest', status: ['active'] };
    registry.domain = (_request, response) => json(response, undated);
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({
      kind: 'answered',
      body: undated,
    });
    registry.domain = refuse(404);
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({ kind: 'not_found' });
  });

  test.each<readonly [string, Handler, object]>([
    ['an unregistered name', refuse(404), { kind: 'not_found' }],
    [
      'a server that fails',
      refuse(500),
      { kind: 'unavailable', problem: { code: 'http_status', detail: '500' } },
    ],
    [
      'a server that forbids access',
      refuse(403),
      { kind: 'unavailable', problem: { code: 'http_status', detail: '403' } },
    ],
    [
      'a response that isn’t JSON',
      (_request: IncomingMessage, response: ServerResponse) => response.end('<html>maintenance</html>'),
      { kind: 'unavailable', problem: { code: 'not_rdap' } },
    ],
    ...[200, 404].map(
      (status) =>
        [
          `a web page with status ${status}`,
          (_request: IncomingMessage, response: ServerResponse) => {
            response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
            response.end('<!doctype html><title>Not here</title>');
          },
          { kind: 'unavailable', problem: { code: 'not_rdap', detail: 'text/html' } },
        ] as const,
    ),
    [
      'a record under the wrong type',
      (_request: IncomingMessage, response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end(JSON.stringify(record('cafe.rest')));
      },
      { kind: 'unavailable', problem: { code: 'not_rdap' } },
    ],
    [
      'a record as plain JSON',
      (_request: IncomingMessage, response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'Application/JSON;charset=utf-8' });
        response.end(JSON.stringify(record('cafe.rest')));
      },
      { kind: 'answered', body: { objectClassName: 'domain' } },
    ],
    [
      'an unregistered name without a body',
      (_request: IncomingMessage, response: ServerResponse) => {
        response.writeHead(404);
        response.end();
      },
      { kind: 'not_found' },
    ],
    [
      'a response that is too large',
      (_request: IncomingMessage, response: ServerResponse) => response.end(' '.repeat(1_100_000)),
      { kind: 'unavailable', problem: { code: 'too_large' } },
    ],
    [
      'a cut connection',
      (request: IncomingMessage) => request.socket.destroy(),
      { kind: 'unavailable', problem: { code: 'unreachable' } },
    ],
  ])('reports %s', async (_case, domain, result) => {
    registry.domain = domain;
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject(result);
  });

  test('times out if a server responds too slowly', async () => {
    let dripping: NodeJS.Timeout | undefined;
    registry.domain = (_request, response) => {
      response.writeHead(200);
      dripping = setInterval(() => response.write(' '), 10);
    };
    const result = await client({ deadlineMs: 400 }).fetchRecord('cafe.rest');
    clearInterval(dripping);
    expect(result).toEqual({ kind: 'unavailable', problem: { code: 'timeout', detail: '0.4' } });
  });

  test('is aborted by its caller', async () => {
    const controller = new AbortController();
    registry.domain = () => controller.abort(new Error('the bot is going'));
    await expect(client().fetchRecord('cafe.rest', controller.signal)).rejects.toThrow('the bot is going');
  });

  test('ends when the client closes', async () => {
    const asked = client();
    registry.domain = () => void asked.close();
    await expect(asked.fetchRecord('cafe.rest')).resolves.toMatchObject({ kind: 'unavailable' });
  });

  test('reports that a zone has no public record', async () => {
    await expect(client().fetchRecord('cafe.example')).resolves.toMatchObject({
      kind: 'unavailable',
      problem: { code: 'no_public_record' },
    });
  });
});

describe('the bootstrap file', () => {
  const fetches = () => registry.paths.filter((path) => path === '/dns.json').length;

  test('is kept for a day and fetched once by concurrent lookups', async () => {
    const asked = client();
    await Promise.all(['a.rest', 'b.rest', 'c.rest'].map((name) => asked.fetchRecord(name)));
    now = new Date(now.getTime() + 23 * HOUR_MS);
    await asked.fetchRecord('d.rest');
    expect(fetches()).toBe(1);
    now = new Date(now.getTime() + HOUR_MS);
    await asked.fetchRecord('e.rest');
    expect(fetches()).toBe(2);
  });

  test.each([
    ['an error', refuse(500)],
    ['an invalid file', (_request: IncomingMessage, response: ServerResponse) => response.end('[]')],
  ])('stays in use if its refresh gives %s, and is refreshed later', async (_case, broken) => {
    const asked = client();
    await asked.fetchRecord('a.rest');
    const works = registry.bootstrap;
    registry.bootstrap = broken;
    now = new Date(now.getTime() + 25 * HOUR_MS);
    await expect(asked.fetchRecord('b.rest')).resolves.toMatchObject({ kind: 'answered' });
    await expect(asked.fetchRecord('c.rest')).resolves.toMatchObject({ kind: 'answered' });
    expect(fetches()).toBe(2);
    registry.bootstrap = works;
    now = new Date(now.getTime() + HOUR_MS);
    await asked.fetchRecord('d.rest');
    expect(fetches()).toBe(3);
  });

  test('makes lookups unavailable until it is loaded', async () => {
    const works = registry.bootstrap;
    registry.bootstrap = refuse(500);
    const asked = client();
    await expect(asked.fetchRecord('a.rest')).resolves.toMatchObject({
      kind: 'unavailable',
      problem: { code: 'no_bootstrap' },
      retryAfterMs: 600_000,
    });
    registry.bootstrap = works;
    now = new Date(now.getTime() + 600_000);
    await expect(asked.fetchRecord('a.rest')).resolves.toMatchObject({ kind: 'answered' });
  });
});

describe('a busy server', () => {
  test.each([
    [429, { 'retry-after': '120' }, 120_000],
    [503, { 'retry-after': 'Mon, 01 Jun 2026 00:05:00 GMT' }, 300_000],
    [429, {}, 60_000],
    [429, { 'retry-after': '99999999' }, 86_400_000],
  ])('that responds with %i and %j isn’t queried for %i ms', async (status, headers, waitMs) => {
    const works = registry.domain;
    registry.domain = refuse(status, headers);
    const asked = client();
    await expect(asked.fetchRecord('a.rest')).resolves.toEqual({
      kind: 'unavailable',
      problem: { code: 'busy', detail: String(status) },
      retryAfterMs: waitMs,
    });

    registry.domain = works;
    now = new Date(now.getTime() + waitMs - 1);
    const before = registry.requests.length;
    await expect(asked.fetchRecord('b.rest')).resolves.toEqual({
      kind: 'unavailable',
      problem: { code: 'waiting' },
      retryAfterMs: 1,
    });
    expect(registry.requests.length).toBe(before);
    now = new Date(now.getTime() + 1);
    await expect(asked.fetchRecord('b.rest')).resolves.toMatchObject({ kind: 'answered' });
  });

  test('gets no queued lookups', async () => {
    registry.domain = refuse(429, { 'retry-after': '60' });
    const names = Array.from({ length: 10 }, (_, index) => `n${index}.rest`);
    const asked = client();
    const results = await Promise.all(names.map((name) => asked.fetchRecord(name)));
    expect(results.every(({ kind }) => kind === 'unavailable')).toBe(true);
    expect(registry.paths.filter((path) => path?.startsWith('/rdap/')).length).toBeLessThanOrEqual(2);
  });

  test('doesn’t delay lookups at another server', async () => {
    const other = await new FakeRegistry().start();
    try {
      registry.bootstrap = (_request, response) =>
        json(response, {
          services: [
            [['rest'], [`${registry.url}/rdap`]],
            [['cafe'], [other.url]],
          ],
        });
      registry.domain = refuse(429, { 'retry-after': '60' });
      const asked = client();
      await asked.fetchRecord('a.rest');
      await expect(asked.fetchRecord('a.cafe')).resolves.toMatchObject({ kind: 'answered' });
    } finally {
      await other.stop();
    }
  });
});

describe('a registry', () => {
  test('gets at most two concurrent requests', async () => {
    const held: (() => void)[] = [];
    let most = 0;
    registry.domain = (request, response) => {
      held.push(() => json(response, record(request.url?.split('/').at(-1) ?? '')));
      most = Math.max(most, held.length);
    };
    const asked = client();
    const names = ['a.rest', 'b.rest', 'c.rest', 'd.rest', 'e.rest'];
    const results = Promise.all(names.map((name) => asked.fetchRecord(name)));
    for (let answered = 0; answered < names.length; answered += 1) {
      await vi.waitFor(() => expect(held.length).toBe(Math.min(2, names.length - answered)), { interval: 2 });
      held.shift()?.();
    }
    expect((await results).every(({ kind }) => kind === 'answered')).toBe(true);
    expect(most).toBe(2);
  });

  test('gets requests with a pause between them', async () => {
    let lastAt = 0;
    const answer = registry.domain;
    registry.domain = (request, response) => {
      lastAt = performance.now();
      answer(request, response);
    };
    const asked = client({ spacingMs: 40 });
    // Requests may arrive late on a busy machine, so only the last one is checked: it can't be early.
    const startedAt = performance.now();
    await Promise.all(['a.rest', 'b.rest', 'c.rest', 'd.rest'].map((name) => asked.fetchRecord(name)));
    expect(lastAt - startedAt).toBeGreaterThan(110);
  });
});

describe('redirects', () => {
  function chain(length: number): Handler {
    return (request, response) => {
      const step = Number(/step=(\d+)/.exec(request.url ?? '')?.[1] ?? 0);
      if (step < length) redirectTo(`/moved/cafe.rest?step=${step + 1}`)(request, response);
      else json(response, record('cafe.rest'));
    };
  }

  test.each([301, 302, 303, 307, 308])('with status %i are followed', async (status) => {
    registry.domain = (request, response) =>
      request.url === '/new/cafe.rest'
        ? json(response, record('cafe.rest'))
        : refuse(status, { location: '/new/cafe.rest' })(request, response);
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({ kind: 'answered' });
  });

  test('are followed three times, but not a fourth time', async () => {
    registry.domain = chain(3);
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({ kind: 'answered' });
    registry.domain = chain(4);
    await expect(client().fetchRecord('cafe.rest')).resolves.toEqual({
      kind: 'unavailable',
      problem: { code: 'too_many_redirects' },
    });
  });

  test.each([
    ['ftp://rdap.example/', 'redirect_unsafe'],
    ['http://user:word@127.0.0.1/', 'redirect_unsafe'],
    ['http://[', 'redirect_to_nowhere'],
    ['http://10.0.0.1/', 'private_address'],
    ['http://169.254.169.254/latest/meta-data', 'private_address'],
    ['http://[fd00::1]/', 'private_address'],
    ['http://0x0a.1/', 'private_address'],
  ])('to %s are not followed', async (location, code) => {
    registry.domain = redirectTo(location);
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({ problem: { code } });
  });

  test('share one deadline', async () => {
    registry.domain = (request, response) => void setTimeout(() => chain(3)(request, response), 150);
    await expect(client({ deadlineMs: 400 }).fetchRecord('cafe.rest')).resolves.toEqual({
      kind: 'unavailable',
      problem: { code: 'timeout', detail: '0.4' },
    });
  });

  test('never go from https to http', () => {
    const from = new URL('https://rdap.example/a/b');
    expect(resolveRedirect(from, 'http://rdap.example/')).toMatchObject({ kind: 'unavailable' });
    expect(resolveRedirect(from, 'c')).toEqual(new URL('https://rdap.example/a/c'));
    expect(resolveRedirect(new URL('http://rdap.example/'), 'https://rdap.example/')).toBeInstanceOf(URL);
  });

  test('without a target are an error', async () => {
    registry.domain = refuse(302);
    await expect(client().fetchRecord('cafe.rest')).resolves.toMatchObject({ kind: 'unavailable' });
  });
});

test('a registry at a private address is not requested', async () => {
  registry.bootstrap = (_request, response) =>
    json(response, { services: [[['rest'], ['http://192.168.1.1/']]] });
  await expect(client().fetchRecord('cafe.rest')).resolves.toEqual({
    kind: 'unavailable',
    problem: { code: 'private_address' },
  });
});

test('a registry whose name resolves to a private address is not requested', async () => {
  const addresses: Record<string, string> = {
    'rdap.rest.example': '10.0.0.1',
    'rdap.cafe.example': '127.0.0.1',
  };
  const port = new URL(registry.url).port;
  registry.bootstrap = (_request, response) =>
    json(response, {
      services: [
        [['rest'], [`http://rdap.rest.example:${port}/`]],
        [['cafe'], [`http://rdap.cafe.example:${port}/`]],
      ],
    });
  const asked = client({
    resolve: (host, _options, callback) => callback(null, [{ address: addresses[host] ?? '', family: 4 }]),
  });
  await expect(asked.fetchRecord('a.cafe')).resolves.toMatchObject({ kind: 'answered' });
  await expect(asked.fetchRecord('a.rest')).resolves.toMatchObject({ problem: { code: 'private_address' } });
});
