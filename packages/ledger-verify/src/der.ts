import type { Bytes } from './bytes.ts';

/* Values in DER (X.690), which certificates and time stamps are made of. */

/** A value: its tag, what is in it, and all of its bytes. */
export interface DerValue {
  readonly tag: number;
  readonly content: Bytes;
  readonly whole: Bytes;
}

export const TAG = {
  ...{ boolean: 0x01, integer: 0x02, octets: 0x04, object: 0x06, utcTime: 0x17, time: 0x18 },
  ...{ sequence: 0x30, set: 0x31, part0: 0xa0, part1: 0xa1, part2: 0xa2, part3: 0xa3 },
} as const;

/** Something cannot be read as what it should be. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** The values that stand one after the other. @throws {UnreadableError} for what is no DER */
export function valuesIn({ content: bytes }: Pick<DerValue, 'content'>): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    const first = bytes[at + 1] ?? 0;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    // 0x80 is a length that is not told, which DER does not have; nothing here needs more than three bytes.
    if (first === 0x80 || lengthBytes > 3) throw new UnreadableError('a length that DER does not have');
    const start = at + 2 + lengthBytes;
    const size =
      lengthBytes === 0 ? first : bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0);
    const end = start + size;
    if (end > bytes.length) throw new UnreadableError('it ends too early');
    values.push({ tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return values;
}

/** Takes the values in another one, one after the other. */
export function readerOf(value: Pick<DerValue, 'content'>) {
  const values = valuesIn(value);
  let at = 0;
  /** The next value if it has one of these tags; else it stays. */
  const maybe = (...tags: readonly number[]): DerValue | undefined => {
    const next = values[at];
    if (next === undefined || !tags.includes(next.tag)) return undefined;
    at += 1;
    return next;
  };
  /** @throws {UnreadableError} when the next value has none of these tags */
  const next = (...tags: readonly number[]): DerValue => {
    const found = maybe(...tags);
    if (found === undefined) throw new UnreadableError('something else stands there');
    return found;
  };
  return { maybe, next, inside: (...tags: readonly number[]) => readerOf(next(...tags)) };
}

/** A moment as ISO 8601: `20261125140003Z`, in certificates without its century too (RFC 5280, section 4.1.2.5). */
export function momentOf({ tag, content }: DerValue): string {
  const digits = new TextDecoder().decode(content);
  const century = tag !== TAG.utcTime ? '' : Number(digits.slice(0, 2)) < 50 ? '20' : '19';
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d(?:\.\d+)?)Z$/.exec(century + digits) ?? [];
  if (year === undefined) throw new UnreadableError('no moment');
  return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
}
