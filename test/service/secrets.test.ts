import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Credential } from '../../src/service/authenticator/signature.ts';
import type { CallResult, ServiceClient } from '../../src/service/client.ts';
import {
  assertDepthAndCheckKeys,
  assertResponseSize,
  createMask,
  MAX_DEPTH,
  MAX_RESPONSE_BYTES,
} from '../../src/service/redact.ts';
import { Secret } from '../../src/service/secret.ts';
import { domainAuthInfo, domainDelete, domainRenew, domainTransfer } from '../../src/service/tasks/domain.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';
import { userCreate } from '../../src/service/tasks/user.ts';
import {
  createTestClient,
  getServiceError,
  PASSWORD,
  passwordCredential,
  SHARED_SECRET,
  twoFactorCredential,
} from './clients.ts';
import {
  buildHttpResponse,
  buildOkJson,
  buildXmlResponse,
  getXmlSuccessCode,
  OK_JSON,
  type RawService,
  type Respond,
  respondWith,
  startRawService,
} from './raw-service.ts';

const AUTH_CODE = 'aX9"\\<&/zz';
const NEW_PASSWORD = 'new&<pass>';
const BASE64 = Buffer.from(`customer:${PASSWORD}`).toString('base64');
const SECRETS = [
  PASSWORD,
  AUTH_CODE,
  NEW_PASSWORD,
  BASE64,
  SHARED_SECRET,
  '287082',
  '1b4e28ba',
  'session-secret',
];

let service: RawService;
const clients: ServiceClient[] = [];
beforeAll(async () => {
  service = await startRawService(() => undefined);
});
afterEach(async () => {
  service.respond = respondWith(200, OK_JSON);
  for (const client of clients.splice(0)) await client.close();
  service.requests.length = 0;
});
afterAll(() => service.close());

function client(credential: Credential, jsonAuth: 'basic' | 'session' = 'basic'): ServiceClient {
  const made = createTestClient(service.origin, credential, {
    jsonAuth,
    timeoutMs: 15_000,
    now: () => 59_000,
  });
  clients.push(made);
  return made;
}

const contacts = { ownerc: { id: 1 }, adminc: { id: 2 }, techc: { id: 3 } };
const transfer = (c: ServiceClient): Promise<CallResult<unknown>> =>
  c.run(domainTransfer, {
    name: 'a.rest',
    auth: new Secret(AUTH_CODE),
    ...contacts,
    nameServers: [{ name: 'ns.a' }],
  });
const user = (c: ServiceClient, via: 'json' | 'xml'): Promise<CallResult<unknown>> =>
  c.run(
    userCreate,
    { user: 'kim', context: 4, defaultEmail: 'k@a.rest', password: new Secret(NEW_PASSWORD) },
    { interface: via },
  );

/** Every way to convert a value to text. */
function renderEveryWay(value: unknown): string {
  const own = value instanceof Error ? [value.message, value.stack, JSON.stringify({ ...value })] : [];
  return [
    inspect(value, { depth: null, showHidden: true }),
    JSON.stringify(value),
    String(value),
    ...own,
  ].join('\n');
}

function expectNoSecret(value: unknown): void {
  const text = renderEveryWay(value);
  for (const secret of SECRETS) {
    const spellings = [secret, JSON.stringify(secret).slice(1, -1), inspect(secret).slice(1, -1)];
    for (const spelling of spellings) expect(text).not.toContain(spelling);
  }
}

const echo = SECRETS.join(' | ');
const buildEcho = (code: string): object => ({
  stid: `s-${PASSWORD}`,
  status: { code, text: `you sent ${echo}`, type: code.startsWith('E') ? 'ERROR' : 'SUCCESS' },
  object: { type: 'Domain', value: echo, data: { [PASSWORD]: [echo], number: 287082 } },
  messages: [{ code: 'M1', text: echo, objects: [{ type: 'x', value: echo }] }],
  data: [{ deep: { deeper: [AUTH_CODE, PASSWORD] } }, echo],
});
const escapeXml = (text: string): string => text.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);

