import type { Message } from '@domain-steward/slack-workspace/protocol';
import {
  ENDED_STATES,
  findLatestOrder,
  findNewest,
  type GuidedPath,
  hasAction,
  messagesOf,
  type NextTarget,
  PEOPLE,
  type Situation,
  stateOf,
  targetComposer,
  targetForPerson,
  targetInChannel,
  WAITING_STATES,
} from './path.ts';

/* If a rule requires signatures, clicks don't count. A passkey is valid once a root has vouched for it. */

/** The demo's policy requires signatures for orders of this name. */
const NAME = 'menu.example';
const { ada, bob, carol } = PEOPLE;

/** The titles that the bot's pages report. */
type Ceremony = 'Added' | 'Vouched' | 'Revoked';
const isCeremonyDone = ({ ceremonies, seen }: Situation, ceremony: Ceremony) =>
  ceremonies.includes(ceremony) || seen.includes(ceremony);

const findOrder = ({ snapshot }: Situation) => findLatestOrder(snapshot, 'renew', NAME);

/** Finds the newest ephemeral message with a passkey button, or with the link that a button returned. */
function findEphemeral(situation: Situation, matches: (message: Message) => boolean): Message | undefined {
  return findNewest(
    messagesOf(situation.snapshot).filter(
      (message) => message.ephemeral_to !== undefined && matches(message),
    ),
  );
}

/** To open a page, a person enters the command and then clicks the button. Undefined once there is a link. */
function targetKeyPage(
  situation: Situation,
  person: string,
  action: string,
  lead: string,
): NextTarget | undefined {
  if (situation.snapshot.me !== person) return targetForPerson(situation, person, undefined);
  const list = findEphemeral(situation, (message) => hasAction(message, action));
  const link = findEphemeral(situation, (message) => message.text.startsWith(lead));
  if (link !== undefined && link.ts > (list?.ts ?? '')) return undefined;
  if (list === undefined) return targetComposer(situation, person, '/domain key');
  return targetInChannel(situation.place, list.channel, { kind: 'action', ts: list.ts, actionId: action });
}

export const signIt: GuidedPath = {
  title: 'Sign it',
  steps: [
    {
      title: 'Add a passkey',
      text: 'A click can’t approve orders for menu.example: its rule requires a signature. Press Add a passkey, open the link, and let your browser create a passkey for Bob.',
      isDone: (situation) => isCeremonyDone(situation, 'Added'),
      next: (situation) => targetKeyPage(situation, bob, 'key_add', 'Add a passkey'),
    },
    {
      title: 'Vouch for it',
      text: 'A passkey becomes valid when someone with a valid passkey vouches for it. Ada’s is the root, and it’s in this demo.',
      isDone: (situation) => isCeremonyDone(situation, 'Vouched'),
      next: (situation) => targetKeyPage(situation, ada, 'key_vouch', 'Vouch for it'),
      deed: { route: '/local/root', text: 'Use Ada’s passkey', busy: 'Ada signs …' },
    },
    {
      title: 'Request a renewal',
      text: 'Carol requests a renewal of menu.example. The card has Sign instead of Approve.',
      isDone: (situation) => findOrder(situation) !== undefined,
      next: (situation) => targetComposer(situation, carol, `/domain renew ${NAME} -- it must not be lost`),
    },
    {
      title: 'Sign it',
      text: 'Press Sign and open the link: the page shows everything that will be sent, and your passkey signs exactly that.',
      isDone(situation) {
        const card = findOrder(situation);
        return card !== undefined && !WAITING_STATES.includes(stateOf(card));
      },
      next(situation) {
        const card = findOrder(situation);
        const link = findEphemeral(situation, ({ text }) => text.startsWith('Review what will be sent'));
        if (card === undefined || (situation.snapshot.me === bob && link !== undefined && link.ts > card.ts))
          return undefined;
        const button = { kind: 'action', ts: card.ts, actionId: 'order_sign' } as const;
        return targetForPerson(situation, bob, targetInChannel(situation.place, card.channel, button));
      },
    },
    {
      title: 'See the result',
      text: 'The card updates, and its history shows the signature. Open the thread.',
      isDone: (situation) => situation.seen.includes(findOrder(situation)?.ts ?? ''),
      next(situation) {
        const card = findOrder(situation);
        if (card === undefined || !ENDED_STATES.includes(stateOf(card))) return undefined;
        return targetInChannel(situation.place, card.channel, { kind: 'thread', ts: card.ts });
      },
    },
    {
      title: 'Revoke it',
      text: 'A lost passkey is revoked: its signatures no longer count.',
      isDone: (situation) => isCeremonyDone(situation, 'Revoked'),
      next: (situation) => targetKeyPage(situation, bob, 'key_revoke', 'If you no longer use'),
    },
  ],
  text: 'That’s a signed approval. Someone who takes over Slack, or writes to the database, can’t send anything without such a passkey.',
  seenNow(situation) {
    const card = findOrder(situation);
    return [
      ...situation.ceremonies,
      card !== undefined && ENDED_STATES.includes(stateOf(card)) && situation.place.thread === card.ts
        ? card.ts
        : undefined,
    ];
  },
};
