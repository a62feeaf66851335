import type { Sealed } from '../accounts/vault.ts';
import type { NameDates } from '../names/dates.ts';
import type { Lapse, NameObservation } from '../names/ports.ts';
import type { LifePhase } from '../zones/lifecycle.ts';
import type { CalendarName } from './calendar.ts';
import type { CandidateRange } from './candidates.ts';
import type { Day } from './days.ts';
import type { DueReminder, WatchedName } from './plan.ts';

/** Somebody snoozed the reminders of a name. */
export interface Snooze {
  readonly until: Date;
  readonly by: string;
  readonly reason: string | undefined;
}

export interface WatchedDomain extends NameDates {
  /** In ASCII. */
  readonly name: string;
  /** Grows by one with every change: the compare-and-swap is on it. */
  readonly version: number;
  /** Slack user id. */
  readonly addedBy: string;
  readonly addedAt: Date;
  /** Who registered, transferred or last renewed it through the bot. */
  readonly registeredBy: string | undefined;
  /** When its registry is asked next. */
  readonly nextRegistryAt: Date;
  readonly snooze: Snooze | undefined;
  readonly lapse: Lapse | undefined;
}

/** What the success of an order makes of a name. */
export interface FollowedName {
  readonly after: WatchedDomain;
  readonly observation: NameObservation;
}

/** The names that have to be looked at. */
export interface ListRange {
  /** Names that expire at this moment or later are in the range. */
  readonly from: Date;
  /** Names that expire at this moment or later are not, unless they were deleted. */
  readonly until: Date;
  /** Names that were deleted at this moment or later are in the range, even if they would expire after it. */
  readonly deletedFrom: Date;
}

/** How many names of a range there are of each kind. */
export interface ListCounts {
  /** They expire within the range. */
  readonly dated: number;
  /** They were deleted early: they would expire after the range. */
  readonly deleted: number;
  readonly undated: number;
}

/** The watch list. Implemented by the store. */
export interface WatchListStore {
  find(name: string): Promise<WatchedDomain | undefined>;
  findMany(names: readonly string[]): Promise<readonly WatchedDomain[]>;
  /** When the first of some names expires, as far as that is known. */
  firstExpiry(names: readonly string[]): Promise<Date | undefined>;
  countWatched(): Promise<number>;
  /**
   * Names that expire in the range, soonest first, then those that were deleted early, then those without a date. The deleted
   * ones do not come first, because a team may have deleted many on purpose.
   */
  page(range: ListRange, offset: number, limit: number): Promise<readonly WatchedDomain[]>;
  /** How many names have no date and are not let go. */
  countUndated(): Promise<number>;
  /** How many names {@link WatchListStore.page} has. */
  count(range: ListRange): Promise<ListCounts>;
  /** Numbers of names by the month (YYYY-MM) of their expiry in the time zone, without those that are let go. */
  countByMonth(from: Date, until: Date, timeZone: string): Promise<readonly (readonly [string, number])[]>;
  /** Every name with a date from `from` on, by date; read in batches. */
  calendarNames(from: Date): AsyncIterable<CalendarName>;
  /**
   * Adds a success of an order to the list: runs `change` for the name, once for each (order, item).
   * @returns false when it was added before
   */
  follow(
    orderId: string,
    n: number,
    now: Date,
    change: (known: WatchedDomain | undefined) => FollowedName | undefined,
  ): Promise<boolean>;
}

/** A name as the reminder plan needs it, and what its reminder shows besides. */
export interface WatchedReminder
  extends WatchedName,
    Pick<WatchedDomain, 'addedBy' | 'registeredBy' | 'doubt' | 'lookedAt' | 'lapse'> {
  /** Slack user id of whose name it is. */
  readonly owner?: string | undefined;
  /** The channel where it is told instead of the common one. */
  readonly channel?: string | undefined;
  /** The channel or person that refused its message, so that it is told in the common channel. */
  readonly undelivered?: string | undefined;
}

export interface ReminderKey {
  readonly name: string;
  readonly expiry: Day;
  readonly threshold: number;
}

/** Where a name is told: a channel, a person, or {@link COMMON}. */
export type Destination = string;
/** The common channel, whichever it is at that moment. */
export const COMMON: Destination = '';

/** The purpose of the chart of the months in a digest's thread. */
export const MONTHS = 'months';

/** A reminder that a digest wants to tell. */
export interface ReminderClaim extends ReminderKey {
  readonly destination: Destination;
  /** It is told in the common channel too. */
  readonly isCopied: boolean;
  /** Where it is a last reminder, which is told besides Slack: the phase that the name is in. */
  readonly lastIn: LifePhase | undefined;
}

