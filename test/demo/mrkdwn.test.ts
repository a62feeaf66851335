import { expect, test } from 'vitest';
import {
  type Inline,
  isLinkableUrl,
  parseInline,
  parseMrkdwn,
} from '../../packages/slack-workspace/page/mrkdwn.ts';
import { code, escapeText, formatLocalTime, mention } from '../../src/slack/kit/blocks.ts';
import fc from '../support/properties.ts';

/** The tree in a short form: `b(…)` for bold, `code(…)`, `@U1` and so on. */
function format(list: readonly Inline[]): string {
  return list
    .map((piece) => {
      switch (piece.kind) {
        case 'text':
          return piece.text;
        case 'bold':
        case 'italic':
        case 'strike':
          return `${piece.kind.charAt(0)}(${format(piece.children)})`;
        case 'code':
          return `code(${piece.text})`;
        case 'emoji':
          return piece.character;
        case 'link':
          return `link(${piece.url}, ${piece.text})`;
        case 'broadcast':
          return `!${piece.range}`;
        case 'date':
          return `date(${piece.at}, ${piece.format}, ${piece.fallback})`;
        default:
          return `${piece.kind}(${piece.id}${piece.label === undefined ? '' : `, ${piece.label}`})`;
      }
    })
    .join('');
}
const inline = (text: string): string => format(parseInline(text));

test.each([
  ['*bold* _italic_ ~gone~', 'b(bold) i(italic) s(gone)'],
  ['*_both_*', 'b(i(both))'],
  ['2 * 3 * 4 and snake_case_name', '2 * 3 * 4 and snake_case_name'],
  ['*open and* closed*late', 'b(open and) closed*late'],
  ['*over\nlines*', '*over\nlines*'],
  ['`a *b* <@U1>` *c*', 'code(a *b* <@U1>) b(c)'],
  ['*`/domain renew`*', 'b(code(/domain renew))'],
  ['<@U0BOB> and <@U0BOB|bob> in <#C1|domains>', 'user(U0BOB) and user(U0BOB, bob) in channel(C1, domains)'],
  ['<!subteam^S1|@approvers> <!here> <!channel>', 'usergroup(S1, @approvers) !here !channel'],
  ['<https://a.example/x_y_z?a=1&amp;b=2|the *page*>', 'link(https://a.example/x_y_z?a=1&b=2, the *page*)'],
  ['<!date^1790000000^{date_short} {time}|then>', 'date(1790000000, {date_short} {time}, then)'],
  [':white_check_mark: :no_such_emoji: 10:30:00', '✅ :no_such_emoji: 10:30:00'],
  ['&lt;b&gt; &amp;amp;', '<b> &amp;'],
  ['see https://a.example/b, then', 'see link(https://a.example/b, https://a.example/b), then'],
])('the parser reads %s', (text, tree) => {
  expect(inline(text)).toBe(tree);
});

test('addresses in verbatim blocks aren’t linked', () => {
  expect(format(parseInline('https://a.example', { verbatim: true }))).toBe('https://a.example');
});

test.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', ' javascript:x', '//a.example'])(
  'the address %s isn’t linked',
  (url) => {
    expect(isLinkableUrl(url)).toBe(false);
    expect(parseInline(`<${url}|click>`).every(({ kind }) => kind === 'text')).toBe(true);
  },
);

test('quotes, code blocks and lines are parsed separately', () => {
  const blocks = parseMrkdwn('first\nline\n&gt; said *so*\n&gt; twice\nafter\n```\n*as* <it> is\n```\nend');
  expect(
    blocks.map((each) => [each.kind, each.kind === 'preformatted' ? each.text : format(each.children)]),
  ).toEqual([
    ['lines', 'first\nline'],
    ['quote', 'said b(so)\ntwice'],
    ['lines', 'after'],
    ['preformatted', '*as* <it> is'],
    ['lines', 'end'],
  ]);
});

test('escaped text is shown as it was typed, without markup', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom('*', '_', '~', '`', '<', '>', '&', '@', '!', 'a', 'here', ' ', ':x:'),
      }),
      (typed) => {
        const pieces = parseInline(escapeText(typed));
        expect(pieces.filter(({ kind }) => kind !== 'text' && kind !== 'emoji')).toEqual([]);
        const visible = pieces
          .map((piece) => (piece.kind === 'emoji' ? ':x:' : 'text' in piece ? piece.text : ''))
          .join('');
        expect(visible.replaceAll('\u2060', '')).toBe(typed);
      },
    ),
  );
});

test('the markup of the bot’s kit is parsed', () => {
  expect(inline(code('a`b<c>&'))).toBe('code(aˋb<c>&)');
  expect(inline(mention('U0BOB'))).toBe('user(U0BOB)');
  const at = new Date('2026-07-29T10:04:00Z');
  expect(inline(formatLocalTime(at))).toBe(
    `date(${at.getTime() / 1_000}, {date_short_pretty} {time}, 2026-07-29 10:04 UTC)`,
  );
});
