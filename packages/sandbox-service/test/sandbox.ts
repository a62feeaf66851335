import { XMLParser } from 'fast-xml-parser';
import { Agent, type Dispatcher, request } from 'undici';
import { onTestFinished } from 'vitest';
import { SANDBOX_ACCOUNTS } from '../src/accounts.ts';
import { type SandboxService, type SandboxServiceOptions, startSandboxService } from '../src/server.ts';

/** A sandbox with a clock that tests advance, and helpers for requests. */
export interface TestSandbox {
  readonly service: SandboxService;
  advanceClock(ms: number): void;
  /** Sends a request as alice in context 4, unless `headers` override it. */
  sendJson(
    method: Method,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<JsonAnswer>;
  sendXml(content: string): Promise<XmlAnswer>;
  fetchRdap(path: string): Promise<JsonAnswer>;
}

type Method = Dispatcher.HttpMethod;

export interface JsonAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  readonly body: Envelope;
}

/** The parts of a response that tests read. */
interface Envelope {
  readonly stid?: string;
  readonly status?: { readonly code: string; readonly text: string; readonly type: string };
  readonly object?: {
    readonly type: string;
    readonly value?: string;
    readonly summary?: number;
    readonly data?: unknown;
  };
  readonly messages?: readonly unknown[];
  readonly data?: readonly Record<string, unknown>[];
  readonly [other: string]: unknown;
}

interface XmlAnswer {
  readonly status: number;
  readonly text: string;
  readonly code: string;
  readonly type: string;
  readonly explanation: string;
  readonly result: Record<string, unknown>;
}

/** 27 February, so that tests cover leap days. */
export const START = Date.UTC(2027, 1, 27, 12);

const openSandboxes: { service: SandboxService; agent: Agent }[] = [];

/** Closes the sandboxes of a test. Runs after each test; tests can call it earlier if the order matters. */
export async function closeSandboxes(): Promise<void> {
  for (const { service, agent } of openSandboxes.splice(0)) {
    await service.close();
    await agent.destroy();
  }
}

export async function startSandbox(options: SandboxServiceOptions = {}): Promise<TestSandbox> {
  let time = START;
  const service = await startSandboxService({ now: () => time, ...options });
  const agent = new Agent();
  openSandboxes.push({ service, agent });
  onTestFinished(closeSandboxes);

  async function send(url: string, requestOptions: Partial<Dispatcher.RequestOptions>): Promise<JsonAnswer> {
    const answer = await request(url, { dispatcher: agent, ...requestOptions });
    const text = await answer.body.text();
    const isJson = /json/.test(String(answer.headers['content-type']));
    return { status: answer.statusCode, headers: answer.headers, text, body: isJson ? JSON.parse(text) : {} };
  }

  return {
    service,
    advanceClock(ms) {
      time += ms;
    },
    sendJson: (method, path, body, headers = buildAuthHeaders(SANDBOX_ACCOUNTS.alice)) =>
      send(service.jsonUrl + path, {
        method,
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    async sendXml(content) {
      const headers = { 'content-type': 'text/xml' };
      const { status, text } = await send(service.xmlUrl, { method: 'POST', headers, body: content });
      return { status, text, ...parseXml(text) };
    },
    fetchRdap: (path) => send(new URL(path, service.rdapBootstrapUrl).href, { method: 'GET' }),
  };
}

function parseXml(text: string): Pick<XmlAnswer, 'code' | 'type' | 'explanation' | 'result'> {
  const parsed = new XMLParser({ parseTagValue: false, isArray: (name) => name === 'msg' }).parse(text);
  const { result } = parsed.response;
  return { code: result.status.code, type: result.status.type, explanation: result.status.text, result };
}

export function buildAuthHeaders(account: {
  user: string;
  context: number;
  password: string;
}): Record<string, string> {
  return {
    ...buildBasicAuthHeader(account.user, account.password),
    'x-service-context': String(account.context),
  };
}

export function buildBasicAuthHeader(user: string, password: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

/** A valid payload for a registration or transfer. */
export function buildDomainPayload(name: string): Record<string, unknown> {
  return {
    name,
    ownerc: { id: 1001 },
    adminc: { id: 1002 },
    techc: { id: 1003 },
    nameServers: [{ name: 'ns1.dns.example' }, { name: 'ns2.dns.example' }],
  };
}
