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

/** A unique nonce: 64 hex digits. */
export const newNonce = () => randomBytes(32).toString('hex');

/** A person with a passkey. */
export interface Signer {
  readonly owner: string;
  readonly authenticator: Authenticator;
}

export function newSigner(owner: string, relyingParty = RELYING_PARTY): Signer {
  return { owner, authenticator: new Authenticator(relyingParty) };
}

/** A person's passkey, as the key log stores it. */
export function newAddedKey({ owner, authenticator }: Signer): AddedKey {
  const { fingerprint, publicKey, credential } = authenticator;
  return {
    ...{ fingerprint, owner, publicKey, credential },
    label: `key of ${owner}`,
    host: RELYING_PARTY.id,
    addedAt: new Date('2026-03-01T09:00:00Z'),
  };
}

/** Signs that one person vouches for another's key. */
export function signVouch(voucher: Signer, keyOwner: Signer): Assertion<VouchChallenge> {
  return voucher.authenticator.assert({
    by: voucher.owner,
    decision: 'vouch',
    key: keyOwner.authenticator.fingerprint,
    nonce: newNonce(),
    of: keyOwner.owner,
  });
}

/** A log to which all signers have added their keys. */
export function newKeyLog(
  signers: readonly Signer[],
  vouchPairs: readonly (readonly [voucher: Signer, of: Signer])[],
  overrides: Partial<KeyLog> = {},
): KeyLog {
  return {
    addedKeys: signers.map(newAddedKey),
    vouches: vouchPairs.map(([voucher, keyOwner]) => ({
      key: keyOwner.authenticator.fingerprint,
      signature: signVouch(voucher, keyOwner),
    })),
    revocations: [],
    isComplete: true,
    ...overrides,
  };
}

/** Signs that one person revokes another's key. */
export function signRevocation(
  revoker: Signer,
  keyOwner: Signer,
  reason: 'retired' | 'compromised' = 'retired',
): Assertion<RevokeChallenge> {
  return revoker.authenticator.assert({
    by: revoker.owner,
    decision: 'revoke',
    key: keyOwner.authenticator.fingerprint,
    nonce: newNonce(),
    of: keyOwner.owner,
    reason,
  });
}

export function getRootFingerprints(...signers: readonly Signer[]): ReadonlySet<string> {
  return new Set(signers.map(({ authenticator }) => authenticator.fingerprint));
}
