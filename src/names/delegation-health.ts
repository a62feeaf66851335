import { HOUR_MS } from '../lib/duration.ts';
import { FACT_NAMES, type FactName, type FactValue, isSameSet } from './facts.ts';
import type { KnownFact, NameHistory } from './history.ts';
import type { KnownChange, NameChange, UnexplainedChange } from './unexplained-changes.ts';

/*
 * Whether a name's delegation works, and whether somebody else can take it: from what daily looks have shown of the servers
 * that it is delegated to. Pure.
 */

/** What can be wrong with a delegation, the most dangerous first. */
export const DELEGATION_FAULTS = [
  /** A domain of a nameserver can be registered by anybody, who then answers for the name. */
  'registrable',
  /** No nameserver answers for the name: at many providers anybody can set it up there. */
  'all_lame',
  /** The DS fits no key, so nobody who validates finds the name. */
  'unfit_ds',
  'lame',
  'no_address',
  /** A domain of a nameserver ends within 30 days. */
  'ending',
  /** Nothing came from a nameserver. */
  'silent',
] as const;
export type DelegationFaultCode = (typeof DELEGATION_FAULTS)[number];

/** One fault, with the hosts or domains that it is about. */
export interface DelegationFault {
  readonly code: DelegationFaultCode;
  readonly about: FactValue;
}

export interface DelegationHealth {
  /** The most dangerous first. What was seen stays a fault until a look shows otherwise. */
  readonly faults: readonly DelegationFault[];
  /** Whether a look of the last days has seen all of it. Without faults, it is healthy only then. */
  readonly isSeenWhole: boolean;
  /** When all of it was last seen. */
  readonly seenAt: Date | undefined;
}

/** The facts by which a delegation is healthy, each with the fault that its values are. */
const FAULT_OF = {
  registrable_domains: 'registrable',
  unfit_ds: 'unfit_ds',
  lame_nameservers: 'lame',
  addressless_nameservers: 'no_address',
  ending_domains: 'ending',
  silent_nameservers: 'silent',
} as const satisfies Readonly<Partial<Record<FactName, DelegationFaultCode>>>;
type HealthFact = keyof typeof FAULT_OF;
export const HEALTH_FACTS = FACT_NAMES.filter((fact): fact is HealthFact => fact in FAULT_OF);

/** Looks are daily, and taken earlier by up to a fifth. */
const DAILY_MS = 18 * HOUR_MS;
/** A look of the day before yesterday says nothing of today. */
const KNOWN_FOR_MS = 48 * HOUR_MS;

/** Whether the servers of a delegation are to be asked again. */
export function isHealthLookDue(history: NameHistory, now: Date): boolean {
  return HEALTH_FACTS.some((fact) => {
    const known = history[fact];
    if (known?.unseen !== undefined || known?.current === undefined) return true;
    return now.getTime() - lastSeen(known) >= DAILY_MS;
  });
}

export function delegationHealth(history: NameHistory, now: Date): DelegationHealth {
  const known = HEALTH_FACTS.map((fact) => ({ fact, known: history[fact] }));
  const moments = known.map(({ known: of }) => lastSeen(of));
  const oldest = Math.min(...moments);
  const isSeenWhole =
    known.every(({ known: of }) => of?.current !== undefined && of.unseen === undefined) &&
    now.getTime() - oldest <= KNOWN_FOR_MS;
  return { faults: faultsOf(history), isSeenWhole, seenAt: oldest > 0 ? new Date(oldest) : undefined };
}

/** When a look last saw something of a delegation's health. */
export function lastHealthLook(history: NameHistory): Date {
  return new Date(Math.max(...HEALTH_FACTS.map((fact) => lastSeen(history[fact]))));
}

/** What is wrong with a delegation, the most dangerous first. */
export function faultsOf(history: NameHistory): readonly DelegationFault[] {
  const faults = HEALTH_FACTS.flatMap((fact): DelegationFault[] => {
    const about = history[fact]?.current?.value ?? [];
    if (about.length === 0) return [];
    const code = fact === 'lame_nameservers' && isAllLame(history) ? 'all_lame' : FAULT_OF[fact];
    return [{ code, about }];
  });
  return faults.toSorted((a, b) => DELEGATION_FAULTS.indexOf(a.code) - DELEGATION_FAULTS.indexOf(b.code));
}

/** The kinds of incidents that a dangerous state is, and the fact that shows it. */
const DANGERS = [
  ['nameserver_registrable', 'registrable_domains'],
  ['all_lame', 'lame_nameservers'],
] as const;

/**
 * The dangerous states that two daily looks have shown and that are not known yet. No change has to come before: many names
 * are delegated to servers that never knew them.
 * @returns what is new, and what is known without the dangers that are over
 */
export function findDangers(
  history: NameHistory,
  knownChanges: readonly KnownChange[],
): { readonly found: readonly UnexplainedChange[]; readonly knownChanges: readonly KnownChange[] } {
  const dangers = DANGERS.flatMap(([kind, fact]): NameChange[] => {
    const { current } = history[fact] ?? {};
    if (current === undefined || current.value.length === 0) return [];
    if (kind === 'all_lame' && !isAllLame(history)) return [];
    const { value: after, firstSeen } = current;
    return [{ kind, fact, before: [], after, lastSeenBefore: firstSeen, firstSeenAfter: firstSeen }];
  });
  const isDanger = ({ kind }: KnownChange) => DANGERS.some(([danger]) => danger === kind);
  const lasting = knownChanges.filter(
    (known) => !isDanger(known) || dangers.some(({ kind }) => kind === known.kind),
  );
  const isConfirmed = ({ kind, fact }: NameChange) =>
    isSeenDaily(history[fact]) && (kind !== 'all_lame' || isSeenDaily(history.addressless_nameservers));
  // One look that shows something else does not end what is known.
  const found = dangers.filter(
    (danger) => !lasting.some(({ kind }) => kind === danger.kind) && isConfirmed(danger),
  );
  const added = found.map(({ kind, fact, after, firstSeenAfter: firstSeen }) => ({
    ...{ kind, after, facts: [fact], firstSeen, orderId: undefined },
  }));
  return { found: found.map((change) => ({ change, orders: [] })), knownChanges: [...lasting, ...added] };
}

/** Whether no server is left that may answer: whoever sets the name up at one that does not know it answers alone. */
function isAllLame(history: NameHistory): boolean {
  const hostsOf = (fact: FactName) => history[fact]?.current?.value ?? [];
  const lame = hostsOf('lame_nameservers');
  const all = hostsOf('parent_nameservers');
  return lame.length > 0 && isSameSet([...lame, ...hostsOf('addressless_nameservers')], all);
}

/** Whether two daily looks have shown a value, and the latest one nothing else. */
function isSeenDaily(known: KnownFact | undefined): boolean {
  if (known?.current === undefined || known.candidate !== undefined) return false;
  return known.current.lastSeen.getTime() - known.current.firstSeen.getTime() >= DAILY_MS;
}

function lastSeen(known: KnownFact | undefined): number {
  return Math.max(known?.current?.lastSeen.getTime() ?? 0, known?.candidate?.lastSeen.getTime() ?? 0);
}
