import type { BotSigner } from '../approvals/charter.ts';
import { hashJson } from '../lib/canonical-json.ts';
import { isFinal, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { AnyOrderLogEntry, OrderLogEntry } from './order-events.ts';
import type { LogDifference } from './summary.ts';

/**
 * Reads from an order's log which requests may still be sent. Rows are only a cache: a person with write access can
 * reset them. That person can't change the log but can add events, so an event that allows a repeat must have the bot's
 * signature (`witness`).
 */

/** Whether the bot wrote an order's event. */
export type IsWitnessed = (orderId: string) => (entry: AnyOrderLogEntry) => boolean;

/** Whether an event says that a request wasn't carried out or may be repeated. */
function allowsRepeat({ kind, outcome }: AnyOrderLogEntry): boolean {
  return kind === 'retry_scheduled' || outcome === 'FAILED';
}

/** Includes the version, so that a copied event allows no further repeat. */
function formatWitnessText(orderId: string, entry: AnyOrderLogEntry): string {
  const { kind, n, ctids, outcome, worker, version } = entry;
  return `event ${hashJson({ order: orderId, kind, n, ctids, outcome, worker, version })}`;
}

/** Signs events that allow a repeat. @param botSigner undefined while the ledger's key can't be decrypted */
export function signLog(
  botSigner: BotSigner | undefined,
  orderId: string,
  log: readonly OrderLogEntry[],
): readonly OrderLogEntry[] {
  if (botSigner === undefined) return log;
  const sign = (entry: OrderLogEntry) => ({
    ...entry,
    witness: botSigner.sign(formatWitnessText(orderId, entry)),
  });
  return log.map((entry) => (allowsRepeat(entry) ? sign(entry) : entry));
}

export function createWitnessCheck(signer: BotSigner | undefined): IsWitnessed {
  return (orderId) => (entry) =>
    entry.witness !== undefined && signer?.verify(formatWitnessText(orderId, entry), entry.witness) === true;
}

/** Kinds of events that limit what an item may still send. Indexed. */
export const LIMIT_KINDS: readonly OrderLogEntry['kind'][] = [
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

/** Events that end each item they name. */
const ENDING_KINDS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'answered',
  'answered_late',
  'stopped',
  'expired',
  'released',
  'resolved',
]);

interface LoggedItem {
  /** `stopping`: its request is being sent and won't be repeated. */
  readonly state: 'unsent' | 'sent' | 'stopping' | 'ended';
  /** Whether the service may have carried it out. */
  readonly done: 'SUCCEEDED' | 'UNKNOWN' | undefined;
}

/** An item's state according to the log. An ended item stays ended. */
export function readLoggedItem(
  history: readonly OrderLogEntry[],
  item: OrderItem,
  isWitnessed: ReturnType<IsWitnessed>,
): LoggedItem {
  const itemHistory = history.filter(({ n, names, lost, ctids }: AnyOrderLogEntry) => {
    const isListed = names?.includes(item.name) || lost?.includes(item.ctid) || ctids?.includes(item.ctid);
    return n === item.n || isListed === true;
  });
  // If a person stops the order, requests in progress aren't repeated either.
  const isStopping = history.some(({ kind, actor }) => kind === 'stopped' && actor !== 'system');
  const hasEnded = history.some(endsOrder) || itemHistory.some(({ kind }) => ENDING_KINDS.has(kind));
  const done = findLoggedOutcome(itemHistory, isWitnessed);
  const sentState = isStopping ? 'stopping' : 'sent';
  const unsentState = isStopping ? 'ended' : 'unsent';
  return { state: hasEnded ? 'ended' : done === undefined ? unsentState : sentState, done };
}

/**
 * Whether the service may have carried out an item, according to its events. Every request may have been carried out
 * until a later event, of the same claim or for all claims, shows otherwise.
 */
