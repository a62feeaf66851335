import type { Claim } from '../access.ts';
import { type Answer, type Notice, SUCCESS_STATUSES } from '../answer.ts';
import type { ReceivedRequest, RequestPlan } from '../incoming.ts';
import { maskJson } from '../mask.ts';
import type { ServiceState } from '../operations/caller.ts';
import { Refusal, type RefusalDetails } from '../refusal.ts';
import type { ServiceTask } from '../tasks.ts';
import { DOMAIN_ROUTES } from './domain-routes.ts';
import { OBJECT_ROUTES } from './object-routes.ts';
import { parseJson, readClaim } from './request.ts';
import type { JsonOutcome, Route } from './route.ts';
import { SESSION_ROUTES } from './session-routes.ts';
import * as shapes from './shapes.ts';

const ROUTES: readonly Route[] = [...SESSION_ROUTES, ...OBJECT_ROUTES, ...DOMAIN_ROUTES];

/** @param path below the base, percent-encoded */
export function planJson(service: ServiceState, incoming: ReceivedRequest, path: string): RequestPlan {
  const match = findRoute(incoming.method, path);
  const parsedBody = parseBodyForLog(incoming.body);
  const task = match instanceof Refusal ? null : match.route.task;
  return {
    task,
    name: match instanceof Refusal ? null : match.name || readNameOrUser(parsedBody),
    claim: readClaimForLog(incoming, task, parsedBody),
    loggedBody: maskJson(parsedBody),
    run() {
      if (match instanceof Refusal) return createJsonError(service, match);
      try {
        const outcome = match.route.run(service, incoming, match.name);
        return createSuccessEnvelope(SUCCESS_STATUSES[match.route.task], outcome, service.state.nextStid());
      } catch (error) {
        if (error instanceof Refusal) return createJsonError(service, error);
        throw error;
      }
    },
  };
}

function findRoute(method: string, path: string): { route: Route; name: string } | Refusal {
  const matches = ROUTES.map((route) => ({ route, name: matchPath(route.path, path) }));
  const pathMatches = matches.filter((match) => match.name !== undefined);
  for (const { route, name } of pathMatches) {
    if (route.method === method && name !== undefined) return { route, name };
  }
  return pathMatches.length === 0
    ? new Refusal('not_found', `there is no resource ${path}`)
    : new Refusal('malformed', `${method} is not allowed for ${path}`, 405);
}

/** @returns the decoded variable segment; '' if the pattern has none; undefined if the path doesn't match */
function matchPath(pattern: string, path: string): string | undefined {
  const patternSegments = pattern.split('/');
  const pathSegments = path.split('/');
  if (patternSegments.length !== pathSegments.length) return undefined;
  let name = '';
  for (const [index, segment] of pathSegments.entries()) {
    if (patternSegments[index] === '*' && segment !== '' && !segment.startsWith('_')) {
      const decoded = decodeSegment(segment);
      if (decoded === undefined) return undefined;
      name = decoded;
    } else if (patternSegments[index] !== segment) {
      return undefined;
    }
  }
  return name;
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function parseBodyForLog(body: Uint8Array): unknown {
  if (body.length === 0) return null;
  try {
    return parseJson(body);
  } catch {
    return `[${body.length} bytes that are not JSON]`;
  }
}

function readNameOrUser(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const name = 'name' in body ? body.name : 'user' in body ? body.user : undefined;
  return typeof name === 'string' ? name : null;
}

/** Reads the claim before authentication, so that the log shows who sent a refused request. */
function readClaimForLog(incoming: ReceivedRequest, task: ServiceTask | null, body: unknown): Claim | null {
  if (task === 'session.create') {
    const { success, data } = shapes.loginSchema.safeParse(body);
    return success ? { kind: 'credentials', ...data } : null;
  }
  try {
    return readClaim(incoming.headers);
  } catch {
    return null;
  }
}

function createSuccessEnvelope(
  status: { code: string; text: string },
  outcome: JsonOutcome,
  stid: string,
): Answer {
  const { object, notices, data, headers = {} } = outcome;
  return createEnvelope(200, headers, {
    stid,
    ...(notices !== undefined && { messages: notices.map(formatNotice) }),
    status: { ...status, type: 'SUCCESS' },
    ...(object !== undefined && { object }),
    ...(data !== undefined && { data }),
  });
}

function formatNotice({ code, text, object }: Notice): unknown {
  return { text, objects: [object], code, status: 'NOTICE' };
}

/** Creates an error envelope. The HTTP status is 400 unless the refusal has its own. */
export function createJsonError(
  service: ServiceState,
  { code, message: text, httpStatus = 400 }: RefusalDetails,
): Answer {
  const challenge = { 'www-authenticate': 'Basic realm="domain service", charset="UTF-8"' };
  return createEnvelope(httpStatus, httpStatus === 401 ? challenge : {}, {
    stid: service.state.nextStid(),
    status: { code, text, type: 'ERROR' },
  });
}

function createEnvelope(
  httpStatus: number,
  headers: Readonly<Record<string, string>>,
  content: { readonly status: { code: string; text: string; type: string } } & Readonly<
    Record<string, unknown>
  >,
): Answer {
  return {
    httpStatus,
    headers: { 'content-type': 'application/json;charset=UTF-8', ...headers },
    body: JSON.stringify(content),
    code: content.status.code,
  };
}
