import { UnknownKeyError } from '../../accounts/vault.ts';
import type { CommandCall, Feature } from '../feature.ts';
import { code, context, message, section } from '../kit/blocks.ts';

/*
 * The private address of a calendar feed of the watch list.
 */

const ADDRESS_SEALED =
  'I cannot show the address of your feed here, because one of my keys is missing. The address goes on working. Try again in a few minutes, or have a new address with `/domain calendar reset`: then the former one is gone.';

async function runCalendar(call: CommandCall): Promise<void> {
  const [word, ...rest] = call.words;
  if ((word !== undefined && word.toLowerCase() !== 'reset') || rest.length > 0) {
    return call.respond(
      '`/domain calendar` shows the address of your feed, `/domain calendar reset` makes a new one.',
    );
  }
  const reset = word !== undefined;
  let address: string;
  try {
    address = (await call.deps.expiry.feedAddress(call.person.id, reset)).reveal();
  } catch (error) {
    if (!(error instanceof UnknownKeyError)) throw error;
    return call.respond(ADDRESS_SEALED);
  }
  const lead = reset
    ? 'Your feed of the watch list has a new address. The former one is gone; subscribe to this one instead:'
    : 'Subscribe to this address in your calendar to see when names expire:';
  await call.respond(
    message(lead, [
      section(`${lead}\n${code(address)}`),
      context(
        'Whoever has the address can read the feed, so keep it to yourself. `/domain calendar reset` makes a new one.',
      ),
    ]),
  );
}

export const calendar = {
  commands: [
    {
      usage: 'calendar [reset]',
      summary: 'Show the address of your calendar feed of what expires',
      example: '/domain calendar',
      run: runCalendar,
    },
  ],
} as const satisfies Feature;
