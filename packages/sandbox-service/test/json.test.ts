import { describe, expect, it } from 'vitest';
import { SANDBOX_ACCOUNTS, SANDBOX_TRANSFERABLE_DOMAIN } from '../src/accounts.ts';
import {
  buildAuthHeaders,
  buildBasicAuthHeader,
  buildDomainPayload,
  type JsonAnswer,
  startSandbox,
} from './sandbox.ts';

const { alice, tina, trustedApplication } = SANDBOX_ACCOUNTS;
const password = trustedApplication.password;

function expectRefusal(answer: JsonAnswer, status: number, textPattern: RegExp): void {
  expect(answer.body.status?.text ?? answer.text).toMatch(textPattern);
  expect(answer.status).toBe(status);
  expect(answer.body.status).toMatchObject({ code: expect.stringMatching(/^EF\d{5,7}$/), type: 'ERROR' });
  expect(answer.body.stid).toMatch(/^\d{8}-sandbox1-\d+$/);
}

describe('the documented routes', () => {
  it('POST /login opens a session, and GET /logout ends it', async () => {
    const { sendJson } = await startSandbox();
    const login = await sendJson('POST', '/login?acl=true&profile=true&customer=true&timeout=5', alice, {});
    expect(login.body).toMatchObject({
      stid: expect.stringMatching(/^20270227-sandbox1-\d+$/),
      status: { code: 'S1321001', type: 'SUCCESS' },
      object: { type: 'user', value: 'alice, 4' },
      data: [
        {
          user: 'alice',
          context: 4,
          defaultEmail: 'alice@team.example',
          status: 1,
          substatus: 0,
          owner: { user: 'alice', context: 4 },
          language: 'en',
          acls: expect.anything(),
          profile: expect.anything(),
          customer: expect.anything(),
        },
      ],
    });
    const [, id = ''] =
      /^service_session=([^;]+); Path=\/; Max-Age=299; secure; httponly$/.exec(
        String(login.headers['set-cookie']),
      ) ?? [];
    const byHeader = { 'x-service-sessionid': id };
    expect((await sendJson('POST', '/domain/deli.rest/_authinfo1', undefined, byHeader)).status).toBe(200);
    const byCookie = { cookie: `other=1; service_session=${id}` };
    expect((await sendJson('POST', '/domain/deli.rest/_authinfo1', undefined, byCookie)).status).toBe(200);
    expect((await sendJson('GET', '/logout', undefined, byHeader)).body.status?.code).toBe('S1321003');
    expectRefusal(
      await sendJson('POST', '/domain/deli.rest/_authinfo1', undefined, byHeader),
      401,
      /session/,
    );
  });

  it('POST /login omits the extras by default, and its session lasts 10 minutes', async () => {
    const { sendJson, advanceClock } = await startSandbox();
    const login = await sendJson('POST', '/login', alice, {});
    expect(login.headers['set-cookie']).toMatch(/Max-Age=599/);
    expect(login.body.data?.[0]).not.toHaveProperty('acls');
    const [, id = ''] = /service_session=([^;]+)/.exec(String(login.headers['set-cookie'])) ?? [];
    const sendWithSession = () =>
      sendJson('POST', '/domain/deli.rest/_authinfo1', undefined, { 'x-service-sessionid': id });
    advanceClock(9 * 60_000);
    expect((await sendWithSession()).status).toBe(200);
    advanceClock(60_000);
    expectRefusal(await sendWithSession(), 401, /session is unknown or has ended/);
  });

  it('POST /user creates a user with a valid password of 15 characters', async () => {
    const { sendJson } = await startSandbox();
    const added = await sendJson('POST', '/user', {
      user: 'erin',
      context: 4,
      defaultEmail: 'erin@team.example',
    });
    expect(added.body).toMatchObject({
      status: { code: 'S1301001' },
      object: { type: 'User', value: 'erin, 4', data: { context: 4, user: 'erin' } },
      messages: [
        {
          code: 'MSG13004',
          status: 'NOTICE',
          objects: [{ type: 'password', value: expect.stringMatching(/^\w{15}$/) }],
        },
      ],
    });
    const [, generatedPassword = ''] = /"type":"password","value":"(\w+)"/.exec(added.text) ?? [];
    const login = await sendJson(
      'POST',
      '/login',
      { user: 'erin', context: 4, password: generatedPassword },
      {},
    );
    expect(login.body.data?.[0]).toMatchObject({ user: 'erin', owner: { user: 'alice', context: 4 } });
  });

  it('PUT /sslcontact/{id} updates the contact', async () => {
    const { sendJson, service } = await startSandbox();
    const update = { fname: 'Ann', address: ['1 Quay', 'Floor 2'], country: 'NL', phone: '+31-20-5550100' };
    const { body } = await sendJson('PUT', '/sslcontact/501', update);
    expect(body).toMatchObject({ status: { code: 'S400202' }, object: { type: 'SslContact', value: '501' } });
    expect(service.state.data.sslContacts[0]?.fields).toMatchObject({ ...update, lname: 'Example' });
  });

  it('POST /domainPrereg/_search filters, and returns one page with the requested data', async () => {
    const { sendJson } = await startSandbox();
    const searchPreregs = async (children: boolean, offset: number, filters: unknown[], query = '') => {
      const view = { children, offset, limit: 30 };
      const { body } = await sendJson('POST', `/domainPrereg/_search${query}`, { view, filters });
      expect(body.status?.code).toBe('S0110005');
      return { summary: body.object?.summary, data: body.data ?? [] };
    };
    const restFilter = { key: 'tld', operator: 'EQUAL', value: 'rest' };
    const firstPage = await searchPreregs(true, 0, [restFilter]);
    expect([firstPage.summary, firstPage.data.length, firstPage.data[0]?.['name']]).toEqual([
      100,
      30,
      'table-001.rest',
    ]);
    const lastPage = await searchPreregs(true, 90, [restFilter]);
    expect([lastPage.summary, lastPage.data.length, lastPage.data[0]?.['name']]).toEqual([
      100,
      10,
      'table-091.rest',
    ]);
    expect((await searchPreregs(false, 0, [])).summary).toBe(100);
    expect((await searchPreregs(true, 0, [])).summary).toBe(120);

    const filters = [restFilter, { key: 'sld', operator: 'EQUAL', value: 'table-007' }];
    const keysQuery = `?${new URLSearchParams([
      ['keys[]', 'tmch_mark'],
      ['keys[]', 'nsentry'],
    ])}`;
    const { summary, data } = await searchPreregs(false, 0, filters, keysQuery);
    expect(summary).toBe(1);
    expect(data[0]).toMatchObject({
      name: 'table-007.rest',
      owner: { context: 4, user: 'alice' },
      ownerc: { id: 1001 },
      nameServers: [{ name: 'ns1.dns.example' }, { name: 'ns2.dns.example' }],
      status: 'PENDING',
      phase: 'sunrise1',
      orderReference: 'order-9007',
      recommended: true,
      tmchMark: expect.anything(),
      nsentry: expect.anything(),
    });
    expect(data[0]).not.toHaveProperty('extension');
  });

  it('domain tasks change the domain, and paid ones are charged', async () => {
    const { sendJson, service } = await startSandbox();
    const findDomain = (name: string) => service.state.findDomain(name, 4);
    const expectSuccess = async (answer: Promise<JsonAnswer>, name: string) => {
      const { status, body } = await answer;
      expect(body).toMatchObject({
        status: { code: expect.stringMatching(/^S01\d\d$/), type: 'SUCCESS' },
        object: { type: 'Domain', value: name },
      });
      expect(status).toBe(200);
      return body;
    };
    await expectSuccess(
      sendJson('POST', '/domain', { ...buildDomainPayload('new.rest'), confirmOrder: true }),
      'new.rest',
    );
    expect(findDomain('new.rest')).toMatchObject({
      expires: Date.UTC(2028, 1, 27, 12),
      isTransferLocked: true,
    });

    const { name, authCode: auth } = SANDBOX_TRANSFERABLE_DOMAIN;
    await expectSuccess(sendJson('POST', '/domain/_transfer', { ...buildDomainPayload(name), auth }), name);
    expect(findDomain(name)).toMatchObject({ group: 'elsewhere', pendingTransfer: { group: 'steward' } });

    const oldExpiry = findDomain('cafe.rest')?.expires ?? 0;
    await expectSuccess(sendJson('POST', '/domain/cafe.rest/_renew', { period: 2 }), 'cafe.rest');
    expect(findDomain('cafe.rest')?.expires).toBe(new Date(oldExpiry).setUTCFullYear(2029));

    await expectSuccess(sendJson('DELETE', '/domain/deli.rest'), 'deli.rest');
    expect(findDomain('deli.rest')?.status).toBe('redemption');
    await expectSuccess(sendJson('POST', '/domain/deli.rest/_restore'), 'deli.rest');
    expect(findDomain('deli.rest')?.status).toBe('registered');

    const { object } = await expectSuccess(sendJson('POST', '/domain/bar.rest/_authinfo1'), 'bar.rest');
    expect(object?.data).toEqual({ authinfo: 'auth-of-bar.rest' });

    await expectSuccess(sendJson('POST', '/domain/bar.rest/_ownerChange'), 'bar.rest');
    expect(findDomain('bar.rest')?.isTransferLocked).toBe(true);

    const nameServers = [{ name: 'a.dns.example' }, { name: 'b.dns.example' }, { name: 'c.dns.example' }];
    await expectSuccess(sendJson('PUT', '/domain/bar.rest', { nameServers }), 'bar.rest');
    expect(findDomain('bar.rest')?.nameServers).toEqual(nameServers.map((server) => server.name));

    expect(service.state.charges.map((charge) => [charge.task, charge.name])).toEqual([
      ['domain.create', 'new.rest'],
      ['domain.transfer', name],
      ['domain.renew', 'cafe.rest'],
      ['domain.restore', 'deli.rest'],
    ]);
  });
});

