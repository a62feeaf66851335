import { Agent, request } from 'undici';
import { afterAll, describe, expect, it } from 'vitest';
import { SANDBOX_ACCOUNTS } from '../src/accounts.ts';
import type { Fault } from '../src/faults.ts';
import type { SandboxService } from '../src/server.ts';
import { buildAuthHeaders, startSandbox, type TestSandbox } from './sandbox.ts';

const { alice } = SANDBOX_ACCOUNTS;

const agent = new Agent();
afterAll(() => agent.destroy());

interface Outcome {
  /** The HTTP status, or the client's error if the request failed. */
  readonly status: number | string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

/** Sends a renewal (JSON) or a contact update (XML). */
async function sendRequest(
  service: SandboxService,
  format: 'json' | 'xml',
  timeoutMs = 5_000,
): Promise<Outcome> {
  const signal = AbortSignal.timeout(timeoutMs);
  const task = '<task><code>400202</code><contact><id>501</id><city>Bern</city></contact></task>';
  const auth =
    '<auth><user>alice</user><context>4</context><password>alice-sandbox-password</password></auth>';
  const [url, contentType, body] =
    format === 'json'
      ? [`${service.jsonUrl}/domain/cafe.rest/_renew`, 'application/json', '{"period":1}']
      : [service.xmlUrl, 'text/xml', `<request>${auth}${task}</request>`];
  const requestHeaders = { ...(format === 'json' && buildAuthHeaders(alice)), 'content-type': contentType };
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: requestHeaders,
      body,
      signal,
      dispatcher: agent,
    });
    const { statusCode: status, headers } = answer;
    try {
      return { status, headers, text: await answer.body.text() };
    } catch (error) {
      return { status: `${status}, then ${getErrorName(error)}`, headers, text: '' };
    }
  } catch (error) {
    return { status: getErrorName(error), headers: {}, text: '' };
  }
}

