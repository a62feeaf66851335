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
 * The challenge of a signed approval contains the statement hash, the decision, the approver and the policy version.
 * The nonce is a hash of everything else that the approval covers (the binding), so nothing can be changed afterwards.
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
  /** The vouching signatures, from the one that vouches for the signing key up to a root's. */
  readonly chain: readonly Assertion<VouchChallenge>[];
}

export interface SignedSubject {
  readonly statementHash: string;
  readonly policyVersion: number;
  readonly binding: SignatureBinding;
}

/** @param salt 64 hex digits, never reused */
export function buildChallenge(
  approver: string,
  { statementHash, policyVersion, binding }: SignedSubject,
  salt: string,
) {
  const saltedBinding = { ...binding, salt };
  const challenge: ApprovalChallenge = {
    approver,
    decision: 'approve',
    nonce: hashJson(saltedBinding),
    policy: policyVersion,
    statement: statementHash,
  };
  return { challenge, binding: saltedBinding };
}

/** Returns why an approval's signature isn't valid for the subject, or undefined if it is. */
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
  if (challenge.statement !== subject.statementHash) return 'statement';
  if (challenge.approver !== userId) return 'approver';
  if (challenge.policy !== subject.policyVersion) return 'policy';
  const isSameBinding = isDeepStrictEqual(unsaltedBinding, subject.binding);
  if (salt === undefined || challenge.nonce !== hashJson(binding) || !isSameBinding) return 'order';
  if (findSigningKey(ring.validKeys, signature, userId) === undefined) return 'key';
  return (await verifier.verify(signature)) === undefined ? 'signature' : undefined;
}
