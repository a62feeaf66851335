import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/*
 * The core speaks in codes: sentences that people read stand in the views.
 */

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** What is stored as words and read years later, whatever the views say by then. */
const STORED: ReadonlySet<string> = new Set(['expiry/evidence.ts']);

/** Texts in quotes or backticks, on one line. */
const TEXT = /'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\\n]|\\.)*)`/g;
/** A capital and several words; what people type; quotes that only sentences have. */
const SENTENCE = /^\p{Lu}\p{Ll}* \S+ \S|\/domain\b|[“”’]/u;

function sentencesOf(file: string): string[] {
  const code = readFileSync(join(SRC, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
  return [...code.matchAll(TEXT)]
    .map(([, plain, template]) => plain ?? template ?? '')
    .filter((text) => SENTENCE.test(text));
}

test.each(['accounts', 'expiry'])('%s holds no sentence', (folder) => {
  const files = readdirSync(join(SRC, folder)).map((name) => `${folder}/${name}`);
  expect(files.length).toBeGreaterThan(3);
  const found = files
    .filter((file) => !STORED.has(file))
    .flatMap((file) => sentencesOf(file).map((text) => `${file}: ${text}`));
  expect(found).toEqual([]);
});

test('a sentence is told from what is none', () => {
  expect(sentencesOf('slack/views/link.ts').length).toBeGreaterThan(4);
  expect(sentencesOf('expiry/evidence.ts')).toContain('No registration of the name was seen.');
});
