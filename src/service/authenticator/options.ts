import type { Credential, SessionPlace } from './signature.ts';
import type { TokenSteps } from './token-steps.ts';
/** Parts that a login adds to the user's record. */
export interface LoginExtras {
  readonly acl?: boolean | undefined;
  readonly profile?: boolean | undefined;
  readonly customer?: boolean | undefined;
}

/** Waits so many milliseconds, or rejects as soon as it is given up. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

export interface AuthenticatorOptions {
  readonly credential: Credential;
  /** How a password credential signs JSON requests. A trusted application always signs with Basic. */
  readonly jsonAuth: 'basic' | 'session';
  /** Time limit of one call in milliseconds, from opening a session to the answer's last byte. */
  readonly timeoutMs: number;
  /** Address for system replies, sent with every JSON request; the document shows no place for it in XML. */
  readonly replyTo?: string | undefined;
  /**
   * How a password credential signs XML requests, with `auth` when left out. Two-factor accounts always use a session,
   * because a token is good once; a trusted application never does.
   */
  readonly xmlAuth?: 'auth' | 'session' | undefined;
  /** Where JSON requests carry the session id; the header when left out. Service API, section "JSON interface". */
  readonly sessionPlace?: SessionPlace | undefined;
  /** Lifetime asked for at JSON logins, in minutes; the service's default is 10. */
  readonly sessionMinutes?: number | undefined;
  /** Waits for the next token; as long as that takes when left out. */
  readonly sleep?: Sleep | undefined;
  /** Remembers which tokens were used; this client alone when left out. */
  readonly tokenSteps?: TokenSteps | undefined;
}
