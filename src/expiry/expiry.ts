import { setMaxListeners } from 'node:events';
import type { Vault } from '../accounts/vault.ts';
import type { TeamSettings } from '../config/environment.ts';
import { DAY_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import { timeLimit } from '../names/time-limit.ts';
import type { Order } from '../orders/order.ts';
import type { Secret } from '../service/secret.ts';
import { calendarDay } from '../zones/calendar-day.ts';
import { isDeletionAssumed, type LifeDates, lifecycleAt } from '../zones/lifecycle.ts';
import { zoneFor } from '../zones/rules.ts';
import type { CalendarOptions } from './calendar.ts';
import { type MonthCount, renewalsByMonth } from './chart.ts';
import { type Day, daysBetween, expiryDay } from './days.ts';
import { byDeadline, type Deadline, deadlineOf, isRenewable, isSavable } from './deadline.ts';
import { type FeedDeps, feedAddress, openFeed } from './feed.ts';
import { followOrder } from './follow.ts';
import type { ImportReport } from './import.ts';
import { DISPUTED_CODE } from './marks.ts';
import {
  COMMON,
  type Destination,
  type FeedStore,
  type ListCounts,
  type ListRange,
  type ReminderStore,
  type WatchedDomain,
  type WatchListStore,
} from './ports.ts';
import * as list from './watch-list.ts';

/** The parts that the use cases of expiry are made of. */
export interface ExpiryParts {
  readonly store: WatchListStore;
  readonly reminders: ReminderStore;
  readonly feeds: FeedStore;
  /** Asks the registry of a name, and keeps what it shows if the name is watched. */
  readonly lookAtRegistry: (name: string, signal: AbortSignal) => Promise<unknown>;
  readonly vault: Vault;
  readonly teamId: string;
  readonly publicUrl: string;
  /** The words of the calendar's events. */
  readonly formatEvent: CalendarOptions['formatEvent'];
  /** Tells of names and their ends whether a mandate renews them. */
  readonly mandated: FeedDeps['mandated'];
  readonly settings: () => Promise<TeamSettings>;
  /** Has names looked at that have just been added. */
  readonly namesAdded: () => void;
  readonly now: () => Date;
  readonly log: Log;
  /** Ends what is under way at shutdown. */
  readonly signal: AbortSignal;
}

/** A name as lists show it. */
export interface ListedName {
  readonly domain: WatchedDomain;
  /** The day of its expiry as people see it; undefined while no date is known. */
  readonly day: Day | undefined;
  /** Calendar days to {@link ListedName.day}; negative after it. */
  readonly daysLeft: number | undefined;
  /** The next action and its last day; undefined if neither a date nor a deletion is known. */
  readonly deadline: Deadline | undefined;
}

/** One page of the list of names that expire. */
export interface ListPage extends ListCounts {
  readonly names: readonly ListedName[];
}

type Tail<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest] ? Rest : never;

/** The use cases of the watch list, for people and for the bot itself. */
export interface Expiry {
  watch(given: Parameters<typeof list.watchName>[2], gate: list.Gate): Promise<list.WatchedOutcome>;
  /** @param list as it was read, or a text that is known to be readable */
  importNames(
    list: ImportReport | string,
    gate: list.Gate,
    progress: (done: number, total: number) => Promise<void>,
  ): Promise<list.ImportSummary>;
  snooze(request: list.ReminderRequest, days: number, gate: list.Gate): Promise<list.WatchOutcome>;
  requestLapse(...given: Tail<Parameters<typeof list.requestLapse>>): Promise<list.WatchOutcome>;
  confirmLapse(...given: Tail<Parameters<typeof list.confirmLapse>>): ReturnType<typeof list.confirmLapse>;
  /** @param name in ASCII */
  find(name: string): Promise<WatchedDomain | undefined>;
  /** Those of many names that are watched. */
  findMany(names: readonly string[]): Promise<readonly WatchedDomain[]>;
  /** The same as lists show it. */
  findListed(name: string): Promise<ListedName | undefined>;
  /**
   * Names that expire within some days and those that expired lately, soonest first, then names that were deleted lately,
   * whenever they would expire; those without a date last.
   */
  list(days: number, offset: number, limit: number): Promise<ListPage>;
  /**
   * The names that a digest posted in one place, without those that cannot be renewed any more or that somebody
   * decided about.
   */
  renewable(digestId: string, destination?: Destination): Promise<readonly ListedName[]>;
  /** The names that a digest posted in one place, as they are by now; the most urgent first. */
  listedIn(digestId: string, destination?: Destination): Promise<readonly ListedName[]>;
  /** Those of some names that can be renewed and that nobody decided about, the most urgent first. */
  renewableAmong(names: readonly string[]): Promise<readonly ListedName[]>;
  /** What can be lost next and still be saved, of names that expire within a year, have expired or were deleted. */
  expiringNext(limit: number): Promise<readonly ListedName[]>;
  /** Renewals of the present month and the eleven after it. */
  countsByMonth(): Promise<readonly MonthCount[]>;
  feedAddress(userId: string, reset: boolean): Promise<Secret>;
  /** @returns undefined when nobody has this token */
  openFeed(token: string): Promise<AsyncIterable<string> | undefined>;
  /** Takes the success of an order into the list. */
  follow(order: Order, n: number): Promise<void>;
}

