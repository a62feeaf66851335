import { DAY_MS } from '../lib/duration.ts';
import { isSameExpiry } from '../names/dates.ts';
import { lookUpAtRegistry, lookUpMissingDns } from '../names/lookup.ts';
import { createTimeoutSignal } from '../names/time-limit.ts';
import type { Order } from '../orders/order.ts';
import { formatCalendarDay } from '../zones/calendar-day.ts';
import { computeLifecycle, isDeletionAssumed, type LifecycleDates } from '../zones/lifecycle.ts';
import { findZoneProfile } from '../zones/rules.ts';
import { buildMonthCounts, type MonthCount } from './chart.ts';
import type { ExpiryContext } from './context.ts';
import { countDaysBetween, type Day, getExpiryDay } from './days.ts';
import { compareDeadlines, type Deadline, findDeadline, isRenewable, isSavablePhase } from './deadline.ts';
import { getFeedUrl, openFeed } from './feed.ts';
import type { ImportReport } from './import.ts';
import { isDisputeThreshold } from './marks.ts';
import {
  DEFAULT_DESTINATION,
  type Destination,
  type ListCounts,
  type ListRange,
  type WatchedDomain,
} from './ports.ts';
import { updateWatchList } from './update-watch-list.ts';
import * as actions from './watch-list.ts';

export interface ListedName {
  readonly domain: WatchedDomain;
  /** The expiry day as shown; undefined if no date is known. */
  readonly expiryDay: Day | undefined;
  /** Calendar days to the expiry day; negative after it. */
  readonly daysLeft: number | undefined;
  /** Undefined if neither a date nor a deletion is known. */
  readonly deadline: Deadline | undefined;
}

export interface ListPage extends ListCounts {
  readonly names: readonly ListedName[];
}

/** An expired name stays on the list during its auto-renew grace period and redemption. */
const SHOWN_AFTER_EXPIRY_DAYS = 80;
/** A name that was deleted before its expiry stays on the list until it is released. */
const SHOWN_AFTER_DELETION_DAYS = 35;
/** Higher than the number of recently expired or deleted names of any team. */
const MAX_ENDED_NAMES = 500;
const UNDECIDED_PAGE_SIZE = 100;

export type ExpiryTracker = ReturnType<typeof createExpiryTracker>;

export function createExpiryTracker(context: ExpiryContext) {
  const { watchList } = context;
  return {
    add: (...args: Tail<typeof actions.addName>) => actions.addName(context, ...args),
    async lookUp(added: actions.AddedName, timeoutMs: number): Promise<actions.AddNameOutcome> {
      await Promise.all([
        lookUpWatchedName(context, added.name, timeoutMs),
        lookUpWatchedName(context, added.name, timeoutMs, lookUpMissingDns),
      ]);
      return actions.loadAddedName(context, added);
    },
    /** @param list the parsed list, or text that is known to be valid */
    async importNames(
      list: ImportReport | string,
      saveChanges: actions.SaveChanges,
      reportProgress: (done: number, total: number) => Promise<void>,
    ): Promise<actions.ImportSummary> {
      const summary = await actions.importNames(context, list, saveChanges, reportProgress);
      context.startLookups();
      return summary;
    },
    snooze: (...args: Tail<typeof actions.snoozeName>) => actions.snoozeName(context, ...args),
    answerOwnerQuestion: (...args: Tail<typeof actions.answerOwnerQuestion>) =>
      actions.answerOwnerQuestion(context, ...args),
    /** Loads the names that an owner was asked about on one day and still owns, sorted by expiry. */
    async loadAskedNames(subject: string): Promise<readonly ListedName[]> {
      const [domains, timeZone] = await Promise.all([
        context.reminders.loadAskedNames(subject),
        loadTimeZone(context),
      ]);
      return domains.map((domain) => toListedName(domain, context.now(), timeZone));
    },
    recordRenewal: (...args: Tail<typeof actions.recordRenewal>) => actions.recordRenewal(context, ...args),
    requestLapse: (...args: Tail<typeof actions.requestLapse>) => actions.requestLapse(context, ...args),
    /** @param name in ASCII */
    find: (name: string) => watchList.find(name),
    findMany: (names: readonly string[]) => watchList.findMany(names),
    async findListedName(name: string): Promise<ListedName | undefined> {
      const [domain, timeZone] = await Promise.all([watchList.find(name), loadTimeZone(context)]);
      return domain && toListedName(domain, context.now(), timeZone);
    },
    list: (days: number, offset: number, limit: number) => listPage(context, days, offset, limit),
    listRenewable: (digestId: string, destination: Destination = DEFAULT_DESTINATION) =>
      listRenewable(context, digestId, destination),
    /** Returns the names that can be renewed and have no decision yet, most urgent first. */
    filterRenewable: (names: readonly string[]) => filterRenewable(context, names),
    loadMessageNames: (digestId: string, destination: Destination = DEFAULT_DESTINATION) =>
      loadMessageNames(context, digestId, destination),
    loadNextExpiring: (limit: number) => loadNextExpiring(context, limit),
    async countRenewalsByMonth(): Promise<readonly MonthCount[]> {
      const [timeZone, now] = [await loadTimeZone(context), context.now()];
      return buildMonthCounts(await watchList.countByMonth(now, addDays(now, 366), timeZone), now, timeZone);
    },
    getFeedUrl: (userId: string, shouldReset: boolean) => getFeedUrl(context, userId, shouldReset),
    /** @returns undefined for an unknown token */
    openFeed: (token: string) => openFeed(context, token),
    /** Updates the watch list after an order succeeded. */
    async updateAfterOrder(order: Order, itemNumber: number): Promise<void> {
      const name = await updateWatchList(context, order, itemNumber);
      // Doesn't wait until the names of an earlier import have been looked up.
      if (name !== undefined) await lookUpWatchedName(context, name);
    },
  };
}

