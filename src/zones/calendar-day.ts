import { DAY_MS, SECOND_MS } from '../lib/duration.ts';

/**
 * Calendar days as YYYY-MM-DD in any time zone. Offsets and days are cached, because `Intl` is slow and lists need
 * several days per name.
 */

/** About 30 years of days. */
const MAX_CACHED_DAYS = 10_000;

const dayCache = new Map<number, string>();
const dayNumberCache = new Map<string, number>();
const timeZoneCache = new Map<string, TimeZone>();

/**
 * @param timeZone IANA name, such as `Europe/Berlin`
 * @throws RangeError for an unknown time zone
 */
export function formatCalendarDay(moment: Date, timeZone: string): string {
  return getTimeZone(timeZone).getDay(moment);
}

/**
 * The first time at which local clocks show `time` or later: the first of a repeated hour, or the end of a skipped one.
 * @param time local time as if it were UTC
 * @throws RangeError for an unknown time zone
 */
export function resolveLocalTime(time: Date, timeZone: string): Date {
  return new Date(getTimeZone(timeZone).resolveLocalTime(time.getTime()));
}

/** The latest local time that clocks showed in the 24 hours before `moment`, as if it were UTC. */
export function getLatestLocalTime(moment: Date, timeZone: string): Date {
  return new Date(getTimeZone(timeZone).getLatestLocalTime(moment.getTime()));
}

/**
 * Local time as if it were UTC.
 * @throws RangeError for an unknown time zone
 */
export function toLocalTime(moment: Date, timeZone: string): Date {
  return new Date(getTimeZone(timeZone).toLocalTime(moment.getTime()));
}

function getTimeZone(timeZone: string): TimeZone {
  return getOrCreate(timeZoneCache, timeZone, () => new TimeZone(timeZone));
}

export function getUtcDay(at: Date): string {
  return formatDayNumber(Math.floor(at.getTime() / DAY_MS));
}

/**
 * @param number days since 1 January 1970
 * @returns YYYY-MM-DD
 */
export function formatDayNumber(number: number): string {
  return getOrCreate(dayCache, number, () => new Date(number * DAY_MS).toISOString().slice(0, 10));
}

/**
 * @param day YYYY-MM-DD
 * @returns days since 1 January 1970
 */
export function parseDayNumber(day: string): number {
  return getOrCreate(dayNumberCache, day, () => Date.parse(day) / DAY_MS);
}

/** Whether the text is YYYY-MM-DD and the day exists. */
export function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

class TimeZone {
  readonly #format: Intl.DateTimeFormat;
  /** Offset in milliseconds at the start of each UTC day. */
  readonly #offsets = new Map<number, number>();

  constructor(timeZone: string) {
    // Cached per time zone, because creating a format is slow.
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

  getDay(moment: Date): string {
    const at = moment.getTime();
    const utcDay = Math.floor(at / DAY_MS);
    const offset = this.#getDayOffset(utcDay);
    // The offset changes during this day.
    if (offset !== this.#getDayOffset(utcDay + 1)) return this.#format.format(moment).slice(0, 10);
    return formatDayNumber(Math.floor((at + offset) / DAY_MS));
  }

  resolveLocalTime(time: number): number {
    // Offsets are less than a day, and no time zone changes its clocks twice within these days.
    const utcDay = Math.floor(time / DAY_MS);
    const [before, after] = [this.#getDayOffset(utcDay - 1), this.#getDayOffset(utcDay + 2)];
    if (before === after) return time - before;
    let [unchanged, changed] = [(utcDay - 1) * DAY_MS, (utcDay + 2) * DAY_MS];
    while (changed - unchanged > SECOND_MS) {
      const middle = Math.floor((unchanged + changed) / 2 / SECOND_MS) * SECOND_MS;
      if (this.#computeOffset(middle) === before) unchanged = middle;
      else changed = middle;
    }
    return time - before < changed ? time - before : Math.max(changed, time - after);
  }

  getLatestLocalTime(moment: number): number {
    const dayOffset = this.#getDayOffset(Math.floor(moment / DAY_MS) - 1);
    return moment + Math.max(dayOffset, this.#computeOffset(Math.floor(moment / SECOND_MS) * SECOND_MS));
  }

  toLocalTime(moment: number): number {
    return moment + this.#computeOffset(Math.floor(moment / SECOND_MS) * SECOND_MS);
  }

  #getDayOffset(utcDay: number): number {
    return getOrCreate(this.#offsets, utcDay, () => this.#computeOffset(utcDay * DAY_MS));
  }

  /** @param second a whole second */
  #computeOffset(second: number): number {
    return Date.parse(`${this.#format.format(second).replace(' ', 'T')}Z`) - second;
  }
}

function getOrCreate<Key, Value>(cache: Map<Key, Value>, key: Key, create: () => Value): Value {
  const found = cache.get(key);
  if (found !== undefined) return found;
  if (cache.size >= MAX_CACHED_DAYS) cache.clear();
  const created = create();
  cache.set(key, created);
  return created;
}
