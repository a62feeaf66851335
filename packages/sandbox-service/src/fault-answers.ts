import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import { type Fault, isCarriedOut, type RequestInterface } from './faults.ts';
import type { RefusalDetails } from './refusal.ts';
import type { RudeAnswer } from './rude.ts';

const DEFAULT_HUGE_BYTES = 50_000_000;
const HUGE_CHUNK = Buffer.alloc(256 * 1024, 'a');
const DEFAULT_TRICKLE_MS = 100;
const MAINTENANCE_PAGE = '<!doctype html><title>Maintenance</title><p>Back soon.</p>';

export interface FaultContext {
  readonly fault: Fault;
  readonly interfaceName: RequestInterface;
  readonly response: ServerResponse;
  /** Carries out the task and returns the correct response. */
  readonly carryOut: () => Answer;
  readonly refuse: (refusal: RefusalDetails) => Answer;
}

export interface SentResponse {
  /** Null if no status line was sent. */
  readonly status: number | null;
  /** Null if no readable envelope was sent. */
  readonly code: string | null;
}

export function sendAnswer(response: ServerResponse, answer: Answer | RudeAnswer): SentResponse {
  response.writeHead(answer.httpStatus, {
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.body),
  });
  response.end(answer.body);
  return { status: answer.httpStatus, code: answer.code };
}

/** Applies a fault to a request. Resolves when nothing more will be sent. */
export async function applyFault({
  fault,
  interfaceName,
  response,
  carryOut,
  refuse,
}: FaultContext): Promise<SentResponse> {
  if (fault.kind === 'slow') return sendLate(response, fault.delayMs, isCarriedOut(fault), carryOut);
  const answer = isCarriedOut(fault)
    ? carryOut()
    : refuse({ code: 'EF01002', message: 'the task was not carried out', httpStatus: 200 });
  switch (fault.kind) {
    case 'hang':
      if (!response.destroyed) await once(response, 'close');
      return { status: null, code: null };
    case 'drop_before':
    case 'drop_after':
      if (fault.reset === true) response.socket?.resetAndDestroy();
      else response.socket?.destroy();
      return { status: null, code: null };
    case 'status_500':
    case 'status_503': {
      const status = fault.kind === 'status_500' ? 500 : 503;
      if (fault.envelope === true) {
        const refusal = { code: 'EF01002', message: 'internal error', httpStatus: status };
        return sendAnswer(response, refuse(refusal));
      }
      const text = status === 500 ? 'Internal Server Error' : 'Unavailable';
      return sendText(response, status, 'text/plain', text);
    }
    case 'status_429':
      response.setHeader('retry-after', String(fault.retryAfter ?? 1));
      return sendText(response, 429, 'text/plain', 'Too Many Requests');
    case 'cut_json':
    case 'cut_xml':
      return sendCut(response, answer, fault);
    case 'html':
      return sendText(response, 200, 'text/html', MAINTENANCE_PAGE);
    case 'redirect_307':
      response.setHeader('location', fault.location ?? '/elsewhere');
      return sendText(response, 307, 'text/plain', 'Temporary Redirect');
    case 'trickle':
      return sendSlowly(response, answer, fault.everyMs ?? DEFAULT_TRICKLE_MS);
    case 'huge':
      return sendHuge(response, answer, interfaceName, fault.bytes ?? DEFAULT_HUGE_BYTES);
    case 'doctype':
      return clearCode(sendAnswer(response, { ...answer, body: addDoctype(answer.body) }));
    case 'wrong_type':
      return clearCode(
        sendAnswer(response, { ...answer, httpStatus: 200, body: WRONG_TYPE_BODIES[interfaceName] }),
      );
    case 'changed_status':
      return sendAnswer(response, replaceStatus(answer, fault));
    case 'refuse': {
      const { code, text, httpStatus } = fault;
      return sendAnswer(response, refuse({ code, message: text, httpStatus }));
    }
    case 'rdap_not_found':
      return sendAnswer(response, refuse({ code: '404', message: 'not found', httpStatus: 404 }));
    case 'rdap_wrong_date': {
      const body = answer.body.replace(/("expiration","eventDate":")[^"]*/, '$1soon');
      return sendAnswer(response, { ...answer, body });
    }
  }
}

