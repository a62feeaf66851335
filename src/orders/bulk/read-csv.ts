import { groupBy } from '../../lib/collections.ts';
import {
  type CsvIssue,
  type CsvRecord,
  hasExtraCells,
  iterateWithPauses,
  readCsv,
  type UnreadableFileIssue,
} from '../../lib/csv.ts';
import { findColumn } from '../../lib/csv-headings.ts';
import { Secret } from '../../service/secret.ts';
import type { InputIssue } from '../input-issue.ts';
import { getOrderTask } from '../tasks.ts';
import { BULK_COLUMNS, type BulkColumn, type BulkTask, isBulkColumn } from './columns.ts';

/** Parses a CSV file with one name per row. Issues have a code and a line number. */

export const MAX_ROWS = 2_000;

/** A renewal without a period is for one year. */
const OPTIONAL_COLUMNS: ReadonlySet<BulkColumn> = new Set(['period']);

export type FileIssue =
  | UnreadableFileIssue
  | CsvIssue
  | { readonly code: 'empty' }
  /** The first line looks like a row, not a header. */
  | { readonly code: 'no_header'; readonly line: number }
  | { readonly code: 'unknown_column'; readonly line: number; readonly column: string }
  | { readonly code: 'column_of_other_task'; readonly line: number; readonly column: BulkColumn }
  | { readonly code: 'missing_column'; readonly line: number; readonly column: BulkColumn };

export type RowIssue =
  | InputIssue
  | { readonly code: 'too_many_cells' }
  | { readonly code: 'no_auth_code' | 'auth_code_too_long' | 'auth_code_invisible_character' }
  /** The row repeats the row at `line`, which is used. */
  | { readonly code: 'repeated'; readonly line: number }
  /** The row at `line` has the same name but other values. Neither row is used. */
  | { readonly code: 'conflict'; readonly line: number };

/** A valid row, not yet checked against stored facts such as open orders. */
export interface BulkRow {
  readonly line: number;
  readonly name: string;
  /** The task's input for this name, without secrets. */
  readonly input: unknown;
  readonly secret: Secret | undefined;
}

export interface BadRow {
  readonly line: number;
  readonly name: string;
  readonly issues: readonly RowIssue[];
}

export type BulkFileResult =
  | { readonly ok: true; readonly rows: readonly BulkRow[]; readonly badRows: readonly BadRow[] }
  | { readonly ok: false; readonly issues: readonly FileIssue[] };

/**
 * Parses a file with a header row. Columns are separated by commas, semicolons or tabs, and nameservers
 * within a cell by spaces, `|`, `;` or `,`.
 */
export async function parseBulkFile(task: BulkTask, text: string): Promise<BulkFileResult> {
  const csv = await readCsv(text, { maxRows: MAX_ROWS, findColumn });
  if (!csv.ok) return rejectFile(csv.issue);
  const { header, rows } = csv;
  if (header === undefined) return rejectFile({ code: 'empty' });
  const columns = header.cells.map(findColumn);
  const issues = findHeaderIssues(task, header, columns);
  if (issues.length > 0) return { ok: false, issues };
  if (rows.length === 0) return rejectFile({ code: 'empty' });
  const parsedRows: ParsedRow[] = [];
  for await (const row of iterateWithPauses(rows)) parsedRows.push(parseRow(task, columns, row));
  return resolveDuplicates(parsedRows);
}

function rejectFile(issue: FileIssue): BulkFileResult {
  return { ok: false, issues: [issue] };
}

function findHeaderIssues(
  task: BulkTask,
  { line, cells }: CsvRecord,
  columns: readonly string[],
): FileIssue[] {
  const taskColumns = BULK_COLUMNS[task];
  if (!columns.some(isBulkColumn) && (cells[0] ?? '').includes('.')) return [{ code: 'no_header', line }];
  const knownColumns = columns.filter(isBulkColumn);
  return [
    ...columns.flatMap((column, index): FileIssue[] => {
      if (isBulkColumn(column))
        return taskColumns.includes(column) ? [] : [{ code: 'column_of_other_task', line, column }];
      return [{ code: 'unknown_column', line, column: cells[index] ?? '' }];
    }),
    ...taskColumns
      .filter((column) => !OPTIONAL_COLUMNS.has(column) && !knownColumns.includes(column))
      .map((column): FileIssue => ({ code: 'missing_column', line, column })),
  ];
}

