import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { verifyAuthenticationResponse } from '@simplewebauthn/server';
import { z } from 'zod';
import { hashJson } from '../../lib/canonical-json.ts';
import { computeFingerprint, FINGERPRINT_PATTERN, spkiToCose } from './public-key.ts';

export { hashJson };

/** Passkey signatures are stored together with their challenges, so the log alone is enough to verify them. */

/** The WebAuthn relying party, derived from `PUBLIC_URL`. Keys are bound to this host. */
export interface RelyingParty {
  /** The host name, without a port. */
  readonly id: string;
  readonly origin: string;
}

/** @returns undefined if WebAuthn doesn't work at this URL */
export function parseRelyingParty(publicUrl: string): RelyingParty | undefined {
  const { protocol, hostname, origin } = new URL(publicUrl);
  // WebAuthn doesn't accept IP addresses.
  const isHostName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
  return (protocol === 'https:' && isHostName) || hostname === 'localhost'
    ? { id: hostname, origin }
    : undefined;
}

/** Unpadded base64url. Rejects any other encoding of the same bytes. */
const base64urlSchema = z
  .string()
  .max(8_192)
  .refine((text) => text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text);

export const fingerprintSchema = z
  .templateLiteral(['SHA256:', z.string()])
  .refine((text) => FINGERPRINT_PATTERN.test(text));

const userIdSchema = z.string().min(1);
/** 32 bytes in hex: a SHA-256 hash or a nonce. */
const hexSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** Approvers sign this object. The SHA-256 of its canonical JSON is the WebAuthn challenge. */
export const approvalChallengeSchema = z.strictObject({
  approver: userIdSchema,
  decision: z.literal('approve'),
  nonce: hexSchema,
  /** The version of the policy in force. */
  policy: z.int(),
  statement: hexSchema,
});
export const vouchChallengeSchema = z.strictObject({
  by: userIdSchema,
  decision: z.literal('vouch'),
  key: fingerprintSchema,
  nonce: hexSchema,
  of: userIdSchema,
});
export const revokeChallengeSchema = vouchChallengeSchema.extend({
  decision: z.literal('revoke'),
  /** Signatures made with a retired key stay valid. */
  reason: z.enum(['retired', 'compromised']),
});
export const charterChallengeSchema = z.strictObject({
  by: userIdSchema,
  charter: hexSchema,
  decision: z.literal('publish'),
  nonce: hexSchema,
  /** The hash of the previous charter; omitted in the first. */
  previous: hexSchema.exactOptional(),
});
export type ApprovalChallenge = Readonly<z.output<typeof approvalChallengeSchema>>;
export type VouchChallenge = Readonly<z.output<typeof vouchChallengeSchema>>;
export type RevokeChallenge = Readonly<z.output<typeof revokeChallengeSchema>>;
export type CharterChallenge = Readonly<z.output<typeof charterChallengeSchema>>;
export type Challenge = ApprovalChallenge | VouchChallenge | RevokeChallenge | CharterChallenge;

function buildAssertionSchema<ChallengeSchema extends z.ZodType<Challenge>>(challenge: ChallengeSchema) {
  return z.strictObject({
    challenge,
    key: fingerprintSchema,
    /** SPKI in DER. */
    publicKey: base64urlSchema,
    credential: base64urlSchema,
    authenticatorData: base64urlSchema,
    clientDataJSON: base64urlSchema,
    signature: base64urlSchema,
  });
}

export const approvalAssertionSchema = buildAssertionSchema(approvalChallengeSchema);
export const vouchAssertionSchema = buildAssertionSchema(vouchChallengeSchema);
export const revokeAssertionSchema = buildAssertionSchema(revokeChallengeSchema);
export const charterAssertionSchema = buildAssertionSchema(charterChallengeSchema);

export type Assertion<SignedChallenge extends Challenge = Challenge> = Readonly<
  Omit<z.output<typeof approvalAssertionSchema>, 'challenge'> & { readonly challenge: SignedChallenge }
>;

export function encodeChallenge(challenge: Challenge): string {
  return Buffer.from(hashJson(challenge), 'hex').toString('base64url');
}

export interface Verifier {
  readonly relyingParty: RelyingParty;
  /** @returns the authenticator's counter; undefined if the signature isn't valid */
  verify(assertion: Assertion): Promise<number | undefined>;
}

const MAX_CACHED_RESULTS = 10_000;

const REJECTING_VERIFIER: Verifier = { relyingParty: { id: '', origin: '' }, verify: async () => undefined };

/**
 * Without a relying party, no signature is valid. Results never change, so they are cached. Callers must check
 * that the key is valid.
 */
export function createVerifier(relyingParty: RelyingParty | undefined): Verifier {
  if (relyingParty === undefined) return REJECTING_VERIFIER;
  const cache = new Map<string, Promise<number | undefined>>();
  return {
    relyingParty,
    verify(assertion) {
      const key = hashJson(assertion);
      const cached = cache.get(key);
      if (cached !== undefined) return cached;
      if (cache.size >= MAX_CACHED_RESULTS) cache.clear();
      const result = verifyAssertion(assertion, relyingParty);
      cache.set(key, result);
      return result;
    },
  };
}

async function verifyAssertion(
  { challenge, key, publicKey, credential: id, authenticatorData, clientDataJSON, signature }: Assertion,
  { id: expectedRPID, origin: expectedOrigin }: RelyingParty,
): Promise<number | undefined> {
  if (computeFingerprint(publicKey) !== key) return undefined;
  try {
    if (isEllipticCurve(publicKey) && !isSingleDerSequence(Buffer.from(signature, 'base64url')))
      return undefined;
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { authenticatorData, clientDataJSON, signature },
        clientExtensionResults: {},
      },
      expectedChallenge: encodeChallenge(challenge),
      expectedOrigin,
      expectedRPID,
      // The counter was checked when the signature was made, and has increased since.
      credential: { id, publicKey: spkiToCose(publicKey), counter: 0 },
      requireUserVerification: true,
    });
    return verified && authenticationInfo.userVerified ? authenticationInfo.newCounter : undefined;
  } catch {
    return undefined;
  }
}

function isEllipticCurve(publicKey: string): boolean {
  const key = Buffer.from(publicKey, 'base64url');
  return createPublicKey({ key, format: 'der', type: 'spki' }).asymmetricKeyType === 'ec';
}

/**
 * An ECDSA signature must be a single DER sequence (WebAuthn, section 6.5.5). The library ignores trailing bytes, so
 * it would accept many encodings of one signature.
 */
function isSingleDerSequence(bytes: Buffer): boolean {
  const isLong = bytes[1] === 0x81;
  return bytes[0] === 0x30 && bytes.length === (isLong ? 3 : 2) + (bytes[isLong ? 2 : 1] ?? 0);
}
