import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import { type Fault, isCarriedOut, type RequestInterface } from './faults.ts';
import type { RefusedWith } from './refusal.ts';
import type { RudeAnswer } from './rude.ts';

/** Applies faults, which replace the correct response. */

const HUGE_BYTES = 50_000_000;
const HUGE_CHUNK = Buffer.alloc(256 * 1024, 'a');
const TRICKLE_MS = 100;

export interface Bite {
  readonly fault: Fault;
  readonly via: RequestInterface;
  readonly response: ServerResponse;
  /** Carries out the task and returns the correct response. */
  readonly carryOut: () => Answer;
  /** Formats a refusal as the interface does. */
  readonly refuse: (refusal: RefusedWith) => Answer;
}

/** The response that was sent. Null if no status line, or no readable envelope, was sent. */
export interface SentResponse {
  readonly status: number | null;
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
export async function bite({ fault, via, response, carryOut, refuse }: Bite): Promise<SentResponse> {
  if (fault.kind === 'slow') return sendLate(response, fault.delayMs, isCarriedOut(fault), carryOut);
  const answer = isCarriedOut(fault)
    ? carryOut()
    : refuse({ code: 'EF01002', message: 'nothing was done', httpStatus: 200 });
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
        return sendAnswer(
          response,
          refuse({ code: 'EF01002', message: 'internal error', httpStatus: status }),
        );
      }
      return sendText(
        response,
        status,
        'text/plain',
        status === 500 ? 'Internal Server Error' : 'Unavailable',
      );
    }
    case 'status_429':
      response.setHeader('retry-after', String(fault.retryAfter ?? 1));
      return sendText(response, 429, 'text/plain', 'Too Many Requests');
    case 'cut_json':
    case 'cut_xml':
      return sendCut(response, answer, fault);
    case 'html':
      return sendText(
        response,
        200,
        'text/html',
        '<!doctype html><title>Maintenance</title><p>Back soon.</p>',
      );
    case 'redirect_307':
      response.setHeader('location', fault.location ?? '/elsewhere');
      return sendText(response, 307, 'text/plain', 'Temporary Redirect');
    case 'trickle':
      return trickle(response, answer, fault.everyMs ?? TRICKLE_MS);
    case 'huge':
      return sendHuge(response, answer, via, fault.bytes ?? HUGE_BYTES);
    case 'doctype':
      return unreadable(sendAnswer(response, { ...answer, body: addDoctype(answer.body) }));
    case 'wrong_type':
      return unreadable(sendAnswer(response, { ...answer, httpStatus: 200, body: WRONG_TYPE[via] }));
    case 'other_status':
      return sendAnswer(response, replaceStatus(answer, fault));
    case 'refuse':
      return sendAnswer(
        response,
        refuse({ code: fault.code, message: fault.text, httpStatus: fault.httpStatus }),
      );
    case 'rdap_not_found':
      return sendAnswer(response, refuse({ code: '404', message: 'not found', httpStatus: 404 }));
    case 'rdap_wrong_date': {
      const body = answer.body.replace(/("expiration","eventDate":")[^"]*/, '$1soon');
      return sendAnswer(response, { ...answer, body });
    }
  }
}

const WRONG_TYPE: Record<RequestInterface, string> = {
  json: '{"stid":7,"status":"S0105","object":[],"messages":{},"data":"none"}',
  xml: '<response><result><status>S0105</status></result></response>',
  rdap: '{"objectClassName":"domain","events":{"expiration":7}}',
};

/** The sandbox always formats the status in the same way, so its first code and type can be found in the text. */
function replaceStatus(answer: Answer, { code, type }: { code?: string; type?: string }): Answer {
  const put = (body: string, name: string, value: string | undefined): string =>
    value === undefined
      ? body
      : body
          .replace(new RegExp(`("status":\\{[^}]*"${name}":")[^"]*`), `$1${value}`)
          .replace(new RegExp(`(<status>.*<${name}>)[^<]*`), `$1${value}`);
  return { ...answer, body: put(put(answer.body, 'code', code), 'type', type), code: code ?? answer.code };
}

function addDoctype(xml: string): string {
  const doctype = '<!DOCTYPE response [<!ENTITY more "more">]>';
  return xml.replace(/^(<\?xml[^>]*\?>)?/, (declaration) => `${declaration}${doctype}`);
}

function unreadable(sent: SentResponse): SentResponse {
  return { ...sent, code: null };
}

function sendText(response: ServerResponse, httpStatus: number, type: string, body: string): SentResponse {
  return sendAnswer(response, { httpStatus, headers: { 'content-type': type }, body, code: null });
}

async function sendLate(
  response: ServerResponse,
  delayMs: number,
  carriedOutFirst: boolean,
  carryOut: () => Answer,
): Promise<SentResponse> {
  const first = carriedOutFirst ? carryOut() : undefined;
  await pause(delayMs, closing(response));
  return response.destroyed ? { status: null, code: null } : sendAnswer(response, first ?? carryOut());
}

function sendCut(
  response: ServerResponse,
  answer: Answer,
  fault: { bytes?: number; abrupt?: boolean },
): SentResponse {
  const whole = Buffer.from(answer.body);
  const part = whole.subarray(0, fault.bytes ?? Math.floor(whole.length / 2));
  const length = fault.abrupt === true ? whole.length : part.length;
  response.writeHead(answer.httpStatus, { ...answer.headers, 'content-length': length });
  if (fault.abrupt === true) response.write(part, () => response.socket?.destroy());
  else response.end(part);
  return { status: answer.httpStatus, code: null };
}

async function trickle(response: ServerResponse, answer: Answer, everyMs: number): Promise<SentResponse> {
  const whole = Buffer.from(answer.body);
  const closed = closing(response);
  response.writeHead(answer.httpStatus, { ...answer.headers, 'content-length': whole.length });
  for (let sent = 0; sent < whole.length && !closed.aborted; sent += 1) {
    response.write(whole.subarray(sent, sent + 1));
    await pause(everyMs, closed);
  }
  response.end();
  return { status: answer.httpStatus, code: closed.aborted ? null : answer.code };
}

async function sendHuge(
  response: ServerResponse,
  answer: Answer,
  via: RequestInterface,
  bytes: number,
): Promise<SentResponse> {
  const closed = closing(response);
  response.writeHead(answer.httpStatus, answer.headers);
  response.write(via === 'xml' ? '<response><padding>' : '{"padding":"');
  for (let sent = 0; sent < bytes && !closed.aborted; sent += HUGE_CHUNK.length) {
    if (!response.write(HUGE_CHUNK)) {
      await once(response, 'drain', { signal: closed }).catch(unlessClosed(closed));
    }
  }
  response.end(via === 'xml' ? '</padding></response>' : '"}');
  return { status: answer.httpStatus, code: null };
}

/** A signal that aborts when the client has disconnected. */
function closing(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  if (response.destroyed) closed.abort();
  else response.once('close', () => closed.abort());
  return closed.signal;
}

/** Waits, but only until the client disconnects. */
async function pause(ms: number, closed: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: closed }).catch(unlessClosed(closed));
}

function unlessClosed(closed: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!closed.aborted) throw error;
  };
}
