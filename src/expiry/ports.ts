import type { SealedSecret } from '../accounts/vault.ts';
import type { NameDates } from '../names/dates.ts';
import type { DetailsChange, OwnedName } from '../names/portfolio.ts';
import type { Lapse, NameObservation } from '../names/ports.ts';
import type { LifecyclePhase } from '../zones/lifecycle.ts';
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
  /** The person who last registered, transferred or renewed the name through the bot. */
  readonly registeredBy: string | undefined;
  readonly nextRegistryLookupAt: Date;
  readonly snooze: Snooze | undefined;
  readonly lapse: Lapse | undefined;
}

/** How a successful order changes a name's entry. */
export interface WatchListChange {
  readonly updatedDomain: WatchedDomain;
  /** The new owner and note, set by the requester. */
  readonly details?: { readonly change: DetailsChange; readonly by: string } | undefined;
  readonly observation: NameObservation;
}

/** The range of expiry times to list. */
export interface ListRange {
  readonly from: Date;
  /** Exclusive, except for deleted names. */
  readonly until: Date;
  /** Names deleted from this time on are included, even if their expiry is after `until`. */
  readonly deletedFrom: Date;
}

/** Numbers of names in a range. */
export interface ListCounts {
  readonly dated: number;
  /** Names that were deleted early and whose expiry is after the range. */
  readonly deleted: number;
  readonly undated: number;
}

/** Names that will lapse aren't counted, because they need no owner. */
export interface OwnerlessCounts {
  readonly withoutOwner: number;
  /** Names whose owner has left. */
  readonly ownerLeft: number;
}

export interface WatchListStore {
  find(name: string): Promise<WatchedDomain | undefined>;
  findMany(names: readonly string[]): Promise<readonly WatchedDomain[]>;
  /** Finds the earliest known expiry. */
  findEarliestExpiry(names: readonly string[]): Promise<Date | undefined>;
  countWatched(): Promise<number>;
  /**
   * Lists names sorted by expiry, then names that were deleted early, then names without a date. Deleted names
   * don't come first, because a team may have deleted many on purpose.
   */
  listPage(range: ListRange, offset: number, limit: number): Promise<readonly WatchedDomain[]>;
  /** Omits names that will lapse. */
  countUndated(): Promise<number>;
  countOwnerless(): Promise<OwnerlessCounts>;
  /** Counts the names on all pages of {@link WatchListStore.listPage}. */
  count(range: ListRange): Promise<ListCounts>;
  /** Counts expiring names by month (YYYY-MM) in the time zone. Omits names that will lapse. */
  countByMonth(from: Date, until: Date, timeZone: string): Promise<readonly (readonly [string, number])[]>;
  /** Streams names sorted by expiry. They are read in batches. */
  streamCalendarNames(from: Date): AsyncIterable<CalendarName>;
  /**
   * Updates the list after an order succeeded, once per item of the order.
   * @returns false if the list was already updated for this item
   */
  updateAfterOrder(
    orderId: string,
    itemNumber: number,
    now: Date,
    buildChange: (domain: WatchedDomain | undefined) => WatchListChange | undefined,
  ): Promise<boolean>;
}

export interface WatchedReminder
  extends WatchedName,
    Pick<WatchedDomain, keyof OwnedName | 'addedBy' | 'registeredBy' | 'doubt' | 'lastLookupAt'> {
  readonly registrar?: string | undefined;
  /** The channel to use instead of the reminder channel. */
  readonly channel?: string | undefined;
  /** The channel or person that couldn't be reached. The reminder then goes to the reminder channel. */
  readonly undelivered?: string | undefined;
}

export interface ReminderKey {
  readonly name: string;
  readonly expiry: Day;
  readonly threshold: number;
}

/** A channel, a person, or {@link DEFAULT_DESTINATION}. */
export type Destination = string;
/** The reminder channel. */
export const DEFAULT_DESTINATION: Destination = '';

/** The notification purpose of the monthly chart in a digest's thread. */
export const MONTHS_CHART_PURPOSE = 'months';

export interface ReminderClaim extends ReminderKey {
  readonly destination: Destination;
  /** The key of the messages that the owner gets that day; empty for a channel. */
  readonly purpose: string;
  /** Whether the reminder is also posted in the reminder channel. */
  readonly isCopied: boolean;
  /** The name's phase if this is a last reminder, which is also sent to webhooks. */
  readonly lastReminderPhase: LifecyclePhase | undefined;
}

/** A claimed reminder, or its copy in the reminder channel, with the name's current state. */
export interface PlannedReminder extends WatchedReminder {
  readonly key: ReminderKey;
  readonly digestId: string;
  readonly claimedAt: Date;
  readonly destination: Destination;
  /** The notification's purpose; empty before it is assigned to a message. */
  readonly purpose: string;
  /** Whether this is a copy in the reminder channel. The original goes to the name's own channel or owner. */
  readonly isCopy: boolean;
}

/** The questions in one message to an owner. */
export interface NewQuestions {
  readonly owner: string;
  readonly subject: string;
  /** The names to ask about, with their expiry days in UTC. */
  readonly expiryDays: ReadonlyMap<string, Day>;
  readonly askedAt: Date;
}

