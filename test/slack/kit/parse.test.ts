import { describe, expect, it } from 'vitest';
import { findNearest, parseCommandLine, suggestCommandLine } from '../../../src/slack/kit/parse.ts';
import fc from '../../support/properties.ts';

describe('a command line', () => {
  it.each([
    ['', { subcommand: '', words: [], reason: undefined }],
    ['  RENEW cafe.rest 2 ', { subcommand: 'renew', words: ['cafe.rest', '2'], reason: undefined }],
    ['renew cafe.rest -- client paid', { subcommand: 'renew', words: ['cafe.rest'], reason: 'client paid' }],
    [
      'renew cafe.rest — client -- paid',
      { subcommand: 'renew', words: ['cafe.rest'], reason: 'client -- paid' },
    ],
    ['renew “cafe.rest” "2" -- “paid”', { subcommand: 'renew', words: ['cafe.rest', '2'], reason: '“paid”' }],
    ['renew cafe.rest --', { subcommand: 'renew', words: ['cafe.rest'], reason: undefined }],
    ['renew a--b.rest', { subcommand: 'renew', words: ['a--b.rest'], reason: undefined }],
    ['renew\u00a0cafe.rest', { subcommand: 'renew', words: ['cafe.rest'], reason: undefined }],
    [
      '\u200bre\u2060new\u202f\ufeffcafe\u00ad.rest\u200e',
      { subcommand: 'renew', words: ['cafe.rest'], reason: undefined },
    ],
    ['rules a&amp;b -- 1 &lt; 2', { subcommand: 'rules', words: ['a&b'], reason: '1 < 2' }],
    // Slack turns names, addresses and people into tokens, and escapes typed ones.
    [
      'renew <http://cafe.rest|cafe.rest> 2 -- see <https://a.example/b?c&amp;d> or <mailto:x@a.example|x@a.example>',
      {
        subcommand: 'renew',
        words: ['cafe.rest', '2'],
        reason: 'see https://a.example/b?c&d or x@a.example',
      },
    ],
    [
      'away 2w <@U0CAROL|carol> -- ask <@U0CAROL|carol>, <@U0BOB> in <#C0DOMAINS|domains> <!subteam^S0A|@all>',
      {
        subcommand: 'away',
        words: ['2w', '<@U0CAROL>'],
        reason: 'ask @carol, @U0BOB in #domains @all',
      },
    ],
    ['renew x -- &lt;@U0CAROL|carol&gt;', { subcommand: 'renew', words: ['x'], reason: '<@U0CAROL|carol>' }],
    ['renew x -- a\u0000\nb', { subcommand: 'renew', words: ['x'], reason: 'a b' }],
  ])('is parsed: %j', (text, line) => {
    expect(parseCommandLine(text)).toEqual(line);
  });

  it('has no empty words and a limited reason for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (text) => {
        const { words, reason } = parseCommandLine(`renew ${text} -- ${text}`);
        expect(words.every((word) => word !== '' && !/\s/.test(word))).toBe(true);
        expect(reason?.length ?? 0).toBeLessThanOrEqual(1_000);
      }),
    );
  });
});

it.each([
  ['renwe', 'renew'],
  ['setting', 'settings'],
  ['owner', 'owner-change'],
  ['zzzzzzzz', undefined],
  ['x'.repeat(500), undefined],
])('the subcommand nearest to %j is %j', (word, expected) => {
  expect(findNearest(word, ['renew', 'restore', 'settings', 'owner-change', 'help'])).toBe(expected);
});

it.each([
  ['renw cafe.rest', 'renew'],
  ['cafe.rest', 'name cafe.rest'],
  ['Cafe.rest Renew 2', 'renew cafe.rest'],
  ['zzzzzzzz', undefined],
  ['...', undefined],
])('the suggestion for the line %j is %j', (line, expected) => {
  expect(suggestCommandLine(parseCommandLine(line), ['renew', 'name'])).toBe(expected);
});
