import type { Order } from '../../orders/order.ts';
import { code, context, type Message, message, plain } from '../kit/blocks.ts';
import { type Page, pageControls } from '../kit/pages.ts';
import { ordersTable } from './order.view.ts';

/* Lists of orders. */

/** How a list is called, and what is said when it is empty. */
interface ListWords {
  readonly title: string;
  readonly none: string;
}

export const LISTS = {
  latest: {
    title: 'Latest orders',
    none: 'There are no orders yet. Ask for something, such as `/domain renew cafe.rest`.',
  },
  pending: { title: 'Orders that wait for approval', none: 'Nothing waits for approval.' },
  review: {
    title: 'Emergency approvals that wait for an admin to sign them off',
    none: 'Nothing waits to be signed off.',
  },
  mine: { title: 'Your orders', none: 'You have not asked for anything yet.' },
} satisfies Readonly<Record<string, ListWords>>;

export function listOfName(name: string): ListWords {
  return { title: `Orders for ${code(name)}`, none: `There are no orders for ${code(name)}.` };
}

/** Orders on one page. */
export const ORDERS_SHOWN = 20;

/** @param of the word that the list was asked for with */
export function ordersMessage(title: string, page: Page<Order>, of: string): Message {
  return message(title, [
    ordersTable(plain(title), page.shown),
    ...pageControls('orders', page, ORDERS_SHOWN, of),
    context('One with its history: `/domain order ID`.'),
  ]);
}

export const WHICH_ORDERS =
  'Give one of `pending`, `mine` and `review`, or one name, such as `/domain orders cafe.rest`.';
export const WHICH_ORDER =
  'Say which order, such as `/domain order 7k2m9qx4h1ab`. `/domain orders` lists them.';

export function noSuchOrderText(id: string): string {
  const list = id.includes('.')
    ? `${code(`/domain orders ${id}`)} lists those of a name.`
    : '`/domain orders` lists the latest.';
  return `There is no order ${code(id)}. ${list}`;
}
