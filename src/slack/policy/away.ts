import { DAY_MS } from '../../duration.ts';
import type { StandIn } from '../../policy/approvals.ts';
import { isCalendarDay } from '../../zones/calendar-day.ts';
import type { CommandCall, Feature, Interaction } from '../feature.ts';
import { code, mention, mentionApprover, moment } from '../kit/blocks.ts';
import { backText } from '../log/told-event.view.ts';

/* Absences: who approves instead of somebody, and until when. */

const MAX_DAYS = 366;
const USAGE =
  'Say until when and who stands in for you, such as `/domain away 2026-12-24 @carol` or `/domain away 2w @carol`.';

/** The first moment at which somebody is back: after a day (UTC), or in some days or weeks. */
function readUntil(word: string, now: Date): Date | undefined {
  const [, amount, unit] = /^(\d{1,3})([dw])$/i.exec(word) ?? [];
  if (amount !== undefined) {
    const days = Number(amount) * (unit?.toLowerCase() === 'w' ? 7 : 1);
    return new Date(now.getTime() + days * DAY_MS);
  }
  return isCalendarDay(word) ? new Date(Date.parse(`${word}T00:00:00Z`) + DAY_MS) : undefined;
}

/** The id in a mention of a person. */
function readPerson(word: string): string | undefined {
  return /^(?:<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>|([UW][A-Z0-9]{5,}))$/.exec(word)?.slice(1).find(Boolean);
}

/** What the line asks for, checked without any request; or what is wrong with it. */
function readLine({ words, person, deps }: CommandCall): StandIn | string {
  const [first, second, ...rest] = words;
  if (first === undefined || second === undefined || rest.length > 0) return USAGE;
  const isPersonFirst = /^[<@]/.test(first);
  const untilWord = isPersonFirst ? second : first;
  const personWord = isPersonFirst ? first : second;
  const now = deps.now();
  const until = readUntil(untilWord, now);
  if (until === undefined)
    return `${code(untilWord)} is neither a day nor a length of time. Give a day such as \`2026-12-24\`, or \`5d\` or \`2w\`.`;
  if (until <= now) return `${code(untilWord)} is over already. Give a day that is ahead.`;
  if (until.getTime() - now.getTime() > MAX_DAYS * DAY_MS)
    return 'That is more than a year ahead. Give an earlier day; you can do this again then.';
  const [, groupId] = /^<!subteam\^(S[A-Z0-9]+)/.exec(personWord) ?? [];
  if (groupId !== undefined)
    return `${mentionApprover(groupId)} is a group. Choose one person, such as \`/domain away 2w @carol\`.`;
  const userId = readPerson(personWord);
  if (userId === undefined)
    return `I do not know who ${code(personWord)} is. Type @ and choose the person from Slack’s list. If you did, an admin has to set \`should_escape: true\` for \`/domain\` in the app’s manifest.`;
  if (userId === person.id) return 'You cannot stand in for yourself. Choose somebody else.';
  return { userId, until };
}

async function runAway(call: CommandCall): Promise<void> {
  const { deps, person } = call;
  const standIn = readLine(call);
  if (typeof standIn === 'string') return call.respond(standIn);
  const membership = await deps.directory.membership(standIn.userId);
  if (membership !== 'member') return call.respond(notAMember(standIn.userId, membership));
  const now = deps.now();
  await deps.standIns.begin(person.id, standIn, now);
  const others = await deps.standIns.current(now);
  const until = moment(standIn.until);
  const own = others.get(standIn.userId);
  call.acknowledge();
  deps.notifyDue();
  await refresh(deps);
  const passedOn =
    own === undefined
      ? ''
      : ` ${mention(standIn.userId)} is away too, until ${moment(own.until)}: nobody stands in for both of you.`;
  await call.respond(
    `${mention(standIn.userId)} stands in for you until ${until}. They approve what you could approve, but nothing that either of you asked for.${passedOn} \`/domain back\` ends it earlier.`,
  );
}

function notAMember(userId: string, membership: 'left' | 'unknown'): string {
  return membership === 'left'
    ? `${mention(userId)} is not a full member of this workspace. Choose somebody who is.`
    : `Slack does not tell me whether ${mention(userId)} is a member. Nothing has changed. Try again in a minute.`;
}

async function runBack(call: CommandCall): Promise<void> {
  const { deps, person } = call;
  const ended = await deps.standIns.end(person.id, deps.now());
  if (ended === undefined)
    return call.respond('Nobody stands in for you. `/domain away UNTIL @PERSON` asks somebody to.');
  call.acknowledge();
  deps.notifyDue();
  await refresh(deps);
  await call.respond(backText(ended.userId));
}

/** Cards name those who can approve, so they are shown again. */
async function refresh({ refreshWaitingCards, log }: Interaction['deps']): Promise<void> {
  await refreshWaitingCards().catch((err: unknown) => log.warn({ err }, 'showing who stands in on cards'));
}

export const away = {
  commands: [
    {
      usage: 'away UNTIL @PERSON',
      summary: 'Have somebody approve in your place while you are away',
      example: '/domain away 2w @carol',
      run: runAway,
    },
    {
      usage: 'back',
      summary: 'End that somebody stands in for you',
      example: '/domain back',
      run: runBack,
    },
  ],
} as const satisfies Feature;