export interface ReminderStore {
  /**
   * Makes a scheduled digest due, unless that digest or a later one exists. The very first call only records
   * the time and makes no digest due.
   */
  openDigest(digestId: string, now: Date): Promise<void>;
  /** Whether this digest, or a later one, has nothing left to send. */
  isDigestComplete(digestId: string): Promise<boolean>;
  findPreviousDigestId(digestId: string): Promise<string | undefined>;
  streamCandidates(ranges: readonly CandidateRange[]): AsyncIterable<readonly WatchedReminder[]>;
  /** Streams deleted names that may be due. */
  streamDeletedCandidates(since: Date): AsyncIterable<readonly WatchedReminder[]>;
  /**
   * Lists names that were renewed before `renewedBefore`, but whose renewal the registry doesn't show yet. A
   * name is listed once a week, counted from its renewal.
   */
  listUnconfirmedRenewals(renewedBefore: Date, now: Date, limit: number): Promise<readonly WatchedDomain[]>;
  /**
   * Claims reminders for an open digest. A reminder can be claimed by one digest only.
   * @returns the number of claimed reminders
   */
  claim(digestId: string, claims: readonly ReminderClaim[], now: Date): Promise<number>;
  findLastClaimTime(digestId: string): Promise<Date | undefined>;
  /**
   * Lists claimed but unsent reminders.
   * @param purpose limits the list to one message
   */
  listPlannedReminders(digestId: string, purpose?: string): Promise<readonly PlannedReminder[]>;
  assign(digestId: string, purpose: string, reminders: readonly PlannedReminder[]): Promise<void>;
  /** Lists the reminders in an owner's messages of one day. */
  listOwnerReminders(subject: string): Promise<readonly PlannedReminder[]>;
  /** Redirects an owner's undeliverable reminders to the reminder channel, unless they are copied there. */
  redirectOwnerReminders(subject: string, now: Date): Promise<void>;
  /** Redirects a destination's undeliverable reminders to the reminder channel. */
  redirectReminders(digestId: string, destination: Destination): Promise<void>;
  /**
   * Releases unsent claims.
   * @param keys default: all keys of the digest
   */
  releaseClaims(digestId: string, keys?: readonly ReminderKey[]): Promise<void>;
  /** Finds the last digest that included the monthly chart. */
  findLatestDigestIdWithChart(): Promise<string | undefined>;
  listReminderKeys(digestId: string, destination: Destination): Promise<readonly ReminderKey[]>;
  /**
   * Lists names that have an owner, expire within a range and have no question yet. Omits names of owners who
   * already have a message from that day.
   */
  listUnaskedNames(day: Day, from: Date, until: Date): Promise<readonly WatchedDomain[]>;
  /** Queues one message with the questions, unless the owner already has a message from that day. */
  queueQuestions(questions: NewQuestions): Promise<void>;
  /** Loads the names that an owner was asked about on one day and still owns, sorted by expiry. */
  loadAskedNames(subject: string): Promise<readonly WatchedDomain[]>;
}

/** The days on which mandates will renew names, keyed by name. */
export type RenewalDays = ReadonlyMap<string, Day>;

export interface DigestPart {
  readonly digestId: string;
  readonly destination: Destination;
  /** Most urgent first. */
  readonly reminders: readonly DueReminder<WatchedReminder>[];
  readonly renewals: RenewalDays;
  /** Names that were renewed, but whose renewal the registry doesn't show. */
  readonly disputed: readonly WatchedDomain[];
}

export interface DigestReply extends DigestPart {
  /** The number of names still to be posted. */
  readonly remainingCount: number;
  readonly hasMore: boolean;
}

export interface DigestHead extends DigestPart {
  /** All due reminders. Those that aren't in `reminders` follow in the thread. */
  readonly allDue: readonly DueReminder<WatchedReminder>[];
  readonly total: number;
  /** Whether more names or disputed renewals follow. */
  readonly hasMore: boolean;
  /** Names without an owner, mandate or order: they are lost unless someone acts. */
  readonly uncoveredNames: readonly string[];
  /** Number of watched names without a date, which get no reminders. */
  readonly undated: number;
  /** Number of watched names that need an owner; undefined outside the reminder channel. */
  readonly ownerless?: OwnerlessCounts | undefined;
}

export interface FeedRecord {
  readonly userId: string;
  readonly tokenHash: string;
  readonly sealed: SealedSecret;
}

export interface FeedStore {
  find(userId: string): Promise<FeedRecord | undefined>;
  /** Replaces the person's record. */
  save(record: FeedRecord, now: Date): Promise<void>;
  /**
   * Saves the record unless the person already has one.
   * @returns the current record
   */
  saveIfAbsent(record: FeedRecord, now: Date): Promise<FeedRecord>;
  hasToken(tokenHash: string): Promise<boolean>;
  listUserIds(): Promise<readonly string[]>;
  /** After the removal, the feed URL no longer works. */
  remove(userId: string): Promise<void>;
}
