import type { Button } from '@slack/types';
import type { PendingRequirements } from '../../approvals/approvers.ts';
import { isReviewOpen, type Order } from '../../orders/order.ts';
import {
  button,
  code,
  escapeLine,
  escapeText,
  type Message,
  mention,
  mentionApprover,
  textMessage,
} from '../kit/blocks.ts';
import {
  type HistoryEvent,
  type HistoryEventOf,
  type NotifiedPeople,
  notifiedText,
  orderTitle,
  reasonSuffix,
} from '../orders/order.view.ts';

type EmergencyEvent = HistoryEventOf<'emergency_approved'>;

/** Other approvers are mentioned in the thread. */
const MAX_RECIPIENTS = 20;

export function listEmergencyRecipients({ approvers }: EmergencyEvent): readonly string[] {
  return approvers.slice(0, MAX_RECIPIENTS);
}

const MAX_REASON_LENGTH = 80;

export function emergencyText(order: Order, history: readonly HistoryEvent[]): string {
  const reason = history.findLast((event) => event.kind === 'emergency_approved')?.reason ?? '';
  const reasonText = reason === '' ? '' : `: “${escapeLine(reason, MAX_REASON_LENGTH)}”`;
  return `:rotating_light: ${mention(order.emergencyApprovedBy ?? '')} used break glass (${formatReviewState(order)})${reasonText}`;
}

function formatReviewState({ signedOffBy }: Order): string {
  return signedOffBy === undefined ? 'not reviewed yet' : `signed off by ${mention(signedOffBy)}`;
}

/** For *Details*, with the full reason. Undefined after a regular approval. */
export function emergencyField(order: Order, history: readonly HistoryEvent[]): string | undefined {
  const event = history.findLast((entry) => entry.kind === 'emergency_approved');
  if (order.emergencyApprovedBy === undefined) return undefined;
  const reasonText = event === undefined ? '' : reasonSuffix(event);
  return `By ${mention(order.emergencyApprovedBy)} with break glass${reasonText}, ${formatReviewState(order)}`;
}

/**
 * For the thread. Mentions everyone who didn't get a direct message.
 * @param notifiedPeople people who got a direct message
 */
export function emergencyReply(order: Order, event: EmergencyEvent, notifiedPeople: NotifiedPeople): Message {
  const mentionedIds = [...event.approvers.slice(MAX_RECIPIENTS), ...event.unreadableGroups];
  const notifiedNote = ` ${notifiedText(notifiedPeople)}`;
  const mentionsText =
    mentionedIds.length === 0
      ? ''
      : ` ${mentionedIds.map(mentionApprover).join(', ')}: you could have approved it too.`;
  const impactNote = event.isImpactUnknown === true ? ' The impact wasn’t known yet.' : '';
  return textMessage(
    `:rotating_light: *${escapeText(orderTitle(order))}*, requested by ${mention(order.requesterId)}: ${mention(event.actor)} approved this alone (break glass)${reasonSuffix(event)}.${notifiedNote}${mentionsText}${impactNote} Another admin has to sign off on it.`,
  );
}

export function signedOffReply(order: Order, event: HistoryEvent): Message {
  const adminId = order.emergencyApprovedBy;
  const approvalText =
    adminId === undefined ? 'the emergency approval' : `${mention(adminId)}’s emergency approval`;
  return textMessage(
    `:white_check_mark: *${escapeText(orderTitle(order))}*: ${mention(event.actor)} signed off on ${approvalText}. The review is closed.`,
  );
}

export function emergencyDirectMessage(order: Order, event: EmergencyEvent): Message {
  return textMessage(
    `:rotating_light: ${mention(event.actor)} approved *${escapeText(orderTitle(order))}* alone (break glass), so it needs no other approval${reasonSuffix(event)}. Requested by ${mention(order.requesterId)}. Another admin has to sign off on it, on its card or my Home tab. To see it, use ${code(`/domain order ${order.id}`)}.`,
  );
}

export function breakGlassButtons(
  order: Order,
  pendingRequirements: PendingRequirements | undefined,
): Button[] {
  if (order.state !== 'PENDING' || pendingRequirements?.requirements.breakGlass !== true) return [];
  return [
    button('order_break_glass', 'Break glass', order.id, {
      style: 'danger',
      label: `Break glass, for admins: ${orderTitle(order)}`,
    }),
  ];
}

/** Shown until the review is done, whatever the order's state. */
export function signOffButtons(order: Order): Button[] {
  if (!isReviewOpen(order)) return [];
  return [
    button('order_sign_off', 'Sign off', order.id, {
      label: `Sign off the emergency approval: ${orderTitle(order)}`,
    }),
  ];
}

export function emergencyReviewText(order: Order): string {
  const adminId = order.emergencyApprovedBy;
  return `*${escapeText(orderTitle(order))}*, order ${code(order.id)}: approved alone by ${adminId === undefined ? 'an admin' : mention(adminId)} (break glass), requested by ${mention(order.requesterId)}${order.reason === undefined ? '' : `: “${escapeLine(order.reason)}”`}`;
}
