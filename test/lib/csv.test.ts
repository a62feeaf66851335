import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { iterateWithPauses, readCsv } from '../../src/lib/csv.ts';

const OPTIONS = { maxRows: 5_000, findColumn: (heading: string) => heading.toLowerCase() };

/** Counts the turns that the event loop gives to other work. */
async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

describe('reading a CSV file', () => {
  test('returns every cell unchanged, wherever it pauses for other work', async () => {
    const cell = fc.oneof(
      fc.constantFrom('a', 'ü', '€', '😀', 'say "hi"', 'a,b', 'two\nlines', 'b'.repeat(3_000)),
      fc.stringMatching(/^[a-zß-ÿ🙂]{1,20}$/u),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 60 }),
        fc.constantFrom(',', ';', '\t'),
        fc.constantFrom('\n', '\r\n'),
        async (rows, delimiter, recordDelimiter) => {
          const text = stringify([['n', 'o', 'p'], ...rows], {
            delimiter,
            record_delimiter: recordDelimiter,
            quoted_match: /\n/,
          });
          const read = await readCsv(text, OPTIONS);
          expect(read.ok && read.rows.map(({ rawCells }) => rawCells)).toEqual(rows);
        },
      ),
    );
  });

  test('lets other work run at least every 16 KB', async () => {
    const text = `name\n${'cafe.rest,'.repeat(90_000)}`;
    const turns = await countTurns(() => readCsv(`${text.slice(0, 900_000)}`, OPTIONS));
    expect(turns).toBeGreaterThanOrEqual(Math.floor(900_000 / 16_384));
  });

  test('stops at an invalid header', async () => {
    const wide = `${'n,'.repeat(200)}\n${'cafe.rest\n'.repeat(80_000)}`;
    const turns = await countTurns(async () => {
      expect(await readCsv(wide, OPTIONS)).toEqual({
        ok: false,
        issue: { line: 1, code: 'too_many_columns', limit: 100 },
      });
    });
    expect(turns).toBeLessThan(10);
  });
});

test.each<[string, string, object]>([
  ['bytes', 'n'.repeat(4_000_001), { line: 1, code: 'too_many_bytes', limit: 4_000_000 }],
  ['columns', `a,b\n${'x,'.repeat(100)}x\n`, { line: 2, code: 'too_many_columns', limit: 100 }],
  ['rows', `a\n${'x\n'.repeat(5_001)}`, { line: 5_002, code: 'too_many_rows', limit: 5_000 }],
  ['blank rows', `a,b\n${',\n'.repeat(5_001)}`, { line: 5_002, code: 'too_many_rows' }],
  ['characters of a cell', `a\n${'x'.repeat(10_001)}\n`, { line: 2, code: 'cell_too_long', limit: 10_000 }],
  ['equal headings', 'Note,note\nx,y\n', { line: 1, code: 'duplicate_column', column: 'note' }],
  ['opening quotation marks', 'a\n"x\n', { code: 'not_csv' }],
])('too many %s are refused', async (_what, text, issue) => {
  expect(await readCsv(text, OPTIONS)).toMatchObject({ ok: false, issue });
});

test('a file at the limits is read', async () => {
  const heading = Array.from({ length: 100 }, (_, at) => `c${at}`).join(',');
  const rows = `${Array(99).fill('').join(',')},x\n`.repeat(5_000);
  const read = await readCsv(`${heading}\n${rows}`, OPTIONS);
  expect(read.ok && read.rows.length).toBe(5_000);
});

test('iterating rows pauses after 20 ms', async () => {
  const turns = await countTurns(async () => {
    for await (const _row of iterateWithPauses([1, 2, 3, 4])) {
      const until = performance.now() + 21;
      while (performance.now() < until);
    }
  });
  expect(turns).toBeGreaterThanOrEqual(4);
});
