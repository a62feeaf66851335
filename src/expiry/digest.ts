import type { TeamSettings } from '../config/environment.ts';
import { groupBy, splitIntoChunks } from '../lib/collections.ts';
import { DAY_MS, MINUTE_MS, WEEK_MS } from '../lib/duration.ts';
import { RENEWAL_DISPUTE_DAYS } from '../names/dates.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type CandidateRange, listCandidateRanges } from './candidates.ts';
import { buildMonthCounts } from './chart.ts';
import { type Day, getEffectiveExpiry } from './days.ts';
import {
  isDisputeThreshold,
  MARKS_AFTER_EXPIRY,
  MAX_DAYS_AFTER_EXPIRY,
  MIN_DISPUTE_THRESHOLD,
} from './marks.ts';
import { buildOwnerDayKey, isQuestionUnanswered } from './owner-question.ts';
import {
  compareUrgency,
  type DueReminder,
  findDueReminders,
  planReminders,
  type ReminderSchedule,
} from './plan.ts';
import {
  DEFAULT_DESTINATION,
  type PlannedReminder,
  type ReminderClaim,
  type ReminderStore,
  type WatchedDomain,
  type WatchedReminder,
  type WatchListStore,
} from './ports.ts';
import { findLastScheduledTime } from './schedule.ts';

/*
 * Before a digest is posted, its reminders are claimed in batches and assigned to messages, so any process
 * can finish a digest without repeating a reminder.
 */

type DueWatchedReminder = DueReminder<WatchedReminder>;
type DuePlannedReminder = DueReminder<PlannedReminder>;

const NAMES_PER_MESSAGE = 20;
const MAX_BATCH_NAMES = 1_000;
const MAX_DISPUTED_PER_MESSAGE = 20;

/** Makes the latest scheduled digest due. Idempotent across processes. */
export async function openDigest({
  settings,
  reminders,
  now,
}: {
  readonly settings: () => Promise<TeamSettings>;
  readonly reminders: ReminderStore;
  readonly now: () => Date;
}): Promise<void> {
  const { reminderChannel, reminderCron, reminderTimezone } = await settings();
  if (reminderChannel === undefined) return;
  const scheduledFor = findLastScheduledTime(reminderCron, reminderTimezone, now());
  await reminders.openDigest(scheduledFor.toISOString(), now());
}

export interface DigestSchedule extends ReminderSchedule {
  readonly collectMs: number;
  /** The day of the digest's messages to owners. */
  readonly day: Day;
}

export interface DigestBatch {
  readonly planned: readonly PlannedReminder[];
  readonly hasMoreNames: boolean;
  /** Whether there are more renewals that the registry doesn't show. */
  readonly hasMoreDisputed: boolean;
}

/** How long after the planned time of the next claim a digest still accepts more names. */
const LATE_CLAIM_WINDOW_MS = 10 * MINUTE_MS;

/**
 * Returns the claimed but unsent reminders; if there are none, claims more. Names that become due after a
 * claim wait for `collectMs`, so that they form one batch.
 * @returns the time of the next claim if it isn't due yet; undefined if nothing is left
 */
export async function claimNextBatch(
  reminders: ReminderStore,
  digestId: string,
  schedule: DigestSchedule,
  reminderChannel: string | undefined,
): Promise<DigestBatch | Date | undefined> {
  const { now } = schedule;
  const renewedBefore = new Date(now.getTime() - RENEWAL_DISPUTE_DAYS * DAY_MS);
  const [unsentReminders, lastClaimedAt, { due, hasMore }, disputed] = await Promise.all([
    reminders.listPlannedReminders(digestId),
    reminders.findLastClaimTime(digestId),
    collectDueReminders(reminders, schedule),
    reminders.listUnconfirmedRenewals(renewedBefore, now, MAX_DISPUTED_PER_MESSAGE),
  ]);
  if (unsentReminders.length > 0)
    return { planned: unsentReminders, hasMoreNames: due.length > 0, hasMoreDisputed: disputed.length > 0 };
  const claimTime = computeNextClaimTime(lastClaimedAt, schedule);
  if (claimTime === undefined) {
    await reminders.releaseClaims(digestId);
    return undefined;
  }
  if (claimTime > now) return claimTime;
  const claims = [
    ...due.map((reminder) => toClaim(reminder, reminderChannel, schedule)),
    ...disputed.map((domain) => createDisputeClaim(domain, now)),
  ];
  if ((await reminders.claim(digestId, claims, now)) > 0)
    return {
      planned: await reminders.listPlannedReminders(digestId),
      hasMoreNames: hasMore,
      hasMoreDisputed: disputed.length === MAX_DISPUTED_PER_MESSAGE,
    };
  // Nothing was claimed, because the names now lapse or aren't watched anymore.
  await reminders.releaseClaims(digestId);
  return undefined;
}

