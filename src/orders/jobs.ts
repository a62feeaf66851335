import { FOLLOWED_TASKS, type Order } from './order.ts';
import type { OrderJob } from './ports.ts';

/*
 * What is to be done after a change of an order.
 */

/** The jobs that a fresh, confirmed or approved order causes. */
export function jobsAfter(order: Order): OrderJob[] {
  const data = { orderId: order.id };
  switch (order.state) {
    case 'DRAFT':
      return [];
    case 'PENDING':
      return [
        { queue: 'order.show', data },
        ...(order.expiresAt === undefined
          ? []
          : [{ queue: 'order.expire', data, startAfter: order.expiresAt } as const]),
        ...(order.remindAt === undefined
          ? []
          : [{ queue: 'order.nudge', data, startAfter: order.remindAt } as const]),
      ];
    case 'APPROVED':
      return [
        { queue: 'order.execute', data, known: order },
        // Once it has its card, what it comes to is mostly there before anybody could have seen that it was approved. The
        // execution has it shown when it takes longer, and recovery when it does not begin.
        ...(order.approvals.length === 0 ? [{ queue: 'order.show', data } as const] : []),
      ];
    default:
      return [{ queue: 'order.show', data }];
  }
}

/**
 * The jobs that follow when it is known what became of items.
 * @param succeeded numbers of those that were carried out
 */
export function jobsAfterOutcome(order: Order, succeeded: readonly number[]): OrderJob[] {
  const orderId = order.id;
  const followed = FOLLOWED_TASKS.includes(order.task) ? succeeded : [];
  return [
    { queue: 'order.show', data: { orderId } },
    ...followed.map((n) => ({ queue: 'expiry.follow', data: { orderId, n } }) as const),
  ];
}
