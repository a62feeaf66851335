import type { AnyOrderLogEntry, OrderLogEntry } from '../events.ts';
import { isFinal, type Order, type OrderItem } from './order.ts';
import type { LogDifference } from './summary.ts';

/*
 * The limits of an order, read from its log. Rows are a cache: somebody with write access can set them back, but not the log.
 */

/** The kinds of events that limit what an item may still send. An index covers them. */
export const LIMIT_KINDS: readonly OrderLogEntry['kind'][] = [
  'sending',
  'retry_scheduled',
  'answered',
  'answered_late',
  'stopped',
  'denied',
  'cancelled',
  'expired',
  'released',
  'resolved',
  'invalidated',
  'contradicted',
  'finished',
];

/** Events that end each item that they name. */
const ENDING: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'answered',
  'answered_late',
  'stopped',
  'expired',
  'released',
  'resolved',
]);

interface LoggedItem {
  /** `stopping`: its request is under way, and is not repeated. */
  readonly state: 'unsent' | 'sent' | 'stopping' | 'ended';
  /** Whether the service may have carried it out. */
  readonly done: 'SUCCEEDED' | 'UNKNOWN' | undefined;
}

/** An item's state by the log. An ended item stays ended. */
export function itemInLog(
  history: readonly OrderLogEntry[],
  item: Pick<OrderItem, 'n' | 'name' | 'ctid'>,
): LoggedItem {
  let isSent = false;
  let isStopping = false;
  let hasEnded = false;
  let outcome: AnyOrderLogEntry['outcome'];
  for (const entry of history) {
    const { n, names = [], lost = [], ctids = [], outcome: said }: AnyOrderLogEntry = entry;
    const isNamed =
      n === item.n || names.includes(item.name) || lost.includes(item.ctid) || ctids.includes(item.ctid);
    if (n === item.n && entry.kind === 'sending') isSent = true;
    // The service provably did not carry it out, or repeating it is harmless.
    if (n === item.n && entry.kind === 'retry_scheduled') isSent = false;
    // A person who stops an order also stops what is under way.
    isStopping ||= entry.kind === 'stopped' && entry.actor !== 'system';
    if (isNamed && said !== undefined && outcome !== 'SUCCEEDED') outcome = said;
    hasEnded ||= endsOrder(entry) || (isNamed && ENDING.has(entry.kind));
  }
  const done = outcome ?? (isSent ? 'UNKNOWN' : undefined);
  const underWay = isStopping ? 'stopping' : 'sent';
  const unsent = isStopping ? 'ended' : 'unsent';
  return {
    state: hasEnded ? 'ended' : isSent ? underWay : unsent,
    done: done === 'FAILED' ? undefined : done,
  };
}

/** Whether nothing of the order is sent, and nothing is under way, after an event. */
function endsOrder({ kind, state }: OrderLogEntry): boolean {
  return kind === 'invalidated' || state === 'UNKNOWN' || isFinal(state);
}

/** Why the log does not let a request of an item leave; undefined when it does. @param item before its request */
export function limitOf(history: readonly OrderLogEntry[], item: OrderItem): LogDifference | undefined {
  const { state } = itemInLog(history, item);
  const expected = item.state === 'SENT' ? 'sent' : 'unsent';
  if (state === expected) return undefined;
  if (state === 'unsent') return 'missing';
  return state === 'sent' ? 'sent' : 'ended';
}

/**
 * How the rows of an order differ from its log; undefined when they don't.
 * @param history may leave out what happened to single items of an order of many rows
 */
export function differenceFromLog(
  order: Order,
  history: readonly OrderLogEntry[],
): LogDifference | undefined {
  const newest = history.toSorted((a, b) => a.version - b.version).at(-1);
  if (newest === undefined) return 'missing';
  if (newest.version > order.version) return 'older';
  if (newest.version === order.version && newest.state !== order.state) return 'older';
  if (order.task === 'mandate') return mandateDifference(order, history);
  for (const item of order.items) {
    if (item.state !== 'WAITING' && item.state !== 'SENT') continue;
    const isStopping = item.state === 'SENT' && itemInLog(history, item).state === 'stopping';
    const limit = isStopping ? undefined : limitOf(history, item);
    if (limit !== undefined && !(limit === 'missing' && order.bulk !== undefined)) return limit;
  }
  return undefined;
}

/** A mandate is in force from one event until another. */
function mandateDifference({ state, mandateEnd }: Order, history: readonly OrderLogEntry[]) {
  if (state !== 'SUCCEEDED' || mandateEnd !== undefined) return undefined;
  if (history.some(({ kind }) => kind === 'mandate_ended')) return 'ended';
  return history.some(({ kind }) => kind === 'in_force') ? undefined : 'missing';
}

/** The event that stops an order whose rows differ from its log; undefined when they don't. */
export function contradictionOf(order: Order, history: readonly OrderLogEntry[]) {
  const found = differenceFromLog(order, history);
  if (found === undefined) return undefined;
  const done = new Map(order.items.map((item) => [item.n, itemInLog(history, item).done]));
  const version = Math.max(order.version, ...history.map((entry) => entry.version));
  return { type: 'contradicted', found, version, done } as const;
}
