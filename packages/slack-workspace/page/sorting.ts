import { isObject, type Json, type JsonObject, objectsOf, textOf } from './json.ts';

/** The cell's text without markup. */
export function getCellText(cell: JsonObject): string {
  const ownText = textOf(cell, 'text');
  if (ownText !== undefined) return ownText;
  return objectsOf(cell, 'elements').map(getCellText).join('');
}

export function getRows(block: JsonObject): JsonObject[][] {
  const rows: Json | undefined = block['rows'];
  return Array.isArray(rows) ? rows.flatMap((row) => (Array.isArray(row) ? [row.filter(isObject)] : [])) : [];
}

export type Direction = 'ascending' | 'descending';

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** Rows sorted by the text of one column. Numbers in the text are compared by value. */
export function sortRows(
  rows: readonly JsonObject[][],
  column: number,
  direction: Direction,
): JsonObject[][] {
  const sign = direction === 'ascending' ? 1 : -1;
  const getColumnText = (row: readonly JsonObject[]): string => (row[column] ? getCellText(row[column]) : '');
  return [...rows].sort((a, b) => sign * collator.compare(getColumnText(a), getColumnText(b)));
}
