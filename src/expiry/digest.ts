import type { TeamSettings } from '../config/environment.ts';
import { groupBy, splitIntoChunks } from '../lib/collections.ts';
import { DAY_MS, MINUTE_MS, WEEK_MS } from '../lib/duration.ts';
import { RENEWAL_DISPUTE_DAYS } from '../names/dates.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type CandidateRange, candidateRanges } from './candidates.ts';
import { renewalsByMonth } from './chart.ts';
import { type Day, getEffectiveExpiry } from './days.ts';
import { DISPUTED_CODE, isDisputeCode, MARKS_AFTER_EXPIRY, MAX_DAYS_AFTER_EXPIRY } from './marks.ts';
import { buildOwnerDayKey, isUnanswered } from './owner-question.ts';
import {
  compareUrgency,
  type DueReminder,
  dueReminders,
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
import { lastScheduled } from './schedule.ts';

/*
 * Content of a digest. Before posting, reminders are claimed in batches, each with its destination, and assigned to
 * messages. So any process can finish a digest without repeating a reminder.
 */

type DueWatchedReminder = DueReminder<WatchedReminder>;
type DuePlannedReminder = DueReminder<PlannedReminder>;

const NAMES_PER_MESSAGE = 20;
/** Names read and claimed per batch. */
const MAX_NAMES = 1_000;
/** Maximum number of disputed renewals in one message. */
const MAX_DISPUTED = 20;

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
  const scheduledFor = lastScheduled(reminderCron, reminderTimezone, now());
  await reminders.openDigest(scheduledFor.toISOString(), now());
}

export interface DigestSchedule extends ReminderSchedule {
  readonly collectMs: number;
  /** The day of the messages to owners. */
  readonly day: Day;
}

export interface DigestBatch {
  readonly planned: readonly PlannedReminder[];
  readonly hasMoreNames: boolean;
  /** There are more renewals that the registry doesn't show. */
  readonly hasMoreDisputed: boolean;
}

/** A digest accepts more names for this long after `collectMs` has passed. */
const MAX_LATE_MS = 10 * MINUTE_MS;

/**
 * Returns the claimed but unsent reminders; if there are none, claims more. Names that become due after a claim wait
 * for `collectMs`, so that they form one batch.
 * @returns when to check again; undefined if nothing is left
 */
export async function claimNextBatch(
  reminders: ReminderStore,
  digestId: string,
  options: DigestSchedule,
  reminderChannel: string | undefined,
): Promise<DigestBatch | Date | undefined> {
  const { now } = options;
  const before = new Date(now.getTime() - RENEWAL_DISPUTE_DAYS * DAY_MS);
  const [left, claimedAt, { due, hasMore }, disputed] = await Promise.all([
    reminders.listPlanned(digestId),
    reminders.findLastClaimTime(digestId),
    collectDue(reminders, options),
    reminders.listUnconfirmedRenewals(before, now, MAX_DISPUTED),
  ]);
  if (left.length > 0)
    return { planned: left, hasMoreNames: due.length > 0, hasMoreDisputed: disputed.length > 0 };
  const claimAt = nextClaimAt(claimedAt, options);
  if (claimAt === undefined) {
    await reminders.releaseClaims(digestId);
    return undefined;
  }
  if (claimAt > now) return claimAt;
  const claims = [
    ...due.map((each) => toClaim(each, reminderChannel, options)),
    ...disputed.map((domain) => disputeClaim(domain, now)),
  ];
  if ((await reminders.claim(digestId, claims, now)) > 0)
    return {
      planned: await reminders.listPlanned(digestId),
      hasMoreNames: hasMore,
      hasMoreDisputed: disputed.length === MAX_DISPUTED,
    };
  // Nothing was claimed, because the names now lapse or aren't watched anymore.
  await reminders.releaseClaims(digestId);
  return undefined;
}

/** @returns undefined if it is too late for this digest */
export function nextClaimAt(
  claimedAt: Date | undefined,
  { now, collectMs }: Pick<DigestSchedule, 'now' | 'collectMs'>,
): Date | undefined {
  // A claim in the future was made before the clock was set back.
  if (claimedAt === undefined || claimedAt > now) return now;
  const collectedAt = new Date(claimedAt.getTime() + collectMs);
  // After a longer pause, such as a restart, the next digest includes the due names: nobody reads yesterday's thread.
  return now.getTime() - collectedAt.getTime() > MAX_LATE_MS ? undefined : collectedAt;
}

export interface DueReminders {
  /** Most urgent first. */
  readonly due: readonly DuePlannedReminder[];
  /** Renewals that the registry doesn't show. */
  readonly disputed: readonly PlannedReminder[];
}

/** Drops reminders of names that were renewed, snoozed or decided after the claim, and frees the claims. */
export async function dropOutdated(
  reminders: ReminderStore,
  digestId: string,
  planned: readonly PlannedReminder[],
  options: ReminderSchedule,
): Promise<DueReminders> {
  const disputed = planned.filter(({ key }) => isDisputeCode(key.threshold));
  const expiring = planned.filter(({ key }) => !isDisputeCode(key.threshold));
  const due = filterStillDue(expiring, options);
  const stillPlanned = new Set(due.map(({ watched }) => watched));
  const outdated = expiring.filter((each) => !stillPlanned.has(each)).map(({ key }) => key);
  if (outdated.length > 0) await reminders.releaseClaims(digestId, outdated);
  return { due, disputed };
}

