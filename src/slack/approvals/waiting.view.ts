import type { Order } from '../../orders/order.ts';
import { code, escapeText, type Message, mention, moment, textMessage } from '../kit/blocks.ts';
import { approverList, orderTitle } from '../orders/order.view.ts';

export function reminderNotice(order: Order): Message {
  const deadlineText = order.expiresAt === undefined ? '' : ` Approve it by ${moment(order.expiresAt)}.`;
  return textMessage(
    `:bell: *${escapeText(orderTitle(order))}*, requested by ${mention(order.requesterId)}, still needs your approval.${deadlineText}`,
  );
}

export function escalationNotice(order: Order, approvers: readonly string[]): Message {
  const approversText = approvers.length === 0 ? '' : ` ${approverList(approvers)} can approve it.`;
  return textMessage(
    `:mega: *${escapeText(orderTitle(order))}*, requested by ${mention(order.requesterId)}, has been waiting for approval since ${moment(order.createdAt)}.${approversText} See it with ${code(`/domain order ${order.id}`)}.`,
  );
}
