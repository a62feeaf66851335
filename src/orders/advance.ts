import { escalateOrder, expireOrder, remindApprovers } from '../approvals/pending.ts';
import { activateMandate, advanceMandate } from '../mandates/life.ts';
import { recordRegistryConfirmations } from './accepted.ts';
import { isPaused } from './bulk/waves.ts';
import { changeOrder } from './change-order.ts';
import { decideContradiction } from './check-statement.ts';
import type { SendingContext } from './context.ts';
import { recordDelegationChanges } from './delegation.ts';
import { computeDueTime, findItemsPendingWatchListUpdate, STATES_BY_DUE_LANE } from './due.ts';
import { resolveByEvidence } from './evidence.ts';
import { findLogDifference } from './log-limits.ts';
import type { Order } from './order.ts';
import type { DueLane } from './ports.ts';
import { sendOrder } from './send-order.ts';
import { getOrderTask } from './tasks.ts';

/**
 * Takes an order's next step. The step depends only on database rows, so any process can take it, even after a crash.
 * Every step is a compare-and-swap, and therefore idempotent across replicas.
 * @param lane the lane in which the order was due. An order that has left the lane is skipped, so that slow registry
 * lookups don't delay execution
 */
export async function advanceOrder(deps: SendingContext, orderId: string, lane: DueLane): Promise<void> {
  const loaded = await deps.store.loadWithHistory(orderId, 'system');
  if (loaded === undefined || !STATES_BY_DUE_LANE[lane].includes(loaded.order.state)) return;
  const { order, history } = loaded;
  const difference = findLogDifference(order, history, deps.store.isSignedByBot);
  if (difference !== undefined) {
    deps.log.error({ orderId, difference }, 'an order differs from its log');
    await changeOrder(deps, orderId, (current) => decideContradiction(deps, current));
    return;
  }
  switch (order.state) {
    case 'PENDING':
      if ((await expireOrder(deps, orderId)).ok) return;
      await remindApprovers(deps, orderId);
      await escalateOrder(deps, orderId);
      return;
    case 'APPROVED':
      if (isPaused(order)) await expireOrder(deps, orderId);
      // The order waits until a domain service is connected again.
      else if (deps.serviceEndpoints.jsonUrl === undefined) await deps.store.postpone(orderId);
      else if (!getOrderTask(order.task).sendsRequests) {
        if (!(await activateMandate(deps, orderId))) await deps.store.postpone(orderId);
      } else await sendOrder(deps, order);
      return;
    case 'EXECUTING':
      return releaseAbandonedOrder(deps, orderId);
    default:
      return followUpOnOrder(deps, order);
  }
}

/** Releases an order whose worker has died. `claimDue` has already ended the dead worker's claim. */
async function releaseAbandonedOrder(deps: SendingContext, orderId: string): Promise<void> {
  const outcome = await changeOrder(deps, orderId, ({ claim }) =>
    claim === undefined ? { event: { type: 'released' } } : { refusal: { code: 'not_due' } },
  );
  if (outcome.ok) deps.log.warn({ orderId, state: outcome.order.state }, 'released an abandoned order');
}

async function followUpOnOrder(deps: SendingContext, order: Order): Promise<void> {
  if (order.task === 'mandate') await advanceMandate(deps, order);
  const updatedItemNumbers = new Set(findItemsPendingWatchListUpdate(order).map(({ n }) => n));
  for (const n of updatedItemNumbers) await deps.updateWatchList(order, n);
  if (updatedItemNumbers.size === 0) {
    await resolveByEvidence(deps, order);
    await recordRegistryConfirmations(deps, order);
    await recordDelegationChanges(deps, order);
    if (deps.lookupSignal.aborted) return;
  }
  const items = order.items.map((item) =>
    updatedItemNumbers.has(item.n) ? { ...item, isWatchListUpdated: true } : item,
  );
  await deps.store.reschedule(order, computeDueTime({ ...order, items }, deps.now()));
}
