import {
  SANDBOX_ACCOUNTS,
  SANDBOX_TRANSFERABLE_DOMAIN,
  type SandboxTask,
} from '@domain-steward/sandbox-service';
import { describe, expect, it } from 'vitest';
import { type Credential, generateToken } from '../../src/service/authenticator/signature.ts';
import type { ServiceClient, ServiceClientOptions } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import * as domains from '../../src/service/tasks/domain.ts';
import { preregSearch } from '../../src/service/tasks/prereg.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';
import {
  authSessionCreate,
  authSessionDelete,
  sessionLogin,
  sessionLogout,
} from '../../src/service/tasks/session.ts';
import { sslContactUpdate } from '../../src/service/tasks/ssl-contact.ts';
import { userCreate } from '../../src/service/tasks/user.ts';
import { getServiceError } from './clients.ts';
import { applicationCredential, passwordCredential, type RunTask, useSandbox } from './sandbox.ts';

const { alice, tina } = SANDBOX_ACCOUNTS;

const tinaWithoutToken = {
  method: 'two_factor',
  user: tina.user,
  context: tina.context,
  password: new Secret(tina.password),
} as const;
const twoFactor: Credential = { ...tinaWithoutToken, totpSecret: new Secret(tina.totpSecret) };

const { service, createClient } = useSandbox();

const contacts = { ownerc: { id: 1001 }, adminc: { id: 1002 }, techc: { id: 1003 } };
const nameServers = [{ name: 'ns1.dns.example' }, { name: 'ns2.dns.example' }];
const view = { children: true, offset: 0, limit: 2 };
const filters = [{ key: 'tld', value: 'rest' }] as const;
const answer = expect.objectContaining({ data: [] });
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\+00:00$/);
const dated = expect.objectContaining({
  object: expect.objectContaining({ data: { created: time, updated: time, expires: time } }),
  data: [],
});
const created = { user: 'new', context: 4 };

/**
 * Tasks of both interfaces: their name in the sandbox's log, the call over JSON and XML, and the output, or the
 * envelope if there is no output.
 */
const shared: [task: SandboxTask, json: RunTask, xml: RunTask, output: unknown][] = [
  [
    'user.create',
    (c, call) => c.run(userCreate, { ...created, defaultEmail: 'n@team.example' }, call),
    (c, call) =>
      c.run(userCreate, { ...created, defaultEmail: 'n@team.example', userMailKey: 'welcome' }, call),
    { password: expect.any(Secret) },
  ],
  [
    'user.create',
    (c, call) =>
      c.run(
        userCreate,
        {
          ...created,
          defaultEmail: 'n@team.example',
          password: new Secret('pä55 </password>'),
          status: 1,
          substatus: 2,
          language: 'de',
          parent: {
            user: 'frontdesk',
            context: 4,
            defaultEmail: 'f@team.example',
            status: 1,
            substatus: 0,
          },
        },
        call,
      ),
    (c, call) =>
      c.run(
        userCreate,
        {
          ...created,
          defaultEmail: 'n@team.example',
          password: new Secret('pä55 </password>'),
          status: 1,
          substatus: 2,
          language: 'de',
          parent: { user: 'frontdesk', context: 4 },
        },
        call,
      ),
    {},
  ],
  [
    'redirect.update',
    (c, call) =>
      c.run(
        redirectUpdate,
        { source: 'www.cafe.rest', target: 'cafe.example/menu', type: 'DOMAIN', mode: 'HTTP' },
        call,
      ),
    (c, call) =>
      c.run(
        redirectUpdate,
        {
          source: 'hello@cafe.rest',
          target: 'bob@team.example',
          type: 'email',
          mode: 'single',
          title: 'Ours & theirs',
          backup: 'alice@team.example',
        },
        call,
      ),
    expect.anything(),
  ],
  [
    'sslContact.update',
    (c, call) =>
      c.run(sslContactUpdate, { id: 501, fname: 'Al', lname: 'Ex', address: ['Way 1', 'Floor 2'] }, call),
    (c, call) =>
      c.run(
        sslContactUpdate,
        { id: 501, address: ['Way 1', 'Floor 2'], pcode: '01234', country: 'DE' },
        call,
      ),
    expect.objectContaining({ object: expect.objectContaining({ value: '501' }) }),
  ],
  [
    'prereg.search',
    (c, call) => c.run(preregSearch, { view, filters: [...filters] }, { ...call, keys: ['tmch_mark'] }),
    (c, call) =>
      c.run(
        preregSearch,
        { view, filters: [...filters], order: { key: 'name', mode: 'asc' } },
        { ...call, keys: ['tmch_mark', 'nsentry'] },
      ),
    { summary: 100, records: [expectedRecord('table-001.rest'), expectedRecord('table-002.rest')] },
  ],
];

