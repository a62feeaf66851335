import { type Bytes, concatBytes } from './bytes.ts';
import type { Cryptography } from './cryptography.ts';

/* Merkle trees of RFC 6962, section 2.1. */

const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = Uint8Array.of(1);

export async function computeLeafHash({ sha256 }: Cryptography, entry: Bytes): Promise<Bytes> {
  return sha256(concatBytes(LEAF_PREFIX, entry));
}

async function computeNodeHash({ sha256 }: Cryptography, left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(concatBytes(NODE_PREFIX, left, right));
}

/** Calculates the tree head level by level. A node without a sibling moves up unchanged. */
export async function computeTreeHead(cryptography: Cryptography, leaves: readonly Bytes[]): Promise<Bytes> {
  let level = leaves;
  while (level.length > 1) {
    const parents: Bytes[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = level.slice(index, index + 2);
      if (left !== undefined)
        parents.push(right === undefined ? left : await computeNodeHash(cryptography, left, right));
    }
    level = parents;
  }
  return level[0] ?? cryptography.sha256(new Uint8Array());
}

/** The position of a leaf in a tree, and the sibling hashes on its path to the root. */
export interface InclusionPath {
  readonly index: number;
  readonly size: number;
  readonly path: readonly Bytes[];
}

/**
 * The tree head that a path leads to (RFC 9162, section 2.1.3.2; RFC 6962 doesn't specify this).
 * @returns undefined if a tree of that size has no such path
 */
export async function computePathHead(
  cryptography: Cryptography,
  leaf: Bytes,
  { index, size, path }: InclusionPath,
): Promise<Bytes | undefined> {
  if (index < 0 || index >= size) return undefined;
  let head = leaf;
  let nodeIndex = index;
  let lastIndex = size - 1;
  for (const sibling of path) {
    if (lastIndex === 0) return undefined;
    if (nodeIndex % 2 === 1 || nodeIndex === lastIndex) {
      head = await computeNodeHash(cryptography, sibling, head);
      while (nodeIndex % 2 === 0 && nodeIndex !== 0) {
        nodeIndex /= 2;
        lastIndex = Math.floor(lastIndex / 2);
      }
    } else {
      head = await computeNodeHash(cryptography, head, sibling);
    }
    nodeIndex = Math.floor(nodeIndex / 2);
    lastIndex = Math.floor(lastIndex / 2);
  }
  return lastIndex === 0 ? head : undefined;
}
