import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { Agent, type Dispatcher, request } from 'undici';
import { createServiceClient, type ServiceClient } from '../src/service/client.ts';
import { Secret } from '../src/service/secret.ts';
import { domainUpdateNameservers } from '../src/service/tasks/domain.ts';
import { preregSearch } from '../src/service/tasks/prereg.ts';
import { redirectUpdate } from '../src/service/tasks/redirect.ts';

/*
 * The cost of a client call, compared with the same call by hand: `undici` and `JSON.parse`, or `undici` and
 * fast-xml-parser's validate and parse with its default options. Both sides build every request from scratch, and their
 * service runs in a separate process.
 *
 * The calls charge nothing. A task that charges deliberately opens its own connection each time, with a TCP (and TLS)
 * handshake that the reference doesn't pay.
 */

/** One comparison: calls a second per round, with ours and the reference's measured alternately. */
export interface ClientRow {
  readonly name: string;
  readonly reference: string;
  readonly unit: 'calls/s';
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  /** The lowest allowed ratio of ours to theirs. */
  readonly target: number;
}

export interface ClientRowOptions {
  /** The number of measurements per side. */
  readonly rounds: number;
  /** The minimum duration of each measurement, in milliseconds. */
  readonly roundMs: number;
  readonly concurrency: number;
}

const TARGET = 0.85;

type Call = () => Promise<unknown>;

export async function* measureClientRows(options: ClientRowOptions): AsyncGenerator<ClientRow> {
  const service = await startService();
  const agent = new Agent();
  try {
    for (const { name, reference, ours, theirs, close } of createPairs(service.origin, agent)) {
      const row = { name, reference, unit: 'calls/s' as const, target: TARGET };
      yield { ...row, ...(await measureAlternately(ours, theirs, options)) };
      await close();
    }
  } finally {
    await agent.close();
    service.stop();
  }
}

/** Both sides are measured in alternating slices, so that other load of the machine affects both. */
const SLICE_MS = 25;

async function measureAlternately(
  ours: Call,
  theirs: Call,
  { rounds, roundMs, concurrency }: ClientRowOptions,
): Promise<{ ours: number[]; theirs: number[] }> {
  const measured: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
  // Round 0 compiles code and opens connections.
  for (let round = 0; round <= rounds; round += 1) {
    const slices = Math.ceil(roundMs / SLICE_MS);
    const [ourRate, theirRate] = [new Rate(ours, concurrency), new Rate(theirs, concurrency)];
    for (let slice = 0; slice < slices; slice += 1) {
      // A B B A, so that neither side always comes first.
      const [first, second] = (slice + round) % 2 === 0 ? [ourRate, theirRate] : [theirRate, ourRate];
      await first.measure(SLICE_MS);
      await second.measure(SLICE_MS);
    }
    if (round === 0) continue;
    measured.ours.push(ourRate.perSecond());
    measured.theirs.push(theirRate.perSecond());
  }
  return measured;
}

/** Counts completed calls a second, with fixed concurrency. */
class Rate {
  readonly #call: Call;
  readonly #concurrency: number;
  #calls = 0;
  #milliseconds = 0;

  constructor(call: Call, concurrency: number) {
    this.#call = call;
    this.#concurrency = concurrency;
  }

