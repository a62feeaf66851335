import type { Credential, SessionPlace } from './signature.ts';
import type { TokenSteps } from './token-steps.ts';
/** Extra parts of the user's record in a login's answer. */
export interface LoginExtras {
  readonly acl?: boolean | undefined;
  readonly profile?: boolean | undefined;
  readonly customer?: boolean | undefined;
}

/** Rejects as soon as it is aborted. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

export interface AuthenticatorOptions {
  readonly credential: Credential;
  /** How a password credential signs JSON requests. A trusted application always uses Basic. */
  readonly jsonAuth: 'basic' | 'session';
  /** For one call, from opening a session to the answer's last byte. */
  readonly timeoutMs: number;
  /** Sent with every JSON request; no place for it is documented in XML. */
  readonly replyTo?: string | undefined;
  /**
   * How a password credential signs XML requests, `auth` by default. Two-factor accounts always use a session,
   * because a token works once; a trusted application never does.
   */
  readonly xmlAuth?: 'auth' | 'session' | undefined;
  /** The header by default. Service API, section "JSON interface". */
  readonly sessionPlace?: SessionPlace | undefined;
  /** Requested at JSON logins; the service's default is 10. */
  readonly sessionMinutes?: number | undefined;
  /** Waits for the next token; real time by default. */
  readonly sleep?: Sleep | undefined;
  /** Which tokens were used; known to this client alone by default. */
  readonly tokenSteps?: TokenSteps | undefined;
}
