import { randomUUID } from 'node:crypto';
import { hashJson } from '../lib/canonical-json.ts';
import { DAY_MS } from '../lib/duration.ts';
import { DS_FACTS, type FactName, isSameSet, isSameValue, NAMESERVER_FACTS } from './facts.ts';
import type { NameHistory } from './history.ts';
import type { IncidentKind, NameChange, RuledOutOrder, UnexplainedChange } from './unexplained-changes.ts';

/**
 * An unexpected change to a name, and how people reacted. Changes within 72 hours of the first sighting are
 * added to the same incident. The store saves by compare-and-swap on `version`.
 */

export const INCIDENT_STATES = [
  'open',
  /** The team made the change. */
  'ours',
  /** The owner, approvers and admins were notified. */
  'raised',
  'over',
] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];

export interface IncidentChange extends Omit<NameChange, 'expiry'> {
  readonly expiry: NameChange['expiry'] | undefined;
  /** When a second lookup confirmed the change. */
  readonly noticedAt: Date;
  /** Orders that were considered, latest first. */
  readonly orders: readonly RuledOutOrder[];
}

export interface Incident {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly state: IncidentState;
  readonly openedAt: Date;
  /** In the order in which they were found; never empty. */
  readonly changes: readonly IncidentChange[];
  /** For a guarded name, the explanation by the first of two people. */
  readonly proposedExplanation: { readonly by: string; readonly reason: string } | undefined;
  readonly explanation: { readonly by: string; readonly reason: string } | undefined;
  readonly raisedBy: string | undefined;
  /** When a lookup found that the name was back to normal. */
  readonly overAt: Date | undefined;
  /** The channel of the incident's message; undefined until the message is posted. */
  readonly channelId: string | undefined;
}

/** Omits the orders that were considered, because they may be private. */
export interface ListedIncident extends Omit<Incident, 'changes'> {
  readonly changes: readonly Omit<IncidentChange, 'orders'>[];
}

/** After a change of registrar, a renewal would pay for a name at another registrar. */
export function rulesOutRenewal(incident: ListedIncident): boolean {
  return listIncidentKinds(incident).includes('registrar');
}

/** How a lookup changes an incident. */
export interface IncidentUpdate {
  readonly before: Incident | undefined;
  readonly after: Incident;
  readonly addedChanges: readonly IncidentChange[];
  readonly at: Date;
}

export type IncidentRefusal =
  | { readonly code: 'incident_not_found' }
  | { readonly code: 'already_explained'; readonly by: string }
  | { readonly code: 'already_raised'; readonly by: string }
  | { readonly code: 'over' }
  /** For a guarded name, a second person must confirm that the team made the change. */
  | { readonly code: 'needs_another_person' }
  | { readonly code: 'changed' };

export type IncidentOutcome =
  | { readonly ok: true; readonly incident: Incident }
  | { readonly ok: false; readonly refusal: IncidentRefusal };

const MAX_LISTED_ORDERS = 10;
/** Counted from the first sighting of the incident's first change. */
const JOIN_WINDOW_MS = 3 * DAY_MS;

/** Whether people still need to act. */
export function isOpen({ state }: Incident): boolean {
  return state === 'open' || state === 'raised';
}

/**
 * Adds changes to an incident, or opens one. A name can have two open incidents, because a change after the
 * first 72 hours opens a new one.
 * @param incidents the name's incidents, latest first
 * @param lookup `history` already includes the results of this lookup
 * @returns undefined if nothing changes
 */
export function updateIncidents(
  incidents: readonly Incident[],
  lookup: {
    readonly name: string;
    readonly unexplainedChanges: readonly UnexplainedChange[];
    readonly history: NameHistory;
    readonly at: Date;
  },
): IncidentUpdate | undefined {
  const { name, history, at } = lookup;
  const [latest] = incidents;
  const openIncidents = incidents.filter(isOpen);
  const openChanges = openIncidents.flatMap(({ changes }) => changes);
  const addedChanges = toIncidentChanges(
    lookup.unexplainedChanges.filter(
      ({ change }) => !openChanges.some((original) => isReversal(change, original)),
    ),
    at,
  );
  if (addedChanges.length > 0) {
    const before = latest !== undefined && isWithinJoinWindow(latest, at) ? latest : undefined;
    return {
      before,
      after: before === undefined ? createIncident(name, addedChanges, at) : addChanges(before, addedChanges),
      addedChanges,
      at,
    };
  }
  const endedIncident = openIncidents.find(({ changes }) =>
    changes.every((change) => isReverted(change, history)),
  );
  return (
    endedIncident && {
      before: endedIncident,
      after: { ...endedIncident, state: 'over', overAt: at },
      addedChanges: [],
      at,
    }
  );
}

/** Hashes the state that a person confirms with “It was us”. */
export function hashIncident({ id, changes, proposedExplanation }: Incident): string {
  const hashedChanges = changes.map(({ kind, fact, before, after, noticedAt }) => ({
    ...{ kind, fact, before, after },
    noticedAt: noticedAt.toISOString(),
  }));
  return hashJson({ id, proposed: proposedExplanation, changes: hashedChanges });
}

export interface IncidentConfirmation {
  readonly by: string;
  readonly reason: string;
  /** From {@link hashIncident}, for the incident that the form showed. */
  readonly shownHash: string;
}

