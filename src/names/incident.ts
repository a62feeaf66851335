import { randomUUID } from 'node:crypto';
import { hashOf } from '../lib/canonical-json.ts';
import { DAY_MS } from '../lib/duration.ts';
import { DS_FACTS, type FactName, isSameSet, isSameValue, NAMESERVER_FACTS } from './facts.ts';
import type { NameHistory } from './history.ts';
import type { IncidentKind, NameChange, RuledOutOrder, UnexplainedChange } from './unexplained-changes.ts';

/*
 * An incident: what has happened to a name and no order explains, and what people did about it. There is one at a time a
 * name: what is noticed within 72 hours of its first sighting joins it. Pure; the store commits every change by
 * compare-and-swap on `version`.
 */

export const INCIDENT_STATES = [
  /** Nobody has said anything yet. */
  'open',
  /** The team made the change, as people said. */
  'ours',
  /** Somebody had the owner, the approvers and the admins told. */
  'raised',
  /** Everything is as it was before. */
  'over',
] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];

export interface IncidentChange extends Omit<NameChange, 'expiry'> {
  readonly expiry: NameChange['expiry'] | undefined;
  /** When a second look confirmed it. */
  readonly noticedAt: Date;
  /** Orders that were considered, the latest first. */
  readonly orders: readonly RuledOutOrder[];
}

export interface Incident {
  readonly id: string;
  /** In ASCII. */
  readonly name: string;
  readonly version: number;
  readonly state: IncidentState;
  readonly openedAt: Date;
  /** In the sequence in which they were noticed; never empty. */
  readonly changes: readonly IncidentChange[];
  /** Who was first to say that the team made the change, where a second person has to agree. */
  readonly proposed: { readonly by: string; readonly reason: string } | undefined;
  readonly explained: { readonly by: string; readonly reason: string } | undefined;
  readonly raisedBy: string | undefined;
  /** When everything was as it was before. */
  readonly overAt: Date | undefined;
  /** Where people were told of it; undefined while nobody was. */
  readonly channelId: string | undefined;
}

/** An incident in lists: the orders that were looked at may be private, so they can't be read from it. */
export interface ListedIncident extends Omit<Incident, 'changes'> {
  readonly changes: readonly Omit<IncidentChange, 'orders'>[];
}

/** Whether a renewal would pay for a name that another registrar holds. */
export function rulesOutRenewal(incident: ListedIncident): boolean {
  return kindsOf(incident).includes('registrar');
}

/** What a look at a name makes of its incident. */
export interface IncidentUpdate {
  /** The incident that goes on; undefined: a new one is opened. */
  readonly before: Incident | undefined;
  readonly after: Incident;
  readonly added: readonly IncidentChange[];
  readonly at: Date;
}

/** Why a person may not do something about an incident. */
export type IncidentRefusal =
  | { readonly code: 'no_such_incident' }
  /** Somebody has already said whose change it is. */
  | { readonly code: 'explained_already'; readonly by: string }
  | { readonly code: 'raised_already'; readonly by: string }
  /** Everything is as it was before. */
  | { readonly code: 'over' }
  /** A guarded name needs another person to agree. */
  | { readonly code: 'needs_another_person' }
  /** It is not as it was shown to the person. */
  | { readonly code: 'changed' };

export type IncidentDecided =
  | { readonly ok: true; readonly incident: Incident }
  | { readonly ok: false; readonly refusal: IncidentRefusal };

const MAX_ORDERS = 10;
/** From the first sighting on. */
const JOINS_MS = 3 * DAY_MS;

/** Whether people still have to do something about it. */
export function isOpen({ state }: Incident): boolean {
  return state === 'open' || state === 'raised';
}

/**
 * What a look at a name makes of its incidents. Two may be open: what was noticed after 72 hours has one of its own.
 * @param incidents of the name, the latest first
 * @param history after that look
 * @returns undefined where it changes nothing
 */
export function afterLook(
  incidents: readonly Incident[],
  look: {
    readonly name: string;
    readonly unexplained: readonly UnexplainedChange[];
    readonly history: NameHistory;
    readonly at: Date;
  },
): IncidentUpdate | undefined {
  const { name, history, at } = look;
  const [latest] = incidents;
  const open = incidents.filter(isOpen);
  const happened = open.flatMap(({ changes }) => changes);
  const added = changesOf(
    look.unexplained.filter(({ change }) => !happened.some((of) => isReversal(change, of))),
    at,
  );
  if (added.length > 0) {
    const before = latest !== undefined && isJoined(latest, at) ? latest : undefined;
    return {
      before,
      after: before === undefined ? opened(name, added, at) : joined(before, added),
      added,
      at,
    };
  }
  const over = open.find(({ changes }) => changes.every((change) => isBack(change, history)));
  return over && { before: over, after: { ...over, state: 'over', overAt: at }, added: [], at };
}

/** Identifies what an incident shows to a person who says that the team made the change. */
export function incidentHash({ id, changes, proposed }: Incident): string {
  const noticed = changes.map(({ kind, fact, before, after, noticedAt }) => ({
    ...{ kind, fact, before, after },
    noticedAt: noticedAt.toISOString(),
  }));
  return hashOf({ id, proposed, changes: noticed });
}

/** A claim that the team made the change. `shown` is the {@link incidentHash} of what the form showed. */
export interface SaidOurs {
  readonly by: string;
  readonly reason: string;
  readonly shown: string;
}

