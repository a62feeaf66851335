import type { BotSigner } from '../approvals/charter.ts';
import { hashJson } from '../lib/canonical-json.ts';
import { isFinal, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { AnyOrderLogEntry, OrderLogEntry } from './order-events.ts';
import type { LogDifference } from './summary.ts';

/**
 * Determines from an order's log which requests may still be sent. The order's rows aren't trusted, because a person
 * with write access can reset them. That person can't change the log but can add events, so an event that allows a
 * retry must have the bot's signature.
 */

/** Whether an order's event has the bot's signature. */
export type IsSignedByBot = (orderId: string) => (entry: AnyOrderLogEntry) => boolean;

/** Whether an event shows that a request wasn't carried out or may be sent again. */
function allowsRetry({ kind, outcome }: AnyOrderLogEntry): boolean {
  return kind === 'retry_scheduled' || outcome === 'FAILED';
}

/** Includes the version, so that a copy of the event doesn't allow another retry. */
function formatSignedText(orderId: string, entry: AnyOrderLogEntry): string {
  const { kind, n, ctids, outcome, workerId, version } = entry;
  return `event ${hashJson({ order: orderId, kind, n, ctids, outcome, workerId, version })}`;
}

/** Signs events that allow a retry. @param botSigner undefined while the ledger's key can't be decrypted */
export function signRetryEvents(
  botSigner: BotSigner | undefined,
  orderId: string,
  log: readonly OrderLogEntry[],
): readonly OrderLogEntry[] {
  if (botSigner === undefined) return log;
  const sign = (entry: OrderLogEntry) => ({
    ...entry,
    botSignature: botSigner.sign(formatSignedText(orderId, entry)),
  });
  return log.map((entry) => (allowsRetry(entry) ? sign(entry) : entry));
}

export function createBotSignatureCheck(signer: BotSigner | undefined): IsSignedByBot {
  return (orderId) => (entry) =>
    entry.botSignature !== undefined &&
    signer?.verify(formatSignedText(orderId, entry), entry.botSignature) === true;
}

/** Kinds of events that limit which requests may still be sent. They have an index (`events_of_items`). */
export const LIMITING_KINDS: readonly OrderLogEntry['kind'][] = [
  'reopened',
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

/** Events that end every item that they refer to. */
const ENDING_KINDS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'answered',
  'answered_late',
  'stopped',
  'expired',
  'released',
  'resolved',
]);

interface LoggedItem {
  /** `stopping`: its request is being sent and won't be sent again. */
  readonly state: 'unsent' | 'sent' | 'stopping' | 'ended';
  /** Undefined if the service didn't carry it out, UNKNOWN if it may have. */
  readonly outcome: 'SUCCEEDED' | 'UNKNOWN' | undefined;
}

/** An item's state according to the log. `ended` is final. */
export function readLoggedItem(
  history: readonly OrderLogEntry[],
  item: OrderItem,
  isSignedByBot: ReturnType<IsSignedByBot>,
): LoggedItem {
  const itemHistory = history.filter(({ n, names, lost, ctids }: AnyOrderLogEntry) => {
    const isListed = names?.includes(item.name) || lost?.includes(item.ctid) || ctids?.includes(item.ctid);
    return n === item.n || isListed === true;
  });
  // After a person has stopped the order, even requests in progress aren't sent again.
  const isStopping = history.some(({ kind, actor }) => kind === 'stopped' && actor !== 'system');
  const hasEnded = history.some(endsOrder) || itemHistory.some(({ kind }) => ENDING_KINDS.has(kind));
  const outcome = findLoggedOutcome(itemHistory, isSignedByBot);
  const stateIfSent = isStopping ? 'stopping' : 'sent';
  const stateIfUnsent = isStopping ? 'ended' : 'unsent';
  return { state: hasEnded ? 'ended' : outcome === undefined ? stateIfUnsent : stateIfSent, outcome };
}

/**
 * An item's outcome, according to its events. Every request may have been carried out until a later event, from the
 * same worker or from no particular one, shows otherwise.
 */
