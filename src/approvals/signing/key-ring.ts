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
  readonly n: number;
  readonly signature?: Assertion<RevokeChallenge> | undefined;
  readonly left?: true | undefined;
}

/** Oldest first. */
export interface KeyLog {
  readonly added: readonly AddedKey[];
  readonly vouched: readonly { readonly key: string; readonly signature: Assertion<VouchChallenge> }[];
  readonly revoked: readonly Revocation[];
  /** Whether the log has all events. If not, no key is valid. */
  readonly isComplete: boolean;
}

/** Lists keys without any revocation, valid or not. */
export function listActiveKeys({ added, revoked }: KeyLog): readonly AddedKey[] {
  const revokedKeys = new Set(revoked.map(({ key }) => key));
  return added.filter(({ fingerprint: key }) => !revokedKeys.has(key));
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
  readonly left: ReadonlySet<string>;
}

type FindInvalidReason = (key: AddedKey) => InvalidReason | undefined;

export async function buildKeyRing(log: KeyLog, trust: Trust): Promise<KeyRing> {
  const keysByFingerprint = new Map(log.added.map((key) => [key.fingerprint, key]));
  const ambiguousKeys = findAmbiguousKeys(log.added);
  // Includes revoked keys: revoking a key doesn't undo the revocations that were signed with it.
  const everValidKeys = await findReachableKeys(log, keysByFingerprint, trust, (key) =>
    ambiguousKeys.has(key.fingerprint) ? 'ambiguous' : undefined,
  );
  const revokedKeys = await findRevokedKeys(log, keysByFingerprint, everValidKeys, trust);
  const findInvalidReason: FindInvalidReason = (key) => {
    if (!log.isComplete) return 'events_missing';
    if (ambiguousKeys.has(key.fingerprint)) return 'ambiguous';
    if (revokedKeys.has(key.fingerprint)) return 'revoked';
    if (trust.left.has(key.owner)) return 'left';
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

function findAmbiguousKeys(added: readonly AddedKey[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const ambiguous = new Set<string>();
  for (const { fingerprint: key, publicKey } of added) {
    if (seen.has(key) || computeFingerprint(publicKey) !== key) ambiguous.add(key);
    seen.add(key);
  }
  return ambiguous;
}

/** Finds the keys that a chain of vouching signatures connects to a root. */
async function findReachableKeys(
  { vouched }: KeyLog,
  keysByFingerprint: ReadonlyMap<string, AddedKey>,
  { roots, verifier }: Trust,
  findInvalidReason: FindInvalidReason,
): Promise<ReadonlyMap<string, ValidKey>> {
  const vouchesByVoucher = groupBy(vouched, ({ signature }) => signature.key);
  const reached = new Map<string, ValidKey>();
  const queue: ValidKey[] = [...keysByFingerprint.values()]
    .filter((key) => roots.has(key.fingerprint) && findInvalidReason(key) === undefined)
    .map((key) => ({ ...key, chain: [] }));
  for (const voucher of queue) {
    if (reached.has(voucher.fingerprint)) continue;
    reached.set(voucher.fingerprint, voucher);
    for (const { key, signature } of vouchesByVoucher.get(voucher.fingerprint) ?? []) {
      const target = keysByFingerprint.get(key);
      if (target === undefined || reached.has(key) || findInvalidReason(target) !== undefined) continue;
      if (!isVouchSignature(signature, voucher, target)) continue;
      if ((await verifier.verify(signature)) === undefined) continue;
      queue.push({ ...target, chain: [signature, ...voucher.chain] });
    }
  }
  return reached;
}

async function findRevokedKeys(
  log: KeyLog,
  keysByFingerprint: ReadonlyMap<string, AddedKey>,
  everValidKeys: ReadonlyMap<string, ValidKey>,
  { roots, verifier }: Trust,
): Promise<ReadonlySet<string>> {
  const vouchers = collectVouchers(log);
  const revoked = new Set<string>();
  for (const { key, signature, left } of log.revoked) {
    const target = keysByFingerprint.get(key);
    if (target === undefined || revoked.has(key)) continue;
    if (left === true && signature === undefined) revoked.add(key);
    if (signature === undefined || signature.challenge.key !== key) continue;
    const signer = findSigningKey(everValidKeys, signature, signature.challenge.by);
    if (signer === undefined || !canRevoke(vouchers, roots, signer, target)) continue;
    if ((await verifier.verify(signature)) !== undefined) revoked.add(key);
  }
  return revoked;
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

/** Finds the valid key with this owner that a signature names. Doesn't verify the signature. */
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

function collectVouchers({ vouched }: KeyLog): Vouchers {
  const vouchers = new Map<string, Set<string>>();
  for (const { key, signature } of vouched)
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

/** Returns the log from when charter `n` was signed, plus later revocations of compromised keys. */
export function getLogAtCharter(log: KeyLog, n: number): KeyLog {
  const isIncluded = (revocation: Revocation) =>
    revocation.n < n || revocation.signature?.challenge.reason === 'compromised';
  return { ...log, revoked: log.revoked.filter(isIncluded) };
}

export const charterSignedShape = {
  ...previousHash,
  charter: z.json(),
  signature: charterAssertionSchema,
  /** Confirms that the signer was an admin, and not the publisher. */
  botSignature: z.string().exactOptional(),
};
