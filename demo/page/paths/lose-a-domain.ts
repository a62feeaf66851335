import {
  as,
  at,
  type GuidedPath,
  hasAction,
  isAbout,
  messagesOf,
  newest,
  PEOPLE,
  type Situation,
  write,
} from './path.ts';

/* Deleting a name in use takes more than one click. A theft is reported within the minute, also by webhook. */

const NAME = 'cafe.rest';
/** Recorded as seen: the form in which the name is typed again, and the webhooks. */
const CONFIRM = 'confirm';
const WEBHOOKS = 'webhooks';

const draft = ({ snapshot }: Situation) =>
  newest(
    messagesOf(snapshot).filter(
      (message) => message.text.includes(NAME) && hasAction(message, 'order_confirm'),
    ),
  );
const incident = ({ snapshot }: Situation) =>
  newest(messagesOf(snapshot).filter((message) => isAbout(message, 'domain_incident', NAME)));

/** The deletion was requested, but not confirmed. */
function deletion(situation: Situation) {
  const asked = draft(situation);
  if (asked === undefined) return write(situation, PEOPLE.alice, `/domain delete ${NAME}`);
  const button = { kind: 'action', ts: asked.ts, actionId: 'order_confirm' } as const;
  return as(situation, PEOPLE.alice, at(situation.place, asked.channel, button));
}

const isStolen = (situation: Situation) => incident(situation) !== undefined;

export const loseADomain: GuidedPath = {
  title: 'Lose a domain',
  steps: [
    {
      title: 'Delete a name in use',
      text: 'cafe.rest has mail and a website. Request its deletion anyway.',
      isDone: (situation) =>
        draft(situation) !== undefined || situation.seen.includes(CONFIRM) || isStolen(situation),
      next: deletion,
    },
    {
      title: 'See what stops you',
      text: 'Read what would stop working. The button asks for the name again. Close the form: nothing was sent.',
      isDone: (situation) => situation.seen.includes(CONFIRM) || isStolen(situation),
      next: deletion,
    },
    {
      title: 'Let it be stolen',
      text: 'Someone takes the name: its locks are removed, it’s transferred, and its nameservers change.',
      isDone: isStolen,
      deed: {
        route: '/local/theft',
        text: 'Let cafe.rest be stolen',
        busy: 'cafe.rest is being stolen …',
      },
    },
    {
      title: 'See the alarm',
      text: 'One incident, within a minute: no order explains the change. Open its thread and read what to do.',
      isDone: (situation) => situation.seen.includes(incident(situation)?.ts ?? ''),
      next(situation) {
        const told = incident(situation);
        return told && at(situation.place, told.channel, { kind: 'thread', ts: told.ts });
      },
    },
    {
      title: 'See the webhooks',
      text: 'Slack itself may depend on the stolen name, so webhooks report it too. See what arrived.',
      isDone: ({ seen }) => seen.includes(WEBHOOKS),
      next: () => ({ kind: 'panel', panel: 'webhooks' }),
    },
  ],
  text: 'That’s how a theft is reported. Raise the alarm notifies the name’s owner, the approvers and the admins. It was us closes it.',
  seenNow(situation) {
    const { snapshot, place, panel } = situation;
    const told = incident(situation);
    return [
      snapshot.views.at(-1)?.callback_id === 'confirm' ? CONFIRM : undefined,
      place.thread === told?.ts ? told?.ts : undefined,
      told !== undefined && panel === 'webhooks' ? WEBHOOKS : undefined,
    ];
  },
};
