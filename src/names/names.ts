import { setMaxListeners } from 'node:events';
import { MINUTE_MS } from '../lib/duration.ts';
import { isOpen, type Order, type OrderItem } from '../orders/order.ts';
import type { Evidence, LookUpAtRegistry } from '../orders/ports.ts';
import type { NameActivity, NamesContext } from './context.ts';
import { DNS_FACTS, FACT_NAMES, type Observation, REGISTRY_FACTS } from './facts.ts';
import { createGuardedWatch } from './guarded-watch.ts';
import { mergeObservation, type NameHistory, wasLookedFor } from './history.ts';
import type { ListedIncident, OursClaim } from './incident.ts';
import { confirmIncidentOurs, isGuarded, raiseIncident } from './incident-actions.ts';
import { fetchRegistryLookup, lookUpAtRegistry, lookUpName } from './lookup.ts';
import { lookUpNow } from './lookup-now.ts';
import { createLookupPlanner } from './lookup-planner.ts';
import { expectedTransfers, ordersOfName } from './name-orders.ts';
import { createDelegationObserver } from './observe-delegation.ts';
import { confirmationOf, evidenceOf, sentToRegistry } from './order-evidence.ts';
import { createImpacts } from './order-impact.ts';
import { createOrderIncidents } from './order-incidents.ts';
import type { NameRecord } from './ports.ts';
import { timeLimit } from './time-limit.ts';
import type { KnownChange } from './unexplained-changes.ts';

export interface KnownName {
  readonly history: NameHistory;
  readonly knownChanges: readonly KnownChange[];
  /** Not watched: just looked up, without a history. */
  readonly isFirstLook: boolean;
}

/** After this silence, another process may claim the name. */
const LEASE_MS = 2 * MINUTE_MS;
/** Per registry: a million names' weekly lookups, and as many urgent ones. */
const LOOKS_PER_HOUR = 12_000;
/** Latest live orders considered as explanations. */
const ORDERS_LOOKED_AT = 50;
/** Latest incidents considered. */
const INCIDENTS_LOOKED_AT = 10;
/** For commands; Slack's limit is three seconds. */
const QUICK_MS = 1_800;
const EVIDENCE_MS = 30_000;

export function completeNames(
  parts: Omit<NamesContext, 'planner' | 'observeDelegation' | 'activityOf' | 'lookUpNow'>,
): NamesContext {
  setMaxListeners(0, parts.signal);
  const planner = createLookupPlanner(LOOKS_PER_HOUR);
  const context: NamesContext = {
    ...parts,
    planner,
    observeDelegation: createDelegationObserver(parts.dns, parts.rdap, planner, parts.now),
    activityOf: (record) => activityOf(context, record),
    lookUpNow: (name, dns, ms) => lookUpNow(context, name, dns, ms),
  };
  return context;
}

export type Names = ReturnType<typeof createNames>;

export function createNames(context: NamesContext) {
  const { records, incidents, now } = context;
  return {
    /** Guarded names whose minute is over. Must be called every second. */
    lookAtGuarded: createGuardedWatch(context),
    /** As soon as possible. */
    requestLook: (name: string) => records.requestLook(name, now()),
    /** Claims names for this process. */
    claimDue: (limit: number) => records.claimDue(now(), LEASE_MS, limit),
    look: (name: string) => lookAtClaimed(context, name),
    known: (name: string) => known(context, name),
    isGuarded: (name: string) => isGuarded(context, name),
    /** Unexpected changes. */
    incidents: {
      find: incidents.find,
      openOf: (names: readonly string[]): Promise<readonly ListedIncident[]> => incidents.openOf(names),
      /** Latest first. */
      allOpen: (limit: number): Promise<readonly ListedIncident[]> => incidents.allOpen(limit),
      confirmOurs: (id: string, said: OursClaim) => confirmIncidentOurs(context, id, said),
      raise: (id: string, by: string) => raiseIncident(context, id, by),
    },
    /** The outcome of an order whose answer was lost. */
    evidence: (order: Order, item: OrderItem) => findEvidence(context, order, item),
    /** Whether the registry shows an accepted order as done. */
    confirmation: (order: Order, item: OrderItem) => findConfirmation(context, order, item),
    orderIncidents: createOrderIncidents(context),
    impacts: createImpacts(context),
  };
}

