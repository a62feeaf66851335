import type { Sealed } from '../accounts/vault.ts';
import type { CalendarName } from './calendar.ts';
import type { CandidateRange } from './candidates.ts';
import type { Day, ExpirySource } from './days.ts';
import type { ImportedName } from './import.ts';
import type { DigestGroup, WatchedName } from './plan.ts';
import type { TrustedRecord } from './trust.ts';

/** Somebody asked to be left alone about a name for a while. */
export interface Snooze {
  readonly until: Date;
  readonly by: string;
  readonly reason: string | undefined;
}

/** Somebody wants to let a name go; it is decided once somebody else has confirmed. */
export interface Lapse {
  readonly reason: string;
  readonly requestedBy: string;
  readonly confirmed: { readonly by: string; readonly at: Date } | undefined;
}

/** What a registry's record showed of a name: evidence for orders whose answer was lost. */
export interface RegistryRecord {
  /** The registry's own date, whatever is believed of it. */
  readonly expiresAt: Date;
  readonly registrar: string | undefined;
  /** It came over https. */
  readonly secure: boolean;
  /** When it was first seen to show this. */
  readonly seenAt: Date;
}

/** A name on the watch list. */
export interface WatchedDomain {
  /** In ASCII. */
  readonly name: string;
  /** Grows by one with every change: the compare-and-swap is on it. */
  readonly version: number;
  /** The date and where it comes from; undefined while no date is known. */
  readonly expiry: { readonly at: Date; readonly source: ExpirySource } | undefined;
  /** Slack user id. */
  readonly addedBy: string;
  readonly addedAt: Date;
  /** Who registered, transferred or last renewed it through the bot. */
  readonly registeredBy: string | undefined;
  /** A renewal that the registry does not show yet: earlier dates of its record are stale. */
  readonly renewed: { readonly until: Date; readonly at: Date } | undefined;
  /** What the registry's record showed last; undefined while none was read. */
  readonly record: RegistryRecord | undefined;
  /** What it showed before that changed. */
  readonly recordBefore: RegistryRecord | undefined;
  /** The registrar whose dates are believed; undefined while no record was read. */
  readonly trusted: TrustedRecord | undefined;
  readonly deletedAt: Date | undefined;
  readonly checkedAt: Date | undefined;
  readonly nextCheckAt: Date;
  /** Completes “the registry’s record cannot be used: …”; undefined when the last look-up gave a date. */
  readonly checkProblem: string | undefined;
  readonly snooze: Snooze | undefined;
  readonly lapse: Lapse | undefined;
}

/** What a batch of imported names did. */
export interface ImportCounts {
  readonly added: number;
  /** Were on the list and took the date that was given. */
  readonly dated: number;
}

/** The watch list. Implemented by the store. */
export interface WatchListStore {
  find(name: string): Promise<WatchedDomain | undefined>;
  findMany(names: readonly string[]): Promise<readonly WatchedDomain[]>;
  /** @returns false when the name is on the list already */
  add(domain: WatchedDomain): Promise<boolean>;
  /**
   * Commits a change if nobody else changed the name since `before` was read. Where the expiry moves by less than
   * a month (a better date for the same end), what was said about it counts as said.
   * @returns false when somebody else was faster: read again
   */
  change(before: WatchedDomain, after: WatchedDomain): Promise<boolean>;
  /** @returns false when it was not on the list */
  remove(name: string): Promise<boolean>;
  /** Adds names; a given date replaces none of the registry's or of an order. */
  importBatch(names: readonly ImportedName[], by: string, now: Date): Promise<ImportCounts>;
  /**
   * Takes names whose look-up is due; nobody else gets them before `until`.
   * @returns the longest due first
   */
  claimDueChecks(now: Date, until: Date, limit: number): Promise<readonly WatchedDomain[]>;
  /** Names that expire in [from, until), soonest first, then those without a date. */
  page(from: Date, until: Date, offset: number, limit: number): Promise<readonly WatchedDomain[]>;
  /** How many names {@link WatchListStore.page} has. */
  count(from: Date, until: Date): Promise<{ readonly dated: number; readonly undated: number }>;
  /** Names by the month (YYYY-MM) of their expiry in the time zone, without those that are let go. */
  countByMonth(from: Date, until: Date, timeZone: string): Promise<readonly (readonly [string, number])[]>;
  /** Every name with a date from `from` on, by date; read in batches. */
  calendarNames(from: Date): AsyncIterable<CalendarName>;
  /**
   * Takes a success of an order into the list: runs `change` for the name, once for each (order, item).
   * @returns false when it was taken in before
   */
  follow(
    orderId: string,
    n: number,
    now: Date,
    change: (known: WatchedDomain | undefined) => WatchedDomain | undefined,
  ): Promise<boolean>;
}

