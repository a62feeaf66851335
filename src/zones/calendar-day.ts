import { DAY_MS, SECOND_MS } from '../lib/duration.ts';

/** Days are `YYYY-MM-DD`. Results are cached, because `Intl` is slow and lists show several days per name. */

/** About 27 years of days. */
const MAX_CACHE_ENTRIES = 10_000;

const dayCache = new Map<number, string>();
const dayNumberCache = new Map<string, number>();
const timeZoneCache = new Map<string, TimeZone>();

/**
 * @param timeZone IANA name, such as `Europe/Berlin`
 * @throws RangeError for an unknown time zone
 */
export function formatCalendarDay(moment: Date, timeZone: string): string {
  return getTimeZone(timeZone).formatDay(moment);
}

/**
 * Returns the first time at which local clocks show `time` or later. If clocks show a local time twice,
 * the first time counts; if they skip it, the end of the gap counts.
 * @param time local time as if it were UTC
 * @throws RangeError for an unknown time zone
 */
export function resolveLocalTime(time: Date, timeZone: string): Date {
  return new Date(getTimeZone(timeZone).resolveLocalTime(time.getTime()));
}

/** Returns the latest local time that clocks showed in the 24 hours before `moment`, as if it were UTC. */
export function getLatestLocalTime(moment: Date, timeZone: string): Date {
  return new Date(getTimeZone(timeZone).getLatestLocalTime(moment.getTime()));
}

/**
 * Returns the local time as if it were UTC.
 * @throws RangeError for an unknown time zone
 */
export function toLocalTime(moment: Date, timeZone: string): Date {
  return new Date(getTimeZone(timeZone).toLocalTime(moment.getTime()));
}

function getTimeZone(timeZone: string): TimeZone {
  return getOrCreate(timeZoneCache, timeZone, () => new TimeZone(timeZone));
}

export function getUtcDay(moment: Date): string {
  return formatDayNumber(Math.floor(moment.getTime() / DAY_MS));
}

/** @param dayNumber days since 1 January 1970 */
export function formatDayNumber(dayNumber: number): string {
  return getOrCreate(dayCache, dayNumber, () => new Date(dayNumber * DAY_MS).toISOString().slice(0, 10));
}

/** @returns days since 1 January 1970 */
export function parseDayNumber(day: string): number {
  return getOrCreate(dayNumberCache, day, () => Date.parse(day) / DAY_MS);
}

export function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

class TimeZone {
  readonly #format: Intl.DateTimeFormat;
  /** In milliseconds, at the start of each UTC day. */
  readonly #offsetByDay = new Map<number, number>();

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('sv-SE', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    });
  }

  formatDay(moment: Date): string {
    const time = moment.getTime();
    const utcDay = Math.floor(time / DAY_MS);
    const offset = this.#getDayOffset(utcDay);
    const changesOffset = offset !== this.#getDayOffset(utcDay + 1);
    if (changesOffset) return this.#format.format(moment).slice(0, 10);
    return formatDayNumber(Math.floor((time + offset) / DAY_MS));
  }

  resolveLocalTime(time: number): number {
    // Offsets are shorter than a day, and no time zone changes its clocks twice within three days.
    const utcDay = Math.floor(time / DAY_MS);
    const [earlierOffset, laterOffset] = [this.#getDayOffset(utcDay - 1), this.#getDayOffset(utcDay + 2)];
    if (earlierOffset === laterOffset) return time - earlierOffset;
    let [beforeChange, afterChange] = [(utcDay - 1) * DAY_MS, (utcDay + 2) * DAY_MS];
    while (afterChange - beforeChange > SECOND_MS) {
      const middle = Math.floor((beforeChange + afterChange) / 2 / SECOND_MS) * SECOND_MS;
      if (this.#computeOffset(middle) === earlierOffset) beforeChange = middle;
      else afterChange = middle;
    }
    return time - earlierOffset < afterChange
      ? time - earlierOffset
      : Math.max(afterChange, time - laterOffset);
  }

  getLatestLocalTime(moment: number): number {
    const previousDayOffset = this.#getDayOffset(Math.floor(moment / DAY_MS) - 1);
    return (
      moment + Math.max(previousDayOffset, this.#computeOffset(Math.floor(moment / SECOND_MS) * SECOND_MS))
    );
  }

  toLocalTime(moment: number): number {
    return moment + this.#computeOffset(Math.floor(moment / SECOND_MS) * SECOND_MS);
  }

  #getDayOffset(utcDay: number): number {
    return getOrCreate(this.#offsetByDay, utcDay, () => this.#computeOffset(utcDay * DAY_MS));
  }

  /** @param second in milliseconds, a multiple of 1,000 */
  #computeOffset(second: number): number {
    return Date.parse(`${this.#format.format(second).replace(' ', 'T')}Z`) - second;
  }
}

function getOrCreate<Key, Value>(cache: Map<Key, Value>, key: Key, create: () => Value): Value {
  const cachedValue = cache.get(key);
  if (cachedValue !== undefined) return cachedValue;
  if (cache.size >= MAX_CACHE_ENTRIES) cache.clear();
  const createdValue = create();
  cache.set(key, createdValue);
  return createdValue;
}
