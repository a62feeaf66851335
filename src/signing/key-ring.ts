import { z } from 'zod';
import {
  type Assertion,
  type CharterChallenge,
  charterAssertion,
  fingerprint,
  type RevokeChallenge,
  revokeAssertion,
  type Verifier,
  type VouchChallenge,
  vouchAssertion,
} from './assertion.ts';
import { type Fingerprint, fingerprintOf } from './public-key.ts';

/*
 * Whose keys count. Everything follows from `SIGNING_ROOTS` and from signatures in the log; it is computed again at each use.
 *
 * A key counts while it is a root, or somebody whose key counts has vouched for it with a signature that says whose key it is.
 * What takes a key away is believed without proof, because whoever could forge it could also stop the bot: every revocation that
 * the log has counts for good, and so does that a person has left.
 */

/** What an event says when a key was added. Its subject is the key, its actor the owner. */
export const keyAdded = {
  label: z.string(),
  /** SPKI in unpadded base64url. */
  publicKey: z.string(),
  /** The credential's id. */
  credential: z.string(),
  /** The host that the key is bound to. */
  host: z.string(),
};
export const keyVouched = { owner: z.string(), signature: vouchAssertion };
export const keyRevoked = {
  owner: z.string(),
  /** Left out where the bot revokes it. */
  signature: revokeAssertion.exactOptional(),
  /** Its owner has left the workspace. */
  left: z.literal(true).exactOptional(),
};

/** An added key. */
export interface AddedKey {
  readonly fingerprint: Fingerprint;
  readonly owner: string;
  readonly label: string;
  readonly publicKey: string;
  readonly credential: string;
  readonly host: string;
  readonly addedAt: Date;
}

/** What the log has of keys, oldest first. */
export interface KeyLog {
  readonly added: readonly AddedKey[];
  readonly vouched: readonly { readonly key: string; readonly signature: Assertion<VouchChallenge> }[];
  readonly revoked: readonly {
    readonly key: string;
    readonly by: string;
    readonly at: Date;
    readonly signature?: Assertion<RevokeChallenge> | undefined;
    readonly left?: true | undefined;
  }[];
  /** Signatures under charters. */
  readonly charters: readonly Assertion<CharterChallenge>[];
}

/** The keys that nobody has revoked. */
export function standingKeys({ added, revoked }: Pick<KeyLog, 'added' | 'revoked'>): readonly AddedKey[] {
  const gone = new Set(revoked.map(({ key }) => key));
  return added.filter(({ fingerprint: key }) => !gone.has(key));
}

/** A key that counts at this moment. */
export interface CountingKey extends AddedKey {
  /** From who vouched for it up to a root; empty for a root. */
  readonly chain: readonly Assertion<VouchChallenge>[];
}

/** Why a key does not count. */
export type NotCounting = 'not_vouched' | 'revoked' | 'left' | 'other_host' | 'ambiguous';

export interface KeyRing {
  readonly counting: ReadonlyMap<string, CountingKey>;
  /** All keys, with why those do not count that do not. */
  readonly keys: readonly (AddedKey & { readonly counts: 'yes' | NotCounting })[];
}

/** What keys are measured by. */
export interface Trust {
  /** `SIGNING_ROOTS`. */
  readonly roots: ReadonlySet<string>;
  readonly verifier: Verifier;
  /** Those of the owners who have left the workspace. */
  readonly left: ReadonlySet<string>;
}

