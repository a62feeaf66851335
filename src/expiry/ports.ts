import type { Sealed } from '../accounts/vault.ts';
import type { NameDates } from '../names/dates.ts';
import type { DetailsChange, OwnedName } from '../names/portfolio.ts';
import type { Lapse, NameObservation } from '../names/ports.ts';
import type { LifePhase } from '../zones/lifecycle.ts';
import type { CalendarName } from './calendar.ts';
import type { CandidateRange } from './candidates.ts';
import type { Day } from './days.ts';
import type { DueReminder, WatchedName } from './plan.ts';

export interface Snooze {
  readonly until: Date;
  readonly by: string;
  readonly reason: string | undefined;
}

export interface WatchedDomain extends NameDates, OwnedName {
  readonly name: string;
  /** For compare-and-swap. */
  readonly version: number;
  readonly addedBy: string;
  readonly addedAt: Date;
  /** The last person who registered, transferred or renewed it through the bot. */
  readonly registeredBy: string | undefined;
  readonly nextRegistryAt: Date;
  readonly snooze: Snooze | undefined;
  readonly lapse: Lapse | undefined;
}

/** A successful order's effect on a name. */
export interface FollowedName {
  readonly after: WatchedDomain;
  /** Its new owner and note, by the requester. */
  readonly details?: { readonly change: DetailsChange; readonly by: string } | undefined;
  readonly observation: NameObservation;
}

/** Filters names to check. */
export interface ListRange {
  readonly from: Date;
  /** Exclusive, except for deleted names. */
  readonly until: Date;
  /** Names deleted from this time on are included, even if they expire after `until`. */
  readonly deletedFrom: Date;
}

/** Number of names of a range, by kind. */
export interface ListCounts {
  readonly dated: number;
  /** Deleted early: they would expire after the range. */
  readonly deleted: number;
  readonly undated: number;
}

/** Names that lapse need no owner. */
export interface OwnerlessCounts {
  readonly none: number;
  /** With an owner who has left. */
  readonly left: number;
}

export interface WatchListStore {
  find(name: string): Promise<WatchedDomain | undefined>;
  findMany(names: readonly string[]): Promise<readonly WatchedDomain[]>;
  /** The earliest known expiry. */
  firstExpiry(names: readonly string[]): Promise<Date | undefined>;
  countWatched(): Promise<number>;
  /**
   * By expiry, then names deleted early, then names without a date. A team may have deleted many names on purpose, so
   * these don't come first.
   */
  page(range: ListRange, offset: number, limit: number): Promise<readonly WatchedDomain[]>;
  /** Without names that lapse. */
  countUndated(): Promise<number>;
  countOwnerless(): Promise<OwnerlessCounts>;
  /** Number of names of {@link WatchListStore.page}. */
  count(range: ListRange): Promise<ListCounts>;
  /** By month (YYYY-MM) in the time zone, without names that lapse. */
  countByMonth(from: Date, until: Date, timeZone: string): Promise<readonly (readonly [string, number])[]>;
  /** By date; read in batches. */
  calendarNames(from: Date): AsyncIterable<CalendarName>;
  /**
   * Updates the list after an order's success, once per (order, item).
   * @returns false when this was done before
   */
  follow(
    orderId: string,
    n: number,
    now: Date,
    change: (known: WatchedDomain | undefined) => FollowedName | undefined,
  ): Promise<boolean>;
}

/** For planning and showing a reminder. */
export interface WatchedReminder
  extends WatchedName,
    Pick<WatchedDomain, keyof OwnedName | 'addedBy' | 'registeredBy' | 'doubt' | 'lastLookupAt'> {
  readonly registrar?: string | undefined;
  /** Used instead of the reminder channel. */
  readonly channel?: string | undefined;
  /** The channel or person that refused the message; the reminder channel is used instead. */
  readonly undelivered?: string | undefined;
}

export interface ReminderKey {
  readonly name: string;
  readonly expiry: Day;
  readonly threshold: number;
}

/** A channel, a person, or {@link COMMON}. */
export type Destination = string;
/** The reminder channel. */
export const COMMON: Destination = '';

/** Purpose of the monthly chart in a digest's thread. */
export const MONTHS = 'months';

export interface ReminderClaim extends ReminderKey {
  readonly destination: Destination;
  /** The owner's messages of the day that contain it; empty for a channel. */
  readonly purpose: string;
  /** Also posted in the reminder channel. */
  readonly isCopied: boolean;
  /** The name's phase, for last reminders, which also go to webhooks. */
  readonly lastIn: LifePhase | undefined;
}

/** A claimed reminder, or its copy in the reminder channel, with the current name. */
export interface PlannedReminder extends WatchedReminder {
  readonly key: ReminderKey;
  readonly digestId: string;
  readonly claimedAt: Date;
  readonly destination: Destination;
  /** The notification's purpose; empty while undecided. */
  readonly purpose: string;
  /** Posted to its own channel or owner; this one is for the reminder channel. */
  readonly isCopy: boolean;
}

