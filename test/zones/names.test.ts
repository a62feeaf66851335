import { domainToASCII } from 'node:url';
import { describe, expect, test } from 'vitest';
import { formatZoneIssue } from '../../src/slack/names/zone-issue.view.ts';
import { formatDomainName, parseDomainName } from '../../src/zones/names.ts';
import fc, { runs } from '../support/properties.ts';

function parseToAscii(text: string): string {
  const parsed = parseDomainName(text);
  if (!parsed.ok) throw new Error(`${JSON.stringify(text)} is refused: ${parsed.issue.code}`);
  return parsed.value.ascii;
}

function formatIssue(text: string): string {
  const parsed = parseDomainName(text);
  if (parsed.ok) throw new Error(`${JSON.stringify(text)} is accepted as ${parsed.value.ascii}`);
  return formatZoneIssue(parsed.issue);
}

describe('parsing a domain name', () => {
  test.each([
    ['cafe.rest', 'cafe.rest'],
    ['  Cafe.REST \n', 'cafe.rest'],
    ['cafe.rest.', 'cafe.rest'],
    ['http://cafe.rest', 'cafe.rest'],
    ['https://cafe.rest:8443/menu?day=1#top', 'cafe.rest'],
    ['<http://cafe.rest|cafe.rest>', 'cafe.rest'],
    ['<http://cafe.rest>', 'cafe.rest'],
    ['<https://xn--mnchen-3ya.rest/|münchen.rest>', 'xn--mnchen-3ya.rest'],
    ['<http://m%C3%BCnchen.rest|münchen.rest>', 'xn--mnchen-3ya.rest'],
    ['münchen.rest', 'xn--mnchen-3ya.rest'],
    ['MÜNCHEN.rest', 'xn--mnchen-3ya.rest'],
    ['mu\u0308nchen.rest', 'xn--mnchen-3ya.rest'],
    ['straße.rest', 'xn--strae-oqa.rest'],
    ['XN--MNCHEN-3YA.rest', 'xn--mnchen-3ya.rest'],
    ['日本語。jp', 'xn--wgv71a119e.jp'],
    ['shop.example.co.uk', 'shop.example.co.uk'],
    // Invisible: zero-width, word joiner, byte order mark, soft hyphen, direction marks, no-break spaces.
    ['ca\u200bfe.rest', 'cafe.rest'],
    ['\ufeffcafe.rest\u2060', 'cafe.rest'],
    ['ca\u00adfe.rest\u200f', 'cafe.rest'],
    ['\u00a0cafe.rest\u202f', 'cafe.rest'],
    ['ca\u200dfe\u200c.rest', 'cafe.rest'],
    ['<http://cafe.rest|ca\u200bfe.rest>', 'cafe.rest'],
    // A joiner between Persian letters is part of the name.
    ['نامه\u200cای.com', 'xn--mgba3gch31f060k.com'],
    // In zones without a profile, only the rules of DNS apply.
    ['☕.com', 'xn--53h.com'],
    ['☕\ufe0f.com', 'xn--53h.com'],
    ['xn--53h.com', 'xn--53h.com'],
    ['xn--a.com', 'xn--a.com'],
    ['xn---3oth.com', 'xn---3oth.com'],
    ['I❤NY.example', 'xn--iny-4r6a.example'],
    [`${'a'.repeat(63)}.rest`, `${'a'.repeat(63)}.rest`],
    ['a.rest', 'a.rest'],
    ['1a-2.rest', '1a-2.rest'],
  ])('normalizes %j to %s', (text, ascii) => {
    expect(parseToAscii(text)).toBe(ascii);
  });

  test.each([
    ['', 'Enter a name'],
    [' . ', 'Enter a name'],
    ['cafe', 'for example cafe.rest'],
    ['a..rest', 'two dots in a row'],
    ['.rest', 'two dots in a row, or starts with a dot'],
    ['-cafe.rest', 'starts or ends with a hyphen'],
    ['cafe-.rest', 'starts or ends with a hyphen'],
    ['my_cafe.rest', 'contains an underscore'],
    ['my cafe.rest', 'contains a space'],
    ['cafe.rest/menu', 'contains “/”'],
    ['a%2erest.rest', 'contains “%”'],
    ['anna@cafe.rest', 'email address'],
    ['<mailto:anna@cafe.rest|anna@cafe.rest>', 'email address'],
    ['<http://evil.rest|cafe.rest>', 'The link shows cafe.rest but leads to evil.rest'],
    [`${'a'.repeat(64)}.rest`, 'has 64 characters. Use at most 63'],
    [`${'ü'.repeat(60)}.rest`, 'characters in its xn-- form'],
    [`${'abcdefghi.'.repeat(25)}rest`, 'has 254 characters. Use at most 253'],
    ['192.0.2.1', 'IP address'],
    ['0x7f.1', 'IP address'],
    ['１９２.0.2.１', 'IP address'],
    ['😀.rest', 'isn’t a letter or digit'],
    ['×.rest', 'isn’t a letter or digit'],
    ['xn--a.rest', 'letters that domain names can’t have'],
    ['xn--cafe-.rest', 'starts or ends with a hyphen'],
    ['xn--ls8h.rest', 'isn’t a letter or digit'],
    ['cafe.rest\u202e', 'invisible character'],
    ['ca\u0000fe.rest', 'invisible character'],
  ])('refuses %j: %s', (text, expectedText) => {
    expect(formatIssue(text)).toContain(expectedText);
  });

  test('refuses a second xn-- form of the same letters', () => {
    expect(parseToAscii('嵶嵲.rest')).toBe('xn--3oth.rest');
    expect(formatIssue('xn---3oth.rest')).toContain('isn’t a valid xn-- form');
  });

  test('quotes long text truncated and without invisible characters', () => {
    const issueText = formatIssue(`<script>\u200b\u202e${'x'.repeat(5000)}`);
    expect(issueText.length).toBeLessThan(200);
    expect(issueText).not.toMatch(/[\u200b\u202e]/);
  });

  test('returns the last label as the zone', () => {
    const parsed = parseDomainName('example.co.uk');
    expect(parsed).toEqual({
      ok: true,
      value: { ascii: 'example.co.uk', unicode: 'example.co.uk', zone: 'uk' },
    });
  });

  test('returns only names that are valid by RFC 1123 and parse to themselves', () => {
    const label = fc.string({ unit: fc.constantFrom(...'abzAZ09-éüßñλя日ا·_ .@/%<>|\u200b😀') });
    const text = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    const anyInput = fc.oneof(text, fc.webUrl(), fc.domain(), fc.string({ unit: 'grapheme' }), fc.ipV6());
    fc.assert(
      fc.property(anyInput, (input) => {
        const parsed = parseDomainName(input);
        if (!parsed.ok) {
          expect(formatZoneIssue(parsed.issue)).toMatch(/[.]$/);
          return;
        }
        const { ascii, unicode } = parsed.value;
        expect(ascii.length).toBeLessThanOrEqual(253);
        for (const part of ascii.split('.')) expect(part).toMatch(/^(?!-)[a-z0-9-]{1,63}(?<!-)$/);
        expect(parseToAscii(ascii)).toBe(ascii);
        expect(parseToAscii(unicode)).toBe(ascii);
        if (unicode !== ascii) expect(domainToASCII(unicode)).toBe(ascii);
      }),
      { numRuns: runs(1000) },
    );
  });
});

test('a name is formatted in both forms if they differ', () => {
  expect(formatDomainName('cafe.rest')).toBe('cafe.rest');
  expect(formatDomainName('xn--mnchen-3ya.rest')).toBe('münchen.rest (xn--mnchen-3ya.rest)');
  expect(formatDomainName('xn--a.rest')).toBe('xn--a.rest');
});

test('a nameserver can be in any zone, and must be a valid name', () => {
  expect(parseDomainName(' NS1.Example.NET. ')).toEqual({
    ok: true,
    value: { ascii: 'ns1.example.net', unicode: 'ns1.example.net', zone: 'net' },
  });
  expect(parseDomainName('192.0.2.53')).toMatchObject({ ok: false });
  expect(parseDomainName('2001:db8::1')).toMatchObject({ ok: false });
});
