import { describe, expect, it, test } from 'vitest';
import { decodeFile, MAX_CSV_BYTES } from '../../../src/lib/csv.ts';
import type { BulkTask } from '../../../src/orders/bulk/columns.ts';
import { MAX_ROWS, parseBulkFile } from '../../../src/orders/bulk/read-csv.ts';

async function parseValidFile(task: BulkTask, text: string) {
  const parsedFile = await parseBulkFile(task, text);
  if (!parsedFile.ok) throw new Error(`the file was refused: ${JSON.stringify(parsedFile.issues)}`);
  return parsedFile;
}

const readIssues = async (task: BulkTask, text: string) => {
  const parsedFile = await parseBulkFile(task, text);
  return parsedFile.ok ? [] : parsedFile.issues;
};

describe('a valid file', () => {
  it('gives each row the input of its task', async () => {
    const { rows, badRows } = await parseValidFile('renew', 'name,period\ncafe.rest,2\n BAR.rest. ,\n');
    expect(badRows).toEqual([]);
    expect(rows.map(({ line, name, input }) => [line, name, input])).toEqual([
      [2, 'cafe.rest', { names: ['cafe.rest'], period: 2 }],
      [3, 'bar.rest', { names: ['bar.rest'], period: 1 }],
    ]);
  });

  it.each([
    'ns1.example.net ns2.example.net',
    'ns1.example.net|ns2.example.net',
    '"ns1.example.net;ns2.example.net"',
    '"ns1.example.net, NS2.example.net."',
  ])('splits nameservers in their cell: %s', async (cell) => {
    const { rows } = await parseValidFile('nameservers', `name,nameservers\ncafe.rest,${cell}`);
    expect(rows[0]?.input).toEqual({
      name: 'cafe.rest',
      nameServers: ['ns1.example.net', 'ns2.example.net'],
    });
  });

  it.each([
    ['semicolons', 'name;period\ncafe.rest;2'],
    ['tabs', 'name\tperiod\ncafe.rest\t2'],
    ['quotes', '"name","period"\r\n"cafe.rest","2"\r\n'],
    ['a byte order mark, empty lines and capitals', '\ufeffName,PERIOD\n\n,\ncafe.rest,2\n\n'],
    ['columns in another order', 'period,name\n2,cafe.rest'],
    ['empty columns without a heading at the end', 'name;period;;\r\ncafe.rest;2;;\r\n'],
  ])('may have %s', async (_what, text) => {
    expect((await parseValidFile('renew', text)).rows).toMatchObject([
      { name: 'cafe.rest', input: { period: 2 } },
    ]);
  });

  it('keeps an auth code unchanged and secret', async () => {
    const parsedFile = await parseValidFile(
      'transfer',
      'name,auth,ownerc,adminc,techc,name servers\ncafe.rest,"\'=a,b""c",1,2,3,ns1.example.net ns2.example.net',
    );
    expect(parsedFile.rows[0]?.secret?.reveal()).toBe('\'=a,b"c');
    expect(JSON.stringify(parsedFile)).not.toContain('a,b');
    expect(parsedFile.rows[0]?.input).toEqual({
      name: 'cafe.rest',
      ownerc: 1,
      adminc: 2,
      techc: 3,
      nameServers: ['ns1.example.net', 'ns2.example.net'],
    });
  });
});

