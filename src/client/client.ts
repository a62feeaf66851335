import type { Credential } from './auth.ts';
import type { Envelope } from './envelope.ts';
import { ServiceError } from './errors.ts';
import type { Secret } from './secret.ts';
import type { Interface, ServiceTask, TaskOutline } from './task.ts';

export interface ServiceClientOptions {
  /** `{base_url}` of the JSON interface with its version segment. */
  readonly jsonUrl: string;
  /** Address that XML requests are posted to; without it XML tasks are `unsupported`. */
  readonly xmlUrl?: string | undefined;
  readonly credential: Credential;
  /** How a password credential signs JSON requests. A trusted application always signs with Basic. */
  readonly jsonAuth: 'basic' | 'session';
  /** Budget of one call in milliseconds, over everything from opening a session to the answer's last byte. */
  readonly timeoutMs: number;
  /** Address for system replies, sent with every JSON request; the document shows no place for it in XML. */
  readonly replyTo?: string | undefined;
  /** Lifetime asked for at JSON logins, in minutes; the service's default is 10. */
  readonly sessionMinutes?: number | undefined;
  /** Clock for sessions, tokens and `Retry-After` dates, in milliseconds since 1970. */
  readonly now?: () => number;
  /** Limit of one answer in bytes, 2 MB when left out. */
  readonly maxBytes?: number | undefined;
}

export interface CallOptions {
  /** Client transaction id; JSON only, the document shows no place for it in XML. */
  readonly ctid?: string | undefined;
  /** Overrides the client's `replyTo`. */
  readonly replyTo?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's budget, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** `keys[]`: further data for the records of a search. */
  readonly keys?: readonly string[] | undefined;
  /** Which interface is to carry the task; JSON when left out and possible. */
  readonly interface?: Interface | undefined;
  /**
   * Awaited after encoding, session login and token, right before the first byte of the task's own request may
   * leave. If it throws, nothing is sent and its error propagates unchanged.
   */
  readonly beforeSend?: (() => Promise<void>) | undefined;
}

export interface CallResult<O> {
  readonly output: O;
  /** The answer, with secrets masked. */
  readonly envelope: Envelope;
  readonly interface: Interface;
  readonly httpStatus: number;
}

export type Support = { readonly interface: Interface } | { readonly unsupported: string };

export type Verification =
  | {
      readonly verified: true;
      /** The user's record as the login answers with it. */
      readonly user?: Readonly<Record<string, unknown>> | undefined;
      /** The XML session that a two-factor check opened. It is the caller's to keep: `close` does not end it. */
      readonly sessionHash?: Secret | undefined;
    }
  | { readonly verified: false; readonly reason: string };

/** One credential's way to the service. Immutable; sessions are its own and shared by its concurrent calls. */
export interface ServiceClient {
  /**
   * Carries out one task: one request, no retry, no redirect, one deadline.
   *
   * A request that was refused because its session had ended (401, 403; for tasks that charge nothing also an error
   * that speaks of the session) goes out once more with a new session: a refusal proves that it was not carried out.
   *
   * @throws ServiceError, or whatever `beforeSend` throws.
   */
  run<I, O>(task: ServiceTask<I, O>, input: I, call?: CallOptions): Promise<CallResult<O>>;
  /** Which interface would carry the task, or what to do instead. Sends nothing. */
  supports(task: TaskOutline, via?: Interface): Support;
  /** Checks the credential at the service: a password by login and logout, two-factor by an XML session. */
  verify(call?: Pick<CallOptions, 'signal' | 'timeoutMs'>): Promise<Verification>;
  /**
   * Ends the sessions that the client opened, and its connections. A two-factor session that was handed in or out
   * outlives the client, unless `all` is asked for (on unlinking).
   */
  close(sessions?: 'own' | 'all'): Promise<void>;
}

export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const pending = (task: { readonly name: string }): Promise<never> =>
    Promise.reject(new ServiceError('unsupported', `${options.jsonUrl}: not built yet`, { task: task.name }));
  return {
    run: (task) => pending(task),
    supports: () => ({ unsupported: 'not built yet' }),
    verify: () => pending({ name: 'verify' }),
    close: async () => undefined,
  };
}
