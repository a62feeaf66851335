import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { isHeading } from './csv-headings.ts';
import { cleanText } from './typed-text.ts';

/** Reads CSV files of spreadsheets from any country. A malicious file can't block the event loop. */

export const MAX_CSV_BYTES = 4_000_000;
/** Real files have a dozen. */
const MAX_COLUMNS = 100;
/** In characters. */
const MAX_CELL_LENGTH = 10_000;
const CHUNK_BYTES = 16_384;
/** Time between yields to the event loop. */
const TURN_MS = 10;

/** Some spreadsheets declare the separator in the first line. */
export const SEPARATOR_LINE = /^\s*"?sep=([,;|\t])"?[,;\s]*$/i;

export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  /** Cells including their formula guard. */
  readonly raw: readonly string[];
}

export type CsvIssue =
  /** The text stops being CSV at this line, for example after an unclosed quote. */
  | { readonly line: number; readonly code: 'not_csv' }
  | { readonly line: number; readonly code: 'repeated_column'; readonly column: string }
  /** Another list starts here, maybe with other columns. */
  | { readonly line: number; readonly code: 'second_header' }
  | {
      readonly line: number;
      readonly code: 'too_many_bytes' | 'too_many_columns' | 'too_many_rows' | 'long_cell';
      readonly limit: number;
    };

export type UnreadableFile =
  | { readonly code: 'not_text'; readonly line: number }
  | { readonly code: 'too_large'; readonly maxBytes: number };

export type ReadCsv =
  | { readonly ok: true; readonly header: CsvRecord | undefined; readonly rows: readonly CsvRecord[] }
  | { readonly ok: false; readonly issue: CsvIssue };

export interface CsvOptions {
  /** Rows below the header, including blank ones. */
  readonly maxRows: number;
  readonly findColumn: (heading: string) => string;
}

/** Usually an unquoted comma inside a value. */
export function hasMoreCells(cells: readonly string[], columns: readonly string[]): boolean {
  return cells.slice(columns.length).some((cell) => cell !== '');
}

/** Stops the parser at the first refused line. */
class CsvRefusal extends Error {
  override readonly name = 'CsvRefusal';
  readonly issue: CsvIssue;

  constructor(issue: CsvIssue) {
    super(issue.code);
    this.issue = issue;
  }
}

/** A prefix that keeps spreadsheets from reading a cell as a formula. It isn't part of the value. */
const FORMULA_GUARD = /^'(?=[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

/** UTF-8 or UTF-16 in either byte order, with or without a byte order mark. */
export function decodeFile(
  bytes: Uint8Array,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly issue: UnreadableFile } {
  if (bytes.length > MAX_CSV_BYTES)
    return { ok: false, issue: { code: 'too_large', maxBytes: MAX_CSV_BYTES } };
  const label = detectEncoding(bytes);
  const nul = label === 'utf-8' ? bytes.indexOf(0) : -1;
  const readable = nul === -1 ? bytes : bytes.subarray(0, nul);
  try {
    const text = new TextDecoder(label, { fatal: true }).decode(readable);
    const end = nul === -1 ? text.indexOf('\0') : text.length;
    return end === -1 ? { ok: true, text } : { ok: false, issue: notText(text.slice(0, end)) };
  } catch {
    return { ok: false, issue: notText(readableStart(readable)) };
  }
}

/** Without a byte order mark, every other byte of ASCII in UTF-16 is zero. */
function detectEncoding(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  const start = Buffer.from(bytes.subarray(0, 4)).toString('hex');
  if (/^fffe|^(?!00)..00(?!00)..00$/.test(start)) return 'utf-16le';
  return /^feff|^00(?!00)..00(?!00)..$/.test(start) ? 'utf-16be' : 'utf-8';
}

function notText(before: string): UnreadableFile {
  return { code: 'not_text', line: before.split(/\r\n|\n|\r/).length };
}

/** The text before the first invalid UTF-8 byte. */
function readableStart(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8').decode(bytes);
  const at = text.indexOf('\ufffd');
  return at === -1 ? text : text.slice(0, at);
}

/**
 * Columns may be separated by commas, semicolons, tabs or bars; line endings may be mixed. Stops at the first line over
 * a limit.
 */
