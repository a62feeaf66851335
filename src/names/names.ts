import { setMaxListeners } from 'node:events';
import { MINUTE_MS } from '../lib/duration.ts';
import { isOpen, type Order, type OrderItem } from '../orders/order.ts';
import type { Evidence, LookUpAtRegistry } from '../orders/ports.ts';
import type { NameActivity, NamesContext } from './context.ts';
import { DNS_FACTS, FACT_NAMES, type Observation, REGISTRY_FACTS } from './facts.ts';
import { createGuardedWatch } from './guarded-watch.ts';
import { mergeObservation, type NameHistory, wasLookedUp } from './history.ts';
import type { IncidentConfirmation, ListedIncident } from './incident.ts';
import { confirmIncident, isGuarded, raiseAlarm } from './incident-actions.ts';
import { fetchRegistryLookup, lookUpAtRegistry, lookUpName } from './lookup.ts';
import { lookUpNow } from './lookup-now.ts';
import { createLookupPlanner } from './lookup-planner.ts';
import { listConfirmedTransfers, listNameOrders } from './name-orders.ts';
import { createDelegationObserver } from './observe-delegation.ts';
import { checkConfirmation, findProofOrHint, getNonDemoSentTime } from './order-evidence.ts';
import { createImpactService } from './order-impact.ts';
import { createOrderIncidents } from './order-incidents.ts';
import type { NameRecord } from './ports.ts';
import { createTimeoutSignal } from './time-limit.ts';
import type { KnownChange } from './unexplained-changes.ts';

export interface KnownName {
  readonly history: NameHistory;
  readonly knownChanges: readonly KnownChange[];
  /** Whether the name has no stored history, because it isn't watched or wasn't looked up yet. */
  readonly isFirstLookup: boolean;
}

/** After this time, another process can claim the names of a process that stopped. */
const LEASE_MS = 2 * MINUTE_MS;
/** Per registry. Enough for weekly lookups of a million names, and as many urgent lookups. */
const LOOKUPS_PER_HOUR = 12_000;
/** Only the latest live orders are considered as explanations of changes. */
const MAX_ORDERS_CHECKED = 50;
const MAX_INCIDENTS_CHECKED = 10;
/** For commands, which must answer Slack within three seconds. */
const QUICK_TIMEOUT_MS = 1_800;
const EVIDENCE_TIMEOUT_MS = 30_000;

export function createNamesContext(
  deps: Omit<NamesContext, 'planner' | 'observeDelegation' | 'loadActivity' | 'lookUpNow'>,
): NamesContext {
  setMaxListeners(0, deps.signal);
  const planner = createLookupPlanner(LOOKUPS_PER_HOUR);
  const context: NamesContext = {
    ...deps,
    planner,
    observeDelegation: createDelegationObserver(deps.dns, deps.rdap, planner, deps.now),
    loadActivity: (record) => loadActivity(context, record),
    lookUpNow: (name, dns, timeoutMs) => lookUpNow(context, name, dns, timeoutMs),
  };
  return context;
}

export type Names = ReturnType<typeof createNames>;

export function createNames(context: NamesContext) {
  const { records, incidents, now } = context;
  return {
    /** Looks up guarded names that are due. Must be called every second. */
    lookUpGuarded: createGuardedWatch(context),
    requestLookup: (name: string) => records.requestLookup(name, now()),
    claimDue: (limit: number) => records.claimDue(now(), LEASE_MS, limit),
    lookUp: (name: string) => lookUpClaimed(context, name),
    loadKnownName: (name: string) => loadKnownName(context, name),
    isGuarded: (name: string) => isGuarded(context, name),
    incidents: {
      find: incidents.find,
      listOpen: (names: readonly string[]): Promise<readonly ListedIncident[]> => incidents.listOpen(names),
      /** Latest first. */
      listAllOpen: (limit: number): Promise<readonly ListedIncident[]> => incidents.listAllOpen(limit),
      confirmOwnChange: (id: string, confirmation: IncidentConfirmation) =>
        confirmIncident(context, id, confirmation),
      raiseAlarm: (id: string, by: string) => raiseAlarm(context, id, by),
    },
    /** Looks for evidence about the outcome of an order whose answer was lost. */
    findEvidence: (order: Order, item: OrderItem) => findEvidence(context, order, item),
    /** Looks up whether the registry shows that an accepted order was carried out. */
    findConfirmation: (order: Order, item: OrderItem) => findConfirmation(context, order, item),
    orderIncidents: createOrderIncidents(context),
    impacts: createImpactService(context),
  };
}

