import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { answersText } from '../../src/slack/orders/answer.view.ts';
import { createTestClient, PASSWORD, passwordCredential, twoFactorCredential } from '../service/clients.ts';
import { buildHttpResponse, type RawService, startRawService } from '../service/raw-service.ts';
import { ALICE, MINUTE_MS, type Rig, startRig } from './rig.ts';

/*
 * The service's raw responses: compressed, in any encoding, with numbers of any length. An unreadable response leaves
 * its order unknown after one request, and is shown as bytes.
 */

const TINA: Account = { ...ALICE, id: 'account-tina', method: 'two_factor', login: 'tina' };
const SESSION_HASH = '1b4e28ba-2fa1-11d2-883f-0016d3cca427';
const renderXmlResponse = (code: string, { encoding = 'utf-8', text = 'done', data = '' } = {}) =>
  `<?xml version="1.0" encoding="${encoding}"?><response><result><data>${data}</data><status><code>${code}</code><text>${text}</text><type>success</type></status></result></response>`;

let service: RawService;
let rig: Rig;
let clients: Map<string, ServiceClient>;
let nextResponse: readonly [body: string | Buffer, headers?: readonly string[]];
beforeAll(async () => {
  service = await startRawService((request, socket) => {
    if (request.body.includes('<code>1321001</code>'))
      return socket.write(
        buildHttpResponse(200, renderXmlResponse('S1321001', { data: `<hash>${SESSION_HASH}</hash>` })),
      );
    const [body, headers = []] = nextResponse;
    return socket.write(buildHttpResponse(200, body, headers));
  });
  clients = new Map([
    [ALICE.id, createTestClient(service.origin, passwordCredential)],
    [TINA.id, createTestClient(service.origin, twoFactorCredential)],
  ]);
  rig = await startRig({
    client: (id) => {
      const client = clients.get(id);
      if (client === undefined) throw new Error(`there is no account ${id}`);
      return client;
    },
  });
});
beforeEach(async () => {
  await rig.reset();
  rig.accounts.set(TINA.id, TINA);
});
afterAll(async () => {
  await Promise.all([...clients.values()].map((client) => client.close()));
  await rig.end();
  await service.close();
});

/** Executes an order, including all retries. */
async function execute(id: string) {
  service.requests.length = 0;
  for (let round = 0; round < 6; round += 1) {
    await rig.runDue();
    rig.advanceClock(MINUTE_MS);
  }
  const order = await rig.read(id);
  const sent = service.requests.filter(({ body }) => !body.includes('<code>1321001</code>'));
  return { order, sent: sent.length, shown: answersText(order, await rig.store.loadAnswers(id, 'system')) };
}
const executeRenewal = async () => execute((await rig.requestApprovedRenewal('cafe.rest')).id);
const executeRedirect = async (account: Account = ALICE) => {
  const [type, mode] = account === ALICE ? ['DOMAIN', 'HTTP'] : ['domain', 'single'];
  const input = { source: 'www.cafe.rest', target: 'https://new.example/', type, mode };
  return execute((await rig.requestAccepted('redirect', input, { account })).id);
};

const DONE = '{"stid":"s-1","status":{"code":"S0105","text":"done","type":"SUCCESS"}}';

describe('a compressed response', () => {
  test.each<[string, Buffer]>([
    ['gzip', gzipSync(DONE)],
    ['br', brotliCompressSync(DONE)],
    ['deflate', deflateSync(DONE)],
    ['deflate', deflateRawSync(DONE)],
    ['deflate, gzip', gzipSync(deflateSync(DONE))],
  ])('in %s (case %#) is read', async (coding, body) => {
    nextResponse = [body, [`content-encoding: ${coding}`]];
    expect(await executeRenewal()).toMatchObject({ sent: 1, order: { state: 'SUCCEEDED' } });
  });

  test('of a redirect over XML is read', async () => {
    nextResponse = [
      gzipSync(renderXmlResponse('S0502')),
      ['content-encoding: gzip', 'content-type: text/xml'],
    ];
    expect(await executeRedirect(TINA)).toMatchObject({ sent: 1, order: { state: 'SUCCEEDED' } });
  });
});

