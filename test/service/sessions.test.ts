import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Credential, TwoFactorCredential } from '../../src/service/authenticator/signature.ts';
import { createMemoryTokenSteps } from '../../src/service/authenticator/token-steps.ts';
import type { ServiceClient, ServiceClientOptions } from '../../src/service/client.ts';
import type { ServiceError } from '../../src/service/errors.ts';
import { Secret } from '../../src/service/secret.ts';
import { domainDelete, domainRenew } from '../../src/service/tasks/domain.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';
import {
  applicationCredential,
  createTestClient,
  getServiceError,
  PASSWORD,
  passwordCredential,
  sendMarked,
  twoFactorCredential,
} from './clients.ts';
import {
  buildHttpResponse,
  buildXmlResponse,
  OK_JSON,
  type RawRequest,
  type RawService,
  type Respond,
  startRawService,
} from './raw-service.ts';

const ERROR_JSON = '{"status":{"code":"EF00803","text":"nope","type":"ERROR"}}';
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface SessionService extends RawService {
  /** Valid sessions; clear them to end all. */
  readonly open: Set<string>;
  paths(): string[];
}

/** A service that opens numbered sessions and refuses requests without one of them. */
async function serving(
  options: { maxAge?: number; refuse?: Respond; login?: Respond } = {},
): Promise<SessionService> {
  const open = new Set<string>();
  let count = 0;
  const service = await startRawService((request, socket) => {
    if (request.line.includes('/login ') || request.line.includes('/login?')) {
      if (options.login !== undefined) return options.login(request, socket);
      open.add(`session-${++count}`);
      const age = options.maxAge === undefined ? '' : `; Max-Age=${options.maxAge}`;
      return socket.write(
        buildHttpResponse(200, OK_JSON, [`set-cookie: service_session=session-${count}; Path=/${age}`]),
      );
    }
    if (request.body.includes('<code>1321001</code>')) {
      if (options.login !== undefined) return options.login(request, socket);
      const hash = `00000000-0000-0000-0000-${String(++count).padStart(12, '0')}`;
      open.add(hash);
      return socket.write(
        buildHttpResponse(
          200,
          buildXmlResponse('S1321001', `<auth_session><hash>${hash}</hash></auth_session>`),
        ),
      );
    }
    const id = sessionOf(request);
    const xml = request.line.includes(' /xml ');
    if (id !== undefined && open.has(id)) {
      if (request.line.includes('/logout') || request.body.includes('1321003')) open.delete(id);
      return socket.write(buildHttpResponse(200, xml ? buildXmlResponse('S0502') : OK_JSON));
    }
    if (options.refuse !== undefined) return options.refuse(request, socket);
    return socket.write(buildHttpResponse(401, xml ? '' : ERROR_JSON));
  });
  closers.push(service.close);
  const paths = (): string[] =>
    service.requests.map(
      ({ line, body }) =>
        `${line.split(/[ ?]/)[1]}${/<code>\d+/.exec(body)?.[0].replace('<code>', ' ') ?? ''}`,
    );
  return Object.assign(service, { open, paths });
}

function sessionOf({ headers, body }: RawRequest): string | undefined {
  const header = headers.find((each) => each.startsWith('x-service-sessionid: '));
  return header?.slice('x-service-sessionid: '.length) ?? /<hash>([^<]+)<\/hash>/.exec(body)?.[1];
}

function client(
  service: RawService,
  credential: Credential,
  options: Partial<ServiceClientOptions> = {},
): ServiceClient {
  const made = createTestClient(service.origin, credential, { jsonAuth: 'session', ...options });
  closers.push(() => made.close());
  return made;
}

const remove = (c: ServiceClient): Promise<unknown> => c.run(domainDelete, { name: 'a.rest' });
const renew = (c: ServiceClient): Promise<unknown> => c.run(domainRenew, { name: 'a.rest', period: 1 });
const redirect = (c: ServiceClient): Promise<unknown> =>
  c.run(redirectUpdate, { source: 'a.rest', target: 'b.rest', type: 'domain', mode: 'frame' });

