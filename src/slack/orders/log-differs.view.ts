import type { Order } from '../../orders/order.ts';
import type { AnyOrderLogEntry } from '../../orders/order-events.ts';
import type { LogDifference } from '../../orders/summary.ts';
import { code, escapeText, type Message, textMessage } from '../kit/blocks.ts';
import { orderTitle } from './order.view.ts';

const DIFFERENCES: Readonly<Record<LogDifference, string>> = {
  missing: 'the log doesn’t have what the database says',
  older: 'the database has an older state of it',
  sent: 'the database says that it waits to be sent, but it was sent before',
  ended: 'the database says that it goes on, but it has ended',
};

/** To an admin: the rows of an order differ from its log. */
export function logDiffersNotice(order: Order, { found = 'older' }: AnyOrderLogEntry): Message {
  return textMessage(
    `:rotating_light: *${escapeText(orderTitle(order))}*: my database and my log disagree, so I sent nothing more: ${DIFFERENCES[found]}. Somebody who can write to my database may have done this. Find out who can, and what else was changed. See it with ${code(`/domain order ${order.id}`)}.`,
  );
}
