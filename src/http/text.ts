import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';

/**
 * Decodes XML in any encoding that `TextDecoder` supports. The encoding is taken from the byte order mark, the content
 * type's `charset` or the XML declaration, in this order (RFC 7303, section 3).
 * @returns undefined for unknown encodings
 */
export function decodeXmlBody(body: Buffer, contentType: string | undefined): string | undefined {
  const head = body.toString('latin1', 0, 200);
  const declaredEncoding = /^<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1];
  return decodeText(body, [parseCharset(contentType), declaredEncoding]);
}

/** JSON is UTF-8 (RFC 8259, section 8.1). A `charset` is used only if the bytes aren't valid UTF-8. */
export function decodeJsonBody(body: Buffer, contentType: string | undefined): string | undefined {
  return decodeText(body, [isUtf8(body) ? undefined : parseCharset(contentType)]);
}

function parseCharset(contentType: string | undefined): string | undefined {
  return /;\s*charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType ?? '')?.[1];
}

function decodeText(body: Buffer, charsets: readonly (string | undefined)[]): string | undefined {
  const detectedEncoding = detectByteOrderMark(body) ?? detectUtf16(body);
  // UTF-16 would have been detected above, so a `charset` of UTF-16 is wrong.
  const usableCharsets = charsets.filter((name) => name !== undefined && !/^utf-?16$/i.test(name));
  const encodings = detectedEncoding === undefined ? usableCharsets : [detectedEncoding];
  if (encodings.length === 0) return decodeAs('utf-8', body);
  for (const encoding of encodings) {
    const text = decodeAs(encoding, body);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Bytes 0x80 to 0x9f in windows-1252. Some versions of Node decode them as ISO 8859-1 (nodejs/node#56542). */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

function decodeAs(encoding: string | undefined, body: Buffer): string | undefined {
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(encoding);
  } catch {
    return undefined;
  }
  const text = decoder.decode(body);
  if (decoder.encoding !== 'windows-1252') return text;
  return text.replace(/[\x80-\x9f]/g, (control) => WINDOWS_1252[control.charCodeAt(0) - 0x80] ?? control);
}

function detectByteOrderMark([first, second, third]: Buffer): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

/**
 * Detects UTF-16 without a byte order mark. This works because XML and JSON start with an ASCII character (XML 1.0,
 * appendix F.1; RFC 4627, section 3).
 */
function detectUtf16([first, second]: Buffer): string | undefined {
  if (first === undefined || second === undefined || (first === 0) === (second === 0)) return undefined;
  return second === 0 ? 'utf-16le' : 'utf-16be';
}

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON. Numbers that JavaScript would print differently, such as `9007199254740993` and `12.10`, become strings
 * with the original digits.
 * @throws {SyntaxError} with a message that may quote the text
 */
export function parseJson(text: string): unknown {
  JSON.parse(text);
  return JSON.parse(
    text.replace(STRING_OR_NUMBER, (token) => (survivesRoundTrip(token) ? token : `"${token}"`)),
  );
}

function survivesRoundTrip(token: string): boolean {
  return token.startsWith('"') || String(Number(token)) === token;
}
