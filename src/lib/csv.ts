import { pipeline } from 'node:stream/promises';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { isHeading } from './csv-headings.ts';
import { cleanText } from './entered-text.ts';

/** Reads CSV files from spreadsheets in any locale. A malicious file can't block the event loop. */

export const MAX_CSV_BYTES = 4_000_000;
/** Typical files have about 12. */
const MAX_COLUMNS = 100;
const MAX_CELL_CHARACTERS = 10_000;
const CHUNK_BYTES = 16_384;
/** How often parsing pauses to let other requests run. */
const YIELD_INTERVAL_MS = 10;

/** Some spreadsheets declare the delimiter in the first line. */
export const DELIMITER_LINE = /^\s*"?sep=([,;|\t])"?[,;\s]*$/i;

export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  /** Cells with their formula guard. */
  readonly rawCells: readonly string[];
}

export type CsvIssue =
  /** Syntax error at this line, for example an unclosed quote. */
  | { readonly line: number; readonly code: 'not_csv' }
  | { readonly line: number; readonly code: 'duplicate_column'; readonly column: string }
  /** Another list starts here, possibly with other columns. */
  | { readonly line: number; readonly code: 'second_header' }
  | {
      readonly line: number;
      readonly code: 'too_many_bytes' | 'too_many_columns' | 'too_many_rows' | 'cell_too_long';
      readonly limit: number;
    };

export type UnreadableFileIssue =
  | { readonly code: 'not_text'; readonly line: number }
  | { readonly code: 'too_large'; readonly maxBytes: number };

export type CsvResult =
  | { readonly ok: true; readonly header: CsvRecord | undefined; readonly rows: readonly CsvRecord[] }
  | { readonly ok: false; readonly issue: CsvIssue };

export interface CsvOptions {
  /** Rows below the header, including blank ones. */
  readonly maxRows: number;
  readonly findColumn: (heading: string) => string;
}

/** Extra cells usually come from an unquoted comma inside a value. */
export function hasExtraCells(cells: readonly string[], columns: readonly string[]): boolean {
  return cells.slice(columns.length).some((cell) => cell !== '');
}

/** Thrown to stop the parser. */
class CsvIssueError extends Error {
  override readonly name = 'CsvIssueError';
  readonly issue: CsvIssue;

  constructor(issue: CsvIssue) {
    super(issue.code);
    this.issue = issue;
  }
}

/** A prefix that keeps spreadsheets from reading a cell as a formula. It isn't part of the value. */
const FORMULA_GUARD = /^'(?=[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

/** Accepts UTF-8, and UTF-16 in either byte order, with or without a byte order mark. */
export function decodeFile(
  bytes: Uint8Array,
):
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly issue: UnreadableFileIssue } {
  if (bytes.length > MAX_CSV_BYTES)
    return { ok: false, issue: { code: 'too_large', maxBytes: MAX_CSV_BYTES } };
  const encoding = detectEncoding(bytes);
  const nulIndex = encoding === 'utf-8' ? bytes.indexOf(0) : -1;
  const bytesBeforeNul = nulIndex === -1 ? bytes : bytes.subarray(0, nulIndex);
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytesBeforeNul);
    const end = nulIndex === -1 ? text.indexOf('\0') : text.length;
    return end === -1 ? { ok: true, text } : { ok: false, issue: createNotTextIssue(text.slice(0, end)) };
  } catch {
    return { ok: false, issue: createNotTextIssue(decodeValidStart(bytesBeforeNul)) };
  }
}

/** Even without a byte order mark, ASCII in UTF-16 can be recognized: every other byte is zero. */
function detectEncoding(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  const start = Buffer.from(bytes.subarray(0, 4)).toString('hex');
  if (/^fffe|^(?!00)..00(?!00)..00$/.test(start)) return 'utf-16le';
  return /^feff|^00(?!00)..00(?!00)..$/.test(start) ? 'utf-16be' : 'utf-8';
}

function createNotTextIssue(textBefore: string): UnreadableFileIssue {
  return { code: 'not_text', line: textBefore.split(/\r\n|\n|\r/).length };
}

/** Decodes the text before the first invalid UTF-8 byte. */
function decodeValidStart(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8').decode(bytes);
  const end = text.indexOf('\ufffd');
  return end === -1 ? text : text.slice(0, end);
}

/**
 * Columns may be separated by commas, semicolons, tabs or vertical bars. Line endings may be mixed. Stops at the first
 * line that exceeds a limit.
 */
