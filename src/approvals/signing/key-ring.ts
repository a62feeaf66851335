import { z } from 'zod';
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
 * revocation is valid if it is signed by the key's owner, by the person who vouched or by a root, or if the bot
 * recorded that the owner has left.
 */

/** Chains the events about keys and charters: each contains the hash of the previous one. */
const chained = { previous: z.string().exactOptional() };

/** The event's subject is the key, and its actor is the key's owner. */
export const keyAdded = {
  ...chained,
  label: z.string(),
  /** SPKI in unpadded base64url. */
  publicKey: z.string(),
  credential: z.string(),
  host: z.string(),
};
export const keyVouched = { ...chained, owner: z.string(), signature: vouchAssertionSchema };
export const keyRevoked = {
  ...chained,
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
  /** False if an event is missing. Then no key is valid. */
  readonly isComplete: boolean;
}

/** Keys without any revocation, whether proven or not. */
export function listActiveKeys({ added, revoked }: KeyLog): readonly AddedKey[] {
  const revokedKeys = new Set(revoked.map(({ key }) => key));
  return added.filter(({ fingerprint: key }) => !revokedKeys.has(key));
}

/** Maximum number of unrevoked passkeys per person. */
export const MAX_KEYS = 10;

/** Whether a person must revoke a passkey before adding another. */
export function isAtKeyLimit(log: KeyLog, userId: string): boolean {
  return listActiveKeys(log).filter(({ owner }) => owner === userId).length >= MAX_KEYS;
}

export interface ValidKey extends AddedKey {
  /** From the vouching key up to a root; empty for a root. */
  readonly chain: readonly Assertion<VouchChallenge>[];
}

export type InvalidReason =
  | 'not_vouched'
  | 'revoked'
  | 'left'
  | 'other_host'
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
  const ambiguous = findAmbiguousKeys(log.added);
  // Includes revoked keys, because later revocations must not affect whether an earlier one is proven.
  const everValid = await findReachableKeys(log, keysByFingerprint, trust, (key) =>
    ambiguous.has(key.fingerprint) ? 'ambiguous' : undefined,
  );
  const revoked = await findProvenRevocations(log, keysByFingerprint, everValid, trust);
  const findInvalidReason: FindInvalidReason = (key) => {
    if (!log.isComplete) return 'events_missing';
    if (ambiguous.has(key.fingerprint)) return 'ambiguous';
    if (revoked.has(key.fingerprint)) return 'revoked';
    if (trust.left.has(key.owner)) return 'left';
    return key.host === trust.verifier.relyingParty.id ? undefined : 'other_host';
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

/** The keys that a chain of vouching signatures connects to a root. Visits each event once. */
async function findReachableKeys(
  { vouched }: KeyLog,
  keysByFingerprint: ReadonlyMap<string, AddedKey>,
  { roots, verifier }: Trust,
  findInvalidReason: FindInvalidReason,
): Promise<ReadonlyMap<string, ValidKey>> {
  const byVoucher = new Map<string, (typeof vouched)[number][]>();
  for (const vouch of vouched) {
    const vouches = byVoucher.get(vouch.signature.key);
    if (vouches === undefined) byVoucher.set(vouch.signature.key, [vouch]);
    else vouches.push(vouch);
  }
  const reached = new Map<string, ValidKey>();
  const queue: ValidKey[] = [...keysByFingerprint.values()]
    .filter((key) => roots.has(key.fingerprint) && findInvalidReason(key) === undefined)
    .map((key) => ({ ...key, chain: [] }));
  for (const voucher of queue) {
    if (reached.has(voucher.fingerprint)) continue;
    reached.set(voucher.fingerprint, voucher);
    for (const { key, signature } of byVoucher.get(voucher.fingerprint) ?? []) {
      const target = keysByFingerprint.get(key);
      if (target === undefined || reached.has(key) || findInvalidReason(target) !== undefined) continue;
      if (!isVouchSignature(signature, voucher, target)) continue;
      if ((await verifier.verify(signature)) === undefined) continue;
      queue.push({ ...target, chain: [signature, ...voucher.chain] });
    }
  }
  return reached;
}

/**
 * Keys with a revocation that is signed by a person who may revoke them, or that the bot recorded because the owner has
 * left.
 */
async function findProvenRevocations(
  log: KeyLog,
  keysByFingerprint: ReadonlyMap<string, AddedKey>,
  everValid: ReadonlyMap<string, ValidKey>,
  { roots, verifier }: Trust,
): Promise<ReadonlySet<string>> {
  const vouchers = collectVouchers(log);
  const revoked = new Set<string>();
  for (const { key, signature, left } of log.revoked) {
    const target = keysByFingerprint.get(key);
    if (target === undefined || revoked.has(key)) continue;
    if (left === true && signature === undefined) revoked.add(key);
    if (signature === undefined || signature.challenge.key !== key) continue;
    const signer = findSigningKey(everValid, signature, signature.challenge.by);
    if (signer === undefined || !canRevoke(vouchers, roots, signer, target)) continue;
    if ((await verifier.verify(signature)) !== undefined) revoked.add(key);
  }
  return revoked;
}

/** Whether a signature by a key claims that it vouches for another. Doesn't verify the signature. */
function isVouchSignature(
  { challenge, publicKey, credential }: Assertion<VouchChallenge>,
  voucher: AddedKey,
  vouched: AddedKey,
): boolean {
  return (
    publicKey === voucher.publicKey &&
    credential === voucher.credential &&
    challenge.by === voucher.owner &&
    challenge.key === vouched.fingerprint &&
    challenge.of === vouched.owner
  );
}

/** The key that made a signature, if the key is valid and belongs to the person. Doesn't verify the signature. */
export function findSigningKey(
  validKeys: KeyRing['validKeys'],
  { key, publicKey, credential }: Assertion,
  owner: string,
): ValidKey | undefined {
  const found = validKeys.get(key);
  const isMatch = found?.owner === owner && found.publicKey === publicKey && found.credential === credential;
  return isMatch ? found : undefined;
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

/** @returns a function that checks whether one of a person's valid keys may revoke a key */
export function createRevocationCheck(log: KeyLog, roots: ReadonlySet<string>) {
  const vouchers = collectVouchers(log);
  return (own: readonly ValidKey[], key: AddedKey) =>
    own.some((signer) => canRevoke(vouchers, roots, signer, key));
}

/** The log when a charter was signed, plus later revocations of compromised keys. */
export function getLogAtCharter(log: KeyLog, n: number): KeyLog {
  const applies = (revocation: Revocation) =>
    revocation.n < n || revocation.signature?.challenge.reason === 'compromised';
  return { ...log, revoked: log.revoked.filter(applies) };
}

/** The policy and the protected settings, signed together. */
export const charterSigned = {
  ...chained,
  charter: z.json(),
  signature: charterAssertionSchema,
  /** The bot's signature: when the charter was signed, the signer was an admin and not its publisher. */
  botSignature: z.string().exactOptional(),
};
