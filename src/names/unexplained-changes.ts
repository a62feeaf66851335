import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import { isBeingDeleted, isHold, isLock, isStillLocked, isTransferLock } from '../registry/rdap/status.ts';
import {
  type FactName,
  type FactValue,
  INCIDENT_FACTS,
  isSameSet,
  isSameValue,
  NO_DS,
  REGISTRY_FACTS,
} from './facts.ts';
import { type FactChange, listValues, type NameHistory } from './history.ts';

/** Finds changes that no order explains. A change that appears in several facts counts once. */

export const INCIDENT_KINDS = [
  'registrar',
  'nameservers',
  'ds',
  'lock',
  'hold',
  'delegation_gone',
  'owner',
  'pending_transfer',
  'pending_delete',
  'unregistered',
  'nameserver_registrable',
  'all_lame',
] as const;
export type IncidentKind = (typeof INCIDENT_KINDS)[number];

export const DANGERS_WITHOUT_CHANGE: ReadonlySet<IncidentKind> = new Set([
  'nameserver_registrable',
  'all_lame',
]);

/** A change, as shown by one fact. */
export interface NameChange extends FactChange {
  readonly kind: IncidentKind;
  /** The expiry change that came with a new registrar. A transfer changes both. */
  readonly expiry?: { readonly before: string; readonly after: string };
}

export const NAME_TASKS = [
  'create',
  'transfer',
  'renew',
  'restore',
  'delete',
  'nameservers',
  'owner-change',
  'authcode',
  /** Two people have decided to let the name lapse. */
  'lapse',
] as const;
export type NameTask = (typeof NAME_TASKS)[number];

/** A sent order for a name, or the decision to let the name lapse. */
export interface NameOrder {
  readonly id: string;
  readonly task: NameTask;
  /** `refused`: the order had no effect. */
  readonly state: 'sent' | 'succeeded' | 'unknown' | 'refused';
  /** For a decision, the time when it was made. */
  readonly sentAt: Date;
  /** Host names in lowercase ASCII. */
  readonly nameServers?: readonly string[];
  /** Earlier changes that the order explains, so that it can't explain others of the same kind. */
  readonly explainedChanges?: readonly { readonly kind: IncidentKind; readonly after: FactValue }[];
}

const INCIDENT_PREFIX = 'incident:';

/** Builds an order ID for changes that come from a transfer without an order, which the team confirmed. */
export function buildIncidentOrderId(incidentId: string): string {
  return `${INCIDENT_PREFIX}${incidentId}`;
}

/** Whether {@link buildIncidentOrderId} built the ID. */
export function isIncidentOrderId(orderId: string): boolean {
  return orderId.startsWith(INCIDENT_PREFIX);
}

/** Used as the order ID of changes that the zone's CDS or CDNSKEY records explain. */
export const ZONE_REQUEST_ID = 'zone';

/** A change with its explanation and the facts that showed it. */
export interface KnownChange {
  readonly kind: IncidentKind;
  readonly after: FactValue;
  readonly facts: readonly FactName[];
  readonly firstSeen: Date;
  /** Undefined if the change is unexplained and belongs to an incident. */
  readonly orderId: string | undefined;
}

export interface UnexplainedChange {
  readonly change: NameChange;
  /** Latest first. */
  readonly orders: readonly RuledOutOrder[];
}

/** Why an order doesn't explain a change. */
export const RULED_OUT_REASONS = [
  'refused',
  'task_mismatch',
  'sent_later',
  /** Sent so long ago that it no longer has effects. */
  'too_old',
  /** The order requested something else, such as different nameservers. */
  'content_mismatch',
  /** The order already explains another change of this kind. */
  'used',
] as const;

export interface RuledOutOrder {
  readonly id: string;
  readonly task: NameTask;
  readonly reason: (typeof RULED_OUT_REASONS)[number];
}

export interface ChangesToExplain {
  readonly changes: readonly FactChange[];
  readonly history: NameHistory;
  readonly orders: readonly NameOrder[];
  readonly knownChanges: readonly KnownChange[];
}