/** @returns undefined if it is too late for this digest */
export function computeNextClaimTime(
  lastClaimedAt: Date | undefined,
  { now, collectMs }: Pick<DigestSchedule, 'now' | 'collectMs'>,
): Date | undefined {
  // A claim in the future was made before the clock was set back.
  if (lastClaimedAt === undefined || lastClaimedAt > now) return now;
  const nextTime = new Date(lastClaimedAt.getTime() + collectMs);
  // After a longer pause, such as a restart, names wait for the next digest: nobody reads yesterday's thread.
  return now.getTime() - nextTime.getTime() > LATE_CLAIM_WINDOW_MS ? undefined : nextTime;
}

export interface RemainingReminders {
  /** Most urgent first. */
  readonly dueReminders: readonly DuePlannedReminder[];
  /** Renewals that the registry doesn't show. */
  readonly disputedReminders: readonly PlannedReminder[];
}

/** Releases the claims of names that were renewed, snoozed or confirmed to lapse after the claim. */
export async function dropOutdatedReminders(
  reminders: ReminderStore,
  digestId: string,
  planned: readonly PlannedReminder[],
  schedule: ReminderSchedule,
): Promise<RemainingReminders> {
  const disputedReminders = planned.filter(({ key }) => isDisputeThreshold(key.threshold));
  const expiringReminders = planned.filter(({ key }) => !isDisputeThreshold(key.threshold));
  const dueReminders = filterStillDueReminders(expiringReminders, schedule);
  const stillDue = new Set(dueReminders.map(({ watched }) => watched));
  const outdatedKeys = expiringReminders.filter((reminder) => !stillDue.has(reminder)).map(({ key }) => key);
  if (outdatedKeys.length > 0) await reminders.releaseClaims(digestId, outdatedKeys);
  return { dueReminders, disputedReminders };
}

/** Returns the claimed reminders that are still due, most urgent first. */
export function filterStillDueReminders<Planned extends PlannedReminder>(
  planned: readonly Planned[],
  schedule: ReminderSchedule,
): readonly DueReminder<Planned>[] {
  return planReminders(planned, schedule).filter(
    ({ expiry, threshold, watched: { key } }) => key.expiry === expiry && key.threshold === threshold,
  );
}

export interface DigestMessage {
  /** The number of the message at its destination; undefined if the message is new. */
  readonly part: number | undefined;
  readonly reminders: readonly PlannedReminder[];
}

/** Groups one destination's reminders into messages. Existing messages come first. */
export function groupIntoMessages(
  { dueReminders, disputedReminders }: RemainingReminders,
  parsePart: (purpose: string) => number,
): DigestMessage[] {
  const allReminders = [...disputedReminders, ...dueReminders.map(({ watched }) => watched)];
  const existingMessages = [...groupBy(allReminders, ({ purpose }) => purpose)]
    .filter(([purpose]) => purpose !== '')
    .map(([purpose, reminders]) => ({ part: parsePart(purpose), reminders }))
    .sort((a, b) => a.part - b.part);
  const isUnassigned = ({ purpose }: PlannedReminder) => purpose === '';
  const [firstChunk = [], ...laterChunks] = splitIntoChunks(
    dueReminders.map(({ watched }) => watched).filter(isUnassigned),
    NAMES_PER_MESSAGE,
  );
  const chunks = [[...disputedReminders.filter(isUnassigned), ...firstChunk], ...laterChunks];
  return [
    ...existingMessages,
    ...chunks.filter(({ length }) => length > 0).map((reminders) => ({ part: undefined, reminders })),
  ];
}