function getErrorName(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function wasCarriedOut({ service }: TestSandbox): boolean {
  const [contact] = service.state.data.sslContacts;
  return service.state.charges.length > 0 || contact?.fields['city'] === 'Bern';
}

describe('a fault takes effect before or after the task', () => {
  it.each<[string, 'json' | 'xml', Fault, boolean, Partial<Outcome>]>([
    ['drop_before', 'json', { kind: 'drop_before' }, false, { status: 'UND_ERR_SOCKET' }],
    [
      'drop_before with a reset',
      'json',
      { kind: 'drop_before', reset: true },
      false,
      { status: 'ECONNRESET' },
    ],
    ['drop_after', 'json', { kind: 'drop_after' }, true, { status: 'UND_ERR_SOCKET' }],
    ['status_500', 'json', { kind: 'status_500' }, false, { status: 500, text: 'Internal Server Error' }],
    [
      'status_500 as an envelope',
      'json',
      { kind: 'status_500', envelope: true, carriedOut: true },
      true,
      { status: 500, text: expect.stringMatching(/"code":"EF01002".*"ERROR"/) },
    ],
    ['status_503', 'xml', { kind: 'status_503' }, false, { status: 503 }],
    [
      'status_429',
      'json',
      { kind: 'status_429', retryAfter: 7 },
      false,
      { status: 429, headers: expect.objectContaining({ 'retry-after': '7' }) },
    ],
    [
      'html',
      'json',
      { kind: 'html' },
      false,
      { status: 200, text: expect.stringMatching(/^<!doctype html>/) },
    ],
    [
      'redirect_307',
      'json',
      { kind: 'redirect_307', location: 'http://other.example/' },
      false,
      { status: 307, headers: expect.objectContaining({ location: 'http://other.example/' }) },
    ],
    [
      'wrong_type',
      'json',
      { kind: 'wrong_type' },
      true,
      { status: 200, text: expect.stringContaining('"status":"S0105"') },
    ],
    [
      'wrong_type over XML',
      'xml',
      { kind: 'wrong_type' },
      true,
      { text: expect.stringContaining('<status>S0105') },
    ],
    [
      'refuse',
      'json',
      { kind: 'refuse', code: 'EF01095', text: 'No <budget>.' },
      false,
      { status: 400, text: expect.stringContaining('"code":"EF01095","text":"No <budget>."') },
    ],
    [
      'refuse over XML',
      'xml',
      { kind: 'refuse', code: 'EF01095', text: 'No <budget>.' },
      false,
      { status: 200, text: expect.stringContaining('<code>EF01095</code><text>No &lt;budget&gt;.</text>') },
    ],
    [
      'changed_status',
      'json',
      { kind: 'changed_status', code: 'S0502', type: 'ERROR' },
      true,
      { status: 200, text: expect.stringMatching(/"status":\{"code":"S0502",.*"type":"ERROR"\}/) },
    ],
    [
      'changed_status over XML',
      'xml',
      { kind: 'changed_status', type: 'error' },
      true,
      { text: expect.stringMatching(/<status><code>S400202<\/code>.*<type>error<\/type>/) },
    ],
    [
      'doctype',
      'xml',
      { kind: 'doctype' },
      true,
      { text: expect.stringMatching(/^<\?xml[^>]*\?><!DOCTYPE response \[.*S400202/s) },
    ],
    [
      'slow',
      'json',
      { kind: 'slow', delayMs: 20 },
      true,
      { status: 200, text: expect.stringContaining('S0105') },
    ],
    [
      'slow before the task',
      'json',
      { kind: 'slow', delayMs: 20, carriedOut: false },
      true,
      { status: 200, text: expect.stringContaining('S0105') },
    ],
    [
      'trickle',
      'json',
      { kind: 'trickle', everyMs: 0 },
      true,
      { status: 200, text: expect.stringContaining('S0105') },
    ],
    ['abrupt cut', 'json', { kind: 'cut_json', abrupt: true }, true, { status: '200, then UND_ERR_SOCKET' }],
    ['cut at a byte', 'json', { kind: 'cut_json', bytes: 7 }, true, { status: 200, text: '{"stid"' }],
    ['cut_xml', 'xml', { kind: 'cut_xml', bytes: 5 }, true, { status: 200, text: '<?xml' }],
    ['cut at byte 0', 'json', { kind: 'cut_json', bytes: 0 }, true, { status: 200, text: '' }],
  ])('%s', async (_, format, fault, carriedOut, expected) => {
    const sandbox = await startSandbox();
    sandbox.service.faults.set(fault);
    expect(await sendRequest(sandbox.service, format)).toMatchObject(expected);
    expect(wasCarriedOut(sandbox), 'carried out').toBe(carriedOut);
  });

  it('cut_json cuts the response in half by default', async () => {
    const { service } = await startSandbox();
    const wholeAnswer = await sendRequest(service, 'json');
    service.faults.set({ kind: 'cut_json' });
    const cutAnswer = await sendRequest(service, 'json');
    expect(cutAnswer.status).toBe(200);
    expect(cutAnswer.text.length).toBe(Math.floor(wholeAnswer.text.length / 2));
    expect(() => JSON.parse(cutAnswer.text)).toThrow();
  });

  it('hang never responds', async () => {
    const sandbox = await startSandbox();
    sandbox.service.faults.set({ kind: 'hang' });
    expect((await sendRequest(sandbox.service, 'json', 60)).status).toBe('TimeoutError');
    expect(wasCarriedOut(sandbox)).toBe(false);
    expect(sandbox.service.requests).toMatchObject([{ fault: 'hang', status: null, carriedOut: false }]);
  });

  it('trickle is too slow for the client’s timeout', async () => {
    const sandbox = await startSandbox();
    sandbox.service.faults.set({ kind: 'trickle' });
    expect((await sendRequest(sandbox.service, 'json', 150)).status).toBe('200, then TimeoutError');
    expect(wasCarriedOut(sandbox)).toBe(true);
  });

  it('huge sends 50 MB', async () => {
    const sandbox = await startSandbox();
    sandbox.service.faults.set({ kind: 'huge' });
    const answer = await request(`${sandbox.service.jsonUrl}/domain/cafe.rest/_renew`, {
      method: 'POST',
      headers: { ...buildAuthHeaders(alice), 'content-type': 'application/json' },
      body: '{"period":1}',
      dispatcher: agent,
    });
    let bytes = 0;
    for await (const chunk of answer.body) bytes += Buffer.byteLength(chunk);
    expect(bytes).toBeGreaterThan(50_000_000);
    expect(wasCarriedOut(sandbox)).toBe(true);
  });
});

describe('faults', () => {
  it('affect matching requests, a given number of times, in the order they were set', async () => {
    const { service, sendJson } = await startSandbox();
    service.faults.set({ kind: 'status_500', match: { task: 'domain.renew', name: 'bar.rest' }, times: 2 });
    service.faults.set({ kind: 'status_503', match: { task: 'domain.renew' }, times: 1 });
    service.faults.set({ kind: 'html', match: { ctid: 'abc', interface: 'json', method: 'DELETE' } });
    const renew = async (name: string) =>
      (await sendJson('POST', `/domain/${name}/_renew`, { period: 1 })).status;
    expect([await renew('bar.rest'), await renew('deli.rest'), await renew('deli.rest')]).toEqual([
      500, 503, 200,
    ]);
    expect([await renew('bar.rest'), await renew('bar.rest')]).toEqual([500, 200]);
    expect((await sendJson('DELETE', '/domain/deli.rest?ctid=abd')).text).toContain('S0103');
    expect((await sendJson('DELETE', '/domain/bar.rest?ctid=abc')).text).toContain('<title>');
    expect(service.faults.list()).toHaveLength(1);
    service.faults.clear();
    expect((await sendJson('DELETE', '/domain/bar.rest?ctid=abc')).text).toContain('S0103');
  });

  it('don’t affect interfaces that don’t support them', async () => {
    const { service } = await startSandbox();
    service.faults.set({ kind: 'doctype' });
    service.faults.set({ kind: 'cut_xml' });
    service.faults.set({ kind: 'rdap_not_found' });
    expect((await sendRequest(service, 'json')).text).toContain('S0105');
    expect(service.faults.list()).toHaveLength(3);
  });

  it('of the kind hang end when the service closes', async () => {
    const { service } = await startSandbox();
    service.faults.set({ kind: 'hang' });
    const hanging = sendRequest(service, 'json');
    await new Promise<void>((resolve) => service.onRequest(() => resolve()));
    await service.close();
    expect((await hanging).status).toBe('UND_ERR_SOCKET');
  });
});
