import { z } from 'zod';
import type { WireValue } from '../codec/wire.ts';
import type { Envelope } from '../envelope.ts';
import { findText } from '../redact.ts';
import { MASK, Secret, secretFieldSchema } from '../secret.ts';
import { defineTask, returnNothing, type TaskResult } from '../task.ts';

// See “Domain” in the service's API documentation, which documents these tasks only for JSON. It doesn't
// document their responses, so only the envelope is read.

/** In ASCII. */
const name = z.string().min(1).max(255);
const contactSchema = z.strictObject({ id: z.int().positive() });
const nameServers = z.array(z.strictObject({ name: z.string().min(1).max(255) })).min(1);
const contactFields = { ownerc: contactSchema, adminc: contactSchema, techc: contactSchema };
const domainSchema = z.strictObject({ name });

/** `confirmOrder` states that an authorized person has agreed to the charge. */
export const domainCreate = defineTask({
  name: 'domain.create',
  effect: 'charge',
  describeActivity: (input) => `registering ${input.name}`,
  input: z.strictObject({ name, ...contactFields, nameServers, confirmOrder: z.boolean() }),
  json: { method: 'POST', path: () => ['domain'], body: (input): WireValue => input },
  parseOutput: returnNothing,
});

/** `auth` is the losing registrar's authorization code. */
export const domainTransfer = defineTask({
  name: 'domain.transfer',
  effect: 'charge',
  describeActivity: (input) => `transferring ${input.name}`,
  input: z.strictObject({ name, auth: secretFieldSchema, ...contactFields, nameServers }),
  json: {
    method: 'POST',
    path: () => ['domain', '_transfer'],
    // Order cards show the fields in the body's order.
    body: ({ name, auth, ...otherFields }): WireValue => ({ name, auth, ...otherFields }),
  },
  parseOutput: returnNothing,
});

export const domainRenew = defineTask({
  name: 'domain.renew',
  effect: 'charge',
  describeActivity: (input) => `renewing ${input.name}`,
  input: z.strictObject({ name, period: z.int().positive() }),
  json: {
    method: 'POST',
    path: (input) => ['domain', input.name, '_renew'],
    body: (input): WireValue => ({ period: input.period }),
  },
  parseOutput: returnNothing,
});

/** A deleted domain can be restored for 30 days. */
export const domainDelete = defineTask({
  name: 'domain.delete',
  effect: 'write',
  describeActivity: (input) => `deleting ${input.name}`,
  input: domainSchema,
  json: { method: 'DELETE', path: (input) => ['domain', input.name] },
  parseOutput: returnNothing,
});

/** Possible only during the redemption period. No body is documented, so none is sent. */
export const domainRestore = defineTask({
  name: 'domain.restore',
  effect: 'charge',
  describeActivity: (input) => `restoring ${input.name}`,
  input: domainSchema,
  json: { method: 'POST', path: (input) => ['domain', input.name, '_restore'] },
  parseOutput: returnNothing,
});

/** Notifies both registrants, and locks transfers for 60 days. */
export const domainOwnerChange = defineTask({
  name: 'domain.ownerChange',
  effect: 'write',
  describeActivity: (input) => `starting the owner change of ${input.name}`,
  input: domainSchema,
  json: { method: 'POST', path: (input) => ['domain', input.name, '_ownerChange'] },
  parseOutput: returnNothing,
});

/** The body isn't documented, so the `nameServers` field of domain creation is used. */
export const domainUpdateNameservers = defineTask({
  name: 'domain.updateNameservers',
  effect: 'write',
  idempotent: true,
  describeActivity: (input) => `changing the nameservers of ${input.name}`,
  input: z.strictObject({ name, nameServers }),
  json: {
    method: 'PUT',
    path: (input) => ['domain', input.name],
    body: (input): WireValue => ({ nameServers: input.nameServers }),
  },
  parseOutput: returnNothing,
});

/** Has exactly one of the fields. */
export interface AuthInfo {
  readonly auth?: Secret;
  /** The full response as JSON text. Set if no code was found in it. */
  readonly answer?: Secret;
}

const AUTH_FIELD_NAMES = new Set(['authinfo', 'auth', 'authcode']);
/** In an object whose own name is in `AUTH_FIELD_NAMES`, like `pw` in EPP (RFC 5731). */
const CODE_FIELD_NAMES = new Set(['code', 'value', 'pw', 'password']);

/**
 * The effect is `write`, because the request isn't documented as read-only. It isn't idempotent, because a
 * second request may create a new code and invalidate the first. The code's place in the response isn't
 * documented, so common field names are searched. The returned envelope never contains the response's data.
 */
export const domainAuthInfo = defineTask({
  name: 'domain.authInfo',
  effect: 'write',
  describeActivity: (input) => `fetching the auth code of ${input.name}`,
  input: domainSchema,
  json: { method: 'POST', path: (input) => ['domain', input.name, '_authinfo1'] },
  readsSecrets: true,
  parseOutput: ({ envelope }): TaskResult<AuthInfo> => {
    const values = [listSearchableValues(envelope), envelope.received];
    const code = findText(values, AUTH_FIELD_NAMES, CODE_FIELD_NAMES);
    if (code !== undefined) {
      return { output: { auth: new Secret(code) }, secrets: [code], envelope: maskData(envelope, false) };
    }
    const { received, ...documentedParts } = envelope;
    const answer = JSON.stringify(received ?? documentedParts);
    return { output: { answer: new Secret(answer) }, envelope: maskData(envelope, true) };
  },
});

/** Converts `{type, value}` objects to `{[type]: value}`. */
function listSearchableValues({ object, data, messages }: Envelope): unknown[] {
  const references = messages.flatMap((message) => message.objects);
  return [
    object?.data,
    data,
    ...[object, ...references].map((reference) =>
      reference?.type === undefined ? undefined : { [reference.type]: reference.value },
    ),
  ];
}

/**
 * Also drops undocumented parts.
 * @param shouldMaskTexts set if no code was found, because any text may then contain it. People need the
 * status text, so it is kept unless it is the only text.
 */
function maskData(envelope: Envelope, shouldMaskTexts: boolean): Envelope {
  const { object, data, messages, status } = envelope;
  const isStatusOnly = object === undefined && data.length === 0 && messages.length === 0;
  const mask = (value: string | undefined): string | undefined => (value === undefined ? value : MASK);
  const { received: _received, ...documentedParts } = envelope;
  return {
    ...documentedParts,
    status: shouldMaskTexts && isStatusOnly ? { ...status, text: MASK } : status,
    object: object && {
      ...object,
      value: shouldMaskTexts ? mask(object.value) : object.value,
      data: object.data === undefined ? undefined : MASK,
    },
    data: data.map(() => MASK),
    messages: !shouldMaskTexts
      ? messages
      : messages.map((message) => ({
          ...message,
          text: mask(message.text),
          objects: message.objects.map(({ type }) => ({ type, value: MASK })),
        })),
  };
}
