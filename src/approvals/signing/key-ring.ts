import { z } from 'zod';
import { groupBy } from '../../lib/collections.ts';
import {
  type Assertion,
  charterAssertionSchema,
  type RevokeChallenge,
  revokeAssertionSchema,
  type Verifier,
  type VouchChallenge,
  vouchAssertionSchema,
} from './assertion.ts';
import { computeFingerprint, type Fingerprint } from './public-key.ts';

/**
 * Decides which keys are valid, from `SIGNING_ROOTS` and the signatures in the log.
 *
 * A key is valid if it is a root, or if a valid key has vouched for it with a signature that names its owner. A
 * revocation is valid if the bot recorded that the key's owner has left, or if it is signed by the owner, by a key that
 * vouched for the revoked key, or by a root.
 */

/** The hash of the previous event about keys or charters. */
const previousHash = { previous: z.string().exactOptional() };

/** The event's subject is the key's fingerprint. The event's actor is the key's owner. */
export const keyAddedShape = {
  ...previousHash,
  label: z.string(),
  /** SPKI in unpadded base64url. */
  publicKey: z.string(),
  credential: z.string(),
  host: z.string(),
};
export const keyVouchedShape = { ...previousHash, owner: z.string(), signature: vouchAssertionSchema };
export const keyRevokedShape = {
  ...previousHash,
  owner: z.string(),
  /** Omitted if the bot revoked the key. */
  signature: revokeAssertionSchema.exactOptional(),
  /** The owner has left the workspace. */
  left: z.literal(true).exactOptional(),
};

export interface AddedKey {
  readonly fingerprint: Fingerprint;
  readonly owner: string;
  readonly label: string;
  readonly publicKey: string;
  readonly credential: string;
  readonly host: string;
  readonly addedAt: Date;
}

interface Revocation {
  readonly key: string;
  readonly by: string;
  readonly at: Date;
  readonly eventIndex: number;
  readonly signature?: Assertion<RevokeChallenge> | undefined;
  readonly left?: true | undefined;
}

/** Each list is sorted oldest first. */
export interface KeyLog {
  readonly addedKeys: readonly AddedKey[];
  readonly vouches: readonly { readonly key: string; readonly signature: Assertion<VouchChallenge> }[];
  readonly revocations: readonly Revocation[];
  /** Whether the log has all events. If not, no key is valid. */
  readonly isComplete: boolean;
}

/** Lists the keys that have no revocation, not even an invalid one. */
export function listActiveKeys({ addedKeys, revocations }: KeyLog): readonly AddedKey[] {
  const revokedKeys = new Set(revocations.map(({ key }) => key));
  return addedKeys.filter(({ fingerprint: key }) => !revokedKeys.has(key));
}

/** Maximum number of unrevoked passkeys per person. */
export const MAX_KEYS = 10;

export function isAtKeyLimit(log: KeyLog, userId: string): boolean {
  return listActiveKeys(log).filter(({ owner }) => owner === userId).length >= MAX_KEYS;
}

export interface ValidKey extends AddedKey {
  /** The vouching signatures, from the one that vouches for this key up to a root's; empty for a root. */
  readonly chain: readonly Assertion<VouchChallenge>[];
}

export type InvalidReason =
  | 'not_vouched'
  | 'revoked'
  | 'left'
  | 'host_mismatch'
  | 'ambiguous'
  | 'events_missing';

export interface KeyRing {
  readonly validKeys: ReadonlyMap<string, ValidKey>;
  readonly keys: readonly (AddedKey & { readonly validity: 'yes' | InvalidReason })[];
}

export interface Trust {
  readonly roots: ReadonlySet<string>;
  readonly verifier: Verifier;
  /** Owners who have left the workspace. */
  readonly departedIds: ReadonlySet<string>;
}

type FindInvalidReason = (key: AddedKey) => InvalidReason | undefined;

export async function buildKeyRing(log: KeyLog, trust: Trust): Promise<KeyRing> {
  const keysByFingerprint = new Map(log.addedKeys.map((key) => [key.fingerprint, key]));
  const ambiguousKeys = findAmbiguousKeys(log.addedKeys);
  // Includes revoked keys: revoking a key doesn't undo the revocations that were signed with it.
  const everValidKeys = await findReachableKeys(log, keysByFingerprint, trust, (key) =>
    ambiguousKeys.has(key.fingerprint) ? 'ambiguous' : undefined,
  );
  const revokedKeys = await findRevokedKeys(log, keysByFingerprint, everValidKeys, trust);
  const findInvalidReason: FindInvalidReason = (key) => {
    if (!log.isComplete) return 'events_missing';
    if (ambiguousKeys.has(key.fingerprint)) return 'ambiguous';
    if (revokedKeys.has(key.fingerprint)) return 'revoked';
    if (trust.departedIds.has(key.owner)) return 'left';
    return key.host === trust.verifier.relyingParty.id ? undefined : 'host_mismatch';
  };
  const validKeys = await findReachableKeys(log, keysByFingerprint, trust, findInvalidReason);
  return {
    validKeys,
    keys: [...keysByFingerprint.values()].map((key) => ({
      ...key,
      validity: validKeys.has(key.fingerprint) ? 'yes' : (findInvalidReason(key) ?? 'not_vouched'),
    })),
  };
}