async function lookAtClaimed(context: NamesContext, name: string): Promise<void> {
  try {
    await lookUpName(context, name, context.signal);
  } catch (error) {
    // Due again when its claim ends.
    if (!context.signal.aborted) throw error;
  }
}

async function activityOf(
  context: NamesContext,
  { name, lapse }: { readonly name: string; readonly lapse: NameRecord['lapse'] },
): Promise<NameActivity> {
  const [incidents, orders, guarded] = await Promise.all([
    context.incidents.ofName(name, INCIDENTS_LOOKED_AT),
    context.orders.list({ viewer: 'system', name, isLive: true, limit: ORDERS_LOOKED_AT }),
    isGuarded(context, name),
  ]);
  return {
    orders: [...ordersOfName(name, orders, lapse), ...expectedTransfers(incidents)],
    hasOpenOrder: orders.some(({ state }: Order) => isOpen(state)),
    incidents,
    isGuarded: guarded,
  };
}

/** Looked up for at most two seconds when there is no record. */
async function known(context: NamesContext, name: string): Promise<KnownName> {
  const { records, now } = context;
  const { history, knownChanges } = (await records.find(name)) ?? { history: {}, knownChanges: [] };
  const isFirstLook = !wasLookedFor(history, FACT_NAMES);
  if (isFirstLook) await records.requestLook(name, now());
  return { history: await completeHistory(context, name, history), knownChanges, isFirstLook };
}

/**
 * Looks up what was never looked up: DNS, registry, or both. After a large import, the registry's turn may come hours
 * later. Late answers are treated as missing.
 */
async function completeHistory(
  context: NamesContext,
  name: string,
  history: NameHistory,
): Promise<NameHistory> {
  const { quickObserver, signal, log } = context;
  const limit = timeLimit(signal, QUICK_MS);
  const inTime = (look: Promise<Observation>) =>
    look.catch((err: unknown) => {
      if (!limit.aborted) log.warn({ err, name }, 'looking up a name for a person');
      return undefined;
    });
  const looks = await Promise.all([
    wasLookedFor(history, DNS_FACTS) ? undefined : inTime(quickObserver.observe(name, limit)),
    wasLookedFor(history, REGISTRY_FACTS)
      ? undefined
      : inTime(fetchRegistryLookup(context, quickObserver, name, limit)),
  ]);
  return looks.reduce<NameHistory>(
    (merged, look) => (look === undefined ? merged : mergeObservation(merged, look).history),
    history,
  );
}

async function findEvidence(context: NamesContext, order: Order, item: OrderItem): Promise<Evidence> {
  const { records, signal, now } = context;
  const { name } = item;
  const sentAt = sentToRegistry(order, item);
  if (sentAt === undefined) return { kind: 'nothing' };
  const look = await lookUpAtRegistry(context, name, timeLimit(signal, EVIDENCE_MS));
  const [record, seen] = await Promise.all([records.find(name), records.seenAtRegistry(name)]);
  const { orders } = await context.activityOf(record ?? { name, lapse: undefined });
  return evidenceOf({ order, sentAt, history: record?.history ?? {}, seen, orders, now: now() }, look);
}

async function findConfirmation(
  context: NamesContext,
  order: Order,
  item: OrderItem,
): ReturnType<LookUpAtRegistry> {
  const since = item.sentAt ?? item.answeredAt;
  const isShown = order.task === 'restore' || order.task === 'transfer';
  if (since === undefined || !isShown) return 'unknown';
  const look = await lookUpAtRegistry(context, item.name, timeLimit(context.signal, EVIDENCE_MS));
  return confirmationOf(order, since, look);
}
