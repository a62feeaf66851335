import type { Order } from '../../orders/order.ts';
import type { PostedMessage } from '../../outbox/notifications.ts';
import { CARD_PURPOSE } from '../orders/order-posts.ts';

/* Only people who could see all rows of a bulk order can approve it. The card shows only a few rows. */

export const PLAN_FILE_PURPOSE = 'file:plan';
/**
 * Saved as the `ts` of a shared file, because Slack assigns the real one later. The message that replaces a
 * refused file has its own `ts`.
 */
export const SHARED_FILE_TS = 'file';

export function buildOpenedPagesRecord(userId: string, channelId: string | undefined) {
  return { purpose: `pages:${userId}`, channelId: channelId ?? '', ts: '', shownVersion: undefined };
}

/**
 * Whether a person could see all rows, in *Details* or in a plan file in the channel where they approve.
 * @returns `soon` while the file is being delivered
 */
export function checkRowVisibility(
  order: Order,
  messagesByPurpose: ReadonlyMap<string, PostedMessage>,
  userId: string,
  channelId: string | undefined,
): 'yes' | 'no' | 'soon' {
  if (order.bulk === undefined) return 'yes';
  if (messagesByPurpose.has(buildOpenedPagesRecord(userId, channelId).purpose)) return 'yes';
  if (channelId === undefined) return 'no';
  const file = messagesByPurpose.get(PLAN_FILE_PURPOSE);
  if (file?.ts === SHARED_FILE_TS && file.channelId === channelId) return 'yes';
  return file === undefined && messagesByPurpose.get(CARD_PURPOSE)?.channelId === channelId ? 'soon' : 'no';
}
