import { type Bytes, toHex } from './bytes.ts';

/*
 * What a time stamp (RFC 3161) says: a hash and a moment. Only that is read. Who signed it, and whether they are to be believed, is
 * verified with the roots of time stamping services, which this program does not know.
 */

export interface TimeStamp {
  /** What it is over: SHA-256 in hex. */
  readonly hash: string;
  /** The moment that it says, as ISO 8601. */
  readonly at: string;
}

/** A value in DER: its tag, and what is in it. */
interface Element {
  readonly tag: number;
  readonly content: Bytes;
}

const INTEGER = 0x02;
const OCTETS = 0x04;
const OBJECT = 0x06;
const TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;
const EXPLICIT = 0xa0;

/** Object identifiers in hex. */
const SIGNED_DATA = '2a864886f70d010702';
const TST_INFO = '2a864886f70d0109100104';
const SHA256 = '608648016503040201';

/** The values that stand one after the other. @throws {RangeError} for what is no DER */
function elementsOf(bytes: Bytes): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    const first = bytes[at + 1] ?? 0;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    // 0x80 is a length that is not told, which DER does not have; nothing here needs more than three bytes.
    if (first === 0x80 || lengthBytes > 3) throw new RangeError('a length that DER does not have');
    const start = at + 2 + lengthBytes;
    const size =
      lengthBytes === 0 ? first : bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0);
    if (start + size > bytes.length) throw new RangeError('it ends too early');
    elements.push({ tag, content: bytes.slice(start, start + size) });
    at = start + size;
  }
  return elements;
}

/** What is in a value, which has to have these tags first. @throws {RangeError} when it has others */
function inside({ content }: Element, ...tags: readonly number[]): Element[] {
  const elements = elementsOf(content);
  if (tags.some((tag, index) => elements[index]?.tag !== tag)) throw new RangeError('something else');
  return elements;
}

/** The value at a place that was looked at before. */
function at(elements: readonly Element[], index: number): Element {
  const element = elements[index];
  if (element === undefined) throw new RangeError('nothing there');
  return element;
}

/** Reads a token (RFC 5652, RFC 3161). @returns undefined for what is none, or is over another kind of hash than SHA-256 */
export function readTimeStamp(token: Bytes): TimeStamp | undefined {
  try {
    const content = inside(at(elementsOf(token), 0), OBJECT, EXPLICIT);
    const signed = inside(at(inside(at(content, 1), SEQUENCE), 0), INTEGER, SET, SEQUENCE);
    const encapsulated = inside(at(signed, 2), OBJECT, EXPLICIT);
    const octets = at(inside(at(encapsulated, 1), OCTETS), 0);
    const info = inside(at(inside(octets, SEQUENCE), 0), INTEGER, OBJECT, SEQUENCE, INTEGER, TIME);
    const imprint = inside(at(info, 2), SEQUENCE, OCTETS);
    const algorithm = at(inside(at(imprint, 0), OBJECT), 0);
    const kinds = [at(content, 0), at(encapsulated, 0), algorithm].map((kind) => toHex(kind.content));
    if (kinds.join() !== [SIGNED_DATA, TST_INFO, SHA256].join()) return undefined;
    const moment = momentOf(new TextDecoder().decode(at(info, 4).content));
    return moment === undefined ? undefined : { hash: toHex(at(imprint, 1).content), at: moment };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A GeneralizedTime as ISO 8601: `20261125140003Z`. */
function momentOf(text: string): string | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d(?:\.\d+)?)Z$/.exec(text) ?? [];
  return year === undefined ? undefined : `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
}