describe('access', () => {
  const deniedRequests: [string, Record<string, string>, number, RegExp][] = [
    ['no credentials', {}, 401, /no credentials/],
    ['a wrong password', buildAuthHeaders({ ...alice, password: 'wrong' }), 401, /wrong/],
    ['a wrong context', buildAuthHeaders({ ...alice, context: 7 }), 401, /wrong/],
    ['no context', buildBasicAuthHeader(alice.user, alice.password), 401, /X-Service-Context/],
    [
      'an invalid context',
      { ...buildAuthHeaders(alice), 'x-service-context': '4.0' },
      401,
      /X-Service-Context/,
    ],
    ['a two-factor user', buildAuthHeaders(tina), 403, /two-factor/],
    [
      'an unknown application',
      buildBasicAuthHeader('00000000-0000-4000-8000-000000000000', password),
      401,
      /application/,
    ],
    [
      'an application with a wrong password',
      buildBasicAuthHeader(trustedApplication.uuid, 'wrong'),
      401,
      /application/,
    ],
    [
      'an application with a context',
      buildAuthHeaders({ user: trustedApplication.uuid, password, context: 4 }),
      400,
      /trusted application/,
    ],
    ['a bearer token', { authorization: 'Bearer abc' }, 401, /Basic/],
    ['credentials without a colon', { authorization: `Basic ${btoa('alice')}` }, 401, /Basic/],
    [
      'credentials and a session',
      { ...buildAuthHeaders(alice), 'x-service-sessionid': 'x' },
      400,
      /both credentials and/,
    ],
    ['an unknown session', { 'x-service-sessionid': 'x' }, 401, /session/],
    ['two sessions', { 'x-service-sessionid': 'x', cookie: 'service_session=y' }, 400, /two different/],
    ['a session with a context', { 'x-service-sessionid': 'x', 'x-service-context': '4' }, 400, /X-Service/],
  ];
  it.each(deniedRequests)('is refused with %s', async (_, headers, status, textPattern) => {
    const { sendJson, service } = await startSandbox();
    expectRefusal(
      await sendJson('POST', '/domain/cafe.rest/_renew', { period: 1 }, headers),
      status,
      textPattern,
    );
    expect(service.state.charges, 'charges').toEqual([]);
  });

  it('is allowed for a trusted application without a context', async () => {
    const { sendJson } = await startSandbox();
    const headers = buildBasicAuthHeader(trustedApplication.uuid, password);
    expect((await sendJson('POST', '/domain/cafe.rest/_renew', { period: 1 }, headers)).status).toBe(200);
  });

  it('is allowed with a password in UTF-8', async () => {
    const erin = { user: 'erin', context: 4, password: 'pä:ß 🍰' };
    const { sendJson } = await startSandbox({ users: [erin] });
    expect(
      (await sendJson('POST', '/domain/deli.rest/_authinfo1', undefined, buildAuthHeaders(erin))).status,
    ).toBe(200);
  });

  it('is refused to a two-factor user at /login', async () => {
    const { sendJson } = await startSandbox();
    const { user, context, password } = tina;
    expectRefusal(await sendJson('POST', '/login', { user, context, password }, {}), 403, /two-factor/);
  });

  it('is refused to domains of another group or context', async () => {
    const erin = { user: 'erin', context: 4, password: 'p', group: 'others' };
    const { sendJson } = await startSandbox({ users: [erin] });
    expectRefusal(
      await sendJson('DELETE', '/domain/cafe.rest', undefined, buildAuthHeaders(erin)),
      404,
      /not in this account/,
    );
    const demoHeaders = buildAuthHeaders(SANDBOX_ACCOUNTS.aliceDemoSystem);
    expectRefusal(
      await sendJson('DELETE', '/domain/deli.rest', undefined, demoHeaders),
      404,
      /not in this account/,
    );
  });

  it('is refused with a foreign Host header, to prevent DNS rebinding', async () => {
    const { sendJson } = await startSandbox();
    expectRefusal(
      await sendJson('GET', '/logout', undefined, { host: 'rebound.example' }),
      421,
      /own address/,
    );
  });
});

