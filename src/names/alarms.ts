import { ALARM_FACTS, type FactName, type FactValue, REGISTRY_FACTS } from './facts.ts';
import type { FactChange, NameHistory } from './history.ts';

/*
 * Which changes of a name no order explains. Every change belongs to exactly one entry of the ledger: it is explained by
 * one order, or raised once, or a further sign of an entry that is there (a registry's record and the DNS show the same
 * change at different times).
 */

/** What can happen to a name that people must hear of. */
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

/** One happening, as a fact has shown it. */
export interface NameEvent {
  readonly kind: AlarmKind;
  readonly fact: FactName;
  readonly before: FactValue;
  readonly after: FactValue;
  /** It happened between these two moments. */
  readonly lastSeenBefore: Date;
  readonly firstSeenAfter: Date;
  /** Of a registrar: the expiry moved with it, as a transfer does. */
  readonly expiry?: { readonly before: string; readonly after: string };
}

/** What an order asks for, as far as it can change a name. */
export const NAME_TASKS = [
  'create',
  'transfer',
  'renew',
  'restore',
  'delete',
  'nameservers',
  'owner',
  'authcode',
  /** Two people decided to let the name go. */
  'lapse',
] as const;
export type NameTask = (typeof NAME_TASKS)[number];

/** An order of a name whose request left, whatever became of it. */
export interface NameOrder {
  readonly id: string;
  readonly task: NameTask;
  /** `refused`: the service said no, so that nothing follows from it. */
  readonly state: 'sent' | 'succeeded' | 'unknown' | 'refused';
  /** When its request left; of a decision, when it was made. */
  readonly sentAt: Date;
  /** What it asked for, in ASCII and lower case. */
  readonly nameServers?: readonly string[];
}

const ALARM_PREFIX = 'alarm:';

/** The id under which a transfer explains changes that somebody has said to be the team's own. */
export function idOfAlarm(alarmId: string): string {
  return `${ALARM_PREFIX}${alarmId}`;
}

/** Whether what explains a change is what somebody said of an alarm, and no order. */
export function isOfAlarm(orderId: string): boolean {
  return orderId.startsWith(ALARM_PREFIX);
}

/** An entry of the ledger: one happening, whom it belongs to and which facts have shown it. */
export interface LedgerEntry {
  readonly kind: AlarmKind;
  readonly after: FactValue;
  readonly facts: readonly FactName[];
  readonly firstSeen: Date;
  /** The order that explains it; undefined when it was raised. */
  readonly orderId: string | undefined;
}

/** What a look at the changes of one name gave. */
export interface Reconciled {
  readonly explained: readonly { readonly event: NameEvent; readonly orderId: string }[];
  readonly raised: readonly RaisedAlarm[];
  /** Further signs of what the ledger had already. */
  readonly joined: readonly NameEvent[];
  /** To be kept with the history, in the same transaction. */
  readonly ledger: readonly LedgerEntry[];
}

/** Something that no order explains. */
export interface RaisedAlarm {
  readonly event: NameEvent;
  /** Orders of the name that were looked at, the latest first. */
  readonly orders: readonly UnfitOrder[];
}

/** Why an order does not explain a change. */
export const UNFIT_REASONS = [
  /** The service refused it, so nothing follows from it. */
  'refused',
  /** What it asks for does not change this. */
  'other_task',
  /** It was sent after the change had been seen. */
  'sent_later',
  /** It was sent so long before that its effects had ended. */
  'too_old',
  /** It asked for something else, such as other nameservers. */
  'other_content',
  /** It explains another change of the kind already. */
  'used',
] as const;

/** An order of the name that was looked at, and why it does not explain a change. */
export interface UnfitOrder {
  readonly id: string;
  readonly task: NameTask;
  readonly why: (typeof UNFIT_REASONS)[number];
}