export function toClaim(
  due: DueWatchedReminder,
  reminderChannel: string | undefined,
  schedule: DigestSchedule,
): ReminderClaim {
  const { name, expiry, threshold, watched, isLastThreshold, phase } = due;
  const isLastReminder = isLastThreshold || phase !== 'registered';
  const owner = watched.ownerLeftAt === undefined ? watched.owner : undefined;
  const ownDestination = watched.channel ?? owner ?? DEFAULT_DESTINATION;
  const destination = ownDestination === reminderChannel ? DEFAULT_DESTINATION : ownDestination;
  const end = getEffectiveExpiry(watched);
  return {
    name,
    expiry,
    threshold,
    destination,
    purpose:
      watched.channel === undefined && owner !== undefined ? buildOwnerDayKey(owner, schedule.day) : '',
    // Anyone can set a name's channel or owner, so neither may hide a name that is about to be lost.
    isCopied:
      destination !== DEFAULT_DESTINATION &&
      (isLastReminder || isQuestionUnanswered(watched, { end, threshold }, schedule)),
    lastReminderPhase: isLastReminder ? phase : undefined,
  };
}

/** Returns at most one batch of due and unclaimed reminders, to save memory. The most urgent come first. */
export async function collectDueReminders(
  reminders: ReminderStore,
  schedule: ReminderSchedule,
): Promise<{ readonly due: readonly DueWatchedReminder[]; readonly hasMore: boolean }> {
  const dueByName = new Map<string, DueWatchedReminder>();
  const isFullAfterAdding = (batch: readonly WatchedReminder[]) => {
    for (const reminder of findDueReminders(batch, schedule)) dueByName.set(reminder.name, reminder);
    return dueByName.size > MAX_BATCH_NAMES;
  };
  const toResult = (hasMore: boolean) => ({
    due: [...dueByName.values()].sort(compareUrgency).slice(0, MAX_BATCH_NAMES),
    hasMore,
  });

  const since = new Date(schedule.now.getTime() - MAX_DAYS_AFTER_EXPIRY * DAY_MS);
  for await (const batch of reminders.streamDeletedCandidates(since))
    if (isFullAfterAdding(batch)) return toResult(true);
  const ranges = listCandidateRanges(schedule).toSorted((a, b) => getUrgencyRank(a) - getUrgencyRank(b));
  for await (const batch of reminders.streamCandidates(ranges))
    if (isFullAfterAdding(batch)) return toResult(true);
  return toResult(false);
}

/** Lower is more urgent: names that can still be saved come first. */
function getUrgencyRank({ threshold }: CandidateRange): number {
  const phase = MARKS_AFTER_EXPIRY.find((mark) => mark.threshold === threshold)?.phase;
  if (phase === 'pending_delete' || phase === 'released') return Number.MAX_SAFE_INTEGER;
  return phase === 'redemption' ? threshold - 1_000 : threshold;
}

function createDisputeClaim(
  { name, expiry, unpublishedRenewal, addedAt }: WatchedDomain,
  now: Date,
): ReminderClaim {
  const weeksSinceRenewal = Math.floor((now.getTime() - (unpublishedRenewal?.at ?? now).getTime()) / WEEK_MS);
  return {
    name,
    expiry: getUtcDay(expiry?.at ?? addedAt),
    threshold: MIN_DISPUTE_THRESHOLD + weeksSinceRenewal,
    destination: DEFAULT_DESTINATION,
    purpose: '',
    isCopied: false,
    lastReminderPhase: undefined,
  };
}

/** @returns undefined if neither a date nor a deletion is known */
export function toWatchedReminder(
  domain: WatchedDomain,
  thresholds: readonly number[],
): WatchedReminder | undefined {
  const expiresAt = domain.expiry?.at ?? domain.deletedAt;
  if (expiresAt === undefined) return undefined;
  return {
    name: domain.name,
    expiresAt,
    source: domain.expiry?.source ?? 'rdap',
    renewedUntil: domain.unpublishedRenewal?.until,
    deletedAt: domain.deletedAt,
    deletionPhase: domain.deletionPhase,
    snoozedUntil: domain.snooze?.until,
    isLapsing: domain.lapse?.confirmed !== undefined,
    remindedThresholds: thresholds,
    addedBy: domain.addedBy,
    registeredBy: domain.registeredBy,
    doubt: domain.doubt,
    lastLookupAt: domain.lastLookupAt,
    lapse: domain.lapse,
  };
}

/** @returns an empty list if the chart would be nearly empty */
export async function loadChartMonths(
  countByMonth: WatchListStore['countByMonth'],
  { now, timeZone }: ReminderSchedule,
) {
  const months = buildMonthCounts(
    await countByMonth(now, new Date(now.getTime() + 366 * DAY_MS), timeZone),
    now,
    timeZone,
  );
  const total = months.reduce((sum, { count }) => sum + count, 0);
  const nonEmptyMonths = months.filter(({ count }) => count > 0);
  return total >= 5 && nonEmptyMonths.length >= 2 ? months : [];
}