/** For a guarded name, two people must confirm. */
export function confirmOwnChange(
  incident: Incident,
  { shownHash, ...explanation }: IncidentConfirmation,
  isGuarded: boolean,
): IncidentOutcome {
  const refusal = checkIncidentOpen(incident);
  if (refusal !== undefined) return { ok: false, refusal };
  if (hashIncident(incident) !== shownHash) return { ok: false, refusal: { code: 'changed' } };
  if (isGuarded && incident.proposedExplanation === undefined) {
    return { ok: true, incident: { ...incident, proposedExplanation: explanation } };
  }
  if (isGuarded && incident.proposedExplanation?.by === explanation.by) {
    return { ok: false, refusal: { code: 'needs_another_person' } };
  }
  return { ok: true, incident: { ...incident, state: 'ours', explanation } };
}

/** The alarm can be raised only once per incident. */
export function markAlarmRaised(incident: Incident, by: string): IncidentOutcome {
  const refusal = checkIncidentOpen(incident);
  if (refusal !== undefined) return { ok: false, refusal };
  if (incident.raisedBy !== undefined) {
    return { ok: false, refusal: { code: 'already_raised', by: incident.raisedBy } };
  }
  return { ok: true, incident: { ...incident, state: 'raised', raisedBy: by } };
}

/** @returns undefined if the incident is open */
export function checkIncidentOpen({ state, explanation }: Incident): IncidentRefusal | undefined {
  if (explanation !== undefined) return { code: 'already_explained', by: explanation.by };
  return state === 'over' ? { code: 'over' } : undefined;
}

/** Lists kinds without duplicates, in the order in which they were found. */
export function listIncidentKinds({
  changes,
}: {
  readonly changes: ListedIncident['changes'];
}): readonly IncidentKind[] {
  return [...new Set(changes.map(({ kind }) => kind))];
}

/** Locks that change together count as one change. */
function toIncidentChanges(unexplained: readonly UnexplainedChange[], at: Date): IncidentChange[] {
  const lockChanges = unexplained.filter(({ change }) => change.kind === 'lock');
  const [first] = lockChanges;
  const after = lockChanges.flatMap(({ change }) => change.after).sort();
  const locks = first === undefined ? [] : [{ ...first, change: { ...first.change, after } }];
  return [...unexplained.filter(({ change }) => change.kind !== 'lock'), ...locks].map(
    ({ change, orders }) => ({
      ...change,
      expiry: change.expiry,
      noticedAt: at,
      orders: orders.slice(0, MAX_LISTED_ORDERS),
    }),
  );
}

function createIncident(name: string, changes: readonly IncidentChange[], at: Date): Incident {
  return {
    ...{ id: randomUUID(), name, version: 0, state: 'open', openedAt: at, changes },
    ...{ proposedExplanation: undefined, explanation: undefined, raisedBy: undefined },
    ...{ overAt: undefined, channelId: undefined },
  };
}

/** Reopens a closed incident, because the new changes need attention. */
function addChanges(before: Incident, addedChanges: readonly IncidentChange[]): Incident {
  const changes = [...before.changes, ...addedChanges];
  const clearedFields = {
    proposedExplanation: undefined,
    explanation: undefined,
    overAt: undefined,
  } as const;
  return { ...before, ...clearedFields, changes, state: before.raisedBy === undefined ? 'open' : 'raised' };
}

function isWithinJoinWindow({ changes: [first] }: Incident, at: Date): boolean {
  return first !== undefined && at.getTime() - first.afterFirstSeenAt.getTime() <= JOIN_WINDOW_MS;
}

function isReversal(change: NameChange, original: IncidentChange): boolean {
  const areBothIn = (facts: readonly FactName[]) =>
    facts.includes(change.fact) && facts.includes(original.fact);
  if (areBothIn(NAMESERVER_FACTS)) return isSameSet(change.after, original.before);
  if (change.fact !== original.fact)
    return areBothIn(DS_FACTS) && change.after.length > 0 === original.before.length > 0;
  return change.kind === original.kind && isSameValue(original.fact, change.after, original.before);
}

/** A change whose fact is unknown doesn't count as reverted. */
function isReverted(
  { kind, fact, before, after, afterFirstSeenAt }: IncidentChange,
  history: NameHistory,
): boolean {
  const { current, candidate, unseen } = history[fact] ?? {};
  if (current === undefined || candidate !== undefined || unseen !== undefined) return false;
  const { value } = current;
  switch (kind) {
    case 'lock':
      return after.every((lock) => value.includes(lock));
    case 'hold':
    case 'pending_transfer':
    case 'pending_delete':
      return !after.some((status) => value.includes(status));
    case 'all_lame':
      // The person who added the name at these servers may have left other records there.
      return (
        value.length === 0 && !(isDelegatedTo(history, after) && hasNewRecords(history, afterFirstSeenAt))
      );
    case 'nameserver_registrable':
      // A domain that can't be registered anymore may belong to an attacker.
      return value.length === 0 && !isDelegatedTo(history, after);
    default:
      return isSameValue(fact, value, before);
  }
}

/** Whether the records changed after this time, or may have changed. */
function hasNewRecords(history: NameHistory, time: Date): boolean {
  return (['soa', 'nameservers', 'a', 'aaaa', 'mx'] as const).some((fact) => {
    const { current, candidate, past = [] } = history[fact] ?? {};
    return candidate !== undefined || (past.length > 0 && current !== undefined && current.firstSeen > time);
  });
}

/** Whether the name is delegated to these servers, or to servers in these domains. */
function isDelegatedTo({ parent_nameservers: delegation }: NameHistory, domains: readonly string[]): boolean {
  const hosts = delegation?.current?.value ?? [];
  return hosts.some((host) => domains.some((domain) => `.${host}`.endsWith(`.${domain}`)));
}
