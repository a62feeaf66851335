import { expireOrder, remindApprovers } from '../approvals/decide.ts';
import { type EscalateDeps, escalateOrder } from '../approvals/escalate.ts';
import { advanceMandate, putInForce } from '../mandates/life.ts';
import type { MandateStore } from '../mandates/ports.ts';
import { type LookAtRegistry, recordRegistryConfirmations } from './accepted.ts';
import { isPaused } from './bulk/waves.ts';
import { changeOrder } from './change-order.ts';
import { stopContradicted } from './check-statement.ts';
import { type LookAtDelegation, recordDelegations } from './delegation.ts';
import { DUE_LANES, dueAt, unfollowedItems } from './due.ts';
import { type LookForEvidence, resolveByEvidence } from './evidence.ts';
import { type ExecuteDeps, executeOrder } from './execute.ts';
import { differenceFromLog } from './log-limits.ts';
import type { Order } from './order.ts';
import type { Directory, DueLane } from './ports.ts';
import { taskNamed } from './tasks.ts';

export interface AdvanceDeps extends ExecuteDeps, EscalateDeps {
  readonly directory: Directory;
  readonly mandates: Pick<MandateStore, 'hold' | 'unsentOf'>;
  /** Takes the success of an item into the watch list, once however often it is asked to. */
  readonly follow: (order: Order, n: number) => Promise<void>;
  readonly lookForEvidence: LookForEvidence;
  readonly lookAtRegistry: LookAtRegistry;
  readonly lookAtDelegation: LookAtDelegation;
  /** Aborts requests to the service at shutdown. */
  readonly stopSending: AbortSignal;
  /** Aborts look-ups at shutdown. */
  readonly stopLooking: AbortSignal;
}

/**
 * Does what is next for an order, as its row says. Every step is a compare-and-swap, so it is safe to repeat, also on
 * several replicas at once. It continues whatever a crash, a lost wake-up or another process left behind.
 * @param lane an order that has left it meanwhile is left to the lane where it is now: looking at slow registries must
 * not keep others from being carried out
 */
export async function advance(deps: AdvanceDeps, orderId: string, lane: DueLane): Promise<void> {
  const found = await deps.store.loadWithHistory(orderId, 'system');
  if (found === undefined || !DUE_LANES[lane].includes(found.order.state)) return;
  const { order, history } = found;
  const difference = differenceFromLog(order, history, deps.store.isWitnessed);
  if (difference !== undefined) {
    deps.log.error({ orderId, difference }, 'the rows of an order differ from its log');
    await changeOrder(deps, orderId, (current) => stopContradicted(deps, current));
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
      else if (!taskNamed(order.task).sends) {
        if (!(await putInForce(deps, orderId))) await deps.store.putOff(orderId);
      } else await executeOrder(deps, order, deps.stopSending);
      return;
    case 'EXECUTING':
      return takeOver(deps, orderId);
    default:
      return observe(deps, order);
  }
}

/** Continues an order whose worker has died. The claim of due orders has already taken it from that worker. */
async function takeOver(deps: AdvanceDeps, orderId: string): Promise<void> {
  const outcome = await changeOrder(deps, orderId, ({ claim }) =>
    claim === undefined ? { event: { type: 'released' } } : { refusal: { code: 'not_due' } },
  );
  if (outcome.ok) deps.log.warn({ orderId, state: outcome.order.state }, 'took over an abandoned order');
}

/** Adds successes to the watch list. Once all are there, public records are looked at. */
async function observe(deps: AdvanceDeps, order: Order): Promise<void> {
  if (order.task === 'mandate') await advanceMandate(deps, order);
  const followed = new Set(unfollowedItems(order).map(({ n }) => n));
  for (const n of followed) await deps.follow(order, n);
  if (followed.size === 0) {
    const looking = { ...deps, signal: deps.stopLooking };
    await resolveByEvidence({ ...looking, look: deps.lookForEvidence }, order);
    await recordRegistryConfirmations({ ...looking, look: deps.lookAtRegistry }, order);
    await recordDelegations({ ...looking, look: deps.lookAtDelegation }, order);
    if (deps.stopLooking.aborted) return;
  }
  const items = order.items.map((item) => (followed.has(item.n) ? { ...item, isFollowed: true } : item));
  await deps.store.reschedule(order, dueAt({ ...order, items }, deps.now()));
}