  async measure(milliseconds: number): Promise<void> {
    const start = performance.now();
    const caller = async (): Promise<void> => {
      while (performance.now() - start < milliseconds) {
        await this.#call();
        this.#calls += 1;
      }
    };
    await Promise.all(Array.from({ length: this.#concurrency }, caller));
    this.#milliseconds += performance.now() - start;
  }

  perSecond(): number {
    return (this.#calls * 1000) / this.#milliseconds;
  }
}

interface CallPair {
  readonly name: string;
  readonly reference: string;
  readonly ours: Call;
  readonly theirs: Call;
  readonly close: () => Promise<void>;
}

const USER = 'customer';
const CONTEXT = 4;
const PASSWORD = 'a password of some length';
const NAMESERVERS = [{ name: 'ns1.example.net' }, { name: 'ns2.example.net' }];

function* createPairs(origin: string, agent: Agent): Generator<CallPair> {
  for (const size of [0, 1, 20, 100]) {
    const client = createClient(`${origin}/json-${size}`);
    yield {
      name: `JSON call (no charge), ${describeResponse(size)}`,
      reference: 'undici and JSON.parse',
      ours: jsonCall(client, size),
      theirs: bareJson(origin, agent, size),
      close: () => client.close(),
    };
  }
  for (const size of [0, 20, 100]) {
    const client = createClient(origin, `${origin}/xml-${size}`);
    yield {
      name: `XML call (no charge), ${describeResponse(size)}`,
      reference: 'undici and fast-xml-parser',
      ours: xmlCall(client, size),
      theirs: bareXml(origin, agent, size),
      close: () => client.close(),
    };
  }
}

function describeResponse(size: number): string {
  if (size === 0) return 'an update';
  return size === 1 ? 'a record' : `${size} records`;
}

function createClient(jsonUrl: string, xmlUrl?: string): ServiceClient {
  return createServiceClient({
    jsonUrl,
    xmlUrl,
    credential: { method: 'password', user: USER, context: CONTEXT, password: new Secret(PASSWORD) },
    jsonAuth: 'basic',
    timeoutMs: 30_000,
  });
}

function jsonCall(client: ServiceClient, size: number): Call {
  if (size === 0) {
    return () => client.run(domainUpdateNameservers, { name: 'cafe.rest', nameServers: NAMESERVERS });
  }
  return () =>
    client.run(preregSearch, {
      view: { children: true, offset: 0, limit: size },
      filters: [{ key: 'tld', value: 'rest' }],
    });
}

function bareJson(origin: string, agent: Agent, size: number): Call {
  const path = size === 0 ? 'domain/cafe.rest' : 'domainPrereg/_search';
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    authorization: `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`,
    'x-service-context': String(CONTEXT),
  };
  return async () => {
    const body =
      size === 0
        ? { nameServers: NAMESERVERS }
        : {
            view: { children: true, offset: 0, limit: size },
            filters: [{ key: 'tld', operator: 'EQUAL', value: 'rest' }],
          };
    const answer = await sendBare(agent, `${origin}/json-${size}/${path}`, {
      method: size === 0 ? 'PUT' : 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return JSON.parse(answer);
  };
}

function xmlCall(client: ServiceClient, size: number): Call {
  const call = { interface: 'xml' as const };
  if (size === 0) {
    const redirect = { source: 'a.rest', target: 'b.rest', type: 'domain', mode: 'frame' } as const;
    return () => client.run(redirectUpdate, redirect, call);
  }
  return () =>
    client.run(
      preregSearch,
      { view: { children: true, offset: 0, limit: size }, filters: [{ key: 'tld', value: 'rest' }] },
      call,
    );
}

function bareXml(origin: string, agent: Agent, size: number): Call {
  const headers = {
    accept: 'application/xml, text/xml',
    'content-type': 'application/xml; charset=utf-8',
  };
  const task =
    size === 0
      ? '<code>0502</code><redirect><type>domain</type><mode>frame</mode><source>a.rest</source>' +
        '<target>b.rest</target></redirect>'
      : `<code>0110005</code><view><children>true</children><offset>0</offset><limit>${size}</limit></view>` +
        '<where><and><key>tld</key><operator>like</operator><value>rest</value></and></where>';
  return async () => {
    const auth = `<auth><user>${USER}</user><context>${CONTEXT}</context><password>${PASSWORD}</password></auth>`;
    const body = `<?xml version="1.0" encoding="UTF-8"?><request>${auth}<task>${task}</task></request>`;
    const answer = await sendBare(agent, `${origin}/xml-${size}`, { method: 'POST', headers, body });
    if (XMLValidator.validate(answer) !== true) throw new Error('the response is not well-formed');
    return new XMLParser().parse(answer);
  };
}

async function sendBare(
  dispatcher: Dispatcher,
  url: string,
  options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
): Promise<string> {
  const { body } = await request(url, { dispatcher, ...options });
  return body.text();
}

async function startService(): Promise<{ origin: string; stop(): void }> {
  const child = fork(fileURLToPath(new URL('./client-service.ts', import.meta.url)), {
    execArgv: ['--import', new URL('../scripts/typescript.mjs', import.meta.url).href],
  });
  const port = await new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', () => reject(new Error('the service of the client rows ended')));
  });
  return { origin: `http://127.0.0.1:${String(port)}`, stop: () => void child.kill() };
}
