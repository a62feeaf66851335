import { count, mention } from '../../kit/blocks.ts';
import type { HistoryEvent } from '../../orders/order.view.ts';
import { loggedApprovers } from '../decision.view.ts';

/** Tells a signer what has happened to an order since it was asked for. */
export function sinceAsked(history: readonly HistoryEvent[], isStricter: boolean): string[] {
  const approvers = loggedApprovers(history);
  return [
    ...(isStricter
      ? ['It needs more now than when it was asked for: the policy or the settings changed.']
      : []),
    ...(approvers.length === 0
      ? []
      : [`${count(approvers.length, 'approval')} so far: ${approvers.map(mention).join(', ')}.`]),
  ];
}
