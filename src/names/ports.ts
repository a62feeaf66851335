import type { IncidentDecision } from '../ledger/events.ts';
import type { ShownIncident } from '../orders/refusal.ts';
import type { DatedOrder, NameDates } from './dates.ts';
import type { DelegationFaultCode } from './delegation-health.ts';
import type { DependentName } from './dependents.ts';
import type { ImportRow } from './details-import.ts';
import type { NameFilter } from './filter.ts';
import type { NameHistory, SeenValues } from './history.ts';
import type { Impact } from './impact.ts';
import type { Incident, IncidentUpdate } from './incident.ts';
import type { KnownDelegation } from './parent-sight.ts';
import type { EditedName, NameDetails, NameLimit } from './portfolio.ts';
import type { Preset, PresetContent } from './presets.ts';
import type { KnownChange } from './unexplained-changes.ts';
import type { AllowedChanges } from './weakening.ts';

/** Somebody asked to let a name go. It is decided once somebody else has confirmed. */
export interface Lapse {
  readonly reason: string;
  readonly requestedBy: string;
  readonly confirmed: { readonly by: string; readonly at: Date } | undefined;
}

/** What is known of a watched name, and when it is looked at next. */
export interface NameRecord extends NameDates {
  /** In ASCII. */
  readonly name: string;
  /** Grows by one with every change: the compare-and-swap is on it. */
  readonly version: number;
  readonly history: NameHistory;
  readonly knownChanges: readonly KnownChange[];
  readonly lapse: Lapse | undefined;
  readonly nextDnsAt: Date;
  readonly nextRegistryAt: Date;
  /** The next look at the registry already has a reserved moment in its budget. */
  readonly isRegistryReserved: boolean;
  /** It is looked at before others. */
  readonly isUrgent: boolean;
}

/** What is kept of a name for good: rows that are only added. */
export type NameObservation =
  /** What differed from the look before. */
  | { readonly origin: 'registry' | 'dns'; readonly at: Date; readonly seen: SeenValues }
  | { readonly origin: 'order'; readonly at: Date; readonly orderId: string; readonly done: DatedOrder }
  /** A person gave a date; or, without one, said that a transfer was the team's. */
  | { readonly origin: 'person'; readonly at: Date; readonly expiresAt: Date | undefined };

export interface LookResult {
  readonly after: NameRecord;
  readonly observations: readonly NameObservation[];
  readonly incident: IncidentUpdate | undefined;
}

