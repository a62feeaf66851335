import { ALARM_FACTS, type FactName, type FactValue, isSameSet, REGISTRY_FACTS } from './facts.ts';
import type { FactChange, NameHistory } from './history.ts';

/*
 * Finds the changes of a name that no order explains. Every change belongs to exactly one entry of the ledger: it is
 * explained by one order, or it was raised as an alarm, or it is a further sign of an entry that exists, because a
 * registry's record and the DNS show the same change at different times.
 */

/** The events of a name that people must hear of. */
export const ALARM_KINDS = [
  'registrar',
  'nameservers',
  'ds',
  'lock_gone',
  'owner',
  'pending_transfer',
  'pending_delete',
  'unregistered',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];

/** One event, as a fact has shown it. */
export interface NameEvent extends FactChange {
  readonly kind: AlarmKind;
  /** For a registrar: the change of the expiry that came with it, as in a transfer. */
  readonly expiry?: { readonly before: string; readonly after: string };
}

/** What an order can change of a name. */
export const NAME_TASKS = [
  'create',
  'transfer',
  'renew',
  'restore',
  'delete',
  'nameservers',
  'owner-change',
  'authcode',
  /** Two people decided to let the name go. */
  'lapse',
] as const;
export type NameTask = (typeof NAME_TASKS)[number];

/** An order for a name whose request left, whatever its outcome. */
export interface NameOrder {
  readonly id: string;
  readonly task: NameTask;
  /** `refused`: the service refused it, so it has no effects. */
  readonly state: 'sent' | 'succeeded' | 'unknown' | 'refused';
  /** When its request left; for a decision, when it was made. */
  readonly sentAt: Date;
  /** What it asked for, in ASCII and lower case. */
  readonly nameServers?: readonly string[];
}

const ALARM_PREFIX = 'alarm:';

/** The id under which an alarm's transfer explains further changes, once somebody has said that the team made it. */
export function idOfAlarm(alarmId: string): string {
  return `${ALARM_PREFIX}${alarmId}`;
}

/** Whether the explanation of a change is what somebody said about an alarm, and no order. */
export function isOfAlarm(orderId: string): boolean {
  return orderId.startsWith(ALARM_PREFIX);
}

/** An entry of the ledger: one event, what explains it, and which facts have shown it. */
export interface LedgerEntry {
  readonly kind: AlarmKind;
  readonly after: FactValue;
  readonly facts: readonly FactName[];
  readonly firstSeen: Date;
  /** The order that explains it; undefined when it was raised as an alarm. */
  readonly orderId: string | undefined;
}

/** The result of {@link reconcile} for the changes of one name. */
export interface Reconciled {
  readonly explained: readonly { readonly event: NameEvent; readonly orderId: string }[];
  readonly raised: readonly RaisedAlarm[];
  /** Further signs of entries that the ledger had already. */
  readonly joined: readonly NameEvent[];
  /** The new ledger, to be kept with the history in the same transaction. */
  readonly ledger: readonly LedgerEntry[];
}

/** An event that no order explains. */
export interface RaisedAlarm {
  readonly event: NameEvent;
  /** Orders of the name that were considered, the latest first. */
  readonly orders: readonly UnfitOrder[];
}

/** Why an order does not explain a change. */
export const UNFIT_REASONS = [
  /** The service refused it, so nothing follows from it. */
  'refused',
  /** The order asks for something that does not change this. */
  'other_task',
  /** It was sent after the change had been seen. */
  'sent_later',
  /** It was sent so long ago that its effects had ended. */
  'too_old',
  /** It asked for something else, such as other nameservers. */
  'other_content',
  /** It already explains another change of the kind. */
  'used',
] as const;

/** An order of the name that was considered, and why it does not explain a change. */
export interface UnfitOrder {
  readonly id: string;
  readonly task: NameTask;
  readonly why: (typeof UNFIT_REASONS)[number];
}

