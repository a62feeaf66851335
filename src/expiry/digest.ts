import { setTimeout as sleep } from 'node:timers/promises';
import type { TeamSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { type CandidateRange, candidateRanges } from './candidates.ts';
import { renewalsByMonth } from './chart.ts';
import { utcDay } from './days.ts';
import { AFTER_EXPIRY, LOOK_BACK_DAYS } from './marks.ts';
import {
  byUrgency,
  type DueReminder,
  dueReminders,
  groupForDigest,
  type PlanOptions,
  planReminders,
} from './plan.ts';
import type {
  DigestPoster,
  DigestRun,
  ReminderKey,
  ReminderStore,
  WatchedDomain,
  WatchedReminder,
  WatchListStore,
} from './ports.ts';
import { DISPUTE_DAYS } from './refresh.ts';
import { lastScheduled } from './schedule.ts';

/** What the digest works with. */
export interface DigestDeps {
  readonly store: WatchListStore;
  readonly reminders: ReminderStore;
  readonly poster: DigestPoster;
  readonly settings: () => Promise<TeamSettings>;
  readonly now: () => Date;
  readonly log: Log;
  /** Between two messages in one channel, milliseconds. */
  readonly pauseMs?: number;
}

/** How a look at the schedule ended. */
export type DigestOutcome = 'not_due' | 'nothing_to_say' | 'posted' | 'postponed' | 'taken_over';

type Due = DueReminder<WatchedReminder>;

const DAY_MS = 86_400_000;
/** Names in one message, each with its buttons. */
const NAMES_PER_MESSAGE = 20;
/** Names that are read and claimed at once; what is due beyond comes after them. */
const MAX_NAMES = 1_000;
const MAX_DISPUTED = 20;
/** Stands in the place of a threshold, above all of them, so that it silences none. */
const DISPUTED_CODE = 100_000;
const LEASE_MS = 5 * 60_000;
const BROKEN_WAIT_MS = 15 * 60_000;
const LONGEST_WAIT_MS = 30_000;
const MAX_WAITS = 5;
/** Slack takes about one message a second in a channel. */
const PAUSE_MS = 1_100;

/**
 * Posts the digest if a time of the schedule has come since the last one, or a digest was left unfinished. It may be
 * asked as often as wanted, by any number of processes: what is said is claimed first, each reminder by one digest.
 *
 * A process that dies after claiming loses nothing: what is not posted is free again. One that dies between posting
 * and noting it says one message twice.
 */
export async function runDigest(deps: DigestDeps, signal: AbortSignal): Promise<DigestOutcome> {
  const settings = await deps.settings();
  const channelId = settings.reminderChannel;
  if (channelId === undefined) return 'not_due';
  const now = deps.now();
  const scheduledFor = lastScheduled(settings.reminderCron, settings.reminderTimezone, now);
  const run = await deps.reminders.claimDigest(scheduledFor, now, new Date(now.getTime() + LEASE_MS));
  if (run === undefined) return 'not_due';

  const options = { now, thresholds: settings.reminderDays, timeZone: settings.reminderTimezone };
  const progress: Progress = { run, channelId, options, head: run.head };
  let disputed: readonly WatchedDomain[] = await claimDisputed(deps, run, now);
  for (;;) {
    const { due, more } = await collectDue(deps.reminders, options);
    const claimed = await claimDue(deps, run, due, now);
    const outcome = await postParts(deps, progress, { claimed, more, disputed }, signal);
    if (outcome !== undefined) return outcome;
    disputed = [];
    if (!more || claimed.length === 0) break;
  }
  if (!(await deps.reminders.extendDigest(run.id, deps.now()))) return 'taken_over';
  await deps.reminders.finishDigest(run.id, deps.now());
  return progress.head === undefined ? 'nothing_to_say' : 'posted';
}

/** How far a digest is. */
interface Progress {
  readonly run: DigestRun;
  readonly channelId: string;
  readonly options: PlanOptions;
  head: DigestRun['head'];
}

/** What was claimed in one go. */
interface Claimed {
  readonly claimed: readonly Due[];
  readonly more: boolean;
  readonly disputed: readonly WatchedDomain[];
}

/** Posts what was claimed, message by message. @returns how the digest ended; undefined: go on */
async function postParts(
  deps: DigestDeps,
  progress: Progress,
  { claimed, more, disputed }: Claimed,
  signal: AbortSignal,
): Promise<DigestOutcome | undefined> {
  const { run, channelId, options } = progress;
  const chunks = chunksOf(claimed, NAMES_PER_MESSAGE);
  if (chunks.length === 0 && disputed.length > 0) chunks.push([]);
  for (const [index, chunk] of chunks.entries()) {
    if (signal.aborted) {
      await deps.reminders.postponeDigest(run.id, deps.now());
      return 'postponed';
    }
    const lease = new Date(deps.now().getTime() + LEASE_MS);
    if (!(await deps.reminders.extendDigest(run.id, lease))) return 'taken_over';
    const current = await stillDue(deps, chunk, options);
    const said = index === 0 ? disputed : [];
    if (current.length === 0 && said.length === 0) continue;
    const part = { digestId: run.id, groups: groupForDigest(current), disputed: said };
    const thread = progress.head;
    const post = async () => {
      if (thread !== undefined) {
        const left = Math.max(0, claimed.length - (index + 1) * NAMES_PER_MESSAGE);
        return deps.poster.postMore(thread, { ...part, left, more });
      }
      const rest = claimed.filter((each) => !chunk.includes(each));
      const all = groupForDigest([...current, ...rest]);
      const months = await monthsIfHelpful(deps, options);
      const total = current.length + rest.length;
      progress.head = await deps.poster.postHead(channelId, { ...part, all, total, more, months });
      return deps.reminders.recordHead(run.id, progress.head);
    };
    if (!(await posted(deps, run, channelId, post, signal))) return 'postponed';
    const keys = [...current.map(keyOf), ...said.map(disputeKey)];
    await deps.reminders.recordPosted(run.id, keys, deps.now());
    if (more || index < chunks.length - 1) await pause(deps.pauseMs ?? PAUSE_MS, signal);
  }
  return undefined;
}

/** What is due and not claimed, most urgent first, as much as is claimed at once: memory stays flat. */
export async function collectDue(
  reminders: ReminderStore,
  options: PlanOptions,
): Promise<{ readonly due: readonly Due[]; readonly more: boolean }> {
  const found = new Map<string, Due>();
  const take = (batch: readonly WatchedReminder[]) => {
    for (const reminder of dueReminders(batch, options)) found.set(reminder.name, reminder);
    return found.size > MAX_NAMES;
  };
  const finish = (more: boolean) => ({
    due: [...found.values()].sort(byUrgency).slice(0, MAX_NAMES),
    more,
  });

  const since = new Date(options.now.getTime() - LOOK_BACK_DAYS * DAY_MS);
  for await (const batch of reminders.deletedCandidates(since)) if (take(batch)) return finish(true);
  const ranges = candidateRanges(options).toSorted(byRescuability);
  for await (const batch of reminders.candidates(ranges)) if (take(batch)) return finish(true);
  return finish(false);
}

/** What can still be saved first, what nothing saves last. */
function byRescuability(a: CandidateRange, b: CandidateRange): number {
  return urgency(a) - urgency(b);
}

function urgency({ threshold }: CandidateRange): number {
  if (threshold >= 0) return threshold;
  const phase = AFTER_EXPIRY.find((mark) => mark.threshold === threshold)?.phase;
  if (phase === 'redemption') return -3_000 + threshold;
  return phase === 'pending_delete' || phase === 'released' ? 100_000 : -2_000 + threshold;
}

async function claimDue(deps: DigestDeps, run: DigestRun, due: readonly Due[], now: Date): Promise<Due[]> {
  const claimed = new Set((await deps.reminders.claim(run.id, due.map(keyOf), now)).map(textOfKey));
  return due.filter((reminder) => claimed.has(textOfKey(keyOf(reminder))));
}

async function claimDisputed(deps: DigestDeps, run: DigestRun, now: Date): Promise<WatchedDomain[]> {
  const before = new Date(now.getTime() - DISPUTE_DAYS * DAY_MS);
  const disputed = await deps.reminders.disputed(before, MAX_DISPUTED);
  const claimed = new Set(
    (await deps.reminders.claim(run.id, disputed.map(disputeKey), now)).map(({ name }) => name),
  );
  return disputed.filter(({ name }) => claimed.has(name));
}

/** Leaves out what was renewed, snoozed or decided since the plan was made. */
async function stillDue(
  deps: DigestDeps,
  chunk: readonly Due[],
  options: PlanOptions,
): Promise<readonly Due[]> {
  const domains = await deps.store.findMany(chunk.map(({ name }) => name));
  const fresh = planReminders(
    domains.flatMap((domain) => asReminder(domain, []) ?? []),
    options,
  );
  const keys = new Set(fresh.map((reminder) => textOfKey(keyOf(reminder))));
  return chunk.filter((reminder) => keys.has(textOfKey(keyOf(reminder))));
}

/** A name as the reminder plan needs it; undefined while no date is known. */
export function asReminder(domain: WatchedDomain, said: readonly number[]): WatchedReminder | undefined {
  if (domain.expiry === undefined) return undefined;
  return {
    name: domain.name,
    expiresAt: domain.expiry.at,
    source: domain.expiry.source,
    renewedUntil: domain.renewed?.until,
    deletedAt: domain.deletedAt,
    snoozedUntil: domain.snooze?.until,
    lapsing: domain.lapse?.confirmed !== undefined,
    remindedThresholds: said,
    addedBy: domain.addedBy,
    registeredBy: domain.registeredBy,
    checkProblem: domain.checkProblem,
    lapse: domain.lapse,
  };
}

/** Posts, waiting as Slack asks; @returns false when it has to wait for another turn */
async function posted(
  deps: DigestDeps,
  run: DigestRun,
  channelId: string,
  post: () => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  for (let waits = 0; ; waits += 1) {
    try {
      await post();
      return true;
    } catch (err) {
      const what = deps.poster.explain(err);
      if ('broken' in what) {
        deps.log.warn({ err, channelId }, `posting reminders: ${what.broken}`);
        await deps.reminders.postponeDigest(run.id, new Date(deps.now().getTime() + BROKEN_WAIT_MS));
        if (await deps.reminders.claimAlert(run.id, deps.now())) {
          await deps.poster.alertAdmins(channelId, what.broken);
        }
        return false;
      }
      if (what.retryAfterMs > LONGEST_WAIT_MS || waits >= MAX_WAITS || signal.aborted) {
        deps.log.warn({ err, channelId }, 'posting reminders; will try again');
        await deps.reminders.postponeDigest(run.id, new Date(deps.now().getTime() + what.retryAfterMs));
        return false;
      }
      await pause(what.retryAfterMs, signal);
    }
  }
}

/** The chart of the coming months, where there is enough to see in it. */
async function monthsIfHelpful(deps: DigestDeps, { now, timeZone }: PlanOptions) {
  const months = renewalsByMonth(
    await deps.store.countByMonth(now, new Date(now.getTime() + 366 * DAY_MS), timeZone),
    now,
    timeZone,
  );
  const total = months.reduce((sum, { count }) => sum + count, 0);
  const filled = months.filter(({ count }) => count > 0).length;
  return total >= 5 && filled >= 2 ? months : [];
}

function keyOf({ name, expiry, threshold }: Due): ReminderKey {
  return { name, expiry, threshold };
}

function disputeKey({ name, expiry, addedAt }: WatchedDomain): ReminderKey {
  return { name, expiry: utcDay(expiry?.at ?? addedAt), threshold: DISPUTED_CODE };
}

function textOfKey({ name, expiry, threshold }: ReminderKey): string {
  return `${name} ${expiry} ${threshold}`;
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
