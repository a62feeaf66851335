import { z } from 'zod';
import type { Credential } from '../service/authenticator/signature.ts';
import { Secret } from '../service/secret.ts';
import { VaultError } from './vault.ts';

const secret = z.string().transform((text) => new Secret(text));
const userInContext = { user: z.string(), context: z.number(), password: secret };

const storedCredentialSchema = z.discriminatedUnion('method', [
  z.object({ method: z.literal('password'), ...userInContext }),
  z.object({
    method: z.literal('trusted_application'),
    uuid: z.string(),
    application: z.string(),
    password: secret,
  }),
  z.object({
    method: z.literal('two_factor'),
    ...userInContext,
    totpSecret: secret.optional(),
    sessionHash: secret.optional(),
    sessionEndsAt: z.number().optional(),
  }),
]);

/** The text to encrypt. Leaves out the one-time token, which is used up when the account is linked. */
export function serializeCredential(credential: Credential): Secret {
  const revealed = Object.fromEntries(
    Object.entries(credential)
      .filter(([name, value]) => name !== 'token' && value !== undefined)
      .map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
  return new Secret(JSON.stringify(revealed));
}

/** @throws {VaultError} if the decrypted text isn't a known kind of credential: another version wrote it */
export function parseCredential(text: Secret): Credential {
  const parsed = storedCredentialSchema.safeParse(parseJson(text));
  // The details of the error would contain the credential.
  if (!parsed.success) throw new VaultError('reading a linked credential: unknown format');
  return parsed.data;
}

/** The parser's own error would contain the text. */
function parseJson(text: Secret): unknown {
  try {
    return JSON.parse(text.reveal());
  } catch {
    return undefined;
  }
}