describe('a JSON session', () => {
  it('is opened once for concurrent calls', async () => {
    const service = await serving();
    const shared = client(service, passwordCredential);
    await Promise.all(Array.from({ length: 20 }, () => remove(shared)));
    expect(service.paths().filter((path) => path === '/v1/login')).toHaveLength(1);
    expect(service.requests).toHaveLength(21);
  });

  it('is renewed once when it is refused, for all calls together', async () => {
    const service = await serving();
    const shared = client(service, passwordCredential);
    await remove(shared);
    service.open.clear();
    await Promise.all([remove(shared), renew(shared), remove(shared)]);
    expect(service.paths().filter((path) => path === '/v1/login')).toHaveLength(2);
  });

  it('is requested at most twice by one call', async () => {
    const service = await serving();
    const shared = client(service, passwordCredential);
    const before = vi.fn(async (_refusal?: ServiceError) => service.open.clear());
    const { respond } = service;
    service.respond = (request, socket) => {
      respond(request, socket);
      service.open.clear();
    };
    const error = await getServiceError(
      sendMarked(shared, domainRenew, { name: 'a.rest', period: 1 }, { mark: before }),
    );
    expect(error).toMatchObject({ kind: 'auth', code: 'EF00803', httpStatus: 401 });
    expect(service.paths()).toEqual([
      '/v1/login',
      '/v1/domain/a.rest/_renew',
      '/v1/login',
      '/v1/domain/a.rest/_renew',
    ]);
    const refused = expect.objectContaining({ kind: 'auth', httpStatus: 401 });
    expect(before.mock.calls, 'the order must be marked as sent before each request').toEqual([
      [],
      [refused],
    ]);
  });

  it('sends no second request if marking it fails, and passes on that error unchanged', async () => {
    const service = await serving();
    const shared = client(service, passwordCredential);
    await remove(shared);
    service.open.clear();
    const gone = new Error('the order was settled');
    const mark = async (refusal?: ServiceError): Promise<void> => {
      if (refusal !== undefined) throw gone;
    };
    const call = sendMarked(shared, domainRenew, { name: 'a.rest', period: 1 }, { mark });
    await expect(call).rejects.toBe(gone);
    expect(service.paths().filter((path) => path.includes('_renew'))).toHaveLength(1);
  });

  it('doesn’t repeat a charge after an error that only mentions the session', async () => {
    const body = '{"status":{"code":"EF00001","text":"session has ended","type":"ERROR"}}';
    const service = await serving({ refuse: (_r, socket) => socket.write(buildHttpResponse(200, body)) });
    const shared = client(service, passwordCredential);
    await remove(shared);
    service.open.clear();
    expect((await getServiceError(renew(shared))).kind).toBe('refused');
    expect(service.paths().filter((path) => path.includes('_renew'))).toHaveLength(1);
    await remove(shared);
    expect(
      service.paths().filter((path) => path === '/v1/login'),
      'logins, one more for another task',
    ).toHaveLength(2);
  });

  it('repeats nothing after a response that leaves the outcome open', async () => {
    const service = await serving({
      refuse: (_r, socket) => socket.write(buildHttpResponse(500, ERROR_JSON)),
    });
    const shared = client(service, passwordCredential);
    await remove(shared);
    service.open.clear();
    expect((await getServiceError(remove(shared))).kind).toBe('unknown_outcome');
    expect(service.requests).toHaveLength(3);
  });

  it.each([
    ['its Max-Age', { maxAge: 599 }, {}, 599],
    ['the documented ten minutes', {}, {}, 600],
    ['the requested lifetime', {}, { sessionMinutes: 30 }, 1800],
  ])('is renewed before the end of %s', async (_name, stated, options, seconds) => {
    let time = 1_000_000;
    const service = await serving(stated);
    const shared = client(service, passwordCredential, { now: () => time, ...options });
    await remove(shared);
    time += (seconds - 31) * 1000;
    await remove(shared);
    expect(service.open.size).toBe(1);
    time += 1000;
    await remove(shared);
    expect(service.open.size).toBe(2);
  });

  it('is ended when the client is closed', async () => {
    const service = await serving();
    const shared = client(service, passwordCredential);
    await remove(shared);
    await shared.close();
    expect(service.paths().at(-1)).toBe('/v1/logout');
    expect(service.open.size).toBe(0);
  });

  it.each<[string, Respond, string]>([
    ['is refused', (_r, s) => s.write(buildHttpResponse(401, ERROR_JSON)), 'auth'],
    ['is refused by code', (_r, s) => s.write(buildHttpResponse(200, ERROR_JSON)), 'auth'],
    ['is not found', (_r, s) => s.write(buildHttpResponse(404, '')), 'refused'],
    [
      'is refused because of load',
      (_r, s) => s.write(buildHttpResponse(429, '', ['retry-after: 7'])),
      'busy',
    ],
    ['fails', (_r, s) => s.write(buildHttpResponse(500, '')), 'not_sent'],
    ['has no cookie', (_r, s) => s.write(buildHttpResponse(200, OK_JSON)), 'not_sent'],
    [
      'has two cookies',
      (_r, s) =>
        s.write(
          buildHttpResponse(200, OK_JSON, ['set-cookie: service_session=a', 'set-cookie: service_session=b']),
        ),
      'not_sent',
    ],
    [
      'has a cookie that is invalid in a header',
      (_r, s) => s.write(buildHttpResponse(200, OK_JSON, ['set-cookie: service_session=a b'])),
      'not_sent',
    ],
    ['is truncated', (_r, s) => s.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'), 'not_sent'],
    ['gets no response', () => undefined, 'not_sent'],
  ])('whose login %s leaves the task unsent', async (_name, login, kind) => {
    const service = await serving({ login });
    const shared = client(service, passwordCredential, { timeoutMs: 100 });
    const before = vi.fn(async () => undefined);
    const error = await getServiceError(shared.run(domainRenew, { name: 'a.rest', period: 1 }));
    const marked = sendMarked(shared, domainRenew, { name: 'a.rest', period: 1 }, { mark: before });
    expect((await getServiceError(marked)).kind).toBe(kind);
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(/^renewing a\.rest: /);
    expect(before, 'marks before a failed login').not.toHaveBeenCalled();
    expect(service.paths().every((path) => path === '/v1/login')).toBe(true);
    if (kind === 'busy') expect(error.retryAfterMs).toBe(7000);
  });

  it('serves other calls if the call that opened it is aborted', async () => {
    let answer: (() => void) | undefined;
    const service = await serving({
      login: (_r, socket) => {
        answer = () => socket.write(buildHttpResponse(200, OK_JSON, ['set-cookie: service_session=late']));
      },
    });
    service.open.add('late');
    const shared = client(service, passwordCredential);
    const controller = new AbortController();
    const first = getServiceError(
      shared.run(domainDelete, { name: 'a.rest' }, { signal: controller.signal }),
    );
    const second = remove(shared);
    await vi.waitUntil(() => answer !== undefined);
    controller.abort();
    expect((await first).kind).toBe('not_sent');
    answer?.();
    await second;
    expect(service.paths()).toEqual(['/v1/login', '/v1/domain/a.rest']);
  });
});

describe('a two-factor session', () => {
  it('is opened once, with one token, for concurrent calls', async () => {
    const service = await serving();
    const shared = client(service, twoFactorCredential, { now: () => 59_000 });
    await Promise.all(Array.from({ length: 10 }, () => redirect(shared)));
    expect(service.paths().filter((path) => path === '/xml 1321001')).toHaveLength(1);
  });

  const tokensOf = (service: SessionService): string[] =>
    service.requests.flatMap(({ body }) => /<token>(\d+)/.exec(body)?.[1] ?? []);

  it('never uses a token twice: it waits for the next one if it is renewed within 30 seconds', async () => {
    let time = 59_000;
    const waits: number[] = [];
    const service = await serving();
    const shared = client(service, twoFactorCredential, {
      now: () => time,
      sleep: async (milliseconds) => {
        waits.push(milliseconds);
        time += milliseconds;
      },
    });
    await redirect(shared);
    service.open.clear();
    await Promise.all([redirect(shared), redirect(shared)]);
    expect(waits).toEqual([1000]);
    expect(tokensOf(service)).toEqual(['287082', '359152']);
  });

  it('is not opened if a call can’t wait for the next token, and the error says how long to wait', async () => {
    let time = 59_000;
    const service = await serving();
    const shared = client(service, twoFactorCredential, { now: () => time, timeoutMs: 1_999 });
    await redirect(shared);
    service.open.clear();
    expect(await getServiceError(redirect(shared))).toMatchObject({ kind: 'token_used', retryAfterMs: 1000 });
    time += 1000;
    await redirect(shared);
    expect(tokensOf(service)).toEqual(['287082', '359152']);
  });

  it('never reuses a token that another client of the user has used, in any context', async () => {
    let time = 59_000;
    const service = await serving();
    const tokenSteps = createMemoryTokenSteps();
    const sleep = async (milliseconds: number): Promise<void> => {
      time += milliseconds;
    };
    const options = { now: () => time, tokenSteps, sleep, timeoutMs: 60_000 };
    const clients = [
      client(
        service,
        { ...twoFactorCredential, totpSecret: undefined, token: new Secret('287082') },
        options,
      ),
      client(service, { ...twoFactorCredential, context: 1 }, options),
      client(service, twoFactorCredential, options),
    ];
    for (const each of clients) await redirect(each);
    expect(tokensOf(service)).toEqual(['287082', '359152', '969429']);
  });

  it('stops waiting when the client is closed', async () => {
    let time = 59_000;
    const service = await serving();
    const aborted = vi.fn();
    const shared = client(service, twoFactorCredential, {
      now: () => time,
      sleep: (_milliseconds, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted();
            reject(signal.reason);
          });
        }),
    });
    await redirect(shared);
    service.open.clear();
    time += 1;
    const controller = new AbortController();
    const call = getServiceError(
      shared.run(
        redirectUpdate,
        { source: 'a.rest', target: 'b.rest', type: 'domain', mode: 'frame' },
        { signal: controller.signal },
      ),
    );
    await vi.waitUntil(() => service.requests.length === 3);
    controller.abort();
    expect((await call).kind).toBe('not_sent');
    await shared.close();
    expect(aborted).toHaveBeenCalledTimes(1);
  });

  it('that was passed in with its expiry is renewed before that, with a new token', async () => {
    let time = 1_000_000;
    const service = await serving();
    const hash = '00000000-0000-0000-0000-00000000aaaa';
    service.open.add(hash);
    const given = { ...twoFactorCredential, sessionHash: new Secret(hash), sessionEndsAt: time + 600_000 };
    const shared = client(service, given, { now: () => time });
    await redirect(shared);
    expect(tokensOf(service)).toEqual([]);
    time += 580_000;
    await redirect(shared);
    expect(service.paths()).toEqual(['/xml 0502', '/xml 1321001', '/xml 0502']);
  });

  it('releases a token that was not sent', async () => {
    const service = await serving();
    const { port } = service;
    await service.close();
    const shared = client(service, twoFactorCredential, { now: () => 59_000 });
    expect((await getServiceError(redirect(shared))).kind).toBe('not_sent');
    expect((await getServiceError(redirect(shared))).cause, `port ${port}`).toMatchObject({
      kind: 'not_sent',
    });
  });

  const tokenOnly: TwoFactorCredential = {
    ...twoFactorCredential,
    totpSecret: undefined,
    token: new Secret('123456'),
  };

  it('opened with a typed token lasts until the service refuses it, and the error says what to do', async () => {
    const service = await serving();
    let time = 0;
    const shared = client(service, tokenOnly, { now: () => time });
    await redirect(shared);
    time += 3_600_000;
    await redirect(shared);
    service.open.clear();
    const error = await getServiceError(redirect(shared));
    expect(error.kind).toBe('auth');
    expect(error.message).toContain('link the account again');
    expect(service.requests.filter(({ body }) => body.includes('<token>'))).toHaveLength(1);
  });

  it('is returned by verify(), used by the next client, and ended only on unlinking', async () => {
    const service = await serving();
    const first = client(service, tokenOnly);
    const check = await first.verify();
    await first.close();
    if (!check.verified || check.sessionHash === undefined) throw new Error('verify() returned no session');
    expect(service.open.size).toBe(1);
    const next = client(service, { ...tokenOnly, token: undefined, sessionHash: check.sessionHash });
    await redirect(next);
    await next.close();
    expect(service.open.size, 'sessions that were passed in and stay open').toBe(1);
    const last = client(service, { ...tokenOnly, token: undefined, sessionHash: check.sessionHash });
    await last.close('all');
    expect(service.open.size).toBe(0);
    expect(service.paths()).toEqual(['/xml 1321001', '/xml 0502', '/xml 1321003']);
  });

  it('is ended on closing if the client opened it', async () => {
    const service = await serving();
    const shared = client(service, twoFactorCredential);
    await redirect(shared);
    await shared.close();
    expect(service.open.size).toBe(0);
  });

  it.each<[string, Credential, RegExp]>([
    [
      'a shared secret that is not base32',
      { ...twoFactorCredential, totpSecret: new Secret('not base 32: 189') },
      /base32/,
    ],
    ['an empty shared secret', { ...twoFactorCredential, totpSecret: new Secret('') }, /empty/],
    ['a token of five digits', { ...tokenOnly, token: new Secret('12345') }, /six digits/],
  ])('is not requested with %s', async (_name, credential, message) => {
    const service = await serving();
    const error = await getServiceError(redirect(client(service, credential)));
    expect(error.kind).toBe('invalid_input');
    expect(error.message).toMatch(message);
    expect(service.requests).toHaveLength(0);
  });

  it.each([
    ['an element of the data', '<hash>{}</hash>', ''],
    ['nested data', '<a><auth_session><hash>{}</hash></auth_session></a>', ''],
    ['the object', '', '<object><type>auth_session</type><value>{}</value></object>'],
  ])('is found in %s', async (_name, data, object) => {
    const hash = '1b4e28ba-2fa1-11d2-883f-0016d3cca427';
    const answer = buildXmlResponse('S1321001', data.replace('{}', hash)).replace(
      '</status>',
      `${object.replace('{}', hash)}</status>`,
    );
    const service = await serving({ login: (_r, socket) => socket.write(buildHttpResponse(200, answer)) });
    service.open.add(hash);
    await redirect(client(service, twoFactorCredential));
    expect(service.requests.at(-1)?.body).toContain(`<auth_session><hash>${hash}</hash></auth_session>`);
  });
});

describe('verifying a credential', () => {
  it('logs in and out with a password', async () => {
    const service = await serving();
    expect(await client(service, passwordCredential, { jsonAuth: 'basic' }).verify()).toMatchObject({
      verified: true,
    });
    expect(service.paths()).toEqual(['/v1/login', '/v1/logout']);
    expect(service.requests[0]?.body).toContain(PASSWORD);
  });

  it('reports a refused password', async () => {
    const service = await serving({
      login: (_r, socket) => socket.write(buildHttpResponse(401, ERROR_JSON)),
    });
    const error = await getServiceError(client(service, passwordCredential).verify());
    expect(error).toMatchObject({ kind: 'auth', code: 'EF00803', text: 'nope' });
  });

  it('isn’t possible for a trusted application', async () => {
    const service = await serving();
    expect(await client(service, applicationCredential).verify()).toMatchObject({ verified: false });
    expect(service.requests).toHaveLength(0);
  });

  it('needs the XML interface for two factors', async () => {
    const service = await serving();
    const error = await getServiceError(client(service, twoFactorCredential, { xmlUrl: undefined }).verify());
    expect(error.kind).toBe('unsupported');
    expect(error.message).toContain('SERVICE_XML_URL');
  });
});
