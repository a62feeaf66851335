import type { CalendarName, CalendarText } from '../../expiry/calendar.ts';
import type { ExpirySource } from '../../names/dates.ts';
import { displayName } from '../../zones/names.ts';
import { code, context, type Message, message, section } from '../kit/blocks.ts';

const SOURCES: Readonly<Record<ExpirySource, string>> = {
  rdap: 'The registry’s public record gives this date.',
  order: 'This date is an estimate, made from the last order.',
  person: 'This date was given by a person.',
};

/** What a calendar program shows of an expiry. Plain text. */
export function formatCalendarEvent({ name, source, lapsing, isMandated }: CalendarName): CalendarText {
  const shown = displayName(name);
  if (isMandated && !lapsing)
    return {
      summary: `${shown} expires (a mandate renews it)`,
      description: `${SOURCES[source]}\nA mandate renews it by itself; /domain mandates in Slack says which.`,
    };
  return lapsing
    ? { summary: `${shown} expires (let go as decided)`, description: SOURCES[source] }
    : {
        summary: `${shown} expires`,
        description: `${SOURCES[source]}\nRenew it in Slack with /domain renew ${name}`,
      };
}

export const CALENDAR_USAGE =
  '`/domain calendar` shows the address of your feed, `/domain calendar reset` makes a new one.';
export const ADDRESS_SEALED =
  'I cannot show the address of your feed here, because one of my keys is missing. The address goes on working. Try again in a few minutes, or have a new address with `/domain calendar reset`: then the former one is gone.';

/** The address of a person's feed. @param isNew in the place of a former one */
export function feedMessage(address: string, isNew: boolean): Message {
  const lead = isNew
    ? 'Your feed of the watch list has a new address. The former one is gone; subscribe to this one instead:'
    : 'Subscribe to this address in your calendar to see when names expire:';
  return message(lead, [
    section(`${lead}\n${code(address)}`),
    context(
      'Whoever has the address can read the feed, so keep it to yourself. `/domain calendar reset` makes a new one.',
    ),
  ]);
}
