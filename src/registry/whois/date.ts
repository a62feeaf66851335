import type { WhoisZoneFormat } from './zones.ts';

/** The order of day and month, as given by a label such as `expires (dd/mm/yyyy)`. */
export type DateOrder = 'day_first' | 'month_first';

interface CalendarDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

const FIRST_YEAR = 1985;
const LAST_YEAR = 2100;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(?<monthName>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const WEEKDAY = '(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?(?:, ?| ))?';
const CLOCK = '(?<hour>\\d{1,2}):(?<minute>\\d{2})(?::(?<second>\\d{2})(?:[.,]\\d{1,9})?)?(?: ?[ap]m)?';
const OFFSET = '[+-]\\d{1,2}(?::?\\d{2})?';
const ZONE = `(?:z|[a-z]{2,5}(?:${OFFSET})?|${OFFSET}(?: ?(?:z|utc|gmt))?|[a-z]+/[a-z_]+)`;
const TIME = `(?:(?: ?-?t|[ :-]|, )${CLOCK}(?: ?${ZONE})?| (?:utc|gmt))?`;
const DAY = '(?<day>\\d{1,2})';
const ORDINAL = '(?:st|nd|rd|th)?';

const compileFullMatch = (source: string) => new RegExp(`^${source}$`, 'i');

/** Formats that have the same meaning in every zone. */
const FORMATS: readonly RegExp[] = [
  compileFullMatch(`(?<year>\\d{4})(?<separator>[-./]) ?(?<month>\\d{1,2})\\k<separator> ?${DAY}\\.?${TIME}`),
  compileFullMatch(
    '(?<year>\\d{4})(?<month>\\d{2})(?<day>\\d{2})(?:[ t]?(?<hour>\\d{2}):?(?<minute>\\d{2}):?(?<second>\\d{2})z?)?',
  ),
  compileFullMatch(`(?<year>\\d{4})[-. /]${MONTH}[-. /]${DAY}\\.?${TIME}`),
  compileFullMatch(
    `${WEEKDAY}${DAY}${ORDINAL}(?:[-. /]|, ?)(?:of )?${MONTH}(?:[-. /]|\\.? |, ?)(?<year>\\d{4})\\.?${TIME}`,
  ),
  compileFullMatch(
    `${WEEKDAY}${MONTH}(?:[-/]|\\.? )${DAY}${ORDINAL}(?:[-/]|,? |,)(?<year>\\d{4})\\.?${TIME}`,
  ),
  compileFullMatch(`${WEEKDAY}${MONTH} ${DAY} ${CLOCK}(?: ${ZONE})? (?<year>\\d{4})`),
];

/** Day and month as numbers, in an order that depends on the zone. */
const NUMERIC_FORMAT = compileFullMatch(
  `(?<first>\\d{1,2})(?<separator>[-./])(?<other>\\d{1,2})\\k<separator>(?<year>\\d{4}|\\d{2})\\.?${TIME}`,
);

/**
 * Validates times and offsets but ignores them, because registries give the day in their own time zone.
 * @returns midnight UTC of the day as written; undefined if the format is unknown
 */
export function parseWhoisDate(
  text: string,
  zoneFormat: WhoisZoneFormat,
  labelDateOrder?: DateOrder,
): Date | undefined {
  // The text may end with a remark such as `(UTC+8)` or `(YYYY-MM-DD)`.
  const trimmed = text
    .replace(/\s+/g, ' ')
    .replace(/ ?\([a-z][^()]*\)$/i, '')
    .trim();
  for (const format of FORMATS) {
    const parts = format.exec(trimmed)?.groups;
    if (parts !== undefined) return isValidTime(parts) ? toDate(readUnambiguousDay(parts)) : undefined;
  }
  const parts = NUMERIC_FORMAT.exec(trimmed)?.groups;
  if (parts === undefined || !isValidTime(parts)) return undefined;
  const day = readNumericDay(parts, zoneFormat, labelDateOrder);
  return day && toDate(day);
}

function readUnambiguousDay({
  year,
  month,
  monthName,
  day,
}: Record<string, string | undefined>): CalendarDate {
  const monthNumber = monthName ? MONTHS.indexOf(monthName.slice(0, 3).toLowerCase()) + 1 : Number(month);
  return { year: Number(year), month: monthNumber, day: Number(day) };
}

function readNumericDay(
  parts: Record<string, string | undefined>,
  zoneFormat: WhoisZoneFormat,
  labelDateOrder: DateOrder | undefined,
): CalendarDate | undefined {
  const [first, second] = [Number(parts['first']), Number(parts['other'])];
  const hasTwoDigitYear = parts['year']?.length === 2;
  // 25.04.27 may start with the day or the year.
  if (hasTwoDigitYear && zoneFormat.hasTwoDigitYears !== true) return undefined;
  const year = Number(parts['year']) + (hasTwoDigitYear ? 2_000 : 0);
  const order =
    first > 12 ? 'day_first' : second > 12 ? 'month_first' : (labelDateOrder ?? zoneFormat.dateOrder);
  if (order === undefined && first !== second) return undefined;
  return order === 'month_first' ? { year, month: first, day: second } : { year, month: second, day: first };
}

function isValidTime({
  hour = '0',
  minute = '0',
  second = '0',
}: Record<string, string | undefined>): boolean {
  return Number(hour) <= 24 && Number(minute) <= 59 && Number(second) <= 60;
}

function toDate({ year, month, day }: CalendarDate): Date | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isRealDay = date.getUTCMonth() + 1 === month && date.getUTCDate() === day;
  return isRealDay && year >= FIRST_YEAR && year <= LAST_YEAR ? date : undefined;
}
