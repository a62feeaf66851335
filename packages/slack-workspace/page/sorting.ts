import { isObject, type Json, type JsonObject, objectsOf, textOf } from './json.ts';

/** The words of a cell, without markup. */
export function cellText(cell: JsonObject): string {
  const own = textOf(cell, 'text');
  if (own !== undefined) return own;
  return objectsOf(cell, 'elements').map(cellText).join('');
}

export function rowsOf(block: JsonObject): JsonObject[][] {
  const rows: Json | undefined = block['rows'];
  return Array.isArray(rows) ? rows.flatMap((row) => (Array.isArray(row) ? [row.filter(isObject)] : [])) : [];
}

export type Direction = 'ascending' | 'descending';

const words = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** Rows sorted by one column: as text, with numbers in it by value. */
export function sortedRows(
  rows: readonly JsonObject[][],
  column: number,
  direction: Direction,
): JsonObject[][] {
  const sign = direction === 'ascending' ? 1 : -1;
  const text = (row: readonly JsonObject[]): string => (row[column] ? cellText(row[column]) : '');
  return [...rows].sort((a, b) => sign * words.compare(text(a), text(b)));
}
