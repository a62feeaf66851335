import { type Bytes, toHex } from './bytes.ts';
import { type DerValue, momentOf, readerOf, TAG, valuesIn } from './der.ts';

/** What is read of a certificate (RFC 5280). Who issued it is not looked at: no roots are known here. */
export interface Certificate {
  /** `CN=…`: whose it is. */
  readonly name: string;
  /** The moments from and to which it is valid, as ISO 8601. */
  readonly validity: readonly string[];
  /** It is for time stamps, and for nothing else (RFC 3161, section 2.3). */
  readonly isForTimeStamps: boolean;
  /** Its SPKI. */
  readonly publicKey: Bytes;
  /** Object identifier of the curve of its key, in hex; empty where it has none. */
  readonly curve: string;
}

/** Object identifiers in hex. */
const COMMON_NAME = '550403';
const EXTENDED_KEY_USAGE = '551d25';
const TIME_STAMPING = '2b06010505070308';

/** @throws {UnreadableError} for what is no certificate */
export function readCertificate(whole: DerValue): Certificate {
  const reader = readerOf(whole).inside(TAG.sequence);
  reader.maybe(TAG.part0);
  reader.next(TAG.integer);
  for (const _ of ['algorithm', 'issuer']) reader.next(TAG.sequence);
  const validity = valuesIn(reader.next(TAG.sequence)).map(momentOf);
  const subject = reader.next(TAG.sequence);
  const key = reader.next(TAG.sequence);
  const algorithm = readerOf(key).inside(TAG.sequence);
  algorithm.next(TAG.object);
  return {
    ...{ name: nameOf(subject), validity, publicKey: key.whole },
    isForTimeStamps: isForTimeStamps(reader.maybe(TAG.part3)),
    curve: toHex(algorithm.maybe(TAG.object)?.content ?? new Uint8Array()),
  };
}

function nameOf(subject: DerValue): string {
  const attributes = valuesIn(subject).flatMap(valuesIn).map(valuesIn);
  const [, name] = attributes.find(([id]) => id !== undefined && toHex(id.content) === COMMON_NAME) ?? [];
  return name === undefined ? 'somebody without a name' : `CN=${new TextDecoder().decode(name.content)}`;
}

function isForTimeStamps(extensions: DerValue | undefined): boolean {
  if (extensions === undefined) return false;
  const usages = valuesIn(readerOf(extensions).next(TAG.sequence)).flatMap((extension) => {
    const reader = readerOf(extension);
    if (toHex(reader.next(TAG.object).content) !== EXTENDED_KEY_USAGE) return [];
    const isCritical = reader.maybe(TAG.boolean) !== undefined;
    const purposes = valuesIn(reader.inside(TAG.octets).next(TAG.sequence));
    return [isCritical && purposes.map(({ content }) => toHex(content)).join() === TIME_STAMPING];
  });
  return usages.length === 1 && usages[0] === true;
}
