/*
 * Times as the chat shows them, in the reader's own zone.
 */

const LOCALE = 'en-US';
const DAY_MS = 86_400_000;

/** Milliseconds since 1970 of a message's `ts`. */
export function timeOf(ts: string): number {
  return Number(ts) * 1_000;
}

function formatted(at: number, zone: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: zone }).format(at);
}

/** `9:04 AM` */
export function clockTime(at: number, zone: string): string {
  return formatted(at, zone, { hour: 'numeric', minute: '2-digit' });
}

/** The place in the name of a time zone: `New York` for `America/New_York`. */
export function placeOfZone(zone: string): string {
  return (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ');
}

/** `Wednesday, July 29, 2026, 9:04 AM` */
export function fullTime(at: number, zone: string): string {
  return `${formatted(at, zone, { dateStyle: 'full' })}, ${clockTime(at, zone)}`;
}

/** The calendar day as YYYY-MM-DD; the same for two times of one day. */
export function dayOf(at: number, zone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  return parts.format(at);
}

function nearDay(at: number, now: number, zone: string): 'today' | 'yesterday' | 'tomorrow' | undefined {
  const day = dayOf(at, zone);
  if (day === dayOf(now, zone)) return 'today';
  if (day === dayOf(now - DAY_MS, zone)) return 'yesterday';
  return day === dayOf(now + DAY_MS, zone) ? 'tomorrow' : undefined;
}

/** The line between two days of messages: `Today`, `Yesterday`, `Wednesday, July 29`. */
export function dayLine(at: number, now: number, zone: string): string {
  const near = nearDay(at, now, zone);
  if (near !== undefined) return near.charAt(0).toUpperCase() + near.slice(1);
  const year =
    dayOf(at, zone).slice(0, 4) === dayOf(now, zone).slice(0, 4) ? {} : { year: 'numeric' as const };
  return formatted(at, zone, { weekday: 'long', month: 'long', day: 'numeric', ...year });
}

const STYLES: Readonly<Record<string, Intl.DateTimeFormatOptions>> = {
  date: { month: 'long', day: 'numeric', year: 'numeric' },
  date_short: { month: 'short', day: 'numeric', year: 'numeric' },
  date_long: { weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' },
  time: { hour: 'numeric', minute: '2-digit' },
  time_secs: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
};

/**
 * The text of a `<!date^…>` token (docs.slack.dev, formatting message text).
 *
 * @param at seconds since 1970
 * @param format text with the placeholders `{date_short_pretty}`, `{time}` and so on; unknown ones stay
 * @param now milliseconds since 1970: what "today" is
 */
export function dateToken(at: number, format: string, now: number, zone: string): string {
  const ms = at * 1_000;
  return format.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (name === 'date_num') return dayOf(ms, zone);
    if (name === 'ago') return ago(ms, now);
    const near = name.endsWith('_pretty') ? nearDay(ms, now, zone) : undefined;
    if (near !== undefined) return near;
    const key = name.replace(/_pretty$/, '');
    const style = Object.hasOwn(STYLES, key) ? STYLES[key] : undefined;
    return style === undefined ? whole : formatted(ms, zone, style);
  });
}

/** `3 minutes ago`, `in 2 days` */
export function ago(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000);
  const words = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' });
  const size = Math.abs(seconds);
  if (size < 60) return 'just now';
  if (size < 3_600) return words.format(Math.round(seconds / 60), 'minute');
  if (size < 86_400) return words.format(Math.round(seconds / 3_600), 'hour');
  return words.format(Math.round(seconds / 86_400), 'day');
}
