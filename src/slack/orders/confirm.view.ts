import { isDemoContext } from '../../accounts/account.ts';
import type { DraftBriefing } from '../../approvals/briefing.ts';
import type { Impact } from '../../names/impact.ts';
import type { Order } from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { actions, context, escapeText, lineSections, type Message, message } from '../kit/blocks.ts';
import { accountLine, lastChangeLine, restorabilityLines, systemText } from './card.view.ts';
import { impactWarnings } from './impact.view.ts';
import { orderButton, orderTitle } from './order.view.ts';
import { commonFields } from './statement.view.ts';
import { formatTaskNote } from './task-notes.view.ts';

/* The message that asks the requester to confirm a draft. It shows the effect and the impact. */

/** @param impact undefined if the task has no risk */
export function confirmationMessage(
  order: Order,
  briefing: DraftBriefing,
  impact?: Impact | 'unseen',
): Message {
  const title = `${isDemoContext(order.account.context) ? 'DEMO · ' : ''}${orderTitle(order)}?`;
  const { words, listNotes } = getOrderTask(order.task);
  const restoreTexts = restorabilityLines(order, briefing);
  // A known impact already says what will stop working.
  const hasImpact = impact !== undefined && impact !== 'unseen';
  const noteLines = listNotes(order.items.map((item) => item.name))
    .filter(
      ({ code }) =>
        !(hasImpact && code === 'website_and_mail_stop') &&
        !(restoreTexts.length > 0 && code === 'restorable_then_available'),
    )
    .map((note) => `• ${escapeText(formatTaskNote(note))}`);
  const confirmText = words.confirmLabel ?? `Yes, ${words.verb.toLowerCase()}`;
  const texts = [
    `*${escapeText(title)}*`,
    ...commonFields(briefing.statement, order).map(
      ([label, value]) => `${label}: ${value.replaceAll('\n', ', ')}`,
    ),
    ...(impact === undefined ? [] : impactWarnings(impact)),
    accountLine(order),
    lastChangeLine(briefing),
    ...noteLines,
    ...restoreTexts,
  ];
  const confirmButton = orderButton(order, 'order_confirm', confirmText, 'danger');
  return message(escapeText(title), [
    ...lineSections(texts),
    ...actions(`confirm_${order.id}`, [confirmButton]),
    context(`${systemText(order)} · Nothing has been sent yet. This request expires in 15 minutes.`),
  ]);
}
