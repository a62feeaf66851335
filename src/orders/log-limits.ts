import type { BotSigner } from '../approvals/charter.ts';
import { hashJson } from '../lib/canonical-json.ts';
import { isFinal, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { AnyOrderLogEntry, OrderLogEntry } from './order-events.ts';
import type { LogDifference } from './summary.ts';

/**
 * Determines from an order's log which requests may still be sent. The order's rows aren't trusted, because a person
 * with write access to the database can reset them. The log is append-only, but such a person can still append events,
 * so an event that allows a retry must have the bot's signature.
 */

export type IsSignedByBot = (orderId: string) => (entry: AnyOrderLogEntry) => boolean;

/** Whether an event shows that a request wasn't carried out or may be sent again. */
function allowsRetry({ kind, outcome }: AnyOrderLogEntry): boolean {
  return kind === 'retry_scheduled' || outcome === 'FAILED';
}

/** The text contains the event's version, so that a copy of the event doesn't allow another retry. */
function formatTextToSign(orderId: string, entry: AnyOrderLogEntry): string {
  const { kind, n, ctids, outcome, workerId, version } = entry;
  return `event ${hashJson({ order: orderId, kind, n, ctids, outcome, workerId, version })}`;
}

/** @param botSigner undefined until the ledger key can be decrypted; events then stay unsigned */
export function signRetryEvents(
  botSigner: BotSigner | undefined,
  orderId: string,
  log: readonly OrderLogEntry[],
): readonly OrderLogEntry[] {
  if (botSigner === undefined) return log;
  const sign = (entry: OrderLogEntry) => ({
    ...entry,
    botSignature: botSigner.sign(formatTextToSign(orderId, entry)),
  });
  return log.map((entry) => (allowsRetry(entry) ? sign(entry) : entry));
}

export function createBotSignatureCheck(botSigner: BotSigner | undefined): IsSignedByBot {
  return (orderId) => (entry) =>
    entry.botSignature !== undefined &&
    botSigner?.verify(formatTextToSign(orderId, entry), entry.botSignature) === true;
}

/** Kinds of events that limit which requests may still be sent. Keep the index `events_of_items` in sync. */
export const SEND_LIMITING_EVENT_KINDS: readonly OrderLogEntry['kind'][] = [
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

/** Kinds of events that end every item that they refer to. */
const ITEM_ENDING_EVENT_KINDS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'answered',
  'answered_late',
  'stopped',
  'expired',
  'released',
  'resolved',
]);

interface LoggedItem {
  /** `stopping`: the item's request may still be running, and won't be sent again. */
  readonly state: 'unsent' | 'sent' | 'stopping' | 'ended';
  /** Undefined: the item wasn't carried out. `UNKNOWN`: the item may have been carried out. */
  readonly outcome: 'SUCCEEDED' | 'UNKNOWN' | undefined;
}

/** Derives an item's state from the log. `ended` is final. */
export function deriveLoggedItem(
  history: readonly OrderLogEntry[],
  item: OrderItem,
  hasBotSignature: ReturnType<IsSignedByBot>,
): LoggedItem {
  const itemHistory = history.filter(({ n, names, lost, ctids }: AnyOrderLogEntry) => {
    const isListed = names?.includes(item.name) || lost?.includes(item.ctid) || ctids?.includes(item.ctid);
    return n === item.n || isListed === true;
  });
  // After a person has stopped the order, even requests in progress aren't sent again.
  const isStopping = history.some(({ kind, actor }) => kind === 'stopped' && actor !== 'system');
  const hasEnded =
    history.some(endsOrder) || itemHistory.some(({ kind }) => ITEM_ENDING_EVENT_KINDS.has(kind));
  const outcome = findLoggedOutcome(itemHistory, hasBotSignature);
  const stateIfSent = isStopping ? 'stopping' : 'sent';
  const stateIfUnsent = isStopping ? 'ended' : 'unsent';
  return { state: hasEnded ? 'ended' : outcome === undefined ? stateIfUnsent : stateIfSent, outcome };
}

/**
 * Derives an item's outcome from its events. A request counts as possibly carried out, unless a later event from the
 * same worker, or without a worker, shows that it wasn't.
 */
export function findLoggedOutcome(
  itemHistory: readonly AnyOrderLogEntry[],
  hasBotSignature: ReturnType<IsSignedByBot>,
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
          hasBotSignature(entry),
      ),
  );
  return hasOpenRequest ? 'UNKNOWN' : undefined;
}

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
  // If the row is behind the log, the request would be logged with a version that is too low. An earlier event would
  // then seem to allow a retry of this request.
  if (history.some(({ version }) => version > order.version) || isFromEarlierRound(order, history))
    return 'older';
  const { state } = deriveLoggedItem(history, item, isSignedByBot(order.id));
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
    const loggedItem = deriveLoggedItem(history, item, isSignedByBot(order.id));
    const isStopping = item.state === 'SENT' && loggedItem.state === 'stopping';
    const blocker = isStopping ? undefined : findSendBlocker(order, item, history, isSignedByBot);
    if (blocker !== undefined && !(blocker === 'missing' && order.bulk !== undefined)) return blocker;
  }
  return undefined;
}

/** Whether the log has a reopening that the row lacks. If so, the row's approvals are from an earlier round. */
function isFromEarlierRound({ approvalRound }: Order, history: readonly OrderLogEntry[]): boolean {
  return history.filter(({ kind }) => kind === 'reopened').length > approvalRound;
}

/** Kinds of events that end a mandate. `finished` isn't included, because a mandate's order finishes when it starts. */
export const MANDATE_ENDING_EVENT_KINDS: readonly OrderLogEntry['kind'][] = [
  'mandate_ended',
  ...SEND_LIMITING_EVENT_KINDS.filter((kind) => kind !== 'finished'),
];

/** A mandate is active from `in_force` until an event whose kind is in {@link MANDATE_ENDING_EVENT_KINDS}. */
function findMandateDifference({ state, mandateEnd }: Order, history: readonly OrderLogEntry[]) {
  if (state !== 'SUCCEEDED' || mandateEnd !== undefined) return undefined;
  if (!history.some(({ kind }) => kind === 'in_force')) return 'missing';
  return history.some(({ kind }) => MANDATE_ENDING_EVENT_KINDS.includes(kind)) ? 'ended' : undefined;
}

/** The event that stops an order if its rows differ from its log; undefined if they match. */
export function buildContradictionEvent(
  order: Order,
  history: readonly OrderLogEntry[],
  isSignedByBot: IsSignedByBot,
): Extract<OrderEvent, { readonly type: 'contradicted' }> | undefined {
  const difference = findLogDifference(order, history, isSignedByBot);
  if (difference === undefined) return undefined;
  const loggedOutcomes = new Map(
    order.items.map((item) => [item.n, deriveLoggedItem(history, item, isSignedByBot(order.id)).outcome]),
  );
  const version = Math.max(order.version, ...history.map((entry) => entry.version));
  return { type: 'contradicted', difference, version, loggedOutcomes };
}
