import type { App } from '@slack/bolt';
import { z } from 'zod';
import type { Log } from '../../lib/log.ts';

const deliveryKindSchema = z.union([
  z
    .object({ type: z.enum(['block_actions', 'view_submission', 'message_action']) })
    .transform(({ type }) => type),
  z.object({ command: z.string() }).transform(() => 'command'),
  z.object({ type: z.literal('event_callback') }).transform(() => 'event'),
]);

/**
 * Measures the time from Bolt's verification of a delivery to its acknowledgement.
 * @param onAcknowledged called with the delivery's kind and the measured seconds
 */
export function measureAcknowledgements(
  app: App,
  onAcknowledged: (kind: string, seconds: number) => void,
): void {
  const processEvent = app.processEvent.bind(app);
  app.processEvent = (event) => {
    const startedAt = performance.now();
    const kind = deliveryKindSchema.safeParse(event.body).data ?? 'other';
    return processEvent({
      ...event,
      ack: async (response) => {
        await event.ack(response);
        onAcknowledged(kind, (performance.now() - startedAt) / 1_000);
      },
    });
  };
}

export interface Acknowledgement {
  /** Further calls do nothing. Never throws. */
  send(): void;
  /** Whether the delivery was acknowledged on timeout, before the person saw an outcome. */
  readonly isLate: boolean;
  /** In ms, from `performance.now`. */
  readonly arrivedAt: number;
}

/** Slack gives up after 3 s. */
export const ACKNOWLEDGEMENT_TIMEOUT_MS = 2_000;

/** Acknowledges on timeout, even if the work is still pending. */
export function createAcknowledgement(ack: () => Promise<void>, log: Log): Acknowledgement {
  // Bolt's objects are released once the delivery is acknowledged.
  let pendingAck: (() => Promise<void>) | undefined = ack;
  let isLate = false;
  const arrivedAt = performance.now();
  const send = () => {
    const sendOnce = pendingAck;
    pendingAck = undefined;
    clearTimeout(timer);
    sendOnce?.().catch((err: unknown) => log.warn({ err }, 'acknowledging a delivery failed'));
  };
  const timer = setTimeout(() => {
    isLate = true;
    send();
  }, ACKNOWLEDGEMENT_TIMEOUT_MS);
  return {
    send,
    arrivedAt,
    get isLate() {
      return isLate;
    },
  };
}
