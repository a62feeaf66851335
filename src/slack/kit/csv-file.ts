import { stringify } from 'csv-stringify/sync';
import { iterateWithPauses } from '../../lib/csv.ts';

/** Excel needs it to detect UTF-8. */
export const BYTE_ORDER_MARK = '\ufeff';

/** Characters that start a formula in spreadsheets, including full-width forms. */
const FORMULA_START = /^[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/**
 * Formats a line with its line break (RFC 4180). Cells that look like formulas get an apostrophe, so that
 * spreadsheets read them as text.
 */
export function formatCsvLine(cells: readonly string[]): string {
  const safeCells = cells.map((text) => (FORMULA_START.test(text) ? `'${text}` : text));
  // Some spreadsheets split columns at these characters, whatever the separator is.
  return stringify([safeCells], { record_delimiter: 'windows', quoted_match: /[;\t\r\n]/ });
}

/** Yields to the event loop between lines. */
export async function formatCsvFile(lines: readonly (readonly string[])[]): Promise<string> {
  const parts = [BYTE_ORDER_MARK];
  for await (const line of iterateWithPauses(lines)) parts.push(formatCsvLine(line));
  return parts.join('');
}