describe('an invalid request', () => {
  const renewalPath = '/domain/cafe.rest/_renew';
  const registration = { ...buildDomainPayload('new.rest'), confirmOrder: true };
  const invalidRequests: [string, string, string, unknown, number, RegExp][] = [
    ['unknown field', 'POST', renewalPath, { period: 1, unit: 'years' }, 400, /unknown field unit/],
    [
      'unknown inner field',
      'POST',
      '/domain',
      { ...registration, ownerc: { id: 1001, x: 1 } },
      400,
      /ownerc: unknown field x/,
    ],
    ['missing field', 'POST', renewalPath, {}, 400, /period/],
    ['wrong type', 'POST', renewalPath, { period: '1' }, 400, /period.*number/],
    ['fraction', 'POST', renewalPath, { period: 1.5 }, 400, /period/],
    [
      'inner wrong type',
      'POST',
      '/domain',
      { ...registration, nameServers: [{ name: 1 }] },
      400,
      /nameServers\[0\]\.name/,
    ],
    ['not JSON', 'POST', renewalPath, '{"period":1', 400, /not JSON/],
    ['list instead of object', 'POST', renewalPath, '[1]', 400, /object/],
    ['unconfirmed order', 'POST', '/domain', { ...registration, confirmOrder: false }, 422, /confirmOrder/],
    ['period 0', 'POST', renewalPath, { period: 0 }, 422, /period/],
    ['period 11', 'POST', renewalPath, { period: 11 }, 422, /period/],
    ['one nameserver', 'PUT', '/domain/cafe.rest', { nameServers: [{ name: 'a.example' }] }, 422, /2 to 7/],
    [
      'eight nameservers',
      'PUT',
      '/domain/cafe.rest',
      { nameServers: [...'abcdefgh'].map((label) => ({ name: `${label}.dns.example` })) },
      422,
      /2 to 7/,
    ],
    [
      'duplicate nameserver',
      'PUT',
      '/domain/cafe.rest',
      { nameServers: [{ name: 'a.example' }, { name: 'a.example' }] },
      422,
      /twice/,
    ],
    [
      'bad nameserver',
      'PUT',
      '/domain/cafe.rest',
      { nameServers: [{ name: 'a.example' }, { name: 'b' }] },
      422,
      /\[1\]/,
    ],
    ['unknown contact', 'POST', '/domain', { ...registration, techc: { id: 7 } }, 422, /techc/],
    ['contact id as text', 'POST', '/domain', { ...registration, techc: { id: '1001' } }, 400, /techc\.id/],
    ['upper case', 'POST', '/domain', { ...registration, name: 'New.rest' }, 422, /lower-case/],
    ['non-ASCII letters', 'POST', '/domain', { ...registration, name: 'münchen.rest' }, 422, /ASCII/],
    ['long label', 'POST', '/domain', { ...registration, name: `${'a'.repeat(64)}.rest` }, 422, /63/],
    ['leading hyphen', 'POST', '/domain', { ...registration, name: '-a.rest' }, 422, /label/],
    ['third level', 'POST', '/domain', { ...registration, name: 'a.b.rest' }, 422, /directly below/],
    [
      'not in ISO 8859-1',
      'POST',
      '/domain',
      { ...registration, name: 'xn--80akhbyknj4f.rest' },
      422,
      /8859-1/,
    ],
    ['not an IDN', 'POST', '/domain', { ...registration, name: 'ab--cd.rest' }, 422, /internationalised/],
    ['taken name', 'POST', '/domain', { ...registration, name: 'bar.rest' }, 409, /registered already/],
    ['auth missing', 'POST', '/domain/_transfer', buildDomainPayload('bistro.rest'), 400, /auth/],
    [
      'auth wrong',
      'POST',
      '/domain/_transfer',
      { ...buildDomainPayload('bistro.rest'), auth: 'no' },
      422,
      /auth/,
    ],
    [
      'transfer of an own name',
      'POST',
      '/domain/_transfer',
      { ...buildDomainPayload('bar.rest'), auth: 'x' },
      409,
      /already/,
    ],
    [
      'transfer of a free name',
      'POST',
      '/domain/_transfer',
      { ...buildDomainPayload('new.rest'), auth: 'x' },
      404,
      /not reg/,
    ],
    ['restore of a live name', 'POST', '/domain/bar.rest/_restore', undefined, 409, /redemption/],
    ['delete twice', 'DELETE', '/domain/gone.rest', undefined, 409, /deleted already/],
    ['renew deleted', 'POST', '/domain/gone.rest/_renew', { period: 1 }, 409, /restore it first/],
    ['body on restore', 'POST', '/domain/gone.rest/_restore', {}, 400, /no body/],
    ['body on delete', 'DELETE', '/domain/bar.rest', {}, 400, /no body/],
    ['unknown route', 'POST', '/domain/bar.rest/_explode', undefined, 404, /no resource/],
    ['trailing slash', 'DELETE', '/domain/bar.rest/', undefined, 404, /no resource/],
    ['wrong method', 'GET', '/domain/bar.rest', undefined, 405, /GET/],
    ['unknown parameter', 'POST', `${renewalPath}?dryRun=true`, { period: 1 }, 400, /dryRun/],
    ['keys on a renewal', 'POST', `${renewalPath}?keys[]=extension`, { period: 1 }, 400, /keys/],
    ['ctid twice', 'POST', `${renewalPath}?ctid=1&ctid=2`, { period: 1 }, 400, /ctid is given twice/],
    ['empty ctid', 'POST', `${renewalPath}?ctid=`, { period: 1 }, 400, /ctid is empty/],
    ['replyTo', 'POST', `${renewalPath}?replyTo=alice`, { period: 1 }, 400, /replyTo/],
    ['user twice', 'POST', '/user', { user: 'bob', context: 4, defaultEmail: 'b@c.de' }, 409, /exists/],
    [
      'user in another context',
      'POST',
      '/user',
      { user: 'x', context: 5, defaultEmail: 'b@c.de' },
      403,
      /context/,
    ],
    ['invalid e-mail', 'POST', '/user', { user: 'x', context: 4, defaultEmail: 'b' }, 422, /defaultEmail/],
    [
      'unknown parent',
      'POST',
      '/user',
      { user: 'x', context: 4, defaultEmail: 'b@c.de', parent: { user: 'zed', context: 4 } },
      404,
      /parent/,
    ],
    [
      'redirect source',
      'PUT',
      '/redirect/www.cafe.rest',
      { source: 'shop.cafe.rest', target: 'a.example', type: 'DOMAIN', mode: 'HTTP' },
      409,
      /source/,
    ],
    [
      'redirect type',
      'PUT',
      '/redirect/hello%40cafe.rest',
      { source: 'hello@cafe.rest', target: 'a.example', type: 'DOMAIN', mode: 'HTTP' },
      409,
      /type/,
    ],
    ['unknown contact id', 'PUT', '/sslcontact/77', { fname: 'A' }, 404, /77/],
    ['contact phone', 'PUT', '/sslcontact/501', { phone: '030 1' }, 422, /phone/],
    ['contact country', 'PUT', '/sslcontact/501', { country: 'Germany' }, 422, /country/],
    ['contact address', 'PUT', '/sslcontact/501', { address: '1 Quay' }, 400, /address/],
    ['empty contact', 'PUT', '/sslcontact/501', {}, 400, /no field/],
    [
      'search operator',
      'POST',
      '/domainPrereg/_search',
      {
        view: { children: false, offset: 0, limit: 1 },
        filters: [{ key: 'tld', operator: 'LIKE', value: 'rest' }],
      },
      400,
      /operator/,
    ],
    [
      'search key',
      'POST',
      '/domainPrereg/_search',
      {
        view: { children: false, offset: 0, limit: 1 },
        filters: [{ key: 'name', operator: 'EQUAL', value: 'x' }],
      },
      400,
      /key/,
    ],
    ['search view', 'POST', '/domainPrereg/_search', { filters: [] }, 400, /view/],
    [
      'search keys',
      'POST',
      '/domainPrereg/_search?keys[]=x',
      { view: { children: false, offset: 0, limit: 1 }, filters: [] },
      400,
      /keys/,
    ],
    ['timeout', 'POST', '/login?timeout=0', alice, 400, /timeout/],
    ['acl', 'POST', '/login?acl=yes', alice, 400, /acl/],
    ['logout without a session', 'GET', '/logout', undefined, 400, /no session/],
  ];

  it('is refused with a reason, and changes nothing', async () => {
    const { sendJson, service } = await startSandbox();
    const domains = JSON.stringify(service.state.listDomains(4));
    for (const [label, method, path, body, status, textPattern] of invalidRequests) {
      const headers = path.startsWith('/login') ? {} : buildAuthHeaders(alice);
      const answer = await sendJson(method as 'POST', path, body, headers);
      expect(`${label}: ${answer.status} ${answer.body.status?.text}`).toMatch(textPattern);
      expectRefusal(answer, status, textPattern);
    }
    expect(JSON.stringify(service.state.listDomains(4))).toBe(domains);
    expect(service.state.charges).toEqual([]);
  });

  it('is refused because of its content type', async () => {
    const { sendJson, service } = await startSandbox();
    const renew = (type: string) =>
      sendJson('POST', '/domain/cafe.rest/_renew', undefined, {
        ...buildAuthHeaders(alice),
        'content-type': type,
      });
    expectRefusal(await renew('text/plain'), 415, /application\/json/);
    expectRefusal(await renew('application/json; charset=latin1'), 415, /application\/json/);
    const restore = await sendJson('POST', '/domain/gone.rest/_restore', undefined, {
      ...buildAuthHeaders(alice),
      'content-type': 'application/json',
    });
    expectRefusal(restore, 400, /no body/);
    expect(service.state.charges).toEqual([]);
  });

  it('is refused if it is larger than 1 MB', async () => {
    const { sendJson } = await startSandbox();
    const answer = await sendJson('POST', '/domain/cafe.rest/_renew', `{"period":1${' '.repeat(1 << 20)}}`);
    expectRefusal(answer, 413, /1 MB/);
  });
});
