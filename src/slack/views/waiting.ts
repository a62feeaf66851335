import type { Order } from '../../orders/order.ts';
import { code, escapeText, type Message, mention, message, moment, section } from './blocks.ts';
import { approverList, orderTitle } from './order.ts';

/** To one approver, under the card that they were sent: it still waits. */
export function reminderNotice(order: Order): Message {
  const until = order.expiresAt === undefined ? '' : ` Open until ${moment(order.expiresAt)}.`;
  return sentence(
    `:bell: This still waits for your approval: *${escapeText(orderTitle(order))}*, asked by ${mention(order.requesterId)}.${until}`,
  );
}

/** To one of those who are called about an order that has waited for long. */
export function escalationNotice(order: Order, approvers: readonly string[]): Message {
  const can = approvers.length === 0 ? '' : ` ${approverList(approvers)} can approve it.`;
  return sentence(
    `:mega: This has waited for approval since ${moment(order.createdAt)}: *${escapeText(orderTitle(order))}*, asked by ${mention(order.requesterId)}.${can} See it with ${code(`/domain order ${order.id}`)}.`,
  );
}

/** To admins: the cards of waiting orders cannot be posted in the channel of the approvers. */
export function approvalChannelAlert(channelId: string, why: string): Message {
  return sentence(
    `:warning: I cannot post in <#${channelId}> (${code(channelId)}), where approvers are to find every waiting order. Slack says ${code(why)}. Until I can, I write to each approver. Invite me there with \`/invite @Domain Steward\`, or choose another channel with \`/domain settings\`.`,
  );
}

function sentence(text: string): Message {
  return message(text, [section(text)]);
}
