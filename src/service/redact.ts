import { InvalidResponseError } from './codec/codec-errors.ts';
import type { Envelope } from './envelope.ts';
import { isRecord } from './record.ts';
import { MASK } from './secret.ts';

export const MAX_RESPONSE_BYTES = 2 * 1024 * 1024;

/** Documented responses are less than half as deeply nested. */
export const MAX_DEPTH = 64;

/** Secrets of at least this length are masked everywhere, even inside words. */
const MIN_LENGTH_ANYWHERE = 6;

/** Secrets of at least this length with a digit or symbol are masked as whole words. */
const MIN_WORD_LENGTH = 4;

/**
 * Short words are treated like common words, because responses often contain them by coincidence. Real
 * passwords are longer.
 */
const SHORT_WORD = /^\p{L}{1,5}$/u;

const COMMON_RESPONSE_WORDS: ReadonlySet<string> = new Set(
  `accepted access account active address already answer approved authentication authorization available blocked cannot
  changed closed completed confirmed contact context country created credentials customer deleted denied disabled domain
  domains enabled exists expired failed failure format internal invalid language letters locked logged longer message
  missing nameserver nameservers number object operation options outside parameter password passwords pending period
  permission please processed property provided received refused registered registry rejected renewed request required
  response restored result secret security server service session shorter started status stored string subuser success
  successful successfully system transfer unauthorized unknown update updated username welcome without`.split(
    /\s+/,
  ),
);

/** @param place `name` for an object key, which comes from the service and may equal a secret by chance */
export type Mask = (text: string, place?: 'value' | 'name') => string;

/**
 * @returns a function that replaces the secrets with `[secret]`. Text that is only a secret is always masked.
 * Masking within longer text depends on the secret:
 * - at least 6 characters, and not a common word: masked everywhere;
 * - 4 or 5 characters, including a digit or symbol: masked as a whole word;
 * - common words and shorter secrets: masked only in quotation marks or right after `=` or `:`. Otherwise,
 * “the [secret] is wrong” would reveal that a person's password is `password`.
 */
export function createMask(secrets: readonly string[]): Mask {
  const exactTexts = new Set(secrets.filter((secret) => secret !== ''));
  const longestFirst = [...exactTexts].sort((a, b) => b.length - a.length);
  const rules = longestFirst.map((secret) => ({ secret, pattern: buildPattern(secret) }));
  return (text, place = 'value') => {
    if (place === 'value' && (exactTexts.has(text) || exactTexts.has(text.trim()))) return MASK;
    let maskedText = text;
    for (const { secret, pattern } of rules) {
      if (maskedText.includes(secret)) maskedText = maskedText.replace(pattern, MASK);
    }
    return maskedText;
  };
}

/** Matches a secret within longer text. */
function buildPattern(secret: string): RegExp {
  const literal = secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const isCommon = SHORT_WORD.test(secret) || COMMON_RESPONSE_WORDS.has(secret.toLowerCase());
  if (isCommon || secret.length < MIN_WORD_LENGTH) {
    return new RegExp(`(?<=[=:"'\`“”„‘’«»])${literal}(?![\\p{L}\\p{N}])`, 'gu');
  }
  return secret.length < MIN_LENGTH_ANYWHERE
    ? new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu')
    : new RegExp(literal, 'gu');
}

/** Never masks the status code. */
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

/** Masks strings and secret numbers, and drops `__proto__` keys. */
function maskValue(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return mask(value);
  if (typeof value === 'number') return mask(String(value)) === String(value) ? value : MASK;
  if (Array.isArray(value)) return value.map((item) => maskValue(item, mask));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .filter((key) => key !== '__proto__')
      .map((key) => [mask(key, 'name'), maskValue(value[key], mask)]),
  );
}

/** @throws {InvalidResponseError} if the body is too large */
export function assertResponseSize(body: Buffer): void {
  if (body.length > MAX_RESPONSE_BYTES) throw new InvalidResponseError('the response is too large');
}

/**
 * @returns whether the value has a `__proto__` key, which a copy must drop
 * @throws {InvalidResponseError} if the value is nested too deeply
 */
export function assertDepthAndCheckKeys(value: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH)
    throw new InvalidResponseError(`the response is nested deeper than ${MAX_DEPTH} levels`);
  let hasPrototypeKey = false;
  if (Array.isArray(value)) {
    for (const child of value) {
      if (typeof child === 'object' && child !== null && assertDepthAndCheckKeys(child, depth + 1))
        hasPrototypeKey = true;
    }
  } else if (isRecord(value)) {
    // Runs for every response, and `for…in` is much faster here than listing the keys.
    for (const key in value) {
      if (key === '__proto__') hasPrototypeKey = true;
      const child = value[key];
      if (typeof child === 'object' && child !== null && assertDepthAndCheckKeys(child, depth + 1))
        hasPrototypeKey = true;
    }
  }
  return hasPrototypeKey;
}

/**
 * Finds the first text under one of the names, at any depth. Compares only the letters of names: `authInfo`,
 * `auth_info` and `authinfo1` all match `authinfo`.
 * @param nestedNames names to search for in an object under one of `names`
 */
export function findText(
  value: unknown,
  names: ReadonlySet<string>,
  nestedNames: ReadonlySet<string> = names,
): string | undefined {
  if (Array.isArray(value)) return findFirstDefined(value, (item) => findText(item, names, nestedNames));
  if (!isRecord(value)) return undefined;
  return findFirstDefined(Object.keys(value), (key) => {
    const child = value[key];
    if (!names.has(key.toLowerCase().replace(/[^a-z]/g, ''))) return findText(child, names, nestedNames);
    return getSoleText(child) ?? findText(child, names, nestedNames) ?? findText(child, nestedNames);
  });
}

/** Returns the text itself, or the only text of an object such as `{ value: … }`. */
function getSoleText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value === 'number') return String(value);
  if (!isRecord(value)) return undefined;
  const children = Object.values(value);
  return children.length === 1 ? getSoleText(children[0]) : undefined;
}

function findFirstDefined<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const text = find(item);
    if (text !== undefined) return text;
  }
  return undefined;
}
