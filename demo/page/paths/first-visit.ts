import type { Message } from '@domain-steward/slack-workspace/protocol';
import {
  createDigestStep,
  ENDED_STATES,
  findLatestDigest,
  findLatestOrder,
  type GuidedPath,
  type NextTarget,
  PEOPLE,
  type Situation,
  stateOf,
  targetComposer,
  targetForPerson,
  targetInChannel,
  WAITING_STATES,
} from './path.ts';

const NAME = 'cafe.rest';

const findRenewal = ({ snapshot }: Situation) => findLatestOrder(snapshot, 'renew', NAME);

function isLinked({ requests }: Situation): boolean {
  return requests.some(
    ({ task, carriedOut, status }) => task === 'session.create' && carriedOut && status === 200,
  );
}

function findEndedRenewal(situation: Situation): Message | undefined {
  const card = findRenewal(situation);
  return card !== undefined && ENDED_STATES.includes(stateOf(card)) ? card : undefined;
}

/** Alice enters a command and fills in its form. */
function targetCommandOrForm(situation: Situation, callbackId: string, text: string): NextTarget | undefined {
  const isOpen = situation.snapshot.views.at(-1)?.callback_id === callbackId;
  return isOpen
    ? targetForPerson(situation, PEOPLE.alice, { kind: 'form', callbackId })
    : targetComposer(situation, PEOPLE.alice, text);
}

export const firstVisit: GuidedPath = {
  title: 'First visit',
  steps: [
    {
      title: 'Link an account',
      text: 'Everyone uses their own account at the domain service. Type /domain link and fill in Alice’s sandbox account.',
      isDone: (situation) => isLinked(situation) || findRenewal(situation) !== undefined,
      next: (situation) => targetCommandOrForm(situation, 'link', '/domain link'),
    },
    {
      title: 'Request a renewal',
      text: 'Request two more years for cafe.rest. It costs money, so it waits for approval.',
      isDone: (situation) => findRenewal(situation) !== undefined,
      next: (situation) => targetCommandOrForm(situation, 'renew', `/domain renew ${NAME} 2 -- client paid`),
    },
    {
      title: 'Approve it',
      text: 'Bob can approve. The card shows him what will happen. When he clicks Approve, one more request appears under Requests.',
      isDone(situation) {
        const card = findRenewal(situation);
        return card !== undefined && !WAITING_STATES.includes(stateOf(card));
      },
      next(situation) {
        const { snapshot, place } = situation;
        const card = findRenewal(situation);
        if (card === undefined) return undefined;
        const approver = snapshot.users.find(({ id, role }) => id === snapshot.me && role === 'approves');
        const button = targetInChannel(place, card.channel, {
          kind: 'action',
          ts: card.ts,
          actionId: 'order_approve',
        });
        return targetForPerson(situation, approver?.id ?? PEOPLE.bob, button);
      },
    },
    {
      title: 'Read the result',
      text: 'The service answered. Open the thread and read the response.',
      isDone: (situation) => situation.seen.includes(findEndedRenewal(situation)?.ts ?? ''),
      next(situation) {
        const card = findEndedRenewal(situation);
        return card && targetInChannel(situation.place, card.channel, { kind: 'thread', ts: card.ts });
      },
    },
    createDigestStep('each with a menu to renew it.'),
  ],
  text: 'That’s the whole path. Try to deny a request, or open a second window as Bob. /domain help lists the commands.',
  seenNow(situation) {
    const { snapshot, place } = situation;
    const card = findEndedRenewal(situation);
    const digest = findLatestDigest(snapshot);
    return [
      place.thread === card?.ts ? card?.ts : undefined,
      place.channel === digest?.channel ? digest?.ts : undefined,
    ];
  },
};
