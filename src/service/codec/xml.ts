import { type X2jOptions, XMLParser, XMLValidator } from 'fast-xml-parser';
import { decodeXmlBody } from '../../http/text.ts';
import { parseEnvelope } from '../envelope.ts';
import { isRecord } from '../record.ts';
import { assertResponseSize, MAX_DEPTH } from '../redact.ts';
import { Secret } from '../secret.ts';
import { InvalidInputError, InvalidResponseError } from './codec-errors.ts';
import type { DecodedResponse } from './json.ts';
import { isWireList, type WireObject, type WireValue } from './wire.ts';

// See “XML interface” in the service's API documentation.

export function encodeElements(elements: WireObject): string {
  return Object.entries(elements)
    .map(([name, content]) => (content === undefined ? '' : encodeElement(name, content)))
    .join('');
}

function encodeElement(name: string, content: WireValue): string {
  if (isWireList(content)) return content.map((item) => encodeElement(name, item)).join('');
  const isText = typeof content !== 'object' || content instanceof Secret;
  return `<${name}>${isText ? escapeText(name, content) : encodeElements(content)}</${name}>`;
}

export function encodeXmlRequest(signature: string, code: string, elements: string): string {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
  return `${declaration}<request>${signature}<task><code>${code}</code>${elements}</task></request>`;
}

/** XML 1.0, section 2.2. Includes lone surrogates. */
const INVALID_XML_CHARACTER = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

const ESCAPES = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&apos;'],
  // Otherwise, the parser would turn a carriage return into a line feed.
  ['\r', '&#13;'],
]);

function escapeText(name: string, content: string | number | boolean | Secret): string {
  const text = content instanceof Secret ? content.reveal() : String(content);
  if (INVALID_XML_CHARACTER.test(text)) {
    throw new InvalidInputError(`"${name}" contains a character that XML doesn’t allow`, {
      code: 'not_xml_character',
      field: name,
    });
  }
  return text.replace(/[&<>"'\r]/g, (character) => ESCAPES.get(character) ?? character);
}

const LIST_ELEMENTS = new Set(['msg', 'object', 'domain_prereg', 'nserver']);

const PARSER_OPTIONS: X2jOptions = {
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  jPath: false,
  // Namespaces are neither documented nor forbidden.
  removeNSPrefix: true,
  maxNestedTags: MAX_DEPTH,
  isArray: (name) => LIST_ELEMENTS.has(name),
  entityDecoder: {
    setExternalEntities: () => undefined,
    addInputEntities: () => undefined,
    reset: () => undefined,
    setXmlVersion: () => undefined,
    decode: decodeReferences,
  },
};

const NAMED_ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/** Decodes references such as `&#38;`, which the library leaves as they are. Keeps unknown entities. */
export function decodeReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]+));/gi, (reference, hex, decimal, name) => {
    if (typeof name === 'string') return NAMED_ENTITIES.get(name) ?? reference;
    const codePoint = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal);
    if (codePoint > 0x10ffff) return reference;
    const character = String.fromCodePoint(codePoint);
    return INVALID_XML_CHARACTER.test(character) ? reference : character;
  });
}

/**
 * @throws {InvalidResponseError} if the body is too large, malformed or nested too deeply, has a DOCTYPE, or
 * isn't an envelope
 */
export function decodeXml(body: Buffer, contentType?: string | undefined): DecodedResponse {
  assertResponseSize(body);
  const text = decodeXmlBody(body, contentType);
  if (text === undefined)
    throw new InvalidResponseError('the response is in an encoding that cannot be read');
  checkMarkup(text);
  // The parser accepts truncated and mismatched documents.
  if (XMLValidator.validate(text) !== true)
    throw new InvalidResponseError('the response is not well-formed XML');
  let document: unknown;
  try {
    document = removeLayoutWhitespace(new XMLParser(PARSER_OPTIONS).parse(text));
  } catch {
    // The parser's own message may quote the response.
    throw new InvalidResponseError('the response is not readable XML');
  }
  const response = isRecord(document) ? document['response'] : undefined;
  const result = isRecord(response) ? response['result'] : undefined;
  if (!isRecord(response) || !isRecord(result))
    throw new InvalidResponseError('the response has no "response" element with a "result"');
  return {
    envelope: { ...parseEnvelope(toJsonShape(response, result)), received: response },
    text,
    // References, CDATA sections, comments and processing instructions can split or encode a secret.
    canHideSecrets: /&|<!|.<\?/s.test(text),
  };
}

type XmlNode = Readonly<Record<string, unknown>>;

/** Elements of `response` and `result` that become parts of the envelope. All others are data. */
const ENVELOPE_ELEMENTS = new Set(['result', 'stid', 'data', 'status', 'object', 'msg']);

