import {
  type Answer,
  CHECKING_DISABLED,
  type DecodedPacket,
  DNSSEC_OK,
  decode,
  encode,
  RECURSION_DESIRED,
} from 'dns-packet';
import { normalizeDnsName, type RecordType } from './records.ts';

export interface Question {
  readonly name: string;
  readonly type: RecordType;
  /** RD: asks the server to resolve the name. */
  readonly recursive: boolean;
  /** DO (RFC 3225): referrals include the DS or proof that there is none. */
  readonly dnssec: boolean;
}

export interface DnsResponse {
  /** RFC 1035, section 4.1.1. */
  readonly rcode: number;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  readonly isErrorWithoutQuestion: boolean;
  readonly answers: readonly Answer[];
  readonly authorities: readonly Answer[];
}

export type ParsedPacket =
  | { readonly kind: 'response'; readonly response: DnsResponse }
  /** The id matches, but the packet can't be parsed. */
  | { readonly kind: 'malformed' }
  /** Not a response to this question, so it may be forged. */
  | { readonly kind: 'unrelated' };

/** Small enough to avoid fragmentation (DNS Flag Day 2020). */
const UDP_PAYLOAD_BYTES = 1_232;
const HEADER_BYTES = 12;
/** The record counts fill the rest of the header (RFC 1035, section 4.1.1). */
const COUNTS_OFFSET = 4;
const HEADER_RCODE_BITS = 4;
const HEADER_RCODE_MASK = 0x0f;

export const RESPONSE_CODES = {
  ok: 0,
  formatError: 1,
  serverFailure: 2,
  noSuchName: 3,
  notImplemented: 4,
  refused: 5,
  /** RFC 6891, section 9. */
  badVersion: 16,
} as const;

/** @param edns whether to advertise the maximum UDP response size (RFC 6891) */
export function encodeQuery(id: number, { name, type, recursive, dnssec }: Question, edns: boolean): Buffer {
  const optRecord = {
    type: 'OPT' as const,
    name: '.',
    udpPayloadSize: UDP_PAYLOAD_BYTES,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: dnssec ? DNSSEC_OK : 0,
    flag_do: dnssec,
    options: [],
  };
  return encode({
    type: 'query',
    id,
    // Without CD, a validating resolver hides expired signatures (RFC 4035, section 3.2.2).
    flags: recursive ? RECURSION_DESIRED | (dnssec ? CHECKING_DISABLED : 0) : 0,
    questions: [{ name, type, class: 'IN' }],
    additionals: edns ? [optRecord] : [],
  });
}

/** @param packet received from the queried server (RFC 5452, section 9.1) */
export function parseDnsResponse(packet: Buffer, id: number, question: Question): ParsedPacket {
  if (packet.length < HEADER_BYTES || packet.readUInt16BE(0) !== id) return { kind: 'unrelated' };
  let decoded: DecodedPacket;
  try {
    decoded = decode(packet.length === HEADER_BYTES ? clearCounts(packet) : packet);
  } catch {
    return { kind: 'malformed' };
  }
  const { questions = [], answers = [], authorities = [], additionals = [] } = decoded;
  const optRecord = additionals.find((record) => record.type === 'OPT');
  const rcode =
    ((decoded.flags ?? 0) & HEADER_RCODE_MASK) | ((optRecord?.extendedRcode ?? 0) << HEADER_RCODE_BITS);
  // A server that can't read a question, or refuses it, may leave it out of the response.
  const isErrorWithoutQuestion =
    questions.length === 0 &&
    answers.length + authorities.length === 0 &&
    rcode !== RESPONSE_CODES.ok &&
    rcode !== RESPONSE_CODES.noSuchName;
  if (!decoded.flag_qr || !(isErrorWithoutQuestion || isSameQuestion(decoded, question)))
    return { kind: 'unrelated' };
  return {
    kind: 'response',
    response: {
      rcode,
      authoritative: decoded.flag_aa,
      truncated: decoded.flag_tc && !isErrorWithoutQuestion,
      isErrorWithoutQuestion,
      answers,
      authorities,
    },
  };
}

/** If a server responds with only a header, its record counts may be copies of the query's. */
function clearCounts(header: Buffer): Buffer {
  return Buffer.concat([header.subarray(0, COUNTS_OFFSET), Buffer.alloc(HEADER_BYTES - COUNTS_OFFSET)]);
}

function isSameQuestion({ questions = [] }: DecodedPacket, { name, type }: Question): boolean {
  const [first, ...others] = questions;
  return (
    first !== undefined &&
    others.length === 0 &&
    first.type === type &&
    first.class === 'IN' &&
    normalizeDnsName(first.name) === normalizeDnsName(name)
  );
}
