import type { Answer } from 'dns-packet';

/** RFC 4034, section 5. */
export interface DsRecord {
  readonly keyTag: number;
  readonly algorithm: number;
  readonly digestType: number;
  /** Lower-case hex. */
  readonly digest: string;
}

/** RFC 4034, section 2. */
export interface DnskeyRecord {
  readonly flags: number;
  readonly algorithm: number;
  readonly key: Buffer;
}

/** Data by record type. Names are in lower case, without a trailing dot. */
export interface RecordData {
  readonly A: string;
  readonly AAAA: string;
  readonly CNAME: string;
  /** The DS that a zone asks its parent to publish (RFC 7344, section 3). */
  readonly CDS: DsRecord;
  readonly CDNSKEY: DnskeyRecord;
  readonly CAA: { readonly critical: boolean; readonly tag: string; readonly value: string };
  readonly DNSKEY: DnskeyRecord;
  readonly DS: DsRecord;
  readonly MX: { readonly preference: number; readonly exchange: string };
  readonly NS: string;
  readonly SOA: { readonly primary: string; readonly contact: string };
  /** The strings of one record, concatenated. */
  readonly TXT: string;
}

/** RFC 4034, section 3. Times are in seconds and compared as serial numbers (RFC 1982). */
export interface SignatureRecord {
  readonly inception: number;
  readonly expiration: number;
}

export type RecordType = keyof RecordData;

type Readers = { readonly [Type in RecordType]: (record: Answer) => RecordData[Type] | undefined };

const READERS: Readers = {
  A: (record) => (record.type === 'A' ? record.data : undefined),
  AAAA: (record) => (record.type === 'AAAA' ? record.data.toLowerCase() : undefined),
  CNAME: (record) => (record.type === 'CNAME' ? normalizeDnsName(record.data) : undefined),
  NS: (record) => (record.type === 'NS' ? normalizeDnsName(record.data) : undefined),
  MX: (record) =>
    record.type === 'MX'
      ? { preference: record.data.preference ?? 0, exchange: normalizeDnsName(record.data.exchange) }
      : undefined,
  TXT: (record) => (record.type === 'TXT' ? [record.data].flat().map(String).join('') : undefined),
  CAA: (record) =>
    record.type === 'CAA'
      ? {
          critical: record.data.issuerCritical === true,
          tag: record.data.tag.toLowerCase(),
          value: record.data.value,
        }
      : undefined,
  SOA: (record) =>
    record.type === 'SOA'
      ? { primary: normalizeDnsName(record.data.mname), contact: normalizeDnsName(record.data.rname) }
      : undefined,
  DS: (record) =>
    record.type === 'DS' ? { ...record.data, digest: record.data.digest.toString('hex') } : undefined,
  DNSKEY: (record) => (record.type === 'DNSKEY' ? record.data : undefined),
  CDS: (record) => (record.type === 'CDS' ? readCds(record.data) : undefined),
  CDNSKEY: (record) => (record.type === 'CDNSKEY' ? readCdnskey(record.data) : undefined),
};

/** Size of the fixed fields before the digest or key. */
const HEADER_BYTES = 4;

/** `dns-packet` doesn't decode CDS and CDNSKEY records. */
function readCds(data: Buffer): DsRecord | undefined {
  if (data.length <= HEADER_BYTES) return undefined;
  const [keyTag, algorithm, digestType] = [data.readUInt16BE(0), data.readUInt8(2), data.readUInt8(3)];
  return { keyTag, algorithm, digestType, digest: data.toString('hex', HEADER_BYTES) };
}

function readCdnskey(data: Buffer): DnskeyRecord | undefined {
  if (data.length <= HEADER_BYTES) return undefined;
  return { flags: data.readUInt16BE(0), algorithm: data.readUInt8(3), key: data.subarray(HEADER_BYTES) };
}

/** @returns undefined for a record of another type */
export function readRecord<Type extends RecordType>(
  type: Type,
  record: Answer,
): RecordData[Type] | undefined {
  return READERS[type](record);
}

/** @returns undefined unless the record is a signature over records of this type */
export function readSignature(type: RecordType, record: Answer): SignatureRecord | undefined {
  return record.type === 'RRSIG' && record.data.typeCovered === type ? record.data : undefined;
}

/** Lower case, without a trailing dot. */
export function normalizeDnsName(name: string): string {
  const bareName = name.toLowerCase().replace(/\.$/, '');
  return bareName === '' ? '.' : bareName;
}