const WRONG_TYPE_BODIES: Record<RequestInterface, string> = {
  json: '{"stid":7,"status":"S0105","object":[],"messages":{},"data":"none"}',
  xml: '<response><result><status>S0105</status></result></response>',
  rdap: '{"objectClassName":"domain","events":{"expiration":7}}',
};

/** Uses regular expressions, because the sandbox always formats the status in the same way. */
function replaceStatus(answer: Answer, { code, type }: { code?: string; type?: string }): Answer {
  const replaceField = (body: string, name: string, value: string | undefined): string =>
    value === undefined
      ? body
      : body
          .replace(new RegExp(`("status":\\{[^}]*"${name}":")[^"]*`), `$1${value}`)
          .replace(new RegExp(`(<status>.*<${name}>)[^<]*`), `$1${value}`);
  return {
    ...answer,
    body: replaceField(replaceField(answer.body, 'code', code), 'type', type),
    code: code ?? answer.code,
  };
}

function addDoctype(xml: string): string {
  const doctype = '<!DOCTYPE response [<!ENTITY more "more">]>';
  return xml.replace(/^(<\?xml[^>]*\?>)?/, (declaration) => `${declaration}${doctype}`);
}

function clearCode(sent: SentResponse): SentResponse {
  return { ...sent, code: null };
}

function sendText(
  response: ServerResponse,
  httpStatus: number,
  contentType: string,
  body: string,
): SentResponse {
  return sendAnswer(response, { httpStatus, headers: { 'content-type': contentType }, body, code: null });
}

async function sendLate(
  response: ServerResponse,
  delayMs: number,
  isCarriedOutFirst: boolean,
  carryOut: () => Answer,
): Promise<SentResponse> {
  const answer = isCarriedOutFirst ? carryOut() : undefined;
  await waitUnlessClosed(delayMs, createCloseSignal(response));
  return response.destroyed ? { status: null, code: null } : sendAnswer(response, answer ?? carryOut());
}

function sendCut(
  response: ServerResponse,
  answer: Answer,
  fault: { bytes?: number; abrupt?: boolean },
): SentResponse {
  const body = Buffer.from(answer.body);
  const part = body.subarray(0, fault.bytes ?? Math.floor(body.length / 2));
  const length = fault.abrupt === true ? body.length : part.length;
  response.writeHead(answer.httpStatus, { ...answer.headers, 'content-length': length });
  if (fault.abrupt === true) response.write(part, () => response.socket?.destroy());
  else response.end(part);
  return { status: answer.httpStatus, code: null };
}

async function sendSlowly(response: ServerResponse, answer: Answer, everyMs: number): Promise<SentResponse> {
  const body = Buffer.from(answer.body);
  const closeSignal = createCloseSignal(response);
  response.writeHead(answer.httpStatus, { ...answer.headers, 'content-length': body.length });
  for (let sentBytes = 0; sentBytes < body.length && !closeSignal.aborted; sentBytes += 1) {
    response.write(body.subarray(sentBytes, sentBytes + 1));
    await waitUnlessClosed(everyMs, closeSignal);
  }
  response.end();
  return { status: answer.httpStatus, code: closeSignal.aborted ? null : answer.code };
}

async function sendHuge(
  response: ServerResponse,
  answer: Answer,
  interfaceName: RequestInterface,
  bytes: number,
): Promise<SentResponse> {
  const closeSignal = createCloseSignal(response);
  response.writeHead(answer.httpStatus, answer.headers);
  response.write(interfaceName === 'xml' ? '<response><padding>' : '{"padding":"');
  for (let sentBytes = 0; sentBytes < bytes && !closeSignal.aborted; sentBytes += HUGE_CHUNK.length) {
    if (!response.write(HUGE_CHUNK)) {
      await once(response, 'drain', { signal: closeSignal }).catch(ignoreIfClosed(closeSignal));
    }
  }
  response.end(interfaceName === 'xml' ? '</padding></response>' : '"}');
  return { status: answer.httpStatus, code: null };
}

function createCloseSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

async function waitUnlessClosed(ms: number, closeSignal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: closeSignal }).catch(ignoreIfClosed(closeSignal));
}

function ignoreIfClosed(closeSignal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!closeSignal.aborted) throw error;
  };
}
