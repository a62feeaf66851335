import { type X2jOptions, XMLParser, XMLValidator } from 'fast-xml-parser';
import { decodeXmlBody } from '../../http/text.ts';
import { readEnvelope } from '../envelope.ts';
import { isRecord } from '../record.ts';
import { assertSize, MAX_DEPTH } from '../redact.ts';
import { Secret } from '../secret.ts';
import { InvalidInputError, InvalidResponseError } from './codec-errors.ts';
import type { Decoded } from './json.ts';
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

/** Not allowed in XML 1.0, section 2.2, including lone surrogates. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

const ESCAPES = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&apos;'],
  // A parser would turn a carriage return into a line feed.
  ['\r', '&#13;'],
]);

function escapeText(name: string, content: string | number | boolean | Secret): string {
  const text = content instanceof Secret ? content.reveal() : String(content);
  if (NOT_XML.test(text)) {
    throw new InvalidInputError(`"${name}" holds a character that XML cannot carry`, {
      code: 'not_xml_character',
      field: name,
    });
  }
  return text.replace(/[&<>"'\r]/g, (character) => ESCAPES.get(character) ?? character);
}

/** Elements that are always lists. */
const LISTS = new Set(['msg', 'object', 'domain_prereg', 'nserver']);

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
  isArray: (name) => LISTS.has(name),
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

/** Decodes references that the library doesn't, such as `&#38;`. Unknown entities stay. */
function decodeReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]+));/gi, (whole, hex, decimal, name) => {
    if (typeof name === 'string') return ENTITIES.get(name) ?? whole;
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal);
    if (code > 0x10ffff) return whole;
    const character = String.fromCodePoint(code);
    return NOT_XML.test(character) ? whole : character;
  });
}

/**
 * @throws InvalidResponseError when too large, malformed, with a document type, nested too deeply, or without an
 * envelope.
 */
export function decodeXml(body: Buffer, contentType?: string | undefined): Decoded {
  assertSize(body);
  const text = decodeXmlBody(body, contentType);
  if (text === undefined) throw new InvalidResponseError('the answer is in an encoding that cannot be read');
  checkMarkup(text);
  // The parser accepts truncated and mismatched documents.
  if (XMLValidator.validate(text) !== true)
    throw new InvalidResponseError('the answer is not well-formed XML');
  let parsed: unknown;
  try {
    parsed = withoutLayout(new XMLParser(OPTIONS).parse(text));
  } catch {
    // The parser's own message may quote the response.
    throw new InvalidResponseError('the answer is not XML that can be read');
  }
  const response = isRecord(parsed) ? parsed['response'] : undefined;
  const result = isRecord(response) ? response['result'] : undefined;
  if (!isRecord(response) || !isRecord(result))
    throw new InvalidResponseError('the answer has no response with a result');
  return {
    envelope: { ...readEnvelope(toJsonShape(response, result)), received: response },
    text,
    // References, sections, comments and instructions split text.
    opaque: /&|<!|.<\?/s.test(text),
  };
}

type Node = Readonly<Record<string, unknown>>;

/** Elements of `response` and `result` with a place in the envelope; others are data. */
const PLACED = new Set(['result', 'stid', 'data', 'status', 'object', 'msg']);

/** Renames and moves elements into the shape of the JSON envelope. */
function toJsonShape(response: Node, result: Node): unknown {
  const status = isRecord(result['status']) ? result['status'] : {};
  const { leaves, records, summary } = readData([result['data'], unplaced(result), unplaced(response)]);
  return {
    stid: response['stid'] ?? result['stid'],
    status: { code: trimmed(status['code']), text: trimmed(status['text']), type: upper(status['type']) },
    object: [
      ...asList(status['object']).filter(isRecord).map(reference),
      ...asList(result['object']).filter(isRecord).map(reference),
      ...(summary === undefined ? [] : [{ summary }]),
      ...(leaves === undefined ? [] : [{ data: leaves }]),
    ],
    messages: asList(result['msg'])
      .filter(isRecord)
      .map((message) => ({
        code: trimmed(message['code']),
        text: message['text'],
        status: upper(message['type']),
        objects: asList(message['object']).filter(isRecord).map(reference),
      })),
    data: records,
  };
}