/** One message to an owner: the names it asks about, each with its expiry day in UTC. */
export interface NewQuestions {
  readonly owner: string;
  readonly subject: string;
  readonly names: ReadonlyMap<string, Day>;
  readonly at: Date;
}

export interface ReminderStore {
  /**
   * Makes a scheduled digest due, unless there is one for that time or later. The first call only records the
   * schedule's position.
   */
  open(digestId: string, now: Date): Promise<void>;
  /** Whether a digest, or a later one, has nothing left to send. */
  isComplete(digestId: string): Promise<boolean>;
  /** The digest before another one. */
  previous(digestId: string): Promise<string | undefined>;
  candidates(ranges: readonly CandidateRange[]): AsyncIterable<readonly WatchedReminder[]>;
  /** Deleted names that may be due. */
  deletedCandidates(since: Date): AsyncIterable<readonly WatchedReminder[]>;
  /**
   * Names renewed before `before` whose renewal the registry still doesn't show, and that weren't reported in the
   * current week since the renewal.
   */
  disputed(before: Date, now: Date, limit: number): Promise<readonly WatchedDomain[]>;
  /**
   * For an open digest; a reminder belongs to one digest.
   * @returns how many were free
   */
  claim(digestId: string, claims: readonly ReminderClaim[], now: Date): Promise<number>;
  lastClaimedAt(digestId: string): Promise<Date | undefined>;
  /** Claimed but not sent. @param purpose of one message only */
  planned(digestId: string, purpose?: string): Promise<readonly PlannedReminder[]>;
  assign(digestId: string, purpose: string, reminders: readonly PlannedReminder[]): Promise<void>;
  /** In an owner's messages of a day. */
  remindedIn(subject: string): Promise<readonly PlannedReminder[]>;
  /** Reminders that their owner can't get go to the reminder channel, unless their copies do. */
  redirectOwner(subject: string, now: Date): Promise<void>;
  /** Undeliverable reminders go to the reminder channel. */
  redirect(digestId: string, destination: Destination): Promise<void>;
  /** Releases unsent claims. @param keys only these */
  free(digestId: string, keys?: readonly ReminderKey[]): Promise<void>;
  /** The last digest with a monthly chart. */
  latestWithMonths(): Promise<string | undefined>;
  remindersOf(digestId: string, destination: Destination): Promise<readonly ReminderKey[]>;
  /** Owned names that end in a range, without a question. Omits owners with messages of that day. */
  unasked(day: Day, from: Date, until: Date): Promise<readonly WatchedDomain[]>;
  /** Queues one message, unless the owner has messages of that day. */
  ask(questions: NewQuestions): Promise<void>;
  /** The names that an owner is asked about on a day and still owns, by expiry. */
  loadQuestions(subject: string): Promise<readonly WatchedDomain[]>;
}

/** When mandates will renew names; other names are omitted. */
export type RenewalDays = ReadonlyMap<string, Day>;

/** Content of one message. */
export interface DigestPart {
  readonly digestId: string;
  readonly destination: Destination;
  /** Most urgent first. */
  readonly reminders: readonly DueReminder<WatchedReminder>[];
  readonly renewals: RenewalDays;
  /** Renewed through the bot but not at the registry. Reported weekly. */
  readonly disputed: readonly WatchedDomain[];
}

export interface DigestMore extends DigestPart {
  /** Known names after it. */
  readonly left: number;
  /** More names follow. */
  readonly more: boolean;
}

export interface DigestHead extends DigestPart {
  /** Names not in `reminders` follow in the thread. */
  readonly all: readonly DueReminder<WatchedReminder>[];
  readonly total: number;
  /** More names or disputed renewals follow. */
  readonly more: boolean;
  /** Names without an owner, a mandate or an order: they are lost without action. */
  readonly uncovered: readonly string[];
  /** Watched names without a date: they get no reminders. */
  readonly undated: number;
  /** All watched names that need an owner; undefined outside the common channel. */
  readonly ownerless?: OwnerlessCounts | undefined;
}

export interface FeedRecord {
  readonly userId: string;
  readonly tokenHash: string;
  readonly sealed: Sealed;
}

export interface FeedStore {
  find(userId: string): Promise<FeedRecord | undefined>;
  /** Replaces the person's record. */
  save(record: FeedRecord, now: Date): Promise<void>;
  /** Keeps an existing record. @returns the current one */
  keepFirst(record: FeedRecord, now: Date): Promise<FeedRecord>;
  hasToken(tokenHash: string): Promise<boolean>;
  people(): Promise<readonly string[]>;
  /** The URL stops working. */
  remove(userId: string): Promise<void>;
}
