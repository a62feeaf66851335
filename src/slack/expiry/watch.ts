import { expiryDay } from '../../expiry/days.ts';
import { readName, registrableName } from '../../expiry/import.ts';
import type { KnownName } from '../../names/names.ts';
import { type CommandCall, type Feature, formOrigin, type Interaction } from '../feature.ts';
import { escapeText } from '../kit/blocks.ts';
import { gateOf, requestConfirmation } from '../names/fact-changes.ts';
import {
  isUndated,
  notWatchedMessage,
  UNWATCH_USAGE,
  unwatchedText,
  WATCH_USAGE,
  watchedText,
} from './watch.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

/* Adding and removing one watched name. */

async function runWatch(call: Interaction, words: readonly string[]): Promise<void> {
  const [name, date, ...rest] = words;
  if (name === undefined || rest.length > 0) return call.respond(WATCH_USAGE);
  const outcome = await call.context.expiry.watch({ text: name, date }, gateOf(call));
  if (!outcome.ok) return call.respond(notWatchedMessage(outcome.refusal, date));
  const { domain, known, dateNotTaken, waiting } = outcome;
  if (waiting !== undefined) return call.respond(await requestConfirmation(call, waiting));
  const { reminderTimezone, reminderChannel } = await call.context.savedSettings();
  const { expiry } = domain;
  await call.respond(
    watchedText({
      domain,
      wasWatched: known,
      lastDay: expiry && expiryDay(expiry.at, expiry.source, reminderTimezone),
      dns: isUndated(domain) ? await dnsOf(call, domain.name) : undefined,
      dateNotTaken,
      hasReminders: reminderChannel !== undefined,
      now: call.context.now(),
    }),
  );
}

async function dnsOf({ context }: Interaction, name: string): Promise<KnownName | undefined> {
  return context.names.known(name).catch((err: unknown) => {
    context.log.warn({ err, name }, 'looking up a name whose registry publishes no dates');
    return undefined;
  });
}

async function runUnwatch(call: CommandCall): Promise<void> {
  const [name, ...rest] = call.words;
  if (name === undefined || rest.length > 0) return call.respond(UNWATCH_USAGE);
  const read = readName(name);
  if (!read.ok) return call.respond(escapeText(formatWatchRefusal(read.issue)));
  const { ascii, unicode } = read.value;
  const outcome = await call.context.facts.unwatch(ascii, call.person.id, formOrigin(call));
  if (outcome.kind === 'waiting') return call.respond(await requestConfirmation(call, outcome.pending));
  const registrable = registrableName(name);
  if (outcome.kind === 'not_watched' && !registrable.ok)
    return call.respond(escapeText(formatWatchRefusal(registrable.issue)));
  if (outcome.kind === 'not_watched')
    return call.respond(escapeText(formatWatchRefusal({ code: 'not_watched', name: unicode })));
  call.context.log.info({ name: ascii, by: call.person.id }, 'removed from the watch list');
  await call.respond(unwatchedText(ascii));
}

export const watch = {
  commands: [
    {
      usage: 'watch NAME [YYYY-MM-DD]',
      summary: 'Watch a name’s expiry and DNS',
      example: '/domain watch cafe.rest',
      run: (call) => runWatch(call, call.words),
    },
    {
      usage: 'unwatch NAME',
      summary: 'Stop watching a name',
      example: '/domain unwatch cafe.rest',
      run: runUnwatch,
    },
  ],
  actions: [{ id: 'watch_domain', run: (call) => runWatch(call, call.value.split(' ')) }],
} as const satisfies Feature;
