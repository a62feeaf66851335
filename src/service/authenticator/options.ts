import type { Credential, SessionPlace } from './signature.ts';
import type { TokenSteps } from './token-steps.ts';
/** Extra parts of the user's record in a login response. */
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
  /** For one call, from opening a session to the response's last byte. */
  readonly timeoutMs: number;
  /** Sent with every JSON request; not documented for XML. */
  readonly replyTo?: string | undefined;
  /**
   * How a password credential signs XML requests. Two-factor accounts always use a session, because a token works once;
   * a trusted application never does.
   */
  readonly xmlAuth?: 'auth' | 'session' | undefined;
  /** The header by default (service API, JSON interface). */
  readonly sessionPlace?: SessionPlace | undefined;
  /** Requested at JSON logins; the service's default is 10. */
  readonly sessionMinutes?: number | undefined;
  /** Waits for the next token; real time by default. */
  readonly sleep?: Sleep | undefined;
  /** The used tokens; by default, only those of this client. */
  readonly tokenSteps?: TokenSteps | undefined;
}
