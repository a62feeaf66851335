import { type Bytes, toBase64Url, toHex, utf8 } from './bytes.ts';
import type { Cryptography } from './cryptography.ts';
import type { DifferenceCollector, TrustedInputs } from './report.ts';
import type { Header, SealLine } from './shapes.ts';

export async function computeFingerprint({ sha256 }: Cryptography, spki: Bytes): Promise<string> {
  return `SHA256:${toBase64Url(await sha256(spki))}`;
}

/** An anchor that matches its seal. The events up to `to` existed when the seal was published. */
export interface MatchedAnchor {
  readonly seal: number;
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
  /** @param previous the result for the previous seal, if it is in the file */
  check(seal: SealLine, previous: CheckedSeal | undefined): Promise<CheckedSeal>;
  /** In the order of the seals in the file. */
  readonly matchedAnchors: readonly MatchedAnchor[];
}

export async function createSealCheck(
  { key, publicKey }: Header,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: DifferenceCollector,
): Promise<SealCheck> {
  const fingerprint = await computeFingerprint(cryptography, publicKey);
  if (fingerprint !== key)
    differences.add('key', `the public key in the file is ${fingerprint}, but the file says ${key}`);
  if (trusted.key !== undefined && trusted.key !== fingerprint)
    differences.add('key', `the file is signed by ${fingerprint}, not by ${trusted.key}`);
  const emptyHash = toHex(await cryptography.sha256(new Uint8Array()));
  const matchedAnchors: MatchedAnchor[] = [];

  return {
    matchedAnchors,
    async check(seal, previous) {
      const { n } = seal;
      const hash = toHex(await cryptography.sha256(utf8(seal.canonicalText)));
      if (!(await cryptography.verify({ name: 'Ed25519' }, publicKey, seal.signature, utf8(seal.signedText))))
        differences.add('changed', `the key has not signed seal ${n} with this content`);
      if (n === 1 && seal.prev !== emptyHash) differences.add('changed', 'seal 1 refers to a previous seal');
      if (previous !== undefined && previous.n + 1 === n && previous.hash !== seal.prev)
        differences.add('changed', `seal ${n} does not follow seal ${n - 1} of this file: one was replaced`);
      for (const anchor of trusted.anchors) {
        if (anchor.n === n && anchor.hash !== hash)
          differences.add('changed', `seal ${n} is not the one that was anchored: it was replaced`);
        else if (anchor.n === n) matchedAnchors.push({ seal: n, to: seal.to, at: seal.at });
        else if (anchor.n === n - 1 && previous === undefined && anchor.hash !== seal.prev)
          differences.add('changed', `seal ${n} does not follow the seal ${n - 1} that was anchored`);
      }
      return { n, to: seal.to, hash };
    },
  };
}
