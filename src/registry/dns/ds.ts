import { createHash } from 'node:crypto';
import { type DnskeyRecord, type DsRecord, normalizeDnsName } from './records.ts';

/** The digest types of RFC 4034, 4509 and 6605 that are still in use. */
const DIGEST_ALGORITHMS: Readonly<Record<number, 'sha1' | 'sha256' | 'sha384'>> = {
  1: 'sha1',
  2: 'sha256',
  4: 'sha384',
};
const DNSKEY_PROTOCOL = 3;
const ZONE_KEY_FLAG = 0x0100;
const RSAMD5 = 1;

/** `unknown`: the digest type isn't supported. */
export type DsMatch = 'match' | 'mismatch' | 'unknown';

/** RFC 4035, section 5.2. */
export function matchDs(name: string, ds: DsRecord, keys: readonly DnskeyRecord[]): DsMatch {
  if (DIGEST_ALGORITHMS[ds.digestType] === undefined) return 'unknown';
  const matches = keys.some(
    (key) =>
      (key.flags & ZONE_KEY_FLAG) !== 0 &&
      key.algorithm === ds.algorithm &&
      computeKeyTag(key) === ds.keyTag &&
      computeDsDigest(name, key, ds.digestType) === ds.digest.toLowerCase(),
  );
  return matches ? 'match' : 'mismatch';
}

/** Computes one DS record for each digest type in use. */
export function computeDsRecords(name: string, key: DnskeyRecord): DsRecord[] {
  return Object.keys(DIGEST_ALGORITHMS).flatMap((typeText) => {
    const digestType = Number(typeText);
    const digest = computeDsDigest(name, key, digestType);
    return digest === undefined
      ? []
      : [{ keyTag: computeKeyTag(key), algorithm: key.algorithm, digestType, digest }];
  });
}

/** RFC 4034, appendix B. */
export function computeKeyTag(key: DnskeyRecord): number {
  const data = encodeKey(key);
  // RSA/MD5 has its own formula (RFC 4034, appendix B.1).
  if (key.algorithm === RSAMD5) return data.length < 3 ? 0 : data.readUInt16BE(data.length - 3);
  let sum = 0;
  for (const [index, byte] of data.entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  return (sum + ((sum >> 16) & 0xffff)) & 0xffff;
}

/**
 * RFC 4034, section 5.1.4; RFC 4509.
 * @returns lower-case hex; undefined for an unsupported digest type
 */
export function computeDsDigest(name: string, key: DnskeyRecord, digestType: number): string | undefined {
  const algorithm = DIGEST_ALGORITHMS[digestType];
  if (algorithm === undefined) return undefined;
  return createHash(algorithm).update(encodeName(name)).update(encodeKey(key)).digest('hex');
}

function encodeKey({ flags, algorithm, key }: DnskeyRecord): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(flags, 0);
  header.writeUInt8(DNSKEY_PROTOCOL, 2);
  header.writeUInt8(algorithm, 3);
  return Buffer.concat([header, key]);
}

/** Canonical form (RFC 4034, section 6.2). */
function encodeName(name: string): Buffer {
  const labels = normalizeDnsName(name)
    .split('.')
    .filter((label) => label !== '');
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.from([Buffer.byteLength(label)]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);
}