describe('a file of another program', () => {
  const listRows = (text: string) =>
    parseValidFile('renew', text).then((read) => read.rows.map(({ line, name }) => `${line} ${name}`));

  it('may mix line endings without losing rows or line numbers', async () => {
    const mixedEndings =
      'name,period\r\nm1.rest,1\r\nm2.rest,1\r\nm3.rest,1\nm4.rest,1\nm5.rest,1\r\nm6.rest,1\r\n';
    const expected = [1, 2, 3, 4, 5, 6].map((n) => `${n + 1} m${n}.rest`);
    expect(await listRows(mixedEndings)).toEqual(expected);
    // Line endings of the header, of single rows and of blank lines differ from the others.
    expect(await listRows('name,period\r\na.rest,1\nb.rest,1\nc.rest,1')).toHaveLength(3);
    expect(await listRows('name,period\ra.rest,1\r\nb.rest,1\rc.rest,1')).toHaveLength(3);
    expect(await listRows('name,period\na.rest,1\n\r\n\rb.rest,1')).toEqual(['2 a.rest', '5 b.rest']);
  });

  it.each([
    ['sep=;', 'sep=;\nname;period\nm1.rest;1'],
    ['sep= in quotes, with a byte order mark', '\ufeff"sep=;"\r\nname;period\r\nm1.rest;1'],
    ['SEP= and a tab', 'SEP=\t\nname\tperiod\nm1.rest\t1'],
  ])('may begin with %s', async (_what, text) => {
    expect(await listRows(text)).toEqual(['3 m1.rest']);
  });

  it.each([
    ['German', 'Domäne;Laufzeit'],
    ['French', 'Nom de domaine;Durée'],
    ['invisible characters', '\u200bname\u00a0;\u2060period'],
    ['a combining accent', 'Doma\u0308ne;Laufzeit'],
    ['bars', 'name|period'],
  ])('may have headings with %s', async (_what, header) => {
    const separator = header.includes('|') ? '|' : ';';
    expect(await listRows(`${header}\nm1.rest\u00a0${separator}\u200b1`)).toEqual(['2 m1.rest']);
  });

  it('that combines two lists is refused at the second header', async () => {
    expect(await readIssues('renew', 'name,period\na.rest,1\nperiod,name\n1,b.rest')).toEqual([
      { line: 3, code: 'second_header' },
    ]);
  });
});

describe('an unreadable file is refused with the reason and line', () => {
  test.each<[string, BulkTask, string, unknown]>([
    ['no rows', 'renew', '\n\n', { code: 'empty' }],
    ['only a header', 'renew', 'name,period', { code: 'empty' }],
    ['no header', 'renew', 'cafe.rest,2\nbar.rest,1', { code: 'no_header', line: 1 }],
    ['an unclosed quote', 'renew', 'name\ncafe.rest\n"bar.rest\nbaz.rest', { code: 'not_csv' }],
    ['a typo', 'renew', 'name,peroid\ncafe.rest,1', { code: 'unknown_column', line: 1, column: 'peroid' }],
    [
      'a column of another task',
      'delete',
      'name,period\ncafe.rest,1',
      { code: 'column_of_other_task', line: 1, column: 'period' },
    ],
    ['a missing column', 'nameservers', 'name\ncafe.rest', { code: 'missing_column', column: 'nameservers' }],
    ['two name columns', 'delete', 'name,name\na.rest,b.rest', { code: 'duplicate_column', column: 'name' }],
  ])('%s', async (_what, task, text, issue) => {
    expect(await readIssues(task, text)).toEqual([expect.objectContaining(issue)]);
  });

  it('one row more than the limit', async () => {
    const createFile = (rows: number) =>
      `name\n${Array.from({ length: rows }, (_, index) => `n${index}.rest`).join('\n')}`;
    expect(await readIssues('delete', createFile(MAX_ROWS + 1))).toEqual([
      { line: MAX_ROWS + 2, code: 'too_many_rows', limit: MAX_ROWS },
    ]);
    expect((await parseValidFile('delete', createFile(MAX_ROWS))).rows).toHaveLength(MAX_ROWS);
  });
});

