import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidInputError } from '../codec/errors.ts';
import type { GeneralQuery } from '../codec/json.ts';
import { ServiceError } from '../errors.ts';
import {
  type Activity,
  type ClientContext,
  type Deadline,
  orInvalidInput,
  type PreparedRequest,
  prepare,
  type Signed,
  send,
  serviceError,
} from '../request.ts';
import { Secret } from '../secret.ts';
import type { ServiceTask } from '../task.ts';
import { authSessionCreate, authSessionDelete, sessionLogin, sessionLogout } from '../tasks/session.ts';
import { type Session, shareSession } from './shared-session.ts';
import {
  basicToken,
  type Credential,
  type JsonSignature,
  type SessionPlace,
  startOfStep,
  stepAt,
  tokenAt,
  type XmlSignature,
} from './signature.ts';
import { createTokenSteps, type TokenSteps } from './token-steps.ts';

/** How a credential gets in: signatures, the sessions behind them, and the check of the credential itself. */
export interface Authenticator {
  /** Signs a request; opens a session first, when the credential needs one and there is none. */
  sign<I, O>(prepared: PreparedRequest<I, O>, budget: Deadline): Promise<SignedRequest>;
  /** Says that the service refused the session, so that the next call opens another. */
  invalidateSession(session: Session): void;
  /** Checks the credential at the service. */
  verify(budget: Deadline, asked?: LoginExtras): Promise<Verification>;
  /** Ends the sessions: those that were handed in or out only with `all`. Failures are of no consequence. */
  logout(sessions: 'own' | 'all'): Promise<void>;
}

export interface SignedRequest extends Signed {
  /** The shared session that signs, if one does. */
  readonly session?: Session | undefined;
}

/** What a login is asked to add to the user's record. */
export interface LoginExtras {
  readonly acl?: boolean | undefined;
  readonly profile?: boolean | undefined;
  readonly customer?: boolean | undefined;
}

export type Verification =
  | {
      readonly verified: true;
      /** The user's record as the login answers with it. */
      readonly user?: Readonly<Record<string, unknown>> | undefined;
      /** The XML session that a two-factor check opened. It is the caller's to keep: closing does not end it. */
      readonly sessionHash?: Secret | undefined;
      /** When that session runs out, as far as is known. */
      readonly sessionEndsAt?: number | undefined;
    }
  | { readonly verified: false; readonly reason: string };

/** Waits so many milliseconds, or rejects as soon as it is given up. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

export interface AuthenticatorOptions {
  readonly credential: Credential;
  readonly jsonAuth: 'basic' | 'session';
  readonly timeoutMs: number;
  readonly xmlAuth?: 'auth' | 'session' | undefined;
  /** Where JSON requests carry the session id. */
  readonly sessionPlace?: SessionPlace | undefined;
  /** Lifetime asked for at JSON logins. */
  readonly sessionMinutes?: number | undefined;
  /** Address for system replies. */
  readonly replyTo?: string | undefined;
  readonly sleep?: Sleep | undefined;
  readonly tokenSteps?: TokenSteps | undefined;
}

/** How long ending a session may take. */
const LOGOUT_TIMEOUT_MS = 5_000;

/** Lifetime of a session that states none. Service API, section "Limits". */
const SESSION_MINUTES = 10;

/** Of the time that a call has, what may go by until the next token; the rest is for the requests. */
const TOKEN_WAIT_SHARE = 1 / 2;