/** A reminder that a digest has claimed, or its copy in the common channel, with the name as it is now. */
export interface PlannedReminder extends WatchedReminder {
  readonly key: ReminderKey;
  readonly destination: Destination;
  /** The purpose of the notification that tells it; empty while that is not decided. */
  readonly purpose: string;
  /** It was posted to its channel or owner; this one is for the common channel. */
  readonly isCopy: boolean;
}

/** Reminders, and the digests that tell them. Implemented by the store. */
export interface ReminderStore {
  /**
   * Makes the digest of a scheduled time due, unless there is one for that time or a later one. The first call ever only records
   * where the schedule stands.
   */
  open(digestId: string, now: Date): Promise<void>;
  /** Names that can be due in these ranges of expiries, one range after the other, in batches. */
  candidates(ranges: readonly CandidateRange[]): AsyncIterable<readonly WatchedReminder[]>;
  /** Names with a known deletion that can be due. */
  deletedCandidates(since: Date): AsyncIterable<readonly WatchedReminder[]>;
  /**
   * Names that were renewed before `before`, that the registry still shows unrenewed, and of which this was not told yet
   * in the present week since their renewal.
   */
  disputed(before: Date, now: Date, limit: number): Promise<readonly WatchedDomain[]>;
  /**
   * Claims reminders for a digest that is not over; each belongs to one digest.
   * @returns how many were free
   */
  claim(digestId: string, claims: readonly ReminderClaim[], now: Date): Promise<number>;
  /** When a digest made the latest of its claims that were not freed. */
  lastClaimedAt(digestId: string): Promise<Date | undefined>;
  /** What a digest has claimed and not told yet. @param purpose only what this message is to tell */
  planned(digestId: string, purpose?: string): Promise<readonly PlannedReminder[]>;
  /** Decides which message tells some reminders. */
  assign(digestId: string, purpose: string, reminders: readonly PlannedReminder[]): Promise<void>;
  /** What was not told in a place of its own is told in the common channel. */
  redirect(digestId: string, destination: Destination): Promise<void>;
  /** Frees what a digest has claimed and not told. @param keys only these */
  free(digestId: string, keys?: readonly ReminderKey[]): Promise<void>;
  /** The latest digest whose thread got the chart of the months; undefined before there was one. */
  latestWithMonths(): Promise<string | undefined>;
  remindersOf(digestId: string, destination: Destination): Promise<readonly ReminderKey[]>;
}

/** On which day a mandate renews names, as things stand; others are left out. */
export type RenewalDays = ReadonlyMap<string, Day>;

/** The content of one message of a digest. */
export interface DigestPart {
  readonly digestId: string;
  readonly destination: Destination;
  /** The most urgent first. */
  readonly reminders: readonly DueReminder<WatchedReminder>[];
  readonly renewals: RenewalDays;
  /** Names that were renewed through the bot while the registry does not show it. Said weekly. */
  readonly disputed: readonly WatchedDomain[];
}

/** A message in a digest's thread. */
export interface DigestMore extends DigestPart {
  /** How many of the known names come after it. */
  readonly left: number;
  /** Even more names follow. */
  readonly more: boolean;
}

/** The first message of a digest. */
export interface DigestHead extends DigestPart {
  /** The names that the digest is about; those that are not in `reminders` follow in the thread. */
  readonly all: readonly DueReminder<WatchedReminder>[];
  readonly total: number;
  /** Even more names, or renewals that the registry does not show, follow. */
  readonly more: boolean;
  /** Names that are lost if nobody presses anything: without an owner, a mandate or an order. */
  readonly uncovered: readonly string[];
  /** How many watched names have no date, so that nobody is reminded of them. */
  readonly undated: number;
}

/** The private feed of one person. */
export interface FeedRecord {
  readonly userId: string;
  readonly tokenHash: string;
  readonly sealed: Sealed;
}

/** Addresses of calendar feeds. Implemented by the store. */
export interface FeedStore {
  find(userId: string): Promise<FeedRecord | undefined>;
  /** Replaces the person's former record. */
  save(record: FeedRecord, now: Date): Promise<void>;
  /** Keeps the record if the person has none. @returns the one that stands */
  keepFirst(record: FeedRecord, now: Date): Promise<FeedRecord>;
  hasToken(tokenHash: string): Promise<boolean>;
  /** Everybody who has a feed. */
  people(): Promise<readonly string[]>;
  /** Forgets a person's feed: its address leads nowhere from now on. */
  remove(userId: string): Promise<void>;
}
