import type { App } from '@slack/bolt';
import { z } from 'zod';
import type { Log } from '../../lib/log.ts';

const KINDS = z.union([
  z
    .object({ type: z.enum(['block_actions', 'view_submission', 'message_action']) })
    .transform(({ type }) => type),
  z.object({ command: z.string() }).transform(() => 'command'),
  z.object({ type: z.literal('event_callback') }).transform(() => 'event'),
]);

/**
 * Measures how long Slack waits for us, from the moment Bolt has checked a delivery.
 * @param acknowledged called with the kind of delivery and the seconds that passed
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

/** The acknowledgement of one delivery. It tells Slack that what the delivery asked for is kept. */
export interface Acknowledgement {
  /** Gives it. Further calls do nothing, and the caller sees no error. */
  give(): void;
  /** Whether it was given because time ran out: then nobody has told the person yet what became of the delivery. */
  readonly isLate: boolean;
  /** When the delivery arrived, in milliseconds of `performance.now`. */
  readonly arrivedAt: number;
}

/** An acknowledgement is given after this at the latest: Slack gives up after 3 s. */
export const ACKNOWLEDGE_WITHIN_MS = 2_000;

/** An acknowledgement that gives itself when time runs out, whatever the work on the delivery waits for. */
export function createAcknowledgement(ack: () => Promise<void>, log: Log): Acknowledgement {
  // Bolt's objects for the delivery are released as soon as it is acknowledged.
  let pending: (() => Promise<void>) | undefined = ack;
  let isLate = false;
  const arrivedAt = performance.now();
  const give = () => {
    const now = pending;
    pending = undefined;
    clearTimeout(timer);
    now?.().catch((err: unknown) => log.warn({ err }, 'acknowledging a delivery'));
  };
  const timer = setTimeout(() => {
    isLate = true;
    give();
  }, ACKNOWLEDGE_WITHIN_MS);
  return {
    give,
    arrivedAt,
    get isLate() {
      return isLate;
    },
  };
}