/** The clocks of the bot, the service and the registry may differ by this much. */
const MAX_CLOCK_SKEW_MS = 5 * MINUTE_MS;
const DEFAULT_TRANSFER_DAYS = 5;
/** Within this time, a change in one fact appears in the others. */
const MAX_PROPAGATION_MS = 14 * DAY_MS;
/** The time from a deletion until the name is available, including grace and redemption periods. */
const MAX_DELETION_PERIOD_MS = 100 * DAY_MS;
const CHANGE_RETENTION_MS = 150 * DAY_MS;
/** Registries lock new and transferred names against transfers for 60 days. The other 5 days are a margin. */
const REGISTRY_LOCK_MS = 65 * DAY_MS;
const REGISTRY_LOCK = 'server transfer prohibited';

/** How long after it was sent an order can explain each kind of change. It never explains other kinds. */
const EXPLANATION_WINDOWS_MS: Readonly<Record<NameTask, Readonly<Partial<Record<IncidentKind, number>>>>> = {
  create: { registrar: 2 * DAY_MS, nameservers: 2 * DAY_MS, owner: 2 * DAY_MS, ds: 2 * DAY_MS },
  transfer: {
    registrar: 21 * DAY_MS,
    nameservers: 21 * DAY_MS,
    ds: 21 * DAY_MS,
    owner: 21 * DAY_MS,
    lock: 21 * DAY_MS,
    pending_transfer: 21 * DAY_MS,
  },
  renew: {},
  restore: { nameservers: 30 * DAY_MS, ds: 30 * DAY_MS, lock: 30 * DAY_MS },
  delete: {
    pending_delete: 7 * DAY_MS,
    unregistered: MAX_DELETION_PERIOD_MS,
    hold: 7 * DAY_MS,
    delegation_gone: 7 * DAY_MS,
    nameservers: 7 * DAY_MS,
    ds: 7 * DAY_MS,
    lock: 7 * DAY_MS,
  },
  nameservers: { nameservers: 7 * DAY_MS, ds: 7 * DAY_MS },
  'owner-change': { owner: 21 * DAY_MS },
  authcode: { lock: 7 * DAY_MS },
  lapse: {
    pending_delete: MAX_DELETION_PERIOD_MS,
    unregistered: MAX_DELETION_PERIOD_MS,
    hold: MAX_DELETION_PERIOD_MS,
    delegation_gone: MAX_DELETION_PERIOD_MS,
    nameservers: MAX_DELETION_PERIOD_MS,
    ds: MAX_DELETION_PERIOD_MS,
  },
};

/** A nameserver change appears first at the registry, then in the parent zone, last in the name's zone. */
const FACT_ORDER: readonly FactName[] = INCIDENT_FACTS;
const REGISTRY_FACT_SET: ReadonlySet<FactName> = new Set(REGISTRY_FACTS);

/** Returns the new changes that no order explains, and all known changes. */
export function explainChanges({ changes, history, orders, knownChanges }: ChangesToExplain): {
  readonly unexplainedChanges: readonly UnexplainedChange[];
  readonly knownChanges: readonly KnownChange[];
} {
  const unexplainedChanges: UnexplainedChange[] = [];
  let updatedChanges = [...knownChanges];
  for (const change of listNotableChanges(changes, history)) {
    const sameChange = updatedChanges.find((knownChange) =>
      isSameChange(change, knownChange, orders, history),
    );
    if (sameChange !== undefined) {
      updatedChanges = updatedChanges.map((knownChange) =>
        knownChange === sameChange
          ? { ...knownChange, facts: [...knownChange.facts, change.fact] }
          : knownChange,
      );
      continue;
    }
    const orderId =
      findExplainingOrder(change, orders, updatedChanges)?.id ??
      (isRequestedByZone(change, history, updatedChanges) ? ZONE_REQUEST_ID : undefined);
    const { kind, after, fact, afterFirstSeenAt: firstSeen } = change;
    updatedChanges.push({ kind, after, facts: [fact], firstSeen, orderId });
    if (orderId === undefined)
      unexplainedChanges.push({ change, orders: listRuledOutOrders(change, orders) });
  }
  return { unexplainedChanges, knownChanges: dropOldChanges(updatedChanges, changes) };
}