/** What {@link reconcile} works on, for one name. */
export interface ReconcileInput {
  /** The changes that one look has confirmed. */
  readonly changes: readonly FactChange[];
  /** The history after that look. */
  readonly history: NameHistory;
  readonly orders: readonly NameOrder[];
  readonly ledger: readonly LedgerEntry[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Clocks of the bot, the service and the registry may differ by this much. */
const SKEW_MS = 5 * 60_000;
const DEFAULT_TRANSFER_DAYS = 5;
/** An event that one source shows is shown by the others within this time. */
const JOIN_MS = 14 * DAY_MS;
/** The time from a deletion to the day on which the name is free, including grace and redemption. */
const DELETION_MS = 100 * DAY_MS;
const LEDGER_KEPT_MS = 150 * DAY_MS;
/** Registries lock new and transferred names against transfers for 60 days, and unlock them by themselves. */
const REGISTRY_LOCK_MS = 65 * DAY_MS;
const REGISTRY_LOCK = 'server transfer prohibited';

const LOCKS: readonly string[] = ['transfer', 'delete', 'update'].flatMap((what) => [
  `client ${what} prohibited`,
  `server ${what} prohibited`,
]);

/** How long after its request an order can explain a change of a kind. It never explains a kind without an entry. */
const EXPLAINS_FOR_MS: Readonly<Record<NameTask, Readonly<Partial<Record<AlarmKind, number>>>>> = {
  create: { registrar: 2 * DAY_MS, nameservers: 2 * DAY_MS, owner: 2 * DAY_MS, ds: 2 * DAY_MS },
  transfer: {
    registrar: 21 * DAY_MS,
    nameservers: 21 * DAY_MS,
    ds: 21 * DAY_MS,
    owner: 21 * DAY_MS,
    lock_gone: 21 * DAY_MS,
    pending_transfer: 21 * DAY_MS,
  },
  renew: {},
  restore: { nameservers: 30 * DAY_MS, ds: 30 * DAY_MS, lock_gone: 30 * DAY_MS },
  delete: {
    pending_delete: 7 * DAY_MS,
    unregistered: DELETION_MS,
    nameservers: 7 * DAY_MS,
    ds: 7 * DAY_MS,
    lock_gone: 7 * DAY_MS,
  },
  nameservers: { nameservers: 7 * DAY_MS, ds: 7 * DAY_MS },
  'owner-change': { owner: 21 * DAY_MS },
  authcode: { lock_gone: 7 * DAY_MS },
  lapse: {
    pending_delete: DELETION_MS,
    unregistered: DELETION_MS,
    nameservers: DELETION_MS,
    ds: DELETION_MS,
  },
};

/** A change of nameservers is shown by the registry first, then by the zone above, last by the name itself. */
const FACT_ORDER: readonly FactName[] = ALARM_FACTS;
const OF_REGISTRY: ReadonlySet<FactName> = new Set(REGISTRY_FACTS);

/**
 * Sorts the changes of one name: explained by an order, raised, or a sign of a known event. Pure, and what the ledger
 * has is not returned again.
 */
export function reconcile({ changes, history, orders, ledger }: ReconcileInput): Reconciled {
  const explained: { event: NameEvent; orderId: string }[] = [];
  const raised: RaisedAlarm[] = [];
  const joined: NameEvent[] = [];
  let entries = [...ledger];
  for (const event of eventsOf(changes, history)) {
    const known = entries.find((entry) => isSignOf(event, entry, orders));
    if (known !== undefined) {
      entries = entries.map((entry) =>
        entry === known ? { ...entry, facts: [...entry.facts, event.fact] } : entry,
      );
      joined.push(event);
      continue;
    }
    const order = explainingOrder(event, orders, entries);
    const { kind, after, fact, firstSeenAfter: firstSeen } = event;
    entries.push({ kind, after, facts: [fact], firstSeen, orderId: order?.id });
    if (order === undefined) raised.push({ event, orders: unfitOrders(event, orders) });
    else explained.push({ event, orderId: order.id });
  }
  return { explained, raised, joined, ledger: withoutOld(entries, changes) };
}

/** The moment at which a transfer completes by itself unless somebody objects. */
export interface TransferCountdown {
  readonly goesThroughAt: Date;
  readonly msLeft: number;
}

/**
 * The countdown of a transfer that is under way. It is counted from the last look that did not show the transfer, so
 * that the moment shown is the earliest possible one and nobody is late.
 * @param transferDays as the zone has it
 */
export function transferCountdown(
  event: Pick<NameEvent, 'lastSeenBefore'>,
  now: Date,
  transferDays: number = DEFAULT_TRANSFER_DAYS,
): TransferCountdown {
  const goesThroughAt = new Date(event.lastSeenBefore.getTime() + transferDays * DAY_MS);
  return { goesThroughAt, msLeft: Math.max(0, goesThroughAt.getTime() - now.getTime()) };
}

/** The events that people must hear of, among the changes of facts. */
function eventsOf(changes: readonly FactChange[], history: NameHistory): NameEvent[] {
  const isRegistrationChanged = changes.some(({ fact }) => fact === 'registration');
  const sorted = changes
    // When the registration comes or goes, all other facts of the registry do too.
    .filter(({ fact }) => !isRegistrationChanged || fact === 'registration' || !OF_REGISTRY.has(fact))
    .toSorted((a, b) => FACT_ORDER.indexOf(a.fact) - FACT_ORDER.indexOf(b.fact));
  return sorted.flatMap((change) => {
    switch (change.fact) {
      case 'registration':
        return change.after.length === 0 ? eventOf('unregistered', change) : [];
      case 'registrar':
        return changedBetweenValues(change) ? [{ ...eventOf('registrar', change), ...dateOf(changes) }] : [];
      case 'owner':
        return changedBetweenValues(change) ? eventOf('owner', change) : [];
      case 'registry_nameservers':
      case 'parent_nameservers':
      case 'nameservers':
        return eventOf('nameservers', change);
      case 'secure_dns':
      case 'ds':
        return eventOf('ds', change);
      case 'statuses':
        return statusEvents(change, history);
      default:
        return [];
    }
  });
}

function eventOf(kind: AlarmKind, change: FactChange, after = change.after): NameEvent {
  return { ...change, kind, after };
}

/**
 * Whether a value was replaced by another. A value that comes or goes as a whole belongs to the event of the
 * registration.
 */
function changedBetweenValues({ before, after }: FactChange): boolean {
  return before.length > 0 && after.length > 0;
}

function dateOf(changes: readonly FactChange[]): Pick<NameEvent, 'expiry'> {
  const date = changes.find(({ fact }) => fact === 'expires_at');
  const [before, after] = [date?.before[0], date?.after[0]];
  return before === undefined || after === undefined ? {} : { expiry: { before, after } };
}

const DELETED: readonly string[] = ['redemption period', 'pending delete'];

function statusEvents(change: FactChange, history: NameHistory): NameEvent[] {
  const { before, after } = change;
  const gone = LOCKS.filter(
    (lock) => before.includes(lock) && !after.includes(lock) && !endsByItself(lock, change, history),
  );
  const isAdded = (status: string) => after.includes(status) && !before.includes(status);
  const isDeleted = DELETED.some(isAdded) && !DELETED.some((status) => before.includes(status));
  return [
    ...gone.map((lock) => eventOf('lock_gone', change, [lock])),
    ...(isAdded('pending transfer') ? [eventOf('pending_transfer', change, ['pending transfer'])] : []),
    ...(isDeleted ? [eventOf('pending_delete', change, ['pending delete'])] : []),
  ];
}

function endsByItself(lock: string, { firstSeenAfter }: FactChange, history: NameHistory): boolean {
  if (lock !== REGISTRY_LOCK) return false;
  return (['registered_at', 'transferred_at'] as const).some((fact) => {
    const since = Date.parse(history[fact]?.current?.value[0] ?? '');
    return firstSeenAfter.getTime() - since < REGISTRY_LOCK_MS;
  });
}

/** Whether another fact has shown the same event before. One fact shows an event once. */
function isSignOf(event: NameEvent, entry: LedgerEntry, orders: readonly NameOrder[]): boolean {
  if (entry.facts.includes(event.fact)) return false;
  const apartMs = Math.abs(event.firstSeenAfter.getTime() - entry.firstSeen.getTime());
  // A deleted name loses its delegation, and its registration in the end.
  if (entry.kind === 'pending_delete' || entry.kind === 'unregistered') {
    if (event.kind === 'unregistered') return apartMs < DELETION_MS;
    if (isDelegationGone(event)) return apartMs < JOIN_MS;
  }
  if (entry.kind !== event.kind || apartMs > JOIN_MS) return false;
  const order = orders.find(({ id }) => id === entry.orderId);
  switch (event.kind) {
    case 'nameservers':
      // For a change that an order asked for, only what it asked for is a sign.
      if (order !== undefined) return canExplain(order, event);
      // The name's own zone may list fewer or more servers than the delegation.
      return event.fact === 'nameservers'
        ? isOverlapping(event.after, entry.after)
        : isSameSet(event.after, entry.after);
    case 'ds':
      // A registry's record shows only whether there is one.
      return (event.after.length === 0) === (entry.after.length === 0);
    default:
      return false;
  }
}

function isDelegationGone({ kind, after }: NameEvent): boolean {
  return (kind === 'nameservers' || kind === 'ds') && after.length === 0;
}

/** The order that explains an event: the latest that can. An order explains one event of each kind. */
function explainingOrder(
  event: NameEvent,
  orders: readonly NameOrder[],
  entries: readonly LedgerEntry[],
): NameOrder | undefined {
  const isUsed = ({ id }: NameOrder) =>
    entries.some(
      ({ orderId, kind, after }) =>
        orderId === id &&
        kind === event.kind &&
        // One order may change several locks.
        (kind !== 'lock_gone' || isSameSet(after, event.after)),
    );
  return latestFirst(orders).find((order) => canExplain(order, event) && !isUsed(order));
}

function canExplain(order: NameOrder, event: NameEvent): boolean {
  return whyUnfit(order, event) === undefined;
}

/** Why an order cannot have caused an event; undefined when it can. */
function whyUnfit(order: NameOrder, event: NameEvent): UnfitOrder['why'] | undefined {
  const windowMs = EXPLAINS_FOR_MS[order.task][event.kind];
  if (windowMs === undefined) return 'other_task';
  if (order.state === 'refused') return 'refused';
  const sentAt = order.sentAt.getTime();
  if (sentAt > event.firstSeenAfter.getTime() + SKEW_MS) return 'sent_later';
  if (sentAt + windowMs < event.lastSeenBefore.getTime()) return 'too_old';
  return isWhatWasAskedFor(order, event) ? undefined : 'other_content';
}

/** Why each order does not explain an event. One that fits otherwise explains another change already. */
function unfitOrders(event: NameEvent, orders: readonly NameOrder[]): UnfitOrder[] {
  return latestFirst(orders).map((order) => ({
    id: order.id,
    task: order.task,
    why: whyUnfit(order, event) ?? 'used',
  }));
}

function isWhatWasAskedFor({ task, nameServers }: NameOrder, { kind, fact, after }: NameEvent): boolean {
  switch (kind) {
    case 'nameservers': {
      if (nameServers === undefined) return task === 'restore' || after.length === 0;
      return fact === 'nameservers' ? isOverlapping(after, nameServers) : isSameSet(after, nameServers);
    }
    case 'ds':
      // Such an order can remove the DS, but not set a new one.
      return after.length === 0 || task === 'transfer' || task === 'restore' || task === 'create';
    case 'lock_gone':
      return task !== 'authcode' || after.every((lock) => lock.includes('transfer'));
    default:
      return true;
  }
}

function latestFirst(orders: readonly NameOrder[]): NameOrder[] {
  return orders.toSorted(
    (a, b) => b.sentAt.getTime() - a.sentAt.getTime() || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0),
  );
}

function withoutOld(entries: readonly LedgerEntry[], changes: readonly FactChange[]): LedgerEntry[] {
  const now = Math.max(0, ...changes.map(({ firstSeenAfter }) => firstSeenAfter.getTime()));
  return entries.filter(({ firstSeen }) => now - firstSeen.getTime() < LEDGER_KEPT_MS);
}

function isOverlapping(one: readonly string[], other: readonly string[]): boolean {
  return (one.length === 0 && other.length === 0) || one.some((text) => other.includes(text));
}
