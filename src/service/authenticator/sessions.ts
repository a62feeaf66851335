import { InvalidInputError } from '../codec/codec-errors.ts';
import { ServiceError } from '../errors.ts';
import type { AuthenticatorOptions } from './options.ts';
import { createDeadline, type SessionCalls } from './session-calls.ts';
import { createSharedSession, type Session, type SharedSession } from './shared-session.ts';
import type { Credential } from './signature.ts';
import type { ClaimedToken } from './token-source.ts';

export interface Sessions {
  readonly json: SharedSession;
  readonly xml: SharedSession;
}

/** See “Limits” in the service's API documentation. */
const DEFAULT_SESSION_MINUTES = 10;

export function createSessions(
  calls: SessionCalls,
  claimToken: () => Promise<ClaimedToken>,
  now: () => number,
  { credential, timeoutMs, sessionMinutes }: AuthenticatorOptions,
): Sessions {
  async function openJsonSession(): Promise<Session> {
    if (credential.method !== 'password')
      throw new InvalidInputError('only a password can open a JSON session');
    const openedSession = await calls.login(
      credential,
      { timeout: sessionMinutes },
      createDeadline(timeoutMs),
    );
    const lifetimeSeconds = openedSession.maxAgeSeconds ?? (sessionMinutes ?? DEFAULT_SESSION_MINUTES) * 60;
    return { key: openedSession.sessionId, expiresAt: now() + lifetimeSeconds * 1000 };
  }

  async function openXmlSession(): Promise<Session> {
    const { token, release } = await claimToken();
    try {
      const hash = await calls.openXmlSession(token, createDeadline(timeoutMs));
      // Without the shared secret, no other session can be opened, so this session is used until the service
      // refuses it.
      const isRenewable = credential.method !== 'two_factor' || credential.totpSecret !== undefined;
      return {
        key: hash,
        expiresAt: isRenewable ? now() + DEFAULT_SESSION_MINUTES * 60_000 : Number.POSITIVE_INFINITY,
      };
    } catch (error) {
      // If the release fails, the time step counts as used, and the next login waits for another token.
      if (error instanceof ServiceError && error.kind === 'not_sent') await release().catch(() => undefined);
      throw error;
    }
  }

  return {
    json: createSharedSession(openJsonSession, now),
    xml: createSharedSession(openXmlSession, now, getEarlierSession(credential)),
  };
}

function getEarlierSession(credential: Credential): Session | undefined {
  if (credential.method !== 'two_factor' || credential.sessionHash === undefined) return undefined;
  return { key: credential.sessionHash, expiresAt: credential.sessionEndsAt ?? Number.POSITIVE_INFINITY };
}
