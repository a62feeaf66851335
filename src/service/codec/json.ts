import type { HttpRequest } from '../../http/exchange.ts';
import { decodeJsonBody, parseJson } from '../../http/text.ts';
import { type Envelope, parseEnvelope } from '../envelope.ts';
import { assertDepthAndCheckKeys, assertResponseSize } from '../redact.ts';
import { Secret } from '../secret.ts';
import type { RequestDescription } from '../task.ts';
import { InvalidInputError, InvalidResponseError } from './codec-errors.ts';
import { isWireList, type WireValue } from './wire.ts';

export interface DecodedResponse {
  readonly envelope: Envelope;
  /** The response text, which is searched for echoed secrets. */
  readonly text: string;
  /** Whether `text` has escapes or other markup, so that a search can miss secrets. */
  readonly canHideSecrets: boolean;
}

/** See “General query parameters” in the service's API documentation. */
export interface GeneralQuery {
  readonly replyTo?: string | undefined;
  readonly ctid?: string | undefined;
  readonly keys?: readonly string[] | undefined;
}

export interface ServiceAddress {
  readonly origin: string;
  readonly path: string;
  /** Starts with `?`, or is empty. */
  readonly query: string;
}

/** @throws {InvalidInputError} unless `url` is an http or https URL without user and password */
export function parseAddress(label: string, url: string): ServiceAddress {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new InvalidInputError(`${label} is not a URL`);
  }
  if (!/^https?:$/.test(parsed.protocol)) throw new InvalidInputError(`${label} is not an http or https URL`);
  if (parsed.username !== '' || parsed.password !== '')
    throw new InvalidInputError(`${label} must not contain a user or password`);
  return { origin: parsed.origin, path: parsed.pathname, query: parsed.search };
}

/** Encodes a request without its signature. @throws {InvalidInputError} if the request can't be encoded */
export function encodeJson(
  description: Extract<RequestDescription, { interface: 'json' }>,
  address: ServiceAddress,
  generalQuery: GeneralQuery,
): HttpRequest {
  const path = `${address.path.replace(/\/+$/, '')}${description.path}`;
  const query = [...(description.query ?? []), ...listGeneralParameters(generalQuery)];
  const body =
    description.body === undefined ? undefined : JSON.stringify(revealSecrets(description.body, 'the body'));
  return {
    origin: address.origin,
    path: query.length === 0 ? path : `${path}?${encodeQuery(query)}`,
    method: description.method,
    headers: body === undefined ? ACCEPT_HEADER : [...ACCEPT_HEADER, 'content-type', 'application/json'],
    body,
  };
}

const ACCEPT_HEADER = ['accept', 'application/json'];

type Parameter = readonly [name: string, value: string];

function listGeneralParameters({ replyTo, ctid, keys }: GeneralQuery): readonly Parameter[] {
  const parameters: Parameter[] = [];
  if (replyTo !== undefined) parameters.push(['replyTo', replyTo]);
  if (ctid !== undefined) parameters.push(['ctid', ctid]);
  for (const key of keys ?? []) parameters.push(['keys[]', key]);
  return parameters;
}

function encodeQuery(parameters: readonly Parameter[]): string {
  return new URLSearchParams(
    parameters.map(([name, value]): [string, string] => [name, requireUnicode(name, value)]),
  ).toString();
}

/**
 * Percent-encodes a path segment, except for characters that RFC 3986 allows in segments.
 * @throws {InvalidInputError} for an empty segment, `.` or `..`
 */
export function encodePathSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..') {
    throw new InvalidInputError(`"${segment}" can't be part of an address`, {
      code: 'not_in_address',
      text: segment,
    });
  }
  return encodeURIComponent(requireUnicode('the address', segment)).replace(
    /%(3A|40|24|26|2B|2C|3B|3D)/g,
    (escaped) => decodeURIComponent(escaped),
  );
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function requireUnicode(name: string, text: string): string {
  if (LONE_SURROGATE.test(text)) {
    throw new InvalidInputError(`${name} is not valid Unicode`, { code: 'not_unicode', field: name });
  }
  return text;
}

type PlainJson = string | number | boolean | readonly PlainJson[] | { readonly [name: string]: PlainJson };

/** Also drops undefined values. */
function revealSecrets(value: WireValue, name: string): PlainJson {
  if (value instanceof Secret) return requireUnicode(name, value.reveal());
  if (typeof value === 'string') return requireUnicode(name, value);
  if (typeof value !== 'object') return value;
  if (isWireList(value)) return value.map((item) => revealSecrets(item, name));
  const plain: { [name: string]: PlainJson } = {};
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item !== undefined) plain[key] = revealSecrets(item, key);
  }
  return plain;
}

/** @throws {InvalidResponseError} unless the body is an envelope */
export function decodeJson(body: Buffer, contentType?: string | undefined): DecodedResponse {
  assertResponseSize(body);
  const text = decodeJsonBody(body, contentType);
  if (text === undefined)
    throw new InvalidResponseError('the response is in an encoding that cannot be read');
  let decoded: unknown;
  try {
    decoded = parseJson(text);
  } catch {
    // The parser's own message quotes the response.
    throw new InvalidResponseError(text.trim() === '' ? 'the response is empty' : 'the response is not JSON');
  }
  const hasPrototypeKey = assertDepthAndCheckKeys(decoded);
  return { envelope: parseEnvelope(decoded), text, canHideSecrets: hasPrototypeKey || text.includes('\\') };
}
