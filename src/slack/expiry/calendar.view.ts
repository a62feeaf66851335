import type { CalendarName, EventText } from '../../expiry/calendar.ts';
import type { ExpirySource } from '../../names/dates.ts';
import { formatDomainName } from '../../zones/names.ts';
import { code, context, type Message, message, section } from '../kit/blocks.ts';

const SOURCE_TEXTS: Readonly<Record<ExpirySource, string>> = {
  rdap: 'Date from the registry’s public record.',
  whois: 'Date from WHOIS.',
  order: 'Date estimated from the last order.',
  person: 'Date entered manually.',
};

/**
 * Returns plain text.
 * @param hasService whether orders can be placed
 */
export function formatCalendarEvent(
  { name, source, isLapsing, hasMandate }: CalendarName,
  hasService: boolean,
): EventText {
  const title = formatDomainName(name);
  if (hasMandate && !isLapsing)
    return {
      summary: `${title} expires (a mandate renews it)`,
      description: `${SOURCE_TEXTS[source]}\nA mandate renews it. See /domain mandates in Slack.`,
    };
  return isLapsing
    ? { summary: `${title} expires (set to lapse)`, description: SOURCE_TEXTS[source] }
    : {
        summary: `${title} expires`,
        description: hasService
          ? `${SOURCE_TEXTS[source]}\nRenew it in Slack with /domain renew ${name}`
          : `${SOURCE_TEXTS[source]}\nRenew it at the registrar.`,
      };
}

export const CALENDAR_USAGE =
  'To see your feed’s address, use `/domain calendar`. To replace it, use `/domain calendar reset`.';
export const ADDRESS_UNREADABLE =
  'I can’t show your feed’s address, because an encryption key is missing. The address still works. Try again in a few minutes, or replace it with `/domain calendar reset`.';

export function feedMessage(address: string, isReplacement: boolean): Message {
  const lead = isReplacement
    ? 'Your feed has a new address, and the old one stopped working. Subscribe to this one:'
    : 'Add this URL to your calendar app:';
  return message(lead, [
    section(`${lead}\n${code(address)}`),
    context(
      'Anyone with the address can read the feed, so keep it private. To replace it, use `/domain calendar reset`.',
    ),
  ]);
}
