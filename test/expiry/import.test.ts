import { describe, expect, test } from 'vitest';
import { MAX_IMPORT_LINES, parseExpiryDate, parseImport } from '../../src/expiry/import.ts';
import type { ZoneIssue } from '../../src/zones/zone-issue.ts';
import fc, { runs } from '../support/properties.ts';

const first = new Date('2027-03-01T00:00:00Z');

describe('a pasted list', () => {
  test.each([
    ['names alone', 'cafe.rest\nbar.rest\n'],
    ['other line ends', 'cafe.rest\r\nbar.rest\r'],
    ['a byte order mark, empty lines, comments', '\ufeff\n  cafe.rest  \n\n# ours\nbar.rest.\n'],
    ['capitals and web addresses', 'CAFE.rest\nhttps://bar.rest/menu'],
    ['links as Slack makes them', '<http://cafe.rest|cafe.rest>\n<http://bar.rest|bar.rest>'],
    ['a header of one column', 'Domain\ncafe.rest\nbar.rest'],
    ['empty dates', 'cafe.rest,\nbar.rest;'],
  ])('with %s', (_case, text) => {
    expect(parseImport(text)).toEqual({
      accepted: [{ name: 'cafe.rest' }, { name: 'bar.rest' }],
      rejected: [],
      duplicates: [],
    });
  });

  test.each([
    ['a comma', 'cafe.rest,2027-03-01'],
    ['a comma and a blank', 'cafe.rest, 2027-03-01'],
    ['a semicolon', 'cafe.rest;2027-03-01'],
    ['a tab', 'cafe.rest\t2027-03-01'],
    ['blanks', 'cafe.rest   2027-03-01'],
    ['quotes', '"cafe.rest","2027-03-01"'],
    ['quotes and blanks', '"cafe.rest" "2027-03-01"'],
    ['a header', 'name,expires\ncafe.rest,2027-03-01'],
    ['a header in another order', 'Expiry Date;Registrar;Domain Name\n2027-03-01;"Smith; Sons";cafe.rest'],
    ['a day first', 'cafe.rest;01.03.2027'],
    ['a timestamp after a blank', 'cafe.rest 2027-03-01 00:00:00'],
    ['a Slack link', '<http://cafe.rest|cafe.rest>, 2027-03-01'],
  ])('with a date after %s', (_case, text) => {
    expect(parseImport(text)).toEqual({
      accepted: [{ name: 'cafe.rest', expiresAt: first }],
      rejected: [],
      duplicates: [],
    });
  });

  test('tells each line that it did not take, and why', () => {
    const text = [
      'cafe.rest, 2027-03-01',
      'cafe',
      'www.cafe.rest',
      'bar.rest, 01/03/2027',
      'bar.rest, 2027-02-30',
      'bar.rest, active',
      'bar.rest, "2027',
      '日本.rest',
      `${'x'.repeat(300)}!`,
    ].join('\n');
    const { accepted, rejected } = parseImport(text);
    expect(accepted).toEqual([{ name: 'cafe.rest', expiresAt: first }]);
    const invalidName = (issue: Partial<ZoneIssue>) => ({
      code: 'invalid_name',
      issue: expect.objectContaining(issue),
    });
    expect(rejected.map(({ line, issue }) => [line, issue])).toEqual([
      [2, invalidName({ code: 'no_ending' })],
      [3, invalidName({ code: 'below_registered_name', registered: 'cafe.rest' })],
      [4, { code: 'ambiguous_date', text: '01/03/2027' }],
      [5, { code: 'no_such_day', text: '2027-02-30' }],
      [6, { code: 'not_a_date', text: 'active' }],
      [7, { code: 'open_quote' }],
      [8, invalidName({ code: 'letters_not_in_zone' })],
      [9, invalidName({ code: 'character_not_allowed', character: '!' })],
    ]);
    for (const { text: shown } of rejected) expect(shown.length).toBeLessThanOrEqual(81);
  });

  test('takes a name once; a repetition may add the date, and may not contradict it', () => {
    const { accepted, rejected, duplicates } = parseImport(
      'cafe.rest\nbar.rest,2027-03-01\nCafe.rest,2027-03-01\ncafe.rest\nbar.rest,2027-03-01\nbar.rest,2028-03-01',
    );
    expect(accepted).toEqual([
      { name: 'cafe.rest', expiresAt: first },
      { name: 'bar.rest', expiresAt: first },
    ]);
    expect(duplicates).toEqual([
      { line: 4, name: 'cafe.rest' },
      { line: 5, name: 'bar.rest' },
    ]);
    expect(rejected).toEqual([{ line: 6, text: 'bar.rest,2028-03-01', issue: { code: 'other_date' } }]);
  });

  test('a header is one on the first line only', () => {
    const { rejected } = parseImport('cafe.rest\ndomain,expires');
    expect(rejected).toHaveLength(1);
  });

  test('of 50,000 lines is read in one go, the rest is named', () => {
    const lines = Array.from({ length: MAX_IMPORT_LINES + 3 }, (_, index) => `n${index}.rest,2027-03-01`);
    const { accepted, rejected } = parseImport(lines.join('\n'));
    expect(accepted).toHaveLength(MAX_IMPORT_LINES);
    expect(rejected).toEqual([
      { line: 50_001, text: '', issue: { code: 'too_many_lines', limit: MAX_IMPORT_LINES } },
    ]);
  });

  test('every line with content is accounted for, whatever it holds', () => {
    const cell = fc.oneof(
      fc.constantFrom('cafe.rest', 'bar.rest', '2027-03-01', 'domain', '"', '""'),
      fc.string(),
    );
    const line = fc
      .array(cell, { maxLength: 4 })
      .chain((cells) => fc.constantFrom(',', ';', '\t', ' ').map((by) => cells.join(by)));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 10 }), (lines) => {
        // A first line that is certainly no header.
        const all = ['first.rest', ...lines.map((content) => content.replace(/[\r\n]/g, ' '))];
        const { accepted, rejected, duplicates } = parseImport(all.join('\n'));
        const counted = all.filter(
          (content) => content.trim() !== '' && !content.trim().startsWith('#'),
        ).length;
        const told = accepted.length + rejected.length + duplicates.length;
        expect(told).toBeLessThanOrEqual(counted);
        // A repetition that adds a date is told by the name that it completes.
        expect(told).toBeGreaterThanOrEqual(counted - accepted.filter(({ expiresAt }) => expiresAt).length);
        expect(new Set(accepted.map(({ name }) => name)).size).toBe(accepted.length);
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('a date', () => {
  test.each([
    ['2027-03-01', '2027-03-01T00:00:00.000Z'],
    ['1.3.2027', '2027-03-01T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2027-03-01T12:30:00Z', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01T12:30:00.123Z', '2027-03-01T12:30:00.123Z'],
    ['2027-03-01 12:30', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01 12:30:00 UTC', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01T00:30:00+0100', '2027-02-28T23:30:00.000Z'],
  ])('%s is %s', (text, moment) => {
    expect(parseExpiryDate(text)).toEqual({ ok: true, value: new Date(moment) });
  });

  test.each([
    ['01/03/2027', 'ambiguous_date'],
    ['2027/03/01', 'ambiguous_date'],
    ['01-03-2027', 'ambiguous_date'],
    ['1.3.27', 'ambiguous_date'],
    ['2027-02-29', 'no_such_day'],
    ['31.04.2027', 'no_such_day'],
    ['2027-13-01', 'no_such_day'],
    ['2027-03-01T25:00:00Z', 'no_such_time'],
    ['0027-03-01', 'unlikely_year'],
    ['9999-12-31', 'unlikely_year'],
    ['tomorrow', 'not_a_date'],
    ['', 'not_a_date'],
  ])('%j is refused: %s', (text, code) => {
    expect(parseExpiryDate(text)).toEqual({ ok: false, issue: { code, text } });
  });
});
