import type { Envelope } from './envelope.ts';
import { AnswerFault } from './faults.ts';
import { isRecord } from './record.ts';
import { MASK } from './secret.ts';

/** Limit of one answer in bytes. */
export const MAX_BYTES = 2 * 1024 * 1024;

/** Deeper answers than this are refused: nothing the service documents is half as deep. */
export const MAX_DEPTH = 64;

/** Shorter secrets are masked only where they stand alone, or every `1` of an answer would be masked for one. */
const MIN_SUBSTRING = 4;

export type Mask = (text: string) => string;

/** A function that replaces every one of the secrets by `[secret]`. */
export function createMask(secrets: readonly string[]): Mask {
  const long = secrets.filter((secret) => secret.length >= MIN_SUBSTRING).sort((a, b) => b.length - a.length);
  const short = new Set(secrets.filter((secret) => secret.length > 0 && secret.length < MIN_SUBSTRING));
  return (text) => {
    if (short.has(text)) return MASK;
    let masked = text;
    for (const secret of long) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK);
    return masked;
  };
}

/** An envelope without the secrets, wherever the service echoes them. The status code is never masked. */
export function maskEnvelope(envelope: Envelope, mask: Mask): Envelope {
  const { stid, status, object, messages, data, received } = envelope;
  const maskText = (text: string | undefined): string | undefined => (text === undefined ? text : mask(text));
  return {
    stid: maskText(stid),
    status: { ...status, text: mask(status.text) },
    object: object && { ...object, value: maskText(object.value), data: maskValue(object.data, mask) },
    messages: messages.map((message) => ({
      ...message,
      text: maskText(message.text),
      objects: message.objects.map(({ type, value }) => ({ type, value: mask(value) })),
    })),
    data: data.map((record) => maskValue(record, mask)),
    received: maskValue(received, mask),
  };
}

/** A copy of a decoded value with every text masked, numbers that are a secret too, and no `__proto__` key. */
function maskValue(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return mask(value);
  if (typeof value === 'number') return mask(String(value)) === String(value) ? value : MASK;
  if (Array.isArray(value)) return value.map((item) => maskValue(item, mask));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .filter((key) => key !== '__proto__')
      .map((key) => [mask(key), maskValue(value[key], mask)]),
  );
}

/** @throws AnswerFault when there is more than the decoders take; checked before anything is made of the bytes. */
export function refuseSize(body: Buffer, maxBytes: number): void {
  if (body.length > maxBytes) throw new AnswerFault('the answer is too large');
}

/**
 * Walks a decoded value once for all that must be known of it.
 *
 * @returns whether a key `__proto__` is in it, which a copy must not take over.
 * @throws AnswerFault when it is nested deeper than any answer of the service.
 */
export function survey(value: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) throw new AnswerFault(`the answer is nested deeper than ${MAX_DEPTH} levels`);
  let found = false;
  if (Array.isArray(value)) {
    for (const inside of value) {
      if (typeof inside === 'object' && inside !== null && survey(inside, depth + 1)) found = true;
    }
  } else if (isRecord(value)) {
    // Every answer is walked, and `for…in` is several times as fast here as listing the keys.
    for (const key in value) {
      if (key === '__proto__') found = true;
      const inside = value[key];
      if (typeof inside === 'object' && inside !== null && survey(inside, depth + 1)) found = true;
    }
  }
  return found;
}

/**
 * The first text that stands under one of the names, anywhere inside. Names are compared by their letters alone:
 * `authInfo`, `auth_info` and `authinfo1` are all `authinfo`.
 *
 * @param insideNames names under which the text may stand within an object of one of the names
 */
export function findText(
  value: unknown,
  names: ReadonlySet<string>,
  insideNames: ReadonlySet<string> = names,
): string | undefined {
  if (Array.isArray(value)) return firstDefined(value, (item) => findText(item, names, insideNames));
  if (!isRecord(value)) return undefined;
  return firstDefined(Object.keys(value), (key) => {
    const inside = value[key];
    if (!names.has(key.toLowerCase().replace(/[^a-z]/g, ''))) return findText(inside, names, insideNames);
    return soleText(inside) ?? findText(inside, names, insideNames) ?? findText(inside, insideNames);
  });
}

/** The text itself, or the only text in an object such as `{ value: … }`. */
function soleText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value === 'number') return String(value);
  if (!isRecord(value)) return undefined;
  const inside = Object.values(value);
  return inside.length === 1 ? soleText(inside[0]) : undefined;
}

function firstDefined<T>(items: readonly T[], look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = look(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
