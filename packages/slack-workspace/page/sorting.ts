import { isObject, type Json, type JsonObject, numberOf, objectsOf, textOf } from './json.ts';

/*
 * Cells of tables: their words, and their order.
 */

/** The words of a cell, markup left out. */
export function cellText(cell: JsonObject): string {
  const own = textOf(cell, 'text');
  if (own !== undefined) return own;
  return objectsOf(cell, 'elements').map(cellText).join('');
}

/** The rows of a table block; what is not a row of cells is left out. */
export function rowsOf(block: JsonObject): JsonObject[][] {
  const rows: Json | undefined = block['rows'];
  return Array.isArray(rows) ? rows.flatMap((row) => (Array.isArray(row) ? [row.filter(isObject)] : [])) : [];
}

export type Direction = 'ascending' | 'descending';

const words = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** Rows in the order of one column: numbers by value, all else as words with the numbers in them by value. */
export function sortedRows(
  rows: readonly JsonObject[][],
  column: number,
  direction: Direction,
): JsonObject[][] {
  const sign = direction === 'ascending' ? 1 : -1;
  return [...rows].sort((a, b) => sign * compareCells(a[column], b[column]));
}

function compareCells(a: JsonObject | undefined, b: JsonObject | undefined): number {
  const [left, right] = [numberOf(a, 'value'), numberOf(b, 'value')];
  if (left !== undefined && right !== undefined) return left - right;
  return words.compare(a ? cellText(a) : '', b ? cellText(b) : '');
}
