import type { Order } from '../../orders/order.ts';
import type { PostedMessage } from '../../outbox/notifications.ts';
import { CARD_PURPOSE } from '../orders/order-posts.ts';

/* A bulk order can be approved only by people who could see all of its rows. The card shows only a few. */

export const PLAN_FILE_PURPOSE = 'file:plan';
/** Recorded as the file's `ts`, which Slack assigns later. A message about a refused file has its own `ts`. */
export const SHARED_FILE_TS = 'file';

export function buildOpenedPagesRecord(userId: string, channelId: string | undefined) {
  return { purpose: `pages:${userId}`, channelId: channelId ?? '', ts: '', shownVersion: undefined };
}

/**
 * Whether a person could see all rows where they approve, in *Details* or in the plan file.
 * @param posted the order's messages by purpose
 * @returns `soon` while the file is being delivered
 */
export function findRowVisibility(
  order: Order,
  posted: ReadonlyMap<string, PostedMessage>,
  userId: string,
  channelId: string | undefined,
): 'yes' | 'no' | 'soon' {
  if (order.bulk === undefined) return 'yes';
  if (posted.has(buildOpenedPagesRecord(userId, channelId).purpose)) return 'yes';
  if (channelId === undefined) return 'no';
  const file = posted.get(PLAN_FILE_PURPOSE);
  if (file?.ts === SHARED_FILE_TS && file.channelId === channelId) return 'yes';
  return file === undefined && posted.get(CARD_PURPOSE)?.channelId === channelId ? 'soon' : 'no';
}
