import type { Order } from '../../orders/order.ts';
import type { PostedMessage } from '../../outbox/notifications.ts';
import { CARD } from '../orders/order-posts.ts';

/*
 * To whom every row of an order of many rows could be shown. Its card has room for a few, so an approval counts only for such a
 * person.
 */

/** The file of a plan. */
export const PLAN_FILE = 'file:plan';
/** Stands for the `ts` of a file, which Slack gives it later. A message in its place says that Slack does not take the file. */
export const SHARED = 'file';

/** The record that a person has opened the pages on which all rows stand. */
export function pagesOpened(userId: string, channelId: string | undefined) {
  return { purpose: `pages:${userId}`, channelId: channelId ?? '', ts: '', shows: undefined };
}

/**
 * Whether every row of an order could be shown to a person: on the pages that they have opened, or in the file of the plan, in
 * the conversation in which they approve. `soon` while that file is on its way there.
 * @param standing where messages of the order stand, by their purposes
 */
export function rowsShownTo(
  order: Order,
  standing: ReadonlyMap<string, PostedMessage>,
  userId: string,
  channelId: string | undefined,
): 'yes' | 'no' | 'soon' {
  if (order.bulk === undefined) return 'yes';
  if (standing.has(pagesOpened(userId, channelId).purpose)) return 'yes';
  if (channelId === undefined) return 'no';
  const file = standing.get(PLAN_FILE);
  if (file?.ts === SHARED && file.channelId === channelId) return 'yes';
  return file === undefined && standing.get(CARD)?.channelId === channelId ? 'soon' : 'no';
}