export function createAuthenticator(line: ClientContext, options: AuthenticatorOptions): Authenticator {
  const { credential, sessionPlace: place = 'header' } = options;
  const { now } = line;
  const closing = new AbortController();
  const { sleep: wait = (milliseconds, signal) => sleep(milliseconds, undefined, { signal }) } = options;
  const nextToken = tokenSource(credential, now, {
    steps: options.tokenSteps ?? createTokenSteps(),
    sleep: (milliseconds) => wait(milliseconds, closing.signal),
    maxWaitMs: options.timeoutMs * TOKEN_WAIT_SHARE,
  });
  const given = credential.method === 'two_factor' ? credential.sessionHash : undefined;
  const givenUntil = credential.method === 'two_factor' ? credential.sessionEndsAt : undefined;
  let lent = given;
  const jsonSession = shareSession(openJsonSession, now);
  const xmlSession = shareSession(
    openXmlSession,
    now,
    given === undefined ? undefined : { key: given, expiresAt: givenUntil ?? Number.POSITIVE_INFINITY },
  );

  function deadlineAfter(milliseconds: number): Deadline {
    return { endsAt: performance.now() + milliseconds };
  }

  async function openJsonSession(): Promise<Session> {
    if (credential.method !== 'password') throw new InvalidInputError('only a password opens a JSON session');
    const { user, context, password } = credential;
    const timeout = options.sessionMinutes;
    const opened = await carryOut(
      sessionLogin,
      { user, context, password, timeout },
      deadlineAfter(options.timeoutMs),
      loginQuery(),
    );
    const seconds = opened.maxAgeSeconds ?? (timeout ?? SESSION_MINUTES) * 60;
    return { key: opened.sessionId, expiresAt: now() + seconds * 1000 };
  }

  async function openXmlSession(): Promise<Session> {
    const { token, giveBack } = await nextToken();
    try {
      const { hash } = await carryOut(authSessionCreate, { token }, deadlineAfter(options.timeoutMs));
      // Without a new token there is no renewing by the clock: such a session serves for as long as it is taken.
      const renewable = credential.method !== 'two_factor' || credential.totpSecret !== undefined;
      return {
        key: hash,
        expiresAt: renewable ? now() + SESSION_MINUTES * 60_000 : Number.POSITIVE_INFINITY,
      };
    } catch (error) {
      // Where that fails the step counts as used: the next one is waited for.
      if (error instanceof ServiceError && error.kind === 'not_sent') await giveBack().catch(() => undefined);
      throw error;
    }
  }

  /** A login answers with a result, so it has the general parameters; the document shows none for a logout. */
  function loginQuery(): GeneralQuery {
    return { replyTo: options.replyTo, ctid: randomUUID() };
  }

  /** One of the session tasks, which bring their own signature. */
  async function carryOut<I, O>(
    task: ServiceTask<I, O>,
    input: I,
    budget: Deadline,
    general: GeneralQuery = {},
  ): Promise<O> {
    const prepared = prepare(line, task, input, task.json === undefined ? 'xml' : 'json', general);
    return (await send(line, prepared, await sign(prepared, budget), budget)).output;
  }

  async function sign<I, O>(prepared: PreparedRequest<I, O>, budget: Deadline): Promise<SignedRequest> {
    const { task, input, activity, unsigned } = prepared;
    if (unsigned.via === 'json') {
      const own = task.json?.signature?.(input);
      const { signature, session } =
        own === undefined ? await jsonSignature(activity, budget) : { signature: own };
      return { request: orInvalidInput(activity, () => unsigned.sign(signature)), signature, session };
    }
    const own = orInvalidInput(activity, () => task.xml?.signature?.(input, credential));
    const { signature, session } =
      own === undefined ? await xmlSignature(activity, budget) : { signature: own };
    return { request: orInvalidInput(activity, () => unsigned.sign(signature)), signature, session };
  }

  async function jsonSignature(
    activity: Activity,
    budget: Deadline,
  ): Promise<SignatureWithSession<JsonSignature>> {
    if (credential.method === 'trusted_application') {
      return { signature: { kind: 'basic', user: credential.uuid, password: credential.password } };
    }
    const { user, context, password } = credential;
    if (options.jsonAuth === 'basic') return { signature: { kind: 'basic', user, context, password } };
    const session = await sessionOf(jsonSession.get(), activity, budget);
    return { signature: { kind: 'session', id: session.key, place }, session };
  }

  async function xmlSignature(
    activity: Activity,
    budget: Deadline,
  ): Promise<SignatureWithSession<XmlSignature>> {
    switch (credential.method) {
      case 'trusted_application': {
        const { uuid, application, password } = credential;
        return { signature: { kind: 'trusted_application', uuid, application, password } };
      }
      case 'password': {
        if (options.xmlAuth === 'session') return xmlSessionSignature(activity, budget);
        const { user, context, password } = credential;
        return { signature: { kind: 'auth', user, context, password } };
      }
      case 'two_factor':
        return xmlSessionSignature(activity, budget);
    }
  }

  async function xmlSessionSignature(
    activity: Activity,
    budget: Deadline,
  ): Promise<SignatureWithSession<XmlSignature>> {
    const session = await sessionOf(xmlSession.get(), activity, budget);
    return { signature: { kind: 'auth_session', hash: session.key }, session };
  }

  return {
    sign,
    invalidateSession(session) {
      jsonSession.invalidate(session);
      xmlSession.invalidate(session);
    },
    async verify(budget, { acl, profile, customer } = {}) {
      const activity = { task: 'verify', name: 'checking the account' };
      switch (credential.method) {
        case 'trusted_application':
          return { verified: false, reason: 'nothing is documented that checks a trusted application' };
        case 'password': {
          const { user, context, password } = credential;
          const login = carryOut(
            sessionLogin,
            { user, context, password, acl, profile, customer },
            budget,
            loginQuery(),
          );
          const opened = await sessionOf(login, activity, budget);
          const logout = carryOut(
            sessionLogout,
            { sessionId: opened.sessionId, place },
            deadlineAfter(LOGOUT_TIMEOUT_MS),
          );
          await Promise.allSettled([logout]);
          return { verified: true, user: opened.user };
        }
        case 'two_factor': {
          if (given !== undefined) return { verified: false, reason: 'its session was opened earlier' };
          const session = await sessionOf(xmlSession.get(), activity, budget);
          lent = session.key;
          const endsAt = Number.isFinite(session.expiresAt) ? session.expiresAt : undefined;
          return { verified: true, sessionHash: session.key, sessionEndsAt: endsAt };
        }
      }
    },
    async logout(sessions) {
      closing.abort();
      const [json, xml] = await Promise.all([jsonSession.current(), xmlSession.current()]);
      const isLent = xml?.key.reveal() === lent?.reveal();
      const hashes = [isLent ? undefined : xml?.key, sessions === 'all' ? lent : undefined];
      await Promise.allSettled([
        json === undefined
          ? undefined
          : carryOut(sessionLogout, { sessionId: json.key, place }, deadlineAfter(LOGOUT_TIMEOUT_MS)),
        ...hashes.map((hash) =>
          hash === undefined
            ? undefined
            : carryOut(authSessionDelete, { hash }, deadlineAfter(LOGOUT_TIMEOUT_MS)),
        ),
      ]);
    },
  };
}

