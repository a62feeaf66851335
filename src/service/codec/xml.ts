import { type X2jOptions, XMLParser, XMLValidator } from 'fast-xml-parser';
import { decodeXmlBody } from '../../http/text.ts';
import { parseEnvelope } from '../envelope.ts';
import { isRecord } from '../record.ts';
import { assertSize, MAX_DEPTH } from '../redact.ts';
import { Secret } from '../secret.ts';
import { InvalidInputError, InvalidResponseError } from './codec-errors.ts';
import type { DecodedResponse } from './json.ts';
import { isWireList, type WireObject, type WireValue } from './wire.ts';

// Service API, XML interface.

export function writeXml(elements: WireObject): string {
  return Object.entries(elements)
    .map(([name, content]) => (content === undefined ? '' : writeElement(name, content)))
    .join('');
}

function writeElement(name: string, content: WireValue): string {
  if (isWireList(content)) return content.map((each) => writeElement(name, each)).join('');
  const isText = typeof content !== 'object' || content instanceof Secret;
  return `<${name}>${isText ? escapeText(name, content) : writeXml(content)}</${name}>`;
}

export function writeRequest(signature: string, code: string, elements: string): string {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
  return `${declaration}<request>${signature}<task><code>${code}</code>${elements}</task></request>`;
}

/** Characters that XML 1.0, section 2.2 doesn't allow, including lone surrogates. */
const NOT_XML_CHARACTER = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

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
  if (NOT_XML_CHARACTER.test(text)) {
    throw new InvalidInputError(`"${name}" contains a character that XML can’t contain`, {
      code: 'not_xml_character',
      field: name,
    });
  }
  return text.replace(/[&<>"'\r]/g, (character) => ESCAPES.get(character) ?? character);
}

const LIST_ELEMENTS = new Set(['msg', 'object', 'domain_prereg', 'nserver']);

const OPTIONS: X2jOptions = {
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

const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/** Decodes references that the library leaves as they are, such as `&#38;`. Unknown entities stay. */
function decodeReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]+));/gi, (whole, hex, decimal, name) => {
    if (typeof name === 'string') return ENTITIES.get(name) ?? whole;
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal);
    if (code > 0x10ffff) return whole;
    const character = String.fromCodePoint(code);
    return NOT_XML_CHARACTER.test(character) ? whole : character;
  });
}

/**
 * @throws {InvalidResponseError} if the text is too large, malformed or nested too deeply, or has a document type or no
 * envelope
 */
export function decodeXml(body: Buffer, contentType?: string | undefined): DecodedResponse {
  assertSize(body);
  const text = decodeXmlBody(body, contentType);
  if (text === undefined)
    throw new InvalidResponseError('the response is in an encoding that cannot be read');
  checkMarkup(text);
  // The parser accepts truncated and mismatched documents.
  if (XMLValidator.validate(text) !== true)
    throw new InvalidResponseError('the response is not well-formed XML');
  let parsed: unknown;
  try {
    parsed = removeLayout(new XMLParser(OPTIONS).parse(text));
  } catch {
    // The parser's own message may quote the response.
    throw new InvalidResponseError('the response is not XML that can be read');
  }
  const response = isRecord(parsed) ? parsed['response'] : undefined;
  const result = isRecord(response) ? response['result'] : undefined;
  if (!isRecord(response) || !isRecord(result))
    throw new InvalidResponseError('the response has no response with a result');
  return {
    envelope: { ...parseEnvelope(toJsonShape(response, result)), received: response },
    text,
    // References, CDATA sections, comments and processing instructions can split text.
    isOpaque: /&|<!|.<\?/s.test(text),
  };
}

type Node = Readonly<Record<string, unknown>>;

/** Elements of `response` and `result` that become parts of the envelope. All others are data. */
const ENVELOPE_ELEMENTS = new Set(['result', 'stid', 'data', 'status', 'object', 'msg']);

