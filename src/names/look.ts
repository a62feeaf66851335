import type { Log } from '../log.ts';
import type { RdapAnswer, RdapClient } from '../rdap/client.ts';
import { newAlarms } from './alarm.ts';
import type { Observation } from './facts.ts';
import { mergeObservation } from './history.ts';
import { isUrgent, type LookPlanner, motionOf, nextLook, type ScheduledName } from './look-planner.ts';
import type { DnsObserver } from './observe.ts';
import type { ObservationStore, ObservedName } from './ports.ts';
import { observeRegistryRecord, registryUnavailable } from './registry-record.ts';
import { type NameOrder, reconcile } from './unexplained-changes.ts';

/** What the bot itself knows of a name. */
export interface NameContext {
  /** When its registration ends, as far as it is known. */
  readonly endsAt: Date | undefined;
  readonly orders: readonly NameOrder[];
  readonly hasOpenOrder: boolean;
  /** An event of it is unexplained, so more may follow. */
  readonly isAlarmed: boolean;
  /** It has the tag `guarded`: it must not be lost. */
  readonly isGuarded: boolean;
}

/** What a look at a watched name needs. */
export interface LookDeps {
  readonly store: Pick<ObservationStore, 'find' | 'save'>;
  readonly observer: DnsObserver;
  readonly rdap: Pick<RdapClient, 'fetchRecord'>;
  readonly planner: LookPlanner;
  readonly contextOf: (name: string) => Promise<NameContext>;
  readonly now: () => Date;
  readonly log: Log;
  /** From 0 to below 1; spreads the looks. */
  readonly random?: () => number;
}

const HOUR_MS = 3_600_000;

/**
 * Looks at a watched name if a look is due, and keeps the result. The names of one registry share its budget; when that
 * is used up, the look gets a reserved moment.
 * @throws the signal's reason, and what the store throws; the name is then due again when its claim ends
 */
export async function lookAtName(deps: LookDeps, name: string, signal: AbortSignal): Promise<void> {
  const known = await deps.store.find(name);
  if (known === undefined) return;
  const now = deps.now();
  const registryAt = registryTurn(deps.planner, known, now);
  const [dns, registry] = await Promise.all([
    known.nextDnsAt <= now ? deps.observer.observe(name, signal) : undefined,
    registryAt <= now ? deps.rdap.fetchRecord(name, signal) : undefined,
  ]);
  const observations = [dns, registry && registryObservation(registry, name, now)].filter(
    (each) => each !== undefined,
  );
  const context = await deps.contextOf(name);
  const merged = mergeAll(known, observations);
  const { ledger, raised } = reconcile({
    changes: merged.changes,
    history: merged.history,
    orders: context.orders,
    ledger: known.ledger,
  });
  const alarms = newAlarms(name, raised, now);
  const { inMotion, unsettled } = motionOf(merged.history);
  const scheduled: ScheduledName = {
    endsAt: context.endsAt,
    guarded: context.isGuarded,
    inMotion: inMotion || context.hasOpenOrder || context.isAlarmed || alarms.length > 0,
    unsettled,
  };
  const random = deps.random ?? Math.random;
  const next = (kind: 'dns' | 'registry') => nextLook(kind, scheduled, now, random());
  const nextRegistryAt =
    registry === undefined
      ? registryAt > known.nextRegistryAt
        ? registryAt
        : earlier(known.nextRegistryAt, next('registry'))
      : afterRegistry(registry, next('registry'), now);
  const after: ObservedName = {
    ...known,
    history: merged.history,
    ledger,
    nextDnsAt: dns === undefined ? earlier(known.nextDnsAt, next('dns')) : next('dns'),
    nextRegistryAt,
    isRegistryReserved: registry === undefined && registryAt > known.nextRegistryAt,
    isUrgent: isUrgent(scheduled, now),
  };
  if (!(await deps.store.save(known, after, alarms))) return;
  for (const { kind, fact, id } of alarms) {
    deps.log.warn({ name, kind, fact, alarmId: id }, 'a name has changed, and no order explains it');
  }
}

/** When the registry may be asked. The moment is in the future when the look is not due, or others go first. */
function registryTurn(planner: LookPlanner, known: ObservedName, now: Date): Date {
  if (known.nextRegistryAt > now || known.isRegistryReserved) return known.nextRegistryAt;
  return planner.reserve(registryOf(known.name), known.isUrgent, now);
}

/**
 * The registry whose budget a look uses. At most, several zones share one server; then the look is more careful than it
 * need be.
 */
function registryOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** One look at a registry. */
export function registryObservation(answer: RdapAnswer, name: string, at: Date): Observation {
  switch (answer.kind) {
    case 'answered':
      return answer.body === undefined
        ? registryUnavailable(name, at)
        : observeRegistryRecord(answer.body, name, at);
    case 'not_found':
      return observeRegistryRecord(undefined, name, at);
    case 'unreadable':
    case 'unavailable':
      return registryUnavailable(name, at);
  }
}

function mergeAll(known: ObservedName, observations: readonly Observation[]) {
  let { history } = known;
  const changes = observations.flatMap((observation) => {
    const merged = mergeObservation(history, observation);
    ({ history } = merged);
    return merged.changes;
  });
  return { history, changes };
}

function afterRegistry(answer: RdapAnswer, next: Date, now: Date): Date {
  if (answer.kind !== 'unavailable') return next;
  return new Date(now.getTime() + Math.max(answer.retryAfterMs ?? 0, HOUR_MS));
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
