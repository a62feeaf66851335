import type { App } from '@slack/bolt';
import { z } from 'zod';

const KINDS = z.union([
  z
    .object({ type: z.enum(['block_actions', 'view_submission', 'message_action']) })
    .transform(({ type }) => type),
  z.object({ command: z.string() }).transform(() => 'command'),
  z.object({ type: z.literal('event_callback') }).transform(() => 'event'),
]);

/**
 * Measures how long Slack waits for us, from the moment Bolt has checked a delivery.
 * @param acknowledged told the kind of delivery and after how many seconds
 */
export function measureAcknowledgements(
  app: App,
  acknowledged: (kind: string, seconds: number) => void,
): void {
  const processEvent = app.processEvent.bind(app);
  app.processEvent = (event) => {
    const startedAt = performance.now();
    const kind = KINDS.safeParse(event.body).data ?? 'other';
    return processEvent({
      ...event,
      ack: async (response) => {
        await event.ack(response);
        acknowledged(kind, (performance.now() - startedAt) / 1_000);
      },
    });
  };
}