/** A person says that the team made the change. For a guarded name two people have to say so. */
export function sayOurs(
  incident: Incident,
  { shown, ...said }: SaidOurs,
  isGuarded: boolean,
): IncidentDecided {
  const ended = refusalOfEnded(incident);
  if (ended !== undefined) return { ok: false, refusal: ended };
  if (incidentHash(incident) !== shown) return { ok: false, refusal: { code: 'changed' } };
  if (isGuarded && incident.proposed === undefined) {
    return { ok: true, incident: { ...incident, proposed: said } };
  }
  if (isGuarded && incident.proposed?.by === said.by) {
    return { ok: false, refusal: { code: 'needs_another_person' } };
  }
  return { ok: true, incident: { ...incident, state: 'ours', explained: said } };
}

/** A person has the name's owner, the approvers and the admins told. It is done once. */
export function raise(incident: Incident, by: string): IncidentDecided {
  const ended = refusalOfEnded(incident);
  if (ended !== undefined) return { ok: false, refusal: ended };
  if (incident.raisedBy !== undefined) {
    return { ok: false, refusal: { code: 'raised_already', by: incident.raisedBy } };
  }
  return { ok: true, incident: { ...incident, state: 'raised', raisedBy: by } };
}

/** Why nothing is to be done about an incident any more. */
export function refusalOfEnded({ state, explained }: Incident): IncidentRefusal | undefined {
  if (explained !== undefined) return { code: 'explained_already', by: explained.by };
  return state === 'over' ? { code: 'over' } : undefined;
}

/** The kinds of an incident's changes, each once, in the sequence in which they were noticed. */
export function kindsOf({
  changes,
}: {
  readonly changes: ListedIncident['changes'];
}): readonly IncidentKind[] {
  return [...new Set(changes.map(({ kind }) => kind))];
}

/** The changes of one look. Locks that change at the same time are one. */
function changesOf(unexplained: readonly UnexplainedChange[], at: Date): IncidentChange[] {
  const [first, ...others] = unexplained.filter(({ change }) => change.kind === 'lock');
  const after = [first, ...others].flatMap((lock) => lock?.change.after ?? []).sort();
  const locks = first === undefined ? [] : [{ ...first, change: { ...first.change, after } }];
  return [...unexplained.filter(({ change }) => change.kind !== 'lock'), ...locks].map(
    ({ change, orders }) => ({
      ...change,
      expiry: change.expiry,
      noticedAt: at,
      orders: orders.slice(0, MAX_ORDERS),
    }),
  );
}

function opened(name: string, changes: readonly IncidentChange[], at: Date): Incident {
  return {
    ...{ id: randomUUID(), name, version: 0, state: 'open', openedAt: at, changes },
    ...{ proposed: undefined, explained: undefined, raisedBy: undefined },
    ...{ overAt: undefined, channelId: undefined },
  };
}

/** What comes after people said that it was theirs, or after it was over, is for people to look at again. */
function joined(before: Incident, added: readonly IncidentChange[]): Incident {
  const changes = [...before.changes, ...added];
  const untouched = { proposed: undefined, explained: undefined, overAt: undefined } as const;
  return { ...before, ...untouched, changes, state: before.raisedBy === undefined ? 'open' : 'raised' };
}

function isJoined({ changes: [first] }: Incident, at: Date): boolean {
  return first !== undefined && at.getTime() - first.firstSeenAfter.getTime() <= JOINS_MS;
}

/** Whether a change takes one of an incident back. */
function isReversal(change: NameChange, of: IncidentChange): boolean {
  const isAmong = (facts: readonly FactName[]) => facts.includes(change.fact) && facts.includes(of.fact);
  if (isAmong(NAMESERVER_FACTS)) return isSameSet(change.after, of.before);
  if (change.fact !== of.fact) return isAmong(DS_FACTS) && change.after.length > 0 === of.before.length > 0;
  return change.kind === of.kind && isSameValue(of.fact, change.after, of.before);
}

/** Whether the latest look shows a fact as it was before a change. What cannot be seen is not back. */
function isBack(
  { kind, fact, before, after, firstSeenAfter }: IncidentChange,
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
      // Whoever has set the name up at these servers since may have set up something else.
      return value.length === 0 && !(hangsOn(history, after) && isSetUpAnew(history, firstSeenAfter));
    case 'nameserver_registrable':
      // A domain that is not free any more may be the attacker's by now.
      return value.length === 0 && !hangsOn(history, after);
    default:
      return isSameValue(fact, value, before);
  }
}

/** Whether records of a name are other ones than before a moment. */
function isSetUpAnew(history: NameHistory, moment: Date): boolean {
  return (['soa', 'nameservers', 'a', 'aaaa', 'mx'] as const).some((fact) => {
    const { current, candidate, past = [] } = history[fact] ?? {};
    return (
      candidate !== undefined || (past.length > 0 && current !== undefined && current.firstSeen > moment)
    );
  });
}

/** Whether a name is delegated to some servers, or to servers of some domains. */
function hangsOn({ parent_nameservers: known }: NameHistory, domains: readonly string[]): boolean {
  const hosts = known?.current?.value ?? [];
  return hosts.some((host) => domains.some((domain) => `.${host}`.endsWith(`.${domain}`)));
}
