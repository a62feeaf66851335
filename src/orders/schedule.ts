import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import { isCalendarDay, resolveLocalTime, toLocalTime } from '../zones/calendar-day.ts';
import type { OrderTaskName } from './order.ts';

/** The time at which a person wants an order to be sent. Pure. */

/** A time as entered, in the person's time zone. `timeZone` is undefined if Slack doesn't know the time zone. */
export interface EnteredTime {
  readonly text: string;
  readonly timeZone: string | undefined;
}

export interface Schedule {
  readonly at: Date;
  /** The clocks are set back, so the local time occurs twice. The first is used. */
  readonly occursTwice: boolean;
}

export type ScheduleIssue =
  | 'unreadable'
  /** The local time is skipped by a clock change. */
  | 'no_such_time'
  | 'past'
  | 'too_soon'
  | 'too_late'
  | 'time_zone_unknown'
  | 'not_for_task';

const MIN_LEAD_MS = 5 * MINUTE_MS;
const MAX_LEAD_MS = 90 * DAY_MS;
/** Longer than any clock change, such as to daylight saving time. */
const MAX_CLOCK_CHANGE_MS = 4 * HOUR_MS;

/** An auth code can be shown only for an hour, and a mandate sends nothing itself. */
export function isSchedulable(task: OrderTaskName): boolean {
  return task !== 'authcode' && task !== 'mandate';
}

export function readSchedule(
  { text, timeZone }: EnteredTime,
  task: OrderTaskName,
  now: Date,
): Schedule | ScheduleIssue {
  if (!isSchedulable(task)) return 'not_for_task';
  const localTime = readLocalTime(text);
  if (localTime === undefined) return 'unreadable';
  if (timeZone === undefined) return 'time_zone_unknown';
  const schedule = resolveSchedule(localTime, timeZone);
  if (typeof schedule === 'string') return schedule;
  const leadMs = schedule.at.getTime() - now.getTime();
  if (leadMs <= 0) return 'past';
  if (leadMs < MIN_LEAD_MS) return 'too_soon';
  return leadMs > MAX_LEAD_MS ? 'too_late' : schedule;
}

/** Parses `2026-12-06 02:00` as if it were in UTC. */
function readLocalTime(text: string): Date | undefined {
  const [, day = '', hour = '', minute = ''] =
    /^(\d{4}-\d{2}-\d{2})[ T]+(\d{1,2}):(\d{2})$/.exec(text.trim()) ?? [];
  const isTime = hour !== '' && Number(hour) < 24 && Number(minute) < 60;
  return isTime && isCalendarDay(day) ? new Date(`${day}T${hour.padStart(2, '0')}:${minute}:00Z`) : undefined;
}

function resolveSchedule(local: Date, timeZone: string): Schedule | ScheduleIssue {
  try {
    const at = resolveLocalTime(local, timeZone);
    if (toLocalTime(at, timeZone).getTime() !== local.getTime()) return 'no_such_time';
    const later = new Date(at.getTime() + MAX_CLOCK_CHANGE_MS);
    const next = new Date(local.getTime() - toLocalTime(later, timeZone).getTime() + later.getTime());
    return { at, occursTwice: next > at && toLocalTime(next, timeZone).getTime() === local.getTime() };
  } catch (error) {
    if (error instanceof RangeError) return 'time_zone_unknown';
    throw error;
  }
}
