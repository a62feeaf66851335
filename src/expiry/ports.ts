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
  /** The person who last registered, transferred or renewed it through the bot. */
  readonly registeredBy: string | undefined;
  readonly nextRegistryAt: Date;
  readonly snooze: Snooze | undefined;
  readonly lapse: Lapse | undefined;
}

/** How a successful order changes a name. */
export interface WatchListChange {
  readonly after: WatchedDomain;
  /** The new owner and note, set by the requester. */
  readonly details?: { readonly change: DetailsChange; readonly by: string } | undefined;
  readonly observation: NameObservation;
}

/** The range of expiries to list. */
export interface ListRange {
  readonly from: Date;
  /** Exclusive, except for deleted names. */
  readonly until: Date;
  /** Names deleted from this time on are included, even if their expiry is after `until`. */
  readonly deletedFrom: Date;
}

/** Number of names in a range, by kind. */
export interface ListCounts {
  readonly dated: number;
  /** Deleted before their expiry, which is after the range. */
  readonly deleted: number;
  readonly undated: number;
}

/** Names that will lapse aren't counted, because they need no owner. */
export interface OwnerlessCounts {
  readonly none: number;
  /** Names whose owner has left. */
  readonly ownerLeft: number;
}

export interface WatchListStore {
  find(name: string): Promise<WatchedDomain | undefined>;
  findMany(names: readonly string[]): Promise<readonly WatchedDomain[]>;
  /** The earliest known expiry. */
  findFirstExpiry(names: readonly string[]): Promise<Date | undefined>;
  countWatched(): Promise<number>;
  /**
   * Sorted by expiry; then names deleted early, then names without a date. A team may have deleted many names on
   * purpose, so these don't come first.
   */
  listPage(range: ListRange, offset: number, limit: number): Promise<readonly WatchedDomain[]>;
  /** Omits names that will lapse. */
  countUndated(): Promise<number>;
  countOwnerless(): Promise<OwnerlessCounts>;
  /** Number of names in {@link WatchListStore.listPage}. */
  count(range: ListRange): Promise<ListCounts>;
  /** By month (YYYY-MM) in the time zone. Omits names that will lapse. */
  countByMonth(from: Date, until: Date, timeZone: string): Promise<readonly (readonly [string, number])[]>;
  /** Sorted by date; read in batches. */
  streamCalendarNames(from: Date): AsyncIterable<CalendarName>;
  /**
   * Updates the list after an order succeeded, once per (order, item).
   * @returns false if it was already done
   */
  updateAfterOrder(
    orderId: string,
    n: number,
    now: Date,
    change: (known: WatchedDomain | undefined) => WatchListChange | undefined,
  ): Promise<boolean>;
}

export interface WatchedReminder
  extends WatchedName,
    Pick<WatchedDomain, keyof OwnedName | 'addedBy' | 'registeredBy' | 'doubt' | 'lastLookupAt'> {
  readonly registrar?: string | undefined;
  /** Posted here instead of in the reminder channel. */
  readonly channel?: string | undefined;
  /** The channel or person that couldn't get the message, so it goes to the reminder channel. */
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
  /** The owner's messages of the day that include it; empty for a channel. */
  readonly purpose: string;
  /** Also posted in the reminder channel. */
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
  /** The copy for the reminder channel. The original goes to the name's own channel or owner. */
  readonly isCopy: boolean;
}

/** One message to an owner: the names to ask about, each with its expiry day in UTC. */
export interface NewQuestions {
  readonly owner: string;
  readonly subject: string;
  readonly names: ReadonlyMap<string, Day>;
  readonly at: Date;
}

