import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Credential, SessionPlace } from '../../src/service/authenticator/signature.ts';
import type { CallOptions, ServiceClient } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import {
  domainAuthInfo,
  domainCreate,
  domainDelete,
  domainOwnerChange,
  domainRenew,
  domainRestore,
  domainTransfer,
  domainUpdateNameservers,
} from '../../src/service/tasks/domain.ts';
import { preregSearch } from '../../src/service/tasks/prereg.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';
import { sessionLogin, sessionLogout } from '../../src/service/tasks/session.ts';
import { sslContactUpdate } from '../../src/service/tasks/ssl-contact.ts';
import { userCreate } from '../../src/service/tasks/user.ts';
import {
  applicationCredential,
  createTestClient,
  PASSWORD,
  passwordCredential,
  twoFactorCredential,
} from './clients.ts';
import {
  buildHttpResponse,
  buildOkJson,
  buildXmlResponse,
  getXmlSuccessCode,
  type RawRequest,
  type RawService,
  startRawService,
} from './raw-service.ts';

const HASH = '1b4e28ba-2fa1-11d2-883f-0016d3cca427';
const BASIC = `Basic ${Buffer.from(`customer:${PASSWORD}`).toString('base64')}`;
const APPLICATION = `Basic ${Buffer.from(`6ba7b810-9dad-11d1-80b4-00c04fd430c8:${PASSWORD}`).toString('base64')}`;
const XML_PASSWORD = 'pä55 wörd/+&amp;';
const AUTH = `<auth><user>customer</user><context>4</context><password>${XML_PASSWORD}</password></auth>`;
const contacts = { ownerc: { id: 11 }, adminc: { id: 12 }, techc: { id: 13 } };
const nameServers = [{ name: 'ns1.example.net' }, { name: 'ns2.example.net' }];

let service: RawService;
let client: ServiceClient | undefined;

beforeAll(async () => {
  service = await startRawService((request, socket) => {
    const xml = request.line.startsWith('POST /xml');
    const session = ['set-cookie: service_session=abc-123; Path=/; Max-Age=599; secure; httponly'];
    const login = request.line.includes(' /v1/login') ? session : [];
    socket.write(
      buildHttpResponse(
        200,
        xml ? buildXmlResponse(getXmlSuccessCode(request), `<hash>${HASH}</hash>`) : buildOkJson(request),
        login,
      ),
    );
  });
});
afterEach(async () => {
  await client?.close();
  client = undefined;
  service.requests.length = 0;
});
afterAll(() => service.close());

type Run = (client: ServiceClient, call: CallOptions) => Promise<unknown>;

/** Sends one task and returns the last request as text: request line, headers without `host`, blank line, body. */
async function capture(
  credential: Credential,
  run: Run,
  call: CallOptions = {},
  sessionPlace?: SessionPlace,
): Promise<string> {
  client = createTestClient(service.origin, credential, {
    jsonAuth: sessionPlace === undefined ? 'basic' : 'session',
    sessionPlace,
    // The first test vector of RFC 6238, appendix B.
    now: () => 59_000,
  });
  await run(client, call);
  return formatRequest(service.requests.at(-1));
}

function formatRequest(request: RawRequest | undefined): string {
  if (request === undefined) throw new Error('no request arrived');
  const headers = request.headers.filter((header) => !header.startsWith('host: '));
  return [request.line, ...headers, '', request.body].join('\n');
}

const jsonRequest = (line: string, body?: string, more: readonly string[] = []): string =>
  [
    `${line} HTTP/1.1`,
    'connection: keep-alive',
    'accept: application/json',
    ...(body === undefined ? [] : ['content-type: application/json']),
    ...(more.length > 0 ? more : [`authorization: ${BASIC}`, 'x-service-context: 4']),
    'accept-encoding: gzip, br, deflate',
    ...(body === undefined
      ? line.startsWith('POST')
        ? ['content-length: 0']
        : []
      : [`content-length: ${Buffer.byteLength(body)}`]),
    '',
    body ?? '',
  ].join('\n');

