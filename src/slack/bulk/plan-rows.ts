import type { Order } from '../../orders/order.ts';
import type { PostedMessage } from '../../outbox/notifications.ts';
import { CARD } from '../orders/order-posts.ts';

/* A bulk order can be approved only by people who could see all of its rows. The card shows only a few. */

export const PLAN_FILE = 'file:plan';
/** Stands for the file's `ts`, which Slack assigns later. If Slack refused the file, there is a message instead. */
export const SHARED = 'file';

export function openedPagesPlace(userId: string, channelId: string | undefined) {
  return { purpose: `pages:${userId}`, channelId: channelId ?? '', ts: '', shows: undefined };
}

/**
 * Whether a person could see all rows where they approve, in *Details* or in the plan file.
 * @param posted the order's messages by purpose
 * @returns `soon` while the file is being delivered
 */
export function canSeeAllRows(
  order: Order,
  posted: ReadonlyMap<string, PostedMessage>,
  userId: string,
  channelId: string | undefined,
): 'yes' | 'no' | 'soon' {
  if (order.bulk === undefined) return 'yes';
  if (posted.has(openedPagesPlace(userId, channelId).purpose)) return 'yes';
  if (channelId === undefined) return 'no';
  const file = posted.get(PLAN_FILE);
  if (file?.ts === SHARED && file.channelId === channelId) return 'yes';
  return file === undefined && posted.get(CARD)?.channelId === channelId ? 'soon' : 'no';
}