/** A name as the reminder plan needs it, and what its reminder shows besides. */
export interface WatchedReminder
  extends WatchedName,
    Pick<WatchedDomain, 'addedBy' | 'registeredBy' | 'checkProblem' | 'lapse'> {
  /** Slack user id of whose name it is. */
  readonly owner?: string | undefined;
  /** Where it is told instead of the common channel. */
  readonly channel?: string | undefined;
  /** The channel or person that could not be told: the common channel is told instead. */
  readonly undelivered?: string | undefined;
}

/** What a reminder is known by. */
export interface ReminderKey {
  readonly name: string;
  readonly expiry: Day;
  readonly threshold: number;
}

/** Where a name is told: a channel, a person, or {@link COMMON}. */
export type Destination = string;
/** The common channel, whichever it is at that moment. */
export const COMMON: Destination = '';

/** Where a message stands. */
export interface PostedAt {
  readonly channelId: string;
  readonly ts: string;
}

/** A digest in the hands of one process. */
export interface DigestRun {
  readonly id: string;
  /** Where its first messages stand, by destination, as far as a process got before. */
  readonly heads: ReadonlyMap<Destination, PostedAt>;
}

/** Digests and what they said. Implemented by the store. */
export interface ReminderStore {
  /**
   * Takes the digest of a scheduled time, or one that a process left unfinished. Reminders that were claimed and not
   * posted are free again then. The first call ever only notes where the schedule stands.
   * @returns undefined when there is nothing to do, or another process does it
   */
  claimDigest(scheduledFor: Date, now: Date, leaseUntil: Date): Promise<DigestRun | undefined>;
  /** The process is alive. @returns false when the digest was taken over */
  extendDigest(id: string, leaseUntil: Date): Promise<boolean>;
  /** Gives an unfinished digest back for a later try. */
  postponeDigest(id: string, until: Date): Promise<void>;
  recordHead(id: string, destination: Destination, head: PostedAt): Promise<void>;
  finishDigest(id: string, now: Date): Promise<void>;
  /** @returns false when admins were told of a problem less than a day ago */
  claimAlert(id: string, now: Date): Promise<boolean>;
  /** Names that can be due in these ranges of expiries, one range after the other, in batches. */
  candidates(ranges: readonly CandidateRange[]): AsyncIterable<readonly WatchedReminder[]>;
  /** Names with a known deletion that can be due. */
  deletedCandidates(since: Date): AsyncIterable<readonly WatchedReminder[]>;
  /** Names that were renewed before `before` and that the registry still shows unrenewed. */
  disputed(before: Date, limit: number): Promise<readonly WatchedDomain[]>;
  /** Claims reminders; each goes to one digest. @returns those that nobody had */
  claim(digestId: string, keys: readonly ReminderKey[], now: Date): Promise<readonly ReminderKey[]>;
  recordPosted(
    digestId: string,
    destination: Destination,
    keys: readonly ReminderKey[],
    now: Date,
  ): Promise<void>;
  /** What a digest has said in one place. */
  remindersOf(digestId: string, destination: Destination): Promise<readonly ReminderKey[]>;
}

/** What stands in one message of a digest. */
export interface DigestPart {
  readonly digestId: string;
  readonly destination: Destination;
  readonly groups: readonly DigestGroup<WatchedReminder>[];
  /** Renewed through the bot, but the registry does not show it: said once. */
  readonly disputed: readonly WatchedDomain[];
}

/** A message in a digest's thread. */
export interface DigestMore extends DigestPart {
  /** How many names come after it, of those that are known by now. */
  readonly left: number;
  /** Even more names follow. */
  readonly more: boolean;
}

/** The first message of a digest. */
export interface DigestHead extends DigestPart {
  /** The names that the digest is about; those that are not in `groups` follow in the thread. */
  readonly all: readonly DigestGroup<WatchedReminder>[];
  readonly total: number;
  /** Even more names follow. */
  readonly more: boolean;
  readonly months: readonly { readonly label: string; readonly count: number }[];
}

/** Posts digests. Implemented by `slack`. */
export interface DigestPoster {
  /** @param to a channel or a person. @returns where it stands */
  postHead(to: string, head: DigestHead): Promise<PostedAt>;
  postMore(at: PostedAt, part: DigestMore): Promise<void>;
  /** What to do about an error: wait, or have somebody mend the channel. */
  explain(error: unknown): { readonly retryAfterMs: number } | { readonly broken: string };
  /** Tells the admins that reminders cannot be posted in the channel. */
  alertAdmins(channelId: string, why: string): Promise<void>;
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
  /** Puts the record in place of the person's former one. */
  save(record: FeedRecord, now: Date): Promise<void>;
  /** Keeps the record if the person has none. @returns the one that stands */
  keepFirst(record: FeedRecord, now: Date): Promise<FeedRecord>;
  hasToken(tokenHash: string): Promise<boolean>;
  /** Everybody who has a feed. */
  people(): Promise<readonly string[]>;
  /** Forgets a person's feed: its address leads nowhere from now on. */
  remove(userId: string): Promise<void>;
}