/** The time until a transfer completes, unless someone objects. */
export interface TransferCountdown {
  readonly completesAt: Date;
  readonly msLeft: number;
}

/**
 * The countdown starts at the last lookup without the transfer, so it ends at the earliest possible time.
 * @param transferDays according to the zone's rules
 */
export function computeTransferCountdown(
  { beforeLastSeenAt }: { readonly beforeLastSeenAt: Date },
  now: Date,
  transferDays: number = DEFAULT_TRANSFER_DAYS,
): TransferCountdown {
  const completesAt = new Date(beforeLastSeenAt.getTime() + transferDays * DAY_MS);
  return { completesAt, msLeft: Math.max(0, completesAt.getTime() - now.getTime()) };
}

function listNotableChanges(changes: readonly FactChange[], history: NameHistory): NameChange[] {
  const hasRegistrationChanged = changes.some(({ fact }) => fact === 'registration');
  const sortedChanges = changes
    // When a registration appears or disappears, so do all other facts from the registry.
    .filter(({ fact }) => !hasRegistrationChanged || fact === 'registration' || !REGISTRY_FACT_SET.has(fact))
    .toSorted((a, b) => FACT_ORDER.indexOf(a.fact) - FACT_ORDER.indexOf(b.fact));
  return sortedChanges.flatMap((change) => {
    switch (change.fact) {
      case 'registration':
        return change.after.length === 0 ? toNameChange('unregistered', change) : [];
      case 'registrar': {
        const replacement = findReplacement(change, history);
        return replacement === undefined
          ? []
          : [{ ...toNameChange('registrar', replacement), ...findExpiryChange(changes) }];
      }
      case 'owner': {
        const replacement = findReplacement(change, history);
        return replacement === undefined ? [] : toNameChange('owner', replacement);
      }
      case 'registry_nameservers':
      case 'parent_nameservers':
      case 'nameservers':
        return toNameChange(change.after.length === 0 ? 'delegation_gone' : 'nameservers', change);
      case 'secure_dns':
      case 'ds':
        return toNameChange('ds', change);
      case 'statuses':
        return listStatusChanges(change, history);
      default:
        return [];
    }
  });
}

function toNameChange(kind: IncidentKind, change: FactChange, after = change.after): NameChange {
  return { ...change, kind, after };
}

/**
 * Ignores a value that disappears. A value that appears counts if it differs from the last known value:
 * a record that omits the registrar for a while must not hide a transfer.
 */
function findReplacement(change: FactChange, history: NameHistory): FactChange | undefined {
  const { fact, before, after } = change;
  if (after.length === 0) return undefined;
  if (before.length > 0) return change;
  const [, ...earlierValues] = listValues(history, fact);
  const lastKnown = earlierValues.find(({ value }) => value.length > 0);
  return lastKnown === undefined || isSameValue(fact, lastKnown.value, after)
    ? undefined
    : { ...change, before: lastKnown.value };
}

function findExpiryChange(changes: readonly FactChange[]) {
  const expiryChange = changes.find(({ fact }) => fact === 'expires_at');
  const [before, after] = [expiryChange?.before[0], expiryChange?.after[0]];
  return before === undefined || after === undefined ? {} : { expiry: { before, after } };
}

