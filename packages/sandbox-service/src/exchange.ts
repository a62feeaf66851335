import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from './answer.ts';
import { applyFault, type SentResponse, sendAnswer } from './fault-answers.ts';
import type { Faults, RequestInterface } from './faults.ts';
import { type ReceivedRequest, type RequestPlan, readBody } from './incoming.ts';
import { createJsonError, planJson } from './json/interface.ts';
import type { ServiceState } from './operations/caller.ts';
import { createRdapError, planRdap } from './rdap.ts';
import { describeRequest, type Recorder } from './recorder.ts';
import { Refusal, type RefusalDetails } from './refusal.ts';
import { applyRudeness, type Rudeness } from './rude.ts';
import { createXmlError, planXml } from './xml/interface.ts';

export interface Sandbox {
  readonly service: ServiceState;
  readonly recorder: Recorder;
  readonly faults: Faults;
  readonly rudeness: Rudeness;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
}

interface InterfaceHandler {
  readonly interfaceName: RequestInterface | 'unknown';
  plan(incoming: ReceivedRequest): RequestPlan;
  refuse(refusal: RefusalDetails): Answer;
}

/** Reads, parses and logs a request, then carries it out or applies a fault. */
export async function handleRequest(
  sandbox: Sandbox,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { recorder, faults } = sandbox;
  const startedAt = performance.now();
  const [path = '', search] = (request.url ?? '').split(/\?(.*)/s);
  const handler = findHandler(sandbox, path);
  const { incoming, refusal } = await readRequest(request, path, new URLSearchParams(search));
  if (refusal?.httpStatus === 413) response.setHeader('connection', 'close');

  const plan =
    refusal === undefined ? handler.plan(incoming) : createRefusalPlan(() => handler.refuse(refusal));
  const recordedRequest = recorder.add({
    at: sandbox.service.clock.realTime(),
    ...describeRequest(handler.interfaceName, incoming, plan, sandbox.service.sessions),
  });
  const carryOut = (): Answer => {
    const answer = plan.run();
    recorder.update(recordedRequest.n, { carriedOut: true });
    return answer;
  };

  const sentResponse = await respond();
  recorder.update(recordedRequest.n, {
    status: sentResponse.status,
    answerCode: sentResponse.code,
    durationMs: performance.now() - startedAt,
  });

  async function respond(): Promise<SentResponse> {
    if (response.destroyed) return { status: null, code: null };
    const { interfaceName } = handler;
    const fault =
      interfaceName === 'unknown' ? undefined : faults.take({ ...recordedRequest, interface: interfaceName });
    if (fault === undefined || interfaceName === 'unknown') {
      const { seed } = sandbox.rudeness;
      const answer = carryOut();
      if (seed === undefined) return sendAnswer(response, answer);
      const earlierRequestCount = recorder.requests.filter(
        ({ n, path: otherPath }) => n < recordedRequest.n && otherPath === path,
      ).length;
      return sendAnswer(response, applyRudeness(answer, interfaceName, { seed, path, earlierRequestCount }));
    }
    recorder.update(recordedRequest.n, { fault: fault.kind });
    return applyFault({ fault, interfaceName, response, carryOut, refuse: handler.refuse });
  }
}

/** If the body can't be read, returns a refusal and an empty body. Also refuses requests for another host. */
async function readRequest(
  request: IncomingMessage,
  path: string,
  query: URLSearchParams,
): Promise<{ incoming: ReceivedRequest; refusal?: Refusal }> {
  const requestHead = { method: request.method ?? '', path, query, headers: request.headers };
  try {
    const incoming = { ...requestHead, body: await readBody(request) };
    return isLoopbackHost(request.headers.host)
      ? { incoming }
      : {
          incoming,
          refusal: new Refusal('malformed', 'host: the sandbox only responds to its own address', 421),
        };
  } catch (error) {
    const refusal =
      error instanceof Refusal
        ? error
        : new Refusal('malformed', 'the connection closed before the body ended');
    return { incoming: { ...requestHead, body: new Uint8Array() }, refusal };
  }
}

/** Protects against DNS rebinding. */
function isLoopbackHost(host: string | undefined): boolean {
  return /^(?:127\.0\.0\.1|localhost)(?::[0-9]+)?$/.test(host ?? '');
}

function createRefusalPlan(run: () => Answer): RequestPlan {
  return { task: null, name: null, claim: null, loggedBody: null, run };
}

function findHandler({ service, origin }: Sandbox, path: string): InterfaceHandler {
  if (path === '/xml') {
    return {
      interfaceName: 'xml',
      plan: (incoming) => planXml(service, incoming),
      refuse: (refusal) => createXmlError(service, refusal),
    };
  }
  if (path.startsWith('/rdap/')) {
    return {
      interfaceName: 'rdap',
      plan: (incoming) => planRdap(service, incoming, path.slice('/rdap'.length), origin),
      refuse: (refusal) => createRdapError(refusal.httpStatus ?? 400, refusal.message),
    };
  }
  const refuse = (refusal: RefusalDetails): Answer => createJsonError(service, refusal);
  if (path.startsWith('/v1/')) {
    return {
      interfaceName: 'json',
      plan: (incoming) => planJson(service, incoming, path.slice('/v1'.length)),
      refuse,
    };
  }
  const notFound = new Refusal('not_found', `there is no resource ${path}`);
  return { interfaceName: 'unknown', plan: () => createRefusalPlan(() => refuse(notFound)), refuse };
}
