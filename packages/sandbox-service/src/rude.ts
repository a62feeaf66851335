import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Answer } from './answer.ts';
import type { RequestInterface } from './faults.ts';
import { RECORD_TRANSFORMS } from './record-forms.ts';

/*
 * Responses like those of real services and registries: correct, but in undocumented forms. The form depends only on
 * the seed, the interface, the path and the number of earlier requests for the path.
 */

/** Without a seed, responses have the documented form. */
export interface Rudeness {
  seed: number | undefined;
}

export interface RudeAnswer extends Omit<Answer, 'body'> {
  readonly body: Uint8Array;
}

const CONTENT_CODINGS = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const;
/** A JavaScript number can't represent this integer exactly. */
const UNSAFE_INTEGER = '12345678901234567890';

/** Returns a generator of numbers in [0, 1). The same seed and subject always give the same sequence. */
export function createSeededRandom(seed: number, subject: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${seed} ${subject} ${count}`).digest().readUInt32BE(0) / 2 ** 32;
  };
}

export function applyRudeness(
  answer: Answer,
  interfaceName: RequestInterface | 'unknown',
  {
    seed,
    path,
    earlierRequestCount,
  }: { readonly seed: number; readonly path: string; readonly earlierRequestCount: number },
): RudeAnswer {
  const random = createSeededRandom(seed, `${interfaceName} ${path} ${earlierRequestCount}`);
  const flipCoin = () => random() < 0.5;
  let body = answer.body;
  let encoding: BufferEncoding = 'utf8';
  const headers: Record<string, string> = { ...answer.headers };
  if (interfaceName === 'xml' && flipCoin() && isLatin1(body)) {
    encoding = 'latin1';
    body = body.replace('encoding="UTF-8"', 'encoding="windows-1252"');
    headers['content-type'] = 'text/xml';
  }
  if (interfaceName === 'json' && flipCoin()) body = addUndocumentedMembers(body);
  if (interfaceName === 'rdap' && flipCoin()) body = reformatDates(body);
  // A registry always sends a name's record in the same form.
  if (interfaceName === 'rdap' && /\/domain\//.test(path))
    body = changeRecordForm(body, createSeededRandom(seed, path)());
  const bytes = Buffer.from(body, encoding);
  const [coding, compress] = CONTENT_CODINGS[Math.floor(random() * CONTENT_CODINGS.length * 2)] ?? [];
  if (coding === undefined || compress === undefined) return { ...answer, headers, body: bytes };
  return { ...answer, headers: { ...headers, 'content-encoding': coding }, body: compress(bytes) };
}

/** Whether the text has the same bytes in ISO 8859-1 and windows-1252. */
function isLatin1(text: string): boolean {
  return /^[\n\r\t\u0020-\u007e\u00a0-\u00ff]*$/.test(text);
}

function addUndocumentedMembers(body: string): string {
  return body.replace(/^\{(?=")/, `{"serial":${UNSAFE_INTEGER},"links":[null,{"rel":"self"}],"node":"",`);
}

function changeRecordForm(body: string, randomNumber: number): string {
  const record: unknown = JSON.parse(body);
  if (typeof record !== 'object' || record === null || !('objectClassName' in record)) return body;
  const transform = RECORD_TRANSFORMS[Math.floor(randomNumber * RECORD_TRANSFORMS.length)];
  return transform === undefined ? body : JSON.stringify(transform({ ...record }));
}

/** Writes dates with a lower-case `t` and the offset `+0000`. */
function reformatDates(body: string): string {
  return body.replace(/"(\d{4}-\d\d-\d\d)T([\d:.]+)Z"/g, '"$1t$2+0000"');
}
