import type { Credential, SessionPlace } from './signature.ts';
import type { UsedTokenSteps } from './token-steps.ts';

/** Extra parts of the user's record to request at login. */
export interface LoginExtras {
  readonly acl?: boolean | undefined;
  readonly profile?: boolean | undefined;
  readonly customer?: boolean | undefined;
}

/** Rejects as soon as `signal` is aborted. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

export interface AuthenticatorOptions {
  readonly credential: Credential;
  /** How a password credential signs JSON requests. A trusted application always uses Basic. */
  readonly jsonAuth: 'basic' | 'session';
  /** Covers one call, from opening a session to the response's last byte. */
  readonly timeoutMs: number;
  /** Sent with JSON requests; not documented for XML. */
  readonly replyTo?: string | undefined;
  /**
   * How a password credential signs XML requests. Two-factor accounts always use a session, because each
   * token works only once. A trusted application never uses one.
   */
  readonly xmlAuth?: 'auth' | 'session' | undefined;
  /** Default: the header. See “JSON interface” in the service's API documentation. */
  readonly sessionPlace?: SessionPlace | undefined;
  /** The lifetime requested at JSON logins. The service's default is 10. */
  readonly sessionMinutes?: number | undefined;
  /** Used to wait for the next token. Default: a timer. */
  readonly sleep?: Sleep | undefined;
  /** Default: tracks only the tokens of this client. */
  readonly tokenSteps?: UsedTokenSteps | undefined;
}