/** What {@link reconcile} works on: one name. */
export interface ReconcileInput {
  /** As one look has confirmed them. */
  readonly changes: readonly FactChange[];
  /** After that look. */
  readonly history: NameHistory;
  readonly orders: readonly NameOrder[];
  readonly ledger: readonly LedgerEntry[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Clocks of the bot, the service and the registry may differ by this much. */
const SKEW_MS = 5 * 60_000;
const DEFAULT_TRANSFER_DAYS = 5;
/** A happening that one source shows is shown by the others within this time. */
const JOIN_MS = 14 * DAY_MS;
/** From a deletion to the day on which the name is free; grace and redemption are behind it then. */
const DELETION_MS = 100 * DAY_MS;
const LEDGER_KEPT_MS = 150 * DAY_MS;
/** Registries lock new and transferred names against transfers for 60 days, and unlock them by themselves. */
const REGISTRY_LOCK_MS = 65 * DAY_MS;
const REGISTRY_LOCK = 'server transfer prohibited';

const LOCKS: readonly string[] = ['transfer', 'delete', 'update'].flatMap((what) => [
  `client ${what} prohibited`,
  `server ${what} prohibited`,
]);

/** How long after its request an order can explain a change of a kind; what is missing it never explains. */
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
  owner: { owner: 21 * DAY_MS },
  authcode: { lock_gone: 7 * DAY_MS },
  lapse: {
    pending_delete: DELETION_MS,
    unregistered: DELETION_MS,
    nameservers: DELETION_MS,
    ds: DELETION_MS,
  },
};

/** The nameservers' kind is told by the registry first, then by the zone above, last by the name itself. */
const FACT_ORDER: readonly FactName[] = ALARM_FACTS;
const OF_REGISTRY: ReadonlySet<FactName> = new Set(REGISTRY_FACTS);

/**
 * Sorts the changes of one name: explained by an order, raised, or signs of what is known. Of equal input it gives the
 * same; nothing that the ledger has is given again.
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

/** What the latest change of the expiry date means; `unsettled` while it is open who the registrar is. */
export type DateMove = 'renewal' | 'transfer' | 'earlier' | 'unsettled';

/**
 * Tells a renewal from a transfer: both move the date forward, and a name that was stolen must not look renewed.
 *
 * @returns undefined when the date has not moved.
 */
export function classifyDateMove(history: NameHistory): DateMove | undefined {
  const { current, past } = history.expires_at ?? {};
  const before = past?.[0];
  const [was, is] = [before?.value[0], current?.value[0]];
  if (before === undefined || current === undefined || was === undefined || is === undefined)
    return undefined;
  if (is < was) return 'earlier';
  const { registrar, transferred_at: transfer } = history;
  const transferredAt = Date.parse(transfer?.current?.value[0] ?? '');
  if (transferredAt >= before.lastSeen.getTime() && transferredAt <= current.firstSeen.getTime()) {
    return 'transfer';
  }
  const moved = registrar?.past.length ? registrar.current?.firstSeen.getTime() : undefined;
  const isOfThen =
    moved !== undefined &&
    moved >= before.lastSeen.getTime() &&
    moved <= current.firstSeen.getTime() + JOIN_MS;
  if (isOfThen) return 'transfer';
  return registrar?.candidate === undefined && registrar?.unseen === undefined ? 'renewal' : 'unsettled';
}

/** When a transfer goes through by itself unless somebody objects. */
export interface TransferCountdown {
  readonly goesThroughAt: Date;
  readonly msLeft: number;
}

/**
 * The countdown of a transfer that is under way. It was asked for after it was last not seen, so that the moment told
 * is the earliest possible one: nobody who acts by it is late.
 *
 * @param transferDays as the zone has it.
 */
export function transferCountdown(
  event: Pick<NameEvent, 'lastSeenBefore'>,
  now: Date,
  transferDays: number = DEFAULT_TRANSFER_DAYS,
): TransferCountdown {
  const goesThroughAt = new Date(event.lastSeenBefore.getTime() + transferDays * DAY_MS);
  return { goesThroughAt, msLeft: Math.max(0, goesThroughAt.getTime() - now.getTime()) };
}

/** The happenings that people must hear of, out of changes of facts. */
function eventsOf(changes: readonly FactChange[], history: NameHistory): NameEvent[] {
  const isRegistrationChanged = changes.some(({ fact }) => fact === 'registration');
  const sorted = changes
    // With the registration all that the registry tells comes or goes.
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
  const { fact, before, lastSeenBefore, firstSeenAfter } = change;
  return { kind, fact, before, after, lastSeenBefore, firstSeenAfter };
}

/** What appears or goes with the registration itself is told by the registration. */
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

/** Whether another fact has shown the same happening before. A fact shows one happening once. */
function isSignOf(event: NameEvent, entry: LedgerEntry, orders: readonly NameOrder[]): boolean {
  if (entry.facts.includes(event.fact)) return false;
  const apartMs = Math.abs(event.firstSeenAfter.getTime() - entry.firstSeen.getTime());
  // What is deleted loses its delegation, and its registration in the end.
  if (entry.kind === 'pending_delete' || entry.kind === 'unregistered') {
    if (event.kind === 'unregistered') return apartMs < DELETION_MS;
    if (isDelegationGone(event)) return apartMs < JOIN_MS;
  }
  if (entry.kind !== event.kind || apartMs > JOIN_MS) return false;
  const order = orders.find(({ id }) => id === entry.orderId);
  switch (event.kind) {
    case 'nameservers':
      // Of a move that was asked for, only what was asked for is a sign.
      if (order !== undefined) return canExplain(order, event);
      // The name's own zone may list fewer or more servers than the delegation.
      return event.fact === 'nameservers'
        ? isOverlapping(event.after, entry.after)
        : isSameSet(event.after, entry.after);
    case 'ds':
      // A registry's record tells no more than that there is one.
      return (event.after.length === 0) === (entry.after.length === 0);
    default:
      return false;
  }
}

function isDelegationGone({ kind, after }: NameEvent): boolean {
  return (kind === 'nameservers' || kind === 'ds') && after.length === 0;
}

/** The one order that explains an event: the latest that can. An order explains one happening of a kind. */
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
        // Several locks go with one order.
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

/** Of an event that none of them explains: one that could have explains another change already. */
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
      // A move takes the DS away at most: a new one is asked for by nobody.
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

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  const set = new Set(one);
  return set.size === new Set(other).size && other.every((text) => set.has(text));
}

function isOverlapping(one: readonly string[], other: readonly string[]): boolean {
  return (one.length === 0 && other.length === 0) || one.some((text) => other.includes(text));
}