const reference = (object: Node): Node => ({ type: trimmed(object['type']), value: object['value'] });

function unplaced(element: Node): Node {
  return Object.fromEntries(Object.entries(element).filter(([name]) => !PLACED.has(name)));
}

/** Elements with children are records; single values describe the response's object. */
function readData(places: readonly unknown[]): {
  leaves?: Node;
  records: readonly unknown[];
  summary?: string;
} {
  const leaves: [string, unknown][] = [];
  const records: unknown[] = [];
  let summary: string | undefined;
  for (const [name, value] of places.filter(isRecord).flatMap((place) => Object.entries(place))) {
    if (name === '#text') continue;
    if (name === 'summary' && typeof value === 'string') summary = value;
    else if (typeof value === 'string') leaves.push([name, value]);
    else records.push(...asList(value));
  }
  return {
    records,
    ...(leaves.length === 0 ? {} : { leaves: Object.fromEntries(leaves) }),
    ...(summary === undefined || summary.trim() === '' ? {} : { summary }),
  };
}

/** Removes white space from layout, also around values on their own line. */
function withoutLayout(value: unknown): unknown {
  if (typeof value === 'string') return /^\s*\n|\n\s*$/.test(value) ? value.trim() : value;
  if (Array.isArray(value)) return value.map(withoutLayout);
  if (!isRecord(value)) return value;
  // The parser refuses names such as `__proto__`.
  const copy: { [name: string]: unknown } = {};
  for (const name in value) {
    const inside = value[name];
    const blank = name === '#text' && typeof inside === 'string' && inside.trim() === '';
    if (!blank) copy[name] = withoutLayout(inside);
  }
  return copy;
}

const asList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value == null ? [] : [value];
const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);
const upper = (value: unknown): unknown =>
  typeof value === 'string' ? value.trim().toUpperCase() : undefined;

/**
 * A cheap check before parsing: no document type, no unclosed markup, at most {@link MAX_DEPTH} levels, one root
 * element.
 */
function checkMarkup(text: string): void {
  let depth = 0;
  let rootEnded = false;
  let end = 0;
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', end)) {
    if (depth === 0 && text.slice(end, at).trim() !== '') break;
    if (text.startsWith('<!--', at)) end = after(text, '-->', at + 4);
    else if (text.startsWith('<![CDATA[', at)) end = after(text, ']]>', at + 9);
    else if (text.startsWith('<?', at)) end = after(text, '?>', at + 2);
    else if (text.startsWith('<!', at)) throw new InvalidResponseError('the answer declares a document type');
    else {
      end = tagEnd(text, at + 1);
      if (text.startsWith('</', at)) depth -= 1;
      else {
        if (rootEnded) throw new InvalidResponseError('the answer has more than one root element');
        if (!text.startsWith('/>', end - 2)) depth += 1;
        if (depth > MAX_DEPTH)
          throw new InvalidResponseError(`the answer is nested deeper than ${MAX_DEPTH} levels`);
      }
      rootEnded = depth === 0;
    }
  }
  if (depth !== 0 || !rootEnded || text.slice(end).trim() !== '') {
    throw new InvalidResponseError(
      text.trim() === '' ? 'the answer is empty' : 'the answer is not well-formed XML',
    );
  }
}

function after(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  if (found === -1) throw new InvalidResponseError('the answer is not well-formed XML');
  return found + mark.length;
}

/** The index after a tag's closing `>`, ignoring those in quoted attribute values. */
function tagEnd(text: string, from: number): number {
  let end = after(text, '>', from);
  let quote = openQuote(text, from, end - 1, '');
  while (quote !== '') {
    const next = after(text, '>', end);
    quote = openQuote(text, end - 1, next - 1, quote);
    end = next;
  }
  return end;
}

function openQuote(text: string, from: number, to: number, open: string): string {
  let quote = open;
  for (let at = from; at < to; at += 1) {
    const character = text[at] ?? '';
    if (quote === '' && (character === '"' || character === "'")) quote = character;
    else if (character === quote) quote = '';
  }
  return quote;
}
