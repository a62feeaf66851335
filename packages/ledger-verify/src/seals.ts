import { type Bytes, toBase64Url, toHex, utf8 } from './bytes.ts';
import type { Cryptography } from './cryptography.ts';
import type { Differences, TrustedInputs } from './report.ts';
import type { Header, SealLine } from './shapes.ts';

export async function computeFingerprint({ sha256 }: Cryptography, spki: Bytes): Promise<string> {
  return `SHA256:${toBase64Url(await sha256(spki))}`;
}

/** The newest anchor that matches. Everything before it existed when the seal was published. */
export interface MatchedAnchor {
  readonly seal: number;
  /** The last event before the anchor. */
  readonly to: number;
  readonly at: string;
}

export interface CheckedSeal {
  readonly n: number;
  readonly to: number;
  /** SHA-256 of the canonical form. */
  readonly hash: string;
}

export interface SealCheck {
  /** @returns the result, to be passed to the check of the next seal */
  check(seal: SealLine, before: CheckedSeal | undefined): Promise<CheckedSeal>;
  /** Seals whose anchors match, in the order of the file. */
  readonly anchored: readonly MatchedAnchor[];
}

/** Checks each seal: its signer, its predecessor and its anchors. */
export async function createSealCheck(
  { key, publicKey }: Header,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: Differences,
): Promise<SealCheck> {
  const fingerprint = await computeFingerprint(cryptography, publicKey);
  if (fingerprint !== key)
    differences.add('key', `the public key in the file is ${fingerprint}, but it calls it ${key}`);
  if (trusted.key !== undefined && trusted.key !== fingerprint)
    differences.add('key', `the file is signed by ${fingerprint}, and not by ${trusted.key}`);
  const nothing = toHex(await cryptography.sha256(new Uint8Array()));
  const anchored: MatchedAnchor[] = [];

  return {
    anchored,
    async check(seal, before) {
      const { n } = seal;
      const hash = toHex(await cryptography.sha256(utf8(seal.canonical)));
      if (!(await cryptography.verify({ name: 'Ed25519' }, publicKey, seal.signature, utf8(seal.signed))))
        differences.add('changed', `the key has not signed seal ${n} with this content`);
      if (n === 1 && seal.prev !== nothing)
        differences.add('changed', 'seal 1 says that another one was before it');
      if (before !== undefined && before.n + 1 === n && before.hash !== seal.prev)
        differences.add('changed', `seal ${n} does not follow seal ${n - 1} of this file: one was replaced`);
      for (const anchor of trusted.anchors) {
        if (anchor.n === n && anchor.hash !== hash)
          differences.add('changed', `seal ${n} is not the one that was anchored: it was replaced`);
        else if (anchor.n === n) anchored.push({ seal: n, to: seal.to, at: seal.at });
        else if (anchor.n === n - 1 && before === undefined && anchor.hash !== seal.prev)
          differences.add('changed', `seal ${n} does not follow the seal ${n - 1} that was anchored`);
      }
      return { n, to: seal.to, hash };
    },
  };
}
