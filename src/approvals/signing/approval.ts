import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  type ApprovalChallenge,
  type Assertion,
  approvalAssertionSchema,
  hashJson,
  type Verifier,
  type VouchChallenge,
} from './assertion.ts';
import type { SignatureDifference } from './difference.ts';
import { findSigningKey, type KeyRing } from './key-ring.ts';

/**
 * A signed approval's challenge contains the statement's hash, the decision, the approver and the policy version. Its
 * nonce is a hash of everything else that the approval covers, so none of it can be changed afterwards.
 */

export const signatureBindingSchema = z.record(z.string(), z.json());
export type SignatureBinding = z.output<typeof signatureBindingSchema>;

export const approvalSignatureSchema = z.object({
  signature: approvalAssertionSchema,
  /** The challenge's nonce is the hash of this object, which includes a random `salt`. */
  binding: signatureBindingSchema,
});
export type ApprovalSignature = Readonly<z.output<typeof approvalSignatureSchema>>;

export interface LoggedSignature extends ApprovalSignature {
  /** The vouching signatures, from the signing key's voucher up to a root. */
  readonly chain: readonly Assertion<VouchChallenge>[];
}

export interface SignedSubject {
  readonly statement: string;
  readonly policy: number;
  readonly binding: SignatureBinding;
}

/** @param salt 64 hex digits, never reused */
export function buildChallenge(
  approver: string,
  { statement, policy, binding }: SignedSubject,
  salt: string,
) {
  const saltedBinding = { ...binding, salt };
  const challenge: ApprovalChallenge = {
    approver,
    decision: 'approve',
    nonce: hashJson(saltedBinding),
    policy,
    statement,
  };
  return { challenge, binding: saltedBinding };
}

/** Why an approval isn't validly signed; undefined if the person signed this subject with a valid key. */
export async function findSignatureDifference(
  { userId, signed }: { readonly userId: string; readonly signed?: ApprovalSignature | undefined },
  subject: SignedSubject,
  ring: KeyRing,
  verifier: Verifier,
): Promise<SignatureDifference | undefined> {
  if (signed === undefined) return 'unsigned';
  const { signature, binding } = signed;
  const { challenge } = signature;
  const { salt, ...unsaltedBinding } = binding;
  if (challenge.statement !== subject.statement) return 'statement';
  if (challenge.approver !== userId) return 'approver';
  if (challenge.policy !== subject.policy) return 'policy';
  const isSameBinding = isDeepStrictEqual(unsaltedBinding, subject.binding);
  if (salt === undefined || challenge.nonce !== hashJson(binding) || !isSameBinding) return 'order';
  if (findSigningKey(ring.validKeys, signature, userId) === undefined) return 'key';
  return (await verifier.verify(signature)) === undefined ? 'signature' : undefined;
}