/** Claimed reminders that are still due, most urgent first. */
export function filterStillDue<Planned extends PlannedReminder>(
  planned: readonly Planned[],
  options: ReminderSchedule,
): readonly DueReminder<Planned>[] {
  return planReminders(planned, options).filter(
    ({ expiry, threshold, watched: { key } }) => key.expiry === expiry && key.threshold === threshold,
  );
}

export interface DigestMessage {
  /** Number of the message at its destination; undefined before reminders are assigned to it. */
  readonly part: number | undefined;
  readonly reminders: readonly PlannedReminder[];
}

/** Assigns one destination's reminders to messages. Existing messages come first. */
export function assignMessages(
  { due, disputed }: DueReminders,
  parsePart: (purpose: string) => number,
): DigestMessage[] {
  const all = [...disputed, ...due.map(({ watched }) => watched)];
  const assigned = [...groupBy(all, ({ purpose }) => purpose)]
    .filter(([purpose]) => purpose !== '')
    .map(([purpose, reminders]) => ({ part: parsePart(purpose), reminders }))
    .sort((a, b) => a.part - b.part);
  const [first = [], ...later] = splitIntoChunks(
    due.map(({ watched }) => watched).filter(({ purpose }) => purpose === ''),
    NAMES_PER_MESSAGE,
  );
  const chunks = [[...disputed.filter(({ purpose }) => purpose === ''), ...first], ...later];
  return [
    ...assigned,
    ...chunks.filter(({ length }) => length > 0).map((reminders) => ({ part: undefined, reminders })),
  ];
}

export function toClaim(
  due: DueWatchedReminder,
  reminderChannel: string | undefined,
  schedule: DigestSchedule,
): ReminderClaim {
  const { name, expiry, threshold, watched, isLastThreshold, phase } = due;
  const isLast = isLastThreshold || phase !== 'registered';
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
    // Anyone may set a name's channel or owner, so neither must hide a name that is about to be lost.
    isCopied:
      destination !== DEFAULT_DESTINATION && (isLast || isUnanswered(watched, { end, threshold }, schedule)),
    lastReminderPhase: isLast ? phase : undefined,
  };
}

/** Due and unclaimed reminders, most urgent first. Limited to one batch to save memory. */
export async function collectDue(
  reminders: ReminderStore,
  options: ReminderSchedule,
): Promise<{ readonly due: readonly DueWatchedReminder[]; readonly hasMore: boolean }> {
  const found = new Map<string, DueWatchedReminder>();
  const addBatch = (batch: readonly WatchedReminder[]) => {
    for (const reminder of dueReminders(batch, options)) found.set(reminder.name, reminder);
    return found.size > MAX_NAMES;
  };
  const finish = (hasMore: boolean) => ({
    due: [...found.values()].sort(compareUrgency).slice(0, MAX_NAMES),
    hasMore,
  });

  const since = new Date(options.now.getTime() - MAX_DAYS_AFTER_EXPIRY * DAY_MS);
  for await (const batch of reminders.streamDeletedCandidates(since))
    if (addBatch(batch)) return finish(true);
  const ranges = candidateRanges(options).toSorted(compareRanges);
  for await (const batch of reminders.streamCandidates(ranges)) if (addBatch(batch)) return finish(true);
  return finish(false);
}

/** Names that can still be saved come first. */
function compareRanges(a: CandidateRange, b: CandidateRange): number {
  return urgency(a) - urgency(b);
}

function urgency({ threshold }: CandidateRange): number {
  const phase = MARKS_AFTER_EXPIRY.find((mark) => mark.threshold === threshold)?.phase;
  if (phase === 'pending_delete' || phase === 'released') return Number.MAX_SAFE_INTEGER;
  return phase === 'redemption' ? threshold - 1_000 : threshold;
}

function disputeClaim({ name, expiry, renewed, addedAt }: WatchedDomain, now: Date): ReminderClaim {
  const weeks = Math.floor((now.getTime() - (renewed?.at ?? now).getTime()) / WEEK_MS);
  const day = getUtcDay(expiry?.at ?? addedAt);
  return {
    name,
    expiry: day,
    threshold: DISPUTED_CODE + weeks,
    destination: DEFAULT_DESTINATION,
    purpose: '',
    isCopied: false,
    lastReminderPhase: undefined,
  };
}

/** Input of the reminder plan; undefined if neither a date nor a deletion is known. */
export function toReminder(
  domain: WatchedDomain,
  thresholds: readonly number[],
): WatchedReminder | undefined {
  const expiresAt = domain.expiry?.at ?? domain.deletedAt;
  if (expiresAt === undefined) return undefined;
  return {
    name: domain.name,
    expiresAt,
    source: domain.expiry?.source ?? 'rdap',
    renewedUntil: domain.renewed?.until,
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

/** The chart of the next months, unless it is nearly empty. */
export async function loadChart(
  countByMonth: WatchListStore['countByMonth'],
  { now, timeZone }: ReminderSchedule,
) {
  const months = renewalsByMonth(
    await countByMonth(now, new Date(now.getTime() + 366 * DAY_MS), timeZone),
    now,
    timeZone,
  );
  const total = months.reduce((sum, { count }) => sum + count, 0);
  const filled = months.filter(({ count }) => count > 0).length;
  return total >= 5 && filled >= 2 ? months : [];
}
