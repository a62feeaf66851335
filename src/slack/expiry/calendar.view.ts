import type { CalendarName, CalendarText } from '../../expiry/calendar.ts';
import type { ExpirySource } from '../../names/dates.ts';
import { displayName } from '../../zones/names.ts';

const SOURCES: Readonly<Record<ExpirySource, string>> = {
  rdap: 'The registry’s public record gives this date.',
  order: 'This date is an estimate, made from the last order.',
  person: 'This date was given by a person.',
};

/** What a calendar program shows of an expiry. Plain text. */
export function formatCalendarEvent({ name, source, lapsing }: CalendarName): CalendarText {
  const shown = displayName(name);
  return lapsing
    ? { summary: `${shown} expires (let go as decided)`, description: SOURCES[source] }
    : {
        summary: `${shown} expires`,
        description: `${SOURCES[source]}\nRenew it in Slack with /domain renew ${name}`,
      };
}
