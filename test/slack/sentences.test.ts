import { describe, expect, test } from 'vitest';
import {
  type Exemptions,
  findInFiles,
  LOG_AND_ERROR_CALLS,
  listFiles,
  listTextsWithWords,
} from '../support/sentences.ts';

/*
 * Texts for users are in views. Declarations of commands and forms may have their own: row texts, labels and
 * schema errors.
 */

/** Texts of declarations. `description` names a sent file; `consequenceIfMissing` is for the scopes in `doctor`. */
const DECLARATION_EXEMPTIONS: Exemptions = {
  calls: new RegExp(`${LOG_AND_ERROR_CALLS.source}|^(?:z\\s*\\.[^]*|\\w*(?:[fF]ields?|Schema)|\\w*Reason)$`),
  properties:
    /^(?:usage|summary|example|title|submit|label|hint|placeholder|options|choiceHint|xmlFeatures|description|consequenceIfMissing)$/,
};

function findSentences(source: string): string[] {
  return listTextsWithWords(3, source, DECLARATION_EXEMPTIONS);
}

describe('the check', () => {
  test.each([
    ["call.respond('Nothing was sent.');", 1],
    ['const result = { reply: `It was put back.` };', 1],
    ["const A = 'Only the requester can confirm.';", 1],
    ["const ROW = { usage: 'watch NAME [DAY]', summary: 'Put a name now' };", 0],
    ["const NAME = field({ label: 'The whole name', kind: 'text' }, z.string('Give the name.'));", 0],
    ["const DAYS = z\n  .string()\n  .regex(/a/, 'Give a whole number.');", 0],
    ["deps.log.warn({ err }, 'checking whether a person is an admin');", 0],
  ])('finds the sentences in %s: %i', (source, count) => {
    expect(findSentences(source)).toHaveLength(count);
  });
});

const FILES = listFiles('slack').filter((file) => !file.endsWith('.view.ts'));

test('only views contain sentences', () => {
  expect(FILES.length).toBeGreaterThan(80);
  expect(findInFiles(FILES, findSentences)).toEqual([]);
});
