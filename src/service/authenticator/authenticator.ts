import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientContext, Deadline, PreparedRequest } from '../request.ts';
import type { Secret } from '../secret.ts';
import type { AuthenticatorOptions, LoginExtras } from './options.ts';
import { createSessionCalls } from './session-calls.ts';
import { waitForSession } from './session-wait.ts';
import { createSessions } from './sessions.ts';
import type { Session } from './shared-session.ts';
import { createSigner } from './signer.ts';
import type { SignedRequest } from './task-signature.ts';
import { createTokenSource } from './token-source.ts';
import { createMemoryTokenSteps } from './token-steps.ts';

/** Signs requests with one credential, manages its sessions, and checks the credential. */
export interface Authenticator {
  /** Opens a session first if needed. */
  sign<O>(prepared: PreparedRequest<O>, deadline: Deadline): Promise<SignedRequest>;
  /** Must be called when the service has refused a session. The next request opens a new one. */
  invalidateSession(session: Session): void;
  verify(deadline: Deadline, extras?: LoginExtras): Promise<Verification>;
  /**
   * Ends the client's own sessions and, with `all`, those shared with the caller. Ignores failures, because
   * sessions expire anyway.
   */
  logout(scope: 'own' | 'all'): Promise<void>;
}

export type Verification =
  | {
      readonly verified: true;
      /** From the login response. */
      readonly user?: Readonly<Record<string, unknown>> | undefined;
      /** Set by a two-factor check. The caller owns this session, so closing the client doesn't end it. */
      readonly sessionHash?: Secret | undefined;
      readonly sessionEndsAt?: number | undefined;
    }
  /** No documented task verifies sessions passed in by the caller, or trusted applications. */
  | { readonly verified: false };

/** The share of a call's timeout that may be spent waiting for the next token. */
const TOKEN_WAIT_SHARE = 1 / 2;

export function createAuthenticator(
  clientContext: ClientContext,
  options: AuthenticatorOptions,
): Authenticator {
  const { credential } = options;
  const waitAbortController = new AbortController();
  const { sleep: wait = (milliseconds, signal) => sleep(milliseconds, undefined, { signal }) } = options;
  const claimToken = createTokenSource(credential, clientContext.now, {
    usedSteps: options.tokenSteps ?? createMemoryTokenSteps(),
    sleep: (milliseconds) => wait(milliseconds, waitAbortController.signal),
    maxWaitMs: options.timeoutMs * TOKEN_WAIT_SHARE,
  });
  const sessionCalls = createSessionCalls(clientContext, options);
  const sessions = createSessions(sessionCalls, claimToken, clientContext.now, options);
  const initialSessionHash = credential.method === 'two_factor' ? credential.sessionHash : undefined;
  /** The session that belongs to the caller: passed in, or returned by {@link Authenticator.verify}. */
  let callerSessionHash = initialSessionHash;

  return {
    sign: createSigner(options, sessions),
    invalidateSession(session) {
      sessions.json.invalidate(session);
      sessions.xml.invalidate(session);
    },
    async verify(deadline, { acl, profile, customer } = {}) {
      const activity = { task: 'verify', name: 'checking the account' };
      switch (credential.method) {
        case 'trusted_application':
          return { verified: false };
        case 'password': {
          const login = sessionCalls.login(credential, { acl, profile, customer }, deadline);
          const openedSession = await waitForSession(login, activity, deadline);
          await Promise.allSettled([sessionCalls.logout(openedSession.sessionId)]);
          return { verified: true, user: openedSession.user };
        }
        case 'two_factor': {
          if (initialSessionHash !== undefined) return { verified: false };
          const session = await waitForSession(sessions.xml.getOrOpen(), activity, deadline);
          callerSessionHash = session.key;
          const endsAt = Number.isFinite(session.expiresAt) ? session.expiresAt : undefined;
          return { verified: true, sessionHash: session.key, sessionEndsAt: endsAt };
        }
      }
    },
    async logout(scope) {
      waitAbortController.abort();
      const [jsonSession, xmlSession] = await Promise.all([
        sessions.json.getExisting(),
        sessions.xml.getExisting(),
      ]);
      const isCallerSession = xmlSession?.key.reveal() === callerSessionHash?.reveal();
      const hashes = [
        isCallerSession ? undefined : xmlSession?.key,
        scope === 'all' ? callerSessionHash : undefined,
      ];
      await Promise.allSettled([
        jsonSession === undefined ? undefined : sessionCalls.logout(jsonSession.key),
        ...hashes.map((hash) => (hash === undefined ? undefined : sessionCalls.endXmlSession(hash))),
      ]);
    },
  };
}
