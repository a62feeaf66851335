import type { Order } from '../../orders/order.ts';
import { code, escapeText, formatLocalTime, type Message, mention, textMessage } from '../kit/blocks.ts';
import { canApproveText, orderTitle } from '../orders/order.view.ts';

export function reminderNotice(order: Order): Message {
  const deadlineText =
    order.expiresAt === undefined ? '' : ` Approve it by ${formatLocalTime(order.expiresAt)}.`;
  return textMessage(
    `:bell: *${escapeText(orderTitle(order))}* is still waiting for your approval. Requested by ${mention(order.requesterId)}.${deadlineText}`,
  );
}

export function escalationNotice(order: Order, approvers: readonly string[]): Message {
  return textMessage(
    `:mega: *${escapeText(orderTitle(order))}* has been waiting for approval since ${formatLocalTime(order.createdAt)}. Requested by ${mention(order.requesterId)}.${canApproveText(approvers)} To see it, use ${code(`/domain order ${order.id}`)}.`,
  );
}
