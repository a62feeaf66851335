import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParseResult, parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, test } from 'vitest';

/*
 * Documents, comments and messages use plain English. Each pattern is a habit of literal translation that native writers
 * nearly never have. Together they match about 1 line in 5,000 of the comments and documents in node_modules.
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

function found(sentences: readonly string[]): string[] {
  return sentences.filter((sentence) => PATTERNS.some((pattern) => pattern.test(sentence)));
}

function sentencesOf(text: string): string[] {
  return text
    .replace(/`[^`]*`/g, 'X')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/[*_[\]]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(?<=[.!?;:]) (?=[A-Z“])/);
}

/** Tables that compare texts have a column “not”, which shows what to avoid. */
function dropExamplesToAvoid(table: string): string {
  const rows = table
    .trim()
    .split('\n')
    .map((row) => row.split('|'));
  const avoid = rows[0]?.findIndex((cell) => cell.trim() === 'not') ?? -1;
  return rows.map((row) => row.filter((_cell, column) => column !== avoid).join('\n\n')).join('\n\n');
}

/** Paragraphs, list items and table cells, without headings and code. */
function sentencesOfDocument(markdown: string): string[] {
  return markdown
    .replace(/^( *)```[\s\S]*?^ *```$|^#.*$/gm, '')
    .replace(/(?:^\|.*\n)+/gm, (table) => `\n\n${dropExamplesToAvoid(table)}\n\n`)
    .replace(/^ *(?:[-*>]|\d+\.) /gm, '\n\n')
    .split(/\n\s*\n/)
    .flatMap(sentencesOf);
}

/** Line comments on consecutive lines are one paragraph. */
function paragraphsOf(source: string, comments: ParseResult['comments']): string[] {
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

/** Comments, and texts of several words. */
function sentencesOfSource(source: string, file = 'source.ts'): string[] {
  const { program, comments } = parseSync(file, source);
  const texts: string[] = [];
  const read = (text: string) => /\w \w+ \w/.test(text) && texts.push(text);
  new Visitor({
    Literal: ({ value }) => void (typeof value === 'string' && read(value)),
    JSXText: ({ value }) => void read(value),
    TemplateLiteral: ({ quasis }) => void read(quasis.map(({ value }) => value.raw).join('X')),
  }).visit(program);
  return [...paragraphsOf(source, comments), ...texts]
    .flatMap((text) => text.split(/\n\s*\n|\n\s*- |\n\s*@/))
    .flatMap(sentencesOf);
}

/** The schema has comments only. */
function sentencesOfSchema(source: string): string[] {
  return [...source.matchAll(/(?:\/\/.*(?:\n[ \t]*)?)+/g)]
    .map(([comment]) => comment.replace(/^\s*\/{2,} ?/gm, ''))
    .flatMap(sentencesOf);
}

function filesIn(folder: string, ending: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !/(?:^|\/)(?:generated|dist|node_modules|migrations)\//.test(name))
    .map((name) => join(folder, name))
    .sort();
}

function matchesIn(file: string, read: (text: string, file: string) => string[]): string[] {
  return found(read(readFileSync(join(ROOT, file), 'utf8'), file)).map((sentence) => `${file}: ${sentence}`);
}

describe('finds', () => {
  test.each([
    'What waits for approval is shown on the card.',
    'The card is closed; what is left is shown below.',
    'Whoever asks sees the result.',
    'The plan is made anew.',
    'Approvers are told at once.',
    'The rule, of which there are two, stands in the table.',
  ])('%s', (sentence) => expect(found([sentence])).toHaveLength(1));
});

describe('accepts', () => {
  test.each([
    'What happens if the service is down?',
    'The card shows who approved and what was sent.',
    'The audit log has each decision: what was sent, who approved it.',
    'Approvers are notified at once.',
    'The two can be told apart.',
    'Let it lapse.',
  ])('%s', (sentence) => expect(found([sentence])).toEqual([]));
});

test('reads paragraphs, lists, tables, comments and texts, but no code', () => {
  const page =
    '# Whoever\n\nTold\nof.\n\n- `anew` it\n\n| write | not |\n| --- | --- |\n| Whoever | anew |\n';
  expect(found(sentencesOfDocument(page))).toEqual(['Told of.', 'Whoever']);
  const code = "// By\n// now.\n/** Anew. */\nconst anew = ['anew', /`/, `is told twice`];\n";
  expect(found(sentencesOfSource(code))).toEqual(['By now.', 'Anew.', 'is told twice']);
});

const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  ...['docs', '.github', 'deploy'].flatMap((folder) => filesIn(folder, /\.md$/)),
  ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/README.md`),
].map((file) => [file, matchesIn(file, sentencesOfDocument)] as const);

/** This file has examples of what it finds. */
const SOURCES = ['src', 'test', 'packages', 'demo', 'bench', 'scripts', 'prisma']
  .flatMap((folder) => filesIn(folder, /\.(?:tsx?|mjs|prisma)$/))
  .filter((file) => file !== 'test/voice.test.ts');

/** The first two folders of a path, such as `src/orders`. */
function folderOf(file: string): string {
  return file.split('/').slice(0, -1).slice(0, 2).join('/');
}

const FOLDERS = [...new Set(SOURCES.map(folderOf))].map((folder) => {
  const files = SOURCES.filter((file) => folderOf(file) === folder);
  const read = (file: string) => (file.endsWith('.prisma') ? sentencesOfSchema : sentencesOfSource);
  return [folder, files.flatMap((file) => matchesIn(file, read(file)))] as const;
});

test.each([...DOCUMENTS, ...FOLDERS])('%s has no matches', (_name, matches) => expect(matches).toEqual([]));