export async function readCsv(text: string, options: CsvOptions): Promise<CsvResult> {
  if (Buffer.byteLength(text) > MAX_CSV_BYTES)
    return { ok: false, issue: { line: 1, code: 'too_many_bytes', limit: MAX_CSV_BYTES } };
  const { content, headerLine, delimiter } = detectLayout(text);
  const bytes = Buffer.from(content);
  // Parsing a header with many columns would be slow.
  if (headerLine.split(delimiter, MAX_COLUMNS + 1).length > MAX_COLUMNS)
    return { ok: false, issue: { line: 1, code: 'too_many_columns', limit: MAX_COLUMNS } };
  const records: CsvRecord[] = [];
  let recordCount = 0;
  const parser = parse({
    delimiter,
    record_delimiter: '\n',
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    on_record: (rawCells: readonly string[], { lines }: { readonly lines: number }) => {
      const issue = findLimitIssue(rawCells, lines, recordCount, options.maxRows);
      if (issue !== undefined) throw new CsvIssueError(issue);
      recordCount += 1;
      const line = lines - rawCells.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0);
      const cells = rawCells.map((cell) => cleanText(cell.replace(FORMULA_GUARD, '')).trim());
      const nonEmptyCells = cells.filter((cell) => cell !== '');
      if (records.length > 0 && nonEmptyCells.length > 1 && nonEmptyCells.every(isHeading))
        throw new CsvIssueError({ line, code: 'second_header' });
      // Spreadsheets may write rows of empty cells.
      if (nonEmptyCells.length > 0) records.push({ line, cells, rawCells });
      return null;
    },
  });
  try {
    await pipeline(iterateChunks(bytes), parser);
  } catch (error) {
    if (error instanceof CsvIssueError) return { ok: false, issue: error.issue };
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error;
    return { ok: false, issue: { line: typeof lines === 'number' ? lines : 1, code: 'not_csv' } };
  }
  const [headerRow, ...rows] = records;
  // Spreadsheets may also write columns of empty cells.
  const columnCount = (headerRow?.cells.findLastIndex((cell) => cell !== '') ?? 0) + 1;
  const header = headerRow && { ...headerRow, cells: headerRow.cells.slice(0, columnCount) };
  const issue = header && findDuplicateColumn(header, options.findColumn);
  return issue === undefined ? { ok: true, header, rows } : { ok: false, issue };
}

function findLimitIssue(
  cells: readonly string[],
  line: number,
  precedingRecordCount: number,
  maxRows: number,
): CsvIssue | undefined {
  if (cells.length > MAX_COLUMNS) return { line, code: 'too_many_columns', limit: MAX_COLUMNS };
  if (precedingRecordCount > maxRows) return { line, code: 'too_many_rows', limit: maxRows };
  if (cells.some(({ length }) => length > MAX_CELL_CHARACTERS))
    return { line, code: 'cell_too_long', limit: MAX_CELL_CHARACTERS };
  return undefined;
}

function findDuplicateColumn(
  { line, cells }: CsvRecord,
  findColumn: CsvOptions['findColumn'],
): CsvIssue | undefined {
  const columns = cells.map(findColumn).filter((column) => column !== '');
  const duplicateColumn = columns.find((column, index) => columns.indexOf(column) !== index);
  return duplicateColumn === undefined
    ? undefined
    : { line, code: 'duplicate_column', column: duplicateColumn };
}

/** Normalizes line endings, and finds the header and the delimiter. */
function detectLayout(text: string): {
  readonly content: string;
  readonly headerLine: string;
  readonly delimiter: string;
} {
  const normalizedText = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const [firstLine = ''] = NON_BLANK_LINE.exec(normalizedText) ?? [];
  const [, declaredDelimiter] = DELIMITER_LINE.exec(firstLine) ?? [];
  // Blanked instead of removed, to keep line numbers.
  const content = declaredDelimiter === undefined ? normalizedText : normalizedText.replace(firstLine, '');
  const [headerLine = ''] =
    declaredDelimiter === undefined ? [firstLine] : (NON_BLANK_LINE.exec(content) ?? []);
  const unquotedHeader = headerLine.replace(/"[^"]*"/g, '');
  const [mostFrequent = ','] = [',', ';', '\t', '|'].sort(
    (a, b) => unquotedHeader.split(b).length - unquotedHeader.split(a).length,
  );
  return { content, headerLine, delimiter: declaredDelimiter ?? mostFrequent };
}

const NON_BLANK_LINE = /^.*\S.*$/m;

async function* iterateChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    await yieldToEventLoop();
    yield bytes.subarray(start, start + CHUNK_BYTES);
  }
}

/** Yields to the event loop every {@link YIELD_INTERVAL_MS}. */
export async function* iterateWithPauses<T>(items: readonly T[]): AsyncGenerator<T> {
  let lastYield = performance.now();
  for (const item of items) {
    yield item;
    if (performance.now() - lastYield < YIELD_INTERVAL_MS) continue;
    await yieldToEventLoop();
    lastYield = performance.now();
  }
}
