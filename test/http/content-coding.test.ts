import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ExchangeLimits, exchangeOnFreshConnection } from '../../src/http/exchange.ts';

let respond: (response: ServerResponse) => void;
let acceptEncoding: string | undefined;
const server = createServer((request, response) => {
  acceptEncoding = String(request.headers['accept-encoding']);
  respond(response);
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

function get(limits: Partial<ExchangeLimits> = {}) {
  const { port } = server.address() as AddressInfo;
  const request = { origin: `http://127.0.0.1:${port}`, path: '/', method: 'GET', headers: [] } as const;
  return exchangeOnFreshConnection(request, { timeoutMs: 2_000, maxBytes: 10_000, ...limits });
}

const respondWith = (body: Buffer, coding: string | string[], status = 200) => {
  respond = (response) => response.setHeader('content-encoding', coding).writeHead(status).end(body);
};

const TEXT = Buffer.from('{"status":{"code":"S1"}} €'.repeat(20));

describe('a body', () => {
  test.each<[string | string[], Buffer]>([
    ['gzip', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['GZIP', gzipSync(TEXT)],
    ['gzip', Buffer.concat([gzipSync(TEXT.subarray(0, 9)), gzipSync(TEXT.subarray(9))])],
    ['br', brotliCompressSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['deflate', deflateRawSync(TEXT)],
    ['deflate', deflateRawSync(TEXT, { level: 0 })],
    ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
    [['br', 'gzip'], gzipSync(brotliCompressSync(TEXT))],
    ['identity', TEXT],
    ['', TEXT],
  ])('in %j is decoded', async (coding, body) => {
    for (const status of [200, 404, 503]) {
      respondWith(body, coding, status);
      expect(await get()).toMatchObject({ status, body: TEXT, rawBody: body });
      expect(acceptEncoding).toBe('gzip, br, deflate');
    }
  });

  test.each<[string, string, Buffer]>([
    ['in an unknown coding', 'zstd', TEXT],
    ['in a known and an unknown coding', 'gzip, compress', gzipSync(TEXT)],
    ['that is truncated', 'gzip', gzipSync(TEXT).subarray(0, 30)],
    ['that is truncated', 'br', brotliCompressSync(TEXT).subarray(0, 20)],
    ['that is truncated', 'deflate', deflateSync(TEXT).subarray(0, 20)],
    ['that is truncated raw', 'deflate', deflateRawSync(TEXT).subarray(0, 20)],
    ['with a wrong checksum', 'gzip', Buffer.concat([gzipSync(TEXT).subarray(0, -8), Buffer.alloc(8)])],
    ['that is uncompressed', 'gzip', TEXT],
    ['with too many codings', Array(6).fill('identity').join(), TEXT],
  ])('%s (%s) isn’t decoded', async (_what, coding, body) => {
    respondWith(body, coding);
    expect(await get()).toMatchObject({ status: 200, body: undefined, rawBody: body });
  });

  test('that is empty needs no decoding', async () => {
    respondWith(Buffer.alloc(0), 'gzip', 204);
    expect(await get()).toMatchObject({ status: 204, body: Buffer.alloc(0) });
  });

  test.each<[string, Buffer]>([
    ['gzip', gzipSync(Buffer.alloc(10_001))],
    ['br', brotliCompressSync(Buffer.alloc(5_000_000))],
    ['deflate', deflateSync(Buffer.alloc(10_001))],
    ['deflate', deflateRawSync(Buffer.alloc(10_001))],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(10_000_000)))],
  ])('in %s that expands beyond the limit is refused', async (coding, body) => {
    expect(body.length).toBeLessThan(10_000);
    respondWith(body, coding);
    await expect(get()).rejects.toMatchObject({ failure: 'too_large', mayHaveBeenSent: true, status: 200 });
  });

  test('that expands exactly to the limit is accepted', async () => {
    respondWith(gzipSync(Buffer.alloc(10_000)), 'gzip');
    expect((await get()).body).toHaveLength(10_000);
  });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['is large', (response) => response.end(Buffer.alloc(20_000))],
  ['never ends', (response) => response.write('<html>')],
  ['is truncated', (response) => response.write('<html>', () => response.destroy())],
  ['can’t be decoded', (response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end('x')],
])('the status is returned even if a discarded body %s', async (_what, handler) => {
  respond = handler;
  expect(await get({ maxBytes: 'discard_body' })).toMatchObject({ status: 200, body: Buffer.alloc(0) });
});