function listStatusChanges(change: FactChange, history: NameHistory): NameChange[] {
  const { before, after } = change;
  const removedLocks = before
    .filter((status) => isLock(status) && !isStillLocked(status, after))
    .filter((lock) => !wasRemovedByRegistry(lock, change, history))
    .sort((a, b) => Number(isTransferLock(b)) - Number(isTransferLock(a)));
  const addedHolds = after.filter((status) => isHold(status) && !before.includes(status));
  const isAdded = (status: string) => after.includes(status) && !before.includes(status);
  return [
    ...removedLocks.map((lock) => toNameChange('lock', change, [lock])),
    ...(isAdded('pending transfer') ? [toNameChange('pending_transfer', change, ['pending transfer'])] : []),
    ...(isBeingDeleted(after) && !isBeingDeleted(before)
      ? [
          toNameChange(
            'pending_delete',
            change,
            after.filter((status) => isBeingDeleted([status])),
          ),
        ]
      : []),
    ...(addedHolds.length > 0 ? [toNameChange('hold', change, addedHolds)] : []),
  ];
}

function wasRemovedByRegistry(lock: string, { afterFirstSeenAt }: FactChange, history: NameHistory): boolean {
  if (lock !== REGISTRY_LOCK) return false;
  return (['registered_at', 'transferred_at'] as const).some((fact) => {
    const lockedAt = Date.parse(history[fact]?.current?.value[0] ?? '');
    return afterFirstSeenAt.getTime() - lockedAt < REGISTRY_LOCK_MS;
  });
}

/** Whether another fact has already shown the change. One fact shows a change only once. */
function isSameChange(
  change: NameChange,
  knownChange: KnownChange,
  orders: readonly NameOrder[],
  history: NameHistory,
): boolean {
  if (knownChange.facts.includes(change.fact)) return false;
  const msApart = Math.abs(change.afterFirstSeenAt.getTime() - knownChange.firstSeen.getTime());
  // A deleted name loses its delegation, and later its registration. A name on hold loses its delegation too.
  // A name without a delegation has no DS.
  if (knownChange.kind === 'pending_delete' && change.kind === 'unregistered')
    return msApart < MAX_DELETION_PERIOD_MS;
  if (isDelegationGone(change) && removesDelegation(knownChange, history))
    return msApart < MAX_PROPAGATION_MS;
  if (knownChange.kind !== change.kind || msApart > MAX_PROPAGATION_MS) return false;
  const order = orders.find(({ id }) => id === knownChange.orderId);
  switch (change.kind) {
    case 'nameservers':
      // If an order explains the known change, it must also explain the new one.
      if (order !== undefined) return canExplain(order, change);
      // The name's own zone may list more or fewer servers than the delegation.
      return change.fact === 'nameservers'
        ? overlaps(change.after, knownChange.after)
        : isSameSet(change.after, knownChange.after);
    case 'ds':
      if (knownChange.orderId === ZONE_REQUEST_ID && !matchesZoneRequest(change, history)) return false;
      // `secure_dns` only shows whether there is a DS.
      return (change.after.length === 0) === (knownChange.after.length === 0);
    default:
      return false;
  }
}

/** Whether a known change still removes the delegation. A hold or deletion may have ended. */
function removesDelegation({ kind }: KnownChange, { statuses, registration }: NameHistory): boolean {
  const currentStatuses = statuses?.current?.value ?? [];
  switch (kind) {
    case 'hold':
      return currentStatuses.some(isHold);
    case 'pending_delete':
      return isBeingDeleted(currentStatuses) || registration?.current?.value.length === 0;
    default:
      return kind === 'unregistered' || kind === 'delegation_gone';
  }
}

function isDelegationGone({ kind, after }: NameChange): boolean {
  return kind === 'delegation_gone' || (kind === 'ds' && after.length === 0);
}

/** An attacker may have made a request that follows an unexplained registrar or nameserver change. */
function isRequestedByZone(
  change: NameChange,
  history: NameHistory,
  knownChanges: readonly KnownChange[],
): boolean {
  const isPossibleTakeover = ({ kind, orderId, firstSeen }: KnownChange) =>
    (kind === 'registrar' || kind === 'nameservers') &&
    orderId === undefined &&
    change.afterFirstSeenAt.getTime() - firstSeen.getTime() < MAX_PROPAGATION_MS;
  return (
    change.kind === 'ds' && matchesZoneRequest(change, history) && !knownChanges.some(isPossibleTakeover)
  );
}

