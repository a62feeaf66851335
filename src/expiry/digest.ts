import { setTimeout as sleep } from 'node:timers/promises';
import { groupBy } from '../collections.ts';
import type { TeamSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { type CandidateRange, candidateRanges } from './candidates.ts';
import { renewalsByMonth } from './chart.ts';
import { utcDay } from './days.ts';
import { AFTER_EXPIRY, DISPUTED_CODE, LOOK_BACK_DAYS } from './marks.ts';
import {
  byUrgency,
  type DueReminder,
  dueReminders,
  groupForDigest,
  type PlanOptions,
  planReminders,
} from './plan.ts';
import {
  COMMON,
  type Destination,
  type DigestPoster,
  type DigestRun,
  type PostedAt,
  type ReminderKey,
  type ReminderStore,
  type WatchedDomain,
  type WatchedReminder,
  type WatchListStore,
} from './ports.ts';
import { DISPUTE_DAYS } from './refresh.ts';
import { lastScheduled } from './schedule.ts';

/** What the digest needs. */
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
const WEEK_MS = 7 * DAY_MS;
/** Names in one message, each with its buttons. */
const NAMES_PER_MESSAGE = 20;
/** Names that are read and claimed at once. What is due beyond them follows afterwards. */
const MAX_NAMES = 1_000;
/** Disputed renewals in one message. */
const MAX_DISPUTED = 20;
const LEASE_MS = 5 * 60_000;
const BROKEN_WAIT_MS = 15 * 60_000;
const LONGEST_WAIT_MS = 30_000;
const MAX_WAITS = 5;
/** Slack takes about one message a second in a channel. */
const PAUSE_MS = 1_100;

/**
 * Posts the digest if a time of the schedule has come since the last one, or a digest was left unfinished. It may be
 * called at any time and by any number of processes: reminders are claimed before they are posted, each by one
 * digest. If a process dies after claiming, its unposted reminders become free again. If it dies between posting and
 * recording, one message is posted twice.
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
  const progress: Progress = { run, channelId, options, heads: new Map(run.heads), unreachable: new Set() };
  for (;;) {
    const disputed = await claimDisputed(deps, run, now);
    const { due, more } = await collectDue(deps.reminders, options);
    const claimed = await claimDue(deps, run, due, now);
    const outcome = await postEverywhere(deps, progress, { claimed, more, disputed }, signal);
    if (outcome !== undefined) return outcome;
    if ((!more || claimed.length === 0) && disputed.length < MAX_DISPUTED) break;
  }
  if (!(await deps.reminders.extendDigest(run.id, deps.now()))) return 'taken_over';
  await deps.reminders.finishDigest(run.id, deps.now());
  return progress.heads.size === 0 ? 'nothing_to_say' : 'posted';
}

/** The progress of a digest. */
interface Progress {
  readonly run: DigestRun;
  /** The common channel. */
  readonly channelId: string;
  readonly options: PlanOptions;
  readonly heads: Map<Destination, PostedAt>;
  /** Destinations that Slack refuses: their names are told in the common channel. */
  readonly unreachable: Set<Destination>;
}

/** The names that were claimed together. */
interface Claimed {
  readonly claimed: readonly Due[];
  readonly more: boolean;
  readonly disputed: readonly WatchedDomain[];
}

/**
 * Posts what was claimed. Each name goes to one place: to its channel, else to its owner, else to the common channel.
 * What cannot be posted in its own place goes to the common channel, which therefore comes last. So does what its owner
 * was told if it is the last call: one person may be away.
 * @returns how the digest ended; undefined: it continues
 */
async function postEverywhere(
  deps: DigestDeps,
  progress: Progress,
  { claimed, more, disputed }: Claimed,
  signal: AbortSignal,
): Promise<DigestOutcome | undefined> {
  const common: Due[] = [];
  for (const [destination, reminders] of groupBy(claimed, destinationOf)) {
    if (destination === COMMON) {
      common.push(...reminders);
      continue;
    }
    const what = { claimed: reminders, more, disputed: [] };
    const outcome = progress.unreachable.has(destination)
      ? { unposted: reminders }
      : await postParts(deps, progress, destination, what, signal);
    if (typeof outcome === 'string') return outcome;
    if (outcome !== undefined) {
      common.push(...outcome.unposted.map((due) => undelivered(due, destination)));
    }
    const unposted = new Set(outcome?.unposted);
    common.push(...reminders.filter((due) => !unposted.has(due) && isLastCall(due)).map(copyOf));
  }
  const outcome = await postParts(
    deps,
    progress,
    COMMON,
    { claimed: common.sort(byUrgency), more: more || disputed.length === MAX_DISPUTED, disputed },
    signal,
  );
  return typeof outcome === 'string' ? outcome : undefined;
}

function undelivered(due: Due, destination: Destination): Due {
  return { ...due, watched: { ...due.watched, undelivered: destination } };
}

/** Only one person was told, and little time is left. */
function isLastCall({ watched, lastThreshold, phase }: Due): boolean {
  return watched.channel === undefined && (lastThreshold || phase !== 'registered');
}

function copyOf(due: Due): Due {
  return { ...due, watched: { ...due.watched, isCopy: true } };
}

function destinationOf({ watched }: Due): Destination {
  return watched.channel ?? watched.owner ?? COMMON;
}

/**
 * Posts names in one place, message by message.
 * @returns how the digest ended; or the names that a place of their own refused; undefined: it continues
 */
async function postParts(
  deps: DigestDeps,
  progress: Progress,
  destination: Destination,
  { claimed, more, disputed }: Claimed,
  signal: AbortSignal,
): Promise<DigestOutcome | { readonly unposted: readonly Due[] } | undefined> {
  const { run, options } = progress;
  const to = destination === COMMON ? progress.channelId : destination;
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
    const part = { digestId: run.id, destination, groups: groupForDigest(current), disputed: said };
    const thread = progress.heads.get(destination);
    const post = async () => {
      if (thread !== undefined) {
        const left = Math.max(0, claimed.length - (index + 1) * NAMES_PER_MESSAGE);
        return deps.poster.postMore(thread, { ...part, left, more });
      }
      const rest = claimed.filter((each) => !chunk.includes(each));
      const all = groupForDigest([...current, ...rest]);
      const [months, undated] =
        destination === COMMON
          ? await Promise.all([monthsIfHelpful(deps, options), deps.store.countUndated()])
          : [[], 0];
      const total = current.length + rest.length;
      const head = await deps.poster.postHead(to, { ...part, all, total, more, months, undated });
      progress.heads.set(destination, head);
      return deps.reminders.recordHead(run.id, destination, head);
    };
    const result = await posted(deps, run, to, post, signal, destination === COMMON);
    if (result === 'postponed') return 'postponed';
    if (result === 'unreachable') {
      progress.unreachable.add(destination);
      return { unposted: claimed.slice(index * NAMES_PER_MESSAGE) };
    }
    const recorded = current.filter(({ watched }) => watched.isCopy !== true);
    const keys = [...recorded.map(keyOf), ...said.map((domain) => disputeKey(domain, options.now))];
    await deps.reminders.recordPosted(run.id, destination, keys, deps.now());
    if (more || index < chunks.length - 1) await pause(deps.pauseMs ?? PAUSE_MS, signal);
  }
  return undefined;
}

