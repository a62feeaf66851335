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
  readonly sendAt: Date;
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

export function parseSchedule(
  { text, timeZone }: EnteredTime,
  task: OrderTaskName,
  now: Date,
): Schedule | ScheduleIssue {
  if (!isSchedulable(task)) return 'not_for_task';
  const localTime = parseLocalTime(text);
  if (localTime === undefined) return 'unreadable';
  if (timeZone === undefined) return 'time_zone_unknown';
  const schedule = resolveSchedule(localTime, timeZone);
  if (typeof schedule === 'string') return schedule;
  const leadMs = schedule.sendAt.getTime() - now.getTime();
  if (leadMs <= 0) return 'past';
  if (leadMs < MIN_LEAD_MS) return 'too_soon';
  return leadMs > MAX_LEAD_MS ? 'too_late' : schedule;
}

/** Parses `2026-12-06 02:00` as if it were in UTC. */
function parseLocalTime(text: string): Date | undefined {
  const [, day = '', hour = '', minute = ''] =
    /^(\d{4}-\d{2}-\d{2})[ T]+(\d{1,2}):(\d{2})$/.exec(text.trim()) ?? [];
  const isTime = hour !== '' && Number(hour) < 24 && Number(minute) < 60;
  return isTime && isCalendarDay(day) ? new Date(`${day}T${hour.padStart(2, '0')}:${minute}:00Z`) : undefined;
}

function resolveSchedule(localTime: Date, timeZone: string): Schedule | ScheduleIssue {
  try {
    const sendAt = resolveLocalTime(localTime, timeZone);
    if (toLocalTime(sendAt, timeZone).getTime() !== localTime.getTime()) return 'no_such_time';
    const afterClockChange = new Date(sendAt.getTime() + MAX_CLOCK_CHANGE_MS);
    const secondOccurrence = new Date(
      localTime.getTime() - toLocalTime(afterClockChange, timeZone).getTime() + afterClockChange.getTime(),
    );
    return {
      sendAt,
      occursTwice:
        secondOccurrence > sendAt &&
        toLocalTime(secondOccurrence, timeZone).getTime() === localTime.getTime(),
    };
  } catch (error) {
    if (error instanceof RangeError) return 'time_zone_unknown';
    throw error;
  }
}
