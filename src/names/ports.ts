import type { IncidentDecision } from '../ledger/events.ts';
import type { ShownIncident } from '../orders/refusal.ts';
import type { DatedOrder, NameDates } from './dates.ts';
import type { DependentName } from './dependents.ts';
import type { ImportRow } from './details-import.ts';
import type { NameFilter } from './filter.ts';
import type { NameHistory, SeenValues } from './history.ts';
import type { Impact } from './impact.ts';
import type { Incident, IncidentUpdate } from './incident.ts';
import type { KnownDelegation } from './parent-delegation.ts';
import type { EditedName, NameDetails, NameLimit } from './portfolio.ts';
import type { AssessedName, FindingCode, FindingsChange, Posture } from './posture.ts';
import type { Preset, PresetContent } from './presets.ts';
import type { KnownChange } from './unexplained-changes.ts';
import type { AllowedChanges } from './weakening.ts';

/** A decision to let a name lapse, which another person must confirm. */
export interface Lapse {
  readonly reason: string;
  readonly requestedBy: string;
  readonly confirmed: { readonly by: string; readonly at: Date } | undefined;
}

/** The known facts about a watched name, and the times of its next lookups. */
export interface NameRecord extends NameDates {
  readonly name: string;
  /** For compare-and-swap. */
  readonly version: number;
  readonly history: NameHistory;
  readonly knownChanges: readonly KnownChange[];
  readonly lapse: Lapse | undefined;
  /** Whether the name has an owner who hasn't left. */
  readonly hasOwner: boolean;
  /** Undefined before the first lookup. */
  readonly posture: Posture | undefined;
  /** As of the last lookup. */
  readonly findings: readonly FindingCode[];
  readonly nextDnsLookupAt: Date;
  readonly nextRegistryLookupAt: Date;
  readonly isRegistryReserved: boolean;
  readonly isUrgent: boolean;
}

/** Observations are only added, never changed. */
export type NameObservation =
  /** Values that differ from the previous lookup. */
  | { readonly origin: 'registry' | 'dns'; readonly at: Date; readonly seen: SeenValues }
  | { readonly origin: 'order'; readonly at: Date; readonly orderId: string; readonly done: DatedOrder }
  /** Findings that the lookup opened or closed. */
  | {
      readonly origin: 'finding';
      readonly at: Date;
      readonly opened: readonly FindingCode[];
      readonly closed: readonly FindingCode[];
    }
  /** A date that a person entered, or without a date, a transfer that a person confirmed. */
  | { readonly origin: 'person'; readonly at: Date; readonly expiresAt: Date | undefined };

export interface RecordUpdate {
  readonly updatedRecord: NameRecord;
  readonly observations: readonly NameObservation[];
  readonly incident: IncidentUpdate | undefined;
}

