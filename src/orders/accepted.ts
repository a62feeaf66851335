import { DAY_MS } from '../lib/duration.ts';
import { changeOrder } from './change-order.ts';
import type { SendingContext } from './context.ts';
import { findUnconfirmedItems } from './due.ts';
import type { Order, OrderItem } from './order.ts';
import type { NextStep } from './order-task.ts';
import { getOrderTask } from './tasks.ts';

/** People are notified to ask the service if the registry doesn't show the result after this many days. */
const OVERDUE_DAYS: Readonly<Record<NextStep, number>> = {
  // A transfer completes five days after its request.
  transfer_period: 7,
  // Early in the redemption period, which usually lasts 30 days.
  manual_processing: 3,
  no_public_record: Number.POSITIVE_INFINITY,
};

/**
 * Records that the registry shows an accepted task as done, or that the task is overdue. Idempotent across replicas.
 */
export async function recordRegistryConfirmations(deps: SendingContext, order: Order): Promise<void> {
  const { lookUpAtRegistry, log, lookupSignal } = deps;
  for (const item of findUnconfirmedItems(order)) {
    if (lookupSignal.aborted) return;
    const lookup = await lookUpAtRegistry(order, item).catch((err: unknown) => {
      log.warn({ err, orderId: order.id, ctid: item.ctid }, 'checking the registry for a result failed');
      return 'unknown';
    });
    const { n } = item;
    if (lookup === 'shown')
      await changeOrder(deps, order.id, () => ({ event: { type: 'confirmed_by_registry', n } }));
    const days = lookup === 'not_shown' ? countDaysIfOverdue(order, item, deps.now()) : undefined;
    if (days !== undefined)
      await changeOrder(deps, order.id, () => ({ event: { type: 'overdue', n, days } }));
  }
}

function countDaysIfOverdue({ task }: Order, { answeredAt }: OrderItem, now: Date): number | undefined {
  const { nextStep } = getOrderTask(task);
  if (nextStep === undefined || answeredAt === undefined) return undefined;
  const days = Math.floor((now.getTime() - answeredAt.getTime()) / DAY_MS);
  return days >= OVERDUE_DAYS[nextStep] ? days : undefined;
}
