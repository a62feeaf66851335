import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { Refusal } from '../refusal.ts';

/** Reads and writes the API's XML, which has no attributes. Values are kept as strings, so `0502` stays `0502`. */

export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  /** The text directly inside the element, with entities decoded. */
  readonly text: string;
}

const TEXT = '#text';
const CDATA = '#cdata';
const ATTRIBUTES = ':@';
const MAX_DEPTH = 16;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  // Entities are decoded below, so that CDATA sections stay unchanged and unknown entities are refused.
  processEntities: false,
  cdataPropName: CDATA,
  maxNestedTags: MAX_DEPTH,
});

/** @throws {Refusal} 400 unless the text is a single well-formed element without attributes or a DOCTYPE */
export function parseXml(text: string): XmlElement {
  if (/<!DOCTYPE|<!ENTITY/i.test(text)) throw new Refusal('malformed', 'a DOCTYPE is not allowed');
  if (XMLValidator.validate(text) !== true) throw new Refusal('malformed', 'the body is not well-formed XML');
  let rootElements: readonly XmlElement[];
  try {
    rootElements = readNodes(parser.parse(text)).children;
  } catch (error) {
    // The parser's own message may contain the text, which may include a secret.
    throw error instanceof Refusal
      ? error
      : new Refusal('malformed', 'the body does not follow the documented XML format');
  }
  const [root] = rootElements;
  if (root === undefined || rootElements.length > 1)
    throw new Refusal('malformed', 'the body must have exactly one root element');
  return root;
}

/** Converts the parser's nodes: objects whose key is a tag name, `#text` or `#cdata`. */
function readNodes(nodes: unknown): { children: XmlElement[]; text: string } {
  const children: XmlElement[] = [];
  let text = '';
  for (const node of Array.isArray(nodes) ? nodes : []) {
    for (const [name, value] of Object.entries<unknown>(node)) {
      if (name === ATTRIBUTES) throw new Refusal('malformed', 'attributes are not allowed');
      if (name === TEXT) text += decodeEntities(String(value));
      else if (name === CDATA) text += readCdata(value);
      else children.push({ name, ...readNodes(value) });
    }
  }
  return { children, text };
}

function readCdata(value: unknown): string {
  const [textNode]: unknown[] = Array.isArray(value) ? value : [];
  return typeof textNode === 'object' && textNode !== null && TEXT in textNode ? String(textNode[TEXT]) : '';
}

const NAMED_ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

function decodeEntities(text: string): string {
  return text.replace(/&([^;]*);?/g, (reference, entityName: string) => {
    const numericMatch = /^#(?:x([0-9a-f]{1,6})|([0-9]{1,7}))$/i.exec(entityName);
    const codePoint =
      numericMatch === null
        ? undefined
        : Number.parseInt(numericMatch[1] ?? numericMatch[2] ?? '', numericMatch[1] ? 16 : 10);
    const character = codePoint === undefined ? NAMED_ENTITIES.get(entityName) : toXmlCharacter(codePoint);
    if (character === undefined || !reference.endsWith(';')) {
      throw new Refusal('malformed', 'an entity is unknown or is not a valid character');
    }
    return character;
  });
}

/** @returns the character if XML 1.0 allows it */
function toXmlCharacter(codePoint: number): string | undefined {
  if (codePoint > 0x10ffff) return undefined;
  const character = String.fromCodePoint(codePoint);
  return /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]$/u.test(character)
    ? character
    : undefined;
}

/** How often a child may occur. `many` includes zero. */
type Occurrence = 'one' | 'optional' | 'many';

/**
 * Checks the children of an element.
 * @returns a function that returns the children with a given name, in order
 * @throws {Refusal} 400 if a child is unknown, missing or repeated, or if there is text between the children
 */
export function readChildren<K extends string>(
  { name, children, text }: XmlElement,
  expected: Readonly<Record<K, Occurrence>>,
): (name: K) => readonly XmlElement[] {
  if (text.trim() !== '') throw new Refusal('malformed', `${name}: unexpected text between elements`);
  const unknownChild = children.find((child) => !Object.hasOwn(expected, child.name));
  if (unknownChild !== undefined)
    throw new Refusal('malformed', `${name}: unknown element ${unknownChild.name}`);
  for (const [childName, occurrence] of Object.entries<Occurrence>(expected)) {
    const count = children.filter((element) => element.name === childName).length;
    if (occurrence === 'one' && count === 0)
      throw new Refusal('malformed', `${name}: element ${childName} is missing`);
    if (occurrence !== 'many' && count > 1)
      throw new Refusal('malformed', `${name}: element ${childName} is given twice`);
  }
  return (childName) => children.filter((element) => element.name === childName);
}

/**
 * Checks that every child contains only text and occurs at most once.
 * @returns methods that return a child's text; `required` throws if the child is missing
 */
export function readTexts<K extends string>(
  element: XmlElement,
  names: readonly K[],
): { required(name: K): string; optional(name: K): string | undefined } {
  const expected = Object.fromEntries(names.map((name) => [name, 'optional' as const]));
  readChildren(element, expected);
  const texts = new Map(element.children.map((child) => [child.name, readText(child)]));
  return {
    optional: (name) => texts.get(name),
    required(name) {
      const text = texts.get(name);
      if (text === undefined) throw new Refusal('malformed', `${element.name}: element ${name} is missing`);
      return text;
    },
  };
}

/** @throws {Refusal} 400 if the element contains other elements */
export function readText(element: XmlElement): string {
  if (element.children.length > 0)
    throw new Refusal('malformed', `${element.name}: expected text, found elements`);
  return element.text;
}

/** Formats an element. All content that isn't an element is escaped as text. */
export function xmlElement(
  name: string,
  ...content: readonly (XmlMarkup | string | number | boolean)[]
): XmlMarkup {
  const innerMarkup = content
    .map((part) => (part instanceof XmlMarkup ? part.text : escapeXml(String(part))))
    .join('');
  return new XmlMarkup(`<${name}>${innerMarkup}</${name}>`);
}

export class XmlMarkup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
