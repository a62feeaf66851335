import type { Order } from '../../orders/order.ts';
import type { OrderWithHistory } from '../../orders/ports.ts';
import type { PostedMessage } from '../../outbox/notifications.ts';
import type { SendNotification } from '../outbound/notify.ts';
import type { MessageMetadata } from '../outbound/post-message.ts';

/* What all messages about an order have in common. */

/** The purpose of the card that everything about an order replies to. */
export const CARD = 'card';

/** An order whose messages are looked at. */
export interface PlannedOrder extends OrderWithHistory {
  /** Grows with everything that its messages have to show. */
  readonly version: number;
  /** Where messages of the order stand, by their purposes, those of this look too. */
  readonly standing: ReadonlyMap<string, PostedMessage>;
  readonly send: SendNotification;
}

/** Where the thread of an order is. */
export interface Thread {
  readonly channelId: string;
  readonly threadTs: string;
}

export interface PlannedThread extends PlannedOrder {
  readonly thread: Thread;
  /** When the last event happened that is to be told. */
  readonly since: Date;
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
      ...(order.mandated === undefined ? {} : { mandate: order.mandated.id }),
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
