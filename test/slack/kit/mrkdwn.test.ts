import { mentionsIn } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import {
  code,
  count,
  escapeExceptCode,
  escapeText,
  formatLocalTime,
  mention,
  mentionApprover,
  quote,
  removeMarkup,
  truncate,
  truncateMarkup,
} from '../../../src/slack/kit/mrkdwn.ts';
import fc from '../../support/properties.ts';

const nasty = fc
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

it('plain text keeps other people’s special characters, and drops our markup', () => {
  expect(removeMarkup(`*${escapeText('Renew *.rest')}*: \`2\` names`)).toBe('Renew *.rest: 2 names');
  expect(removeMarkup('*☕.com (xn--53h.com)* is on the list')).toBe('☕.com (xn--53h.com) is on the list');
  expect(removeMarkup(':warning: ✅ *☕.com* is done')).toBe('☕.com is done');
});

describe('somebody’s words', () => {
  it('contain no mentions and no markup, however they are quoted', () => {
    fc.assert(
      fc.property(nasty, (words) => {
        for (const said of [escapeText(words), quote(words), code(words), escapeExceptCode(words)]) {
          expect(mentionsIn(said, [])).toEqual([]);
          expect(said).not.toMatch(/[<>\u202e]/);
          expect(mentionsIn(removeMarkup(said), [])).toEqual([]);
          expect(removeMarkup(said)).not.toMatch(/@(here|channel|everyone)/);
        }
        expect(code(words).slice(1, -1)).not.toContain('`');
      }),
    );
  });

  it('are truncated at a limit, but not within a character, entity or mention', () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 2, max: 40 }), (words, limit) => {
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

  it('are on one line in a quotation', () => {
    expect(quote(' a\n  b\tc ')).toBe('a b c');
  });
});

describe('our own texts', () => {
  it('mention people and groups, and nothing else', () => {
    expect(mention('U0ALICE')).toBe('<@U0ALICE>');
    expect(mention('system')).toBe('the bot');
    expect(mention('U0A> <!channel')).toBe('the bot');
    expect(mentionApprover('S0APPROVERS')).toBe('<!subteam^S0APPROVERS>');
  });

  it('keep the code style of quotations', () => {
    expect(escapeExceptCode('Link <it> with `/domain link`.')).toBe('Link &lt;it&gt; with `/domain link`.');
  });

  it('have plurals, and times in the reader’s time zone', () => {
    expect([count(1, 'name'), count(2, 'name'), count(0, 'name')]).toEqual(['1 name', '2 names', '0 names']);
    expect(formatLocalTime(new Date('2026-11-21T10:00:30Z'))).toBe(
      '<!date^1795255230^{date_short_pretty} {time}|2026-11-21 10:00 UTC>',
    );
  });
});
