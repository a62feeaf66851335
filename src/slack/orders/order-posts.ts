import { setTimeout as sleep } from 'node:timers/promises';
import type { Order } from '../../orders/order.ts';
import type { OrderWithHistory } from '../../orders/ports.ts';
import type { PostedMessage } from '../../outbox/notifications.ts';
import type { Interaction } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import type { SendNotification } from '../outbound/notify.ts';
import type { MessageMetadata } from '../outbound/post-message.ts';
import { missingCardMessage } from './asking.view.ts';

/* Code that all messages about an order share. */

export const CARD_PURPOSE = 'card';

export interface PlannedOrder extends OrderWithHistory {
  /** Incremented by every change that the order's messages show. */
  readonly version: number;
  /** The order's messages by purpose, including those posted in this pass. */
  readonly postedMessages: ReadonlyMap<string, PostedMessage>;
  readonly send: SendNotification;
}

export interface Thread {
  readonly channelId: string;
  readonly threadTs: string;
}

export interface PlannedThread extends PlannedOrder {
  readonly thread: Thread;
  readonly occurredAt: Date;
}

/** If the card isn't posted in this time, the person gets another reply. Slack waits 3 seconds for a reply. */
const CARD_TIMEOUT_MS = 1_700;
/** Doubled after each check. */
const FIRST_CARD_CHECK_DELAY_MS = 100;

/** @returns the reply to send instead; undefined if the card was posted in time */
export async function waitForCard(interaction: Interaction, order: Order): Promise<Message | undefined> {
  interaction.acknowledge();
  for (let waitMs = FIRST_CARD_CHECK_DELAY_MS; ; waitMs *= 2) {
    const subject = await interaction.context.notifications.loadSubject({ kind: 'order', id: order.id });
    const card = subject?.notifications.find(({ purpose }) => purpose === CARD_PURPOSE);
    if (card?.message !== undefined) return undefined;
    const leftMs = interaction.arrivedAt + CARD_TIMEOUT_MS - performance.now();
    if (leftMs <= 0) {
      const { dueAt } = card ?? {};
      return missingCardMessage(order, dueAt && dueAt.getTime() - interaction.context.now().getTime());
    }
    await sleep(Math.min(waitMs, leftMs));
  }
}

export function buildMetadata(order: Order) {
  return {
    event_type: 'domain_order',
    event_payload: {
      order_id: order.id,
      task: order.task,
      names: formatMetadataNames(order),
      state: order.state,
      ...(order.mandate === undefined ? {} : { mandate: order.mandate.id }),
    },
  } satisfies MessageMetadata;
}

/** Slack limits metadata to about 8,000 characters. */
const MAX_METADATA_NAMES_LENGTH = 6_000;

function formatMetadataNames({ items }: Order): string {
  let remainingLength = MAX_METADATA_NAMES_LENGTH;
  const fittingItems = items.filter(({ name }) => {
    remainingLength -= name.length + 1;
    return remainingLength >= 0;
  });
  const names = fittingItems.map(({ name }) => name);
  return [...names, ...(fittingItems.length < items.length ? ['…'] : [])].join(',');
}