/** How long an expired name stays on the list: through its auto-renew grace and redemption. */
const SHOWN_AFTER_EXPIRY_DAYS = 80;
/** How long a name that was deleted before its expiry is on the list: while it can be restored, and until it is released. */
const SHOWN_AFTER_DELETION_DAYS = 35;
/** More names than ever expired or were deleted lately and can still be saved. */
const MAX_ENDED = 500;
/** Names that are read at once where many may be left out. */
const PAGE = 100;

/** Joins the use cases of expiry. */
export function createExpiry(parts: ExpiryParts): Expiry {
  const { store, reminders, now, log, signal } = parts;
  // Every look-up under way listens to this signal.
  setMaxListeners(0, signal);
  const timeZone = async () => (await parts.settings()).reminderTimezone;
  const watching = { store, now };
  const feed = { ...parts, timeZone };

  const listed =
    (zone: string) =>
    (domain: WatchedDomain): ListedName => {
      const dates = lifeDatesOf(domain);
      if (dates === undefined) return { domain, day: undefined, daysLeft: undefined, deadline: undefined };
      const day = expiryDay(dates.expiresAt, domain.expiry?.source ?? 'rdap', zone);
      const daysLeft = daysBetween(calendarDay(now(), zone), day);
      const life = lifecycleAt(zoneFor(domain.name), dates, now(), zone);
      const { phase, lastSafeDay } = life.current;
      const facts = { phase, isDeletionAssumed: isDeletionAssumed(life), lastSafeDay };
      return {
        domain,
        ...(domain.expiry === undefined ? { day: undefined, daysLeft: undefined } : { day, daysLeft }),
        deadline: deadlineOf({ ...facts, expiryDay: day, daysLeft }),
      };
    };
  const daysFromNow = (days: number) => new Date(now().getTime() + days * DAY_MS);
  const rangeOf = (until: Date): ListRange => ({
    from: daysFromNow(-SHOWN_AFTER_EXPIRY_DAYS),
    until,
    deletedFrom: daysFromNow(-SHOWN_AFTER_DELETION_DAYS),
  });

  async function renewableAmong(names: readonly string[]): Promise<readonly ListedName[]> {
    const [domains, zone] = await Promise.all([store.findMany(names), timeZone()]);
    return domains
      .filter((domain) => canBeRenewed(domain, now()))
      .sort((a, b) => (a.expiry?.at.getTime() ?? 0) - (b.expiry?.at.getTime() ?? 0))
      .map(listed(zone));
  }

  /** The names that expire next, however many before them are let go. */
  async function undecidedNext(limit: number): Promise<readonly WatchedDomain[]> {
    const range = { ...rangeOf(daysFromNow(366)), from: now() };
    const found: WatchedDomain[] = [];
    for (let offset = 0; found.length < limit; offset += PAGE) {
      const page = await store.page(range, offset, PAGE);
      found.push(...page.filter(isUndecided));
      if (page.length < PAGE) break;
    }
    return found;
  }

  async function follow(order: Order, n: number): Promise<void> {
    const name = await followOrder(watching, order, n);
    // At once, not behind the many that a list may have had imported before.
    if (name !== undefined) await look(name);
  }

  /** What fails is logged: the name is due to be looked at. @param timeoutMs undefined: until the bot stops */
  async function look(name: string, timeoutMs?: number): Promise<void> {
    const until = timeoutMs === undefined ? signal : timeLimit(signal, timeoutMs);
    await parts.lookAtRegistry(name, until).catch((err: unknown) => {
      if (!until.aborted) log.error({ err, name }, 'looking a name up at its registry');
    });
  }

  return {
    watch: (given, gate) => list.watchName(watching, look, given, gate),
    async importNames(given, gate, progress) {
      const summary = await list.importNames(watching, given, gate, progress);
      parts.namesAdded();
      return summary;
    },
    snooze: (...given) => list.snoozeName(watching, ...given),
    requestLapse: (...given) => list.requestLapse(watching, ...given),
    confirmLapse: (...given) => list.confirmLapse(watching, ...given),
    find: (name) => store.find(name),
    findMany: (names) => store.findMany(names),
    async findListed(name) {
      const [domain, zone] = await Promise.all([store.find(name), timeZone()]);
      return domain && listed(zone)(domain);
    },

    async list(days, offset, limit) {
      const range = rangeOf(daysFromNow(days + 1));
      const [domains, counts, zone] = await Promise.all([
        store.page(range, offset, limit),
        store.count(range),
        timeZone(),
      ]);
      // Pages are sorted by the day of the expiry, but a deleted name's deadline is another day.
      const names = domains.map(listed(zone)).sort((a, b) => byDeadline(a.deadline, b.deadline));
      return { names, ...counts };
    },

    async renewable(digestId, destination = COMMON) {
      const said = await reminders.remindersOf(digestId, destination);
      // A renewal that the registry does not show yet must not be paid for twice.
      const due = said.filter(({ threshold }) => threshold < DISPUTED_CODE);
      const days = new Map(due.map(({ name, expiry }) => [name, expiry]));
      const renewable = await renewableAmong([...days.keys()]);
      return renewable.filter(({ domain }) => hasSameExpiry(domain, days.get(domain.name)));
    },
    renewableAmong,

    async listedIn(digestId, destination = COMMON) {
      const said = await reminders.remindersOf(digestId, destination);
      const [domains, zone] = await Promise.all([
        store.findMany([...new Set(said.map(({ name }) => name))]),
        timeZone(),
      ]);
      return domains.map(listed(zone)).sort((a, b) => byDeadline(a.deadline, b.deadline));
    },

    async expiringNext(limit) {
      const zone = await timeZone();
      const [ended, coming] = await Promise.all([
        store.page(rangeOf(now()), 0, MAX_ENDED),
        undecidedNext(limit),
      ]);
      const names = new Map([...ended, ...coming].map((domain) => [domain.name, domain]));
      return [...names.values()]
        .filter(isUndecided)
        .map(listed(zone))
        .filter(({ deadline }) => deadline !== undefined && isSavable(deadline))
        .sort((a, b) => byDeadline(a.deadline, b.deadline))
        .slice(0, limit);
    },

    async countsByMonth() {
      const zone = await timeZone();
      return renewalsByMonth(await store.countByMonth(now(), daysFromNow(366), zone), now(), zone);
    },

    feedAddress: (userId, reset) => feedAddress(feed, userId, reset),
    openFeed: (token) => openFeed(feed, token),
    follow,
  };
}

function isUndecided(domain: WatchedDomain): boolean {
  return lifeDatesOf(domain) !== undefined && domain.lapse?.confirmed === undefined;
}

/** Before its expiry and in the auto-renew grace a renewal keeps a name; after that only a restore brings it back. */
function canBeRenewed(domain: WatchedDomain, now: Date): boolean {
  const dates = lifeDatesOf(domain);
  if (dates === undefined || !isUndecided(domain)) return false;
  return isRenewable(lifecycleAt(zoneFor(domain.name), dates, now).current.phase);
}

/** A deleted name whose expiry nobody knows has come to its end with the deletion. */
function lifeDatesOf({ expiry, deletedAt, deletionPhase }: WatchedDomain): LifeDates | undefined {
  const expiresAt = expiry?.at ?? deletedAt;
  return expiresAt && { expiresAt, deletedAt, deletionPhase };
}

/** The name has not been renewed since the digest. */
function hasSameExpiry({ expiry }: WatchedDomain, said: Day | undefined): boolean {
  return (
    expiry !== undefined &&
    said !== undefined &&
    Math.abs(expiry.at.getTime() - Date.parse(said)) < 30 * DAY_MS
  );
}