/** What is known of names. Implemented by the store. */
export interface NameRecordStore {
  /** @returns undefined when it is not watched */
  find(name: string): Promise<NameRecord | undefined>;
  findMany(names: readonly string[]): Promise<readonly NameRecord[]>;
  /** What the registry showed of a name, the latest first. */
  seenAtRegistry(name: string): Promise<readonly SeenAtRegistry[]>;
  /** Schedules a look at a watched name as soon as possible. */
  requestLook(name: string, now: Date): Promise<void>;
  /** Names whose delegation has had a new fault between two moments, by name. */
  newlyFaulty(from: Date, to: Date): Promise<readonly FaultyName[]>;
  /** Names that a registry began to answer 404 for between two moments, although its zone delegates them. */
  newlyUnrecorded(from: Date, to: Date): Promise<readonly UnrecordedNames[]>;
  guarded(): Promise<readonly GuardedName[]>;
  /**
   * Claims names whose look is due and that are unclaimed, for as long as the lease, which goes by the database's
   * clock.
   * @returns names, urgent ones first, the longest due first
   */
  claimDue(now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Keeps the result of a look, with what it makes of the name's incident in the same transaction, and ends the claim.
   * @returns false when somebody else has changed the name or the incident since they were read: nothing is kept
   */
  save(before: NameRecord, result: LookResult): Promise<boolean>;
  /**
   * Watched names whose records mention a name, and what live orders have redirected to where it may be. Those that
   * depend on it are among them.
   */
  mentioning(name: string): Promise<readonly DependentName[]>;
  /** Deletes observations from before a moment. @returns how many */
  purgeObservations(before: Date): Promise<number>;
}

/** A name whose delegation does not work, or can be taken. */
export interface FaultyName {
  readonly name: string;
  /** The most dangerous first. */
  readonly faults: readonly DelegationFaultCode[];
}

/** Names that a registry's zone delegates and its record server doesn't know. */
export interface UnrecordedNames {
  /** The registry's, without a dot. */
  readonly zone: string;
  readonly count: number;
  /** The first of them. */
  readonly names: readonly string[];
}

/** A name with the tag `guarded`, which is looked at by the minute. */
export interface GuardedName {
  readonly name: string;
  readonly history: KnownDelegation;
}

/** Work that one of all processes does at a time. Implemented by the store. */
export interface LeaseStore {
  /** Takes or keeps the lease of some work, for so long by the database's clock. @returns false while another process has it */
  take(work: 'guarded_watch', holder: string, leaseMs: number): Promise<boolean>;
}

/** Values that a registry's record showed from a moment on. */
export interface SeenAtRegistry {
  readonly at: Date;
  readonly seen: SeenValues;
}

export interface OrderImpact {
  /** As it was when the order was asked for. */
  readonly asked: Impact;
  /** As it is now. */
  readonly latest: Impact;
  /** What a press of *Approve* was last refused for, because more had appeared; undefined while none was. */
  readonly warned: Impact | undefined;
  /** When who pressed had been told so; undefined while nobody was. */
  readonly warnedToldAt: Date | undefined;
  /** The findings of every impact for which a press was refused. */
  readonly warnedOf: readonly string[];
  /** Slack shows this look; after a look at asking, which was cut short, the card begins one of its own. */
  readonly isThorough: boolean;
}

/** Impacts of orders. Implemented by the store. */
export interface ImpactStore {
  impactOf(orderId: string): Promise<OrderImpact | undefined>;
  /**
   * Keeps the latest impact, and the first one also as the one with which the order was asked for. After a look for the
   * card Slack shows the order again, although it has not changed.
   */
  saveImpact(orderId: string, impact: Impact, look: 'asking' | 'card'): Promise<void>;
  /** Keeps an impact for which an approval is refused, and adds its findings to those of earlier refusals. */
  saveWarning(orderId: string, impact: Impact): Promise<void>;
  /** Keeps that somebody has been told what a press was refused for. */
  warningTold(orderId: string, at: Date): Promise<void>;
  /** Keeps the nameservers that the name of an order has before it changes them. The first ones that are kept stay. */
  saveNameServers(orderId: string, nameServers: readonly string[]): Promise<void>;
  nameServersOf(orderId: string): Promise<readonly string[] | undefined>;
}

/** Incidents. Implemented by the store. */
export interface IncidentStore {
  find(id: string): Promise<Incident | undefined>;
  /** The latest first. */
  ofName(name: string, limit: number): Promise<readonly Incident[]>;
  openOf(names: readonly string[]): Promise<readonly Incident[]>;
  /** Those of all names, the latest first. */
  allOpen(limit: number): Promise<readonly Incident[]>;
  /**
   * Commits what a person decided about an incident, with its entry of the audit log. Slack has to be told from `now` on.
   * @returns false when somebody else was faster: read again
   */
  change(before: Incident, after: Incident, decision: IncidentDecision, now: Date): Promise<boolean>;
  /** What people who approve an order were shown of incidents. */
  warningsOf(orderId: string): Promise<readonly IncidentWarning[]>;
  /** Notes that a person has been told of incidents at a press about an order. What they know already stays as it is. */
  warn(orderId: string, userId: string, shown: readonly ShownIncident[], at: Date): Promise<void>;
}

/** A person was shown an incident of a name of an order. */
export interface IncidentWarning {
  readonly incidentId: string;
  readonly userId: string;
  /** How many changes it had then. */
  readonly changes: number;
  readonly at: Date;
}

/** The tags of names, for those who decide or count by them. */
export interface TagSource {
  /**
   * The answer has an entry for every name; a name that is not watched has no tags.
   * @param names in ASCII
   */
  tagsOf(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** A name of the portfolio as lists show it. */
export interface FoundName extends NameDetails {
  /** In ASCII. */
  readonly name: string;
  readonly expiresAt: Date | undefined;
  readonly expirySource: string | undefined;
  readonly registrar: string | undefined;
  /** When it was deleted, if the registry shows that. */
  readonly deletedAt: Date | undefined;
}

/** How many names a filter finds in a zone. */
export interface FoundZone {
  /** In ASCII without a dot in front. */
  readonly zone: string;
  readonly count: number;
  /** How many of them are deleted: no renewal brings them back. */
  readonly deleted: number;
}

/** The name after which a page begins. */
export type NameCursor = Pick<FoundName, 'name' | 'expiresAt'>;

/** The changes that an import would make. */
export interface ImportPlan {
  /** Identifies exactly these changes. */
  readonly hash: string;
  readonly changed: readonly EditedName[];
  readonly same: number;
  /** Names that are not on the watch list. */
  readonly unwatched: readonly string[];
}

/** A search in the portfolio. */
export interface NameQuery {
  readonly filter: NameFilter;
  /** The filter's owners as user ids, or `none`. */
  readonly owners: readonly string[];
  readonly now: Date;
  readonly cursor: NameCursor | undefined;
  /** The page before the cursor, the nearest name first. */
  readonly isBackward: boolean;
  readonly limit: number;
}

/** How far long work is. It is told while a transaction is open, so it must not wait for anything. */
export type Progress = (done: number, total: number) => void;

/**
 * What became of allowed changes. `changed`: a name is not as it was when they were allowed, so nothing was written. `gone`: their
 * import was applied before.
 */
export type Written = 'written' | 'changed' | 'gone' | NameLimit;

/** What people have set for watched names. Implemented by the store; every change leaves a line in the audit log. */
export interface PortfolioStore extends TagSource {
  /** @returns undefined when the name is not watched */
  find(name: string): Promise<NameDetails | undefined>;
  findMany(names: readonly string[]): Promise<ReadonlyMap<string, NameDetails>>;
  /**
   * Writes changes in one transaction.
   * @param plan the import that they come from, which is used up
   */
  write(allowed: AllowedChanges, by: string, at: Date, plan?: string, progress?: Progress): Promise<Written>;
  /**
   * Keeps the rows of an import, which are applied once somebody has seen what they would change.
   * @returns the changes, and the id of the plan
   */
  planImport(rows: readonly ImportRow[], by: string, at: Date, progress: Progress): Promise<ImportPlan>;
  /**
   * Reads a plan.
   * @returns `gone` for a plan that was applied or is too old; another plan when the names have changed since
   */
  readImport(
    hash: string,
    by: string,
    at: Date,
    progress: Progress,
  ): Promise<ImportPlan | { readonly stale: ImportPlan } | 'gone'>;
  /** The names that a filter finds, in its order. */
  page(query: NameQuery): Promise<readonly FoundName[]>;
  /** How many names a filter finds, by zone. */
  zones(query: NameQuery): Promise<readonly FoundZone[]>;
  /** Everybody who owns a name. */
  owners(): Promise<readonly string[]>;
}

/** Named sets of contacts and nameservers. Implemented by the store; every change leaves a line in the audit log. */
export interface PresetStore {
  /** By name. */
  list(): Promise<readonly Preset[]>;
  /** @returns `taken` when another preset has this name */
  add(preset: PresetContent, by: string, at: Date): Promise<'saved' | 'taken'>;
  replace(id: string, preset: PresetContent, by: string, at: Date): Promise<'saved' | 'taken' | 'gone'>;
  /** @returns the removed preset, if it was there */
  remove(id: string, by: string, at: Date): Promise<Preset | undefined>;
}
