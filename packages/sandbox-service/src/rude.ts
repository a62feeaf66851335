import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Answer } from './answer.ts';
import type { RequestInterface } from './faults.ts';

/*
 * Answers as services and registries in the field give them: right, and in a form that nobody documented. Each answer is
 * changed in ways that follow from the numbers alone.
 */

/** An answer as bytes. */
export interface RudeAnswer extends Omit<Answer, 'body'> {
  readonly body: Uint8Array;
}

const CODINGS = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const;

/** @param random numbers from 0 to below 1 */
export function rudely(answer: Answer, via: RequestInterface | 'unknown', random: () => number): RudeAnswer {
  const isLikely = () => random() < 0.5;
  let body = answer.body;
  let encoding: BufferEncoding = 'utf8';
  const headers: Record<string, string> = { ...answer.headers };
  if (via === 'xml' && isLikely() && isLatin(body)) {
    encoding = 'latin1';
    body = body.replace('encoding="UTF-8"', 'encoding="windows-1252"');
    headers['content-type'] = 'text/xml';
  }
  if (via === 'rdap' && isLikely()) body = otherSpelling(body);
  const bytes = Buffer.from(body, encoding);
  const [coding, compress] = CODINGS[Math.floor(random() * CODINGS.length * 2)] ?? [];
  if (coding === undefined || compress === undefined) return { ...answer, headers, body: bytes };
  return { ...answer, headers: { ...headers, 'content-encoding': coding }, body: compress(bytes) };
}

/** The same bytes in ISO 8859-1 and windows-1252. */
function isLatin(text: string): boolean {
  return /^[\n\r\t\u0020-\u007e\u00a0-\u00ff]*$/.test(text);
}

/** Statuses as in EPP, and dates in small letters with an offset without a colon. */
function otherSpelling(body: string): string {
  return body
    .replace(/"(\d{4}-\d\d-\d\d)T([\d:.]+)Z"/g, '"$1t$2+0000"')
    .replace(
      /"status":\[([^\]]*)\]/,
      (_, statuses: string) =>
        `"status":[${statuses.replace(/ (\w)/g, (_all, letter: string) => letter.toUpperCase())}]`,
    );
}
