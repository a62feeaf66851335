import {
  createDigestStep,
  findLatestDigest,
  findNewest,
  type GuidedPath,
  hasAction,
  messagesOf,
  PEOPLE,
  type Situation,
  targetComposer,
  targetInChannel,
} from './path.ts';

/* The bot with Slack's tokens alone: names are watched, and nothing is ordered. */

/** All but the first have a problem: no lock, broken DNSSEC, an expired certificate, an early expiry. */
const NAMES = ['cafe.rest', 'olive.rest', 'pantry.rest', 'deli.rest', 'bar.rest'];
/** Recorded as seen: the list of findings. */
const POSTURE = 'posture';

/** Names are watched once the registry has been queried for the last one. */
const isWatched = ({ requests }: Situation) =>
  requests.some(({ task, name }) => task === 'rdap.domain' && name === NAMES.at(-1));

const findReminderOffer = ({ snapshot }: Situation) =>
  findNewest(messagesOf(snapshot).filter((message) => hasAction(message, 'reminders_here')));

const hasReminders = ({ snapshot }: Situation) =>
  messagesOf(snapshot).some(({ text }) => text.includes('Expiry reminders will now be posted here'));

export const justWatch: GuidedPath = {
  title: 'Just watch',
  steps: [
    {
      title: 'Watch names',
      text: 'This bot has two Slack tokens and no account at a registrar. Give it the names you want to keep.',
      isDone: (situation) => isWatched(situation) || hasReminders(situation),
      next: (situation) => targetComposer(situation, PEOPLE.ada, `/domain watch ${NAMES.join(' ')}`),
    },
    {
      title: 'Get reminders here',
      text: 'Each name has its expiry, its registrar and what is wrong with it. Ada is an admin: she sends the reminders to this channel.',
      isDone: hasReminders,
      next(situation) {
        const offer = findReminderOffer(situation);
        if (situation.snapshot.me !== PEOPLE.ada) return { kind: 'person', user: PEOPLE.ada };
        return (
          offer &&
          targetInChannel(situation.place, offer.channel, {
            kind: 'action',
            ts: offer.ts,
            actionId: 'reminders_here',
          })
        );
      },
    },
    {
      title: 'See what to fix',
      text: 'The posture lists every name with a problem, worst first, and what to do about it.',
      isDone: ({ seen }) => seen.includes(POSTURE),
      next: (situation) => targetComposer(situation, PEOPLE.ada, '/domain posture'),
    },
    createDigestStep('until someone says that they were renewed.'),
  ],
  text: 'That’s all it needs. docs/install.md does the same in your Slack. Connect a domain service later to renew names from here.',
  seenNow({ snapshot, place }) {
    const digest = findLatestDigest(snapshot);
    const isPosture = ({ text, channel }: { text: string; channel: string }) =>
      channel === place.channel && /\d+ names? (?:is|are) fine/.test(text);
    return [
      messagesOf(snapshot).some(isPosture) ? POSTURE : undefined,
      place.channel === digest?.channel ? digest?.ts : undefined,
    ];
  },
};
