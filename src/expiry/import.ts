import { type DomainName, parseDomainName } from '../zones/names.ts';
import { checkName } from '../zones/rules.ts';
import type { ZoneIssue } from '../zones/zone-issue.ts';

/** A name taken from a pasted list. */
export interface ImportedName {
  /** In ASCII. */
  readonly name: string;
  /** Midnight UTC of the day that was given, or the moment. */
  readonly expiresAt?: Date;
}

/** A line that was not taken. */
export interface RejectedLine {
  /** From 1. */
  readonly line: number;
  /** The line's text, shortened. */
  readonly text: string;
  readonly issue: LineIssue;
}

/** What is wrong with a name that is to be watched. */
export interface NameIssue {
  readonly code: 'invalid_name';
  readonly issue: ZoneIssue;
}

/** What is wrong with a date, and the date as it was typed, shortened. */
export interface DateIssue {
  readonly code: 'ambiguous_date' | 'not_a_date' | 'no_such_day' | 'unlikely_year' | 'no_such_time';
  readonly text: string;
}

/** Why a line was not taken. */
export type LineIssue =
  | NameIssue
  | DateIssue
  | { readonly code: 'open_quote' }
  /** The name stands further up with another date. */
  | { readonly code: 'other_date' }
  /** Only this many lines of a list are read. */
  | { readonly code: 'too_many_lines'; readonly limit: number };

/** The result of reading a text: its value, or what is wrong with it. */
type Read<T, Issue> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issue: Issue };

/** The result of reading a pasted list, in the order of its lines. */
export interface ImportReport {
  readonly accepted: readonly ImportedName[];
  readonly rejected: readonly RejectedLine[];
  /** Lines that repeat a name and add nothing. */
  readonly duplicates: readonly { readonly line: number; readonly name: string }[];
}

/** Lines of one import. */
export const MAX_IMPORT_LINES = 50_000;

const SHOWN_TEXT = 80;
const FIRST_YEAR = 1985;
const LAST_YEAR = 2200;
const NAME_HEADERS: ReadonlySet<string> = new Set([
  'name',
  'names',
  'domain',
  'domains',
  'domain name',
  'domainname',
]);
const DATE_HEADERS =
  /^(?:date|expir(?:y|es|ation|es at|es on|y date|ation date)|expires?_?(?:at|on)|(?:expiry|expiration)_?date|renewal date|paid until|valid until)$/;

interface Columns {
  readonly name: number;
  readonly date: number | undefined;
}

/**
 * Reads a pasted list or a CSV file: one name a line, with an optional date after a comma, semicolon, tab or blank.
 * A header line may name the columns; other columns are then ignored. Empty lines and lines that start with `#` are
 * ignored too.
 * @param text as it was pasted, with or without a byte order mark, with any line ends
 */
export function parseImport(text: string): ImportReport {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const accepted = new Map<string, ImportedName>();
  const rejected: RejectedLine[] = [];
  const duplicates: { line: number; name: string }[] = [];
  let columns: Columns = { name: 0, date: 1 };
  let headerPossible = true;

  for (const [index, raw] of lines.slice(0, MAX_IMPORT_LINES).entries()) {
    const line = index + 1;
    const content = raw.trim();
    if (content === '' || content.startsWith('#')) continue;
    const reject = (issue: LineIssue) => rejected.push({ line, text: cut(content), issue });

    const cells = splitLine(content);
    if (cells === undefined) {
      reject({ code: 'open_quote' });
      continue;
    }
    const header = headerPossible ? readHeader(cells) : undefined;
    headerPossible = false;
    if (header) {
      columns = header;
      continue;
    }

    const read = readCells(cells, columns);
    if (!read.ok) {
      reject(read.issue);
      continue;
    }
    const { name, expiresAt } = read.value;
    const before = accepted.get(name);
    if (before?.expiresAt && expiresAt && before.expiresAt.getTime() !== expiresAt.getTime()) {
      reject({ code: 'other_date' });
    } else if (before && (before.expiresAt || !expiresAt)) {
      duplicates.push({ line, name });
    } else {
      accepted.set(name, read.value);
    }
  }
  if (lines.length > MAX_IMPORT_LINES && lines.slice(MAX_IMPORT_LINES).some((raw) => raw.trim() !== '')) {
    rejected.push({
      line: MAX_IMPORT_LINES + 1,
      text: '',
      issue: { code: 'too_many_lines', limit: MAX_IMPORT_LINES },
    });
  }
  return { accepted: [...accepted.values()], rejected, duplicates };
}

/**
 * Reads the day of an expiry as people and exports write it: `2027-03-01`, `01.03.2027`, or a timestamp such as
 * `2027-03-01T12:00:00Z` (without an offset: UTC). A date that can be read in two ways is refused.
 * @returns the moment, midnight UTC for a day; or what is wrong.
 */
