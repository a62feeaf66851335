import type { z } from 'zod';
import { type Claim, isUuid } from '../access.ts';
import { checkContentType, decodeBody, type ReceivedRequest } from '../incoming.ts';
import { Refusal } from '../refusal.ts';
import { looksLikeEmail } from '../rules.ts';

const GENERAL_PARAMETERS = ['replyTo', 'ctid'];

/**
 * Checks the query (“General query parameters” in the service's API documentation).
 * @param routeParameters the route's parameters besides the general ones; a name ending in `[]` may be repeated
 */
export function checkQuery(query: URLSearchParams, routeParameters: readonly string[]): void {
  for (const name of new Set(query.keys())) {
    if (!GENERAL_PARAMETERS.includes(name) && !routeParameters.includes(name)) {
      throw new Refusal('malformed', `query: this route has no parameter ${name}`);
    }
    const values = query.getAll(name);
    if (values.length > 1 && !name.endsWith('[]'))
      throw new Refusal('malformed', `query: ${name} is given twice`);
    if (values.includes('')) throw new Refusal('malformed', `query: ${name} is empty`);
  }
  const replyTo = query.get('replyTo');
  if (replyTo !== null && !looksLikeEmail(replyTo)) {
    throw new Refusal('malformed', 'query: replyTo is not an e-mail address');
  }
}

/**
 * Reads the credentials in the headers: Basic with `X-Service-Context`, Basic for a trusted application, or a session
 * in a header or cookie (“JSON interface” in the service's API documentation).
 * @throws {Refusal} 401 if there are none, 400 if there are several
 */
export function readClaim(headers: ReceivedRequest['headers']): Claim {
  const { authorization } = headers;
  const sessionIds = [joinHeader(headers['x-service-sessionid']), readSessionCookie(headers.cookie)].filter(
    (id) => id !== undefined,
  );
  if (authorization !== undefined && sessionIds.length > 0) {
    throw new Refusal('malformed', 'authentication: both credentials and a session');
  }
  const context = joinHeader(headers['x-service-context']);
  if (authorization !== undefined) return readBasicCredentials(authorization, context);
  const [sessionId, otherSessionId] = sessionIds;
  if (sessionId === undefined)
    throw new Refusal('unauthenticated', 'authentication: no credentials and no session');
  if (otherSessionId !== undefined && otherSessionId !== sessionId)
    throw new Refusal('malformed', 'authentication: two different sessions');
  if (context !== undefined) {
    throw new Refusal(
      'malformed',
      'X-Service-Context is only for credentials; a session has its own context',
    );
  }
  return { kind: 'session', id: sessionId };
}

function readBasicCredentials(authorization: string, context: string | undefined): Claim {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  const [, user, password] = /^([^:]*):([\s\S]*)$/.exec(decodeBase64(encoded ?? '')) ?? [];
  if (user === undefined || password === undefined) {
    throw new Refusal('unauthenticated', 'authorization: not Basic credentials');
  }
  if (isUuid(user)) {
    if (context !== undefined) {
      throw new Refusal('malformed', 'X-Service-Context is not allowed for a trusted application');
    }
    return { kind: 'trusted_application', uuid: user, password };
  }
  if (context === undefined || !/^[1-9][0-9]{0,8}$/.test(context)) {
    throw new Refusal('unauthenticated', 'X-Service-Context: the number of the context is required');
  }
  return { kind: 'credentials', user, context: Number(context), password };
}

function decodeBase64(encoded: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64'));
  } catch {
    return '';
  }
}

function readSessionCookie(header: string | undefined): string | undefined {
  const cookies = (header ?? '').split(/;\s*/).map((cookie) => /^service_session=(.*)$/.exec(cookie)?.[1]);
  return cookies.find((value) => value !== undefined);
}

function joinHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

/** @throws {Refusal} 400 if the request has a body or a content type */
export function checkNoBody(incoming: ReceivedRequest): void {
  if (incoming.body.length > 0) throw new Refusal('malformed', 'this route takes no body');
  if (incoming.headers['content-type'] !== undefined) {
    throw new Refusal('malformed', 'content-type: this route takes no body');
  }
}

/** @throws {Refusal} 415 or 400, with the names of all invalid fields */
export function readJsonBody<T>(incoming: ReceivedRequest, schema: z.ZodType<T>): T {
  checkContentType(incoming, ['application/json']);
  const result = schema.safeParse(parseJson(incoming.body));
  if (result.success) return result.data;
  throw new Refusal('malformed', `body: ${result.error.issues.map(describeIssue).join('; ')}`);
}

export function parseJson(body: Uint8Array): unknown {
  const text = decodeBody(body);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message contains the text, which may include a secret.
    throw new Refusal('malformed', 'body: not JSON');
  }
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`,
    '',
  );
  const prefix = path === '' ? '' : `${path}: `;
  return issue.code === 'unrecognized_keys'
    ? `${prefix}unknown field ${issue.keys.join(', ')}`
    : prefix + issue.message;
}