/** A found record. Over XML every value is a text. */
function expectedRecord(name: string): unknown {
  const numberOrText = (value: number) => expect.toBeOneOf([value, String(value)]);
  return expect.objectContaining({
    name,
    owner: { user: 'alice', context: numberOrText(4) },
    adminc: { id: numberOrText(1002) },
    techc: { id: numberOrText(1003) },
    nameServers,
    status: 'PENDING',
    phase: 'sunrise1',
    orderReference: expect.stringMatching(/^order-\d+$/),
    preregConfig: expect.anything(),
    recommended: expect.toBeOneOf([true, false, 'true', 'false']),
    created: expect.stringMatching(/^\d{4}-\d\d-\d\d/),
  });
}

const jsonOnly: [task: SandboxTask, run: RunTask, output: unknown][] = [
  [
    'domain.create',
    (c, call) =>
      c.run(domains.domainCreate, { name: 'new.rest', ...contacts, nameServers, confirmOrder: true }, call),
    dated,
  ],
  [
    'domain.transfer',
    (c, call) => {
      const { name, authCode } = SANDBOX_TRANSFERABLE_DOMAIN;
      return c.run(
        domains.domainTransfer,
        { name, auth: new Secret(authCode), ...contacts, nameServers },
        call,
      );
    },
    answer,
  ],
  ['domain.renew', (c, call) => c.run(domains.domainRenew, { name: 'cafe.rest', period: 2 }, call), dated],
  ['domain.delete', (c, call) => c.run(domains.domainDelete, { name: 'cafe.rest' }, call), answer],
  ['domain.restore', (c, call) => c.run(domains.domainRestore, { name: 'gone.rest' }, call), dated],
  [
    'domain.authinfo',
    (c, call) => c.run(domains.domainAuthInfo, { name: 'cafe.rest' }, call),
    { auth: expect.any(Secret) },
  ],
  ['domain.ownerChange', (c, call) => c.run(domains.domainOwnerChange, { name: 'cafe.rest' }, call), answer],
  [
    'domain.update',
    (c, call) => c.run(domains.domainUpdateNameservers, { name: 'cafe.rest', nameServers }, call),
    answer,
  ],
];

const jsonWays: [way: string, logged: string, credential: Credential, Partial<ServiceClientOptions>][] = [
  ['Basic', 'credentials', passwordCredential, {}],
  ['a session in its header', 'session', passwordCredential, { jsonAuth: 'session' }],
  ['a session in its cookie', 'session', passwordCredential, { jsonAuth: 'session', sessionPlace: 'cookie' }],
  ['a trusted application', 'trusted_application', applicationCredential, {}],
];

const xmlWays: [way: string, logged: string, () => Credential, Partial<ServiceClientOptions>?][] = [
  ['credentials', 'credentials', () => passwordCredential],
  ['a session', 'session', () => passwordCredential, { xmlAuth: 'session' }],
  ['a trusted application', 'trusted_application', () => applicationCredential],
  ['a two-factor session and generated tokens', 'session', () => twoFactor],
  [
    'a two-factor session and a given token',
    'session',
    () => ({ ...tinaWithoutToken, token: generateToken(new Secret(tina.totpSecret), Date.now()).token }),
  ],
];

