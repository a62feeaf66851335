import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../src/http/retry-after.ts';
import { classifyResponse } from '../../src/service/classify-response.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { InvalidResponseError } from '../../src/service/codec/codec-errors.ts';
import { decodeJson } from '../../src/service/codec/json.ts';
import { decodeXml } from '../../src/service/codec/xml.ts';
import type { Envelope } from '../../src/service/envelope.ts';
import { NOT_SENDABLE } from '../../src/service/request-issue.ts';
import { domainAuthInfo, domainRenew } from '../../src/service/tasks/domain.ts';
import { preregSearch } from '../../src/service/tasks/prereg.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';
import { authSessionCreate, sessionLogin } from '../../src/service/tasks/session.ts';
import { sslContactUpdate } from '../../src/service/tasks/ssl-contact.ts';
import { userCreate } from '../../src/service/tasks/user.ts';
import {
  createTestClient,
  getServiceError,
  PASSWORD,
  passwordCredential,
  twoFactorCredential,
} from './clients.ts';
import { buildXmlResponse, type RawService, respondWith, startRawService } from './raw-service.ts';

let service: RawService;
let client: ServiceClient;
beforeAll(async () => {
  service = await startRawService(() => undefined);
  client = createTestClient(service.origin, passwordCredential);
});
afterAll(async () => {
  await client.close();
  await service.close();
});

const answering = (status: number, body: unknown, headers: readonly string[] = []): void => {
  service.respond = respondWith(status, typeof body === 'string' ? body : JSON.stringify(body), headers);
};
const renew = (): ReturnType<typeof client.run> => client.run(domainRenew, { name: 'cafe.rest', period: 1 });

describe('the outcome of a charge by its response', () => {
  const status = (code: string, type?: string): object => ({
    stid: 's-1',
    status: { code, text: 'said', type },
  });

  it.each([
    [200, status('S0105', 'SUCCESS')],
    [201, status('S0105')],
    [200, status('N0105', 'NOTIFY')],
    [200, status('0105')],
    [200, { ...status('S0105'), data: null, messages: null, object: null }],
  ])('%i with %j is a success', async (httpStatus, body) => {
    answering(httpStatus, body);
    expect(await renew()).toMatchObject({ httpStatus, interface: 'json', envelope: { stid: 's-1' } });
  });

  it.each([
    [200, status('EF00805', 'ERROR'), 'refused'],
    [200, status('E0105'), 'refused'],
    [200, status('N0105', 'ERROR'), 'refused'],
    [200, status('ef00805'), 'refused'],
    [200, status('S0105', 'ERROR'), 'unknown_outcome'],
    [200, status('S0105', 'error'), 'unknown_outcome'],
    [200, status('S0105', 'FAILURE'), 'unknown_outcome'],
    // Documented success codes of other tasks.
    [200, status('S1321001', 'SUCCESS'), 'unknown_outcome'],
    [200, status('S1321003', 'SUCCESS'), 'unknown_outcome'],
    [200, status('S1301001', 'SUCCESS'), 'unknown_outcome'],
    [200, status('S0502', 'SUCCESS'), 'unknown_outcome'],
    [200, status('S400202', 'SUCCESS'), 'unknown_outcome'],
    [200, status('S0110005', 'SUCCESS'), 'unknown_outcome'],
    [400, status('EF00805', 'ERROR'), 'refused'],
    [404, '', 'refused'],
    [404, '<html>not here</html>', 'refused'],
    [422, status('EF00805', 'ERROR'), 'refused'],
    [401, status('EF00805', 'ERROR'), 'auth'],
    [401, '', 'auth'],
    [403, '<html>', 'auth'],
    [429, '', 'busy'],
    [409, status('S0105', 'SUCCESS'), 'unknown_outcome'],
    [500, status('S0105', 'SUCCESS'), 'unknown_outcome'],
  ])('%i with %j is %s', async (httpStatus, body, kind) => {
    answering(httpStatus, body);
    const error = await getServiceError(renew());
    expect(error).toMatchObject({ kind, httpStatus, task: 'domain.renew' });
    expect(error.message).toMatch(/^renewing cafe\.rest: /);
  });

  it('a refusal has the service’s codes and text', async () => {
    const messages = [{ code: 'EF01002', text: 'locked', status: 'ERROR', objects: [] }];
    const data = [{ name: 'cafe.rest' }];
    answering(400, { stid: 's-9', status: { code: 'EF00805', text: 'no', type: 'ERROR' }, messages, data });
    const call = client.run(domainRenew, { name: 'cafe.rest', period: 1 }, { ctid: 'o-1' });
    expect(await getServiceError(call)).toMatchObject({
      code: 'EF00805',
      text: 'no',
      stid: 's-9',
      ctid: 'o-1',
      envelope: { messages, data },
      unreadableResponse: undefined,
      message: 'renewing cafe.rest: the service refused it (HTTP 400): EF00805 no',
    });
  });

  it('a contradictory response is reported with the service’s code and text', async () => {
    answering(200, status('S0502', 'SUCCESS'));
    const other = await getServiceError(renew());
    expect(other.message).toBe(
      'renewing cafe.rest: the service responded with the success code of another task: S0502 said',
    );
    expect(other).toMatchObject({ code: 'S0502', text: 'said', stid: 's-1' });
    answering(200, status('S0105', 'ERROR'));
    expect((await getServiceError(renew())).message).toBe(
      'renewing cafe.rest: the service contradicts itself: a success code with the type ERROR: S0105 said',
    );
  });

  it('an error status with a success code is never a refusal', () => {
    const done: Envelope = { status: { code: 'S1', text: '' }, messages: [], data: [] };
    for (let httpStatus = 300; httpStatus < 600; httpStatus += 1) {
      expect(
        classifyResponse({ effect: 'charge' }, { status: httpStatus, envelope: done, unreadableReason: '' })
          .kind,
        String(httpStatus),
      ).toBe('unknown_outcome');
    }
  });
});