export async function readCsv(text: string, options: CsvOptions): Promise<ReadCsv> {
  if (Buffer.byteLength(text) > MAX_CSV_BYTES)
    return { ok: false, issue: { line: 1, code: 'too_many_bytes', limit: MAX_CSV_BYTES } };
  const { content, header: first, delimiter } = detectLayout(text);
  const bytes = Buffer.from(content);
  // Parsing a header with many columns would be slow.
  if (first.split(delimiter, MAX_COLUMNS + 1).length > MAX_COLUMNS)
    return { ok: false, issue: { line: 1, code: 'too_many_columns', limit: MAX_COLUMNS } };
  const records: CsvRecord[] = [];
  let parsed = 0;
  const parser = parse({
    delimiter,
    record_delimiter: '\n',
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    on_record: (raw: readonly string[], { lines }: { readonly lines: number }) => {
      const issue = limitIssue(raw, lines, parsed, options.maxRows);
      if (issue !== undefined) throw new CsvRefusal(issue);
      parsed += 1;
      const line = lines - raw.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0);
      const cells = raw.map((cell) => cleanText(cell.replace(FORMULA_GUARD, '')).trim());
      const filled = cells.filter((cell) => cell !== '');
      if (records.length > 0 && filled.length > 1 && filled.every(isHeading))
        throw new CsvRefusal({ line, code: 'second_header' });
      // Spreadsheets write rows of empty cells.
      if (filled.length > 0) records.push({ line, cells, raw });
      return null;
    },
  });
  try {
    await pipeline(splitIntoChunks(bytes), parser);
  } catch (error) {
    if (error instanceof CsvRefusal) return { ok: false, issue: error.issue };
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error;
    return { ok: false, issue: { line: typeof lines === 'number' ? lines : 1, code: 'not_csv' } };
  }
  const [top, ...rows] = records;
  // Spreadsheets also write columns of empty cells.
  const columns = (top?.cells.findLastIndex((cell) => cell !== '') ?? 0) + 1;
  const header = top && { ...top, cells: top.cells.slice(0, columns) };
  const repeated = header && repeatedColumn(header, options.findColumn);
  return repeated === undefined ? { ok: true, header, rows } : { ok: false, issue: repeated };
}

/** @param before number of lines before this one */
function limitIssue(
  cells: readonly string[],
  line: number,
  before: number,
  maxRows: number,
): CsvIssue | undefined {
  if (cells.length > MAX_COLUMNS) return { line, code: 'too_many_columns', limit: MAX_COLUMNS };
  if (before > maxRows) return { line, code: 'too_many_rows', limit: maxRows };
  if (cells.some(({ length }) => length > MAX_CELL_LENGTH))
    return { line, code: 'long_cell', limit: MAX_CELL_LENGTH };
  return undefined;
}

function repeatedColumn(
  { line, cells }: CsvRecord,
  findColumn: CsvOptions['findColumn'],
): CsvIssue | undefined {
  const columns = cells.map(findColumn).filter((column) => column !== '');
  const repeated = columns.find((column, at) => columns.indexOf(column) !== at);
  return repeated === undefined ? undefined : { line, code: 'repeated_column', column: repeated };
}

/** Normalizes line endings, and finds the first non-blank line and the separator. */
function detectLayout(text: string): {
  readonly content: string;
  readonly header: string;
  readonly delimiter: string;
} {
  const even = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const [first = ''] = FILLED_LINE.exec(even) ?? [];
  const [, named] = SEPARATOR_LINE.exec(first) ?? [];
  // Blanked instead of removed, to keep line numbers.
  const content = named === undefined ? even : even.replace(first, '');
  const [header = ''] = named === undefined ? [first] : (FILLED_LINE.exec(content) ?? []);
  const bare = header.replace(/"[^"]*"/g, '');
  const [likely = ','] = [',', ';', '\t', '|'].sort((a, b) => bare.split(b).length - bare.split(a).length);
  return { content, header, delimiter: named ?? likely };
}

const FILLED_LINE = /^.*\S.*$/m;

async function* splitIntoChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    await nextTurn();
    yield bytes.subarray(at, at + CHUNK_BYTES);
  }
}

/** Yields to the event loop between items. */
export async function* iterateYielding<T>(items: readonly T[]): AsyncGenerator<T> {
  let since = performance.now();
  for (const item of items) {
    yield item;
    if (performance.now() - since < TURN_MS) continue;
    await nextTurn();
    since = performance.now();
  }
}