export function findLoggedOutcome(
  itemHistory: readonly AnyOrderLogEntry[],
  isWitnessed: ReturnType<IsWitnessed>,
): LoggedItem['done'] {
  if (itemHistory.some(({ outcome }) => outcome === 'SUCCEEDED')) return 'SUCCEEDED';
  const repeats = itemHistory.filter(allowsRepeat);
  const isOpen = itemHistory.some(
    ({ kind, outcome, version = 0, worker }) =>
      (kind === 'sending' || outcome === 'UNKNOWN') &&
      !repeats.some(
        (entry) =>
          (entry.version ?? 0) > version &&
          (entry.worker === undefined || entry.worker === worker) &&
          isWitnessed(entry),
      ),
  );
  return isOpen ? 'UNKNOWN' : undefined;
}

/** Whether no more requests are sent after an event. */
function endsOrder({ kind, state }: OrderLogEntry): boolean {
  return kind === 'invalidated' || state === 'UNKNOWN' || isFinal(state);
}

/** Why the log forbids an item's request; undefined if it allows the request. @param order before the request */
export function findLimit(
  order: Order,
  item: OrderItem,
  history: readonly OrderLogEntry[],
  isWitnessed: IsWitnessed,
): LogDifference | undefined {
  // A request with an older version would look repeatable.
  if (history.some(({ version }) => version > order.version) || isFromEarlierRound(order, history))
    return 'older';
  const { state } = readLoggedItem(history, item, isWitnessed(order.id));
  const expected = item.state === 'SENT' ? 'sent' : 'unsent';
  if (state === expected) return undefined;
  if (state === 'unsent') return 'missing';
  return state === 'sent' ? 'sent' : 'ended';
}

/**
 * How an order's rows differ from its log; undefined if they match.
 * @param history may omit item events of an order with many rows
 */
export function findLogDifference(
  order: Order,
  history: readonly OrderLogEntry[],
  isWitnessed: IsWitnessed,
): LogDifference | undefined {
  const newest = history.toSorted((a, b) => a.version - b.version).at(-1);
  if (newest === undefined) return 'missing';
  if (newest.version > order.version) return 'older';
  if (newest.version === order.version && newest.state !== order.state) return 'older';
  if (isFromEarlierRound(order, history)) return 'older';
  if (order.task === 'mandate') return findMandateDifference(order, history);
  for (const item of order.items) {
    if (item.state !== 'WAITING' && item.state !== 'SENT') continue;
    const logged = readLoggedItem(history, item, isWitnessed(order.id));
    const isStopping = item.state === 'SENT' && logged.state === 'stopping';
    const limit = isStopping ? undefined : findLimit(order, item, history, isWitnessed);
    if (limit !== undefined && !(limit === 'missing' && order.bulk !== undefined)) return limit;
  }
  return undefined;
}

/** If a row hides a reopening, its approvals are invalid. */
function isFromEarlierRound({ approvalRound }: Order, history: readonly OrderLogEntry[]): boolean {
  return history.filter(({ kind }) => kind === 'reopened').length > approvalRound;
}

/**
 * Events after which a mandate isn't active. `finished` isn't one: a mandate's order finishes when the mandate starts.
 */
export const MANDATE_LIMIT_KINDS: readonly OrderLogEntry['kind'][] = [
  'mandate_ended',
  ...LIMIT_KINDS.filter((kind) => kind !== 'finished'),
];

/** A mandate is active from `in_force` until an event of {@link MANDATE_LIMIT_KINDS}. */
function findMandateDifference({ state, mandateEnd }: Order, history: readonly OrderLogEntry[]) {
  if (state !== 'SUCCEEDED' || mandateEnd !== undefined) return undefined;
  if (!history.some(({ kind }) => kind === 'in_force')) return 'missing';
  return history.some(({ kind }) => MANDATE_LIMIT_KINDS.includes(kind)) ? 'ended' : undefined;
}

/** The event that stops an order if its rows differ from its log; undefined if they match. */
export function buildContradiction(
  order: Order,
  history: readonly OrderLogEntry[],
  isWitnessed: IsWitnessed,
): Extract<OrderEvent, { readonly type: 'contradicted' }> | undefined {
  const difference = findLogDifference(order, history, isWitnessed);
  if (difference === undefined) return undefined;
  const loggedOutcomes = new Map(
    order.items.map((item) => [item.n, readLoggedItem(history, item, isWitnessed(order.id)).done]),
  );
  const version = Math.max(order.version, ...history.map((entry) => entry.version));
  return { type: 'contradicted', difference, version, loggedOutcomes };
}
