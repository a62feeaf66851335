import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

/*
 * The core speaks in codes: what people read stands in `slack/views`. Words for the log and for errors that are thrown
 * stay where they are.
 */

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** What is stored as words, and read whatever the views say by then; a product id; the rows of tasks with their words. */
const WORDS_BELONG_HERE: ReadonlySet<string> = new Set([
  'expiry/calendar.ts',
  'expiry/evidence.ts',
  'expiry/refresh.ts',
  'orders/tasks.ts',
]);

/** Why a database is not trusted: for the log alone. */
const REASONS_FOR_THE_LOG = /^(another database,|its heartbeat|nobody was at work|the server) /;

/** Where the parenthesis closes that opens before a place in a text. */
function closingAfter(text: string, start: number): number {
  let depth = 1;
  let at = start;
  for (; at < text.length && depth > 0; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
  }
  return at;
}

/** A source without comments, and without what it logs and throws. */
function spoken(source: string): string {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\s\/\/ .*$/gm, '');
  let kept = '';
  let rest = 0;
  for (const call of code.matchAll(/\blog\.\w+\(|\bnew \w*Error\(|\bsuper\(/g)) {
    if (call.index < rest) continue;
    kept += code.slice(rest, call.index);
    rest = closingAfter(code, call.index + call[0].length);
  }
  return kept + code.slice(rest);
}

/** Literals of four or more words. */
function sentencesIn(source: string): string[] {
  return [...spoken(source).matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, plain, template]) => plain ?? template ?? '')
    .filter((text) => text.split(/\s+/).filter((word) => /^[\p{P}]*\p{L}/u.test(word)).length >= 4)
    .filter((text) => !REASONS_FOR_THE_LOG.test(text));
}

describe('a sentence is found', () => {
  test.each([
    ["const A = 'Only the person who asked can confirm.';", 1],
    ['return `Use at most $max characters.`;', 1],
    ["const TIE = 'the superior user’s e-mail';", 1],
    ["// 'This is a comment of the code.'\nconst a = 'a_code';", 0],
    ["deps.log.warn({ err, at: now() }, 'extending the lease of an order');", 0],
    ['throw new Error(`changing the order: others kept changing it`);', 0],
  ])('%s: %i', (source, count) => {
    expect(sentencesIn(source)).toHaveLength(count);
  });
});

test.each(['accounts', 'expiry', 'orders'])('%s holds no sentence for people', (folder) => {
  const files = readdirSync(join(SRC, folder)).map((name) => `${folder}/${name}`);
  expect(files.length).toBeGreaterThan(3);
  const found = files
    .filter((file) => !WORDS_BELONG_HERE.has(file))
    .flatMap((file) => sentencesIn(readFileSync(join(SRC, file), 'utf8')).map((text) => `${file}: ${text}`));
  expect(found).toEqual([]);
});