describe('a secret that the service echoes', () => {
  type Case = [name: string, respond: Respond, run: (c: ServiceClient) => Promise<CallResult<unknown>>];
  const cases: Case[] = [
    ['in a JSON response', respondWith(200, JSON.stringify(buildEcho('S1'))), transfer],
    [
      'in a JSON response with escapes',
      respondWith(200, JSON.stringify(buildEcho('S1')).replaceAll('p', '\\u0070')),
      transfer,
    ],
    [
      'only in an escaped text',
      respondWith(200, '{"status":{"code":"S1","text":"\\u0070ä55 wörd/+&"}}'),
      transfer,
    ],
    ['in a refusal', respondWith(400, JSON.stringify(buildEcho('E1'))), transfer],
    ['in a refused login', respondWith(401, JSON.stringify(buildEcho('E1'))), transfer],
    ['in a server error', respondWith(500, JSON.stringify(buildEcho('E1'))), transfer],
    ['in broken JSON', respondWith(200, `{"status": ${echo}`), transfer],
    ['in HTML', respondWith(200, `<html>${echo}</html>`), transfer],
    ['in a response that isn’t HTTP', (_r, socket) => socket.end(`${echo}\r\n\r\n`), transfer],
    ['in a header', (_r, socket) => socket.end(`HTTP/1.1 200 OK\r\n${echo}\r\n\r\n`), transfer],
    [
      'in an XML response',
      respondWith(
        200,
        buildXmlResponse(
          'S1',
          `<r><x>${escapeXml(echo)}</x></r>`,
          `<msg><text>${escapeXml(echo)}</text></msg>`,
        ),
      ),
      (c) => user(c, 'xml'),
    ],
    [
      'in a CDATA section',
      respondWith(200, buildXmlResponse('E1', `<r><x><![CDATA[${echo}]]></x></r>`)),
      (c) => user(c, 'xml'),
    ],
    ...['<!-- -->', '<?break?>', '<![CDATA[]]>'].map(
      (separator): Case => [
        `in an XML text split by ${separator}`,
        respondWith(
          200,
          buildXmlResponse('S0502', `<r><x>${BASE64.slice(0, 9)}${separator}${BASE64.slice(9)}</x></r>`),
        ),
        (c) =>
          c.run(
            redirectUpdate,
            { source: 'a.rest', target: 'b.rest', type: 'domain', mode: 'frame' },
            { interface: 'xml' },
          ),
      ],
    ),
    ['in broken XML', respondWith(200, `<response>${echo}`), (c) => user(c, 'xml')],
  ];

  it.each(cases)('is not shown %s', async (_name, respond, run) => {
    service.respond = respond;
    // A call masks only the secrets that it sent.
    const sentSecrets = run === transfer ? [PASSWORD, BASE64, AUTH_CODE] : [PASSWORD, BASE64, NEW_PASSWORD];
    const result = await run(client(passwordCredential)).catch((error: unknown) => error);
    const text = renderEveryWay(result);
    for (const secret of sentSecrets) {
      for (const spelling of [secret, JSON.stringify(secret).slice(1, -1)])
        expect(text).not.toContain(spelling);
    }
  });

  it.each([
    ['sends', transfer],
    ['fetches', (c: ServiceClient) => c.run(domainAuthInfo, { name: 'a.rest' })],
  ])('is not shown in an unreadable response to a task that %s a secret', async (_what, run) => {
    service.respond = respondWith(200, `<html>${echo}</html>`);
    const { unreadableResponse } = await getServiceError(run(client(passwordCredential)));
    expect(unreadableResponse).toMatchObject({ reason: 'the response is not JSON', body: undefined });
  });

  it.each([
    ['numeric references', PASSWORD.replace('p', '&#112;')],
    ['hexadecimal references', PASSWORD.replace('p', '&#x70;')],
    ['named references', PASSWORD.replace('&', '&amp;').replace('/', '&#47;')],
    ['JSON escapes', PASSWORD.replace('p', '\\u0070')],
    ['needless JSON escapes', PASSWORD.replace('/', '\\/')],
  ])('is not shown in an unreadable response with %s', async (_what, encodedPassword) => {
    service.respond = respondWith(200, `<html>password: ${encodedPassword}</html>`);
    const { unreadableResponse } = await getServiceError(
      client(passwordCredential).run(domainRenew, { name: 'cafe.rest', period: 1 }),
    );
    expect(unreadableResponse).toMatchObject({ reason: 'the response is not JSON', body: undefined });
  });

  it('is not shown in responses to a two-factor account', async () => {
    const hash = '1b4e28ba-2fa1-11d2-883f-0016d3cca427';
    const own = `${PASSWORD} ${SHARED_SECRET}`;
    service.respond = (request, socket) => {
      const text = escapeXml(`${own} ${request.body.includes('auth_session') ? hash : '287082'}`);
      socket.write(
        buildHttpResponse(
          200,
          buildXmlResponse(getXmlSuccessCode(request), `<hash>${hash}</hash><r><x>${text}</x></r>`),
        ),
      );
    };
    const input = { source: 'a.rest', target: 'b.rest', type: 'domain', mode: 'frame' } as const;
    const two = client(twoFactorCredential);
    expectNoSecret(await two.run(redirectUpdate, input));
    const refusal = (text: string): string =>
      buildXmlResponse('E1', '', `<msg><text>${escapeXml(text)}</text></msg>`);
    service.respond = respondWith(400, refusal(`${own} ${hash}`));
    expectNoSecret(await getServiceError(two.run(redirectUpdate, input)));
    service.respond = respondWith(400, refusal(`${own} 287082`));
    expectNoSecret(await getServiceError(client(twoFactorCredential).run(redirectUpdate, input)));
    expectNoSecret(two);
  });

  it('is not shown in responses to a session', async () => {
    service.respond = respondWith(200, JSON.stringify({ status: { code: 'S1', text: 'session-secret' } }), [
      'set-cookie: service_session=session-secret; Path=/',
    ]);
    const session = client(passwordCredential, 'session');
    const first = await session.run(domainDelete, { name: 'a.rest' });
    expect(first.envelope.status.text).toBe('[secret]');
    expectNoSecret([first, session]);
    const user = { user: 'kim', sessionId: 'session-secret' };
    service.respond = respondWith(200, JSON.stringify({ status: { code: 'S1321001' }, data: [user] }), [
      'set-cookie: service_session=session-secret; Path=/',
    ]);
    const login = await session.verify();
    expect(login).toMatchObject({ user: { user: 'kim' } });
    expectNoSecret(login);
  });
});

