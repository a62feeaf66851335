import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createWhoisClient } from '../../../src/registry/whois/client.ts';
import { type RunningWhois, startWhois } from '../../support/whois-server.ts';

const servers: RunningWhois[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function whoisServer(answer: (query: string) => string | Buffer | undefined): Promise<RunningWhois> {
  const server = await startWhois(answer);
  servers.push(server);
  return server;
}

const NEVER = new AbortController().signal;
const RECORD = 'Domain: cafe.hk\nExpiry Date: 03-04-2027\n';

async function ask(answer: (query: string) => string | Buffer | undefined, name = 'cafe.hk') {
  const { server, queries } = await whoisServer(answer);
  const zone = name.slice(name.indexOf('.') + 1);
  const client = createWhoisClient({
    servers: new Map([[zone, server]]),
    now: () => new Date('2026-11-27T12:00:00Z'),
    spacingMs: 0,
    deadlineMs: 300,
  });
  return { client, queries, answer: await client.fetchRecord(name, NEVER) };
}

test('queries the name in the zone’s format', async () => {
  expect(await ask(() => RECORD)).toMatchObject({
    queries: ['cafe.hk\r\n'],
    answer: { kind: 'record', expiry: { date: new Date('2027-04-03') } },
  });
  expect((await ask(() => '[Domain Name] CAFE.JP', 'cafe.jp')).queries).toEqual(['cafe.jp/e\r\n']);
});

test.each([
  ['hangs', (): undefined => undefined, 'timeout'],
  ['sends 10 MB', () => Buffer.alloc(10_000_000, 'x'), 'too_large'],
  ['sends an empty response', () => '', 'not_whois'],
  ['answers for another name', () => 'Domain: other.hk\nExpiry Date: 03-04-2027', 'name_mismatch'],
])('a server that %s gives no date', async (_, answer, kind) => {
  expect((await ask(answer)).answer).toEqual({ kind });
});

test.each([
  ['refuses the connection', undefined],
  ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
])('a server that %s is unreachable', async (_, accept) => {
  const server = createServer(accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  if (accept === undefined) server.close();
  const client = createWhoisClient({
    servers: new Map([['hk', { host: '127.0.0.1', port }]]),
    now: () => new Date('2026-11-27T12:00:00Z'),
    spacingMs: 0,
  });
  expect(await client.fetchRecord('cafe.hk', NEVER)).toEqual({ kind: 'unreachable' });
  server.close();
});

test('a long notice after the record is cut off, and Latin-1 is read', async () => {
  const record = Buffer.from(`${RECORD}Registrar: Caf\xe9 Names\n${'terms '.repeat(20_000)}`, 'latin1');
  expect((await ask(() => record)).answer).toMatchObject({ kind: 'record', registrar: 'Café Names' });
});

test('a server whose limit is exceeded isn’t queried again', async () => {
  const { client, queries, answer } = await ask(() => 'Domain: cafe.hk\nStatus: limit exceeded\n');
  expect(answer).toEqual({ kind: 'limited' });
  expect(await client.fetchRecord('bar.hk', NEVER)).toEqual({ kind: 'waiting' });
  expect(queries).toHaveLength(1);
});

test('a server is queried once a second', async () => {
  const { server } = await whoisServer(() => RECORD);
  const client = createWhoisClient({ servers: new Map([['hk', server]]), now: () => new Date() });
  const began = performance.now();
  await Promise.all([client.fetchRecord('cafe.hk', NEVER), client.fetchRecord('cafe.hk', NEVER)]);
  expect(performance.now() - began).toBeGreaterThan(950);
});

test('IANA’s referral is remembered, and never leads to a private address', async () => {
  const registry = await whoisServer((query) => `Domain: ${query.trim()}\nExpiry Date: 2027-04-03\n`);
  const iana = await whoisServer((query) =>
    query === 'xx\r\n'
      ? `% IANA\nwhois:        127.0.0.1:${registry.server.port}\n`
      : query === 'yy\r\n'
        ? 'whois: 10.0.0.1'
        : query === 'vv\r\n'
          ? 'whois: 127.0.0.1:0'
          : 'domain: ZZ',
  );
  const client = createWhoisClient({
    ...{ servers: new Map(), ianaServer: iana.server, now: () => new Date('2026-11-27'), spacingMs: 0 },
  });
  const kinds = [];
  for (const name of ['cafe.xx', 'bar.xx', 'cafe.yy', 'cafe.vv', 'cafe.zz'])
    kinds.push((await client.fetchRecord(name, NEVER)).kind);
  expect(kinds).toEqual(['record', 'record', 'unreachable', 'no_server', 'no_server']);
  expect(iana.queries).toEqual(['xx\r\n', 'yy\r\n', 'vv\r\n', 'zz\r\n']);
});

test('an aborted lookup ends at once', async () => {
  const { server } = await whoisServer(() => undefined);
  const client = createWhoisClient({ servers: new Map([['hk', server]]), now: () => new Date() });
  const stop = new AbortController();
  const asked = client.fetchRecord('cafe.hk', stop.signal);
  stop.abort(new Error('stopping'));
  await expect(asked).rejects.toThrow('stopping');
});
