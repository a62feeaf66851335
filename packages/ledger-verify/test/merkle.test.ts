import { expect, it } from 'vitest';
import { toHex } from '../src/bytes.ts';
import { computeLeafHash, computePathHead, computeTreeHead } from '../src/merkle.ts';
import { nodeCryptography } from '../src/node-cryptography.ts';
import { buildPath } from './make-ledger.ts';

/** Test data from implementations of Certificate Transparency. */
const LEAVES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const HEADS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

it('computes the tree heads of RFC 6962', async () => {
  const leaves = await Promise.all(
    LEAVES.map((leaf) => computeLeafHash(nodeCryptography, Uint8Array.from(Buffer.from(leaf, 'hex')))),
  );
  for (const [index, head] of HEADS.entries())
    expect(toHex(await computeTreeHead(nodeCryptography, leaves.slice(0, index + 1)))).toBe(head);
});

it('accepts every path of every small tree, and refuses changed paths', async () => {
  const leaves = Array.from({ length: 33 }, (_, n) => Buffer.alloc(32, n));
  for (let size = 1; size <= leaves.length; size += 1) {
    const treeLeaves = leaves.slice(0, size);
    const head = toHex(
      await computeTreeHead(
        nodeCryptography,
        treeLeaves.map((leaf) => Uint8Array.from(leaf)),
      ),
    );
    for (const [index, leaf] of treeLeaves.entries()) {
      const path = buildPath(index, treeLeaves).map((hash) => Uint8Array.from(hash));
      const computeHead = async (changes: object) => {
        const computedHead = await computePathHead(nodeCryptography, Uint8Array.from(leaf), {
          index,
          size,
          path,
          ...changes,
        });
        return computedHead && toHex(computedHead);
      };
      expect(await computeHead({})).toBe(head);
      expect(await computeHead({ path: [...path, Uint8Array.from(leaf)] })).not.toBe(head);
      if (size > 1) expect(await computeHead({ path: path.slice(1) })).not.toBe(head);
      if (size > 1) expect(await computeHead({ index: (index + 1) % size })).not.toBe(head);
    }
  }
});
