import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { verifyAuthenticationResponse } from '@simplewebauthn/server';
import { z } from 'zod';
import { hashJson } from '../../lib/canonical-json.ts';
import { computeFingerprint, FINGERPRINT, spkiToCose } from './public-key.ts';

export { hashJson };

/**
 * Stored passkey signatures and their verification. Each is stored with its content, so the log alone is enough to
 * verify it.
 */

/** The WebAuthn relying party, derived from `PUBLIC_URL`. Keys are bound to the host. */
export interface RelyingParty {
  /** The host, without a port. */
  readonly id: string;
  readonly origin: string;
}

/** @returns undefined if WebAuthn doesn't work at this URL */
export function parseRelyingParty(publicUrl: string): RelyingParty | undefined {
  const { protocol, hostname, origin } = new URL(publicUrl);
  // WebAuthn doesn't accept IP addresses as hosts.
  const isHost = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
  return (protocol === 'https:' && isHost) || hostname === 'localhost' ? { id: hostname, origin } : undefined;
}

/** Unpadded base64url in canonical form. Any other encoding of the same bytes is refused. */
const base64url = z
  .string()
  .max(8_192)
  .refine((text) => text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text);

export const fingerprintSchema = z
  .templateLiteral(['SHA256:', z.string()])
  .refine((text) => FINGERPRINT.test(text));

const userId = z.string().min(1);
const nonce = z.string().regex(/^[0-9a-f]{64}$/);
const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** The signed content. The SHA-256 of its canonical JSON is the WebAuthn challenge. */
export const approvalChallengeSchema = z.strictObject({
  approver: userId,
  decision: z.literal('approve'),
  nonce,
  /** The version of the policy in force. */
  policy: z.int(),
  statement: hash,
});
export const vouchChallengeSchema = z.strictObject({
  by: userId,
  decision: z.literal('vouch'),
  key: fingerprintSchema,
  nonce,
  of: userId,
});
export const revokeChallengeSchema = vouchChallengeSchema.extend({
  decision: z.literal('revoke'),
  /** Signatures made with a retired key stay valid. */
  reason: z.enum(['retired', 'compromised']),
});
export const charterChallengeSchema = z.strictObject({
  by: userId,
  charter: hash,
  decision: z.literal('publish'),
  nonce,
  /** The hash of the previous charter; omitted in the first. */
  previous: hash.exactOptional(),
});
export type ApprovalChallenge = Readonly<z.output<typeof approvalChallengeSchema>>;
export type VouchChallenge = Readonly<z.output<typeof vouchChallengeSchema>>;
export type RevokeChallenge = Readonly<z.output<typeof revokeChallengeSchema>>;
export type CharterChallenge = Readonly<z.output<typeof charterChallengeSchema>>;
export type Challenge = ApprovalChallenge | VouchChallenge | RevokeChallenge | CharterChallenge;

/** A stored signature: the content, the key, and the authenticator's response. */
function buildAssertionSchema<Signed extends z.ZodType<Challenge>>(challenge: Signed) {
  return z.strictObject({
    challenge,
    key: fingerprintSchema,
    /** SPKI. */
    publicKey: base64url,
    credential: base64url,
    authenticatorData: base64url,
    clientDataJSON: base64url,
    signature: base64url,
  });
}

export const approvalAssertionSchema = buildAssertionSchema(approvalChallengeSchema);
export const vouchAssertionSchema = buildAssertionSchema(vouchChallengeSchema);
export const revokeAssertionSchema = buildAssertionSchema(revokeChallengeSchema);
export const charterAssertionSchema = buildAssertionSchema(charterChallengeSchema);

export type Assertion<Signed extends Challenge = Challenge> = Readonly<
  Omit<z.output<typeof approvalAssertionSchema>, 'challenge'> & { readonly challenge: Signed }
>;

/** The challenge for the authenticator, in unpadded base64url. */
export function encodeChallenge(challenge: Challenge): string {
  return Buffer.from(hashJson(challenge), 'hex').toString('base64url');
}

export interface Verifier {
  readonly relyingParty: RelyingParty;
  /** @returns the authenticator's counter; undefined if the signature isn't valid */
  verify(assertion: Assertion): Promise<number | undefined>;
}

const MAX_CACHED = 10_000;

const NO_VERIFIER: Verifier = { relyingParty: { id: '', origin: '' }, verify: async () => undefined };

/**
 * Verifies signatures for one relying party. Without one, no signature is valid. Results never change, so each
 * signature is verified once per process. Whether its key is valid is checked elsewhere.
 */
export function createVerifier(relyingParty: RelyingParty | undefined): Verifier {
  if (relyingParty === undefined) return NO_VERIFIER;
  const cache = new Map<string, Promise<number | undefined>>();
  return {
    relyingParty,
    verify(assertion) {
      const key = hashJson(assertion);
      const known = cache.get(key);
      if (known !== undefined) return known;
      if (cache.size >= MAX_CACHED) cache.clear();
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
    if (isEllipticCurve(publicKey) && !isWholeSequence(Buffer.from(signature, 'base64url'))) return undefined;
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
      // The counter was checked when the signature was made. The stored counter has increased since.
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
 * Whether bytes are exactly one DER sequence, like an ECDSA signature (WebAuthn, 6.5.5). The library ignores trailing
 * bytes, so one signature could be encoded in many ways.
 */
function isWholeSequence(bytes: Buffer): boolean {
  const isLong = bytes[1] === 0x81;
  return bytes[0] === 0x30 && bytes.length === (isLong ? 3 : 2) + (bytes[isLong ? 2 : 1] ?? 0);
}
