import type { Order } from '../../orders/order.ts';
import { count, mention } from '../kit/blocks.ts';

/** What has happened to an order since it was asked for, as far as whoever signs it has to know. */
export function sinceAsked({ approvals }: Pick<Order, 'approvals'>, isStricter: boolean): string[] {
  return [
    ...(isStricter
      ? ['It needs more now than when it was asked for: the policy or the settings changed.']
      : []),
    ...(approvals.length === 0
      ? []
      : [
          `${count(approvals.length, 'approval')} so far: ${approvals.map(({ userId }) => mention(userId)).join(', ')}.`,
        ]),
  ];
}