describe('masking', () => {
  it('masks the longest secret first', () => {
    const mask = createMask(['hunter2', 'hunter2!x', '']);
    expect(mask('first hunter2!x, then hunter2')).toBe('first [secret], then [secret]');
  });

  it.each<[what: string, secret: string, text: string, masked: string]>([
    ['masks a long secret anywhere', 'hunter2', 'you sent xhunter2x', 'you sent x[secret]x'],
    ['masks a long secret of letters', 'Hunter', 'login as Hunter failed', 'login as [secret] failed'],
    ['masks pattern characters', 'a.*(b)[c]$^|\\{9}', 'x a.*(b)[c]$^|\\{9} x', 'x [secret] x'],
    ['doesn’t use a secret as a pattern', 'a.*c99', 'abbbc99', 'abbbc99'],
    ['masks a short word with a digit', 'ab1', 'ab1', '[secret]'],
    [
      'masks a word with a digit',
      'ab12',
      'the login ab12, not ab123 or xab12',
      'the login [secret], not ab123 or xab12',
    ],
    ['keeps a common word in a sentence', 'password', 'The password is wrong.', 'The password is wrong.'],
    ['keeps a short word in a sentence', 'wrong', 'The password is wrong.', 'The password is wrong.'],
    ['keeps the shortest word in a sentence', 'is', 'The password is wrong.', 'The password is wrong.'],
    ['keeps a digit in a number', '1', 'ends in 2031, 1 year', 'ends in 2031, 1 year'],
    ['masks a word that is the whole text', 'password', 'password', '[secret]'],
    ['masks a digit that is the whole text', '1', '1', '[secret]'],
    ['masks a word between spaces', 'wrong', ' wrong\n', '[secret]'],
    [
      'masks a word in quotation marks',
      'wrong',
      'the password “wrong” is refused',
      'the password “[secret]” is refused',
    ],
    ['masks a word after a symbol', 'wrong', 'user=anna&password=wrong&x', 'user=anna&password=[secret]&x'],
    [
      'masks a word after a colon, but not in a sentence',
      'wrong',
      'error: wrong; {p:wrong}',
      'error: wrong; {p:[secret]}',
    ],
    ['distinguishes capital letters', 'Secret1', 'secret1', 'secret1'],
    ['finds words in any language', 'größ9', 'größ9 größ99 ägröß9', '[secret] größ99 ägröß9'],
  ])('%s', (_what, secret, text, masked) => {
    expect(createMask([secret])(text)).toBe(masked);
  });

  it('keeps the service’s keys unless they contain a secret', async () => {
    const answer = {
      status: { code: 'S1', text: 'the password is set' },
      messages: [{ text: 'a password is set', objects: [{ type: 'password', value: 'password' }] }],
      data: [{ password: 'password', other: 'it is hunter2', hunter2: 1 }],
    };
    service.respond = respondWith(200, JSON.stringify(answer));
    const { envelope } = await client({ ...passwordCredential, password: new Secret('hunter2') }).run(
      domainDelete,
      {
        name: 'a.rest',
      },
    );
    expect(envelope.status.text).toBe('the password is set');
    expect(envelope.messages[0]).toMatchObject({
      text: 'a password is set',
      objects: [{ type: 'password', value: '[secret]' }],
    });
    expect(envelope.data).toEqual([{ password: '[secret]', other: 'it is [secret]', '[secret]': 1 }]);
  });

  it('keeps the status code, which decides the outcome', async () => {
    service.respond = respondWith(200, JSON.stringify({ status: { code: 'S0105', text: 'S0105' } }));
    const odd = client({ ...passwordCredential, password: new Secret('S0105') });
    expect((await transfer(odd)).envelope.status).toEqual({ code: 'S0105', text: '[secret]' });
  });
});

