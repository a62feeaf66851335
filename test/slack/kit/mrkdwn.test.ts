import { findMentions } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import {
  code,
  escapeExceptCode,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  mention,
  mentionApprover,
  removeMarkup,
  truncate,
  truncateMarkup,
} from '../../../src/slack/kit/mrkdwn.ts';
import fc from '../../support/properties.ts';

const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '<!channel>',
        '<@U0EVE>',
        '@here',
        '&',
        '<',
        '>',
        '`',
        '*',
        '_',
        '\u202e',
        '\n',
        '👩‍🚀',
      ),
      fc.string({ unit: 'grapheme', maxLength: 8 }),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(''));

it('removing markup keeps the special characters that people typed', () => {
  expect(removeMarkup(`*${escapeText('Renew *.rest')}*: \`2\` names`)).toBe('Renew *.rest: 2 names');
  expect(removeMarkup('*☕.com (xn--53h.com)* is on the list')).toBe('☕.com (xn--53h.com) is on the list');
  expect(removeMarkup(':warning: ✅ *☕.com* is done')).toBe('☕.com is done');
});

describe('text from people', () => {
  it('contains no mentions and no markup, however it is quoted', () => {
    fc.assert(
      fc.property(hostileText, (words) => {
        for (const escaped of [escapeText(words), escapeLine(words), code(words), escapeExceptCode(words)]) {
          expect(findMentions(escaped, [])).toEqual([]);
          expect(escaped).not.toMatch(/[<>\u202e]/);
          expect(findMentions(removeMarkup(escaped), [])).toEqual([]);
          expect(removeMarkup(escaped)).not.toMatch(/@(here|channel|everyone)/);
        }
        expect(code(words).slice(1, -1)).not.toContain('`');
      }),
    );
  });

  it('is truncated at a limit, but not within a character, entity or mention', () => {
    fc.assert(
      fc.property(hostileText, fc.integer({ min: 2, max: 40 }), (words, limit) => {
        const cut = truncate(words, limit);
        expect(cut.length).toBeLessThanOrEqual(limit);
        if (words.length <= limit) expect(cut).toBe(words);
        expect(cut).not.toMatch(/\p{Cs}/u);
        const markup = truncateMarkup(`${escapeText(words)}<@U0ALICE>${escapeText(words)}`, limit);
        expect(markup.length).toBeLessThanOrEqual(limit);
        expect(markup).not.toMatch(/&(?!amp;|lt;|gt;)|<(?!@U0ALICE>)/);
      }),
    );
  });

  it('is on one line in a quotation', () => {
    expect(escapeLine(' a\n  b\tc ')).toBe('a b c');
  });
});

describe('the bot’s own texts', () => {
  it('mention people and groups, and nothing else', () => {
    expect(mention('U0ALICE')).toBe('<@U0ALICE>');
    expect(mention('system')).toBe('the bot');
    expect(mention('U0A> <!channel')).toBe('the bot');
    expect(mentionApprover('S0APPROVERS')).toBe('<!subteam^S0APPROVERS>');
  });

  it('keep code formatting', () => {
    expect(escapeExceptCode('Link <it> with `/domain link`.')).toBe('Link &lt;it&gt; with `/domain link`.');
  });

  it('have plurals, and times in the reader’s time zone', () => {
    expect([formatCount(1, 'name'), formatCount(2, 'name'), formatCount(0, 'name')]).toEqual([
      '1 name',
      '2 names',
      '0 names',
    ]);
    expect(formatLocalTime(new Date('2026-11-21T10:00:30Z'))).toBe(
      '<!date^1795255230^{date_short_pretty} {time}|2026-11-21 10:00 UTC>',
    );
  });
});
