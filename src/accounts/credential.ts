import { z } from 'zod';
import type { Credential } from '../service/authenticator/signature.ts';
import { Secret } from '../service/secret.ts';
import { VaultError } from './vault.ts';

const secretSchema = z.string().transform((text) => new Secret(text));
const loginShape = { user: z.string(), context: z.number(), password: secretSchema };

const storedCredentialSchema = z.discriminatedUnion('method', [
  z.object({ method: z.literal('password'), ...loginShape }),
  z.object({
    method: z.literal('trusted_application'),
    uuid: z.string(),
    application: z.string(),
    password: secretSchema,
  }),
  z.object({
    method: z.literal('two_factor'),
    ...loginShape,
    totpSecret: secretSchema.optional(),
    sessionHash: secretSchema.optional(),
    sessionEndsAt: z.number().optional(),
  }),
]);

/** Leaves out the one-time token, which is used up when the account is linked. */
export function serializeCredential(credential: Credential): Secret {
  const revealedFields = Object.fromEntries(
    Object.entries(credential)
      .filter(([name, value]) => name !== 'token' && value !== undefined)
      .map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
  return new Secret(JSON.stringify(revealedFields));
}

/** @throws {VaultError} if another version of the bot wrote the credential in an unknown format */
export function parseCredential(text: Secret): Credential {
  const parsed = storedCredentialSchema.safeParse(parseJson(text));
  // The schema's error would contain the credential.
  if (!parsed.success) throw new VaultError('reading a linked credential: unknown format');
  return parsed.data;
}

/** Hides the parser's error, which would contain the text. */
function parseJson(text: Secret): unknown {
  try {
    return JSON.parse(text.reveal());
  } catch {
    return undefined;
  }
}
