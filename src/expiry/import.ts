import {
  type CsvIssue,
  type CsvRecord,
  DELIMITER_LINE,
  hasExtraCells,
  iterateWithPauses,
  readCsv,
} from '../lib/csv.ts';
import { findColumn, isHeading } from '../lib/csv-headings.ts';
import { type DateIssue, parseEnteredDate } from '../lib/entered-date.ts';
import { cleanText, shortenText } from '../lib/entered-text.ts';
import { type DomainName, parseDomainName } from '../zones/names.ts';
import { checkRegistrable } from '../zones/rules.ts';
import type { ZoneIssue } from '../zones/zone-issue.ts';

export interface ImportedName {
  readonly name: string;
  /** Midnight UTC if a day was entered. */
  readonly expiresAt?: Date;
}

export interface RejectedLine {
  readonly line: number;
  /** The line's text, truncated. */
  readonly text: string;
  readonly issue: LineIssue;
}

export interface InvalidNameIssue {
  readonly code: 'invalid_name';
  readonly issue: ZoneIssue;
}

export type LineIssue =
  | InvalidNameIssue
  | DateIssue
  | { readonly code: 'open_quote' | 'too_many_cells' }
  /** An earlier line has the same name with a different date. */
  | { readonly code: 'conflicting_date' }
  | { readonly code: 'too_many_lines'; readonly limit: number };

type ParseResult<T, Issue> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issue: Issue };

export type ListIssue =
  | CsvIssue
  | { readonly line: number; readonly code: 'unknown_headings'; readonly headings: readonly string[] }
  | { readonly line: number; readonly code: 'missing_name_column' };

export interface ImportReport {
  readonly accepted: readonly ImportedName[];
  readonly rejected: readonly RejectedLine[];
  /** Lines that repeat a name. A repeated line can add the name's date. */
  readonly duplicates: readonly { readonly line: number; readonly name: string }[];
  /** Column headings that were ignored. */
  readonly unusedHeadings: readonly string[];
  /** Whether the file has headings that were ignored, but none for the expiry. */
  readonly lacksExpiry: boolean;
}

export const MAX_IMPORT_LINES = 50_000;

/** Only this many characters of a line are searched for headings. */
const MAX_HEADER_LENGTH = 10_000;

interface ImportLine {
  readonly line: number;
  readonly text: string;
  readonly result: ParseResult<{ readonly name: string; readonly date: string }, LineIssue>;
}

/**
 * Parses a CSV file with a header, or a list without one: one name per line, with an optional date after a
 * comma, semicolon, tab or space. Empty lines are ignored. In a list and above a header, lines that start
 * with `#` are also ignored.
 * @param text with any line endings
 */
export async function parseWatchListImport(
  text: string,
): Promise<ImportReport | { readonly issue: ListIssue }> {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const isSkipped = (line: string) => line.trim() === '' || line.trim().startsWith('#');
  const firstLineIndex = lines.findIndex((line) => !isSkipped(line) && !DELIMITER_LINE.test(line));
  const firstCells = splitAtSeparators(lines[firstLineIndex] ?? '');
  if (firstCells.some(isHeading)) {
    const linesAbove = lines
      .slice(0, firstLineIndex)
      .map((line) => (line.trim().startsWith('#') ? '' : line));
    return parseTable([...linesAbove, ...lines.slice(firstLineIndex)].join('\n'));
  }
  if (firstCells.length > 1 && !firstCells.some(isNameOrDate))
    return { issue: { line: firstLineIndex + 1, code: 'unknown_headings', headings: firstCells } };
  const importLines: ImportLine[] = [];
  for await (const [index, rawLine] of iterateWithPauses([...lines.slice(0, MAX_IMPORT_LINES).entries()])) {
    if (isSkipped(rawLine) || index < firstLineIndex) continue;
    const cells = splitAtSeparators(rawLine);
    if (cells.length > 1 && cells.every(isHeading))
      return { issue: { line: index + 1, code: 'second_header' } };
    const content = cleanText(rawLine).trim();
    importLines.push({ line: index + 1, text: shortenText(content), result: parseListLine(content) });
  }
  const report = buildReport(importLines);
  if (lines.slice(MAX_IMPORT_LINES).every(isSkipped)) return report;
  const issue = { code: 'too_many_lines', limit: MAX_IMPORT_LINES } as const;
  return { ...report, rejected: [...report.rejected, { line: MAX_IMPORT_LINES + 1, text: '', issue }] };
}

/** Parses the rows below a header. */
async function parseTable(text: string): Promise<ImportReport | { readonly issue: ListIssue }> {
  const csv = await readCsv(text, { maxRows: MAX_IMPORT_LINES, findColumn });
  if (!csv.ok) return { issue: csv.issue };
  const { line = 1, cells: headings = [] } = csv.header ?? {};
  const unknownHeadings = headings.filter((heading) => !isHeading(heading));
  if (unknownHeadings.length > 0)
    return { issue: { line, code: 'unknown_headings', headings: unknownHeadings } };
  const columns = headings.map(findColumn);
  const [nameIndex, dateIndex] = [columns.indexOf('name'), columns.indexOf('expires')];
  if (nameIndex === -1) return { issue: { line, code: 'missing_name_column' } };
  const parseRecord = ({ cells }: CsvRecord): ImportLine['result'] =>
    hasExtraCells(cells, columns)
      ? { ok: false, issue: { code: 'too_many_cells' } }
      : { ok: true, value: { name: cells[nameIndex] ?? '', date: cells[dateIndex] ?? '' } };
  const lines: ImportLine[] = [];
  for await (const row of iterateWithPauses(csv.rows))
    lines.push({ line: row.line, text: shortenText(row.cells.join(', ')), result: parseRecord(row) });
  const unusedHeadings = headings.filter((_, index) => index !== nameIndex && index !== dateIndex);
  const lacksExpiry = dateIndex === -1 && unusedHeadings.length > 0;
  return { ...buildReport(lines), unusedHeadings, lacksExpiry };
}

