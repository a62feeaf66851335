import { isObject, textOf } from '@domain-steward/slack-workspace/page/json';
import type { Message } from '@domain-steward/slack-workspace/protocol';
import { isMandateDay } from '../../mandate-day.ts';
import {
  findNewest,
  type GuidedPath,
  hasAction,
  messagesOf,
  PEOPLE,
  type Situation,
  stateOf,
  targetComposer,
  targetForPerson,
  targetInChannel,
} from './path.ts';

/* A mandate announces and carries out renewals within its limits, and requests approval for the rest. */

const { carol } = PEOPLE;
/** Recorded as seen: the list of mandates. */
const MANDATES = 'mandates';

const findAnnouncement = ({ snapshot }: Situation) =>
  findNewest(
    messagesOf(snapshot).filter(
      ({ channel, text, thread_ts }) =>
        channel === 'C0EXPIRY' && thread_ts === undefined && isMandateDay(text),
    ),
  );

/** Whether at least this many orders of mandates are in a state. */
function hasOrders(count: number, state: string, { snapshot }: Situation): boolean {
  const orders = messagesOf(snapshot).filter(
    (message) =>
      textOf(message.metadata?.event_payload, 'mandate') !== undefined && stateOf(message) === state,
  );
  return new Set(orders.map(({ metadata }) => textOf(metadata?.event_payload, 'order_id'))).size >= count;
}

function findStoppableOrder({ blocks }: Message): string | undefined {
  const accessories = blocks.map((block) => block['accessory']).filter(isObject);
  return textOf(
    accessories.find((element) => textOf(element, 'action_id') === 'order_stop'),
    'value',
  );
}

const isStopped = (situation: Situation) => hasOrders(1, 'CANCELLED', situation) || isSent(situation);
const isSent = (situation: Situation) => hasOrders(2, 'SUCCEEDED', situation);

export const goOnHoliday: GuidedPath = {
  title: 'Go on holiday',
  steps: [
    {
      title: 'See the mandate',
      text: 'Bob is about to go away. A mandate that Carol approved renews four names within a price and a total. Take a look.',
      isDone: (situation) => situation.seen.includes(MANDATES) || findAnnouncement(situation) !== undefined,
      next: (situation) => targetComposer(situation, carol, '/domain mandates'),
    },
    {
      title: 'Let time pass',
      text: 'Up to three weeks pass until the names are due and the mandate announces its renewals.',
      isDone: (situation) => findAnnouncement(situation) !== undefined,
      deed: { route: '/local/days', text: 'Let three weeks pass', busy: 'Weeks are passing …' },
    },
    {
      title: 'Stop one',
      text: 'Three names will be renewed starting tomorrow. The fourth costs more than the mandate allows, so it needs approval. Stop one of the three.',
      isDone: isStopped,
      next(situation) {
        const announcement = findAnnouncement(situation);
        const value = announcement && findStoppableOrder(announcement);
        if (announcement === undefined || value === undefined) return undefined;
        const button = { kind: 'action', ts: announcement.ts, actionId: 'order_stop', value } as const;
        return targetForPerson(
          situation,
          carol,
          targetInChannel(situation.place, announcement.channel, button),
        );
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
      isDone: (situation) => situation.seen.includes(findAnnouncement(situation)?.ts ?? ''),
      next(situation) {
        const announcement = findAnnouncement(situation);
        return (
          announcement &&
          targetInChannel(situation.place, announcement.channel, { kind: 'thread', ts: announcement.ts })
        );
      },
    },
  ],
  text: 'That’s a mandate. /domain mandates shows what it spent and has left, and ends it.',
  seenNow(situation) {
    const { snapshot, place } = situation;
    const announcement = findAnnouncement(situation);
    return [
      messagesOf(snapshot).some((message) => hasAction(message, 'mandate_end')) ? MANDATES : undefined,
      announcement !== undefined && place.thread === announcement.ts && isSent(situation)
        ? announcement.ts
        : undefined,
    ];
  },
};
