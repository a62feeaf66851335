import { z } from 'zod';
import { parseSessionCookie } from '../authenticator/signature.ts';
import { InvalidInputError, InvalidResponseError } from '../codec/codec-errors.ts';
import type { ResponseObject } from '../envelope.ts';
import { isRecord } from '../record.ts';
import { createMask, findText, maskEnvelope } from '../redact.ts';
import { Secret } from '../secret.ts';
import { defineTask, returnNothing, type TaskResult } from '../task.ts';

// See “Session” and “Authentication” in the service's API documentation.

export interface OpenedSession {
  readonly sessionId: Secret;
  readonly maxAgeSeconds?: number;
  /** The user's record, with the requested extras. */
  readonly user?: Readonly<Record<string, unknown>>;
}

/**
 * Opens a JSON session. `acl`, `profile` and `customer` add that data to the user's record. `timeout` is in
 * minutes, 10 by default.
 */
export const sessionLogin = defineTask({
  name: 'session.login',
  effect: 'write',
  successCode: 'S1321001',
  outputProvesSuccess: true,
  describeActivity: (input) => `logging in ${input.user}, context ${input.context}`,
  input: z.strictObject({
    user: z.string().min(1),
    context: z.int().nonnegative(),
    password: z.instanceof(Secret),
    acl: z.boolean().optional(),
    profile: z.boolean().optional(),
    customer: z.boolean().optional(),
    timeout: z.int().positive().optional(),
  }),
  json: {
    method: 'POST',
    path: () => ['login'],
    query: ({ acl, profile, customer, timeout }) =>
      Object.entries({ acl, profile, customer, timeout }).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as const],
      ),
    body: ({ user, context, password }) => ({ user, context, password }),
    signature: () => ({ kind: 'none' }),
  },
  parseOutput: ({ envelope, setCookieHeaders }): TaskResult<OpenedSession> => {
    const { id, maxAgeSeconds } = parseSessionCookie(setCookieHeaders);
    const user = maskEnvelope(envelope, createMask([id.reveal()])).data.find(isRecord);
    return {
      output: {
        sessionId: id,
        ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
        ...(user === undefined ? {} : { user }),
      },
      secrets: [id.reveal()],
    };
  },
});

/** Ends a JSON session. The request carries the session id in `place`, by default in the header. */
export const sessionLogout = defineTask({
  name: 'session.logout',
  effect: 'write',
  idempotent: true,
  successCode: 'S1321003',
  outputProvesSuccess: true,
  describeActivity: () => 'logging out',
  input: z.strictObject({
    sessionId: z.instanceof(Secret),
    place: z.enum(['header', 'cookie']).optional(),
  }),
  json: {
    method: 'GET',
    path: () => ['logout'],
    signature: ({ sessionId, place = 'header' }) => ({ kind: 'session', id: sessionId, place }),
  },
  parseOutput: returnNothing,
});

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
const HASH_FIELD_NAMES = new Set(['hash', 'authsession', 'sessionid', 'session']);

/**
 * Opens an XML session. Two-factor accounts need a token. The API doesn't document where the response has the
 * session's hash, so it is read from a `hash` element anywhere, or else from the object's value if that
 * contains a UUID.
 */
export const authSessionCreate = defineTask({
  name: 'authSession.create',
  effect: 'write',
  outputProvesSuccess: true,
  describeActivity: () => 'opening an XML session',
  input: z.strictObject({ token: z.instanceof(Secret).optional() }),
  xml: {
    code: '1321001',
    elements: () => ({}),
    signature: ({ token }, credential) => {
      if (credential.method === 'trusted_application') {
        throw new InvalidInputError('trusted applications don’t open sessions; they sign each request');
      }
      const { user, context, password } = credential;
      return { kind: 'auth', user, context, password, token };
    },
  },
  parseOutput: ({ envelope }): TaskResult<{ hash: Secret }> => {
    const { object, data, messages, received } = envelope;
    const sources = [
      object?.data,
      data,
      ...[object, ...messages.flatMap(({ objects }) => objects)].map(toField),
      received,
    ];
    const hash = UUID.exec(findText(sources, HASH_FIELD_NAMES) ?? object?.value ?? '')?.[0];
    if (hash === undefined) throw new InvalidResponseError('the response contains no session hash');
    return { output: { hash: new Secret(hash) }, secrets: [hash] };
  },
});

function toField(reference: ResponseObject | undefined): unknown {
  return reference?.type === undefined ? undefined : { [reference.type]: reference.value };
}

export const authSessionDelete = defineTask({
  name: 'authSession.delete',
  effect: 'write',
  idempotent: true,
  outputProvesSuccess: true,
  describeActivity: () => 'ending an XML session',
  input: z.strictObject({ hash: z.instanceof(Secret) }),
  xml: { code: '1321003', elements: () => ({}), signature: ({ hash }) => ({ kind: 'auth_session', hash }) },
  parseOutput: returnNothing,
});
