import { connect } from 'node:net';
import { inspect } from 'node:util';
import { Secret, TOTP } from 'otpauth';
import { describe, expect, it } from 'vitest';
import { SANDBOX_ACCOUNTS, SANDBOX_TRANSFERABLE_DOMAIN } from '../src/accounts.ts';
import type { RecordedRequest } from '../src/recorder.ts';
import { buildBasicAuthHeader, buildDomainPayload, START, startSandbox } from './sandbox.ts';

const { alice, tina, trustedApplication } = SANDBOX_ACCOUNTS;

describe('the request log', () => {
  it('records the sender, the request, its time and the response', async () => {
    const { service, sendJson } = await startSandbox();
    await sendJson('POST', '/domain/cafe.rest/_renew?ctid=order-7&replyTo=a%40b.example', { period: 2 });
    expect(service.requests).toEqual([
      {
        n: 1,
        at: START,
        interface: 'json',
        method: 'POST',
        path: '/v1/domain/cafe.rest/_renew',
        query: { ctid: ['order-7'], replyTo: ['a@b.example'] },
        ctid: 'order-7',
        way: 'credentials',
        user: 'alice',
        context: 4,
        headers: expect.objectContaining({ authorization: '[secret]', 'x-service-context': '4' }),
        body: { period: 2 },
        task: 'domain.renew',
        name: 'cafe.rest',
        carriedOut: true,
        fault: null,
        status: 200,
        answerCode: 'S0105',
        durationMs: expect.any(Number),
      },
    ]);
  });

  it('can be filtered by ctid, task and name', async () => {
    const { service, sendJson } = await startSandbox();
    await sendJson('POST', '/domain/cafe.rest/_renew?ctid=a', { period: 1 });
    await sendJson('POST', '/domain/bar.rest/_renew?ctid=b', { period: 1 });
    await sendJson('DELETE', '/domain/bar.rest?ctid=b');
    const listNumbers = (filter: Parameters<typeof service.requestsFor>[0]) =>
      service.requestsFor(filter).map((entry) => entry.n);
    expect(listNumbers({ ctid: 'b' })).toEqual([2, 3]);
    expect(listNumbers({ task: 'domain.renew' })).toEqual([1, 2]);
    expect(listNumbers({ task: 'domain.renew', name: 'bar.rest' })).toEqual([2]);
    expect(listNumbers({})).toEqual([1, 2, 3]);
  });

  it('notifies listeners of each request and its response', async () => {
    const { service, sendJson } = await startSandbox();
    const notifiedRequests: RecordedRequest[] = [];
    const stopListening = service.onRequest((entry) => notifiedRequests.push(entry));
    await sendJson('DELETE', '/domain/bar.rest');
    expect(notifiedRequests.at(0)).toMatchObject({ n: 1, status: null, carriedOut: false });
    expect(notifiedRequests.at(-1)).toMatchObject({ n: 1, status: 200, carriedOut: true });
    stopListening();
    const countBefore = notifiedRequests.length;
    await sendJson('DELETE', '/domain/deli.rest');
    expect(notifiedRequests.length).toBe(countBefore);
  });

  it('keeps the last 10,000 requests', async () => {
    const { Recorder } = await import('../src/recorder.ts');
    const { service, sendJson } = await startSandbox();
    await sendJson('DELETE', '/domain/bar.rest');
    const [first] = service.requests;
    if (first === undefined) throw new Error('no request was logged');
    const recorder = new Recorder();
    const { n: _, ...request } = first;
    for (let count = 0; count < 10_005; count += 1) recorder.add(request);
    expect(recorder.requests).toHaveLength(10_000);
    expect(recorder.requests[0]?.n).toBe(6);
    recorder.update(10_005, { status: 418 });
    recorder.update(5, { status: 418 });
    expect(recorder.requests.filter((one) => one.status === 418).map((one) => one.n)).toEqual([10_005]);
  });

  it('records a request with an incomplete body, which isn’t carried out', async () => {
    const { service } = await startSandbox();
    const requestEnd = new Promise<void>((resolve) => {
      service.onRequest((entry) => entry.durationMs !== null && resolve());
    });
    const socket = connect(Number(new URL(service.jsonUrl).port), '127.0.0.1');
    socket.end(
      'POST /v1/domain/cafe.rest/_renew HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{"per',
    );
    await requestEnd;
    expect(service.requests).toMatchObject([{ path: '/v1/domain/cafe.rest/_renew', body: null, task: null }]);
    expect(service.state.charges).toEqual([]);
    socket.destroy();
  });

  it('contains no secrets of valid or invalid requests', async () => {
    const { service, sendJson, sendXml } = await startSandbox();
    const secrets = [
      alice.password,
      tina.password,
      trustedApplication.password,
      SANDBOX_TRANSFERABLE_DOMAIN.authCode,
    ];
    const login = await sendJson('POST', '/login', alice, {});
    const [, session = ''] = /service_session=([^;]+)/.exec(String(login.headers['set-cookie'])) ?? [];
    await sendJson('GET', '/logout', undefined, { cookie: `service_session=${session}` });
    await sendJson('GET', '/logout', undefined, { 'x-service-sessionid': session });
    const auth = SANDBOX_TRANSFERABLE_DOMAIN.authCode;
    await sendJson('POST', '/domain/_transfer', { ...buildDomainPayload('bistro.rest'), auth });
    await sendJson('POST', '/domain/_transfer', {
      ...buildDomainPayload('bistro.rest'),
      auth,
      unknown: { password: auth },
    });
    await sendJson('POST', '/domain/_transfer', `{"auth":"${auth}"`);
    await sendJson('POST', '/nowhere', { password: alice.password });
    await sendJson(
      'POST',
      '/login',
      alice,
      buildBasicAuthHeader(trustedApplication.uuid, trustedApplication.password),
    );
    const token = new TOTP({ secret: Secret.fromBase32(tina.totpSecret) }).generate({ timestamp: START });
    const authBlock = `<auth><user>tina</user><context>4</context><password>${tina.password}</password><token>${token}</token></auth>`;
    const opened = await sendXml(`<request>${authBlock}<task><code>1321001</code></task></request>`);
    const [, hash = ''] = /<hash>(.*)<\/hash>/.exec(opened.text) ?? [];
    await sendXml(
      `<request><auth_session><hash>${hash}</hash></auth_session><task><code>1321003</code></task></request>`,
    );
    const tricky = '<password><![CDATA[</password>]]>alice-sandbox-password</password>';
    await sendXml(`<request><auth><user>a</user>${tricky}</auth><task><code>1</code></task></request>`);
    await sendXml(`<request><auth><password>${alice.password}</auth></request>`);

    const log = inspect(service.requests, { depth: 20, maxStringLength: null });
    for (const secret of [...secrets, token, hash, session]) {
      expect(secret, 'secret in the test').not.toBe('');
      const encodedSecrets = [
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString('base64').slice(0, -4),
      ];
      for (const encodedSecret of encodedSecrets)
        expect(log.includes(encodedSecret), `the log shows ${encodedSecret}`).toBe(false);
    }
    expect(log).toContain("user: 'tina'");
    expect(log).toContain('<token>[secret]</token>');
    expect(log).toContain("auth: '[secret]'");
  });
});
