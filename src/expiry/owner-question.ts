import type { TeamSettings } from '../config/environment.ts';
import { groupBy, settleEach, throwIfAny } from '../lib/collections.ts';
import { DAY_MS } from '../lib/duration.ts';
import type { ExpirySource } from '../names/dates.ts';
import { findCurrentQuestion, getExpiry, getOwnerAnswer, type OwnedName } from '../names/portfolio.ts';
import { formatCalendarDay, getUtcDay } from '../zones/calendar-day.ts';
import { computeLifecycle } from '../zones/lifecycle.ts';
import { findZoneProfile } from '../zones/rules.ts';
import { countDaysBetween, type Day, getExpiryDay } from './days.ts';
import { isSavablePhase } from './deadline.ts';
import { MAX_DAYS_AFTER_EXPIRY } from './marks.ts';
import type { ReminderSchedule } from './plan.ts';
import type { ReminderStore, WatchedDomain } from './ports.ts';
import { findLastScheduledTime } from './schedule.ts';

/** Identifies an owner's messages of one day. The first message starts a thread for the others. */
export function buildOwnerDayKey(owner: string, day: Day): string {
  return `${owner} ${day}`;
}

/** @param ownerDayKey from {@link buildOwnerDayKey} */
export function parseOwner(ownerDayKey: string): string {
  return ownerDayKey.split(' ')[0] ?? '';
}

/** A message day runs from one scheduled digest to the next, not from midnight. */
export function findMessageDay(
  { reminderCron, reminderTimezone }: TeamSettings,
  now: Date,
): { readonly scheduledAt: Date; readonly day: Day } {
  const scheduledAt = findLastScheduledTime(reminderCron, reminderTimezone, now);
  return { scheduledAt, day: formatCalendarDay(scheduledAt, reminderTimezone) };
}

/** Whether to ask the owner about the name: it has passed its first threshold and can still be saved. */
export function needsOwnerQuestion(
  domain: WatchedDomain,
  { now, thresholds, timeZone }: ReminderSchedule,
): boolean {
  const { name, expiry, deletedAt, deletionPhase } = domain;
  const expiresAt = getExpiry(domain);
  if (expiresAt === undefined || deletedAt !== undefined) return false;
  if (getOwnerAnswer(domain, expiresAt)?.code !== 'unasked') return false;
  const daysLeft = countDaysLeft(expiresAt, expiry?.source ?? 'rdap', now, timeZone);
  if (daysLeft > Math.max(0, ...thresholds)) return false;
  const lifecycle = computeLifecycle(
    findZoneProfile(name),
    { expiresAt, deletedAt, deletionPhase },
    now,
    timeZone,
  );
  return isSavablePhase(lifecycle.current.phase);
}

function countDaysLeft(expiresAt: Date, source: ExpirySource, now: Date, timeZone: string): number {
  return countDaysBetween(formatCalendarDay(now, timeZone), getExpiryDay(expiresAt, source, timeZone));
}

/** Whether the owner was asked at an earlier threshold and hasn't answered. */
export function isQuestionUnanswered(
  ownedName: OwnedName & { readonly source: ExpirySource },
  { end, threshold }: { readonly end: Date; readonly threshold: number },
  { thresholds, timeZone }: ReminderSchedule,
): boolean {
  const question = findCurrentQuestion(ownedName, end);
  if (question === undefined || getOwnerAnswer(ownedName, end)?.code !== 'open') return false;
  const daysLeftWhenAsked = countDaysLeft(end, ownedName.source, question.at, timeZone);
  const passedThresholds = thresholds.filter((days) => days >= daysLeftWhenAsked);
  return passedThresholds.length === 0 || Math.min(...passedThresholds) > threshold;
}

/**
 * Asks each owner at most once a day. Whether a name is due is decided as of the last scheduled digest, so
 * that nobody is asked at night. Idempotent across processes.
 */
export async function askOwners(
  reminders: Pick<ReminderStore, 'listUnaskedNames' | 'queueQuestions'>,
  settings: TeamSettings,
  now: Date,
): Promise<void> {
  const { reminderDays: thresholds, reminderTimezone: timeZone } = settings;
  const { scheduledAt, day } = findMessageDay(settings, now);
  const until = new Date(now.getTime() + (Math.max(0, ...thresholds) + 2) * DAY_MS);
  const candidates = await reminders.listUnaskedNames(
    day,
    new Date(now.getTime() - MAX_DAYS_AFTER_EXPIRY * DAY_MS),
    until,
  );
  const dueDomains = candidates.filter((domain) =>
    needsOwnerQuestion(domain, { now: scheduledAt, thresholds, timeZone }),
  );
  const { errors } = await settleEach(
    groupBy(dueDomains, ({ owner = '' }) => owner),
    async ([owner, domains]) => {
      const expiryDays = new Map(domains.map((domain) => [domain.name, getUtcDay(getExpiry(domain) ?? now)]));
      await reminders.queueQuestions({
        owner,
        subject: buildOwnerDayKey(owner, day),
        expiryDays,
        askedAt: now,
      });
    },
  );
  throwIfAny(errors);
}

/** Asks about names that were added since the last digest. A due digest asks its owners itself. */
export async function askBetweenDigests({
  settings,
  reminders,
  now,
}: {
  readonly settings: () => Promise<TeamSettings>;
  readonly reminders: Pick<ReminderStore, 'listUnaskedNames' | 'queueQuestions' | 'isDigestComplete'>;
  readonly now: () => Date;
}): Promise<void> {
  const teamSettings = await settings();
  const currentTime = now();
  const { scheduledAt } = findMessageDay(teamSettings, currentTime);
  if (
    teamSettings.reminderChannel !== undefined &&
    !(await reminders.isDigestComplete(scheduledAt.toISOString()))
  )
    return;
  await askOwners(reminders, teamSettings, currentTime);
}

export type AnswerIssue = { readonly code: 'not_owner' | 'question_closed' | 'already_kept' };

/**
 * A name can be handed over even after its owner decided to keep it.
 * @returns why the person can't answer the question about the name; undefined if they can
 */
export function checkAnswer(
  domain: WatchedDomain,
  userId: string,
  kind: 'name_kept' | 'name_handed_over',
): AnswerIssue | { readonly code: 'lapse_decided' } | undefined {
  if (domain.lapse?.confirmed !== undefined) return { code: 'lapse_decided' };
  if (domain.owner !== userId) return { code: 'not_owner' };
  const question = findCurrentQuestion(domain, getExpiry(domain));
  if (question === undefined) return { code: 'question_closed' };
  return kind === 'name_kept' && question.kept !== undefined ? { code: 'already_kept' } : undefined;
}
