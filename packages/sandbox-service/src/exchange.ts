import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from './answer.ts';
import { bite, type SentResponse, sendAnswer } from './fault-answers.ts';
import type { Faults, RequestInterface } from './faults.ts';
import { type Incoming, type Plan, readBody } from './incoming.ts';
import { jsonRefusal, planJson } from './json/interface.ts';
import type { ServiceState } from './operations/caller.ts';
import { planRdap, rdapError } from './rdap.ts';
import { describeRequest, type Recorder } from './recorder.ts';
import { Refusal, type RefusedWith } from './refusal.ts';
import { type Rudeness, rudely } from './rude.ts';
import { planXml, xmlRefusal } from './xml/interface.ts';

/**
 * Handles a request from its first byte to its response: it is read, parsed, logged, and then carried out or answered
 * with a fault.
 */

export interface Sandbox {
  readonly service: ServiceState;
  readonly recorder: Recorder;
  readonly faults: Faults;
  readonly rude: Rudeness;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
}

/** The functions of an interface that handle a request. */
interface Counter {
  readonly via: RequestInterface | 'unknown';
  plan(incoming: Incoming): Plan;
  refuse(refusal: RefusedWith): Answer;
}

export async function exchange(
  sandbox: Sandbox,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { recorder, faults } = sandbox;
  const started = performance.now();
  const [path = '', search] = (request.url ?? '').split(/\?(.*)/s);
  const counter = counterFor(sandbox, path);
  const { incoming, refusal } = await read(request, path, new URLSearchParams(search));
  if (refusal?.httpStatus === 413) response.setHeader('connection', 'close');

  const plan = refusal === undefined ? counter.plan(incoming) : refusedPlan(() => counter.refuse(refusal));
  const at = sandbox.service.clock.real();
  const recorded = recorder.add({
    at,
    ...describeRequest(counter.via, incoming, plan, sandbox.service.sessions),
  });
  const carryOut = (): Answer => {
    const answer = plan.run();
    recorder.update(recorded.n, { carriedOut: true });
    return answer;
  };

  const sent = await answerOrBite();
  recorder.update(recorded.n, {
    status: sent.status,
    answerCode: sent.code,
    durationMs: performance.now() - started,
  });

  async function answerOrBite(): Promise<SentResponse> {
    if (response.destroyed) return { status: null, code: null };
    const { via } = counter;
    const fault = via === 'unknown' ? undefined : faults.take({ ...recorded, interface: via });
    if (fault === undefined || via === 'unknown') {
      const { seed } = sandbox.rude;
      const answer = carryOut();
      if (seed === undefined) return sendAnswer(response, answer);
      const asked = recorder.requests.filter(({ n, path: other }) => n < recorded.n && other === path).length;
      return sendAnswer(response, rudely(answer, via, { seed, path, asked }));
    }
    recorder.update(recorded.n, { fault: fault.kind });
    return bite({ fault, via, response, carryOut, refuse: counter.refuse });
  }
}

/** A request that can't be read is refused, and logged without its body. */
async function read(
  request: IncomingMessage,
  path: string,
  query: URLSearchParams,
): Promise<{ incoming: Incoming; refusal?: Refusal }> {
  const head = { method: request.method ?? '', path, query, headers: request.headers };
  try {
    const incoming = { ...head, body: await readBody(request) };
    return isLoopback(request.headers.host)
      ? { incoming }
      : {
          incoming,
          refusal: new Refusal('malformed', 'host: the sandbox answers to its own address only', 421),
        };
  } catch (error) {
    const refusal =
      error instanceof Refusal ? error : new Refusal('malformed', 'the request ended before its body did');
    return { incoming: { ...head, body: new Uint8Array() }, refusal };
  }
}

/** Protects against web pages whose own host name resolves to the sandbox. */
function isLoopback(host: string | undefined): boolean {
  return /^(?:127\.0\.0\.1|localhost)(?::[0-9]+)?$/.test(host ?? '');
}

function refusedPlan(run: () => Answer): Plan {
  return { task: null, name: null, claim: null, loggedBody: null, run };
}

function counterFor({ service, origin }: Sandbox, path: string): Counter {
  if (path === '/xml') {
    return {
      via: 'xml',
      plan: (incoming) => planXml(service, incoming),
      refuse: (refusal) => xmlRefusal(service, refusal),
    };
  }
  if (path.startsWith('/rdap/')) {
    return {
      via: 'rdap',
      plan: (incoming) => planRdap(service, incoming, path.slice('/rdap'.length), origin),
      refuse: (refusal) => rdapError(refusal.httpStatus ?? 400, refusal.message),
    };
  }
  const refuse = (refusal: RefusedWith): Answer => jsonRefusal(service, refusal);
  if (path.startsWith('/v1/')) {
    return { via: 'json', plan: (incoming) => planJson(service, incoming, path.slice('/v1'.length)), refuse };
  }
  const unknown = new Refusal('not_found', `there is no resource ${path}`);
  return { via: 'unknown', plan: () => refusedPlan(() => refuse(unknown)), refuse };
}
