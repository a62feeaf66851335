import { type Bytes, concat } from './bytes.ts';
import type { Cryptography } from './cryptography.ts';

/* Merkle trees of RFC 6962, section 2.1. */

const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = Uint8Array.of(1);

export async function leafHash({ sha256 }: Cryptography, entry: Bytes): Promise<Bytes> {
  return sha256(concat(LEAF_PREFIX, entry));
}

async function nodeHash({ sha256 }: Cryptography, left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(concat(NODE_PREFIX, left, right));
}

/** Calculates the tree head level by level. A node without a sibling moves up unchanged. */
export async function treeHead(cryptography: Cryptography, leaves: readonly Bytes[]): Promise<Bytes> {
  let level = leaves;
  while (level.length > 1) {
    const parents: Bytes[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = level.slice(index, index + 2);
      if (left !== undefined)
        parents.push(right === undefined ? left : await nodeHash(cryptography, left, right));
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
export async function headOfPath(
  cryptography: Cryptography,
  leaf: Bytes,
  { index, size, path }: InclusionPath,
): Promise<Bytes | undefined> {
  if (index < 0 || index >= size) return undefined;
  let head = leaf;
  let node = index;
  let last = size - 1;
  for (const sibling of path) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      head = await nodeHash(cryptography, sibling, head);
      while (node % 2 === 0 && node !== 0) {
        node /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      head = await nodeHash(cryptography, head, sibling);
    }
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? head : undefined;
}
