import { present } from '../../collections.ts';
import { expiryDay } from '../../expiry/days.ts';
import type { WatchedDomain } from '../../expiry/ports.ts';
import { isDateless } from '../../names/dates.ts';
import type { KnownName } from '../../names/names.ts';
import { type CommandCall, type Feature, formOrigin } from '../feature.ts';
import { day, escapeText, quote, textMessage } from '../kit/blocks.ts';
import { formatDoubt } from '../names/doubt.view.ts';
import { askSecondPerson } from '../names/fact-changes.ts';
import { DATE_OF_A_PERSON, datelessSentences } from './dateless.view.ts';
import { formatDay, formatName } from './expiry.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

/*
 * Putting one name on the watch list, and taking it off.
 */

async function runWatch(call: CommandCall): Promise<void> {
  const [name, date, ...rest] = call.words;
  if (name === undefined || rest.length > 0) {
    return call.respond(
      'Give one name, and its expiry if you know it, such as `/domain watch cafe.rest 2027-03-01`. Several names: `/domain import`.',
    );
  }
  const outcome = await call.deps.expiry.watch(name, date, call.person.id);
  if (!outcome.ok)
    return call.respond(
      `Nothing was put on the watch list. ${escapeText(formatWatchRefusal(outcome.refusal))}`,
    );
  const { domain, known, dateNotTaken } = outcome;
  const { reminderTimezone, reminderChannel } = await call.deps.settings();
  const isUndated = isDateless(domain) && domain.expiry === undefined;
  const sentences = present([
    `${formatName(domain.name)} is ${known ? 'on the watch list already' : 'on the watch list'}.`,
    ...(isUndated
      ? datelessSentences(domain.name, await dnsOf(call, domain.name))
      : [formatDate(domain, reminderTimezone, call.deps.now())]),
    isDateless(domain) && domain.expiry?.source === 'person' && DATE_OF_A_PERSON,
    dateNotTaken !== undefined && `Your date, ${day(dateNotTaken)}, is not needed.`,
    domain.doubt !== undefined &&
      !isDateless(domain) &&
      `Its registry could not tell: ${quote(formatDoubt(domain.doubt))}. I will ask again.`,
    reminderChannel === undefined &&
      'No reminder channel is set, so nobody is reminded: an admin can choose one with `/domain settings`.',
  ]);
  await call.respond(sentences.join(' '));
}

/** What the DNS shows of a name whose registry tells no dates. */
async function dnsOf({ deps }: CommandCall, name: string): Promise<KnownName | undefined> {
  return deps.names.known(name).catch((err: unknown) => {
    deps.log.warn({ err, name }, 'looking at a name whose registry tells no dates');
    return undefined;
  });
}

function formatDate({ name, expiry }: WatchedDomain, timeZone: string, now: Date): string {
  if (expiry === undefined) {
    return `Its expiry is not known yet. If you know it: \`/domain watch ${name} 2027-03-01\`.`;
  }
  const when = formatDay(expiryDay(expiry.at, expiry.source, timeZone));
  const isOver = expiry.at < now;
  switch (expiry.source) {
    case 'rdap':
      return `It ${isOver ? 'expired' : 'expires'} ${when}, says its registry.`;
    case 'order':
      return `It expires about ${when}: an estimate from the last order.`;
    case 'person':
      return isOver
        ? `It expired ${when}, as a person said. If the date is wrong: \`/domain watch ${name} 2027-03-01\`.`
        : `It expires ${when}, as a person said.`;
  }
}

async function runUnwatch(call: CommandCall): Promise<void> {
  const [name, ...rest] = call.words;
  if (name === undefined || rest.length > 0) {
    return call.respond('Give one name, such as `/domain unwatch cafe.rest`.');
  }
  // Without its entry a name would lose its tags, and rules that go by them would decide otherwise.
  const waiting = await call.deps.facts.requestUnwatch(name, call.person.id, formOrigin(call));
  if (waiting !== undefined) return call.respond(await askSecondPerson(call, waiting));
  const outcome = await call.deps.expiry.unwatch(name, call.person.id);
  await call.respond(
    outcome.ok
      ? textMessage(
          `${formatName(outcome.domain.name)} is off the watch list: nobody is reminded of it any more. \`/domain watch ${outcome.domain.name}\` puts it back.`,
        )
      : textMessage(escapeText(formatWatchRefusal(outcome.refusal))),
  );
}

export const watch = {
  commands: [
    {
      usage: 'watch NAME [YYYY-MM-DD]',
      summary: 'Put a name on the expiry watch list',
      example: '/domain watch cafe.rest',
      run: runWatch,
    },
    {
      usage: 'unwatch NAME',
      summary: 'Take a name off the watch list',
      example: '/domain unwatch cafe.rest',
      run: runUnwatch,
    },
  ],
} as const satisfies Feature;
