import { describe, expect, test } from 'vitest';
import { CALLS_FOR_THE_LOG, type Exempt, filesIn, findIn, nodesIn, textsOf } from './support/sentences.ts';

/*
 * The core returns codes: user-visible texts are in the views of `slack`. Texts for the log and for thrown errors are
 * fine.
 */

const FOLDERS = [
  'accounts',
  'approvals',
  'expiry',
  'mandates',
  'money',
  'names',
  'orders',
  'policy',
  'registry',
  'service',
  'zones',
];

/**
 * Files with texts on purpose: stored texts, which views must not change; a product id; the tasks' rows and their
 * names; fragments of the service's responses; the names of the starting rules; the labels of WHOIS responses, which
 * are only parsed; a zone's profile, which quotes the service's document.
 */
const WORDS_BELONG_HERE: ReadonlySet<string> = new Set([
  'expiry/calendar.ts',
  'orders/tasks.ts',
  'policy/rule-text.ts',
  'policy/starting-points.ts',
  'registry/whois/zones.ts',
  'service/redact.ts',
  'zones/rest.ts',
]);

/** Why a database isn't trusted, a response isn't valid, and a task's fields aren't sent: only for the log. */
const REASONS_FOR_THE_LOG =
  /^(another database,|its heartbeat|no bot was|the server|a redirect,|contradicts itself,|responded with|has nothing) /;

/** The service client's names of activities, and its findings about responses: parts of error messages. */
const FOR_THE_LOG: Exempt = {
  calls: CALLS_FOR_THE_LOG,
  properties: /^(?:activity|name|unreadable|problem)$/,
};

function sentencesIn(source: string): string[] {
  return textsOf(4, source, FOR_THE_LOG).filter((text) => !REASONS_FOR_THE_LOG.test(text));
}

/** Error messages that are used for something other than the log. */
function messagesIn(source: string): string[] {
  return nodesIn(source, FOR_THE_LOG)
    .filter(({ type }) => type === 'MemberExpression')
    .map(({ start, end }) => source.slice(start, end))
    .filter((text) => /\b(?:cause|err|error|refusal)\.message$/.test(text));
}

describe('a sentence is found', () => {
  test.each([
    ["const A = 'Only the requester can confirm this.';", 1],
    ['function f() { return `Use at most 3 characters.`; }', 1],
    ["const TIE = 'the parent user’s email';", 1],
    ["const QUOTE = /'/; const A = 'Only the requester can confirm this.';", 1],
    ["// 'This is a comment of the code.'\nconst a = 'a_code';", 0],
    ["deps.log.warn({ err, at: now() }, 'extending the lease of an order');", 0],
    ['throw new Error(`changing the order: it kept changing`);', 0],
    ["const task = { activity: () => 'starting the owner change of a name' };", 0],
    ["throw serviceError('not_sent', activity, 'it was given up before that');", 0],
  ])('%s: %i', (source, count) => {
    expect(sentencesIn(source)).toHaveLength(count);
  });
});

test('an error message that is shown to people is found', () => {
  expect(messagesIn("const refusal = { code: 'not_sendable', issue: error.message };")).toHaveLength(1);
  expect(
    messagesIn("log.warn({ message: error.message }, 'asking'); throw new Error(error.message);"),
  ).toEqual([]);
});

test.each(FOLDERS)('%s has no user-visible sentence', (folder) => {
  const files = filesIn(folder);
  expect(files.length).toBeGreaterThan(3);
  expect(
    findIn(
      files.filter((file) => !WORDS_BELONG_HERE.has(file)),
      sentencesIn,
    ),
  ).toEqual([]);
});

test.each(FOLDERS)('%s passes on no error message', (folder) => {
  expect(findIn(filesIn(folder), messagesIn)).toEqual([]);
});
