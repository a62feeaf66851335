import { MINUTE_MS } from '../../lib/duration.ts';

export interface RecordDate {
  /** The earliest time that the text can mean. Without a time zone, UTC+14 is assumed. */
  readonly earliestTime: Date;
  /** Whether the text has a time and a time zone. */
  readonly isExact: boolean;
}

const FIRST_YEAR = 1985;
const LAST_YEAR = 2200;
const EARLIEST_OFFSET_MINUTES = 14 * 60;

const DAY = /(?<year>\d{4})(?<dash>-?)(?<month>\d\d)(?:\k<dash>(?<day>\d\d))?/;
const TIME = /(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d)(?:[.,]\d{1,9})?)?)?/;
/** An unknown time zone counts as none. */
const ZONE = /(?<zone>Z|UTC|GMT|(?<sign>[+\u2212-])(?<zoneHour>\d\d)(?::?(?<zoneMinute>\d\d))?|[A-Z]{2,5})/;
const DATE = new RegExp(`^${DAY.source}(?:[T ]\\s*${TIME.source})?(?:\\s*${ZONE.source})?$`, 'i');

/** Accepts every form of ISO 8601 and RFC 3339 that has a month. Rejects days that don't exist. */
export function parseRecordDate(value: unknown): RecordDate | undefined {
  const parts = typeof value === 'string' ? DATE.exec(value.trim())?.groups : undefined;
  if (parts === undefined) return undefined;
  const readPart = (name: string, fallback = 0) => Number(parts[name] ?? fallback);
  const [year, month, day] = [readPart('year'), readPart('month'), readPart('day', 1)];
  const [hour, minute, second] = [readPart('hour'), readPart('minute'), readPart('second')];
  const midnight = new Date(Date.UTC(year, month - 1, day));
  const isRealDay = midnight.getUTCMonth() + 1 === month && midnight.getUTCDate() === day;
  if (!isRealDay || year < FIRST_YEAR || year > LAST_YEAR) return undefined;
  // ISO 8601 also allows 24:00 for the end of a day.
  if (hour > 24 || (hour === 24 && minute + second > 0) || minute > 59 || second > 60) return undefined;
  const offsetMinutes = readOffsetMinutes(parts);
  if (offsetMinutes === 'invalid') return undefined;
  const minutes = hour * 60 + minute - (offsetMinutes ?? EARLIEST_OFFSET_MINUTES);
  return {
    earliestTime: new Date(midnight.getTime() + minutes * MINUTE_MS + Math.min(second, 59) * 1_000),
    isExact: offsetMinutes !== undefined && parts['minute'] !== undefined,
  };
}

function readOffsetMinutes({ zone, sign, zoneHour, zoneMinute }: Record<string, string | undefined>) {
  if (sign === undefined) return /^(?:Z|UTC|GMT)$/i.test(zone ?? '') ? 0 : undefined;
  const minutes = Number(zoneHour) * 60 + Number(zoneMinute ?? 0);
  if (Number(zoneHour) > 23 || Number(zoneMinute ?? 0) > 59) return 'invalid';
  return sign === '+' ? minutes : -minutes;
}