describe('credentials never mix', () => {
  const ACCOUNTS = ['anna', 'bert'] as const;
  const CONTEXTS = new Map<string | undefined, string>([
    ['anna', '4'],
    ['bert', '9'],
  ]);
  const signed: [name: string, jsonAuth: 'basic' | 'session', isTwoFactor: boolean][] = [
    ['Basic', 'basic', false],
    ['sessions', 'session', false],
    ['two-factor sessions', 'basic', true],
  ];

  it.each(signed)('in 1,000 interleaved calls with %s', async (_name, jsonAuth, isTwoFactor) => {
    let opened = 0;
    const owners = new Map<string, string>();
    const mixed: string[] = [];
    service.respond = (request, socket) => {
      const user = /"user":"(\w+)"/.exec(request.body)?.[1] ?? /<user>(\w+)<\/user>/.exec(request.body)?.[1];
      const isLogin = request.line.includes('/login') || request.body.includes('1321001');
      if (isLogin && user !== undefined) {
        const id = `00000000-0000-0000-0000-${String(++opened).padStart(12, '0')}`;
        owners.set(id, user);
        const cookie = [`set-cookie: service_session=${id}`];
        return socket.write(
          isTwoFactor
            ? buildHttpResponse(200, buildXmlResponse('S1', `<hash>${id}</hash>`))
            : buildHttpResponse(200, OK_JSON, cookie),
        );
      }
      const basic = request.headers.find((header) => header.startsWith('authorization: Basic '))?.slice(21);
      const id = request.headers.find((header) => header.startsWith('x-service-sessionid: '))?.slice(21);
      const hash = /<hash>([^<]+)/.exec(request.body)?.[1];
      const owner =
        basic === undefined
          ? owners.get(id ?? hash ?? '')
          : Buffer.from(basic, 'base64').toString('utf8').split(':')[0];
      const asked = /(anna|bert)\.rest/.exec(request.line + request.body)?.[1];
      if (asked !== undefined && owner !== asked) mixed.push(`${asked} went out as ${owner}`);
      const context = request.headers.find((header) => header.startsWith('x-service-context: '))?.slice(19);
      if (basic !== undefined && context !== CONTEXTS.get(owner)) mixed.push(`${owner} in ${context}`);
      return socket.write(
        isTwoFactor
          ? buildHttpResponse(200, buildXmlResponse('S0502'))
          : buildHttpResponse(200, buildOkJson(request)),
      );
    };
    const accountClients = ACCOUNTS.map((name) => {
      const account = { user: name, context: Number(CONTEXTS.get(name)) };
      return client(
        isTwoFactor ? { ...twoFactorCredential, ...account } : { ...passwordCredential, ...account },
        jsonAuth,
      );
    });
    await Promise.all(
      Array.from({ length: 1000 }, (_, n) => {
        const which = n % 2;
        const name = `${ACCOUNTS[which]}.rest`;
        const input = {
          source: name,
          target: 'b.rest',
          type: isTwoFactor ? 'domain' : 'DOMAIN',
          mode: isTwoFactor ? 'frame' : 'HTTP',
        } as const;
        return accountClients[which]?.run(redirectUpdate, input);
      }),
    );
    expect(mixed).toEqual([]);
    expect(service.requests.filter(({ line, body }) => /(anna|bert)\.rest/.test(line + body))).toHaveLength(
      1000,
    );
    expect(opened).toBe(jsonAuth === 'session' || isTwoFactor ? 2 : 0);
  });
});

