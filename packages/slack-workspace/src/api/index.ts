import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Core } from '../core.ts';
import { SlackError } from '../errors.ts';
import type { BreakingFault } from '../faults.ts';
import { readBody, sendJson, sendText } from '../http.ts';
import { isObject, textOf } from '../problems.ts';
import type { JsonObject } from '../protocol.ts';
import { chatMethods, RateLimited } from './chat.ts';
import { fileMethods } from './files.ts';
import type { Method } from './method.ts';
import { peopleMethods } from './people.ts';
import { viewMethods } from './views.ts';

const METHODS: Record<string, Method> = { ...chatMethods, ...viewMethods, ...peopleMethods, ...fileMethods };

interface Answer {
  status: number;
  body: JsonObject;
  headers?: Record<string, string>;
}

/** @param name the part of the path after `/api/` */
export async function handleApi(
  core: Core,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = (await readBody(request)).toString('utf8');
  const args = parseArguments(String(request.headers['content-type'] ?? ''), body);
  const token = readBearerToken(request.headers.authorization) ?? (args && textOf(args, 'token'));
  const { token: _token, ...loggedArgs } = args ?? {};
  const fault = await core.faults.apply(name, textOf(loggedArgs, 'channel'));
  if (fault && fault.kind !== 'lost_answer') {
    core.calls.push({
      method: name,
      args: loggedArgs,
      at: core.state.now(),
      ok: false,
      error: faultName(fault),
    });
    answerFault(fault, response);
    core.state.changed('call');
    return;
  }
  const answer = args ? runMethod(core, name, args, token) : createFailure('invalid_form_data');
  const error = textOf(answer.body, 'error');
  core.calls.push({
    method: name,
    args: resolveChannel(loggedArgs, answer.body),
    at: core.state.now(),
    ok: answer.body['ok'] === true,
    ...(error !== undefined && { error }),
  });
  core.state.changed('call');
  const { answerDelayMs } = core.conditions;
  if (answerDelayMs !== undefined) await sleep(answerDelayMs());
  if (fault) request.socket.destroy();
  else sendJson(response, answer.status, answer.body, answer.headers);
}

/** The log has the channel id, even if the app passed a person or a name. */
function resolveChannel(args: JsonObject, answer: JsonObject): JsonObject {
  const channel = textOf(answer, 'channel');
  return channel === undefined ? args : { ...args, channel };
}

function readBearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer (.+)$/i.exec(header)?.[1];
}

function parseArguments(contentType: string, body: string): JsonObject | undefined {
  if (contentType.startsWith('application/json')) {
    try {
      const parsed = JSON.parse(body === '' ? '{}' : body);
      return isObject(parsed) ? parsed : undefined;
    } catch {
      return undefined;
    }
  }
  return Object.fromEntries(new URLSearchParams(body));
}

function runMethod(core: Core, name: string, args: JsonObject, token: string | undefined): Answer {
  const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
  if (!method) return createFailure('unknown_method', { req_method: name });
  if (token === undefined) return createFailure('not_authed');
  if (token !== core.botToken && token !== core.appToken) return createFailure('invalid_auth');
  if ((token === core.appToken) !== (method.token === 'app')) return createFailure('not_allowed_token_type');
  const granted = method.token === 'app' ? ['connections:write'] : core.scopes;
  if (granted && method.scopes.length > 0 && !method.scopes.some((scope) => granted.includes(scope))) {
    return createFailure('missing_scope', { needed: method.scopes.join(','), provided: granted.join(',') });
  }
  const retryAfter = core.rateLimits.take(name);
  if (retryAfter !== undefined) return createRateLimited(retryAfter);
  try {
    const headers = granted === undefined ? {} : { 'x-oauth-scopes': granted.join(',') };
    return { status: 200, body: { ok: true, ...method.run(core, args) }, headers };
  } catch (error) {
    if (error instanceof RateLimited) return createRateLimited(error.retryAfter);
    if (error instanceof SlackError) return createFailure(error.code, error.fields);
    throw error;
  }
}

function createFailure(code: string, fields: JsonObject = {}): Answer {
  return { status: 200, body: { ok: false, error: code, ...fields } };
}

function createRateLimited(retryAfter: number): Answer {
  return {
    status: 429,
    body: { ok: false, error: 'ratelimited' },
    headers: { 'retry-after': String(retryAfter) },
  };
}

export function faultName(fault: BreakingFault): string {
  return fault.kind === 'error' ? fault.code : fault.kind;
}

export function answerFault(fault: BreakingFault, response: ServerResponse): void {
  if (fault.kind === 'ratelimited') {
    const { status, body, headers } = createRateLimited(fault.retryAfter ?? 1);
    sendJson(response, status, body, headers);
  } else if (fault.kind === 'http_500') sendText(response, 500, 'Internal Server Error');
  else if (fault.kind === 'no_json') sendText(response, 200, '<html>The gateway is busy.</html>');
  else if (fault.kind === 'error') sendJson(response, 200, { ok: false, error: fault.code });
  // 'timeout' leaves the connection open and sends nothing.
}