interface SignatureWithSession<S> {
  readonly signature: S;
  readonly session?: Session;
}

/** Everything about a credential that an answer must not echo. */
export function credentialSecrets(credential: Credential): string[] {
  const plain = Object.values(credential).flatMap((value) =>
    value instanceof Secret ? [value.reveal()] : [],
  );
  try {
    const user = credential.method === 'trusted_application' ? credential.uuid : credential.user;
    return [...plain, basicToken(user, credential.password)];
  } catch {
    // A pair that Basic authentication cannot carry is never sent that way.
    return plain;
  }
}

interface TokenOnce {
  /** None for an account without a second factor. */
  readonly token?: Secret;
  /** Takes it back as unused: it never left. */
  giveBack(): Promise<void>;
}

interface TokenSourceOptions {
  readonly steps: TokenSteps;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** No token is waited for longer than this. */
  readonly maxWaitMs: number;
}

/** Tokens for opening sessions, none of them twice: a server takes each one once (RFC 6238, section 5.2). */
function tokenSource(
  credential: Credential,
  now: () => number,
  { steps, sleep, maxWaitMs }: TokenSourceOptions,
): () => Promise<TokenOnce> {
  const activity = { task: authSessionCreate.name, name: 'opening an XML session' };
  if (credential.method !== 'two_factor') return async () => ({ giveBack: async () => undefined });
  const { user, totpSecret, token } = credential;
  let isSpent = false;

  async function generatedToken(secret: Secret): Promise<TokenOnce> {
    const latest = now() + maxWaitMs;
    for (;;) {
      const made = orInvalidInput(activity, () => tokenAt(secret, now()));
      const lastStep = await steps.claimStep(user, made.step);
      if (lastStep === undefined) {
        return { token: made.token, giveBack: () => steps.giveBack(user, made.step) };
      }
      const next = startOfStep(lastStep + 1);
      const retryAfterMs = next - now();
      if (next > latest) {
        throw serviceError('token_used', activity, 'the token of this half minute is used up', {
          retryAfterMs,
        });
      }
      await sleep(retryAfterMs);
    }
  }

  async function typedToken(typed: Secret): Promise<TokenOnce> {
    if (!/^\d{6}$/.test(typed.reveal())) {
      throw serviceError('invalid_input', activity, 'a token has six digits');
    }
    isSpent = true;
    // Whoever links the shared secret next must not make the same one again.
    await steps.claimStep(user, stepAt(now()));
    return {
      token: typed,
      giveBack: async () => {
        isSpent = false;
      },
    };
  }

  return async () => {
    if (totpSecret !== undefined) return generatedToken(totpSecret);
    if (token === undefined || isSpent) {
      throw serviceError(
        'auth',
        activity,
        'the session has ended and a new one needs a new token: link the account again',
      );
    }
    return typedToken(token);
  };
}

/**
 * Waits for a session that other calls may be waiting for too, no longer than this call has time for.
 *
 * Whatever goes wrong on the way to a session, the task itself was not sent. What the service refused there, it
 * refused the account.
 */
async function sessionOf<T>(opening: Promise<T>, activity: Activity, budget: Deadline): Promise<T> {
  try {
    return await within(opening, budget);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      const what = error instanceof Error ? error.message : 'no session could be opened';
      throw serviceError('not_sent', activity, what, { cause: error });
    }
    const { kind, httpStatus, code, text, stid, retryAfterMs, envelope } = error;
    const here = sessionErrorKind(kind, envelope !== undefined);
    const ctid = activity.ctid ?? error.ctid;
    const details = { httpStatus, code, text, stid, ctid, retryAfterMs, envelope, cause: error };
    throw serviceError(here, activity, `nothing was sent, because ${error.message}`, details);
  }
}

function sessionErrorKind(kind: ServiceError['kind'], hasEnvelope: boolean): ServiceError['kind'] {
  if (kind === 'refused') return hasEnvelope ? 'auth' : 'refused';
  return kind === 'invalid_response' || kind === 'unknown_outcome' ? 'not_sent' : kind;
}

function within<T>(promise: Promise<T>, { endsAt, signal }: Deadline): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void =>
      reject(new Error('it was given up while a session was being opened', { cause: signal?.reason }));
    const late = (): void => reject(new Error('there was no session in time'));
    const timer = setTimeout(late, endsAt - performance.now());
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted) giveUp();
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    });
  });
}
