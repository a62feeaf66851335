import { DAY_MS } from '../../lib/duration.ts';
import { getUtcDay, isCalendarDay } from '../../zones/calendar-day.ts';
import { invalidSpanText, type Span, spanReversedText } from './audit-export.view.ts';

/** A missing first day defaults to `defaultFirst`, a missing last day to today. */
export function parseSpan(
  command: 'audit' | 'ledger',
  words: readonly string[],
  now: Date,
  defaultFirst = now,
): Span | { readonly problem: string } {
  const [first, last] = [words[0] ?? getUtcDay(defaultFirst), words[1] ?? getUtcDay(now)];
  const invalidDay = [first, last].find((word) => !isCalendarDay(word));
  if (words.length > 2 || invalidDay !== undefined) return { problem: invalidSpanText(command, invalidDay) };
  return first > last ? { problem: spanReversedText(first, last) } : { first, last };
}

export function toDateRange({ first, last }: Span): { readonly from: Date; readonly to: Date } {
  return {
    from: new Date(`${first}T00:00:00Z`),
    to: new Date(Date.parse(`${last}T00:00:00Z`) + DAY_MS),
  };
}
