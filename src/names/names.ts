import { setMaxListeners } from 'node:events';
import { MINUTE_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import { isOpen, type Order } from '../orders/order.ts';
import type { LookAtRegistry, LookForEvidence, OrderStore } from '../orders/ports.ts';
import type { DnsClient } from '../registry/dns/client.ts';
import type { ParentZones } from '../registry/dns/parent-zones.ts';
import type { RdapClient } from '../registry/rdap/client.ts';
import { DNS_FACTS, FACT_NAMES, type Observation, REGISTRY_FACTS } from './facts.ts';
import { createGuardedWatch } from './guarded-watch.ts';
import { mergeObservation, type NameHistory, wasLookedFor } from './history.ts';
import { createIncidents, type Incidents } from './incident-actions.ts';
import {
  confirmTransfer,
  fetchLook,
  keepParentLook,
  lookAtName,
  lookAtRegistry,
  type NameContext,
} from './look.ts';
import { createLookNow } from './look-now.ts';
import { createLookPlanner } from './look-planner.ts';
import { expectedTransfers, ordersOfName } from './name-orders.ts';
import type { DnsObserver } from './observe.ts';
import { createDelegationObserver } from './observe-delegation.ts';
import { confirmationOf, evidenceOf, sentToRegistry } from './order-evidence.ts';
import { createImpacts, type Impacts } from './order-impact.ts';
import { createOrderIncidents, type OrderIncidents } from './order-incidents.ts';
import { GUARDED } from './portfolio.ts';
import type {
  ImpactStore,
  IncidentStore,
  LeaseStore,
  NameRecord,
  NameRecordStore,
  TagSource,
} from './ports.ts';
import type { RegistryLook } from './registry-record.ts';
import { timeLimit } from './time-limit.ts';
import type { KnownChange } from './unexplained-changes.ts';

/** The parts that the use cases of names are made of. */
export interface NamesParts {
  readonly store: NameRecordStore;
  readonly impacts: ImpactStore;
  readonly incidents: IncidentStore;
  /** Called when an incident has changed and people have to be told. */
  readonly incidentChanged: (id: string) => void;
  readonly orders: Pick<OrderStore, 'list'>;
  readonly tags: TagSource;
  readonly rdap: Pick<RdapClient, 'fetchRecord'>;
  readonly dns: DnsClient;
  readonly observer: DnsObserver;
  /** For a person who waits: gives each server less time. */
  readonly quickObserver: DnsObserver;
  readonly quickDns: DnsClient;
  /** For parent zones: each question goes out once. */
  readonly parentDns: DnsClient;
  readonly parents: ParentZones;
  readonly leases: LeaseStore;
  /** Names this process. */
  readonly processId: string;
  readonly now: () => Date;
  readonly log: Log;
  /** Ends what is under way at shutdown. */
  readonly signal: AbortSignal;
}

/** What is known of a name. */
export interface KnownName {
  readonly history: NameHistory;
  readonly knownChanges: readonly KnownChange[];
  /** The name is not looked at regularly: this was seen a moment ago, and nothing before it is known. */
  readonly isFirstLook: boolean;
}

/** What people and the bot itself do with what is known of names. */
export interface Names {
  /** Names whose look is due, claimed for this process. */
  claimDue(limit: number): Promise<readonly string[]>;
  /** Schedules a look at a watched name as soon as possible. */
  requestLook(name: string): Promise<void>;
  /** Asks parent zones about the guarded names whose minute is over. To be called every second. */
  lookAtGuarded(): Promise<void>;
  /** Looks at a claimed name. */
  look(name: string): Promise<void>;
  /** Asks the registry of a name now, and keeps what it shows if the name is watched. */
  lookAtRegistry(name: string, signal: AbortSignal): Promise<RegistryLook>;
  /** What is known of a name. Where nobody has looked yet, it is what can be seen within two seconds. */
  known(name: string): Promise<KnownName>;
  /** Whether a name is tagged `guarded`. */
  isGuarded(name: string): Promise<boolean>;
  /** Changes that no order explains, and what people did about them. */
  readonly incidents: Incidents;
  /** Whether an incident of a name is open. */
  hasOpenIncident(name: string): Promise<boolean>;
  /** Looks in public records for the outcome of an order whose answer was lost. */
  readonly evidence: LookForEvidence;
  /** Looks whether the registry shows that what the service accepted has happened. */
  readonly confirmation: LookAtRegistry;
  /** The open incidents of the names of orders. */
  readonly orderIncidents: OrderIncidents;
  /** The impact of orders and decisions on names. */
  readonly impacts: Impacts;
}

/** A process that has claimed a name and is silent for this long has lost it. */
const LEASE_MS = 2 * MINUTE_MS;
/** For one registry: the weekly looks of a million names, and as much again for urgent ones. */
const LOOKS_PER_HOUR = 12_000;
/** The latest live orders of a name that are considered as explanations. */
const ORDERS_LOOKED_AT = 50;
/** The latest incidents of a name that are considered. */
const INCIDENTS_LOOKED_AT = 10;
/** The time for a look that a command waits for; Slack gives a command three seconds. */
const QUICK_MS = 1_800;
const EVIDENCE_MS = 30_000;

/** Joins the use cases of names. */
export function createNames(parts: NamesParts): Names {
  const { store, now, log, signal } = parts;
  setMaxListeners(0, signal);
  const planner = createLookPlanner(LOOKS_PER_HOUR);
  const looking = {
    store,
    observer: parts.observer,
    rdap: parts.rdap,
    planner,
    delegations: createDelegationObserver({ dns: parts.dns, rdap: parts.rdap, planner, now }),
    contextOf,
    now,
    log,
  };

  const untilStop = (ms: number) => timeLimit(signal, ms);

  /** Whether a name has the tag of names that must not be lost. */
  async function isGuarded(name: string): Promise<boolean> {
    return (await parts.tags.tagsOf([name])).get(name)?.includes(GUARDED) ?? false;
  }

  async function contextOf({ name, lapse }: Pick<NameRecord, 'name' | 'lapse'>): Promise<NameContext> {
    const [incidents, orders, guarded] = await Promise.all([
      parts.incidents.ofName(name, INCIDENTS_LOOKED_AT),
      parts.orders.list({ viewer: 'system', name, isLive: true, limit: ORDERS_LOOKED_AT }),
      isGuarded(name),
    ]);
    return {
      orders: [...ordersOfName(name, orders, lapse), ...expectedTransfers(incidents)],
      hasOpenOrder: orders.some(({ state }: Order) => isOpen(state)),
      incidents,
      isGuarded: guarded,
    };
  }

  /**
   * Looks where nobody has looked at the name yet: at the DNS, at its registry, or at both. When many names are added at
   * once, the turn of one at its registry may come hours after the DNS. What has not arrived in time is left out, and
   * reported as not seen.
   */
  async function completeHistory(name: string, history: NameHistory): Promise<NameHistory> {
    const limit = untilStop(QUICK_MS);
    const inTime = (look: Promise<Observation>) =>
      look.catch((err: unknown) => {
        if (!limit.aborted) log.warn({ err, name }, 'looking at a name for a person');
        return undefined;
      });
    const looks = await Promise.all([
      wasLookedFor(history, DNS_FACTS) ? undefined : inTime(parts.quickObserver.observe(name, limit)),
      wasLookedFor(history, REGISTRY_FACTS)
        ? undefined
        : inTime(fetchLook({ ...parts, observer: parts.quickObserver }, name, limit)),
    ]);
    return looks.reduce<NameHistory>(
      (merged, look) => (look === undefined ? merged : mergeObservation(merged, look).history),
      history,
    );
  }

  async function known(name: string): Promise<KnownName> {
    const { history, knownChanges } = (await store.find(name)) ?? { history: {}, knownChanges: [] };
    const isFirstLook = !wasLookedFor(history, FACT_NAMES);
    if (isFirstLook) await store.requestLook(name, now());
    return { history: await completeHistory(name, history), knownChanges, isFirstLook };
  }

  const guardedWatch = createGuardedWatch({
    store,
    lead: (leaseMs) => parts.leases.take('guarded_watch', parts.processId, leaseMs),
    parents: parts.parents,
    dns: parts.parentDns,
    keep: (sight) => keepParentLook(looking, sight),
    lookAtRegistry: (name) => lookAtRegistry(looking, name, untilStop(EVIDENCE_MS)),
    now,
    log,
    signal,
  });

  return {
    lookAtGuarded: guardedWatch.look,
    requestLook: (name) => store.requestLook(name, now()),
    claimDue: (limit) => store.claimDue(now(), LEASE_MS, limit),
    async look(name) {
      try {
        await lookAtName(looking, name, signal);
      } catch (error) {
        // It is due again when its claim ends.
        if (!signal.aborted) throw error;
      }
    },

    lookAtRegistry: (name, until) => lookAtRegistry(looking, name, until),
    known,
    isGuarded,
    incidents: createIncidents({
      store: parts.incidents,
      isGuarded,
      trustRegistrar: (name) => confirmTransfer(parts, name),
      changed: parts.incidentChanged,
      now,
    }),
    hasOpenIncident: async (name) => (await parts.incidents.openOf([name])).length > 0,
    async evidence(order, item) {
      const { name } = item;
      const sentAt = sentToRegistry(order, item);
      if (sentAt === undefined) return { kind: 'nothing' };
      const look = await lookAtRegistry(looking, name, untilStop(EVIDENCE_MS));
      const [record, seen] = await Promise.all([store.find(name), store.seenAtRegistry(name)]);
      const { orders } = await contextOf(record ?? { name, lapse: undefined });
      return evidenceOf({ order, sentAt, history: record?.history ?? {}, seen, orders, now: now() }, look);
    },

    async confirmation(order, item) {
      const since = item.sentAt ?? item.answeredAt;
      const isShown = order.task === 'restore' || order.task === 'transfer';
      if (since === undefined || !isShown) return 'unknown';
      return confirmationOf(order, since, await lookAtRegistry(looking, item.name, untilStop(EVIDENCE_MS)));
    },
    orderIncidents: createOrderIncidents({ store: parts.incidents, now }),
    impacts: createImpacts({
      ...parts,
      lookNow: createLookNow({ ...parts, observer: parts.quickObserver }),
      watchedHistory: async (name) => (await store.find(name))?.history,
    }),
  };
}
