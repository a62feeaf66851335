import type { MessageRef, UnnotifiedOrder } from '../orders/ports.ts';

/*
 * To whom every row of an order of many rows could be shown. Its card has room for a few, so an approval counts only for such a
 * person.
 */

/** The file of a plan, which Slack has taken into a conversation. */
export const PLAN_FILE = 'file:plan';

/** Slack does not take a file: nobody tries again. */
export function refused(purpose: string): string {
  return `${purpose}:refused`;
}

/** A person has opened the pages on which all rows stand. */
export function pagesOpened(userId: string, channelId: string | undefined): MessageRef {
  return { purpose: `pages:${userId}`, channelId: channelId ?? '', ts: '' };
}

/**
 * Whether every row of an order could be shown to a person: on the pages that they have opened, or in the file of the plan, in
 * the conversation in which they approve. `soon` while that file is on its way there.
 */
export function rowsShownTo(
  { order, messages }: Pick<UnnotifiedOrder, 'order' | 'messages'>,
  userId: string,
  channelId: string | undefined,
): 'yes' | 'no' | 'soon' {
  if (order.bulk === undefined) return 'yes';
  const places = new Map(messages.map((ref) => [ref.purpose, ref.channelId]));
  if (places.has(pagesOpened(userId, channelId).purpose)) return 'yes';
  if (channelId === undefined) return 'no';
  if (places.get(PLAN_FILE) === channelId) return 'yes';
  const isSettled = places.has(PLAN_FILE) || places.has(refused(PLAN_FILE));
  return !isSettled && places.get('card') === channelId ? 'soon' : 'no';
}
