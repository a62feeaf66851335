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
 * A signed approval. The challenge contains the statement's hash, the decision, the approver and the policy's version.
 * Its nonce is a hash of everything else that the approval covers, so nothing can be changed afterwards. Pure.
 */

export const signatureBindingSchema = z.record(z.string(), z.json());
export type SignatureBinding = z.output<typeof signatureBindingSchema>;

export const approvalSignatureSchema = z.object({
  signature: approvalAssertionSchema,
  /** The challenge's nonce is the hash of this object. Its `salt` is random. */
  binding: signatureBindingSchema,
});
export type ApprovalSignature = Readonly<z.output<typeof approvalSignatureSchema>>;

export interface LoggedSignature extends ApprovalSignature {
  /** From the vouching key up to a root. */
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
  const salted = { ...binding, salt };
  const challenge: ApprovalChallenge = {
    approver,
    decision: 'approve',
    nonce: hashJson(salted),
    policy,
    statement,
  };
  return { challenge, binding: salted };
}

/** Why an approval's signature isn't valid for a use; undefined if an approver signed exactly this with a valid key. */
export async function findSignatureDifference(
  { userId, signed }: { readonly userId: string; readonly signed?: ApprovalSignature | undefined },
  subject: SignedSubject,
  ring: KeyRing,
  verifier: Verifier,
): Promise<SignatureDifference | undefined> {
  if (signed === undefined) return 'unsigned';
  const { signature, binding } = signed;
  const { challenge } = signature;
  const { salt, ...unsalted } = binding;
  if (challenge.statement !== subject.statement) return 'statement';
  if (challenge.approver !== userId) return 'approver';
  if (challenge.policy !== subject.policy) return 'policy';
  const isSameBinding = isDeepStrictEqual(unsalted, subject.binding);
  if (salt === undefined || challenge.nonce !== hashJson(binding) || !isSameBinding) return 'order';
  if (findSigningKey(ring.validKeys, signature, userId) === undefined) return 'key';
  return (await verifier.verify(signature)) === undefined ? 'signature' : undefined;
}
