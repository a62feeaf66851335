import { isObject, textOf } from '@domain-steward/slack-workspace/page/json';
import type { Message } from '@domain-steward/slack-workspace/protocol';
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
 * Everybody is away, and no name is lost: a mandate renews what it may, says so before, and asks for the rest.
 */

const { carol } = PEOPLE;
/** Noted as seen: the list of mandates. */
const MANDATES = 'mandates';

/** The newest message of a day on which mandates act. */
const day = ({ snapshot }: Situation) =>
  newest(
    messagesOf(snapshot).filter(
      ({ text, thread_ts }) => thread_ts === undefined && text.includes('by mandate'),
    ),
  );

/** Whether as many orders of mandates are in a state. */
function has(count: number, state: string, { snapshot }: Situation): boolean {
  const orders = messagesOf(snapshot).filter(
    (message) =>
      textOf(message.metadata?.event_payload, 'mandate') !== undefined && stateOf(message) === state,
  );
  return new Set(orders.map(({ metadata }) => textOf(metadata?.event_payload, 'order_id'))).size >= count;
}

/** The order behind the first button to stop one. */
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
      text: 'Bob is about to be away. A mandate, which Carol approved, renews four names up to a price and a sum. Look at it.',
      isDone: (situation) => situation.seen.includes(MANDATES) || day(situation) !== undefined,
      next: (situation) => write(situation, carol, '/domain mandates'),
    },
    {
      title: 'Let him go',
      text: 'Up to three weeks pass, until the names come due and the mandate says what it is about to do.',
      isDone: (situation) => day(situation) !== undefined,
      deed: { route: '/local/days', text: 'Let the weeks go by', busy: 'The weeks go by …' },
    },
    {
      title: 'Stop one',
      text: 'Three names are renewed from tomorrow on. The fourth costs more than the mandate may pay, so it is asked for. Stop one of the three.',
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
      text: 'A day after it was said, the other two go out by themselves, spread over the day.',
      isDone: isSent,
      deed: { route: '/local/days', text: 'Let two days go by', busy: 'The days go by …' },
    },
    {
      title: 'Read what it did',
      text: 'Two renewed, one stopped, one asked for: open the thread, where each has its order.',
      isDone: (situation) => situation.seen.includes(day(situation)?.ts ?? ''),
      next(situation) {
        const told = day(situation);
        return told && at(situation.place, told.channel, { kind: 'thread', ts: told.ts });
      },
    },
  ],
  text: 'That is a mandate. /domain mandates says what it spent and has left, and ends it.',
  seenNow(situation) {
    const { snapshot, place } = situation;
    const told = day(situation);
    return [
      messagesOf(snapshot).some((message) => hasAction(message, 'mandate_end')) ? MANDATES : undefined,
      told !== undefined && place.thread === told.ts && isSent(situation) ? told.ts : undefined,
    ];
  },
};
