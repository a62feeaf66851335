import { randomUUID } from 'node:crypto';
import type { GeneralQuery } from '../codec/json.ts';
import { type ClientContext, type Deadline, prepareTask, send } from '../request.ts';
import type { Secret } from '../secret.ts';
import type { ServiceTask } from '../task.ts';
import {
  authSessionCreate,
  authSessionDelete,
  type OpenedSession,
  sessionLogin,
  sessionLogout,
} from '../tasks/session.ts';
import type { AuthenticatorOptions, LoginExtras } from './options.ts';
import type { PasswordCredential } from './signature.ts';
import { signWithTaskSignature } from './task-signature.ts';

export interface SessionCalls {
  login(
    credential: PasswordCredential,
    extras: LoginExtras & { readonly timeout?: number | undefined },
    deadline: Deadline,
  ): Promise<OpenedSession>;
  logout(sessionId: Secret): Promise<unknown>;
  /** @param token only for accounts with a second factor */
  openXmlSession(token: Secret | undefined, deadline: Deadline): Promise<Secret>;
  endXmlSession(hash: Secret): Promise<unknown>;
}

const LOGOUT_TIMEOUT_MS = 5_000;

export function createDeadline(timeoutMs: number): Deadline {
  return { endsAt: performance.now() + timeoutMs };
}

export function createSessionCalls(
  clientContext: ClientContext,
  options: AuthenticatorOptions,
): SessionCalls {
  const { credential, sessionPlace: place = 'header', replyTo } = options;

  async function sendTask<I, O>(
    task: ServiceTask<I, O>,
    input: I,
    deadline: Deadline,
    generalQuery?: GeneralQuery,
  ): Promise<O> {
    const via = task.json === undefined ? 'xml' : 'json';
    const prepared = prepareTask(clientContext, task, input, { via, generalQuery });
    const signed = signWithTaskSignature(prepared, credential);
    if (signed === undefined) throw new Error(`the task ${task.name} has no signature of its own`);
    return (await send(clientContext, prepared, signed, { deadline })).output;
  }

  return {
    login({ user, context, password }, extras, deadline) {
      // General parameters are documented for requests that return a result, so a logout has none.
      const generalQuery = { replyTo, ctid: randomUUID() };
      return sendTask(sessionLogin, { user, context, password, ...extras }, deadline, generalQuery);
    },
    logout: (sessionId) => sendTask(sessionLogout, { sessionId, place }, createDeadline(LOGOUT_TIMEOUT_MS)),
    openXmlSession: async (token, deadline) => (await sendTask(authSessionCreate, { token }, deadline)).hash,
    endXmlSession: (hash) => sendTask(authSessionDelete, { hash }, createDeadline(LOGOUT_TIMEOUT_MS)),
  };
}
