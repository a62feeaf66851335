import { stringify } from 'csv-stringify/sync';
import { inTurns } from '../../lib/csv.ts';

/** Excel reads a file as UTF-8 only with this in front. */
export const BYTE_ORDER_MARK = '\ufeff';

/** What a spreadsheet would read as a formula, in the full-width forms too. */
const FORMULA = /^[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/**
 * One line of a CSV file (RFC 4180), with its line end. A cell that a spreadsheet would take for a formula gets an
 * apostrophe in front, so that it is read as text.
 */
export function csvLine(cells: readonly string[]): string {
  const harmless = cells.map((text) => (FORMULA.test(text) ? `'${text}` : text));
  // Some spreadsheets split columns at these, whatever separator the file has.
  return stringify([harmless], { record_delimiter: 'windows', quoted_match: /[;\t\r\n]/ });
}

/** A whole file of lines. Other work has its turns meanwhile. */
export async function csvFile(lines: readonly (readonly string[])[]): Promise<string> {
  const parts = [BYTE_ORDER_MARK];
  for await (const line of inTurns(lines)) parts.push(csvLine(line));
  return parts.join('');
}
