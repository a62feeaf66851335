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
  /** To be called when the service has refused a session. The next request opens another. */
  invalidateSession(session: Session): void;
  verify(deadline: Deadline, extras?: LoginExtras): Promise<Verification>;
  /**
   * Ends the client's own sessions and, with `all`, those shared with the caller. Ignores failures, because
   * sessions expire anyway.
   */
  logout(sessions: 'own' | 'all'): Promise<void>;
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
  /** For a session passed in by the caller, and for trusted applications: no documented task verifies them. */
  | { readonly verified: false };

/** The share of a call's timeout that may be spent waiting for the next token. */
const TOKEN_WAIT_SHARE = 1 / 2;

export function createAuthenticator(
  clientContext: ClientContext,
  options: AuthenticatorOptions,
): Authenticator {
  const { credential } = options;
  const waitAbort = new AbortController();
  const { sleep: wait = (milliseconds, signal) => sleep(milliseconds, undefined, { signal }) } = options;
  const claimToken = createTokenSource(credential, clientContext.now, {
    steps: options.tokenSteps ?? createMemoryTokenSteps(),
    sleep: (milliseconds) => wait(milliseconds, waitAbort.signal),
    maxWaitMs: options.timeoutMs * TOKEN_WAIT_SHARE,
  });
  const calls = createSessionCalls(clientContext, options);
  const sessions = createSessions(calls, claimToken, clientContext.now, options);
  const givenHash = credential.method === 'two_factor' ? credential.sessionHash : undefined;
  /** The session that belongs to the caller: passed in, or returned by {@link Authenticator.verify}. */
  let callerHash = givenHash;

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
          const login = calls.login(credential, { acl, profile, customer }, deadline);
          const opened = await waitForSession(login, activity, deadline);
          await Promise.allSettled([calls.logout(opened.sessionId)]);
          return { verified: true, user: opened.user };
        }
        case 'two_factor': {
          if (givenHash !== undefined) return { verified: false };
          const session = await waitForSession(sessions.xml.getOrOpen(), activity, deadline);
          callerHash = session.key;
          const endsAt = Number.isFinite(session.expiresAt) ? session.expiresAt : undefined;
          return { verified: true, sessionHash: session.key, sessionEndsAt: endsAt };
        }
      }
    },
    async logout(scope) {
      waitAbort.abort();
      const [json, xml] = await Promise.all([sessions.json.getExisting(), sessions.xml.getExisting()]);
      const isCallerSession = xml?.key.reveal() === callerHash?.reveal();
      const hashes = [isCallerSession ? undefined : xml?.key, scope === 'all' ? callerHash : undefined];
      await Promise.allSettled([
        json === undefined ? undefined : calls.logout(json.key),
        ...hashes.map((hash) => (hash === undefined ? undefined : calls.endXmlSession(hash))),
      ]);
    },
  };
}
