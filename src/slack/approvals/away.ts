import type { StandIn } from '../../approvals/progress.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { isCalendarDay, resolveLocalTime } from '../../zones/calendar-day.ts';
import type { CommandCall, Feature } from '../feature.ts';
import { welcomeBackText } from '../ledger/event-notification.view.ts';
import { AWAY_ERRORS, awayText, NOT_AWAY } from './away.view.ts';

const MAX_ABSENCE_DAYS = 366;

/** Parses a date in the person's time zone, or a number of days or weeks. */
function parseAbsenceEnd(word: string, now: Date, timeZone: string): Date | undefined {
  const [, amount, unit] = /^(\d{1,3})([dw])$/i.exec(word) ?? [];
  if (amount !== undefined) {
    const days = Number(amount) * (unit?.toLowerCase() === 'w' ? 7 : 1);
    return new Date(now.getTime() + days * DAY_MS);
  }
  if (!isCalendarDay(word)) return undefined;
  return resolveLocalTime(new Date(Date.parse(`${word}T00:00:00Z`) + DAY_MS), timeZone);
}

function parsePersonId(word: string): string | undefined {
  return /^(?:<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>|([UW][A-Z0-9]{5,}))$/.exec(word)?.slice(1).find(Boolean);
}

function parseStandIn({ words, person, context }: CommandCall, timeZone: string): StandIn | string {
  const [first, second, ...others] = words;
  if (first === undefined || second === undefined || others.length > 0) return AWAY_ERRORS.usage;
  const isPersonFirst = /^[<@]/.test(first);
  const untilWord = isPersonFirst ? second : first;
  const personWord = isPersonFirst ? first : second;
  const now = context.now();
  const until = parseAbsenceEnd(untilWord, now, timeZone);
  if (until === undefined) return AWAY_ERRORS.notADateOrDuration(untilWord);
  if (until <= now) return AWAY_ERRORS.inPast(untilWord);
  if (until.getTime() - now.getTime() > MAX_ABSENCE_DAYS * DAY_MS) return AWAY_ERRORS.tooLate;
  const [, groupId] = /^<!subteam\^(S[A-Z0-9]+)/.exec(personWord) ?? [];
  if (groupId !== undefined) return AWAY_ERRORS.group(groupId);
  const userId = parsePersonId(personWord);
  if (userId === undefined) return AWAY_ERRORS.notAPerson(personWord);
  if (userId === person.id) return AWAY_ERRORS.self;
  return { userId, until };
}

async function runAway(call: CommandCall): Promise<void> {
  const { context, person } = call;
  const standIn = parseStandIn(call, (await context.directory.findTimeZone(person.id)) ?? 'UTC');
  if (typeof standIn === 'string') return call.respond(standIn);
  const membership = await context.directory.findMembership(standIn.userId);
  if (membership !== 'member') return call.respond(AWAY_ERRORS[membership](standIn.userId));
  const now = context.now();
  await context.standIns.begin(person.id, standIn, now);
  const standIns = await context.standIns.loadActiveStandIns(now);
  call.acknowledge();
  context.notifyDue();
  // Cards show who can approve.
  await context.refreshPendingCards();
  await call.respond(awayText(standIn, standIns.get(standIn.userId)));
}

async function runBack(call: CommandCall): Promise<void> {
  const { context, person } = call;
  const endedStandIn = await context.standIns.end(person.id, context.now());
  if (endedStandIn === undefined) return call.respond(NOT_AWAY);
  call.acknowledge();
  context.notifyDue();
  await context.refreshPendingCards();
  await call.respond(welcomeBackText(endedStandIn.userId));
}

export const away = {
  commands: [
    {
      usage: 'away UNTIL @PERSON',
      summary: 'Name a stand-in who approves while you’re away',
      example: '/domain away 2w @carol',
      run: runAway,
    },
    { usage: 'back', summary: 'End your stand-in', example: '/domain back', run: runBack },
  ],
} as const satisfies Feature;