export interface NameRecordStore {
  /** @returns undefined if the name isn't watched */
  find(name: string): Promise<NameRecord | undefined>;
  findMany(names: readonly string[]): Promise<readonly NameRecord[]>;
  /** Latest first. */
  listRegistrySightings(name: string): Promise<readonly RegistrySighting[]>;
  /** Makes the name due immediately. */
  requestLookup(name: string, now: Date): Promise<void>;
  /** Lists names with delegation findings that began between two times. */
  listNewlyFaultyNames(from: Date, to: Date): Promise<readonly FaultyName[]>;
  /** Lists by zone the delegated names for which the registry began to respond with 404. */
  listNewlyMissingRecords(from: Date, to: Date): Promise<readonly MissingRecords[]>;
  /** Lists certificates that expire soon, soonest first. */
  listExpiringCertificates(now: Date): Promise<readonly ExpiringCertificate[]>;
  /** Lists names that were renewed at the same registrar without an order. */
  listRenewedElsewhere(from: Date, to: Date): Promise<readonly RenewedName[]>;
  listGuarded(): Promise<readonly GuardedName[]>;
  /** Claims due names: urgent names first, then the longest overdue. Uses the database's clock. */
  claimDue(now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Stores a lookup and the changes to incidents in one transaction, and releases the claim.
   * @returns false on a conflict, in which case nothing is stored
   */
  save(previousRecord: NameRecord, update: RecordUpdate): Promise<boolean>;
  /** Finds names that may depend on a name: watched names that mention it, and redirects from live orders. */
  findPossibleDependents(name: string): Promise<readonly DependentName[]>;
  /** @returns the number of deleted observations */
  purgeObservations(before: Date): Promise<number>;
}

export interface FaultyName {
  readonly name: string;
  /** Worst first. */
  readonly faults: readonly FindingCode[];
}

export interface ExpiringCertificate {
  /** The name or its `www` host. */
  readonly host: string;
  readonly endsAt: Date;
  readonly seenAt: Date;
}

export interface RenewedName {
  readonly name: string;
  readonly expiresAt: Date;
}

export interface MissingRecords {
  /** Without a leading dot. */
  readonly zone: string;
  readonly count: number;
  readonly names: readonly string[];
}

/** A name that is checked every minute. */
export interface GuardedName {
  readonly name: string;
  readonly history: KnownDelegation;
}

/** Lets one process at a time do some work. */
export interface LeaseStore {
  /**
   * Uses the database's clock.
   * @returns false while another process has the lease
   */
  acquire(work: 'guarded_watch', holder: string, leaseMs: number): Promise<boolean>;
}

export interface RegistrySighting {
  readonly at: Date;
  readonly seen: SeenValues;
}

export interface OrderImpact {
  readonly atRequest: Impact;
  readonly latest: Impact;
  /** The impact that caused the last refusal of an approval. */
  readonly lastWarning: Impact | undefined;
  /** When the approver was notified of the last warning. */
  readonly warningNotifiedAt: Date | undefined;
  /** Findings of all impacts that caused the refusal of an approval. */
  readonly warnedFindings: readonly string[];
  /** Whether `latest` is from the thorough lookup for the card, not from the quick lookup at the request. */
  readonly isThorough: boolean;
}

export interface ImpactStore {
  findImpact(orderId: string): Promise<OrderImpact | undefined>;
  /** The first impact is also stored as `atRequest`. An impact from the source `card` updates the card. */
  saveImpact(orderId: string, impact: Impact, source: 'request' | 'card'): Promise<void>;
  /** Stores an impact that caused a refusal, and adds its findings to the warned findings. */
  saveWarning(orderId: string, impact: Impact): Promise<void>;
  recordWarningNotified(orderId: string, at: Date): Promise<void>;
  /** Stores the nameservers before an order changes them. Later calls for the same order change nothing. */
  saveNameServers(orderId: string, nameServers: readonly string[]): Promise<void>;
  findNameServers(orderId: string): Promise<readonly string[] | undefined>;
}

export interface IncidentStore {
  find(id: string): Promise<Incident | undefined>;
  /** Latest first. */
  listForName(name: string, limit: number): Promise<readonly Incident[]>;
  listOpen(names: readonly string[]): Promise<readonly Incident[]>;
  /** Latest first. */
  listAllOpen(limit: number): Promise<readonly Incident[]>;
  /**
   * Also writes the log entry. Notifications are due from `now`.
   * @returns false on a conflict
   */
  change(before: Incident, after: Incident, decision: IncidentDecision, now: Date): Promise<boolean>;
  listWarnings(orderId: string): Promise<readonly IncidentWarning[]>;
  /** Warnings that are already recorded don't change. */
  recordWarnings(
    orderId: string,
    userId: string,
    shownIncidents: readonly ShownIncident[],
    at: Date,
  ): Promise<void>;
}

export interface IncidentWarning {
  readonly incidentId: string;
  readonly userId: string;
  readonly changeCount: number;
  readonly at: Date;
}

export interface TagSource {
  /**
   * Returns an entry for every name. Names that aren't watched have no tags.
   * @param names in ASCII
   */
  findTags(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
}

export interface PortfolioEntry extends NameDetails {
  readonly name: string;
  readonly expiresAt: Date | undefined;
  readonly expirySource: string | undefined;
  readonly registrar: string | undefined;
  /** According to the registry. */
  readonly deletedAt: Date | undefined;
  /** When the bot learned that the owner had left. */
  readonly ownerLeftAt?: Date | undefined;
}

export interface KnownOwner {
  readonly id: string;
  readonly hasLeft: boolean;
}

export interface PortfolioZone {
  /** In ASCII, without a leading dot. */
  readonly zone: string;
  readonly count: number;
  /** Number of deleted names, which a renewal can't recover. */
  readonly deletedCount: number;
}

/** The name after which the page starts. */
export type NameCursor = Pick<PortfolioEntry, 'name' | 'expiresAt'>;

export interface ImportPlan {
  readonly hash: string;
  readonly changedNames: readonly EditedName[];
  readonly unchangedCount: number;
  readonly unwatchedNames: readonly string[];
}

export interface NameQuery {
  readonly filter: NameFilter;
  /** User ids, `none` or `left`. */
  readonly owners: readonly string[];
  /** Restricts the result to names that need an owner. Names that will lapse need none. */
  readonly needsOwner?: true;
  /** Restricts the result to these names. */
  readonly names?: readonly string[];
  readonly now: Date;
  readonly cursor: NameCursor | undefined;
  /** Whether to return the page before the cursor, in reverse order. */
  readonly isBackward: boolean;
  readonly limit: number;
}

/** Called inside a transaction, so it must not wait. */
export type ReportProgress = (done: number, total: number) => void;

/**
 * - `changed`: a name has changed since the changes were allowed, so nothing was written.
 * - `gone`: the import was already applied.
 */
export type WriteOutcome = 'written' | 'changed' | 'gone' | NameLimit;

/** Every change is logged. */
export interface PortfolioStore extends TagSource {
  /** @returns undefined if the name isn't watched */
  find(name: string): Promise<NameDetails | undefined>;
  findMany(names: readonly string[]): Promise<ReadonlyMap<string, NameDetails>>;
  /**
   * Writes everything in one transaction.
   * @param planHash the hash of an import plan, which can't be applied again
   */
  write(
    allowed: AllowedChanges,
    by: string,
    at: Date,
    planHash?: string,
    reportProgress?: ReportProgress,
  ): Promise<WriteOutcome>;
  /** Stores the rows until a person applies the plan. */
  planImport(
    rows: readonly ImportRow[],
    by: string,
    at: Date,
    reportProgress: ReportProgress,
  ): Promise<ImportPlan>;
  /** @returns `gone` if the plan was applied or has expired; a new plan in `stale` if names have changed */
  findImportPlan(
    hash: string,
    by: string,
    at: Date,
    reportProgress: ReportProgress,
  ): Promise<ImportPlan | { readonly stale: ImportPlan } | 'gone'>;
  listPage(query: NameQuery): Promise<readonly PortfolioEntry[]>;
  listZones(query: NameQuery): Promise<readonly PortfolioZone[]>;
  listOwners(): Promise<readonly KnownOwner[]>;
  /** Marks a person's names and queues an alert about them. Idempotent. */
  recordOwnerDeparture(userId: string, at: Date): Promise<void>;
  /** Records that the person is a member again. */
  recordOwnerReturn(userId: string): Promise<void>;
  /** Lists all names that match the filter, ignoring its conditions on findings. */
  listAssessedNames(
    query: Pick<NameQuery, 'filter' | 'owners' | 'names' | 'now'>,
  ): Promise<readonly ListedAssessedName[]>;
  /** Compares the findings of watched names at two times. */
  listFindingChanges(from: Date, to: Date): Promise<readonly FindingsChange[]>;
  /** Lists the domain service's registrars: those of names that orders registered, transferred or renewed. */
  listOwnRegistrars(): Promise<readonly string[]>;
}

export type ListedAssessedName = AssessedName & { readonly name: string };

export interface PresetStore {
  list(): Promise<readonly Preset[]>;
  /** @returns `taken` if another preset has the name */
  add(preset: PresetContent, by: string, at: Date): Promise<'saved' | 'taken'>;
  replace(id: string, preset: PresetContent, by: string, at: Date): Promise<'saved' | 'taken' | 'gone'>;
  remove(id: string, by: string, at: Date): Promise<Preset | undefined>;
}
