import { randomBytes } from 'node:crypto';
import {
  type Assertion,
  createVerifier,
  type RelyingParty,
  type RevokeChallenge,
  type VouchChallenge,
} from '../../../src/approvals/signing/assertion.ts';
import type { AddedKey, KeyLog } from '../../../src/approvals/signing/key-ring.ts';
import { Authenticator } from '../../support/authenticator.ts';

/** The host of the sample keys. */
export const RELYING_PARTY: RelyingParty = { id: 'steward.example', origin: 'https://steward.example' };
export const VERIFIER = createVerifier(RELYING_PARTY);

/** 64 hex digits, never used before. */
export const newNonce = () => randomBytes(32).toString('hex');

/** A person with a passkey. */
export interface Signer {
  readonly owner: string;
  readonly authenticator: Authenticator;
}

export function newSigner(owner: string, relyingParty = RELYING_PARTY): Signer {
  return { owner, authenticator: new Authenticator(relyingParty) };
}

/** A person's key after it was added. */
export function addedKey({ owner, authenticator }: Signer): AddedKey {
  const { fingerprint, publicKey, credential } = authenticator;
  return {
    ...{ fingerprint, owner, publicKey, credential },
    label: `key of ${owner}`,
    host: RELYING_PARTY.id,
    addedAt: new Date('2026-03-01T09:00:00Z'),
  };
}

/** One person vouches for the key of another. */
export function signVouch(voucher: Signer, of: Signer): Assertion<VouchChallenge> {
  return voucher.authenticator.assert({
    by: voucher.owner,
    decision: 'vouch',
    key: of.authenticator.fingerprint,
    nonce: newNonce(),
    of: of.owner,
  });
}

/** A log of added keys and their vouchers. */
export function newLog(
  signers: readonly Signer[],
  vouched: readonly (readonly [voucher: Signer, of: Signer])[],
  more: Partial<KeyLog> = {},
): KeyLog {
  return {
    added: signers.map(addedKey),
    vouched: vouched.map(([voucher, of]) => ({
      key: of.authenticator.fingerprint,
      signature: signVouch(voucher, of),
    })),
    revoked: [],
    isComplete: true,
    ...more,
  };
}

/** One person revokes the key of another. */
export function signRevocation(
  by: Signer,
  of: Signer,
  reason: 'retired' | 'compromised' = 'retired',
): Assertion<RevokeChallenge> {
  return by.authenticator.assert({
    by: by.owner,
    decision: 'revoke',
    key: of.authenticator.fingerprint,
    nonce: newNonce(),
    of: of.owner,
    reason,
  });
}

/** The operator's roots. */
export function rootsOf(...signers: readonly Signer[]): ReadonlySet<string> {
  return new Set(signers.map(({ authenticator }) => authenticator.fingerprint));
}
