import { formatCanonicalJson } from '../lib/canonical-json.ts';
import type { LedgerKey } from './key.ts';
import { computeTreeHead, type Hash, hashLeaf, sha256, toHex } from './tree.ts';

export interface LoggedEvent {
  readonly at: Date;
  readonly kind: string;
  readonly subject: { readonly kind: string; readonly id: string };
  readonly actor: string;
  readonly data: unknown;
}

export interface ForgottenDetails {
  readonly at: Date;
  readonly by: string;
}

export interface EventLine extends Omit<LoggedEvent, 'at'> {
  readonly type: 'event';
  readonly seq: number;
  readonly at: string;
}

/** Replaces an event whose content was deleted. */
export interface ForgottenLine {
  readonly type: 'event';
  readonly seq: number;
  readonly forgotten: { readonly at: string; readonly by: string };
  readonly leaf: string;
}

export interface Seal {
  readonly type: 'seal';
  readonly n: number;
  readonly from: number;
  readonly to: number;
  /** Merkle tree head (RFC 6962) of the events, in hex. */
  readonly root: string;
  /** SHA-256 (hex) of the previous seal's canonical form. For the first seal, the hash of the empty string. */
  readonly prev: string;
  readonly at: string;
  /** Ed25519 signature (base64) of the seal's canonical form without this field. */
  readonly signature: string;
}

export function toEventLine(seq: number, { at, kind, subject, actor, data }: LoggedEvent): EventLine {
  return { type: 'event', seq, at: at.toISOString(), kind, subject, actor, data };
}

export function toForgottenLine(seq: number, { at, by }: ForgottenDetails, leaf: Hash): ForgottenLine {
  return { type: 'event', seq, forgotten: { at: at.toISOString(), by }, leaf: toHex(leaf) };
}

export function hashEventLine(line: EventLine): Hash {
  return hashLeaf(formatCanonicalJson(line));
}

/** Returns the SHA-256 (hex) of a seal's canonical form, or of the empty string without a seal. */
export function hashSeal(seal: Seal | undefined): string {
  return toHex(seal === undefined ? sha256() : sha256(formatCanonicalJson(seal)));
}

export function buildNextSeal(
  lastSeal: Seal | undefined,
  leaves: readonly Hash[],
  key: LedgerKey,
  at: Date,
): Seal {
  const from = (lastSeal?.to ?? 0) + 1;
  const unsignedSeal = {
    type: 'seal' as const,
    n: (lastSeal?.n ?? 0) + 1,
    from,
    to: from + leaves.length - 1,
    root: toHex(computeTreeHead(leaves)),
    prev: hashSeal(lastSeal),
    at: at.toISOString(),
  };
  return { ...unsignedSeal, signature: key.sign(formatCanonicalJson(unsignedSeal)) };
}

export function hasValidSignature({ signature, ...unsignedSeal }: Seal, key: LedgerKey): boolean {
  return key.verify(formatCanonicalJson(unsignedSeal), signature);
}
