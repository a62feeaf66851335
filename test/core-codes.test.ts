import { describe, expect, test } from 'vitest';
import {
  type Exemptions,
  findInFiles,
  LOG_AND_ERROR_CALLS,
  listFiles,
  listNodes,
  listTextsWithWords,
} from './support/sentences.ts';

/*
 * The core returns codes; user-visible texts are in the views of `slack`. Texts for the log and for thrown
 * errors are fine.
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
 * Files that need texts: stored texts, which views must not change; a product ID; the tasks' rows and their
 * names; fragments of the service's responses; the names of the starting rules; the labels of WHOIS responses, which
 * are only parsed; a zone's profile, which quotes the service's document.
 */
const FILES_WITH_TEXTS: ReadonlySet<string> = new Set([
  'expiry/calendar.ts',
  'orders/tasks.ts',
  'policy/rule-text.ts',
  'policy/starting-points.ts',
  'registry/whois/zones.ts',
  'service/redact.ts',
  'zones/rest.ts',
]);

/** Log-only reasons: an untrusted database, an invalid response, fields that aren't sent. */
const LOG_REASONS =
  /^(another database,|the heartbeat|no bot was|the server|a redirect,|contradicts itself:|responded with|has nothing) /;

/** The service client's names of activities, and its findings about responses: parts of error messages. */
const FOR_THE_LOG: Exemptions = {
  calls: LOG_AND_ERROR_CALLS,
  properties: /^(?:activity|describeActivity|name|unreadableReason|problem)$/,
};

function findSentences(source: string): string[] {
  return listTextsWithWords(4, source, FOR_THE_LOG).filter((text) => !LOG_REASONS.test(text));
}

/** Finds error messages that are used outside the log. */
function findMessages(source: string): string[] {
  return listNodes(source, FOR_THE_LOG)
    .filter(({ type }) => type === 'MemberExpression')
    .map(({ start, end }) => source.slice(start, end))
    .filter((text) => /\b(?:cause|err|error|refusal)\.message$/.test(text));
}

describe('finding sentences', () => {
  test.each([
    ["const A = 'Only the requester can confirm this.';", 1],
    ['function f() { return `Use at most 3 characters.`; }', 1],
    ["const TIE = 'the parent user’s email';", 1],
    ["const QUOTE = /'/; const A = 'Only the requester can confirm this.';", 1],
    ["// 'This is a comment of the code.'\nconst a = 'a_code';", 0],
    ["deps.log.warn({ err, at: now() }, 'extending the lease of an order');", 0],
    ['throw new Error(`changing the order: it kept changing`);', 0],
    ["const task = { describeActivity: () => 'starting the owner change of a name' };", 0],
    ["throw serviceError('not_sent', activity, 'it was given up before that');", 0],
  ])('in %j finds %i', (source, count) => {
    expect(findSentences(source)).toHaveLength(count);
  });
});

test('error messages outside the log are found', () => {
  expect(findMessages("const refusal = { code: 'not_sendable', issue: error.message };")).toHaveLength(1);
  expect(
    findMessages("log.warn({ message: error.message }, 'asking'); throw new Error(error.message);"),
  ).toEqual([]);
});

test.each(FOLDERS)('%s has no user-visible sentence', (folder) => {
  const files = listFiles(folder);
  expect(files.length).toBeGreaterThan(3);
  expect(
    findInFiles(
      files.filter((file) => !FILES_WITH_TEXTS.has(file)),
      findSentences,
    ),
  ).toEqual([]);
});

test.each(FOLDERS)('%s uses error messages only in the log', (folder) => {
  expect(findInFiles(listFiles(folder), findMessages)).toEqual([]);
});
