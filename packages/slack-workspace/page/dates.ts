/*
 * Times as the chat shows them, in the reader's own zone.
 */

const LOCALE = 'en-US';
const DAY_MS = 86_400_000;

/** Milliseconds since 1970 of a message's `ts`. */
export function tsToMilliseconds(ts: string): number {
  return Number(ts) * 1_000;
}

function formatTime(at: number, zone: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: zone }).format(at);
}

/** `9:04 AM` */
export function formatClockTime(at: number, zone: string): string {
  return formatTime(at, zone, { hour: 'numeric', minute: '2-digit' });
}

/** The place in the name of a time zone: `New York` for `America/New_York`. */
export function getZonePlace(zone: string): string {
  return (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ');
}

/** `Wednesday, July 29, 2026, 9:04 AM` */
export function formatFullTime(at: number, zone: string): string {
  return `${formatTime(at, zone, { dateStyle: 'full' })}, ${formatClockTime(at, zone)}`;
}

/** The calendar day as YYYY-MM-DD. */
export function formatIsoDay(at: number, zone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(at);
}

function getNearbyDay(at: number, now: number, zone: string): 'today' | 'yesterday' | 'tomorrow' | undefined {
  const day = formatIsoDay(at, zone);
  if (day === formatIsoDay(now, zone)) return 'today';
  if (day === formatIsoDay(now - DAY_MS, zone)) return 'yesterday';
  return day === formatIsoDay(now + DAY_MS, zone) ? 'tomorrow' : undefined;
}

/** The line between two days of messages: `Today`, `Yesterday`, `Wednesday, July 29`. */
export function formatDayDivider(at: number, now: number, zone: string): string {
  const nearbyDay = getNearbyDay(at, now, zone);
  if (nearbyDay !== undefined) return nearbyDay.charAt(0).toUpperCase() + nearbyDay.slice(1);
  const year =
    formatIsoDay(at, zone).slice(0, 4) === formatIsoDay(now, zone).slice(0, 4)
      ? {}
      : { year: 'numeric' as const };
  return formatTime(at, zone, { weekday: 'long', month: 'long', day: 'numeric', ...year });
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
 * @param format text with placeholders such as `{date_short_pretty}` or `{time}`; unknown ones are kept
 * @param now milliseconds since 1970
 */
export function formatDateToken(at: number, format: string, now: number, zone: string): string {
  const ms = at * 1_000;
  return format.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (name === 'date_num') return formatIsoDay(ms, zone);
    if (name === 'ago') return formatRelativeTime(ms, now);
    const nearbyDay = name.endsWith('_pretty') ? getNearbyDay(ms, now, zone) : undefined;
    if (nearbyDay !== undefined) return nearbyDay;
    const key = name.replace(/_pretty$/, '');
    const style = Object.hasOwn(STYLES, key) ? STYLES[key] : undefined;
    return style === undefined ? whole : formatTime(ms, zone, style);
  });
}

/** `3 minutes ago`, `in 2 days` */
export function formatRelativeTime(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000);
  const formatter = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' });
  const distance = Math.abs(seconds);
  if (distance < 60) return 'just now';
  if (distance < 3_600) return formatter.format(Math.round(seconds / 60), 'minute');
  if (distance < 86_400) return formatter.format(Math.round(seconds / 3_600), 'hour');
  return formatter.format(Math.round(seconds / 86_400), 'day');
}
