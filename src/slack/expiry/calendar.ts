import { UnknownKeyError } from '../../accounts/vault.ts';
import type { CommandCall, Feature } from '../feature.ts';
import { ADDRESS_UNREADABLE, CALENDAR_USAGE, feedMessage } from './calendar.view.ts';

async function runCalendar(call: CommandCall): Promise<void> {
  const [word, ...rest] = call.words;
  if ((word !== undefined && word.toLowerCase() !== 'reset') || rest.length > 0) {
    return call.respond(CALENDAR_USAGE);
  }
  const isReset = word !== undefined;
  let address: string;
  try {
    address = (await call.context.expiry.getFeedUrl(call.person.id, isReset)).reveal();
  } catch (error) {
    if (!(error instanceof UnknownKeyError)) throw error;
    return call.respond(ADDRESS_UNREADABLE);
  }
  await call.respond(feedMessage(address, isReset));
}

export const calendar = {
  commands: [
    {
      usage: 'calendar [reset]',
      summary: 'Get a calendar feed of expiry dates',
      example: '/domain calendar',
      run: runCalendar,
    },
  ],
} as const satisfies Feature;