/** Renames and moves elements into the shape of the JSON envelope. */
function toJsonShape(response: Node, result: Node): unknown {
  const status = isRecord(result['status']) ? result['status'] : {};
  const { leaves, records, summary } = readData([result['data'], toData(result), toData(response)]);
  return {
    stid: response['stid'] ?? result['stid'],
    status: { code: trim(status['code']), text: trim(status['text']), type: toUpper(status['type']) },
    object: [
      ...toList(status['object']).filter(isRecord).map(toReference),
      ...toList(result['object']).filter(isRecord).map(toReference),
      ...(summary === undefined ? [] : [{ summary }]),
      ...(leaves === undefined ? [] : [{ data: leaves }]),
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

const toReference = (object: Node): Node => ({ type: trim(object['type']), value: object['value'] });

function toData(element: Node): Node {
  return Object.fromEntries(Object.entries(element).filter(([name]) => !ENVELOPE_ELEMENTS.has(name)));
}

/** Elements with children are records. Single values describe the response's object. */
function readData(sources: readonly unknown[]): {
  leaves?: Node;
  records: readonly unknown[];
  summary?: string;
} {
  const leaves: [string, unknown][] = [];
  const records: unknown[] = [];
  let summary: string | undefined;
  for (const [name, value] of sources.filter(isRecord).flatMap((source) => Object.entries(source))) {
    if (name === '#text') continue;
    if (name === 'summary' && typeof value === 'string') summary = value;
    else if (typeof value === 'string') leaves.push([name, value]);
    else records.push(...toList(value));
  }
  return {
    records,
    ...(leaves.length === 0 ? {} : { leaves: Object.fromEntries(leaves) }),
    ...(summary === undefined || summary.trim() === '' ? {} : { summary }),
  };
}

/** Removes layout whitespace, including around values on their own line. */
function removeLayout(value: unknown): unknown {
  if (typeof value === 'string') return /^\s*\n|\n\s*$/.test(value) ? value.trim() : value;
  if (Array.isArray(value)) return value.map(removeLayout);
  if (!isRecord(value)) return value;
  // The parser refuses names such as `__proto__`.
  const copy: { [name: string]: unknown } = {};
  for (const name in value) {
    const child = value[name];
    const isBlank = name === '#text' && typeof child === 'string' && child.trim() === '';
    if (!isBlank) copy[name] = removeLayout(child);
  }
  return copy;
}

const toList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value == null ? [] : [value];
const trim = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);
const toUpper = (value: unknown): unknown =>
  typeof value === 'string' ? value.trim().toUpperCase() : undefined;

/**
 * A cheap check before parsing: no document type, no unclosed markup, at most {@link MAX_DEPTH} levels, and one root
 * element.
 */
function checkMarkup(text: string): void {
  let depth = 0;
  let hasRootEnded = false;
  let end = 0;
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', end)) {
    if (depth === 0 && text.slice(end, at).trim() !== '') break;
    if (text.startsWith('<!--', at)) end = findEnd(text, '-->', at + 4);
    else if (text.startsWith('<![CDATA[', at)) end = findEnd(text, ']]>', at + 9);
    else if (text.startsWith('<?', at)) end = findEnd(text, '?>', at + 2);
    else if (text.startsWith('<!', at))
      throw new InvalidResponseError('the response declares a document type');
    else {
      end = findTagEnd(text, at + 1);
      if (text.startsWith('</', at)) depth -= 1;
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

function findEnd(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  if (found === -1) throw new InvalidResponseError('the response is not well-formed XML');
  return found + mark.length;
}

/** The index after a tag's closing `>`. Ignores any `>` in quoted attribute values. */
function findTagEnd(text: string, from: number): number {
  let end = findEnd(text, '>', from);
  let quote = findOpenQuote(text, from, end - 1, '');
  while (quote !== '') {
    const next = findEnd(text, '>', end);
    quote = findOpenQuote(text, end - 1, next - 1, quote);
    end = next;
  }
  return end;
}

function findOpenQuote(text: string, from: number, to: number, open: string): string {
  let quote = open;
  for (let at = from; at < to; at += 1) {
    const character = text[at] ?? '';
    if (quote === '' && (character === '"' || character === "'")) quote = character;
    else if (character === quote) quote = '';
  }
  return quote;
}