it('a secret is shown only by reveal()', () => {
  const secret = new Secret('open sesame');
  expect(`${secret} ${String(secret)} ${JSON.stringify({ secret })} ${inspect({ secret })}`).not.toContain(
    'sesame',
  );
  expect(inspect(secret, { showHidden: true, depth: null })).toBe('[secret]');
  expect(Object.keys(secret)).toEqual([]);
  expect(secret.reveal()).toBe('open sesame');
});

describe('a response', () => {
  it.each([
    ['{"a":[1,"x",null,{}],"b":{"c":[]}}', false],
    ['{"__proto__":1}', true],
    ['[[{"a":null},{"__proto__":{}}],{}]', true],
    ['{"a":{"b":{"__proto__":1}},"c":{}}', true],
  ])('%s contains the key __proto__: %s', (text, has) => {
    expect(assertDepthAndCheckKeys(JSON.parse(text))).toBe(has);
  });

  it.each(['[', '{"a":'])('has at most 64 levels of %s', (open) => {
    const nested = (levels: number) =>
      JSON.parse(`${open.repeat(levels)}1${(open === '[' ? ']' : '}').repeat(levels)}`);
    expect(assertDepthAndCheckKeys(nested(MAX_DEPTH + 1))).toBe(false);
    expect(() => assertDepthAndCheckKeys(nested(MAX_DEPTH + 2))).toThrow('nested deeper');
  });

  it('has at most 2 MB', () => {
    expect(() => assertResponseSize(Buffer.alloc(MAX_RESPONSE_BYTES))).not.toThrow();
    expect(() => assertResponseSize(Buffer.alloc(MAX_RESPONSE_BYTES + 1))).toThrow('too large');
  });
});