function matchesZoneRequest({ fact, after, beforeLastSeenAt }: NameChange, history: NameHistory): boolean {
  const { candidate } = history.requested_ds ?? {};
  const requestedDs = [
    ...(candidate === undefined ? [] : [candidate]),
    ...listValues(history, 'requested_ds'),
  ]
    // A zone may withdraw its request once the DS has changed.
    .filter(({ lastSeen }) => beforeLastSeenAt.getTime() - lastSeen.getTime() < MAX_PROPAGATION_MS)
    .flatMap(({ value }) => value);
  if (after.length === 0) return requestedDs.includes(NO_DS);
  if (fact === 'secure_dns') return requestedDs.some((ds) => ds !== NO_DS);
  return after.every((ds) => requestedDs.includes(ds));
}

/** Returns the latest order that can explain the change. An order explains only one change of each kind. */
function findExplainingOrder(
  change: NameChange,
  orders: readonly NameOrder[],
  knownChanges: readonly KnownChange[],
): NameOrder | undefined {
  const explainsOtherChange = ({ id, explainedChanges = [] }: NameOrder) =>
    [...explainedChanges, ...knownChanges.filter(({ orderId }) => orderId === id)].some(
      ({ kind, after }) =>
        kind === change.kind &&
        // One order may change several locks.
        (kind !== 'lock' || isSameSet(after, change.after)),
    );
  return sortLatestFirst(orders).find((order) => canExplain(order, change) && !explainsOtherChange(order));
}

function canExplain(order: NameOrder, change: NameChange): boolean {
  return findRuledOutReason(order, change) === undefined;
}

/** @returns why the order can't have caused the change; undefined if it can */
function findRuledOutReason(order: NameOrder, change: NameChange): RuledOutOrder['reason'] | undefined {
  const windowMs = EXPLANATION_WINDOWS_MS[order.task][change.kind];
  if (windowMs === undefined) return 'task_mismatch';
  if (order.state === 'refused') return 'refused';
  const sentAt = order.sentAt.getTime();
  if (sentAt > change.afterFirstSeenAt.getTime() + MAX_CLOCK_SKEW_MS) return 'sent_later';
  if (sentAt + windowMs < change.beforeLastSeenAt.getTime()) return 'too_old';
  return matchesOrder(order, change) ? undefined : 'content_mismatch';
}

/** Lists the reason why each order doesn't explain the change. A matching order explains another change. */
function listRuledOutOrders(change: NameChange, orders: readonly NameOrder[]): RuledOutOrder[] {
  return sortLatestFirst(orders).map((order) => ({
    id: order.id,
    task: order.task,
    reason: findRuledOutReason(order, change) ?? 'used',
  }));
}

function matchesOrder({ task, nameServers }: NameOrder, { kind, fact, after }: NameChange): boolean {
  switch (kind) {
    case 'nameservers': {
      if (nameServers === undefined) return task === 'restore' || after.length === 0;
      return fact === 'nameservers' ? overlaps(after, nameServers) : isSameSet(after, nameServers);
    }
    case 'ds':
      // Orders for other tasks can remove the DS but can't set a new one.
      return after.length === 0 || task === 'transfer' || task === 'restore' || task === 'create';
    case 'lock':
      return task !== 'authcode' || after.every(isTransferLock);
    default:
      return true;
  }
}

function sortLatestFirst(orders: readonly NameOrder[]): NameOrder[] {
  return orders.toSorted(
    (a, b) => b.sentAt.getTime() - a.sentAt.getTime() || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0),
  );
}

function dropOldChanges(knownChanges: readonly KnownChange[], changes: readonly FactChange[]): KnownChange[] {
  const latestChangeMs = Math.max(0, ...changes.map(({ afterFirstSeenAt }) => afterFirstSeenAt.getTime()));
  return knownChanges.filter(({ firstSeen }) => latestChangeMs - firstSeen.getTime() < CHANGE_RETENTION_MS);
}

function overlaps(one: readonly string[], other: readonly string[]): boolean {
  return one.some((text) => other.includes(text));
}
