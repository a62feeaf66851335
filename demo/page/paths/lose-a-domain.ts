import {
  findNewest,
  type GuidedPath,
  hasAction,
  isAbout,
  messagesOf,
  PEOPLE,
  type Situation,
  targetComposer,
  targetForPerson,
  targetInChannel,
} from './path.ts';

/* Deleting a name in use takes more than one click. A theft is reported within the minute, also by webhook. */

const NAME = 'cafe.rest';
/** Recorded as seen: the form in which the name is typed again, and the webhooks. */
const CONFIRM = 'confirm';
const WEBHOOKS = 'webhooks';

const findDraft = ({ snapshot }: Situation) =>
  findNewest(
    messagesOf(snapshot).filter(
      (message) => message.text.includes(NAME) && hasAction(message, 'order_confirm'),
    ),
  );
const findIncident = ({ snapshot }: Situation) =>
  findNewest(messagesOf(snapshot).filter((message) => isAbout(message, 'domain_incident', NAME)));

function targetDeletion(situation: Situation) {
  const draft = findDraft(situation);
  if (draft === undefined) return targetComposer(situation, PEOPLE.alice, `/domain delete ${NAME}`);
  const button = { kind: 'action', ts: draft.ts, actionId: 'order_confirm' } as const;
  return targetForPerson(situation, PEOPLE.alice, targetInChannel(situation.place, draft.channel, button));
}

const isStolen = (situation: Situation) => findIncident(situation) !== undefined;

export const loseADomain: GuidedPath = {
  title: 'Lose a domain',
  steps: [
    {
      title: 'Delete a name in use',
      text: 'cafe.rest has mail and a website. Request its deletion anyway.',
      isDone: (situation) =>
        findDraft(situation) !== undefined || situation.seen.includes(CONFIRM) || isStolen(situation),
      next: targetDeletion,
    },
    {
      title: 'See what stops you',
      text: 'Read what would stop working. The button asks for the name again. Close the form: nothing was sent.',
      isDone: (situation) => situation.seen.includes(CONFIRM) || isStolen(situation),
      next: targetDeletion,
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
      isDone: (situation) => situation.seen.includes(findIncident(situation)?.ts ?? ''),
      next(situation) {
        const incident = findIncident(situation);
        return (
          incident && targetInChannel(situation.place, incident.channel, { kind: 'thread', ts: incident.ts })
        );
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
    const incident = findIncident(situation);
    return [
      snapshot.views.at(-1)?.callback_id === 'confirm' ? CONFIRM : undefined,
      place.thread === incident?.ts ? incident?.ts : undefined,
      incident !== undefined && panel === 'webhooks' ? WEBHOOKS : undefined,
    ];
  },
};