/** Accepts each name once, and reports every line that isn't accepted. */
function buildReport(lines: readonly ImportLine[]): ImportReport {
  const accepted = new Map<string, ImportedName>();
  const rejected: RejectedLine[] = [];
  const duplicates: { line: number; name: string }[] = [];
  for (const { line, text, result: cellsResult } of lines) {
    const parsed = cellsResult.ok ? parseCells(cellsResult.value) : cellsResult;
    if (!parsed.ok) {
      rejected.push({ line, text, issue: parsed.issue });
      continue;
    }
    const { name, expiresAt } = parsed.value;
    const earlierEntry = accepted.get(name);
    if (earlierEntry?.expiresAt && expiresAt && earlierEntry.expiresAt.getTime() !== expiresAt.getTime()) {
      rejected.push({ line, text, issue: { code: 'conflicting_date' } });
      continue;
    }
    if (earlierEntry !== undefined) duplicates.push({ line, name });
    if (earlierEntry?.expiresAt === undefined) accepted.set(name, parsed.value);
  }
  return { accepted: [...accepted.values()], rejected, duplicates, unusedHeadings: [], lacksExpiry: false };
}

/** Splits a line at any separator, to distinguish a header from a row. */
function splitAtSeparators(line: string): string[] {
  const cells = line.slice(0, MAX_HEADER_LENGTH).split(/[,;|\t]/);
  return cells.map((cell) => cleanText(cell).replaceAll('"', '').trim()).filter((cell) => cell !== '');
}

function isNameOrDate(cell: string): boolean {
  return /[^.\s]\.[^.\s]/.test(cell) || parseEnteredDate(cell).ok;
}

/** Splits a line of a list into name and date. */
function parseListLine(line: string): ImportLine['result'] {
  const [name = ''] = /^(?:"[^"]*"|[^\s,;"]*)/.exec(line) ?? [];
  const remainder = line.slice(name.length);
  const [, quotedDate] = /^[\s,;]*"([^"]*)"[\s,;]*$/.exec(remainder) ?? [];
  if (quotedDate === undefined && remainder.includes('"')) {
    const isQuoteOpen = remainder.split('"').length % 2 === 0;
    return { ok: false, issue: { code: isQuoteOpen ? 'open_quote' : 'too_many_cells' } };
  }
  const cells = quotedDate === undefined ? remainder.split(/[,;\t]/) : [quotedDate];
  const [date = '', ...extraCells] = cells.map((cell) => cell.trim()).filter((cell) => cell !== '');
  return extraCells.length > 0
    ? { ok: false, issue: { code: 'too_many_cells' } }
    : { ok: true, value: { name: name.replaceAll('"', ''), date } };
}

function parseCells({
  name: nameText,
  date: dateText,
}: {
  readonly name: string;
  readonly date: string;
}): ParseResult<ImportedName, InvalidNameIssue | DateIssue> {
  const parsedName = parseRegistrableName(nameText);
  if (!parsedName.ok) return parsedName;
  if (dateText === '') return { ok: true, value: { name: parsedName.value.ascii } };
  const date = parseEnteredDate(dateText);
  return date.ok ? { ok: true, value: { name: parsedName.value.ascii, expiresAt: date.value } } : date;
}

export interface NamesToWatch {
  readonly names: readonly string[];
  /** As entered; undefined unless there is a single name. */
  readonly date: string | undefined;
}
export type NamesToWatchProblem =
  | { readonly code: 'no_names' | 'date_with_many_names' }
  | { readonly code: 'too_many_names'; readonly limit: number };

/** Longer lists must be imported as a file. */
const MAX_NAMES_PER_COMMAND = 50;

/** Parses the words of a command: names, or one name and a date. */
export function parseNamesToWatch(
  words: readonly string[],
): NamesToWatch | { readonly problem: NamesToWatchProblem } {
  const items = words.flatMap((word) => word.split(/[,;]+/)).filter((item) => item !== '');
  const [first, second] = items;
  // A top-level domain doesn't start with a digit, and a date has only digits after a dot.
  const isName = (item: string) => /\.[^.\d]/.test(item);
  if (items.length === 2 && first !== undefined && second !== undefined && !isName(second))
    return { names: [first], date: second };
  const names = [
    ...new Set(items.filter((item) => !parseEnteredDate(item).ok).map((name) => name.toLowerCase())),
  ];
  if (names.length === 0) return { problem: { code: 'no_names' } };
  if (names.length > MAX_NAMES_PER_COMMAND)
    return { problem: { code: 'too_many_names', limit: MAX_NAMES_PER_COMMAND } };
  if (items.some((item) => parseEnteredDate(item).ok)) return { problem: { code: 'date_with_many_names' } };
  return { names, date: undefined };
}

/** Parses a name that can be registered, and therefore watched. */
export function parseRegistrableName(text: string): ParseResult<DomainName, InvalidNameIssue> {
  const parsedName = parseName(text);
  if (!parsedName.ok) return parsedName;
  const [issue] = checkRegistrable(parsedName.value);
  return issue === undefined ? parsedName : { ok: false, issue: { code: 'invalid_name', issue } };
}

/** Parses a name without checking its zone's rules. */
export function parseName(text: string): ParseResult<DomainName, InvalidNameIssue> {
  const parsedName = parseDomainName(text);
  return parsedName.ok ? parsedName : { ok: false, issue: { code: 'invalid_name', issue: parsedName.issue } };
}