export interface ReminderStore {
  /**
   * Makes a scheduled digest due, unless one exists for that time or later. The first call makes none due and only
   * records the time.
   */
  openDigest(digestId: string, now: Date): Promise<void>;
  /** Whether this digest, or a later one, has nothing left to send. */
  isComplete(digestId: string): Promise<boolean>;
  /** The digest before the given one. */
  findPrevious(digestId: string): Promise<string | undefined>;
  streamCandidates(ranges: readonly CandidateRange[]): AsyncIterable<readonly WatchedReminder[]>;
  /** Deleted names that may be due. */
  streamDeletedCandidates(since: Date): AsyncIterable<readonly WatchedReminder[]>;
  /**
   * Names renewed before `before` whose renewal the registry still doesn't show. Each is reported once a week, counted
   * from the renewal.
   */
  listUnconfirmedRenewals(before: Date, now: Date, limit: number): Promise<readonly WatchedDomain[]>;
  /**
   * Claims reminders for an open digest. A reminder belongs to one digest.
   * @returns the number claimed
   */
  claim(digestId: string, claims: readonly ReminderClaim[], now: Date): Promise<number>;
  findLastClaimTime(digestId: string): Promise<Date | undefined>;
  /**
   * Lists claimed but unsent reminders.
   * @param purpose limits them to one message
   */
  listPlanned(digestId: string, purpose?: string): Promise<readonly PlannedReminder[]>;
  assign(digestId: string, purpose: string, reminders: readonly PlannedReminder[]): Promise<void>;
  /** Reminders in an owner's messages of one day. */
  listOwnerReminders(subject: string): Promise<readonly PlannedReminder[]>;
  /**
   * Redirects reminders that can't be sent to their owner to the reminder channel, unless they are copied there anyway.
   */
  redirectOwnerReminders(subject: string, now: Date): Promise<void>;
  /** Redirects undeliverable reminders to the reminder channel. */
  redirect(digestId: string, destination: Destination): Promise<void>;
  /**
   * Releases unsent claims.
   * @param keys default: all of the digest
   */
  releaseClaims(digestId: string, keys?: readonly ReminderKey[]): Promise<void>;
  /** The last digest that included the monthly chart. */
  findLatestWithChart(): Promise<string | undefined>;
  listReminderKeys(digestId: string, destination: Destination): Promise<readonly ReminderKey[]>;
  /**
   * Names that have an owner, end within a range and have no question yet. Omits owners who already have
   * messages of that day.
   */
  listUnasked(day: Day, from: Date, until: Date): Promise<readonly WatchedDomain[]>;
  /** Queues one message, unless the owner already has messages of that day. */
  queueQuestions(questions: NewQuestions): Promise<void>;
  /** The names that an owner is asked about on one day and still owns, sorted by expiry. */
  loadQuestions(subject: string): Promise<readonly WatchedDomain[]>;
}

/** The days on which mandates will renew names. Other names are left out. */
export type RenewalDays = ReadonlyMap<string, Day>;

export interface DigestPart {
  readonly digestId: string;
  readonly destination: Destination;
  /** Most urgent first. */
  readonly reminders: readonly DueReminder<WatchedReminder>[];
  readonly renewals: RenewalDays;
  /** Renewed through the bot, but not according to the registry. Reported weekly. */
  readonly disputed: readonly WatchedDomain[];
}

export interface DigestReply extends DigestPart {
  /** Names still to be posted. */
  readonly remainingCount: number;
  /** More names follow. */
  readonly hasMore: boolean;
}

export interface DigestHead extends DigestPart {
  /** All due names. Those not in `reminders` follow in the thread. */
  readonly all: readonly DueReminder<WatchedReminder>[];
  readonly total: number;
  /** More names or disputed renewals follow. */
  readonly hasMore: boolean;
  /** Names without an owner, mandate or order: they are lost unless someone acts. */
  readonly uncovered: readonly string[];
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
   * Saves the record unless the person has one.
   * @returns the current record
   */
  saveIfAbsent(record: FeedRecord, now: Date): Promise<FeedRecord>;
  hasToken(tokenHash: string): Promise<boolean>;
  listUserIds(): Promise<readonly string[]>;
  /** Makes the URL stop working. */
  remove(userId: string): Promise<void>;
}
