import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParseResult, parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, test } from 'vitest';

/*
 * Documents, comments and messages use plain English. Each pattern matches a habit of literal translation.
 * Together they match about 1 line in 5,000 of the comments and documents in node_modules.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const PATTERNS: readonly RegExp[] = [
  // A clause as the subject: “What costs money waits.” Write the noun: “Paid tasks wait.” Questions are fine.
  /^(?:What|Who|Whose) (?!else\b|kind\b|about\b)(?:\S+ ){3,}\S+[^?]$/,
  /[;:] (?:what|who) (?:is|was|has|had|are|were|may|can|must)\b.* (?:is|was|has|are|may|can|must|stays?|waits?)\b[^?]*$/,
  /\b(?:whoever|somebody|anybody|anew|thereof)\b/i,
  /\b(?:by now|at this moment|that which|told of|in the place of)\b|\bhears? of\b/i,
  /\bas (?:it|they|things) stands?\b|\bstands? (?:in|on|there|beside|at|for it|for them)\b/i,
  /\bof (?:which|whom)\b|\b(?:in|of|with|to|for|by) whose\b/i,
  /\blet(?:s|ting)? go\b|\b(?:becomes?|became|makes?) of (?:it|an?|the)\b/i,
  // People are notified; names are checked or looked up.
  /\b(?:is|are|was|were|be) (?:told(?! apart)|looked at)\b/i,
];

function flag(sentences: readonly string[]): string[] {
  return sentences.filter((sentence) => PATTERNS.some((pattern) => pattern.test(sentence)));
}

function splitSentences(text: string): string[] {
  return text
    .replace(/`[^`]*`/g, 'X')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/[*_[\]]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(?<=[.!?;:]) (?=[A-Z“])/);
}

/** Removes the column “not”, which shows texts to avoid. */
function dropExamplesToAvoid(table: string): string {
  const rows = table
    .trim()
    .split('\n')
    .map((row) => row.split('|'));
  const avoid = rows[0]?.findIndex((cell) => cell.trim() === 'not') ?? -1;
  return rows.map((row) => row.filter((_cell, column) => column !== avoid).join('\n\n')).join('\n\n');
}

/** Reads paragraphs, list items and table cells, without headings and code. */
function readDocument(markdown: string): string[] {
  return markdown
    .replace(/^( *)```[\s\S]*?^ *```$|^#.*$/gm, '')
    .replace(/(?:^\|.*\n)+/gm, (table) => `\n\n${dropExamplesToAvoid(table)}\n\n`)
    .replace(/^ *(?:[-*>]|\d+\.) /gm, '\n\n')
    .split(/\n\s*\n/)
    .flatMap(splitSentences);
}

/** Joins line comments on consecutive lines into one paragraph. */
function joinComments(source: string, comments: ParseResult['comments']): string[] {
  const paragraphs: string[] = [];
  let lineEnd = -1;
  for (const { type, value, start, end } of comments) {
    const text = type === 'Block' ? value.replace(/^\s*\* ?/gm, '') : value.trim();
    const isContinued = type === 'Line' && lineEnd >= 0 && /^\n[ \t]*$/.test(source.slice(lineEnd, start));
    paragraphs.push(isContinued ? `${paragraphs.pop()}\n${text}` : text);
    lineEnd = type === 'Line' ? end : -1;
  }
  return paragraphs;
}

/** Reads comments, and strings of several words. */
function readSource(source: string, file = 'source.ts'): string[] {
  const { program, comments } = parseSync(file, source);
  const texts: string[] = [];
  const read = (text: string) => /\w \w+ \w/.test(text) && texts.push(text);
  new Visitor({
    Literal: ({ value }) => void (typeof value === 'string' && read(value)),
    JSXText: ({ value }) => void read(value),
    TemplateLiteral: ({ quasis }) => void read(quasis.map(({ value }) => value.raw).join('X')),
  }).visit(program);
  return [...joinComments(source, comments), ...texts]
    .flatMap((text) => text.split(/\n\s*\n|\n\s*- |\n\s*@/))
    .flatMap(splitSentences);
}

/** Reads comments. */
function readSchema(source: string): string[] {
  return [...source.matchAll(/(?:\/\/.*(?:\n[ \t]*)?)+/g)]
    .map(([comment]) => comment.replace(/^\s*\/{2,} ?/gm, ''))
    .flatMap(splitSentences);
}

function listFiles(folder: string, ending: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !/(?:^|\/)(?:generated|dist|node_modules|migrations)\//.test(name))
    .map((name) => join(folder, name))
    .sort();
}

function listMatches(file: string, read: (text: string, file: string) => string[]): string[] {
  return flag(read(readFileSync(join(ROOT, file), 'utf8'), file)).map((sentence) => `${file}: ${sentence}`);
}

describe('the patterns find', () => {
  test.each([
    'What waits for approval is shown on the card.',
    'The card is closed; what is left is shown below.',
    'Whoever asks sees the result.',
    'The plan is made anew.',
    'Approvers are told at once.',
    'The rule, of which there are two, stands in the table.',
  ])('%s', (sentence) => expect(flag([sentence])).toHaveLength(1));
});

describe('the patterns accept', () => {
  test.each([
    'What happens if the service is down?',
    'The card shows who approved and what was sent.',
    'The audit log has each decision: what was sent, who approved it.',
    'Approvers are notified at once.',
    'The two can be told apart.',
    'Let it lapse.',
  ])('%s', (sentence) => expect(flag([sentence])).toEqual([]));
});

test('paragraphs, lists, tables, comments and strings are read, but no code', () => {
  const page =
    '# Whoever\n\nTold\nof.\n\n- `anew` it\n\n| write | not |\n| --- | --- |\n| Whoever | anew |\n';
  expect(flag(readDocument(page))).toEqual(['Told of.', 'Whoever']);
  const code = "// By\n// now.\n/** Anew. */\nconst anew = ['anew', /`/, `is told twice`];\n";
  expect(flag(readSource(code))).toEqual(['By now.', 'Anew.', 'is told twice']);
});

const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  ...['docs', '.github', 'deploy'].flatMap((folder) => listFiles(folder, /\.md$/)),
  ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/README.md`),
].map((file) => [file, listMatches(file, readDocument)] as const);

/** Without this file, which has examples of matches. */
const SOURCES = ['src', 'test', 'packages', 'demo', 'bench', 'scripts', 'prisma']
  .flatMap((folder) => listFiles(folder, /\.(?:tsx?|mjs|prisma)$/))
  .filter((file) => file !== 'test/voice.test.ts');

/** The first two folders of a path, such as `src/orders`. */
function getFolder(file: string): string {
  return file.split('/').slice(0, -1).slice(0, 2).join('/');
}

const FOLDERS = [...new Set(SOURCES.map(getFolder))].map((folder) => {
  const files = SOURCES.filter((file) => getFolder(file) === folder);
  const read = (file: string) => (file.endsWith('.prisma') ? readSchema : readSource);
  return [folder, files.flatMap((file) => listMatches(file, read(file)))] as const;
});

test.each([...DOCUMENTS, ...FOLDERS])('%s has no matches', (_name, matches) => expect(matches).toEqual([]));
