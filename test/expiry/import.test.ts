import { describe, expect, test } from 'vitest';
import { MAX_IMPORT_LINES, parseNamesToWatch, parseWatchListImport } from '../../src/expiry/import.ts';
import { decodeFile } from '../../src/lib/csv.ts';
import { parseEnteredDate } from '../../src/lib/entered-date.ts';
import { importIssueText } from '../../src/slack/expiry/watch-list.view.ts';
import type { ZoneIssue } from '../../src/zones/zone-issue.ts';
import fc, { runs } from '../support/properties.ts';

const firstOfMarch = new Date('2027-03-01T00:00:00Z');

/** Throws if the whole list is refused. */
async function parseReport(text: string) {
  const report = await parseWatchListImport(text);
  if ('issue' in report) throw new Error(importIssueText(report.issue));
  return report;
}

async function parseIssue(text: string) {
  const report = await parseWatchListImport(text);
  return 'issue' in report ? report.issue : report;
}

describe('a pasted list', () => {
  test.each([
    ['names alone', 'cafe.rest\nbar.rest\n'],
    ['other line ends', 'cafe.rest\r\nbar.rest\r'],
    ['a byte order mark, empty lines, comments', '\ufeff\n  cafe.rest  \n\n# ours\nbar.rest.\n'],
    ['capitals and URLs', 'CAFE.rest\nhttps://bar.rest/menu'],
    ['links as Slack makes them', '<http://cafe.rest|cafe.rest>\n<http://bar.rest|bar.rest>'],
    ['a header of one column', 'Domain\ncafe.rest\nbar.rest'],
    ['empty dates', 'cafe.rest,\nbar.rest;'],
  ])('is read with %s', async (_case, text) => {
    expect(await parseReport(text)).toMatchObject({
      accepted: [{ name: 'cafe.rest' }, { name: 'bar.rest' }],
      rejected: [],
      duplicates: [],
    });
  });

  test.each([
    ['a comma', 'cafe.rest,2027-03-01'],
    ['a comma and a space', 'cafe.rest, 2027-03-01'],
    ['a semicolon', 'cafe.rest;2027-03-01'],
    ['a tab', 'cafe.rest\t2027-03-01'],
    ['spaces', 'cafe.rest   2027-03-01'],
    ['quotes', '"cafe.rest","2027-03-01"'],
    ['quotes and spaces', '"cafe.rest" "2027-03-01"'],
    ['a header', 'name,expires\ncafe.rest,2027-03-01'],
    ['a header in another order', 'Expiry Date;Registrar;Domain Name\n2027-03-01;"Smith; Sons";cafe.rest'],
    ['the day first', 'cafe.rest;01.03.2027'],
    ['a timestamp', 'cafe.rest 2027-03-01 00:00:00'],
    ['a Slack link', '<http://cafe.rest|cafe.rest>, 2027-03-01'],
  ])('is read with dates: %s', async (_case, text) => {
    expect(await parseReport(text)).toMatchObject({
      accepted: [{ name: 'cafe.rest', expiresAt: firstOfMarch }],
      rejected: [],
      duplicates: [],
    });
  });

  test('reports each line that it didn’t accept, with the reason', async () => {
    const text = [
      'cafe.rest, 2027-03-01',
      'cafe',
      'www.cafe.rest',
      'bar.rest, 01/03/2027',
      'bar.rest, 2027-02-30',
      'bar.rest, active',
      'bar.rest, "2027',
      '日本.rest',
      '"old1.de","2020-01-01 23:12:00","1029","Example Reseller"',
      `${'x'.repeat(300)}!`,
    ].join('\n');
    const { accepted, rejected } = await parseReport(text);
    expect(accepted).toEqual([{ name: 'cafe.rest', expiresAt: firstOfMarch }]);
    const invalidName = (issue: Partial<ZoneIssue>) => ({
      code: 'invalid_name',
      issue: expect.objectContaining(issue),
    });
    expect(rejected.map(({ line, issue }) => [line, issue])).toEqual([
      [2, invalidName({ code: 'no_ending' })],
      [3, invalidName({ code: 'subdomain', registered: 'cafe.rest' })],
      [4, { code: 'ambiguous_date', text: '01/03/2027' }],
      [5, { code: 'no_such_day', text: '2027-02-30' }],
      [6, { code: 'not_a_date', text: 'active' }],
      [7, { code: 'open_quote' }],
      [8, invalidName({ code: 'letters_not_in_zone' })],
      [9, { code: 'too_many_cells' }],
      [10, invalidName({ code: 'character_not_allowed', character: '!' })],
    ]);
    for (const { text: shown } of rejected) expect(shown.length).toBeLessThanOrEqual(81);
  });

  test('has each name once: a repetition can add a date, but not contradict it', async () => {
    const { accepted, rejected, duplicates } = await parseReport(
      'cafe.rest\nbar.rest,2027-03-01\nCafe.rest,2027-03-01\ncafe.rest\nbar.rest,2027-03-01\nbar.rest,2028-03-01',
    );
    expect(accepted).toEqual([
      { name: 'cafe.rest', expiresAt: firstOfMarch },
      { name: 'bar.rest', expiresAt: firstOfMarch },
    ]);
    expect(duplicates).toEqual([
      { line: 3, name: 'cafe.rest' },
      { line: 4, name: 'cafe.rest' },
      { line: 5, name: 'bar.rest' },
    ]);
    expect(rejected).toEqual([{ line: 6, text: 'bar.rest,2028-03-01', issue: { code: 'conflicting_date' } }]);
  });

  test('rejects a line with one word that isn’t a name', async () => {
    const { accepted, rejected } = await parseReport('hello\ncafe.rest\ndomain');
    expect([accepted, rejected.map(({ line }) => line)]).toEqual([[{ name: 'cafe.rest' }], [1, 3]]);
  });

  test('with a second header is refused, because its columns may differ', async () => {
    const issue = { line: 3, code: 'second_header' };
    for (const first of ['cafe.rest\nbar.rest,2027-03-01', 'name,expires\ncafe.rest,2027-03-01'])
      expect(await parseIssue(`${first}\ndomain,created\nbaz.rest,2020-01-01`)).toEqual(issue);
  });

  test('of up to 50,000 lines is read, and further lines are reported', async () => {
    const lines = Array.from({ length: MAX_IMPORT_LINES + 3 }, (_, index) => `n${index}.rest,2027-03-01`);
    const { accepted, rejected } = await parseReport(lines.join('\n'));
    expect(accepted).toHaveLength(MAX_IMPORT_LINES);
    expect(rejected).toEqual([
      { line: 50_001, text: '', issue: { code: 'too_many_lines', limit: MAX_IMPORT_LINES } },
    ]);
  });

  test('accounts for every line with content', async () => {
    const cell = fc.oneof(
      fc.constantFrom('cafe.rest', 'bar.rest', '2027-03-01', 'domain', '"', '""'),
      fc.string(),
    );
    const line = fc
      .array(cell, { maxLength: 4 })
      .chain((cells) => fc.constantFrom(',', ';', '\t', ' ').map((separator) => cells.join(separator)));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 10 }), async (lines) => {
        // The first line must not look like a header.
        const allLines = ['first.rest', ...lines.map((content) => content.replace(/[\r\n]/g, ' '))];
        const outcome = await parseWatchListImport(allLines.join('\n'));
        if ('issue' in outcome) {
          expect(outcome.issue.code).toBe('second_header');
          return;
        }
        const { accepted, rejected, duplicates } = outcome;
        const counted = allLines.filter(
          (content) => content.trim() !== '' && !content.trim().startsWith('#'),
        );
        expect(accepted.length + rejected.length + duplicates.length).toBe(counted.length);
        expect(new Set(accepted.map(({ name }) => name)).size).toBe(accepted.length);
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('a date', () => {
  test.each([
    // Spreadsheets store dates as day numbers.
    ['46447', '2027-03-01T00:00:00.000Z'],
    ['46447.75', '2027-03-01T00:00:00.000Z'],
    ['1. März 2027', '2027-03-01T00:00:00.000Z'],
    ['01.03.2027 12:30', '2027-03-01T12:30:00.000Z'],
    ['01-Mar-2027', '2027-03-01T00:00:00.000Z'],
    ['March 1, 2027', '2027-03-01T00:00:00.000Z'],
    ['1er mars 2027', '2027-03-01T00:00:00.000Z'],
    ['1 de marzo de 2027', '2027-03-01T00:00:00.000Z'],
    ['1 dicembre 2027', '2027-12-01T00:00:00.000Z'],
    ['\u200b2027-03-01\u00a0', '2027-03-01T00:00:00.000Z'],
    ['2027-03-01', '2027-03-01T00:00:00.000Z'],
    ['1.3.2027', '2027-03-01T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2027-03-01T12:30:00Z', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01T12:30:00.123Z', '2027-03-01T12:30:00.123Z'],
    ['2027-03-01 12:30', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01 9:05', '2027-03-01T09:05:00.000Z'],
    ['2027-03-01 9:05:00', '2027-03-01T09:05:00.000Z'],
    ['2027-03-01 12:30:00 UTC', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01T00:30:00+0100', '2027-02-28T23:30:00.000Z'],
  ])('%s is %s', (text, moment) => {
    expect(parseEnteredDate(text)).toEqual({ ok: true, value: new Date(moment) });
  });

  test.each([
    ['01/03/2027', 'ambiguous_date'],
    ['01/03/2027 12:00', 'ambiguous_date'],
    ['01-Foo-2027', 'not_a_date'],
    ['31 Feb 2027', 'no_such_day'],
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
    expect(parseEnteredDate(text)).toEqual({ ok: false, issue: { code, text } });
  });
});

describe('a table', () => {
  test.each([
    [
      'another program’s headings',
      '"domain_name","create_date","reseller_id","reseller_name"\n"old1.de","2020-01-01 23:12:00","1029","Example Reseller"',
      { code: 'unknown_headings', line: 1, headings: ['reseller_id', 'reseller_name'] },
    ],
    ['unknown headings alone', 'foo,bar\nold1.de,2030-01-01', { code: 'unknown_headings', line: 1 }],
    ['unknown headings below a comment', '# x\nfoo,bar\n', { code: 'unknown_headings', line: 2 }],
    ['an ambiguous date column', 'domain,date\nold1.de,2030-01-01', { code: 'unknown_headings' }],
    ['no names', 'registrar,expires\nHoster,2030-01-01', { code: 'missing_name_column', line: 1 }],
    ['two expiry dates', 'name,expires,paid until\na.de,2030-01-01,2031-01-01', { code: 'duplicate_column' }],
    ['an open quote', 'name,expires\n"a.de,2030-01-01\nb.de,2030-01-01', { code: 'not_csv' }],
  ])('with %s is refused', async (_case, text, issue) => {
    expect(await parseIssue(text)).toMatchObject(issue);
  });

  test('that is refused is answered with the accepted headings and a request to rename the expiry column', async () => {
    const issue = await parseIssue('domain_name,reseller_id\na.de,1');
    const text = 'line' in issue ? importIssueText(issue) : '';
    expect(text).toMatch(/“reseller_id”.*“expires”.*“Ablaufdatum”.*Rename the expiry column.*Nothing was/);
  });

  test('with only a creation date has names without expiry dates, and reports it', async () => {
    expect(await parseReport('Creation Date,Domain Name,Status\n2020-01-01,a.de,ok')).toMatchObject({
      accepted: [{ name: 'a.de' }],
      unusedHeadings: ['Creation Date', 'Status'],
      lacksExpiry: true,
    });
  });

  test.each(['Domain Name\na.de', 'name,expires,registrar\na.de,2027-03-01,x'])(
    '%j isn’t reported as lacking an expiry date',
    async (text) => {
      expect(await parseReport(text)).toMatchObject({ accepted: [{ name: 'a.de' }], lacksExpiry: false });
    },
  );

  test('can’t have comments after its header', async () => {
    const { rejected } = await parseReport('# ours\nname,expires\n#a.de,2027-03-01\n');
    expect(rejected.map(({ line }) => line)).toEqual([3]);
  });

  test.each([
    ['the columns of a bulk order', 'name,period\ncafe.rest,1'],
    ['the export of the portfolio', 'name,owner,tags,channel,note,expires,registrar\ncafe.rest,U1,a,,x,,'],
    ['comments above its header', '# ours\n\nname,period\ncafe.rest,1'],
  ])('with %s is a list of names', async (_case, text) => {
    expect(await parseReport(text)).toMatchObject({ accepted: [{ name: 'cafe.rest' }], rejected: [] });
  });

  const DAYS = Array.from({ length: 200 }, (_, index) => new Date(Date.UTC(2027, 0, 1 + index)));
  const day = (at: Date) => at.toISOString().slice(0, 10);
  const buildTable = (formatRow: (name: string, at: Date) => string, header: string, lineEnd = '\n') =>
    [header, ...DAYS.map((at, index) => formatRow(`n${index}.example`, at))].join(lineEnd);
  const formatGermanDay = (at: Date) => day(at).split('-').reverse().join('.');
  const formatSerialDate = (at: Date) => String(at.getTime() / 86_400_000 + 25_569);
  const encode = (text: string, encoding: 'utf8' | 'utf16le' = 'utf8') => Buffer.from(text, encoding);
  const commaSeparated = buildTable((name, at) => `${name},${day(at)}`, 'name,expires');

  test.each<[string, Uint8Array]>([
    ['commas', encode(commaSeparated)],
    ['semicolons', encode(buildTable((name, at) => `${day(at)};${name}`, 'Expiry Date;Domain', '\r\n'))],
    ['tabs', encode(buildTable((name, at) => `${name}\t${day(at)}`, 'Domain Name\tExpiration Date', '\r'))],
    ['UTF-16', encode(`\ufeff${commaSeparated}`, 'utf16le')],
    ['big-endian UTF-16', encode(`\ufeff${commaSeparated}`, 'utf16le').swap16()],
    ['quotes', encode(buildTable((name, at) => `"${name}","${day(at)}"`, '"domain_name","expiry_date"'))],
    [
      'German headings',
      encode(buildTable((name, at) => `${name};${formatGermanDay(at)}`, '\ufeffDomäne;Ablaufdatum')),
    ],
    [
      'French headings',
      encode(buildTable((name, at) => `${name};${day(at)}`, "Nom de domaine;Date d'échéance")),
    ],
    [
      'a sep= line',
      encode(`sep=;\r\n${buildTable((name, at) => `${name};${day(at)}`, 'name;expires', '\r\n')}`),
    ],
    ['serial dates', encode(buildTable((name, at) => `${name},${formatSerialDate(at)}`, 'name,expires'))],
    ['no heading', encode(buildTable((name, at) => `${name},${day(at)}`, ''))],
    [
      'mixed line ends',
      encode(commaSeparated.replace(/\n(?=n\d*[02468]\.)/g, '\r\n').replace(/\n(?=n\d*[5]\.)/g, '\r')),
    ],
    [
      'odd spaces',
      encode(buildTable((name, at) => `\u200b${name}\u00a0,${day(at)}`, '\u200bname,expires\u00a0')),
    ],
  ])('of 200 names is read the same with %s', async (_case, file) => {
    const decoded = decodeFile(file);
    if (!decoded.ok) throw new Error(decoded.issue.code);
    const expected = DAYS.map((expiresAt, index) => ({ name: `n${index}.example`, expiresAt }));
    expect(await parseReport(decoded.text)).toMatchObject({
      accepted: expected,
      rejected: [],
      duplicates: [],
    });
  });

  test('with ambiguous days and months has every row rejected', async () => {
    const text = buildTable(
      (name, at) => `${name},${formatGermanDay(at).replaceAll('.', '/')}`,
      'name,expires',
    );
    const { accepted, rejected } = await parseReport(text);
    expect(accepted).toEqual([]);
    expect(new Set(rejected.map(({ issue }) => issue.code))).toEqual(new Set(['ambiguous_date']));
  });

  test('reports each row by its line in the file', async () => {
    const text =
      'sep=,\r\nname,note,expires\n"a.example","two\r\nlines",2027-03-01\n\nb,x,\rwww.c.example,,\na.example,,,,x';
    const { accepted, rejected } = await parseReport(text);
    expect(accepted).toEqual([{ name: 'a.example', expiresAt: firstOfMarch }]);
    expect(rejected.map(({ line, issue }) => [line, issue.code])).toEqual([
      [6, 'invalid_name'],
      [7, 'invalid_name'],
      [8, 'too_many_cells'],
    ]);
  });

  test('of 25,000 rows is read completely', async () => {
    const long = Array.from({ length: 25_000 }, (_, index) => `n${index}.example;01.03.2027;Hoster;x`);
    const { accepted } = await parseReport(['Domäne;Ablaufdatum;Registrar;Status', ...long].join('\r\n'));
    expect(accepted).toHaveLength(25_000);
  });
});

test.each([
  ['spaces', `${' '.repeat(3_900_000)}x`],
  ['spaces before a quote', `a.de,${' '.repeat(3_900_000)}"`],
  ['spaces inside lines', `a.de${' '.repeat(1_000)}x\n`.repeat(3_900)],
  ['commas', ','.repeat(3_900_000)],
  ['long dates', `name,expires\n${`a.de,${'1 '.repeat(4_000)}x\n`.repeat(400)}`],
  ['odd spaces', `${'\u00a0\u200b\u200d'.repeat(1_000)}\n`.repeat(400)],
])('4 MB of %s are read within 4 seconds', async (_what, text) => {
  const startedAt = performance.now();
  await parseWatchListImport(text);
  expect(performance.now() - startedAt).toBeLessThan(4_000);
});

const createNames = (count: number) => Array.from({ length: count }, (_, index) => `n${index}.rest`);
test.each<[words: readonly string[], read: ReturnType<typeof parseNamesToWatch>]>([
  [['cafe.rest'], { names: ['cafe.rest'], date: undefined }],
  [['cafe.rest', '2027-03-01'], { names: ['cafe.rest'], date: '2027-03-01' }],
  [['cafe.rest,soon'], { names: ['cafe.rest'], date: 'soon' }],
  [['cafe.rest,', 'Bar.rest;CAFE.rest'], { names: ['cafe.rest', 'bar.rest'], date: undefined }],
  [['cafe.rest', 'bar.rest'], { names: ['cafe.rest', 'bar.rest'], date: undefined }],
  [[], { problem: { code: 'no_names' } }],
  [[',', '2027-03-01'], { problem: { code: 'no_names' } }],
  [['cafe.rest', 'bar.rest', '2027-03-01'], { problem: { code: 'date_with_many_names' } }],
  [createNames(50), { names: createNames(50), date: undefined }],
  [createNames(51), { problem: { code: 'too_many_names', limit: 50 } }],
])('parses the command words %j', (words, read) => {
  expect(parseNamesToWatch(words)).toEqual(read);
});