describe('a response that can’t be read', () => {
  const page = { reason: 'the response is not JSON', contentType: 'text/html', body: '<p>sent</p>\\x01' };
  const contentEncoding = undefined;

  it.each([
    [200, { ...page, contentEncoding }],
    [299, { ...page, contentEncoding }],
    [300, undefined],
    [404, undefined],
  ])('with HTTP %i is kept only if it may be a success', async (httpStatus, unreadableResponse) => {
    answering(httpStatus, '<p>sent</p>\u0001', ['content-type: text/html']);
    expect((await getServiceError(renew())).unreadableResponse).toStrictEqual(unreadableResponse);
  });

  it('is kept with its encoding', async () => {
    answering(200, 'sent', ['content-encoding: x-odd']);
    expect((await getServiceError(renew())).unreadableResponse).toMatchObject({
      contentEncoding: 'x-odd',
      body: 'sent',
    });
  });
});

it('nothing is sent with a timeout of zero', async () => {
  const count = service.requests.length;
  const call = client.run(domainRenew, { name: 'cafe.rest', period: 1 }, { timeoutMs: 0 });
  expect(await getServiceError(call)).toMatchObject({ kind: 'not_sent' });
  expect(service.requests).toHaveLength(count);
});

describe('a task with a documented success code', () => {
  const said = (code: string, type = 'SUCCESS'): object => ({ status: { code, text: 'said', type } });
  const redirect = { source: 'a.rest', target: 'b.rest', type: 'DOMAIN', mode: 'HTTP' } as const;
  const user = { user: 'kim', context: 4, defaultEmail: 'k@a.rest' };
  const tasks: readonly (readonly [string, string, () => Promise<unknown>, string])[] = [
    ['a redirect', 'S0502', () => client.run(redirectUpdate, redirect), 'unknown_outcome'],
    ['a user', 'S1301001', () => client.run(userCreate, user), 'unknown_outcome'],
    ['a contact', 'S400202', () => client.run(sslContactUpdate, { id: '7', city: 'X' }), 'unknown_outcome'],
    ['a search', 'S0110005', () => client.run(preregSearch, {}), 'invalid_response'],
  ];

  it.each(tasks)('%s needs exactly %s', async (_name, code, call, kind) => {
    answering(200, said(code));
    await call();
    for (const other of ['S0105', 'S1', 'S1321001', ...(code === 'S0502' ? [] : ['S0502'])]) {
      answering(200, said(other));
      expect(await getServiceError(call()), other).toMatchObject({ kind, code: other });
    }
    answering(200, said(code, 'ERROR'));
    expect(await getServiceError(call())).toMatchObject({ kind });
  });

  it('a login with another code opens no session', async () => {
    const cookie = ['set-cookie: service_session=s-1'];
    const typed = { user: 'customer', context: 4, password: passwordCredential.password };
    answering(200, said('S1321001'), cookie);
    expect((await client.run(sessionLogin, typed)).output.sessionId.reveal()).toBe('s-1');
    answering(200, said('S0502'), cookie);
    expect(await getServiceError(client.run(sessionLogin, typed))).toMatchObject({ kind: 'unknown_outcome' });
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 6, 1, 12, 0, 0);
  it.each([
    ['7', 7000],
    [' 0 ', 0],
    ['Wed, 01 Jul 2026 12:00:30 GMT', 30_000],
    ['Wed, 01 Jul 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['2026-06-01', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j means %j milliseconds', (header, wait) => {
    expect(parseRetryAfter(header, now)).toBe(wait);
  });

  it('reaches the caller', async () => {
    answering(429, '', ['retry-after: 12']);
    expect((await getServiceError(renew())).retryAfterMs).toBe(12_000);
  });
});

describe('both codecs give the same envelope', () => {
  it('JSON', () => {
    const body = {
      stid: '20260701-app1-1',
      status: { code: 1301001, text: 'created' },
      object: [
        { type: 'Redirect', summary: 1 },
        { type: 'Redirect', value: 'a.rest', data: { source: 'a.rest' } },
      ],
      messages: [
        { code: 'MSG1', text: 'note', status: 'NOTICE', objects: [{ type: 'user', value: 'kim' }], other: 1 },
      ],
      data: [{ any: { thing: [1, null] } }],
      more: 'ignored',
    };
    const { received, ...envelope } = decodeJson(Buffer.from(`\ufeff${JSON.stringify(body)}`)).envelope;
    expect(received, 'the whole response').toEqual(body);
    expect(envelope).toEqual({
      stid: '20260701-app1-1',
      status: { code: '1301001', text: 'created' },
      object: { type: 'Redirect', summary: 1, value: 'a.rest', data: { source: 'a.rest' } },
      messages: [{ code: 'MSG1', text: 'note', status: 'NOTICE', objects: [{ type: 'user', value: 'kim' }] }],
      data: [{ any: { thing: [1, null] } }],
    });
  });

  it('XML', () => {
    const xml = buildXmlResponse(
      ' 0502 ',
      '\n<summary>2</summary><hash>h</hash>\n<contact>\n <id>007</id>\n <name> a &amp;#38; b </name></contact>',
      '<msg><text>n &lt;1&gt; &#228;&#x26;&nbsp;</text><code>MSG1</code><type>notice</type>' +
        '<object><type>user</type><value><![CDATA[<k>&amp;]]></value></object></msg>',
    ).replace('</status>', '<object><type>contact</type><value>77</value></object></status>');
    const { received, ...envelope } = decodeXml(Buffer.from(xml)).envelope;
    expect(received, 'the whole response').toMatchObject({
      result: { data: { summary: '2', hash: 'h' }, msg: [{ code: 'MSG1' }] },
      stid: '20260701-app1-2',
    });
    expect(envelope).toEqual({
      stid: '20260701-app1-2',
      status: { code: '0502', text: 'done', type: 'SUCCESS' },
      object: { type: 'contact', value: '77', summary: 2, data: { hash: 'h' } },
      messages: [
        {
          code: 'MSG1',
          text: 'n <1> ä&&nbsp;',
          status: 'NOTICE',
          objects: [{ type: 'user', value: '<k>&amp;' }],
        },
      ],
      data: [{ id: '007', name: ' a &#38; b ' }],
    });
  });

  it.each([
    ['the declaration', '', 'encoding="ISO-8859-1"', 'latin1'],
    ['the content type', 'text/xml; charset=iso-8859-1', 'encoding="utf-8"', 'latin1'],
    ['the default', 'text/xml', '', 'utf8'],
  ] as const)('XML in the encoding given by %s', (_name, contentType, declared, encoding) => {
    const xml = `<?xml version="1.0" ${declared}?><response><result><status><code>S1</code><text>für</text></status></result></response>`;
    expect(decodeXml(Buffer.from(xml, encoding), contentType).envelope.status.text).toBe('für');
  });
});

describe('undocumented XML is read', () => {
  const session = '6ba7b811-9dad-11d1-80b4-00c04fd430c8';
  const text = 'für';

  it('with values on separate lines', () => {
    const xml = `<response>
      <result>
        <data>
          <summary>
            1
          </summary>
          <domain_prereg>
            <name>
              cafe.rest
            </name>
            <remark> kept as it is </remark>
          </domain_prereg>
        </data>
        <msg>
          <text>
            first line
            second line
          </text>
          <object>
            <type>
              user
            </type>
            <value>
              kim
            </value>
          </object>
        </msg>
        <status>
          <code>
            S0110005
          </code>
          <text>
            done
          </text>
        </status>
      </result>
      <stid>
        s-1
      </stid>
    </response>`;
    expect(decodeXml(Buffer.from(xml)).envelope).toMatchObject({
      stid: 's-1',
      status: { code: 'S0110005', text: 'done' },
      object: { summary: 1 },
      messages: [
        {
          text: expect.stringMatching(/^first line\n\s+second line$/),
          objects: [{ type: 'user', value: 'kim' }],
        },
      ],
      data: [{ name: 'cafe.rest', remark: ' kept as it is ' }],
    });
  });

  it('with prefixed names', async () => {
    const xml = `<s:response xmlns:s="urn:x"><s:result><s:data><s:contact><s:id>7</s:id></s:contact></s:data><s:msg><s:text>note</s:text></s:msg><s:status><s:code>S400202</s:code><s:object><s:type>contact</s:type><s:value>7</s:value></s:object></s:status></s:result><s:stid>s-1</s:stid></s:response>`;
    expect(decodeXml(Buffer.from(xml)).envelope).toMatchObject({
      stid: 's-1',
      status: { code: 'S400202' },
      object: { type: 'contact', value: '7' },
      messages: [{ text: 'note' }],
      data: [{ id: '7' }],
    });
    expect(() => decodeXml(Buffer.from(xml.replaceAll('s:id', 's:__proto__')))).toThrow(InvalidResponseError);
  });

  it.each([
    ['a byte order mark, little-endian', [0xff, 0xfe], 'le', 'text/xml', 'encoding="UTF-16"'],
    ['a byte order mark, big-endian', [0xfe, 0xff], 'be', 'text/xml', 'encoding="UTF-16"'],
    [
      'a byte order mark that contradicts the content type',
      [0xff, 0xfe],
      'le',
      'text/xml; charset=utf-8',
      '',
    ],
    ['a byte order mark alone', [0xfe, 0xff], 'be', '', ''],
    ['the content type', [], 'le', 'text/xml; charset=utf-16le', ''],
    ['the declaration alone', [], 'be', '', 'encoding="UTF-16BE"'],
    ['its first bytes, with a content type without byte order', [], 'be', 'text/xml; charset=utf-16', ''],
    ['its first bytes alone', [], 'le', '', ''],
  ] as const)('in UTF-16, detected by %s', (_name, mark, order, contentType, declared) => {
    const xml = `<?xml version="1.0" ${declared}?><response><result><status><code>S1</code><text>${text}</text></status></result></response>`;
    const bytes = Buffer.from(xml, 'utf16le');
    const body = Buffer.concat([Buffer.from(mark), order === 'be' ? bytes.swap16() : bytes]);
    expect(decodeXml(body, contentType).envelope.status).toMatchObject({ code: 'S1', text });
    // A truncated code unit.
    expect(() => decodeXml(body.subarray(0, -1), contentType)).toThrow();
  });

  it.each([
    ['in the data', `<data><auth_session><hash>${session}</hash></auth_session></data>`],
    ['directly in the data', `<data><hash>${session}</hash></data>`],
    ['directly under the result', `<data/><hash>${session}</hash>`],
    ['in a block of the result', `<auth_session><hash>${session}</hash></auth_session>`],
    ['as the object', `<object><type>auth_session</type><value>${session}</value></object>`],
    ['in a notice', `<msg><text>opened</text><auth_session>${session}</auth_session></msg>`],
  ])('with a session hash %s', async (_name, inside) => {
    const status = '<status><code>S1321001</code><text>ok</text><type>success</type></status>';
    answering(200, `<response><result>${inside}${status}</result><stid>s-1</stid></response>`);
    const { output, envelope } = await client.run(authSessionCreate, {});
    expect(output.hash.reveal()).toBe(session);
    expect(JSON.stringify(envelope)).not.toContain(session);
  });

  it('with values in other places, which count as data', () => {
    const xml = `<response><notice>moved</notice><result><expires>2027-01-01</expires><status><code>S0502</code></status><stid>s-1</stid></result></response>`;
    expect(decodeXml(Buffer.from(xml)).envelope).toMatchObject({
      stid: 's-1',
      object: { data: { expires: '2027-01-01', notice: 'moved' } },
    });
  });

  it('with a session hash beside the result', async () => {
    const status = '<status><code>S1321001</code></status>';
    answering(200, `<response><result>${status}</result><hash>${session}</hash></response>`);
    expect((await client.run(authSessionCreate, {})).output.hash.reveal()).toBe(session);
  });
});

describe('the output of a task', () => {
  const ok = (more: object, code = 'S1'): object => ({
    status: { code, text: 'ok', type: 'SUCCESS' },
    ...more,
  });
  const create = { user: 'kim', context: 4, defaultEmail: 'kim@a.rest' };

  it('has a created user’s generated password, which the envelope hides', async () => {
    answering(
      200,
      ok(
        {
          object: { type: 'User', value: 'kim, 4', data: { context: 4, user: 'kim' } },
          messages: [
            {
              text: 'password abc-DEF-123456 made',
              code: 'MSG13004',
              objects: [{ type: 'password', value: 'abc-DEF-123456' }],
            },
          ],
        },
        'S1301001',
      ),
    );
    const { output, envelope } = await client.run(userCreate, create);
    expect(output.password?.reveal()).toBe('abc-DEF-123456');
    expect(envelope.messages).toEqual([
      {
        text: 'password [secret] made',
        code: 'MSG13004',
        objects: [{ type: 'password', value: '[secret]' }],
      },
    ]);
  });

  it('has a generated password over XML', async () => {
    const msg =
      '<msg><text>made</text><code>MSG13004</code><type>notice</type>' +
      '<object><type>password</type><value>p&lt;&amp;w</value></object></msg>';
    answering(200, buildXmlResponse('S1301001', '', msg));
    const { output, envelope } = await client.run(userCreate, create, { interface: 'xml' });
    expect(output.password?.reveal()).toBe('p<&w');
    expect(JSON.stringify(envelope)).not.toContain('p<&w');
  });

  it('has a password that is only in the text, and the envelope hides it', async () => {
    answering(200, ok({ messages: [{ text: 'Password: tell-me', code: 'MSG13004' }] }, 'S1301001'));
    const { output, envelope } = await client.run(userCreate, create);
    expect(output.password?.reveal()).toBe('Password: tell-me');
    expect(JSON.stringify(envelope)).not.toContain('tell-me');
  });

  it.each([
    ['data', { data: [{ name: 'a.rest', authinfo: 'C0de-1' }] }],
    ['object data', { object: { type: 'Domain', value: 'a.rest', data: { authInfo: 'C0de-1' } } }],
    ['an object of its type', { object: { type: 'AuthInfo', value: 'C0de-1' } }],
    ['a message', { messages: [{ text: 'code C0de-1', objects: [{ type: 'authcode', value: 'C0de-1' }] }] }],
    ['nested data', { data: [{ domain: { auth: { code: 'C0de-1' } } }] }],
    ['a field with another spelling', { data: [{ auth_code: 'C0de-1' }] }],
    ['the object itself', { object: { type: 'Domain', value: 'a.rest', authInfo: 'C0de-1' } }],
    ['a separate object', { data: [{ authInfo: { code: 'C0de-1', expires: '2027-01-01' } }] }],
    [
      'a nested object with its name',
      { data: [{ auth: { id: 'X-1', authInfo: { authInfo: 'C0de-1', at: '2027-01-01' } } }] },
    ],
    ['an EPP-style object', { data: [{ authInfo: { pw: 'C0de-1', roid: 'X-1' } }] }],
    ['the envelope itself', { authinfo: 'C0de-1' }],
  ])('has an auth code in %s, which the envelope hides', async (_name, more) => {
    answering(200, ok(more));
    const { output, envelope } = await client.run(domainAuthInfo, { name: 'a.rest' });
    expect(output.auth?.reveal()).toBe('C0de-1');
    expect(output.answer).toBeUndefined();
    expect(JSON.stringify(envelope)).not.toContain('C0de');
  });

  it('has the whole response as a secret if no known field has the auth code', async () => {
    answering(200, ok({ data: [{ epp: 'C0de-1' }], messages: [{ text: 'it is C0de-1' }] }));
    const { output, envelope } = await client.run(domainAuthInfo, { name: 'a.rest' });
    expect(output.auth).toBeUndefined();
    expect(output.answer?.reveal()).toContain('"epp":"C0de-1"');
    expect(JSON.stringify(envelope)).not.toContain('C0de');
    expect(envelope.status).toEqual({ code: 'S1', text: 'ok', type: 'SUCCESS' });
  });

  it.each([
    ['no other value', {}, '[secret]'],
    ['data', { data: [{ epp: 'C0de-1' }] }, 'ok'],
    ['an object', { object: { type: 'Domain', value: 'C0de-1' } }, 'ok'],
    ['a message', { messages: [{ text: 'C0de-1' }] }, 'ok'],
  ])('hides the text of the status only if it may be the auth code: %s', async (_what, more, text) => {
    answering(200, ok(more));
    const { envelope } = await client.run(domainAuthInfo, { name: 'a.rest' });
    expect(envelope.status.text).toBe(text);
    expect(envelope.object?.data).toBeUndefined();
    expect(JSON.stringify(envelope)).not.toContain('C0de');
  });

  it('hides an object’s data, which may contain an auth code', async () => {
    answering(200, ok({ object: { type: 'Domain', value: 'a.rest', data: { epp: 'C0de-1' } } }));
    const { envelope } = await client.run(domainAuthInfo, { name: 'a.rest' });
    expect(envelope.object).toMatchObject({ data: '[secret]' });
  });

  it('hides an auth code in a response that doesn’t prove success', async () => {
    const messages = [{ text: 'it is C0de-1' }];
    answering(200, ok({ data: [{ authInfo: 'C0de-1' }, { epp: 'C0de-2' }], messages }, 'S0502'));
    const error = await getServiceError(client.run(domainAuthInfo, { name: 'a.rest' }));
    expect(error).toMatchObject({
      kind: 'unknown_outcome',
      envelope: { messages: [{ text: 'it is [secret]' }] },
    });
    expect(JSON.stringify(error.envelope)).not.toContain('C0de');
  });

  const redirectData = { source: 'a.rest', target: 'b.rest', created: '2026-01-01T00:00:00.000+0100' };
  const described = { type: 'Redirect', value: 'a.rest', data: redirectData };

  it.each([
    ['beside the first in a list', { object: [{ type: 'Redirect', summary: 1 }, described] }],
    ['before the first', { object: [described, { type: 'Redirect', summary: 1 }] }],
    ['under another name', { object: { type: 'Redirect', summary: 1 }, objects: [described] }],
    ['in the data', { object: { type: 'Redirect', summary: 1 }, data: [described] }],
    ['wrapped in the data', { object: { type: 'Redirect', summary: 1 }, data: [{ object: described }] }],
    ['a record of the data', { object: { type: 'Redirect', summary: 1 }, data: [redirectData] }],
    ['in an undocumented place', { object: { type: 'Redirect', summary: 1 }, redirect: redirectData }],
  ])('accepts a redirect whose second object is %s', async (_name, more) => {
    answering(200, ok(more, 'S0502'));
    const input = { source: 'a.rest', target: 'b.rest', type: 'DOMAIN', mode: 'HTTP' } as const;
    const { envelope } = await client.run(redirectUpdate, input);
    expect(envelope.received, 'the unchanged response').toMatchObject(more);
  });

  it('uses an object under another name as the second one', () => {
    const body = ok({ object: { type: 'Redirect', summary: 1 }, objects: [described] }, 'S0502');
    expect(decodeJson(Buffer.from(JSON.stringify(body))).envelope.object).toEqual({
      ...described,
      summary: 1,
    });
  });

  it('has the data of a redirect', async () => {
    const data = redirectData;
    answering(200, ok({ object: { type: 'Redirect', value: 'a.rest', data } }, 'S0502'));
    const input = { source: 'a.rest', target: 'b.rest', type: 'DOMAIN', mode: 'HTTP' } as const;
    expect((await client.run(redirectUpdate, input)).envelope.object).toMatchObject({ data });
  });

  it('has the id of an SSL contact', async () => {
    answering(200, ok({ object: { type: 'SslContact', value: '77' } }, 'S400202'));
    const { envelope } = await client.run(sslContactUpdate, { id: '77', city: 'X' });
    expect(envelope.object).toMatchObject({ value: '77' });
  });

  it('has the session and user of a login', async () => {
    answering(200, ok({ data: [{ user: 'customer', context: 4 }] }, 'S1321001'), [
      'set-cookie: other=1',
      'set-cookie: service_session="s-1"; Max-Age=599; secure; httponly',
    ]);
    const { output } = await client.run(sessionLogin, {
      user: 'customer',
      context: 4,
      password: passwordCredential.password,
    });
    expect(output).toMatchObject({ maxAgeSeconds: 599, user: { user: 'customer', context: 4 } });
    expect(output.sessionId.reveal()).toBe('s-1');
  });

  const record = {
    name: 'cafe.rest',
    created: '2026-01-01 00:00:00',
    owner: { user: 'kim', context: 4 },
    adminc: { id: 12 },
    nameServers: [{ name: 'ns1.a.rest' }],
    status: 'PENDING',
    orderReference: '007',
    preregConfig: { period_start: '2026-02-01 00:00:00' },
    recommended: false,
  };

  it('has preregistrations over JSON', async () => {
    answering(
      200,
      ok(
        {
          object: { type: 'DomainPrereg', summary: 41 },
          data: [{ ...record, tmch_mark: { id: 1 }, owner: 'odd' }],
        },
        'S0110005',
      ),
    );
    const { output } = await client.run(preregSearch, {});
    expect(output).toEqual({ summary: 41, records: [{ ...record, tmch_mark: { id: 1 }, owner: 'odd' }] });
  });

  it.each([
    [
      'that aren’t documented',
      {
        owner: { user: 'kim', context: 4, email: 'kim@a.rest' },
        techc: { id: 7, handle: 'H7' },
        nameServers: [{ name: 'ns1.a.rest', ipAddresses: ['192.0.2.1'] }],
      },
    ],
    [
      'of undocumented types',
      { owner: { user: 17, context: 4 }, techc: { id: '7' }, nameServers: [{ name: 5 }, 'ns1.a.rest'] },
    ],
    [
      'that are invalid',
      { owner: { user: 'kim' }, techc: { id: 'x' }, nameServers: [{ name: 'ns1.a.rest' }, { name: {} }] },
    ],
  ])('keeps members of a record %s', async (_name, given) => {
    answering(200, ok({ data: [given] }, 'S0110005'));
    const { output } = await client.run(preregSearch, {});
    expect(output.records).toEqual([given]);
  });

  it('has no __proto__ key at any depth', async () => {
    answering(
      200,
      `{"status":{"code":"S0110005"},"object":{"data":{"a":{"__proto__":{"b":1}}}},"data":[{"name":"x","__proto__":{"b":1}}]}`,
    );
    const { output, envelope } = await client.run(preregSearch, {});
    expect(JSON.stringify({ output, envelope })).not.toContain('__proto__');
    expect(Object.assign({}, output.records[0], envelope.data[0])).not.toHaveProperty('b');
  });

  it.each([1, 2])('has preregistrations over XML: %i', async (count) => {
    const xml =
      '<domain_prereg>\n<name>cafe.rest</name><created>2026-01-01 00:00:00</created>' +
      '<owner><user>kim</user><context>4</context></owner><adminc><id>12</id></adminc>' +
      '<nserver><name>ns1.a.rest</name></nserver><status>PENDING</status>' +
      '<order_reference>007</order_reference>' +
      '<prereg_config>\n<period_start>2026-02-01 00:00:00</period_start>\n</prereg_config>' +
      '<recommended>false</recommended><extension>x</extension></domain_prereg>';
    answering(200, buildXmlResponse('S0110005', `<summary>${count}</summary>${xml.repeat(count)}`));
    const { output } = await client.run(preregSearch, {}, { interface: 'xml' });
    const texts = { owner: { user: 'kim', context: '4' }, adminc: { id: '12' }, recommended: 'false' };
    expect(output).toEqual({
      summary: count,
      records: Array(count).fill({ ...record, ...texts, extension: 'x' }),
    });
  });
});

describe('requests that can’t be sent', () => {
  beforeEach(() => {
    service.requests.length = 0;
  });

  const redirect = { source: 'a.rest', target: 'b.rest', type: 'DOMAIN', mode: 'HTTP' } as const;
  const user = { user: 'kim', context: 4, defaultEmail: 'k@a.rest' };
  const cases: [name: string, call: () => Promise<unknown>, message: RegExp][] = [
    [
      'a redirect title over JSON',
      () => client.run(redirectUpdate, { ...redirect, title: 'T' }),
      /"title".*JSON/,
    ],
    [
      'an email redirect over JSON',
      () => client.run(redirectUpdate, { ...redirect, type: 'email' }),
      /"type".*DOMAIN/,
    ],
    [
      'the JSON mode over XML',
      () => client.run(redirectUpdate, redirect, { interface: 'xml' }),
      /"mode".*frame, single/,
    ],
    [
      'a first name over XML',
      () => client.run(sslContactUpdate, { id: 1, fname: 'A' }, { interface: 'xml' }),
      /"fname".*XML/,
    ],
    [
      'a mail key over JSON',
      () => client.run(userCreate, { ...user, userMailKey: 'k' }),
      /"userMailKey".*JSON/,
    ],
    [
      "a parent's e-mail over XML",
      () =>
        client.run(
          userCreate,
          { ...user, parent: { user: 'lee', context: 4, defaultEmail: 'l@a.rest' } },
          { interface: 'xml' },
        ),
      /"parent\.defaultEmail".*XML/,
    ],
    [
      'a sort order over JSON',
      () => client.run(preregSearch, { order: { key: 'name', mode: 'asc' } }),
      /"order".*JSON/,
    ],
    [
      'keys with another XML task',
      () => client.run(userCreate, user, { interface: 'xml', keys: ['x'] }),
      /"keys"/,
    ],
    ['a contact update without changes', () => client.run(sslContactUpdate, { id: 1 }), /nothing to update/],
    [
      'a folder as a name',
      () => client.run(domainRenew, { name: '..', period: 1 }),
      /can't be part of an address/,
    ],
    ['no name', () => client.run(domainRenew, { name: '', period: 1 }), /"name"/],
    ['a fractional period', () => client.run(domainRenew, { name: 'a.rest', period: 1.5 }), /"period"/],
    ['a lone surrogate', () => client.run(domainRenew, { name: '\ud800', period: 1 }), /not valid Unicode/],
    [
      'a control character over XML',
      () => client.run(userCreate, { ...user, user: 'k\u0000' }, { interface: 'xml' }),
      /"user".*XML doesn’t allow/,
    ],
  ];

  it.each(cases)('%s', async (_name, call, message) => {
    const error = await getServiceError(call());
    expect(error.kind).toBe('invalid_input');
    expect(error.message).toMatch(message);
    expect(error.issue).toBeDefined();
    expect(error.issue).not.toEqual(NOT_SENDABLE);
    expect(service.requests, 'requests sent').toHaveLength(0);
  });

  it.each([
    ['a user name with a colon', { ...passwordCredential, user: 'a:b' }],
    ['a user name with a line break', { ...passwordCredential, user: 'a\nb' }],
  ])('%s with Basic authentication', async (_name, credential) => {
    const basic = createTestClient(service.origin, credential);
    const error = await getServiceError(basic.run(domainRenew, { name: 'a.rest', period: 1 }));
    expect(error.kind).toBe('invalid_input');
    expect(service.requests).toHaveLength(0);
    await basic.close();
  });

  it('a JSON task with a two-factor account', async () => {
    const second = createTestClient(service.origin, twoFactorCredential);
    const error = await getServiceError(second.run(domainRenew, { name: 'a.rest', period: 1 }));
    expect(error.kind).toBe('unsupported');
    expect(service.requests).toHaveLength(0);
  });

  it.each(['not a url', 'ftp://a.rest/v1', `https://user:${encodeURIComponent(PASSWORD)}@a.rest/v1`])(
    'to the address %s',
    (jsonUrl) => {
      expect(() => createTestClient(service.origin, passwordCredential, { jsonUrl })).toThrow(
        expect.objectContaining({ kind: 'invalid_input' }),
      );
    },
  );
});
