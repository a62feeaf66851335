import type { ModalView } from '@slack/types';
import { isPaused } from '../../orders/bulk/waves.ts';
import { isFinal, type Order } from '../../orders/order.ts';
import { formatDomainName } from '../../zones/names.ts';
import { code, context, escapeText, formatCount, section } from '../kit/blocks.ts';
import { noticeView, preformattedBlock } from '../kit/form.ts';
import { orderTitle } from './order.view.ts';

/* Replies to the buttons of an order, if the card doesn't show the result. */

export function titleWithId(order: Order): string {
  return `*${escapeText(orderTitle(order))}*, order ${code(order.id)}`;
}

export function approvedText(title: string, { state }: Order): string {
  if (state === 'FAILED') return `${title} was stopped. Nothing was sent. See its thread for the reason.`;
  return state === 'PENDING'
    ? `You approved ${title}. It needs another approval.`
    : `Approved: ${title}. The result will appear in its thread.`;
}

export function resumedText(title: string, order: Order): string {
  if (isPaused(order)) return `You approved ${title}. It needs another approval before it resumes.`;
  return isFinal(order.state)
    ? `${title} was stopped. Nothing more was sent. See its thread for the reason.`
    : `Resumed: ${title}.`;
}

export const signedOffText = (title: string) => `Signed off: ${title}. The review is closed.`;
export const cancelledText = (title: string) => `Canceled: ${title}. Nothing was sent.`;
export const stoppedText = (title: string) => `Stopped: ${title}. The remaining names won’t be sent.`;
export const confirmedText = (order: Order) =>
  `You confirmed “${escapeText(orderTitle(order))}”. I’m posting the card.`;
export const UNDO_REQUESTED = 'Undo requested. I’m posting the card.';

export const outcomeTitle = (isDone: boolean) => (isDone ? 'Mark as done' : 'Mark as failed');

export const undoReason = (orderId: string) => `Undo of order ${orderId}`;

export const wrongNameText = (name: string) =>
  `That’s a different name. Type ${formatDomainName(name)} to confirm, or close this.`;

export const NAME_NOT_IN_ORDER =
  'That name isn’t in this order. Type one of its names as in your file, or close this.';
export const wrongCountText = (expectedCount: number) =>
  `There are ${formatCount(expectedCount, 'name')}. Check the plan again if you expected another number.`;

/** Shows the requester a secret that the service generated. */
export function secretView(order: Order, secret: string): ModalView {
  return noticeView(order.task === 'authcode' ? 'Auth code' : 'Generated password', [
    section(escapeText(orderTitle(order))),
    preformattedBlock(secret),
    context('This is shown only once. Copy it before you close this.'),
  ]);
}

export const BREAK_GLASS_INTRO = section(
  'You’re approving this *alone*, and it’s sent immediately. Everyone who could have approved is notified, with your reason. Another admin reviews it afterwards.',
);

/** Says why the click opened *Details*. */
export const ROWS_NOT_SHOWN =
  'You haven’t seen all rows yet, so nothing changed. Check them here, then click the button again.';
