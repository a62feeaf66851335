import type { Order } from '../../orders/order.ts';
import {
  code,
  context,
  formatCount,
  lineSections,
  type Message,
  message,
  removeMarkup,
  section,
} from '../kit/blocks.ts';
import { buildPageControls, type Page } from '../kit/pages.ts';
import { orderLineWithTimes, ordersTable } from './order.view.ts';

export interface ListTexts {
  readonly title: string;
  readonly emptyText: string;
}

export const LIST_TEXTS = {
  latest: {
    title: 'Latest orders',
    emptyText: 'No orders yet. Try `/domain renew cafe.rest`.',
  },
  pending: { title: 'Orders waiting for approval', emptyText: 'Nothing is waiting for approval.' },
  review: {
    title: 'Emergency approvals waiting for sign-off',
    emptyText: 'Nothing is waiting for sign-off.',
  },
  mine: { title: 'Your orders', emptyText: 'You haven’t requested anything yet.' },
} satisfies Readonly<Record<string, ListTexts>>;

export function buildNameListTexts(name: string): ListTexts {
  return { title: `Orders for ${code(name)}`, emptyText: `No orders for ${code(name)}.` };
}

export const ORDERS_PER_PAGE = 20;

/** @param query the command's filter, such as `pending` */
export function ordersMessage(title: string, page: Page<Order>, query: string): Message {
  return message(title, [
    ordersTable(removeMarkup(title), page.items),
    ...buildPageControls('orders', page, ORDERS_PER_PAGE, query),
    context('To see an order with its history, use `/domain order ID`.'),
  ]);
}

/** A part of the digest: orders that will be sent soon, sorted by time. */
export function scheduledOrdersMessage(
  orders: readonly Order[],
  timeSpan: 'tomorrow' | 'next_digest',
): Message {
  const period = timeSpan === 'tomorrow' ? 'Tomorrow' : 'Until the next digest';
  const title = `${period}: ${formatCount(orders.length, 'scheduled order')}`;
  return message(title, [
    section(`*${title}*`),
    ...lineSections(orders.slice(0, ORDERS_PER_PAGE).map((order) => `• ${orderLineWithTimes(order)}`)),
    orders.length > ORDERS_PER_PAGE &&
      section(`… and ${orders.length - ORDERS_PER_PAGE} more. See them with ${code('/domain orders')}.`),
    context('An approver or the requester can stop an order on its card.'),
  ]);
}

export const ORDERS_USAGE =
  'Use `pending`, `mine`, `review`, or one name, such as `/domain orders cafe.rest`.';
export const ORDER_ID_MISSING =
  'Enter an order’s ID, such as `/domain order 7k2m9qx4h1ab`. `/domain orders` lists them.';

export function noSuchOrderText(id: string): string {
  const listHint = id.includes('.')
    ? 'To list the orders of a name, use `/domain orders cafe.rest`.'
    : 'To list the latest orders, use `/domain orders`.';
  return `Order ${code(id)} doesn’t exist. ${listHint}`;
}
