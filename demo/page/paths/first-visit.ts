import type { Message } from '@domain-steward/slack-workspace/protocol';
import {
  as,
  at,
  digestStep,
  ENDED,
  type GuidedPath,
  latestDigest,
  latestOrder,
  type NextTarget,
  PEOPLE,
  type Situation,
  stateOf,
  WAITING,
  write,
} from './path.ts';

/*
 * From the first command to what expires.
 */

const NAME = 'cafe.rest';

/** The card of the renewal, unless it was denied, cancelled or expired. */
const renewal = ({ snapshot }: Situation) => latestOrder(snapshot, 'renew', NAME);

function isLinked({ requests }: Situation): boolean {
  return requests.some(
    ({ task, carriedOut, status }) => task === 'session.create' && carriedOut && status === 200,
  );
}

/** The finished renewal. */
function ended(situation: Situation): Message | undefined {
  const card = renewal(situation);
  return card !== undefined && ENDED.includes(stateOf(card)) ? card : undefined;
}

/** Alice types a command, and fills in its form. */
function typed(situation: Situation, callbackId: string, text: string): NextTarget | undefined {
  const isOpen = situation.snapshot.views.at(-1)?.callback_id === callbackId;
  return isOpen
    ? as(situation, PEOPLE.alice, { kind: 'form', callbackId })
    : write(situation, PEOPLE.alice, text);
}

export const firstVisit: GuidedPath = {
  title: 'First visit',
  steps: [
    {
      title: 'Link an account',
      text: 'Everyone uses their own account at the domain service. Type /domain link and fill in Alice’s sandbox account.',
      isDone: (situation) => isLinked(situation) || renewal(situation) !== undefined,
      next: (situation) => typed(situation, 'link', '/domain link'),
    },
    {
      title: 'Request a renewal',
      text: 'Request two more years for cafe.rest. It costs money, so it waits for approval.',
      isDone: (situation) => renewal(situation) !== undefined,
      next: (situation) => typed(situation, 'renew', `/domain renew ${NAME} 2 -- client paid`),
    },
    {
      title: 'Approve it',
      text: 'Bob can approve. The card shows him what will happen. When he clicks Approve, one more request appears under Requests.',
      isDone(situation) {
        const card = renewal(situation);
        return card !== undefined && !WAITING.includes(stateOf(card));
      },
      next(situation) {
        const { snapshot, place } = situation;
        const card = renewal(situation);
        if (card === undefined) return undefined;
        const approver = snapshot.users.find(({ id, role }) => id === snapshot.me && role === 'approves');
        const button = at(place, card.channel, { kind: 'action', ts: card.ts, actionId: 'order_approve' });
        return as(situation, approver?.id ?? PEOPLE.bob, button);
      },
    },
    {
      title: 'Read the result',
      text: 'The service answered. Open the thread and read the response.',
      isDone: (situation) => situation.seen.includes(ended(situation)?.ts ?? ''),
      next(situation) {
        const card = ended(situation);
        return card && at(situation.place, card.channel, { kind: 'thread', ts: card.ts });
      },
    },
    digestStep('each with a menu to renew it.'),
  ],
  text: 'That’s the whole path. Try to deny a request, or open a second window as Bob. /domain help lists the commands.',
  seenNow(situation) {
    const { snapshot, place } = situation;
    const card = ended(situation);
    const digest = latestDigest(snapshot);
    return [
      place.thread === card?.ts ? card?.ts : undefined,
      place.channel === digest?.channel ? digest?.ts : undefined,
    ];
  },
};
