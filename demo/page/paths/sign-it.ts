import type { Message } from '@domain-steward/slack-workspace/protocol';
import {
  as,
  at,
  ENDED,
  type GuidedPath,
  hasAction,
  latestOrder,
  messagesOf,
  type NextTarget,
  newest,
  PEOPLE,
  type Situation,
  stateOf,
  WAITING,
  write,
} from './path.ts';

/* If a rule requires it, only a passkey signature approves, not a click. The passkey counts through a root. */

/** The demo's policy requires signatures for orders of this name. */
const NAME = 'menu.example';
const { ada, bob, carol } = PEOPLE;

/** As the bot's pages report it. */
type Ceremony = 'Added' | 'Vouched' | 'Revoked';
const isOver = ({ ceremonies, seen }: Situation, ceremony: Ceremony) =>
  ceremonies.includes(ceremony) || seen.includes(ceremony);

const order = ({ snapshot }: Situation) => latestOrder(snapshot, 'renew', NAME);

/** The newest message with a passkey button, or with a link from one. */
function about(situation: Situation, isIt: (message: Message) => boolean): Message | undefined {
  return newest(
    messagesOf(situation.snapshot).filter((message) => message.ephemeral_to !== undefined && isIt(message)),
  );
}

/** A person opens a page: the command, then its button; nothing once there is a link. */
function keyPage(situation: Situation, person: string, action: string, lead: string): NextTarget | undefined {
  if (situation.snapshot.me !== person) return as(situation, person, undefined);
  const list = about(situation, (message) => hasAction(message, action));
  const link = about(situation, (message) => message.text.startsWith(lead));
  if (link !== undefined && link.ts > (list?.ts ?? '')) return undefined;
  if (list === undefined) return write(situation, person, '/domain key');
  return at(situation.place, list.channel, { kind: 'action', ts: list.ts, actionId: action });
}

export const signIt: GuidedPath = {
  title: 'Sign it',
  steps: [
    {
      title: 'Add a passkey',
      text: 'A click can’t approve orders for menu.example: its rule requires a signature. Press Add a passkey, open the link, and let your browser create a passkey for Bob.',
      isDone: (situation) => isOver(situation, 'Added'),
      next: (situation) => keyPage(situation, bob, 'key_add', 'Add a passkey'),
    },
    {
      title: 'Vouch for it',
      text: 'A passkey becomes valid when someone with a valid passkey vouches for it. Ada’s is the root, and it’s in this demo.',
      isDone: (situation) => isOver(situation, 'Vouched'),
      next: (situation) => keyPage(situation, ada, 'key_vouch', 'Vouch for it'),
      deed: { route: '/local/root', text: 'Use Ada’s passkey', busy: 'Ada signs …' },
    },
    {
      title: 'Request a renewal',
      text: 'Carol requests a renewal of menu.example. The card has Sign instead of Approve.',
      isDone: (situation) => order(situation) !== undefined,
      next: (situation) => write(situation, carol, `/domain renew ${NAME} -- it must not be lost`),
    },
    {
      title: 'Sign it',
      text: 'Press Sign and open the link: the page shows everything that will be sent, and your passkey signs exactly that.',
      isDone(situation) {
        const card = order(situation);
        return card !== undefined && !WAITING.includes(stateOf(card));
      },
      next(situation) {
        const card = order(situation);
        const link = about(situation, ({ text }) => text.startsWith('Review what will be sent'));
        if (card === undefined || (situation.snapshot.me === bob && link !== undefined && link.ts > card.ts))
          return undefined;
        const button = { kind: 'action', ts: card.ts, actionId: 'order_sign' } as const;
        return as(situation, bob, at(situation.place, card.channel, button));
      },
    },
    {
      title: 'See the result',
      text: 'The card updates, and its history shows the signature. Open the thread.',
      isDone: (situation) => situation.seen.includes(order(situation)?.ts ?? ''),
      next(situation) {
        const card = order(situation);
        if (card === undefined || !ENDED.includes(stateOf(card))) return undefined;
        return at(situation.place, card.channel, { kind: 'thread', ts: card.ts });
      },
    },
    {
      title: 'Revoke it',
      text: 'A lost passkey is revoked: its signatures no longer count.',
      isDone: (situation) => isOver(situation, 'Revoked'),
      next: (situation) => keyPage(situation, bob, 'key_revoke', 'Revoke it'),
    },
  ],
  text: 'That’s a signed approval. Someone who takes over Slack, or writes to the database, can’t send anything without such a passkey.',
  seenNow(situation) {
    const card = order(situation);
    return [
      ...situation.ceremonies,
      card !== undefined && ENDED.includes(stateOf(card)) && situation.place.thread === card.ts
        ? card.ts
        : undefined,
    ];
  },
};
