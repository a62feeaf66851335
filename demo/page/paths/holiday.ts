import { isObject, textOf } from '@domain-steward/slack-workspace/page/json';
import type { Message } from '@domain-steward/slack-workspace/protocol';
import { isMandateDay } from '../../mandate-day.ts';
import {
  as,
  at,
  type GuidedPath,
  hasAction,
  messagesOf,
  newest,
  PEOPLE,
  type Situation,
  stateOf,
  write,
} from './path.ts';

/*
 * Everyone is away, and no name is lost: a mandate announces and carries out renewals within its limits, and asks about
 * the rest.
 */

const { carol } = PEOPLE;
/** Recorded as seen: the list of mandates. */
const MANDATES = 'mandates';

/** The newest message to the channel about a day's mandate acts. */
const day = ({ snapshot }: Situation) =>
  newest(
    messagesOf(snapshot).filter(
      ({ channel, text, thread_ts }) =>
        channel === 'C0EXPIRY' && thread_ts === undefined && isMandateDay(text),
    ),
  );

/** Whether this many orders of mandates are in a state. */
function has(count: number, state: string, { snapshot }: Situation): boolean {
  const orders = messagesOf(snapshot).filter(
    (message) =>
      textOf(message.metadata?.event_payload, 'mandate') !== undefined && stateOf(message) === state,
  );
  return new Set(orders.map(({ metadata }) => textOf(metadata?.event_payload, 'order_id'))).size >= count;
}

/** The order of the first stop button. */
function stoppable({ blocks }: Message): string | undefined {
  const accessories = blocks.map((block) => block['accessory']).filter(isObject);
  return textOf(
    accessories.find((element) => textOf(element, 'action_id') === 'order_stop'),
    'value',
  );
}

const isStopped = (situation: Situation) => has(1, 'CANCELLED', situation) || isSent(situation);
const isSent = (situation: Situation) => has(2, 'SUCCEEDED', situation);

export const goOnHoliday: GuidedPath = {
  title: 'Go on holiday',
  steps: [
    {
      title: 'See the mandate',
      text: 'Bob is about to go away. A mandate that Carol approved renews four names within a price and a total. Take a look.',
      isDone: (situation) => situation.seen.includes(MANDATES) || day(situation) !== undefined,
      next: (situation) => write(situation, carol, '/domain mandates'),
    },
    {
      title: 'Let time pass',
      text: 'Up to three weeks pass until the names are due and the mandate announces its renewals.',
      isDone: (situation) => day(situation) !== undefined,
      deed: { route: '/local/days', text: 'Let three weeks pass', busy: 'Weeks are passing …' },
    },
    {
      title: 'Stop one',
      text: 'Three names will be renewed starting tomorrow. The fourth costs more than the mandate allows, so it needs approval. Stop one of the three.',
      isDone: isStopped,
      next(situation) {
        const told = day(situation);
        const value = told && stoppable(told);
        if (told === undefined || value === undefined) return undefined;
        const button = { kind: 'action', ts: told.ts, actionId: 'order_stop', value } as const;
        return as(situation, carol, at(situation.place, told.channel, button));
      },
    },
    {
      title: 'Let them be renewed',
      text: 'A day after the announcement, the other two are sent automatically, spread over the day.',
      isDone: isSent,
      deed: { route: '/local/days', text: 'Let two days pass', busy: 'Days are passing …' },
    },
    {
      title: 'Read what it did',
      text: 'Two renewed, one stopped, one pending: open the thread, where each has its order.',
      isDone: (situation) => situation.seen.includes(day(situation)?.ts ?? ''),
      next(situation) {
        const told = day(situation);
        return told && at(situation.place, told.channel, { kind: 'thread', ts: told.ts });
      },
    },
  ],
  text: 'That’s a mandate. /domain mandates shows what it spent and has left, and ends it.',
  seenNow(situation) {
    const { snapshot, place } = situation;
    const told = day(situation);
    return [
      messagesOf(snapshot).some((message) => hasAction(message, 'mandate_end')) ? MANDATES : undefined,
      told !== undefined && place.thread === told.ts && isSent(situation) ? told.ts : undefined,
    ];
  },
};