export function findLoggedOutcome(
  itemHistory: readonly AnyOrderLogEntry[],
  isSignedByBot: ReturnType<IsSignedByBot>,
): LoggedItem['outcome'] {
  if (itemHistory.some(({ outcome }) => outcome === 'SUCCEEDED')) return 'SUCCEEDED';
  const retryEvents = itemHistory.filter(allowsRetry);
  const hasOpenRequest = itemHistory.some(
    ({ kind, outcome, version = 0, workerId }) =>
      (kind === 'sending' || outcome === 'UNKNOWN') &&
      !retryEvents.some(
        (entry) =>
          (entry.version ?? 0) > version &&
          (entry.workerId === undefined || entry.workerId === workerId) &&
          isSignedByBot(entry),
      ),
  );
  return hasOpenRequest ? 'UNKNOWN' : undefined;
}

/** Whether an event ends the whole order. */
function endsOrder({ kind, state }: OrderLogEntry): boolean {
  return kind === 'invalidated' || state === 'UNKNOWN' || isFinal(state);
}

/**
 * Why the log forbids an item's request; undefined if it allows the request.
 * @param order as it was before the request
 */
export function findSendBlocker(
  order: Order,
  item: OrderItem,
  history: readonly OrderLogEntry[],
  isSignedByBot: IsSignedByBot,
): LogDifference | undefined {
  // If the row is behind the log, the request would be logged with a version so low that an earlier event would allow
  // its retry.
  if (history.some(({ version }) => version > order.version) || isFromEarlierRound(order, history))
    return 'older';
  const { state } = readLoggedItem(history, item, isSignedByBot(order.id));
  const expected = item.state === 'SENT' ? 'sent' : 'unsent';
  if (state === expected) return undefined;
  if (state === 'unsent') return 'missing';
  return state === 'sent' ? 'sent' : 'ended';
}

/**
 * How an order's rows differ from its log; undefined if they match.
 * @param history may omit item events of bulk orders
 */
export function findLogDifference(
  order: Order,
  history: readonly OrderLogEntry[],
  isSignedByBot: IsSignedByBot,
): LogDifference | undefined {
  const newest = history.toSorted((a, b) => a.version - b.version).at(-1);
  if (newest === undefined) return 'missing';
  if (newest.version > order.version) return 'older';
  if (newest.version === order.version && newest.state !== order.state) return 'older';
  if (isFromEarlierRound(order, history)) return 'older';
  if (order.task === 'mandate') return findMandateDifference(order, history);
  for (const item of order.items) {
    if (item.state !== 'WAITING' && item.state !== 'SENT') continue;
    const loggedItem = readLoggedItem(history, item, isSignedByBot(order.id));
    const isStopping = item.state === 'SENT' && loggedItem.state === 'stopping';
    const blocker = isStopping ? undefined : findSendBlocker(order, item, history, isSignedByBot);
    if (blocker !== undefined && !(blocker === 'missing' && order.bulk !== undefined)) return blocker;
  }
  return undefined;
}

/** Whether the row lacks a logged reopening. If so, its approvals are from an earlier round and no longer count. */
function isFromEarlierRound({ approvalRound }: Order, history: readonly OrderLogEntry[]): boolean {
  return history.filter(({ kind }) => kind === 'reopened').length > approvalRound;
}

/**
 * Events after which a mandate isn't active. `finished` isn't one: a mandate's order finishes when the mandate starts.
 */
export const MANDATE_LIMITING_KINDS: readonly OrderLogEntry['kind'][] = [
  'mandate_ended',
  ...LIMITING_KINDS.filter((kind) => kind !== 'finished'),
];

/** A mandate is active from `in_force` until an event of {@link MANDATE_LIMITING_KINDS}. */
function findMandateDifference({ state, mandateEnd }: Order, history: readonly OrderLogEntry[]) {
  if (state !== 'SUCCEEDED' || mandateEnd !== undefined) return undefined;
  if (!history.some(({ kind }) => kind === 'in_force')) return 'missing';
  return history.some(({ kind }) => MANDATE_LIMITING_KINDS.includes(kind)) ? 'ended' : undefined;
}

/** The event that stops an order if its rows differ from its log; undefined if they match. */
export function buildContradictedEvent(
  order: Order,
  history: readonly OrderLogEntry[],
  isSignedByBot: IsSignedByBot,
): Extract<OrderEvent, { readonly type: 'contradicted' }> | undefined {
  const difference = findLogDifference(order, history, isSignedByBot);
  if (difference === undefined) return undefined;
  const loggedOutcomes = new Map(
    order.items.map((item) => [item.n, readLoggedItem(history, item, isSignedByBot(order.id)).outcome]),
  );
  const version = Math.max(order.version, ...history.map((entry) => entry.version));
  return { type: 'contradicted', difference, version, loggedOutcomes };
}