/** Renames and moves elements into the shape of the JSON envelope. */
function toJsonShape(response: XmlNode, result: XmlNode): unknown {
  const status = isRecord(result['status']) ? result['status'] : {};
  const dataElements = [result['data'], pickData(result), pickData(response)];
  const { singleValues, records, summary } = splitData(dataElements);
  return {
    stid: response['stid'] ?? result['stid'],
    status: { code: trim(status['code']), text: trim(status['text']), type: toUpper(status['type']) },
    object: [
      ...toList(status['object']).filter(isRecord).map(toReference),
      ...toList(result['object']).filter(isRecord).map(toReference),
      ...(summary === undefined ? [] : [{ summary }]),
      ...(singleValues === undefined ? [] : [{ data: singleValues }]),
    ],
    messages: toList(result['msg'])
      .filter(isRecord)
      .map((message) => ({
        code: trim(message['code']),
        text: message['text'],
        status: toUpper(message['type']),
        objects: toList(message['object']).filter(isRecord).map(toReference),
      })),
    data: records,
  };
}

const toReference = (object: XmlNode): XmlNode => ({ type: trim(object['type']), value: object['value'] });

function pickData(element: XmlNode): XmlNode {
  return Object.fromEntries(Object.entries(element).filter(([name]) => !ENVELOPE_ELEMENTS.has(name)));
}

/** Elements with children are records. Elements with text describe the response's object. */
function splitData(sources: readonly unknown[]): {
  singleValues?: XmlNode;
  records: readonly unknown[];
  summary?: string;
} {
  const singleValues: [string, unknown][] = [];
  const records: unknown[] = [];
  let summary: string | undefined;
  for (const [name, value] of sources.filter(isRecord).flatMap((source) => Object.entries(source))) {
    if (name === '#text') continue;
    if (name === 'summary' && typeof value === 'string') summary = value;
    else if (typeof value === 'string') singleValues.push([name, value]);
    else records.push(...toList(value));
  }
  return {
    records,
    ...(singleValues.length === 0 ? {} : { singleValues: Object.fromEntries(singleValues) }),
    ...(summary === undefined || summary.trim() === '' ? {} : { summary }),
  };
}

/** Removes whitespace between elements, and around values on their own line. */
function removeLayoutWhitespace(value: unknown): unknown {
  if (typeof value === 'string') return /^\s*\n|\n\s*$/.test(value) ? value.trim() : value;
  if (Array.isArray(value)) return value.map(removeLayoutWhitespace);
  if (!isRecord(value)) return value;
  // Names such as `__proto__` can't occur, because the parser rejects them.
  const copy: { [name: string]: unknown } = {};
  for (const name in value) {
    const child = value[name];
    const isBlank = name === '#text' && typeof child === 'string' && child.trim() === '';
    if (!isBlank) copy[name] = removeLayoutWhitespace(child);
  }
  return copy;
}

const toList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value == null ? [] : [value];
const trim = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);
const toUpper = (value: unknown): unknown =>
  typeof value === 'string' ? value.trim().toUpperCase() : undefined;

/**
 * A cheap check before parsing: no DOCTYPE, no unclosed markup, at most {@link MAX_DEPTH} levels, and one
 * root element.
 */
function checkMarkup(text: string): void {
  let depth = 0;
  let hasRootEnded = false;
  let end = 0;
  for (let start = text.indexOf('<'); start !== -1; start = text.indexOf('<', end)) {
    if (depth === 0 && text.slice(end, start).trim() !== '') break;
    if (text.startsWith('<!--', start)) end = findEnd(text, '-->', start + 4);
    else if (text.startsWith('<![CDATA[', start)) end = findEnd(text, ']]>', start + 9);
    else if (text.startsWith('<?', start)) end = findEnd(text, '?>', start + 2);
    else if (text.startsWith('<!', start)) throw new InvalidResponseError('the response has a DOCTYPE');
    else {
      end = findTagEnd(text, start + 1);
      if (text.startsWith('</', start)) depth -= 1;
      else {
        if (hasRootEnded) throw new InvalidResponseError('the response has more than one root element');
        if (!text.startsWith('/>', end - 2)) depth += 1;
        if (depth > MAX_DEPTH)
          throw new InvalidResponseError(`the response is nested deeper than ${MAX_DEPTH} levels`);
      }
      hasRootEnded = depth === 0;
    }
  }
  if (!hasRootEnded || text.slice(end).trim() !== '') {
    throw new InvalidResponseError(
      text.trim() === '' ? 'the response is empty' : 'the response is not well-formed XML',
    );
  }
}

function findEnd(text: string, terminator: string, from: number): number {
  const index = text.indexOf(terminator, from);
  if (index === -1) throw new InvalidResponseError('the response is not well-formed XML');
  return index + terminator.length;
}

/** Returns the index after a tag's closing `>`. Ignores any `>` in quoted attribute values. */
function findTagEnd(text: string, from: number): number {
  let end = findEnd(text, '>', from);
  let quote = findOpenQuote(text, from, end - 1, '');
  while (quote !== '') {
    const nextEnd = findEnd(text, '>', end);
    quote = findOpenQuote(text, end - 1, nextEnd - 1, quote);
    end = nextEnd;
  }
  return end;
}

function findOpenQuote(text: string, from: number, to: number, initialQuote: string): string {
  let quote = initialQuote;
  for (const character of text.slice(from, to)) {
    if (quote === '' && (character === '"' || character === "'")) quote = character;
    else if (character === quote) quote = '';
  }
  return quote;
}
