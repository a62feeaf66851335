/** Excel reads a file as UTF-8 only with this in front. */
export const BYTE_ORDER_MARK = '\ufeff';

/** What a spreadsheet would read as a formula, in the full-width forms too. */
const FORMULA = /^[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/**
 * One line of a CSV file (RFC 4180), with its line end. A cell that a spreadsheet would take for a formula gets an
 * apostrophe in front, so that it is read as text.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n;\t]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