export function parseExpiryDate(text: string): Read<Date, DateIssue> {
  const trimmed = text.trim();
  const iso =
    /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|[+-]\d{2}:?\d{2}|UTC)?)?$/i.exec(
      trimmed,
    );
  const german = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(trimmed);
  if (iso) {
    const [, year = '', month = '', day = '', time, zone] = iso;
    return checkedDate(trimmed, year, month, day, time, zone);
  }
  if (german) {
    const [, day = '', month = '', year = ''] = german;
    return checkedDate(trimmed, year, month.padStart(2, '0'), day.padStart(2, '0'));
  }
  if (/^\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}$/.test(trimmed)) {
    return dateIssue('ambiguous_date', trimmed);
  }
  return dateIssue('not_a_date', trimmed);
}

function checkedDate(
  text: string,
  year: string,
  month: string,
  day: string,
  time = '00:00',
  zone = 'Z',
): Read<Date, DateIssue> {
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.getUTCDate() !== Number(day)) {
    return dateIssue('no_such_day', text);
  }
  if (Number(year) < FIRST_YEAR || Number(year) > LAST_YEAR) {
    return dateIssue('unlikely_year', text);
  }
  const offset = /^(?:Z|UTC)$/i.test(zone) ? 'Z' : zone.replace(/^(.\d{2}):?/, '$1:');
  const moment = new Date(`${year}-${month}-${day}T${time}${offset}`);
  if (Number.isNaN(moment.getTime())) {
    return dateIssue('no_such_time', text);
  }
  return { ok: true, value: moment };
}

function readCells(cells: readonly string[], columns: Columns): Read<ImportedName, NameIssue | DateIssue> {
  const name = registrableName(cells[columns.name] ?? '');
  if (!name.ok) return name;
  const dateText = columns.date === undefined ? '' : (cells[columns.date] ?? '');
  if (dateText === '') return { ok: true, value: { name: name.value.ascii } };
  const date = parseExpiryDate(dateText);
  return date.ok ? { ok: true, value: { name: name.value.ascii, expiresAt: date.value } } : date;
}

/** Reads a name that can be registered and therefore watched. The issue is what its zone has against it. */
export function registrableName(text: string): Read<DomainName, NameIssue> {
  const name = readName(text);
  if (!name.ok) return name;
  const [first] = checkName(name.value);
  return first === undefined ? name : { ok: false, issue: { code: 'invalid_name', issue: first } };
}

/** Reads a domain name without asking its zone. */
export function readName(text: string): Read<DomainName, NameIssue> {
  const name = parseDomainName(text);
  return name.ok ? name : { ok: false, issue: { code: 'invalid_name', issue: name.issue } };
}

/** The first line is a header when it names a column of names and is not a domain. */
function readHeader(cells: readonly string[]): Columns | undefined {
  const titles = cells.map((cell) => cell.toLowerCase());
  const name = titles.findIndex((title) => NAME_HEADERS.has(title));
  if (name === -1) return undefined;
  const date = titles.findIndex((title) => DATE_HEADERS.test(title));
  return { name, date: date === -1 ? undefined : date };
}

/**
 * Splits a line at the first kind of separator that it has outside of quotes: tab, semicolon, comma, else at the
 * first blank.
 * @returns undefined when a quote is not closed
 */
function splitLine(line: string): string[] | undefined {
  const unquoted = line.replace(/"(?:[^"]|"")*"/g, '');
  if (unquoted.includes('"')) return undefined;
  const separator = ['\t', ';', ','].find((candidate) => unquoted.includes(candidate));
  if (separator === undefined) {
    const blank = /^("(?:[^"]|"")*"|\S+)\s+(.+)$/.exec(line);
    return blank ? [unquote(blank[1] ?? ''), unquote(blank[2] ?? '')] : [unquote(line)];
  }
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  for (const character of line) {
    if (character === '"') quoted = !quoted;
    if (character === separator && !quoted) {
      cells.push(unquote(cell));
      cell = '';
    } else {
      cell += character;
    }
  }
  return [...cells, unquote(cell)];
}

function unquote(cell: string): string {
  const trimmed = cell.trim();
  return trimmed.startsWith('"') && trimmed.endsWith('"') && trimmed.length > 1
    ? trimmed.slice(1, -1).replaceAll('""', '"').trim()
    : trimmed;
}

function cut(text: string): string {
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  return clean.length > SHOWN_TEXT ? `${[...clean].slice(0, SHOWN_TEXT).join('')}…` : clean;
}

function dateIssue(code: DateIssue['code'], text: string): { readonly ok: false; readonly issue: DateIssue } {
  return { ok: false, issue: { code, text: cut(text) } };
}
