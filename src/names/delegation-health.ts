import { HOUR_MS } from '../lib/duration.ts';
import { FACT_NAMES, type FactName, type FactValue, isSameSet } from './facts.ts';
import type { FactHistory, NameHistory } from './history.ts';
import type { KnownChange, NameChange, UnexplainedChange } from './unexplained-changes.ts';

/** Whether a delegation works, and whether attackers could take it over. The nameservers are checked daily. */

/** Most dangerous first. */
export const DELEGATION_FAULTS = [
  /** A nameserver's domain is unregistered: anyone can register it and then answer for the name. */
  'registrable',
  /** No server answers for the name. At many providers, anyone could add such a name to their own account. */
  'all_lame',
  /** The DS matches no key, so validating resolvers can't resolve the name. */
  'mismatched_ds',
  'lame',
  'no_address',
  /** A nameserver's domain expires within 30 days. */
  'expiring',
  /** A nameserver doesn't respond. */
  'silent',
] as const;
export type DelegationFaultCode = (typeof DELEGATION_FAULTS)[number];

export interface DelegationFault {
  readonly code: DelegationFaultCode;
  readonly hosts: FactValue;
}

const FAULT_BY_FACT = {
  registrable_domains: 'registrable',
  mismatched_ds: 'mismatched_ds',
  lame_nameservers: 'lame',
  addressless_nameservers: 'no_address',
  expiring_domains: 'expiring',
  silent_nameservers: 'silent',
} as const satisfies Readonly<Partial<Record<FactName, DelegationFaultCode>>>;
type HealthFact = keyof typeof FAULT_BY_FACT;
export const HEALTH_FACTS = FACT_NAMES.filter((fact): fact is HealthFact => fact in FAULT_BY_FACT);

/** Lookups are daily, but may be up to 20% early. */
export const MIN_DAILY_INTERVAL_MS = 18 * HOUR_MS;

export function isHealthLookupDue(history: NameHistory, now: Date): boolean {
  return isDailyLookupDue(HEALTH_FACTS, history, now);
}

export function isDailyLookupDue(facts: readonly FactName[], history: NameHistory, now: Date): boolean {
  return facts.some((fact) => {
    const factHistory = history[fact];
    if (factHistory?.unseen !== undefined || factHistory?.current === undefined) return true;
    return now.getTime() - getLastSeenMs(factHistory) >= MIN_DAILY_INTERVAL_MS;
  });
}

/** Lists faults, most dangerous first. A fault lasts until a lookup shows that it is fixed. */
export function findFaults(history: NameHistory): readonly DelegationFault[] {
  const faults = HEALTH_FACTS.flatMap((fact): DelegationFault[] => {
    const hosts = history[fact]?.current?.value ?? [];
    if (hosts.length === 0) return [];
    const code = fact === 'lame_nameservers' && isAllLame(history) ? 'all_lame' : FAULT_BY_FACT[fact];
    return [{ code, hosts }];
  });
  return faults.toSorted((a, b) => DELEGATION_FAULTS.indexOf(a.code) - DELEGATION_FAULTS.indexOf(b.code));
}

/** The incident kind of each dangerous state, with the fact that shows it. */
const DANGER_FACTS = [
  ['nameserver_registrable', 'registrable_domains'],
  ['all_lame', 'lame_nameservers'],
] as const;

/**
 * Finds dangerous states that two daily lookups confirm. Unlike other incidents, these don't need a change:
 * many names are delegated to servers that never knew them.
 * @returns new dangers, and all known changes without the dangers that have ended
 */
export function findDangers(
  history: NameHistory,
  knownChanges: readonly KnownChange[],
): { readonly newDangers: readonly UnexplainedChange[]; readonly knownChanges: readonly KnownChange[] } {
  const dangers = DANGER_FACTS.flatMap(([kind, fact]): NameChange[] => {
    const { current } = history[fact] ?? {};
    if (current === undefined || current.value.length === 0) return [];
    if (kind === 'all_lame' && !isAllLame(history)) return [];
    const { value: after, firstSeen } = current;
    return [{ kind, fact, before: [], after, beforeLastSeenAt: firstSeen, afterFirstSeenAt: firstSeen }];
  });
  const isDanger = ({ kind }: KnownChange) => DANGER_FACTS.some(([danger]) => danger === kind);
  const remainingChanges = knownChanges.filter(
    (knownChange) => !isDanger(knownChange) || dangers.some(({ kind }) => kind === knownChange.kind),
  );
  const isConfirmed = ({ kind, fact }: NameChange) =>
    isConfirmedDaily(history[fact]) &&
    (kind !== 'all_lame' || isConfirmedDaily(history.addressless_nameservers));
  const newDangers = dangers.filter(
    (danger) => !remainingChanges.some(({ kind }) => kind === danger.kind) && isConfirmed(danger),
  );
  const addedChanges = newDangers.map(({ kind, fact, after, afterFirstSeenAt: firstSeen }) => ({
    ...{ kind, after, facts: [fact], firstSeen, orderId: undefined },
  }));
  return {
    newDangers: newDangers.map((change) => ({ change, orders: [] })),
    knownChanges: [...remainingChanges, ...addedChanges],
  };
}

/** Whether no server answers for the name. Anyone who adds it at one of the servers controls all answers. */
function isAllLame(history: NameHistory): boolean {
  const listHosts = (fact: FactName) => history[fact]?.current?.value ?? [];
  const lameHosts = listHosts('lame_nameservers');
  const unusableHosts = [...lameHosts, ...listHosts('addressless_nameservers')];
  return lameHosts.length > 0 && isSameSet(unusableHosts, listHosts('parent_nameservers'));
}

/** Whether two daily lookups agree, and the latest doesn't contradict them. */
function isConfirmedDaily(factHistory: FactHistory | undefined): boolean {
  const { current, candidate } = factHistory ?? {};
  if (current === undefined || candidate !== undefined) return false;
  return current.lastSeen.getTime() - current.firstSeen.getTime() >= MIN_DAILY_INTERVAL_MS;
}

function getLastSeenMs({ current, candidate }: FactHistory): number {
  return Math.max(current?.lastSeen.getTime() ?? 0, candidate?.lastSeen.getTime() ?? 0);
}