/** Runs a task, and checks the result at the client and in the sandbox. */
async function expectSuccess(
  client: ServiceClient,
  run: RunTask,
  expected: {
    readonly task: SandboxTask;
    readonly via: 'json' | 'xml';
    readonly way: string;
    output: unknown;
  },
): Promise<void> {
  const { task, via, way, output } = expected;
  const call = { interface: via, ctid: 'order-1', replyTo: 'ops@team.example' };
  const result = await run(client, call);
  expect(result).toMatchObject({
    interface: via,
    httpStatus: 200,
    envelope: {
      stid: expect.any(String),
      status: { code: expect.stringMatching(/^S\d+$/), type: 'SUCCESS' },
    },
  });
  expect(result.output ?? result.envelope).toEqual(output);
  const requests = service().requestsFor({ task });
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({
    interface: via,
    way,
    carriedOut: true,
    status: 200,
    ctid: via === 'json' ? 'order-1' : null,
    query: via === 'json' ? { ctid: ['order-1'], replyTo: ['ops@team.example'] } : {},
  });
  await client.close();
  expect(service().sessions.countActive(), 'sessions left open after closing the client').toBe(0);
}

describe.each(jsonWays)('over JSON, with %s', (_name, way, credential, options) => {
  const tasks = [...shared.map(([task, json, , output]) => [task, json, output] as const), ...jsonOnly];
  it.each(tasks)('%s (case %#)', async (task, run, output) => {
    await expectSuccess(createClient(credential, options), run, { task, via: 'json', way, output });
  });
});

describe.each(xmlWays)('over XML, with %s', (_name, way, credential, options) => {
  it.each(shared)('%s (case %#)', async (task, _json, run, output) => {
    await expectSuccess(createClient(credential(), options), run, { task, via: 'xml', way, output });
  });
});

describe('sessions', () => {
  it('are opened and ended over JSON, with every login option', async () => {
    const client = createClient(passwordCredential);
    const { user, context } = alice;
    const extras = { acl: true, profile: true, customer: true, timeout: 5 };
    const login = { user, context, password: new Secret(alice.password), ...extras };
    const { output } = await client.run(sessionLogin, login);
    expect(output).toMatchObject({ maxAgeSeconds: 299, user: { user, context, language: 'en' } });
    expect(service().sessions.countActive()).toBe(1);
    await client.run(sessionLogout, { sessionId: output.sessionId, place: 'cookie' });
    expect(service().sessions.countActive()).toBe(0);
  });

  it('are opened and ended over XML', async () => {
    const client = createClient(passwordCredential);
    const { hash } = (await client.run(authSessionCreate, {})).output;
    expect(service().sessions.countActive()).toBe(1);
    await client.run(authSessionDelete, { hash });
    expect(service().sessions.countActive()).toBe(0);
  });

  it('verify a password and two factors', async () => {
    expect(await createClient(passwordCredential).verify()).toMatchObject({
      verified: true,
      user: { user: 'alice' },
    });
    expect(await createClient(twoFactor).verify()).toMatchObject({
      verified: true,
      sessionHash: expect.any(Secret),
    });
    const wrong = createClient({ ...passwordCredential, password: new Secret('wrong') });
    expect((await getServiceError(wrong.verify())).kind).toBe('auth');
  });

  it.each(jsonWays.filter(([, logged]) => logged === 'session'))(
    'are renewed after the service ends them: %s',
    async (_name, _way, credential, options) => {
      const client = createClient(credential, options);
      for (let round = 0; round < 2; round += 1) {
        await client.run(domains.domainRenew, { name: 'cafe.rest', period: 1 });
        service().sessions.endAll();
      }
      expect(service().state.data.charges).toHaveLength(2);
    },
  );
});
