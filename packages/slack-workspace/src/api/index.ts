import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Core } from '../core.ts';
import { SlackError } from '../errors.ts';
import type { BreakingFault } from '../faults.ts';
import { readBody, sendJson, sendText } from '../http.ts';
import { getString, isObject } from '../problems.ts';
import type { JsonObject } from '../protocol.ts';
import { chatMethods, RateLimitError } from './chat.ts';
import { fileMethods } from './files.ts';
import type { Method } from './method.ts';
import { peopleMethods } from './people.ts';
import { viewMethods } from './views.ts';

const METHODS: Record<string, Method> = { ...chatMethods, ...viewMethods, ...peopleMethods, ...fileMethods };

interface ApiResponse {
  status: number;
  body: JsonObject;
  headers?: Record<string, string>;
}

/** @param methodName the part of the path after `/api/` */
export async function handleApi(
  core: Core,
  methodName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = (await readBody(request)).toString('utf8');
  const args = parseArguments(String(request.headers['content-type'] ?? ''), body);
  const token = readBearerToken(request.headers.authorization) ?? (args && getString(args, 'token'));
  const { token: _token, ...loggedArgs } = args ?? {};
  const fault = await core.faults.apply(methodName, getString(loggedArgs, 'channel'));
  if (fault && fault.kind !== 'lost_answer') {
    core.calls.push({
      method: methodName,
      args: loggedArgs,
      calledAt: core.state.now(),
      ok: false,
      error: getFaultCode(fault),
    });
    sendFaultResponse(fault, response);
    core.state.emitChange('call');
    return;
  }
  const apiResponse = args
    ? runMethod(core, methodName, args, token)
    : createErrorResponse('invalid_form_data');
  const error = getString(apiResponse.body, 'error');
  core.calls.push({
    method: methodName,
    args: resolveChannel(loggedArgs, apiResponse.body),
    calledAt: core.state.now(),
    ok: apiResponse.body['ok'] === true,
    ...(error !== undefined && { error }),
  });
  core.state.emitChange('call');
  const { getResponseDelayMs } = core.conditions;
  if (getResponseDelayMs !== undefined) await sleep(getResponseDelayMs());
  if (fault) request.socket.destroy();
  else sendJson(response, apiResponse.status, apiResponse.body, apiResponse.headers);
}

/** Replaces a channel name or user id in the arguments with the channel id. */
function resolveChannel(args: JsonObject, responseBody: JsonObject): JsonObject {
  const channel = getString(responseBody, 'channel');
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

function runMethod(core: Core, methodName: string, args: JsonObject, token: string | undefined): ApiResponse {
  const method = Object.hasOwn(METHODS, methodName) ? METHODS[methodName] : undefined;
  if (!method) return createErrorResponse('unknown_method', { req_method: methodName });
  if (token === undefined) return createErrorResponse('not_authed');
  if (token !== core.botToken && token !== core.appToken) return createErrorResponse('invalid_auth');
  if ((token === core.appToken) !== (method.tokenType === 'app'))
    return createErrorResponse('not_allowed_token_type');
  const grantedScopes = method.tokenType === 'app' ? ['connections:write'] : core.scopes;
  if (
    grantedScopes &&
    method.scopes.length > 0 &&
    !method.scopes.some((scope) => grantedScopes.includes(scope))
  ) {
    return createErrorResponse('missing_scope', {
      needed: method.scopes.join(','),
      provided: grantedScopes.join(','),
    });
  }
  const retryAfterSeconds = core.rateLimits.take(methodName);
  if (retryAfterSeconds !== undefined) return createRateLimitResponse(retryAfterSeconds);
  try {
    const headers = grantedScopes === undefined ? {} : { 'x-oauth-scopes': grantedScopes.join(',') };
    return { status: 200, body: { ok: true, ...method.run(core, args) }, headers };
  } catch (error) {
    if (error instanceof RateLimitError) return createRateLimitResponse(error.retryAfterSeconds);
    if (error instanceof SlackError) return createErrorResponse(error.code, error.fields);
    throw error;
  }
}

function createErrorResponse(code: string, fields: JsonObject = {}): ApiResponse {
  return { status: 200, body: { ok: false, error: code, ...fields } };
}

function createRateLimitResponse(retryAfterSeconds: number): ApiResponse {
  return {
    status: 429,
    body: { ok: false, error: 'ratelimited' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  };
}

export function getFaultCode(fault: BreakingFault): string {
  return fault.kind === 'error' ? fault.code : fault.kind;
}

export function sendFaultResponse(fault: BreakingFault, response: ServerResponse): void {
  if (fault.kind === 'ratelimited') {
    const { status, body, headers } = createRateLimitResponse(fault.retryAfterSeconds ?? 1);
    sendJson(response, status, body, headers);
  } else if (fault.kind === 'http_500') sendText(response, 500, 'Internal Server Error');
  else if (fault.kind === 'no_json') sendText(response, 200, '<html>The gateway is busy.</html>');
  else if (fault.kind === 'error') sendJson(response, 200, { ok: false, error: fault.code });
  // 'timeout' leaves the connection open and sends nothing.
}
