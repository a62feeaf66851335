import { type Bytes, concat, toHex } from './bytes.ts';
import { type Certificate, readCertificate } from './certificate.ts';
import type { Cryptography, HashName, SignatureAlgorithm } from './cryptography.ts';
import { type DerValue, momentOf, readerOf, TAG, UnreadableError, valuesIn } from './der.ts';

/*
 * Time stamps (RFC 3161): a hash and a moment, signed (RFC 5652) with a certificate that the token carries. Whether that is to be
 * believed, whoever verifies says: this program knows no roots of time stamping services.
 */

export interface TimeStamp {
  /** What it is over: SHA-256 in hex. */
  readonly hash: string;
  /** The moment that it says, as ISO 8601. */
  readonly at: string;
  /** SHA-256 of its certificate, in hex. */
  readonly fingerprint: string;
  /** Whose the certificate is: `CN=…, certificate SHA-256 …`. */
  readonly by: string;
  /** Sentences: what does not fit. */
  readonly wrong: readonly string[];
}

/** Object identifiers in hex. */
const SIGNED_DATA = '2a864886f70d010702';
const TST_INFO = '2a864886f70d0109100104';
const CONTENT_TYPE = '2a864886f70d010903';
const MESSAGE_DIGEST = '2a864886f70d010904';
const SIGNING_CERTIFICATE = '2a864886f70d010910020c';
const SIGNING_CERTIFICATE_V2 = '2a864886f70d010910022f';
const RSA_PSS = '2a864886f70d01010a';
const MGF1 = '2a864886f70d010108';
const HASHES = new Map<string, HashName>([
  ['608648016503040201', 'SHA-256'],
  ['608648016503040202', 'SHA-384'],
  ['608648016503040203', 'SHA-512'],
]);
const CURVES = new Map([
  ['2a8648ce3d030107', 'P-256'],
  ['2b81040022', 'P-384'],
] as const);
/** Without a hash: the one of the signature’s digest. */
const SIGNATURES = new Map<
  string,
  { readonly name: 'RSASSA-PKCS1-v1_5' | 'ECDSA'; readonly hash?: HashName }
