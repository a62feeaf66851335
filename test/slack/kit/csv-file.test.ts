import { expect, it } from 'vitest';
import { formatCsvLine } from '../../../src/slack/kit/csv-file.ts';

it.each([
  [['plain', 'two words', ''], 'plain,two words,'],
  [['a,b', 'say "hi"', 'two\nlines'], '"a,b","say ""hi""","two\nlines"'],
  [['=1+1', '+49 30 1', '-1', '@SUM(A1)'], "'=1+1,'+49 30 1,'-1,'@SUM(A1)"],
  [['\t=1', '\r=1', ' =1', '\u00a0=1', '＝1'], "\"'\t=1\",\"'\r=1\",' =1,'\u00a0=1,'＝1"],
  [['"=1"', 'a=1', 'a;b'], '"""=1""",a=1,"a;b"'],
])('%j is formatted as a line of CSV', (cells, line) => {
  expect(formatCsvLine(cells)).toBe(`${line}\r\n`);
});