function findAmbiguousKeys(addedKeys: readonly AddedKey[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const ambiguous = new Set<string>();
  for (const { fingerprint: key, publicKey } of addedKeys) {
    if (seen.has(key) || computeFingerprint(publicKey) !== key) ambiguous.add(key);
    seen.add(key);
  }
  return ambiguous;
}

/** Finds the keys that a chain of vouching signatures connects to a root. */
async function findReachableKeys(
  { vouches }: KeyLog,
  keysByFingerprint: ReadonlyMap<string, AddedKey>,
  { roots, verifier }: Trust,
  findInvalidReason: FindInvalidReason,
): Promise<ReadonlyMap<string, ValidKey>> {
  const vouchesByVoucher = groupBy(vouches, ({ signature }) => signature.key);
  const reachedKeys = new Map<string, ValidKey>();
  const queue: ValidKey[] = [...keysByFingerprint.values()]
    .filter((key) => roots.has(key.fingerprint) && findInvalidReason(key) === undefined)
    .map((key) => ({ ...key, chain: [] }));
  for (const voucher of queue) {
    if (reachedKeys.has(voucher.fingerprint)) continue;
    reachedKeys.set(voucher.fingerprint, voucher);
    for (const { key, signature } of vouchesByVoucher.get(voucher.fingerprint) ?? []) {
      const targetKey = keysByFingerprint.get(key);
      if (targetKey === undefined || reachedKeys.has(key) || findInvalidReason(targetKey) !== undefined)
        continue;
      if (!isVouchSignature(signature, voucher, targetKey)) continue;
      if ((await verifier.verify(signature)) === undefined) continue;
      queue.push({ ...targetKey, chain: [signature, ...voucher.chain] });
    }
  }
  return reachedKeys;
}

async function findRevokedKeys(
  log: KeyLog,
  keysByFingerprint: ReadonlyMap<string, AddedKey>,
  everValidKeys: ReadonlyMap<string, ValidKey>,
  { roots, verifier }: Trust,
): Promise<ReadonlySet<string>> {
  const vouchers = collectVouchers(log);
  const revokedKeys = new Set<string>();
  for (const { key, signature, left } of log.revocations) {
    const targetKey = keysByFingerprint.get(key);
    if (targetKey === undefined || revokedKeys.has(key)) continue;
    if (left === true && signature === undefined) revokedKeys.add(key);
    if (signature === undefined || signature.challenge.key !== key) continue;
    const signer = findSigningKey(everValidKeys, signature, signature.challenge.by);
    if (signer === undefined || !canRevoke(vouchers, roots, signer, targetKey)) continue;
    if ((await verifier.verify(signature)) !== undefined) revokedKeys.add(key);
  }
  return revokedKeys;
}

/** Whether a signature says that `voucher` vouches for `target`. Doesn't verify the signature. */
function isVouchSignature(
  { challenge, publicKey, credential }: Assertion<VouchChallenge>,
  voucher: AddedKey,
  target: AddedKey,
): boolean {
  return (
    publicKey === voucher.publicKey &&
    credential === voucher.credential &&
    challenge.by === voucher.owner &&
    challenge.key === target.fingerprint &&
    challenge.of === target.owner
  );
}

/** Finds the valid key that a signature names, if it belongs to `owner`. Doesn't verify the signature. */
export function findSigningKey(
  validKeys: KeyRing['validKeys'],
  { key, publicKey, credential }: Assertion,
  owner: string,
): ValidKey | undefined {
  const namedKey = validKeys.get(key);
  const isMatch =
    namedKey?.owner === owner && namedKey.publicKey === publicKey && namedKey.credential === credential;
  return isMatch ? namedKey : undefined;
}

type Vouchers = ReadonlyMap<string, ReadonlySet<string>>;

function collectVouchers({ vouches }: KeyLog): Vouchers {
  const vouchers = new Map<string, Set<string>>();
  for (const { key, signature } of vouches)
    vouchers.set(key, (vouchers.get(key) ?? new Set()).add(signature.key));
  return vouchers;
}

function canRevoke(
  vouchers: Vouchers,
  roots: ReadonlySet<string>,
  signer: AddedKey,
  { fingerprint: key, owner }: AddedKey,
): boolean {
  return (
    signer.owner === owner ||
    vouchers.get(key)?.has(signer.fingerprint) === true ||
    roots.has(signer.fingerprint)
  );
}

/** Returns a function that checks whether any of a person's valid keys may revoke a key. */
export function createRevocationCheck(log: KeyLog, roots: ReadonlySet<string>) {
  const vouchers = collectVouchers(log);
  return (ownKeys: readonly ValidKey[], key: AddedKey) =>
    ownKeys.some((signer) => canRevoke(vouchers, roots, signer, key));
}

/** Drops revocations that were logged after a charter, except those of compromised keys. */
export function getLogAtCharter(log: KeyLog, charterEventIndex: number): KeyLog {
  const isIncluded = (revocation: Revocation) =>
    revocation.eventIndex < charterEventIndex || revocation.signature?.challenge.reason === 'compromised';
  return { ...log, revocations: log.revocations.filter(isIncluded) };
}

export const charterSignedShape = {
  ...previousHash,
  charter: z.json(),
  signature: charterAssertionSchema,
  /** Confirms that the signer was an admin, and not the publisher. */
  botSignature: z.string().exactOptional(),
};
