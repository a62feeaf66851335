import type { WhoisZone } from './zones.ts';

/** The order that a label states: `(dd/mm/yyyy)`. */
export type DateOrder = 'day_first' | 'month_first';

interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

const FIRST_YEAR = 1985;
const LAST_YEAR = 2100;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(?<word>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const WEEKDAY = '(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?(?:, ?| ))?';
const CLOCK = '(?<hour>\\d{1,2}):(?<minute>\\d{2})(?::(?<second>\\d{2})(?:[.,]\\d{1,9})?)?(?: ?[ap]m)?';
const OFFSET = '[+-]\\d{1,2}(?::?\\d{2})?';
const ZONE = `(?:z|[a-z]{2,5}(?:${OFFSET})?|${OFFSET}(?: ?(?:z|utc|gmt))?|[a-z]+/[a-z_]+)`;
const TIME = `(?:(?: ?-?t|[ :-]|, )${CLOCK}(?: ?${ZONE})?| (?:utc|gmt))?`;
const DAY = '(?<day>\\d{1,2})';
const ORDINAL = '(?:st|nd|rd|th)?';

const matchWhole = (source: string) => new RegExp(`^${source}$`, 'i');

/** Forms that have the same meaning in every zone. */
const FORMS: readonly RegExp[] = [
  matchWhole(`(?<year>\\d{4})(?<separator>[-./]) ?(?<month>\\d{1,2})\\k<separator> ?${DAY}\\.?${TIME}`),
  matchWhole(
    '(?<year>\\d{4})(?<month>\\d{2})(?<day>\\d{2})(?:[ t]?(?<hour>\\d{2}):?(?<minute>\\d{2}):?(?<second>\\d{2})z?)?',
  ),
  matchWhole(`(?<year>\\d{4})[-. /]${MONTH}[-. /]${DAY}\\.?${TIME}`),
  matchWhole(
    `${WEEKDAY}${DAY}${ORDINAL}(?:[-. /]|, ?)(?:of )?${MONTH}(?:[-. /]|\\.? |, ?)(?<year>\\d{4})\\.?${TIME}`,
  ),
  matchWhole(`${WEEKDAY}${MONTH}(?:[-/]|\\.? )${DAY}${ORDINAL}(?:[-/]|,? |,)(?<year>\\d{4})\\.?${TIME}`),
  matchWhole(`${WEEKDAY}${MONTH} ${DAY} ${CLOCK}(?: ${ZONE})? (?<year>\\d{4})`),
];

/** Day and month as numbers, in the order of the zone. */
const NUMBERS = matchWhole(
  `(?<first>\\d{1,2})(?<separator>[-./])(?<other>\\d{1,2})\\k<separator>(?<year>\\d{4}|\\d{2})\\.?${TIME}`,
);

/**
 * Reads dates strictly: a text in an unknown form isn't a date. Times and offsets are checked but dropped, because
 * registries mean the local day.
 * @returns midnight UTC of the day as written
 */
export function readWhoisDate(text: string, zone: WhoisZone, labelOrder?: DateOrder): Date | undefined {
  // `(UTC+8)`, `(YYYY-MM-DD)`.
  const trimmed = text
    .replace(/\s+/g, ' ')
    .replace(/ ?\([a-z][^()]*\)$/i, '')
    .trim();
  for (const form of FORMS) {
    const parts = form.exec(trimmed)?.groups;
    if (parts !== undefined) return isTime(parts) ? toDate(readNamedDay(parts)) : undefined;
  }
  const parts = NUMBERS.exec(trimmed)?.groups;
  if (parts === undefined || !isTime(parts)) return undefined;
  const day = readNumericDay(parts, zone, labelOrder);
  return day && toDate(day);
}

function readNamedDay({ year, month, word, day }: Record<string, string | undefined>): Day {
  const named = word === undefined ? Number(month) : MONTHS.indexOf(word.slice(0, 3).toLowerCase()) + 1;
  return { year: Number(year), month: named, day: Number(day) };
}

function readNumericDay(
  parts: Record<string, string | undefined>,
  zone: WhoisZone,
  labelOrder: DateOrder | undefined,
): Day | undefined {
  const [first, second] = [Number(parts['first']), Number(parts['other'])];
  const isShort = parts['year']?.length === 2;
  // 25.04.27 may start with the day or the year.
  if (isShort && zone.shortYear !== true) return undefined;
  const year = Number(parts['year']) + (isShort ? 2_000 : 0);
  const order = first > 12 ? 'day_first' : second > 12 ? 'month_first' : (labelOrder ?? zone.order);
  if (order === undefined && first !== second) return undefined;
  return order === 'month_first' ? { year, month: first, day: second } : { year, month: second, day: first };
}

function isTime({ hour = '0', minute = '0', second = '0' }: Record<string, string | undefined>): boolean {
  return Number(hour) <= 24 && Number(minute) <= 59 && Number(second) <= 60;
}

function toDate({ year, month, day }: Day): Date | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const exists = date.getUTCMonth() + 1 === month && date.getUTCDate() === day;
  return exists && year >= FIRST_YEAR && year <= LAST_YEAR ? date : undefined;
}
