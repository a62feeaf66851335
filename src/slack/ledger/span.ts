import { DAY_MS } from '../../lib/duration.ts';
import { isCalendarDay, utcDay } from '../../zones/calendar-day.ts';
import { invalidSpanText, type Span, spanReversedText } from './audit-export.view.ts';

/** @param start the first day by default; the last day is today by default */
export function readSpan(
  command: 'audit' | 'ledger',
  words: readonly string[],
  now: Date,
  start = now,
): Span | { readonly problem: string } {
  const [first, last] = [words[0] ?? utcDay(start), words[1] ?? utcDay(now)];
  const wrong = [first, last].find((word) => !isCalendarDay(word));
  if (words.length > 2 || wrong !== undefined) return { problem: invalidSpanText(command, wrong) };
  return first > last ? { problem: spanReversedText(first, last) } : { first, last };
}

export function parseDates({ first, last }: Span): { readonly from: Date; readonly to: Date } {
  return {
    from: new Date(`${first}T00:00:00Z`),
    to: new Date(Date.parse(`${last}T00:00:00Z`) + DAY_MS),
  };
}
