import { HOUR_MS } from '../lib/duration.ts';
import { FACT_NAMES, type FactName, type FactValue, isSameSet } from './facts.ts';
import type { FactHistory, NameHistory } from './history.ts';
import type { KnownChange, NameChange, UnexplainedChange } from './unexplained-changes.ts';

/**
 * Whether a delegation works, and whether attackers could take it over, according to daily lookups of its servers.
 * Pure.
 */

export const DELEGATION_FAULTS = [
  /** A nameserver's domain is unregistered: anyone can register it and then answer for the name. */
  'registrable',
  /** No server answers for the name. At many providers, anyone could then add it to their own account. */
  'all_lame',
  /** The DS matches no key, so validating resolvers can't resolve the name. */
  'unfit_ds',
  'lame',
  'no_address',
  /** A nameserver's domain expires within 30 days. */
  'ending',
  /** A nameserver doesn't respond. */
  'silent',
] as const;
export type DelegationFaultCode = (typeof DELEGATION_FAULTS)[number];

export interface DelegationFault {
  readonly code: DelegationFaultCode;
  readonly about: FactValue;
}

const FAULT_BY_FACT = {
  registrable_domains: 'registrable',
  unfit_ds: 'unfit_ds',
  lame_nameservers: 'lame',
  addressless_nameservers: 'no_address',
  ending_domains: 'ending',
  silent_nameservers: 'silent',
} as const satisfies Readonly<Partial<Record<FactName, DelegationFaultCode>>>;
type HealthFact = keyof typeof FAULT_BY_FACT;
export const HEALTH_FACTS = FACT_NAMES.filter((fact): fact is HealthFact => fact in FAULT_BY_FACT);

/** Lookups are daily, but may be up to 20 % early. */
export const MIN_DAILY_INTERVAL_MS = 18 * HOUR_MS;

export function isHealthLookupDue(history: NameHistory, now: Date): boolean {
  return isDailyLookupDue(HEALTH_FACTS, history, now);
}

export function isDailyLookupDue(facts: readonly FactName[], history: NameHistory, now: Date): boolean {
  return facts.some((fact) => {
    const known = history[fact];
    if (known?.unseen !== undefined || known?.current === undefined) return true;
    return now.getTime() - getLastSeen(known) >= MIN_DAILY_INTERVAL_MS;
  });
}

/** Most dangerous first. A fault lasts until a lookup shows that it is fixed. */
export function findFaults(history: NameHistory): readonly DelegationFault[] {
  const faults = HEALTH_FACTS.flatMap((fact): DelegationFault[] => {
    const about = history[fact]?.current?.value ?? [];
    if (about.length === 0) return [];
    const code = fact === 'lame_nameservers' && isAllLame(history) ? 'all_lame' : FAULT_BY_FACT[fact];
    return [{ code, about }];
  });
  return faults.toSorted((a, b) => DELEGATION_FAULTS.indexOf(a.code) - DELEGATION_FAULTS.indexOf(b.code));
}

/** Dangerous states with their incident kinds, and the fact that shows each. */
const DANGER_FACTS = [
  ['nameserver_registrable', 'registrable_domains'],
  ['all_lame', 'lame_nameservers'],
] as const;

/**
 * New dangerous states that two daily lookups found. They don't require a change: many names are delegated to servers
 * that never knew them.
 * @returns new dangers, and known ones that haven't ended
 */
export function findDangers(
  history: NameHistory,
  knownChanges: readonly KnownChange[],
): { readonly found: readonly UnexplainedChange[]; readonly knownChanges: readonly KnownChange[] } {
  const dangers = DANGER_FACTS.flatMap(([kind, fact]): NameChange[] => {
    const { current } = history[fact] ?? {};
    if (current === undefined || current.value.length === 0) return [];
    if (kind === 'all_lame' && !isAllLame(history)) return [];
    const { value: after, firstSeen } = current;
    return [{ kind, fact, before: [], after, beforeLastSeenAt: firstSeen, afterFirstSeenAt: firstSeen }];
  });
  const isDanger = ({ kind }: KnownChange) => DANGER_FACTS.some(([danger]) => danger === kind);
  const lasting = knownChanges.filter(
    (known) => !isDanger(known) || dangers.some(({ kind }) => kind === known.kind),
  );
  const isConfirmed = ({ kind, fact }: NameChange) =>
    isSeenDaily(history[fact]) && (kind !== 'all_lame' || isSeenDaily(history.addressless_nameservers));
  // A single different lookup doesn't end a known danger.
  const found = dangers.filter(
    (danger) => !lasting.some(({ kind }) => kind === danger.kind) && isConfirmed(danger),
  );
  const added = found.map(({ kind, fact, after, afterFirstSeenAt: firstSeen }) => ({
    ...{ kind, after, facts: [fact], firstSeen, orderId: undefined },
  }));
  return { found: found.map((change) => ({ change, orders: [] })), knownChanges: [...lasting, ...added] };
}

/** Requires that no server answers: only then is someone who adds the name at one of them the only one to answer. */
function isAllLame(history: NameHistory): boolean {
  const listHosts = (fact: FactName) => history[fact]?.current?.value ?? [];
  const lame = listHosts('lame_nameservers');
  const all = listHosts('parent_nameservers');
  return lame.length > 0 && isSameSet([...lame, ...listHosts('addressless_nameservers')], all);
}

/** Two daily lookups agree, and the latest doesn't contradict them. */
function isSeenDaily(known: FactHistory | undefined): boolean {
  if (known?.current === undefined || known.candidate !== undefined) return false;
  return known.current.lastSeen.getTime() - known.current.firstSeen.getTime() >= MIN_DAILY_INTERVAL_MS;
}

function getLastSeen(known: FactHistory | undefined): number {
  return Math.max(known?.current?.lastSeen.getTime() ?? 0, known?.candidate?.lastSeen.getTime() ?? 0);
}
