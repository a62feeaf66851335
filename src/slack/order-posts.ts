import type { Order } from '../orders/order.ts';
import { isTokenError, isTransient, SlackApiError } from './platform/web.ts';
import type { MessageMetadata } from './post-message.ts';

/* The metadata of messages about an order, and what Slack's refusals of them mean. */

/** Codes with which Slack says that the bot cannot post in a channel. */
const CANNOT_POST: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'restricted_action',
  'restricted_action_read_only_channel',
  'restricted_action_thread_only_channel',
  'restricted_action_non_threadable_channel',
  'restricted_action_thread_locked',
  'cannot_reply_to_message',
  'messages_tab_disabled',
  'team_access_not_granted',
  'thread_not_found',
]);

/** After this time an unknown refusal counts as permanent. */
const MAX_BLOCKED_MS = 60_000;

/** @param since when the event happened that is to be told */
export function cannotPost({ now }: { readonly now: () => Date }, error: unknown, since: Date): boolean {
  if (!(error instanceof SlackApiError) || error.code === undefined || isTransient(error)) return false;
  if (CANNOT_POST.has(error.code)) return true;
  // A refused token is refused everywhere, so the message waits for a valid one.
  if (isTokenError(error)) return false;
  return now().getTime() - since.getTime() > MAX_BLOCKED_MS;
}

/** The metadata of a message, for programs. */
export function metadataOf(order: Order) {
  return {
    event_type: 'domain_order',
    event_payload: {
      order_id: order.id,
      task: order.task,
      names: namesInMetadata(order),
      state: order.state,
    },
  } satisfies MessageMetadata;
}

/** Slack takes about 8,000 characters of metadata. */
const MAX_METADATA_NAMES = 6_000;

/** The names as far as there is room for them; `…` stands for the rest. */
function namesInMetadata({ items }: Order): string {
  let room = MAX_METADATA_NAMES;
  const fitting = items.filter(({ name }) => {
    room -= name.length + 1;
    return room >= 0;
  });
  const names = fitting.map(({ name }) => name);
  return [...names, ...(fitting.length < items.length ? ['…'] : [])].join(',');
}