describe('an unreadable response', () => {
  const undecodableXml = Buffer.from(
    renderXmlResponse('S0502', { encoding: 'cp037', text: '\x80' }),
    'latin1',
  );
  test.each<[string, Account, string | Buffer, readonly string[], RegExp]>([
    [
      'in an unknown content coding',
      ALICE,
      Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
      ['content-encoding: zstd'],
      /\(\\\\xb5\/\\\\xfd.*/,
    ],
    [
      'with a truncated gzip',
      ALICE,
      gzipSync(DONE).subarray(0, 20),
      ['content-encoding: gzip'],
      /\\\\x1f\\\\x8b/,
    ],
    ['that is a zip bomb', ALICE, gzipSync(Buffer.alloc(3_000_000)), ['content-encoding: gzip'], /too large/],
    ['in an unknown charset', TINA, undecodableXml, [], /<text>\\\\x80<\/text>/],
    ['that is HTML', ALICE, '<html>Für Sie</html>', ['content-type: text/html'], /<html>Für Sie<\/html>/],
    ['that is empty', ALICE, '', [], /the response is empty/],
  ])('%s makes its order unknown and is shown', async (_what, account, body, headers, expectedText) => {
    nextResponse = [body, headers];
    const { order, sent, shown } = await executeRedirect(account);
    expect({ state: order.state, sent }).toEqual({ state: 'UNKNOWN', sent: 1 });
    expect(order.items[0]?.result?.hasFullAnswer).toBe(true);
    expect(shown).toMatch(expectedText);
    if (account !== ALICE) return;
    expect(await executeRenewal()).toMatchObject({ sent: 1, order: { state: 'UNKNOWN' } });
  });

  test.each<[string, Buffer]>([
    ['a page', Buffer.from(`<html>${PASSWORD}</html>`)],
    ['base64', Buffer.from(`<html>${Buffer.from(`customer:${PASSWORD}`).toString('base64')}</html>`)],
    ['an escaped page', Buffer.from(`<html>${PASSWORD.replace('&', '&amp;')}</html>`)],
    ['text with invalid bytes', Buffer.concat([Buffer.from(`<html>${PASSWORD}`), Buffer.from([0xff])])],
  ])('is shown without the secrets that it repeats in %s', async (_where, body) => {
    nextResponse = [body];
    const { shown } = await executeRenewal();
    expect(shown).toContain('<html>[secret]');
  });
});

test('XML in a supported encoding is read, and the request is sent once', async () => {
  const body = renderXmlResponse('S0502', { encoding: 'windows-1252', text: 'costs 5 \x80' });
  nextResponse = [Buffer.from(body, 'latin1'), ['content-type: text/xml']];
  const { order, sent } = await executeRedirect(TINA);
  expect({ state: order.state, sent }).toEqual({ state: 'SUCCEEDED', sent: 1 });
  expect(order.items[0]?.result?.text).toBe('costs 5 €');
});

test('numbers are stored and shown with their original digits', async () => {
  const data = '{"orderId":9007199254740993,"ownerc":{"id":12345678901234567890},"amount":12.10,"years":2}';
  nextResponse = [
    DONE.replace('"status"', `"object":{"type":"Domain","value":"cafe.rest","data":${data}},"status"`),
  ];
  const { order, shown } = await executeRenewal();
  const expectedData = {
    orderId: '9007199254740993',
    ownerc: { id: '12345678901234567890' },
    amount: '12.10',
    years: 2,
  };
  expect(order.items[0]?.result?.data).toEqual([expectedData]);
  const history = JSON.stringify(await rig.store.loadHistory(order.id, 'system'));
  for (const digits of ['9007199254740993', '12345678901234567890', '12.10']) {
    expect(shown).toContain(digits);
    expect(history).toContain(digits);
  }
});