/** A function's parameters without the context. */
type Tail<Fn extends (...args: never) => unknown> =
  Parameters<Fn> extends readonly [unknown, ...infer Rest] ? Rest : never;

async function loadTimeZone({ settings }: ExpiryContext): Promise<string> {
  return (await settings()).reminderTimezone;
}

/**
 * Looks up a name. A failure is logged, and the name stays due for a lookup.
 * @param timeoutMs default: until the bot stops
 */
async function lookUpWatchedName(
  context: ExpiryContext,
  name: string,
  timeoutMs?: number,
  lookUp: (...args: Parameters<typeof lookUpAtRegistry>) => Promise<unknown> = lookUpAtRegistry,
): Promise<void> {
  const { signal, log } = context;
  const abortSignal = timeoutMs === undefined ? signal : createTimeoutSignal(signal, timeoutMs);
  await lookUp(context, name, abortSignal).catch((err: unknown) => {
    if (!abortSignal.aborted) log.error({ err, name }, 'looking up a watched name failed');
  });
}

function toListedName(domain: WatchedDomain, now: Date, timeZone: string): ListedName {
  const dates = toLifecycleDates(domain);
  if (dates === undefined) return { domain, expiryDay: undefined, daysLeft: undefined, deadline: undefined };
  const day = getExpiryDay(dates.expiresAt, domain.expiry?.source ?? 'rdap', timeZone);
  const daysLeft = countDaysBetween(formatCalendarDay(now, timeZone), day);
  const lifecycle = computeLifecycle(findZoneProfile(domain.name), dates, now, timeZone);
  const { phase, lastSafeDay } = lifecycle.current;
  const facts = { phase, isDeletionAssumed: isDeletionAssumed(lifecycle), lastSafeDay };
  return {
    domain,
    expiryDay: domain.expiry && day,
    daysLeft: domain.expiry && daysLeft,
    deadline: findDeadline({ ...facts, expiryDay: day, daysLeft }),
  };
}

function sortByUrgency(domains: readonly WatchedDomain[], now: Date, timeZone: string): ListedName[] {
  return domains
    .map((domain) => toListedName(domain, now, timeZone))
    .sort((a, b) => compareDeadlines(a.deadline, b.deadline));
}

function addDays(date: Date, days: number): Date {
  return new Date(date.getTime() + days * DAY_MS);
}

function buildListRange(now: Date, until: Date): ListRange {
  return {
    from: addDays(now, -SHOWN_AFTER_EXPIRY_DAYS),
    until,
    deletedFrom: addDays(now, -SHOWN_AFTER_DELETION_DAYS),
  };
}

/**
 * Lists names that expire within a number of days or expired recently, soonest first. Other recently deleted
 * names and names without a date are on the last pages. Each page is sorted by urgency.
 */
async function listPage(
  context: ExpiryContext,
  days: number,
  offset: number,
  limit: number,
): Promise<ListPage> {
  const now = context.now();
  const range = buildListRange(now, addDays(now, days + 1));
  const [domains, counts, timeZone] = await Promise.all([
    context.watchList.listPage(range, offset, limit),
    context.watchList.count(range),
    loadTimeZone(context),
  ]);
  // The store sorts by expiry, but a deleted name has a different deadline.
  return { names: sortByUrgency(domains, now, timeZone), ...counts };
}

