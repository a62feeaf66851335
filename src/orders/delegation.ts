import { HOUR_MS } from '../lib/duration.ts';
import { changeOrder } from './change-order.ts';
import type { SendingContext } from './context.ts';
import { findDelegationItems } from './due.ts';
import { findUndoDeadline, type Order, type OrderItem, UNDO_HOURS } from './order.ts';
import type { DelegationLookup, OrderStore } from './ports.ts';

/** How long new nameservers may take to answer before people are notified. */
const MAX_PROPAGATION_MS = HOUR_MS;

/**
 * Checks for 48 hours whether an order's new nameservers answer, and records each change. Afterwards, updates the card
 * to remove the undo button. Idempotent across replicas.
 */
export async function recordDelegationChanges(deps: SendingContext, order: Order): Promise<void> {
  const { lookUpDelegation, log, lookupSignal, now } = deps;
  for (const item of findDelegationItems(order)) {
    if (lookupSignal.aborted) return;
    const checksEndAt = findUndoDeadline(order, item);
    if (checksEndAt === undefined) continue;
    if (checksEndAt <= now()) {
      await deps.store.queueMessageUpdate(order.id, now());
      continue;
    }
    if (await wasSuperseded(deps.store, order, item)) continue;
    const lookup = await lookUpDelegation(order, item).catch((err: unknown): DelegationLookup => {
      log.warn({ err, orderId: order.id, ctid: item.ctid }, 'checking the new nameservers failed');
      return { kind: 'unknown' };
    });
    const report = decideDelegationReport(lookup, checksEndAt, now());
    if (report === undefined) continue;
    // The state machine refuses a report that repeats the last one.
    await changeOrder(deps, order.id, () => ({ event: { type: 'delegation_seen', n: item.n, ...report } }));
  }
}

/** @returns undefined if the result is unknown, or if it is too early to report unresponsive nameservers */
export function decideDelegationReport(lookup: DelegationLookup, checksEndAt: Date, now: Date) {
  const ageMs = now.getTime() - (checksEndAt.getTime() - UNDO_HOURS * HOUR_MS);
  const isTooEarly = lookup.kind === 'not_answering' && ageMs < MAX_PROPAGATION_MS;
  if (lookup.kind === 'unknown' || isTooEarly) return undefined;
  const hosts = lookup.kind === 'not_answering' ? lookup.hosts : [];
  return { delegation: lookup.kind, hosts, hours: Math.floor(ageMs / HOUR_MS) };
}

/** Whether a later order, such as an undo, has set the name's nameservers again. */
async function wasSuperseded(store: OrderStore, order: Order, { name }: OrderItem): Promise<boolean> {
  const [latest] = await store.list({
    viewer: 'system',
    tasks: ['nameservers'],
    states: ['SUCCEEDED'],
    name,
    isLive: true,
    limit: 1,
  });
  return latest !== undefined && latest.createdAt > order.createdAt;
}