describe('an invalid row is listed, and other rows are kept', () => {
  test.each<[string, BulkTask, string, unknown]>([
    ['no name', 'renew', ',2', { field: 'names', code: 'zone_issue' }],
    ['no top-level domain', 'renew', 'cafe,2', { field: 'names', code: 'zone_issue' }],
    ['a bad period', 'renew', 'x.rest,two', { field: 'period', code: 'no_whole_years' }],
    ['a period that the zone doesn’t allow', 'renew', 'x.rest,11', { field: 'period', code: 'zone_issue' }],
    ['one cell too many', 'renew', 'x.rest,1,2', { code: 'too_many_cells' }],
    ['too few nameservers', 'nameservers', 'x.rest,ns1.example.net', { field: 'nameServers' }],
  ])('%s', async (_what, task, row, issue) => {
    const header = task === 'renew' ? 'name,period' : 'name,nameservers';
    const good = task === 'renew' ? 'good.rest,1' : 'good.rest,ns1.example.net ns2.example.net';
    const { rows, badRows } = await parseValidFile(task, `${header}\n${row}\n${good}`);
    expect(rows.map(({ name }) => name)).toEqual(['good.rest']);
    expect(badRows).toEqual([{ line: 2, name: row.split(',')[0], issues: [expect.objectContaining(issue)] }]);
  });

  it('a transfer without an auth code and a contact gets both errors', async () => {
    const { badRows } = await parseValidFile(
      'transfer',
      'name,auth,ownerc,adminc,techc,nameservers\nx.rest,,1,,3,ns1.example.net ns2.example.net',
    );
    expect(badRows[0]?.issues.map((issue) => [issue.code, 'field' in issue ? issue.field : ''])).toEqual([
      ['no_contact_id', 'adminc'],
      ['no_auth_code', ''],
    ]);
  });

  it('the first of duplicate rows is kept, and none of conflicting rows', async () => {
    const { rows, badRows } = await parseValidFile(
      'renew',
      'name,period\nsame.rest,1\nSAME.rest,1\nother.rest,1\nother.rest,2\nlast.rest,1',
    );
    expect(rows.map(({ name }) => name)).toEqual(['same.rest', 'last.rest']);
    expect(badRows.map(({ line, issues }) => [line, issues[0]])).toEqual([
      [3, { code: 'repeated', line: 2 }],
      [4, { code: 'conflict', line: 5 }],
      [5, { code: 'conflict', line: 4 }],
    ]);
  });
});

describe('a file', () => {
  const text = 'name\nmünchen.rest\n';
  const toBigEndian = (bytes: Buffer) => bytes.swap16();

  it.each([
    ['UTF-8', Buffer.from(text)],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
    ['UTF-16 with a byte order mark, as in Excel', Buffer.from(`\ufeff${text}`, 'utf16le')],
    [
      'UTF-16 in big-endian order with a byte order mark',
      toBigEndian(Buffer.from(`\ufeff${text}`, 'utf16le')),
    ],
    ['UTF-16 without a byte order mark', Buffer.from(text, 'utf16le')],
    ['UTF-16 in big-endian order without a byte order mark', toBigEndian(Buffer.from(text, 'utf16le'))],
  ])('can be encoded as %s', async (_what, bytes) => {
    const decoded = decodeFile(bytes);
    expect(decoded.ok && (await parseValidFile('delete', decoded.text)).rows[0]?.name).toBe(
      'xn--mnchen-3ya.rest',
    );
  });

  it.each([
    ['Latin 1', Buffer.from('name\ncafe.rest\nmünchen.rest\n', 'latin1'), { code: 'not_text', line: 3 }],
    ['a zero byte in UTF-8', Buffer.from('name\nca\0fe.rest\n'), { code: 'not_text', line: 2 }],
    [
      'a zero character in UTF-16',
      Buffer.from('name\nca\0fe.rest\n', 'utf16le'),
      { code: 'not_text', line: 2 },
    ],
    ['UTF-32', Buffer.from('n\0a\0m\0e\0\n\0', 'utf16le'), { code: 'not_text', line: 1 }],
    ['too many bytes', Buffer.alloc(MAX_CSV_BYTES + 1, 'a'), { code: 'too_large', maxBytes: MAX_CSV_BYTES }],
  ])('is refused: %s', (_what, bytes, issue) => {
    expect(decodeFile(bytes)).toEqual({ ok: false, issue });
  });
});
