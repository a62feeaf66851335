import {
  at,
  digestStep,
  type GuidedPath,
  hasAction,
  latestDigest,
  messagesOf,
  newest,
  PEOPLE,
  type Situation,
  write,
} from './path.ts';

/* The bot with Slack's tokens alone: names are watched, and nothing is ordered. */

/** With one thing wrong each: no lock, a broken DNSSEC, an old certificate, an expiry. */
const NAMES = ['cafe.rest', 'olive.rest', 'pantry.rest', 'deli.rest', 'bar.rest'];
/** Recorded as seen: the list of findings. */
const POSTURE = 'posture';

/** Names are watched when their registry is asked for the last of them. */
const isWatched = ({ requests }: Situation) =>
  requests.some(({ task, name }) => task === 'rdap.domain' && name === NAMES.at(-1));

/** The newest first look that offers reminders. */
const offer = ({ snapshot }: Situation) =>
  newest(messagesOf(snapshot).filter((message) => hasAction(message, 'reminders_here')));

const hasReminders = ({ snapshot }: Situation) =>
  messagesOf(snapshot).some(({ text }) => text.includes('Expiry reminders will now be posted here'));

export const justWatch: GuidedPath = {
  title: 'Just watch',
  steps: [
    {
      title: 'Watch names',
      text: 'This bot has two Slack tokens and no account at a registrar. Give it the names you want to keep.',
      isDone: (situation) => isWatched(situation) || hasReminders(situation),
      next: (situation) => write(situation, PEOPLE.ada, `/domain watch ${NAMES.join(' ')}`),
    },
    {
      title: 'Get reminders here',
      text: 'Each name has its expiry, its registrar and what is wrong with it. Ada is an admin: she sends the reminders to this channel.',
      isDone: hasReminders,
      next(situation) {
        const answer = offer(situation);
        if (situation.snapshot.me !== PEOPLE.ada) return { kind: 'person', user: PEOPLE.ada };
        return (
          answer &&
          at(situation.place, answer.channel, { kind: 'action', ts: answer.ts, actionId: 'reminders_here' })
        );
      },
    },
    {
      title: 'See what to fix',
      text: 'The posture lists every name with a problem, worst first, and what to do about it.',
      isDone: ({ seen }) => seen.includes(POSTURE),
      next: (situation) => write(situation, PEOPLE.ada, '/domain posture'),
    },
    digestStep('until someone says that they were renewed.'),
  ],
  text: 'That’s all it needs. docs/install.md does the same in your Slack. Connect a domain service later to renew names from here.',
  seenNow({ snapshot, place }) {
    const digest = latestDigest(snapshot);
    const isPosture = ({ text, channel }: { text: string; channel: string }) =>
      channel === place.channel && /\d+ names? (?:is|are) fine/.test(text);
    return [
      messagesOf(snapshot).some(isPosture) ? POSTURE : undefined,
      place.channel === digest?.channel ? digest?.ts : undefined,
    ];
  },
};
