import { DAY_MS } from './duration.ts';
import { cleanText, shortenText } from './entered-text.ts';

export interface DateIssue {
  readonly code: 'ambiguous_date' | 'not_a_date' | 'no_such_day' | 'unlikely_year' | 'no_such_time';
  /** Excerpt of the input. */
  readonly text: string;
}

type DateResult =
  | { readonly ok: true; readonly value: Date }
  | { readonly ok: false; readonly issue: DateIssue };

const FIRST_YEAR = 1985;
const LAST_YEAR = 2200;

/** Full and short month names, as spreadsheets write them. */
const MONTHS = new Map<string, string>(
  ['en', 'de', 'de-AT', 'fr', 'es', 'it', 'nl', 'pt', 'sv', 'da', 'pl'].flatMap((locale) =>
    (['long', 'short'] as const).flatMap((month) => {
      const format = new Intl.DateTimeFormat(locale, { day: 'numeric', month, timeZone: 'UTC' });
      return Array.from({ length: 12 }, (_, index): [string, string] => {
        const parts = format.formatToParts(new Date(Date.UTC(2027, index, 1)));
        return [normalizeMonth(parts.find(({ type }) => type === 'month')?.value ?? ''), String(index + 1)];
      });
    }),
  ),
);

function normalizeMonth(word: string): string {
  return word
    .normalize('NFKD')
    .replace(/[\p{M}.]/gu, '')
    .toLowerCase();
}

const TIME_SUFFIX = /[T ]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|[+-]\d{2}:?\d{2}|UTC|GMT)?$/i;
const MAX_DATE_LENGTH = 60;

/**
 * Parses `2027-03-01`, `01.03.2027`, `1 March 2027`, `46447` (a spreadsheet's date number), or a timestamp such as
 * `2027-03-01T12:00:00Z` (UTC by default). Rejects ambiguous dates.
 * @returns the time, or midnight UTC if only a date is given
 */
export function parseEnteredDate(text: string): DateResult {
  const trimmed = cleanText(text).trim();
  if (trimmed.length > MAX_DATE_LENGTH) return rejectDate('not_a_date', trimmed);
  const [, serial] = /^(\d{5})(?:[.,]\d+)?$/.exec(trimmed) ?? [];
  if (serial !== undefined) {
    const day = new Date(Date.UTC(1899, 11, 30) + Number(serial) * DAY_MS);
    return parseEnteredDate(day.toISOString().slice(0, 10));
  }
  const [timeSuffix = '', time, zone] = TIME_SUFFIX.exec(trimmed) ?? [];
  const date = trimmed.slice(0, trimmed.length - timeSuffix.length);
  const isoMatch = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date);
  const dottedMatch = /^(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})$/.exec(date);
  const [year, month, day] =
    isoMatch?.slice(1) ?? dottedMatch?.slice(1).reverse() ?? splitDateWithMonthName(date);
  if (year !== undefined && month !== undefined && day !== undefined)
    return buildDate(trimmed, year, month.padStart(2, '0'), day.padStart(2, '0'), time, zone);
  return rejectDate(
    /^\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}$/.test(date) ? 'ambiguous_date' : 'not_a_date',
    trimmed,
  );
}

function splitDateWithMonthName(date: string): (string | undefined)[] {
  const parts = date
    .toLowerCase()
    .split(/[\s.,/-]+/)
    .filter((part) => part !== '' && part !== 'de');
  if (parts.length !== 3) return [];
  return [
    parts.find((part) => /^\d{4}$/.test(part)),
    parts.map((part) => MONTHS.get(normalizeMonth(part))).find((month) => month !== undefined),
    parts.map((part) => /^(\d{1,2})(?:st|nd|rd|th|er|º)?$/.exec(part)?.[1]).find((day) => day !== undefined),
  ];
}

function buildDate(
  text: string,
  year: string,
  month: string,
  day: string,
  time = '00:00',
  zone = 'Z',
): DateResult {
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.getUTCDate() !== Number(day)) {
    return rejectDate('no_such_day', text);
  }
  if (Number(year) < FIRST_YEAR || Number(year) > LAST_YEAR) {
    return rejectDate('unlikely_year', text);
  }
  const offset = /^(?:Z|UTC|GMT)$/i.test(zone) ? 'Z' : zone.replace(/^(.\d{2}):?/, '$1:');
  const value = new Date(`${year}-${month}-${day}T${time.replace(/^\d:/, '0$&')}${offset}`);
  if (Number.isNaN(value.getTime())) {
    return rejectDate('no_such_time', text);
  }
  return { ok: true, value };
}

function rejectDate(code: DateIssue['code'], text: string): DateResult {
  return { ok: false, issue: { code, text: shortenText(text) } };
}
