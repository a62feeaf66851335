import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Answer } from './answer.ts';
import type { RequestInterface } from './faults.ts';
import { RECORD_FORMS } from './record-forms.ts';

/*
 * Answers as services and registries in the field give them: right, and in a form that nobody documented. The form follows
 * from the seed, the path and how often it was asked, whatever is asked at the same time.
 */

/** Which forms answers have: those of a seed, or the documented ones. */
export interface Rudeness {
  seed: number | undefined;
}

/** An answer as bytes. */
export interface RudeAnswer extends Omit<Answer, 'body'> {
  readonly body: Uint8Array;
}

const CODINGS = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const;
/** More digits than a double has. */
const LONG_NUMBER = '12345678901234567890';

/** Numbers from 0 to below 1 that are the same for the same seed and subject. */
export function numbersOf(seed: number, subject: string): () => number {
  let n = 0;
  return () => {
    n += 1;
    return createHash('sha256').update(`${seed} ${subject} ${n}`).digest().readUInt32BE(0) / 2 ** 32;
  };
}

/** @param asked how often this path was asked before */
export function rudely(
  answer: Answer,
  via: RequestInterface | 'unknown',
  { seed, path, asked }: { readonly seed: number; readonly path: string; readonly asked: number },
): RudeAnswer {
  const random = numbersOf(seed, `${via} ${path} ${asked}`);
  const isLikely = () => random() < 0.5;
  let body = answer.body;
  let encoding: BufferEncoding = 'utf8';
  const headers: Record<string, string> = { ...answer.headers };
  if (via === 'xml' && isLikely() && isLatin(body)) {
    encoding = 'latin1';
    body = body.replace('encoding="UTF-8"', 'encoding="windows-1252"');
    headers['content-type'] = 'text/xml';
  }
  if (via === 'json' && isLikely()) body = withMore(body);
  if (via === 'rdap' && isLikely()) body = otherSpelling(body);
  // A registry has one form for each name, however often it is asked.
  if (via === 'rdap' && /\/domain\//.test(path)) body = inForm(body, numbersOf(seed, path)());
  const bytes = Buffer.from(body, encoding);
  const [coding, compress] = CODINGS[Math.floor(random() * CODINGS.length * 2)] ?? [];
  if (coding === undefined || compress === undefined) return { ...answer, headers, body: bytes };
  return { ...answer, headers: { ...headers, 'content-encoding': coding }, body: compress(bytes) };
}

/** The same bytes in ISO 8859-1 and windows-1252. */
function isLatin(text: string): boolean {
  return /^[\n\r\t\u0020-\u007e\u00a0-\u00ff]*$/.test(text);
}

/** An object with members that no document has, one of them a number of many digits. */
function withMore(body: string): string {
  return body.replace(/^\{(?=")/, `{"serial":${LONG_NUMBER},"links":[null,{"rel":"self"}],"node":"",`);
}

function inForm(body: string, random: number): string {
  const record: unknown = JSON.parse(body);
  if (typeof record !== 'object' || record === null || !('objectClassName' in record)) return body;
  const change = RECORD_FORMS[Math.floor(random * RECORD_FORMS.length)];
  return change === undefined ? body : JSON.stringify(change({ ...record }));
}

/** Dates in small letters with an offset without a colon. */
function otherSpelling(body: string): string {
  return body.replace(/"(\d{4}-\d\d-\d\d)T([\d:.]+)Z"/g, '"$1t$2+0000"');
}
