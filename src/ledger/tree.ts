import { createHash } from 'node:crypto';

/* Merkle trees of RFC 6962, section 2.1. */

export type Hash = Uint8Array;

const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = Uint8Array.of(1);

export function sha256(...parts: readonly (string | Uint8Array)[]): Hash {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function toHex(hash: Hash): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('hex');
}

export function hashLeaf(entry: string): Hash {
  return sha256(LEAF_PREFIX, entry);
}

/** Returns the levels from the leaves to the root. A node without a sibling moves up unchanged. */
function computeTreeLevels(leaves: readonly Hash[]): readonly (readonly Hash[])[] {
  const levels: (readonly Hash[])[] = [leaves];
  for (let level = leaves; level.length > 1; ) {
    const parents: Hash[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const left = level[index];
      const right = level[index + 1];
      if (left !== undefined) parents.push(right === undefined ? left : sha256(NODE_PREFIX, left, right));
    }
    levels.push(parents);
    level = parents;
  }
  return levels;
}

export function computeTreeHead(leaves: readonly Hash[]): Hash {
  return computeTreeLevels(leaves).at(-1)?.[0] ?? sha256();
}

/** Returns the sibling hashes on the way from a leaf to the root. */
export function computeAuditPath(index: number, leaves: readonly Hash[]): Hash[] {
  return computeTreeLevels(leaves).flatMap((level, height) => level[(index >> height) ^ 1] ?? []);
}
