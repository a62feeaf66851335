import { TOTP, Secret as TotpSecret } from 'otpauth';
import type { UserRecord } from './model.ts';
import type { Caller, ServiceState } from './operations/caller.ts';
import { Refusal } from './refusal.ts';

/** How a request claims to be authenticated (“Authentication” in the service's API documentation). */
export type Claim =
  | {
      readonly kind: 'credentials';
      readonly user: string;
      readonly context: number;
      readonly password: string;
      readonly token?: string;
    }
  | {
      readonly kind: 'trusted_application';
      readonly uuid: string;
      readonly password: string;
      /** In XML requests only. */
      readonly application?: string;
    }
  | { readonly kind: 'session'; readonly id: string };

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * Authenticates a request. Accepting a token uses it up, so this must be called once per request.
 * @throws {Refusal} 401 if the credentials are wrong, 403 for a two-factor user over JSON
 */
export function authenticate(service: ServiceState, claim: Claim, interfaceName: 'json' | 'xml'): Caller {
  switch (claim.kind) {
    case 'session':
      return authenticateSession(service, claim.id, interfaceName);
    case 'trusted_application':
      return authenticateApplication(service, claim);
    case 'credentials':
      return authenticateUser(service, claim, interfaceName);
  }
}

function authenticateSession(service: ServiceState, id: string, interfaceName: 'json' | 'xml'): Caller {
  const session = service.sessions.find(id, interfaceName);
  const user = session === undefined ? undefined : service.state.findUser(session.user, session.context);
  if (user === undefined) throw new Refusal('unauthenticated', 'the session is unknown or has ended');
  return toCaller(user);
}

function authenticateApplication(
  service: ServiceState,
  claim: Extract<Claim, { kind: 'trusted_application' }>,
): Caller {
  const application = service.state.findTrustedApplication(claim.uuid);
  const user =
    application === undefined ? undefined : service.state.findUser(application.user, application.context);
  const hasCorrectName = claim.application === undefined || claim.application === application?.application;
  if (
    application === undefined ||
    user === undefined ||
    !hasCorrectName ||
    application.password !== claim.password
  ) {
    throw new Refusal('unauthenticated', 'the trusted application is unknown or its password is wrong');
  }
  return toCaller(user);
}

function authenticateUser(
  service: ServiceState,
  claim: Extract<Claim, { kind: 'credentials' }>,
  interfaceName: 'json' | 'xml',
): Caller {
  const user = service.state.findUser(claim.user, claim.context);
  if (user === undefined || user.password !== claim.password) {
    throw new Refusal('unauthenticated', `the user, the password or the context ${claim.context} is wrong`);
  }
  if (user.totpSecret === undefined) {
    if (claim.token === undefined) return toCaller(user);
    throw new Refusal('unauthenticated', `token: ${user.user} is not a two-factor user`);
  }
  if (interfaceName === 'json') {
    throw new Refusal('forbidden', `${user.user} is a two-factor user, who can use only the XML interface`);
  }
  useToken(service, user, user.totpSecret, claim.token);
  return toCaller(user);
}

function useToken(service: ServiceState, user: UserRecord, secret: string, token: string | undefined): void {
  if (token === undefined)
    throw new Refusal('unauthenticated', `token: ${user.user} needs a two-factor token`);
  const totp = new TOTP({ secret: TotpSecret.fromBase32(secret) });
  const now = service.clock.realTime();
  const delta = totp.validate({ token, timestamp: now, window: 1 });
  if (delta === null) throw new Refusal('unauthenticated', 'token: invalid or expired');
  const totpStep = totp.counter({ timestamp: now }) + delta;
  if (user.lastTotpStep !== undefined && totpStep <= user.lastTotpStep) {
    throw new Refusal('unauthenticated', 'token: already used; wait for the next one');
  }
  user.lastTotpStep = totpStep;
  service.state.markChanged();
}

function toCaller(user: UserRecord): Caller {
  return { user: user.user, context: user.context, group: user.group };
}
