import { authenticate } from '../access.ts';
import { formatPublicUser } from '../operations/users.ts';
import { Refusal } from '../refusal.ts';
import { DEFAULT_SESSION_MINUTES } from '../sessions.ts';
import { checkNoBody, checkQuery, readClaim, readJsonBody } from './request.ts';
import type { Route } from './route.ts';
import * as shapes from './shapes.ts';

const loginRoute: Route = {
  method: 'POST',
  path: '/login',
  task: 'session.create',
  run(service, incoming) {
    const { query } = incoming;
    checkQuery(query, ['acl', 'profile', 'customer', 'timeout']);
    const timeoutMinutes = readTimeoutMinutes(query.get('timeout'));
    const extras = {
      ...(readFlag(query, 'acl') && { acls: [{ task: 'domain', allowed: true }] }),
      ...(readFlag(query, 'profile') && { profile: { timezone: 'UTC' } }),
      ...(readFlag(query, 'customer') && { customer: { name: 'Team Example' } }),
    };
    const credentials = readJsonBody(incoming, shapes.loginSchema);
    const { user, context } = authenticate(service, { kind: 'credentials', ...credentials }, 'json');
    const userRecord = service.state.findUser(user, context);
    const session = service.sessions.open({ interface: 'json', user, context }, timeoutMinutes);
    return {
      object: { type: 'user', value: `${user}, ${context}` },
      data: userRecord === undefined ? [] : [{ ...formatPublicUser(userRecord), ...extras }],
      headers: {
        'set-cookie': `service_session=${session.id}; Path=/; Max-Age=${timeoutMinutes * 60 - 1}; secure; httponly`,
      },
    };
  },
};

const logoutRoute: Route = {
  method: 'GET',
  path: '/logout',
  task: 'session.delete',
  run(service, incoming) {
    const claim = readClaim(incoming.headers);
    const { user, context } = authenticate(service, claim, 'json');
    checkQuery(incoming.query, []);
    checkNoBody(incoming);
    if (claim.kind !== 'session')
      throw new Refusal('malformed', 'authentication: there is no session to end');
    service.sessions.end(claim.id);
    return { object: { type: 'user', value: `${user}, ${context}` } };
  },
};

function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name) ?? 'false';
  if (value !== 'true' && value !== 'false')
    throw new Refusal('malformed', `query: ${name} must be true or false`);
  return value === 'true';
}

function readTimeoutMinutes(value: string | null): number {
  if (value === null) return DEFAULT_SESSION_MINUTES;
  if (!/^[1-9][0-9]{0,3}$/.test(value))
    throw new Refusal('malformed', 'query: timeout must be a number of minutes');
  return Number(value);
}

export const SESSION_ROUTES: readonly Route[] = [loginRoute, logoutRoute];