/** Says whose keys count. */
export async function keyRingOf(log: KeyLog, trust: Trust): Promise<KeyRing> {
  const { roots } = trust;
  const known = new Map(log.added.map((key) => [key.fingerprint, key]));
  const why = new Map(log.added.map((key) => [key.fingerprint, obstacleOf(key, log, trust)]));
  const counting = new Map<string, CountingKey>();
  const next: CountingKey[] = [...known.values()]
    .filter((key) => roots.has(key.fingerprint) && why.get(key.fingerprint) === undefined)
    .map((key) => ({ ...key, chain: [] }));
  for (const voucher of next) {
    if (counting.has(voucher.fingerprint)) continue;
    counting.set(voucher.fingerprint, voucher);
    for (const { key, signature } of log.vouched) {
      const vouched = known.get(fingerprint.safeParse(key).data ?? voucher.fingerprint);
      if (vouched === undefined || vouched.fingerprint !== key || counting.has(key)) continue;
      if (why.get(vouched.fingerprint) !== undefined || !isVouching(signature, voucher, vouched)) continue;
      if ((await trust.verifier.verify(signature)) === undefined) continue;
      next.push({ ...vouched, chain: [signature, ...voucher.chain] });
    }
  }
  return {
    counting,
    keys: [...known.values()].map((key) => ({
      ...key,
      counts: counting.has(key.fingerprint) ? 'yes' : (why.get(key.fingerprint) ?? 'not_vouched'),
    })),
  };
}

/** What keeps a key from counting, whoever vouches for it. */
function obstacleOf(key: AddedKey, log: KeyLog, { verifier, left }: Trust): NotCounting | undefined {
  const isOf = (each: {
    readonly key: string;
    readonly signature?: Assertion<RevokeChallenge> | undefined;
  }) => each.key === key.fingerprint || each.signature?.challenge.key === key.fingerprint;
  const same = log.added.filter(({ fingerprint: other }) => other === key.fingerprint);
  if (same.length > 1 || fingerprintOf(key.publicKey) !== key.fingerprint) return 'ambiguous';
  if (log.revoked.some(isOf)) return 'revoked';
  if (left.has(key.owner)) return 'left';
  return key.host === verifier.relyingParty.id ? undefined : 'other_host';
}

/** Whether a signature says that one key vouches for another, before it is verified. */
function isVouching(
  { challenge, key, publicKey, credential }: Assertion<VouchChallenge>,
  voucher: AddedKey,
  vouched: AddedKey,
): boolean {
  return (
    key === voucher.fingerprint &&
    publicKey === voucher.publicKey &&
    credential === voucher.credential &&
    challenge.by === voucher.owner &&
    challenge.key === vouched.fingerprint &&
    challenge.of === vouched.owner
  );
}

/** The key that made a signature, if it counts and is that of a person. It does not verify the signature. */
export function signingKey(
  { counting }: Pick<KeyRing, 'counting'>,
  { key, publicKey, credential }: Pick<Assertion, 'key' | 'publicKey' | 'credential'>,
  owner: string,
): CountingKey | undefined {
  const found = counting.get(key);
  const fits = found?.owner === owner && found.publicKey === publicKey && found.credential === credential;
  return fits ? found : undefined;
}

/** Why somebody may not revoke a key; undefined when they may. */
export function mayRevoke(
  log: KeyLog,
  ring: KeyRing,
  roots: ReadonlySet<string>,
  by: CountingKey,
  key: AddedKey,
): boolean {
  const hasVouched = log.vouched.some(
    (each) => each.key === key.fingerprint && each.signature.key === by.fingerprint,
  );
  return (
    by.owner === key.owner || hasVouched || (roots.has(by.fingerprint) && ring.counting.has(by.fingerprint))
  );
}

/** What is signed as one: the policy and the settings that decide. */
export const charterSigned = { charter: z.json(), signature: charterAssertion };

/** Whether somebody whose key counts has signed a charter. @param hash of the charter as it stands */
export async function isCharterSigned(
  { charters }: Pick<KeyLog, 'charters'>,
  ring: Pick<KeyRing, 'counting'>,
  verifier: Verifier,
  hash: string,
): Promise<boolean> {
  for (const signature of charters) {
    const { challenge } = signature;
    if (challenge.charter !== hash || signingKey(ring, signature, challenge.by) === undefined) continue;
    if ((await verifier.verify(signature)) !== undefined) return true;
  }
  return false;
}