type CellsByColumn = Readonly<Partial<{ [Column in BulkColumn]: string }>>;
interface ParsedRow {
  readonly row: BulkRow | BadRow;
  /** Equal for rows with the same values. */
  readonly comparisonKey: string;
}

function parseRow(
  task: BulkTask,
  columns: readonly string[],
  { line, cells, rawCells }: CsvRecord,
): ParsedRow {
  const cellsByColumn: CellsByColumn = Object.fromEntries(
    // An auth code can begin with any character, so its raw cell is used.
    columns.map((column, index) => [column, (column === 'auth' ? rawCells : cells)[index] ?? '']),
  );
  const name = cellsByColumn.name ?? '';
  const reject = (issues: readonly RowIssue[]): ParsedRow => ({
    row: { line, name, issues },
    comparisonKey: '',
  });
  if (hasExtraCells(cells, columns)) return reject([{ code: 'too_many_cells' }]);
  const authCodeResult =
    task === 'transfer' ? parseAuthCode(cellsByColumn.auth ?? '') : { secret: undefined };
  const checkResult = getOrderTask(task).check(buildTaskInput(task, cellsByColumn));
  if (!checkResult.ok || 'issue' in authCodeResult)
    return reject([
      ...(checkResult.ok ? [] : checkResult.issues),
      ...('issue' in authCodeResult ? [authCodeResult.issue] : []),
    ]);
  const { input } = checkResult;
  const [asciiName = name] = checkResult.names;
  return {
    row: { line, name: asciiName, input, secret: authCodeResult.secret },
    comparisonKey: JSON.stringify([input, cellsByColumn.auth]),
  };
}

function buildTaskInput(
  task: BulkTask,
  { name, period, ownerc, adminc, techc, nameservers }: CellsByColumn,
): unknown {
  const nameServers = (nameservers ?? '').split(/[\s|;,]+/).filter((server) => server !== '');
  switch (task) {
    case 'renew':
      return { names: [name], period: period === undefined || period === '' ? 1 : period };
    case 'delete':
      return { name };
    case 'nameservers':
      return { name, nameServers };
    case 'create':
    case 'transfer':
      return { name, ownerc, adminc, techc, nameServers };
  }
}

/** Stricter than the transfer form, which has the limit of all secrets (`MAX_SECRET_LENGTH`). */
const MAX_AUTH_CODE_LENGTH = 255;

function parseAuthCode(text: string): { readonly secret: Secret } | { readonly issue: RowIssue } {
  if (text === '') return { issue: { code: 'no_auth_code' } };
  if (text.length > MAX_AUTH_CODE_LENGTH) return { issue: { code: 'auth_code_too_long' } };
  return /[\p{Cc}\p{Cs}]/u.test(text)
    ? { issue: { code: 'auth_code_invisible_character' } }
    : { secret: new Secret(text) };
}

/** Keeps the first of identical rows, and rejects rows that have the same name but different values. */
function resolveDuplicates(parsedRows: readonly ParsedRow[]): BulkFileResult {
  const validRows = parsedRows.filter(({ row }) => !('issues' in row));
  const rowsByName = groupBy(validRows, ({ row }) => row.name);
  const rows: BulkRow[] = [];
  const badRows: BadRow[] = [];
  for (const { row, comparisonKey } of parsedRows) {
    if ('issues' in row) {
      badRows.push(row);
      continue;
    }
    const rowsWithName = rowsByName.get(row.name) ?? [];
    const conflictingRow = rowsWithName.find((other) => other.comparisonKey !== comparisonKey)?.row;
    const firstRow = rowsWithName[0]?.row ?? row;
    if (conflictingRow !== undefined)
      badRows.push(toBadRow(row, { code: 'conflict', line: conflictingRow.line }));
    else if (firstRow !== row) badRows.push(toBadRow(row, { code: 'repeated', line: firstRow.line }));
    else rows.push(row);
  }
  return { ok: true, rows, badRows };
}

function toBadRow({ line, name }: BulkRow, issue: RowIssue): BadRow {
  return { line, name, issues: [issue] };
}