/** Lists a digest's names at one destination that can be renewed and have no decision yet. */
async function listRenewable(
  context: ExpiryContext,
  digestId: string,
  destination: Destination,
): Promise<readonly ListedName[]> {
  const claimedKeys = await context.reminders.listReminderKeys(digestId, destination);
  // A renewal that the registry doesn't show yet must not be paid twice.
  const dueKeys = claimedKeys.filter(({ threshold }) => !isDisputeThreshold(threshold));
  const claimedDayByName = new Map(dueKeys.map(({ name, expiry }) => [name, expiry]));
  const candidates = await filterRenewable(context, [...claimedDayByName.keys()]);
  return candidates.filter(({ domain }) => hasSameExpiry(domain, claimedDayByName.get(domain.name)));
}

async function filterRenewable(
  context: ExpiryContext,
  names: readonly string[],
): Promise<readonly ListedName[]> {
  const [domains, timeZone] = await Promise.all([context.watchList.findMany(names), loadTimeZone(context)]);
  const now = context.now();
  return domains
    .filter((domain) => canBeRenewed(domain, now))
    .sort((a, b) => (a.expiry?.at.getTime() ?? 0) - (b.expiry?.at.getTime() ?? 0))
    .map((domain) => toListedName(domain, now, timeZone));
}

/** Loads the current state of the names in one digest message, most urgent first. */
async function loadMessageNames(
  context: ExpiryContext,
  digestId: string,
  destination: Destination,
): Promise<readonly ListedName[]> {
  const claimedKeys = await context.reminders.listReminderKeys(digestId, destination);
  const [domains, timeZone] = await Promise.all([
    context.watchList.findMany([...new Set(claimedKeys.map(({ name }) => name))]),
    loadTimeZone(context),
  ]);
  return sortByUrgency(domains, context.now(), timeZone);
}

/** Loads the names that will be lost next but can still be saved, most urgent first. */
async function loadNextExpiring(context: ExpiryContext, limit: number): Promise<readonly ListedName[]> {
  const now = context.now();
  const timeZone = await loadTimeZone(context);
  const [endedNames, upcomingNames] = await Promise.all([
    context.watchList.listPage(buildListRange(now, now), 0, MAX_ENDED_NAMES),
    loadUndecidedNames(context, limit),
  ]);
  const domainsByName = new Map([...endedNames, ...upcomingNames].map((domain) => [domain.name, domain]));
  return sortByUrgency([...domainsByName.values()].filter(isUndecided), now, timeZone)
    .filter(({ deadline }) => deadline !== undefined && isSavablePhase(deadline.phase))
    .slice(0, limit);
}

/** Loads the next names to expire, except those that will lapse. */
async function loadUndecidedNames(
  { watchList, now: clock }: ExpiryContext,
  limit: number,
): Promise<readonly WatchedDomain[]> {
  const now = clock();
  const range = { ...buildListRange(now, addDays(now, 366)), from: now };
  const undecided: WatchedDomain[] = [];
  for (let offset = 0; undecided.length < limit; offset += UNDECIDED_PAGE_SIZE) {
    const page = await watchList.listPage(range, offset, UNDECIDED_PAGE_SIZE);
    undecided.push(...page.filter(isUndecided));
    if (page.length < UNDECIDED_PAGE_SIZE) break;
  }
  return undecided;
}

function isUndecided({ lapse }: WatchedDomain): boolean {
  return lapse?.confirmed === undefined;
}

/** After the auto-renew grace period, only a restore can save a name. */
function canBeRenewed(domain: WatchedDomain, now: Date): boolean {
  const dates = toLifecycleDates(domain);
  if (dates === undefined || !isUndecided(domain)) return false;
  return isRenewable(computeLifecycle(findZoneProfile(domain.name), dates, now).current.phase);
}

/** If the expiry is unknown, the time of the deletion is also used as the expiry. */
function toLifecycleDates({ expiry, deletedAt, deletionPhase }: WatchedDomain): LifecycleDates | undefined {
  const expiresAt = expiry?.at ?? deletedAt;
  return expiresAt && { expiresAt, deletedAt, deletionPhase };
}

/** Returns false if the name was renewed after its reminder was claimed. */
function hasSameExpiry({ expiry }: WatchedDomain, claimedDay: Day | undefined): boolean {
  return expiry !== undefined && claimedDay !== undefined && isSameExpiry(expiry.at, new Date(claimedDay));
}
