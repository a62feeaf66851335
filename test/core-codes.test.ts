import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

/*
 * The core speaks in codes: what people read stands in the views of `slack`. Words for the log and for errors that are thrown
 * stay where they are.
 */

const SRC = fileURLToPath(new URL('../src', import.meta.url));
const FOLDERS = ['accounts', 'expiry', 'money', 'names', 'orders', 'policy', 'rdap', 'service', 'zones'];

/**
 * What is stored as words, and read whatever the views say by then; a product id; the rows of tasks with their words; the
 * words that answers of the service are made of; the names of rules that people start with; a zone's profile, which
 * quotes the service's document.
 */
const WORDS_BELONG_HERE: ReadonlySet<string> = new Set([
  'expiry/calendar.ts',
  'orders/tasks.ts',
  'policy/rule-text.ts',
  'policy/starting-points.ts',
  'service/redact.ts',
  'zones/rest.ts',
]);

/** Why a database is not trusted, an answer not believed, and a task's fields not sent: for the log alone. */
const REASONS_FOR_THE_LOG =
  /^(another database,|its heartbeat|nobody was at work|the server|a redirect,|contradicts itself,|answered with|has nothing) /;

/** `log.warn(…)`, `new StoreError(…)`, `serviceError(…)` and its like. */
const CALLS_FOR_THE_LOG = /^(?:(?:\w+\.)*log\.\w+|\w*Error|failure|super|compareAndSwap)$/;
/**
 * What the service's client calls its activities, and what it found wrong with an answer: parts of messages of errors.
 */
const PROPERTIES_FOR_THE_LOG = /^(?:activity|name|unreadable|what)$/;

const node = z.looseObject({ type: z.string(), start: z.number(), end: z.number() });
const call = node.extend({ callee: node });
const property = node.extend({ key: node });
type Node = z.output<typeof node>;

/** Whether a call or a property only words something for the log. */
function isForTheLog(source: string, at: Node): boolean {
  const isText = (part: Node, pattern: RegExp) => pattern.test(source.slice(part.start, part.end));
  if (at.type === 'Property') return isText(property.parse(at).key, PROPERTIES_FOR_THE_LOG);
  if (at.type !== 'CallExpression' && at.type !== 'NewExpression') return false;
  return isText(call.parse(at).callee, CALLS_FOR_THE_LOG);
}

/** All parts of a source but those that only word something for the log. */
function spokenNodes(source: string): Node[] {
  const found: Node[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    const at = node.safeParse(value).data;
    if (at === undefined || isForTheLog(source, at)) return;
    found.push(at);
    Object.values(at).forEach(walk);
  };
  walk(parseAst(source, { lang: 'ts' }));
  return found;
}

/** Literals of four or more words. */
function sentencesIn(source: string): string[] {
  return spokenNodes(source)
    .filter(({ type }) => type === 'Literal' || type === 'TemplateLiteral')
    .map(({ start, end }) => source.slice(start, end))
    .filter((text) => /^['"`]/.test(text))
    .map((text) => text.slice(1, -1))
    .filter((text) => text.split(/\s+/).filter((word) => /^[\p{P}]*\p{L}/u.test(word)).length >= 4)
    .filter((text) => !REASONS_FOR_THE_LOG.test(text));
}

/** Where the message of an error is used for something else than the log. */
function messagesIn(source: string): string[] {
  return spokenNodes(source)
    .filter(({ type }) => type === 'MemberExpression')
    .map(({ start, end }) => source.slice(start, end))
    .filter((text) => /\b(?:cause|err|error|refusal)\.message$/.test(text));
}

function filesIn(folder: string): string[] {
  return readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`);
}

/** What is found in the files of a folder, with the file's name before it. */
function findIn(files: readonly string[], find: (source: string) => readonly string[]): string[] {
  return files.flatMap((file) =>
    find(readFileSync(join(SRC, file), 'utf8')).map((text) => `${file}: ${text}`),
  );
}

describe('a sentence is found', () => {
  test.each([
    ["const A = 'Only the person who asked can confirm.';", 1],
    ['function f() { return `Use at most 3 characters.`; }', 1],
    ["const TIE = 'the superior user’s e-mail';", 1],
    ["const QUOTE = /'/; const A = 'Only the person who asked can confirm.';", 1],
    ["// 'This is a comment of the code.'\nconst a = 'a_code';", 0],
    ["deps.log.warn({ err, at: now() }, 'extending the lease of an order');", 0],
    ['throw new Error(`changing the order: others kept changing it`);', 0],
    ["const task = { activity: () => 'starting the owner change of a name' };", 0],
    ["throw serviceError('not_sent', activity, 'it was given up before that');", 0],
  ])('%s: %i', (source, count) => {
    expect(sentencesIn(source)).toHaveLength(count);
  });
});

test('a message of an error that people are told is found', () => {
  expect(messagesIn("const refusal = { code: 'not_sendable', issue: error.message };")).toHaveLength(1);
  expect(
    messagesIn("log.warn({ message: error.message }, 'asking'); throw new Error(error.message);"),
  ).toEqual([]);
});

test.each(FOLDERS)('%s holds no sentence for people', (folder) => {
  const files = filesIn(folder);
  expect(files.length).toBeGreaterThan(3);
  expect(
    findIn(
      files.filter((file) => !WORDS_BELONG_HERE.has(file)),
      sentencesIn,
    ),
  ).toEqual([]);
});

test.each(FOLDERS)('%s hands on no message of an error', (folder) => {
  expect(findIn(filesIn(folder), messagesIn)).toEqual([]);
});
