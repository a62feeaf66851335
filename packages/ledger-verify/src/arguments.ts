import type { Anchor } from './report.ts';

const FINGERPRINT_PATTERN = /^SHA256:[A-Za-z0-9_-]{43}$/;

/** @returns undefined if the text isn't a fingerprint */
export function parseFingerprint(text: string): string | undefined {
  return FINGERPRINT_PATTERN.test(text.trim()) ? text.trim() : undefined;
}

/** @returns undefined if the text isn't `N:HEX` */
export function parseAnchor(text: string): Anchor | undefined {
  const [, n = '', hash] = /^([1-9]\d{0,14}):([0-9a-fA-F]{64})$/.exec(text.trim()) ?? [];
  return hash === undefined ? undefined : { n: Number(n), hash: hash.toLowerCase() };
}