async function lookUpClaimed(context: NamesContext, name: string): Promise<void> {
  try {
    await lookUpName(context, name, context.signal);
  } catch (error) {
    // After a shutdown, the name is due again when its claim ends.
    if (!context.signal.aborted) throw error;
  }
}

async function loadActivity(
  context: NamesContext,
  { name, lapse }: { readonly name: string; readonly lapse: NameRecord['lapse'] },
): Promise<NameActivity> {
  const [incidents, orders, isNameGuarded] = await Promise.all([
    context.incidents.listForName(name, MAX_INCIDENTS_CHECKED),
    context.orders.list({ viewer: 'system', name, isLive: true, limit: MAX_ORDERS_CHECKED }),
    isGuarded(context, name),
  ]);
  return {
    orders: [...listNameOrders(name, orders, lapse), ...listConfirmedTransfers(incidents)],
    hasOpenOrder: orders.some(({ state }: Order) => isOpen(state)),
    incidents,
    isGuarded: isNameGuarded,
  };
}

/** Looks up what was never looked up, for at most two seconds. */
async function loadKnownName(context: NamesContext, name: string): Promise<KnownName> {
  const { records, now } = context;
  const { history, knownChanges } = (await records.find(name)) ?? { history: {}, knownChanges: [] };
  const isFirstLookup = !wasLookedUp(history, FACT_NAMES);
  if (isFirstLookup) await records.requestLookup(name, now());
  return { history: await completeHistory(context, name, history), knownChanges, isFirstLookup };
}

/**
 * Looks up DNS and the registry if they were never looked up. After a large import, the planned registry
 * lookup may be hours away. Late answers count as missing.
 */
async function completeHistory(
  context: NamesContext,
  name: string,
  history: NameHistory,
): Promise<NameHistory> {
  const { quickObserver, signal, log } = context;
  const timeoutSignal = createTimeoutSignal(signal, QUICK_TIMEOUT_MS);
  const catchErrors = (lookup: Promise<Observation>) =>
    lookup.catch((err: unknown) => {
      if (!timeoutSignal.aborted) log.warn({ err, name }, 'looking up a name for a person failed');
      return undefined;
    });
  const lookups = await Promise.all([
    wasLookedUp(history, DNS_FACTS) ? undefined : catchErrors(quickObserver.observe(name, timeoutSignal)),
    wasLookedUp(history, REGISTRY_FACTS)
      ? undefined
      : catchErrors(fetchRegistryLookup(context, quickObserver, name, timeoutSignal)),
  ]);
  return lookups.reduce<NameHistory>(
    (merged, lookup) => (lookup === undefined ? merged : mergeObservation(merged, lookup).history),
    history,
  );
}

async function findEvidence(context: NamesContext, order: Order, item: OrderItem): Promise<Evidence> {
  const { records, signal, now } = context;
  const { name } = item;
  const sentAt = getNonDemoSentTime(order, item);
  if (sentAt === undefined) return { kind: 'nothing' };
  const lookup = await lookUpAtRegistry(context, name, createTimeoutSignal(signal, EVIDENCE_TIMEOUT_MS));
  const [record, sightings] = await Promise.all([records.find(name), records.listRegistrySightings(name)]);
  const { orders } = await context.loadActivity(record ?? { name, lapse: undefined });
  return findProofOrHint(
    { order, sentAt, history: record?.history ?? {}, sightings, orders, now: now() },
    lookup,
  );
}

async function findConfirmation(
  context: NamesContext,
  order: Order,
  item: OrderItem,
): ReturnType<LookUpAtRegistry> {
  const sentAt = item.sentAt ?? item.answeredAt;
  const canRegistryShowTask = order.task === 'restore' || order.task === 'transfer';
  if (sentAt === undefined || !canRegistryShowTask) return 'unknown';
  const lookup = await lookUpAtRegistry(
    context,
    item.name,
    createTimeoutSignal(context.signal, EVIDENCE_TIMEOUT_MS),
  );
  return checkConfirmation(order, sentAt, lookup);
}