>([
  ['2a864886f70d010101', { name: 'RSASSA-PKCS1-v1_5' }],
  ['2a864886f70d01010b', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
  ['2a864886f70d01010c', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-384' }],
  ['2a864886f70d01010d', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-512' }],
  ['2a8648ce3d040302', { name: 'ECDSA', hash: 'SHA-256' }],
  ['2a8648ce3d040303', { name: 'ECDSA', hash: 'SHA-384' }],
  ['2a8648ce3d040304', { name: 'ECDSA', hash: 'SHA-512' }],
]);

type Reader = ReturnType<typeof readerOf>;

const identifierIn = (reader: Reader) => toHex(reader.next(TAG.object).content);
/** The hash that an algorithm's identifier names. */
const hashIn = (reader: Reader) => known(HASHES, identifierIn(reader.inside(TAG.sequence)));

/** @throws {UnreadableError} for what is not in a table */
function known<Value>(table: ReadonlyMap<string, Value>, id: string): Value {
  const value = table.get(id);
  if (value === undefined) throw new UnreadableError(`nothing is known here of ${id}`);
  return value;
}

function onlyOne([value, ...others]: readonly DerValue[]): DerValue {
  if (value === undefined || others.length > 0) throw new UnreadableError('not one');
  return value;
}

function insist(isSo: boolean): void {
  if (!isSo) throw new UnreadableError('something else');
}

/** The parts of a token, which has one signature. */
function readToken(token: Bytes) {
  const content = readerOf({ content: onlyOne(valuesIn({ content: token })).content });
  insist(identifierIn(content) === SIGNED_DATA);
  const signed = content.inside(TAG.part0).inside(TAG.sequence);
  signed.next(TAG.integer);
  signed.next(TAG.set);
  const encapsulated = signed.inside(TAG.sequence);
  insist(identifierIn(encapsulated) === TST_INFO);
  const info = encapsulated.inside(TAG.part0).next(TAG.octets);
  const certificates = signed.maybe(TAG.part0);
  signed.maybe(TAG.part1);
  const signer = readerOf(onlyOne(valuesIn(signed.next(TAG.set))));
  signer.next(TAG.integer);
  // Which certificate it is, a signed attribute says, with its hash.
  signer.next(TAG.sequence, 0x80);
  const digest = hashIn(signer);
  const attributes = signer.next(TAG.part0);
  return {
    ...{ info, digest, attributes: readAttributes(attributes) },
    certificates: certificates === undefined ? [] : valuesIn(certificates),
    // Signed is the set of them, and not the part of the signature that they stand in (RFC 5652, section 5.4).
    signed: concat(Uint8Array.of(TAG.set), attributes.whole.slice(1)),
    ...{ algorithm: signer.inside(TAG.sequence), signature: signer.next(TAG.octets).content },
  };
}

type Token = ReturnType<typeof readToken>;

/** Attributes by their identifiers in hex: each stands once, and has one value. */
function readAttributes(set: DerValue): ReadonlyMap<string, DerValue> {
  const all = valuesIn(set).map((attribute) => {
    const reader = readerOf(attribute);
    return [identifierIn(reader), onlyOne(valuesIn(reader.next(TAG.set)))] as const;
  });
  const attributes = new Map(all);
  insist(attributes.size === all.length);
  return attributes;
}

/** The certificate that the signature itself names, by its hash (RFC 2634, section 5.4; RFC 5035, section 4). */
async function findCertificate({ attributes, certificates }: Token, { digest }: Cryptography) {
  const second = attributes.get(SIGNING_CERTIFICATE_V2);
  const list = second ?? attributes.get(SIGNING_CERTIFICATE);
  if (list === undefined) throw new UnreadableError('it does not say with which certificate it was signed');
  const named = readerOf(list).inside(TAG.sequence).inside(TAG.sequence);
  const other = named.maybe(TAG.sequence);
  const usual = second === undefined ? 'SHA-1' : 'SHA-256';
  const hash = other === undefined ? usual : known(HASHES, identifierIn(readerOf(other)));
  const wanted = toHex(named.next(TAG.octets).content);
  for (const each of certificates) if (toHex(await digest(hash, each.whole)) === wanted) return each;
  return undefined;
}

/** How it was signed. @throws {UnreadableError} for what is not verified here */
function algorithmOf({ algorithm, digest }: Token, { curve }: Certificate): SignatureAlgorithm {
  const id = identifierIn(algorithm);
  if (id !== RSA_PSS) {
    const { name, hash = digest } = known(SIGNATURES, id);
    return name === 'ECDSA' ? { name, hash, namedCurve: known(CURVES, curve) } : { name, hash };
  }
  const parameters = algorithm.inside(TAG.sequence);
  const hash = hashIn(parameters.inside(TAG.part0));
  const mask = parameters.inside(TAG.part1).inside(TAG.sequence);
  insist(identifierIn(mask) === MGF1 && hashIn(mask) === hash);
  const salt = parameters.inside(TAG.part2).next(TAG.integer);
  return { name: 'RSA-PSS', hash, saltLength: Number(`0x${toHex(salt.content)}`) };
}

function readInfo(content: DerValue) {
  const info = readerOf(content).inside(TAG.sequence);
  info.next(TAG.integer);
  info.next(TAG.object);
  const imprint = info.inside(TAG.sequence);
  insist(hashIn(imprint) === 'SHA-256');
  info.next(TAG.integer);
  return { hash: toHex(imprint.next(TAG.octets).content), at: momentOf(info.next(TAG.time)) };
}

/** Verifies a token. @returns undefined for what cannot be read as one, or is signed in a way that is not verified here */
export async function checkTimeStamp(der: Bytes, cryptography: Cryptography): Promise<TimeStamp | undefined> {
  try {
    const token = readToken(der);
    const stamp = readInfo(token.info);
    const attributeHex = (id: string) => toHex(token.attributes.get(id)?.content ?? new Uint8Array());
    const digest = toHex(await cryptography.digest(token.digest, token.info.content));
    const wrong = [
      ...(attributeHex(CONTENT_TYPE) === TST_INFO ? [] : ['it was not signed as a time stamp']),
      ...(attributeHex(MESSAGE_DIGEST) === digest ? [] : ['what it says is not what was signed']),
    ];
    const found = await findCertificate(token, cryptography);
    if (found === undefined) {
      const missing = 'the certificate with which it says that it was signed is not in it';
      return { ...stamp, fingerprint: '', by: 'nobody who is known', wrong: [...wrong, missing] };
    }
    const certificate = readCertificate(found);
    const { name, validity, publicKey, isForTimeStamps } = certificate;
    const algorithm = algorithmOf(token, certificate);
    if (!(await cryptography.verify(algorithm, publicKey, token.signature, token.signed)))
      wrong.push('the key of its certificate has not signed it');
    if (!isForTimeStamps) wrong.push('its certificate is not one for time stamps');
    const [from = Number.NaN, to = Number.NaN] = validity.map((each) => Date.parse(each));
    const moment = Date.parse(stamp.at);
    if (!(from <= moment && moment <= to))
      wrong.push(`its certificate was not valid then, but from ${validity.join(' to ')}`);
    const fingerprint = toHex(await cryptography.sha256(found.whole));
    return { ...stamp, fingerprint, by: `${name}, certificate SHA-256 ${fingerprint}`, wrong };
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}
