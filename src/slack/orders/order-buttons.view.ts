import type { ModalView } from '@slack/types';
import { isPaused } from '../../orders/bulk/waves.ts';
import { isFinal, type Order } from '../../orders/order.ts';
import { displayName } from '../../zones/names.ts';
import { code, context, count, escapeText, section } from '../kit/blocks.ts';
import { noticeView, verbatim } from '../kit/form.ts';
import { orderTitle } from './order.view.ts';

/* What a person is told who presses a button of an order, where its card does not say it. */

/** The order that something was done to. */
export function titleWithId(order: Order): string {
  return `*${escapeText(orderTitle(order))}*, order ${code(order.id)}`;
}

export function approvedText(title: string, { state }: Order): string {
  if (state === 'FAILED') return `${title} was stopped, nothing was sent. Its thread says why.`;
  return state === 'PENDING'
    ? `Your approval counts: ${title}. It needs somebody else’s too.`
    : `Approved: ${title}. Its thread says how it ends.`;
}

export function resumedText(title: string, order: Order): string {
  if (isPaused(order))
    return `Your approval counts: ${title}. It needs somebody else’s too before it goes on.`;
  return isFinal(order.state)
    ? `${title} was stopped, nothing more was sent. Its thread says why.`
    : `It goes on: ${title}.`;
}

export const signedOffText = (title: string) => `Signed off: ${title}. The review is closed.`;
export const cancelledText = (title: string) => `Cancelled: ${title}. Nothing was sent.`;
export const stoppedText = (title: string) => `Stopped: ${title}. What waited is not sent any more.`;
export const confirmedText = (order: Order) =>
  `Confirmed: ${escapeText(orderTitle(order))}. Its card follows.`;
export const UNDO_ASKED = 'Asked for. Its card follows.';

/** The reason of an order that undoes another one. */
export const undoReason = (orderId: string) => `Undo of order ${orderId}`;

export const otherNameText = (name: string) =>
  `This is another name. Type ${displayName(name)} to confirm, or close this.`;

/** Of an order of many names. */
export const NOT_ON_LIST = 'None of these names. Type one of them as it stands in your file, or close this.';
export const otherCountText = (names: number) =>
  `These are ${count(names, 'name')}. Look at the plan again if you expected another number.`;

/** A secret that the service made, to the person who asked for it. */
export function secretView(order: Order, secret: string): ModalView {
  return noticeView(order.task === 'authcode' ? 'Auth code' : 'Generated password', [
    section(escapeText(orderTitle(order))),
    verbatim(secret),
    context('Shown once. When you close this it is gone: copy it now.'),
  ]);
}

export const BREAK_GLASS_INTRO = section(
  'You approve this *alone*, and it is sent at once. Everybody who could have approved is told, with your reason. It stays open for review until another admin signs it off.',
);

/** Why all that an order sends is shown to somebody who pressed something else. */
export const ROWS_UNSEEN =
  'Its rows did not stand where you pressed, so nothing has changed yet. They stand here: look at them, then press again.';
