import { type Answer, type DecodedPacket, DNSSEC_OK, decode, encode, RECURSION_DESIRED } from 'dns-packet';
import { dnsName, type RecordType } from './records.ts';

export interface Question {
  readonly name: string;
  readonly type: RecordType;
  /** Asks the server to find the answer elsewhere when it does not have it. */
  readonly recursive: boolean;
  /** Asks for the records that prove the answer (RFC 3225): a referral then tells the DS, or that there is none. */
  readonly dnssec: boolean;
}

/** A response that belongs to its question. */
export interface Response {
  /** RFC 1035, 4.1.1. */
  readonly code: number;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  /** It refuses the question without repeating it. */
  readonly isBareError: boolean;
  readonly answers: readonly Answer[];
  readonly authorities: readonly Answer[];
}

/** What a packet means for somebody who waits for a response. */
export type ReadResponse =
  | { readonly kind: 'response'; readonly response: Response }
  /** Has the right id and cannot be read. */
  | { readonly kind: 'malformed' }
  /** Is a response to something that was not asked, so nobody knows who made it. */
  | { readonly kind: 'foreign' };

/** Fits every network without fragments (DNS Flag Day 2020). */
const UDP_PAYLOAD_BYTES = 1_232;
const HEADER_BYTES = 12;
/** The counts of records are the last part of the header (RFC 1035, section 4.1.1). */
const COUNTS_OFFSET = 4;
const CODE_BITS = 4;
const CODE_MASK = 0x0f;

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

/** The packet of a question. @param edns says how long an answer over UDP may be (RFC 6891) */
export function encodeQuestion(
  id: number,
  { name, type, recursive, dnssec }: Question,
  edns: boolean,
): Buffer {
  const option = {
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
    flags: recursive ? RECURSION_DESIRED : 0,
    questions: [{ name, type, class: 'IN' }],
    additionals: edns ? [option] : [],
  });
}

/** Reads a packet that came from the server that was asked (RFC 5452, 9.1). */
export function readResponse(packet: Buffer, id: number, question: Question): ReadResponse {
  if (packet.length < HEADER_BYTES || packet.readUInt16BE(0) !== id) return { kind: 'foreign' };
  let decoded: DecodedPacket;
  try {
    decoded = decode(packet.length === HEADER_BYTES ? withoutCounts(packet) : packet);
  } catch {
    return { kind: 'malformed' };
  }
  const { questions = [], answers = [], authorities = [], additionals = [] } = decoded;
  const option = additionals.find((record) => record.type === 'OPT');
  const code = ((decoded.flags ?? 0) & CODE_MASK) | ((option?.extendedRcode ?? 0) << CODE_BITS);
  // A server that can't read a question, or doesn't want to, may leave it out.
  const isBareError =
    questions.length === 0 &&
    answers.length + authorities.length === 0 &&
    code !== RESPONSE_CODES.ok &&
    code !== RESPONSE_CODES.noSuchName;
  if (!decoded.flag_qr || !(isBareError || isSameQuestion(decoded, question))) return { kind: 'foreign' };
  return {
    kind: 'response',
    response: {
      code,
      authoritative: decoded.flag_aa,
      truncated: decoded.flag_tc && !isBareError,
      isBareError,
      answers,
      authorities,
    },
  };
}

/** A header that stands alone, whose counts may be those of the question. */
function withoutCounts(header: Buffer): Buffer {
  return Buffer.concat([header.subarray(0, COUNTS_OFFSET), Buffer.alloc(HEADER_BYTES - COUNTS_OFFSET)]);
}

function isSameQuestion({ questions = [] }: DecodedPacket, { name, type }: Question): boolean {
  const [asked, ...more] = questions;
  return (
    asked !== undefined &&
    more.length === 0 &&
    asked.type === type &&
    asked.class === 'IN' &&
    dnsName(asked.name) === dnsName(name)
  );
}