/** What is due and not claimed, most urgent first, limited to what is claimed at once, so that memory stays flat. */
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

/** Names that can be saved come first, names that cannot come last. */
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
  const disputed = await deps.reminders.disputed(before, now, MAX_DISPUTED);
  const keys = disputed.map((domain) => disputeKey(domain, now));
  const claimed = new Set((await deps.reminders.claim(run.id, keys, now)).map(({ name }) => name));
  return disputed.filter(({ name }) => claimed.has(name));
}

/** Leaves out names that were renewed, snoozed or decided since the plan was made. */
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

/**
 * Posts, waiting as Slack asks.
 * @param isCommon there is no other place when Slack refuses it: the digest waits until somebody has fixed the
 * channel
 * @returns `postponed` when it has to wait for another run
 */
async function posted(
  deps: DigestDeps,
  run: DigestRun,
  channelId: string,
  post: () => Promise<void>,
  signal: AbortSignal,
  isCommon: boolean,
): Promise<'posted' | 'postponed' | 'unreachable'> {
  for (let waits = 0; ; waits += 1) {
    try {
      await post();
      return 'posted';
    } catch (err) {
      const what = deps.poster.explain(err);
      if ('broken' in what) {
        deps.log.warn({ err, channelId }, `posting reminders: ${what.broken}`);
        if (!isCommon) return 'unreachable';
        await deps.reminders.postponeDigest(run.id, new Date(deps.now().getTime() + BROKEN_WAIT_MS));
        if (await deps.reminders.claimAlert(run.id, deps.now())) {
          await deps.poster.alertAdmins(channelId, what.broken);
        }
        return 'postponed';
      }
      if (what.retryAfterMs > LONGEST_WAIT_MS || waits >= MAX_WAITS || signal.aborted) {
        deps.log.warn({ err, channelId }, 'posting reminders; will try again');
        await deps.reminders.postponeDigest(run.id, new Date(deps.now().getTime() + what.retryAfterMs));
        return 'postponed';
      }
      await pause(what.retryAfterMs, signal);
    }
  }
}

/** The chart of the coming months, where it has enough to show. */
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

function disputeKey({ name, expiry, renewed, addedAt }: WatchedDomain, now: Date): ReminderKey {
  const weeks = Math.floor((now.getTime() - (renewed?.at ?? now).getTime()) / WEEK_MS);
  return { name, expiry: utcDay(expiry?.at ?? addedAt), threshold: DISPUTED_CODE + weeks };
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