const xmlRequest = (inside: string): string => {
  const body = `<?xml version="1.0" encoding="UTF-8"?><request>${inside}</request>`;
  return [
    'POST /xml HTTP/1.1',
    'connection: keep-alive',
    'accept: application/xml, text/xml',
    'content-type: application/xml; charset=utf-8',
    'accept-encoding: gzip, br, deflate',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\n');
};

describe('JSON requests, byte by byte', () => {
  const cases: [name: string, run: Run, expected: string][] = [
    [
      'domain create',
      (c, call) =>
        c.run(domainCreate, { name: 'cafe.rest', ...contacts, nameServers, confirmOrder: true }, call),
      jsonRequest(
        'POST /v1/domain?ctid=order-1',
        '{"name":"cafe.rest","ownerc":{"id":11},"adminc":{"id":12},"techc":{"id":13},' +
          '"nameServers":[{"name":"ns1.example.net"},{"name":"ns2.example.net"}],"confirmOrder":true}',
      ),
    ],
    [
      'domain transfer',
      (c, call) =>
        c.run(
          domainTransfer,
          { name: 'cafe.rest', auth: new Secret('a"b\\c'), ...contacts, nameServers },
          call,
        ),
      jsonRequest(
        'POST /v1/domain/_transfer?ctid=order-1',
        '{"name":"cafe.rest","auth":"a\\"b\\\\c","ownerc":{"id":11},"adminc":{"id":12},"techc":{"id":13},' +
          '"nameServers":[{"name":"ns1.example.net"},{"name":"ns2.example.net"}]}',
      ),
    ],
    [
      'domain renew',
      (c, call) => c.run(domainRenew, { name: 'cafe.rest', period: 2 }, call),
      jsonRequest('POST /v1/domain/cafe.rest/_renew?ctid=order-1', '{"period":2}'),
    ],
    [
      'domain delete',
      (c, call) => c.run(domainDelete, { name: 'cafe.rest' }, call),
      jsonRequest('DELETE /v1/domain/cafe.rest?ctid=order-1'),
    ],
    [
      'domain restore',
      (c, call) => c.run(domainRestore, { name: 'cafe.rest' }, call),
      jsonRequest('POST /v1/domain/cafe.rest/_restore?ctid=order-1', undefined),
    ],
    [
      'auth code',
      (c, call) => c.run(domainAuthInfo, { name: 'cafe.rest' }, call),
      jsonRequest('POST /v1/domain/cafe.rest/_authinfo1?ctid=order-1'),
    ],
    [
      'owner change',
      (c, call) => c.run(domainOwnerChange, { name: 'cafe.rest' }, call),
      jsonRequest('POST /v1/domain/cafe.rest/_ownerChange?ctid=order-1'),
    ],
    [
      'nameserver update',
      (c, call) => c.run(domainUpdateNameservers, { name: 'cafe.rest', nameServers }, call),
      jsonRequest(
        'PUT /v1/domain/cafe.rest?ctid=order-1',
        '{"nameServers":[{"name":"ns1.example.net"},{"name":"ns2.example.net"}]}',
      ),
    ],
    [
      'user create',
      (c, call) => c.run(userCreate, { user: 'kim', context: 4, defaultEmail: 'kim@a.rest' }, call),
      jsonRequest('POST /v1/user?ctid=order-1', '{"user":"kim","context":4,"defaultEmail":"kim@a.rest"}'),
    ],
    [
      'sub-user of a sub-user',
      (c, call) =>
        c.run(
          userCreate,
          {
            language: 'de',
            user: 'kim',
            context: 4,
            defaultEmail: 'kim@a.rest',
            password: new Secret('new ü'),
            status: 1,
            substatus: 0,
            parent: { user: 'lee', context: 4, defaultEmail: 'lee@a.rest', status: 1, substatus: 2 },
          },
          call,
        ),
      jsonRequest(
        'POST /v1/user?ctid=order-1',
        '{"user":"kim","context":4,"defaultEmail":"kim@a.rest","password":"new ü","status":1,"substatus":0,' +
          '"language":"de","parent":{"context":4,"defaultEmail":"lee@a.rest","status":1,"substatus":2,' +
          '"authType":"PASSWORD","lock":"NONE","user":"lee"}}',
      ),
    ],
    [
      'redirect update',
      (c, call) =>
        c.run(
          redirectUpdate,
          { source: 'www.a.rest', target: 'b.rest/x', type: 'DOMAIN', mode: 'HTTP' },
          call,
        ),
      jsonRequest(
        'PUT /v1/redirect/www.a.rest?ctid=order-1',
        '{"source":"www.a.rest","target":"b.rest/x","type":"DOMAIN","mode":"HTTP"}',
      ),
    ],
    [
      'SSL contact update',
      (c, call) =>
        c.run(
          sslContactUpdate,
          {
            id: 77,
            email: 'a@b.rest',
            fname: 'Ada',
            lname: 'B',
            address: ['Way 1', 'Floor 2'],
            pcode: '01234',
          },
          call,
        ),
      jsonRequest(
        'PUT /v1/sslcontact/77?ctid=order-1',
        '{"fname":"Ada","lname":"B","address":["Way 1","Floor 2"],"pcode":"01234","email":"a@b.rest"}',
      ),
    ],
    [
      'preregistration search',
      (c, call) =>
        c.run(
          preregSearch,
          { view: { limit: 10, offset: 20, children: true }, filters: [{ key: 'sld', value: 'cafe' }] },
          { ...call, keys: ['tmch_mark', 'nsentry'], replyTo: 'ops+dns@a.rest' },
        ),
      jsonRequest(
        'POST /v1/domainPrereg/_search?replyTo=ops%2Bdns%40a.rest&ctid=order-1&keys%5B%5D=tmch_mark&keys%5B%5D=nsentry',
        '{"view":{"children":true,"offset":20,"limit":10},"filters":[{"key":"sld","operator":"EQUAL","value":"cafe"}]}',
      ),
    ],
  ];

  it.each(cases)('%s', async (_name, run, expected) => {
    expect(await capture(passwordCredential, run, { ctid: 'order-1' })).toBe(expected);
  });

  const updateNameservers: Run = (c) => c.run(domainUpdateNameservers, { name: 'a.rest', nameServers });
  const body = '{"nameServers":[{"name":"ns1.example.net"},{"name":"ns2.example.net"}]}';

  it('a trusted application signs with its uuid and sends no context', async () => {
    expect(await capture(applicationCredential, updateNameservers)).toBe(
      jsonRequest('PUT /v1/domain/a.rest', body, [`authorization: ${APPLICATION}`]),
    );
  });

  it.each([
    ['header', 'x-service-sessionid: abc-123'],
    ['cookie', 'cookie: service_session=abc-123'],
  ] as const)('a session sends its id in the %s, also to log out', async (place, header) => {
    expect(await capture(passwordCredential, updateNameservers, {}, place)).toBe(
      jsonRequest('PUT /v1/domain/a.rest', body, [header]),
    );
    await client?.close();
    expect(formatRequest(service.requests.at(-1))).toBe(jsonRequest('GET /v1/logout', undefined, [header]));
  });

  it('the service’s headers have the configured prefix', async () => {
    client = createTestClient(service.origin, passwordCredential, { headerPrefix: 'X-Acme-' });
    await updateNameservers(client, {});
    const headers = [`authorization: ${BASIC}`, 'x-acme-context: 4'];
    expect(formatRequest(service.requests.at(-1))).toBe(jsonRequest('PUT /v1/domain/a.rest', body, headers));
    await client.close();

    client = createTestClient(service.origin, passwordCredential, {
      headerPrefix: 'X-Acme-',
      jsonAuth: 'session',
    });
    await updateNameservers(client, {});
    const session = ['x-acme-sessionid: abc-123'];
    expect(formatRequest(service.requests.at(-1))).toBe(jsonRequest('PUT /v1/domain/a.rest', body, session));
    await client.close();
    expect(formatRequest(service.requests.at(-1))).toBe(jsonRequest('GET /v1/logout', undefined, session));
  });

  it('login and logout', async () => {
    const user = { user: 'customer', context: 4, password: new Secret(PASSWORD) };
    const extras = { acl: true, profile: false, customer: true, timeout: 30 };
    const body = `{"user":"customer","context":4,"password":"${PASSWORD}"}`;
    expect(await capture(passwordCredential, (c) => c.run(sessionLogin, { ...user, ...extras }))).toBe(
      [
        'POST /v1/login?acl=true&profile=false&customer=true&timeout=30 HTTP/1.1',
        'connection: keep-alive',
        'accept: application/json',
        'content-type: application/json',
        'accept-encoding: gzip, br, deflate',
        `content-length: ${Buffer.byteLength(body)}`,
        '',
        body,
      ].join('\n'),
    );
    expect(
      await capture(passwordCredential, (c) => c.run(sessionLogout, { sessionId: new Secret('abc-123') })),
    ).toBe(jsonRequest('GET /v1/logout', undefined, ['x-service-sessionid: abc-123']));
  });

  it('accepts a base address with a trailing slash', async () => {
    client = createTestClient(service.origin, passwordCredential, { jsonUrl: `${service.origin}/v1/` });
    await client.run(domainDelete, { name: 'a.rest' });
    expect(service.requests.at(-1)?.line).toBe('DELETE /v1/domain/a.rest HTTP/1.1');
  });

  it.each([
    ['info@a.rest', 'info@a.rest'],
    ['a/b?c#d%', 'a%2Fb%3Fc%23d%25'],
    ['bücher.rest', 'b%C3%BCcher.rest'],
    ["a!$&'()*+,;=:@-._~z", "a!$&'()*+,;=:@-._~z"],
    ['..a', '..a'],
    ['a b', 'a%20b'],
  ])('writes the path segment %s as %s', async (source, segment) => {
    const input = { source, target: 'b.rest', type: 'DOMAIN', mode: 'HTTP' } as const;
    expect(await capture(passwordCredential, (c) => c.run(redirectUpdate, input))).toContain(
      `PUT /v1/redirect/${segment} HTTP`,
    );
  });
});

describe('XML requests, byte by byte', () => {
  const cases: [name: string, run: Run, expected: string][] = [
    [
      'user create',
      (c, call) =>
        c.run(
          userCreate,
          {
            user: 'kim',
            context: 4,
            defaultEmail: 'k<i>m@a.rest',
            password: new Secret('</password>&\r'),
            status: 1,
            substatus: 0,
            language: 'en',
            parent: { user: 'lee', context: 9 },
            userMailKey: 'key',
          },
          call,
        ),
      '<task><code>1301001</code><user><user>kim</user><context>4</context>' +
        '<default_mail>k&lt;i&gt;m@a.rest</default_mail><password>&lt;/password&gt;&amp;&#13;</password>' +
        '<status>1</status><substatus>0</substatus><language>en</language>' +
        '<owner><user>lee</user><context>9</context></owner><user_mail_key>key</user_mail_key></user></task>',
    ],
    [
      'redirect update',
      (c, call) =>
        c.run(
          redirectUpdate,
          {
            source: 'i@a.rest',
            target: 'b@b.rest',
            type: 'email',
            mode: 'single',
            title: 'T',
            backup: 'c@c.rest',
          },
          call,
        ),
      '<task><code>0502</code><redirect><type>email</type><mode>single</mode><title>T</title>' +
        '<source>i@a.rest</source><target>b@b.rest</target><backup>c@c.rest</backup></redirect></task>',
    ],
    [
      'SSL contact update',
      (c, call) =>
        c.run(
          sslContactUpdate,
          {
            id: 77,
            title: 'Dr',
            organization: 'O',
            address: ['Way 1', 'Floor 2'],
            pcode: '01234',
            city: 'X',
            country: 'DE',
            state: 'S',
            phone: '+49 1',
            fax: '+49 2',
            email: 'a@b.rest',
          },
          call,
        ),
      '<task><code>400202</code><contact><id>77</id><title>Dr</title><organization>O</organization>' +
        '<address>Way 1,Floor 2</address><postal_code>01234</postal_code><city>X</city><country>DE</country>' +
        '<state>S</state><phone>+49 1</phone><fax>+49 2</fax><email>a@b.rest</email></contact></task>',
    ],
    [
      'preregistration list',
      (c, call) =>
        c.run(
          preregSearch,
          {
            view: { children: false, offset: 0, limit: 5 },
            filters: [
              { key: 'sld', value: 'cafe' },
              { key: 'tld', value: 'rest' },
            ],
            order: { key: 'name', mode: 'asc' },
          },
          { ...call, keys: ['tmch_mark', 'extension'] },
        ),
      '<task><code>0110005</code><view><children>false</children><offset>0</offset><limit>5</limit></view>' +
        '<where><and><key>sld</key><operator>like</operator><value>cafe</value></and>' +
        '<and><key>tld</key><operator>like</operator><value>rest</value></and></where>' +
        '<key>tmch_mark</key><key>extension</key><order><key>name</key><mode>asc</mode></order></task>',
    ],
  ];

  it.each(cases)('%s', async (_name, run, expected) => {
    expect(await capture(passwordCredential, run, { interface: 'xml', ctid: 'order-1' })).toBe(
      xmlRequest(`${AUTH}${expected}`),
    );
  });

  const input = { source: 'a.rest', target: 'b.rest', type: 'domain', mode: 'frame' } as const;
  const task =
    '<task><code>0502</code><redirect><type>domain</type><mode>frame</mode>' +
    '<source>a.rest</source><target>b.rest</target></redirect></task>';
  const update: Run = (c, call) => c.run(redirectUpdate, input, call);

  it('a trusted application signs with its uuid and name', async () => {
    const block =
      '<authentication><trusted_application><uuid>6ba7b810-9dad-11d1-80b4-00c04fd430c8</uuid>' +
      `<password>${XML_PASSWORD}</password><application><name>domain steward</name></application>` +
      '</trusted_application></authentication>';
    expect(await capture(applicationCredential, update, { interface: 'xml' })).toBe(xmlRequest(block + task));
  });

  it.each(['/', '/xml', '/xml/', '/xml/gate?of=us'])('are posted to %s unchanged', async (address) => {
    service.requests.length = 0;
    client = createTestClient(service.origin, passwordCredential, { xmlUrl: `${service.origin}${address}` });
    // Only the first line matters here, not the response.
    await update(client, { interface: 'xml' }).catch(() => undefined);
    expect(service.requests[0]?.line).toBe(`POST ${address} HTTP/1.1`);
  });

  it('a two-factor account opens a session with a token and signs with its hash', async () => {
    const session = `<auth_session><hash>${HASH}</hash></auth_session>`;
    expect(await capture(twoFactorCredential, update)).toBe(xmlRequest(session + task));
    const auth = AUTH.replace('</auth>', '<token>287082</token></auth>');
    expect(formatRequest(service.requests[0])).toBe(xmlRequest(`${auth}<task><code>1321001</code></task>`));
  });
});
