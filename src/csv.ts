import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';

/* CSV files as people bring them, from spreadsheets of any country. */

export { CsvError };

/** A line of cells, with its number in the text. */
export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  /** The cells as they are written, with what keeps a spreadsheet from reading one as a formula. */
  readonly raw: readonly string[];
}

/** The prefix that keeps a spreadsheet from reading a cell as a formula is not part of the cell. */
const FORMULA_GUARD = /^'(?=[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

const csvRecords = z.array(z.object({ info: z.object({ lines: z.number() }), record: z.array(z.string()) }));

/**
 * Reads CSV whose columns are separated by comma, semicolon or tab.
 * @throws {CsvError} where the text is no CSV
 */
export function parseCsv(text: string): CsvRecord[] {
  const firstLine = text.split(/[\r\n]/).find((line) => line.trim() !== '') ?? '';
  const delimiter = [',', ';', '\t'].find((each) => firstLine.includes(each)) ?? ',';
  const records = parse(text, {
    bom: true,
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
  });
  return csvRecords.parse(records).map(({ info, record }) => ({
    line: info.lines,
    cells: record.map((cell) => cell.replace(FORMULA_GUARD, '')),
    raw: record,
  }));
}
