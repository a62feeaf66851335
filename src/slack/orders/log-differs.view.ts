import type { Order } from '../../orders/order.ts';
import type { AnyOrderLogEntry } from '../../orders/order-events.ts';
import type { LogDifference } from '../../orders/summary.ts';
import { code, escapeText, type Message, textMessage } from '../kit/blocks.ts';
import { orderTitle } from './order.view.ts';

const DIFFERENCE_TEXTS: Readonly<Record<LogDifference, string>> = {
  missing: 'the log doesn’t have what the database has',
  older: 'the database has an older status',
  sent: 'the database says it waits to be sent, but it was already sent',
  ended: 'the database says it’s open, but it has ended',
};

/** Tells an admin that the rows of an order differ from its log. */
export function logMismatchNotice(order: Order, { difference = 'older' }: AnyOrderLogEntry): Message {
  return textMessage(
    `:rotating_light: *${escapeText(orderTitle(order))}*: my database and the log disagree (${DIFFERENCE_TEXTS[difference]}), so I sent nothing more. Someone with write access to the database may have done this. Find out who has access, and what else changed. To see it, use ${code(`/domain order ${order.id}`)}.`,
  );
}
