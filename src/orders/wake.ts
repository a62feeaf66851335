import type { Log } from '../log.ts';
import { changeOrder } from './change.ts';
import type { OrderStore } from './ports.ts';

/** When a bot was last at work on a database. Implemented by the store. */
export interface Heartbeat {
  last(): Promise<Beat | undefined>;
  /** Names the database itself: a copy of it, or one that was put back, has another name. */
  database(): Promise<string>;
  beat(beat: Beat): Promise<void>;
}

export interface Beat {
  readonly seenAt: Date;
  readonly database: string;
}

export interface WakeDeps {
  readonly store: OrderStore;
  readonly heartbeat: Heartbeat;
  readonly now: () => Date;
  readonly log: Log;
}

/** How often a bot says that it is at work. */
const BEAT_MS = 60_000;
/** After this long without a bot what the database says of orders under way is not taken for the truth. */
const ASLEEP_MS = 15 * 60_000;

const DOUBTED =
  'It was approved and not sent when the bot’s database was last awake. That database was put back from a backup or slept for long, so it may have been carried out since. It is not sent by itself.';

/**
 * At start, before any work is taken: where the database was put back from a backup, or nobody worked on it for
 * long, orders that it calls approved and unsent become `UNKNOWN`. They may have gone out after the backup was
 * made, and only a person can know.
 * @returns the name of the database, for {@link keepBeating}
 */
export async function doubtAfterSleep(deps: WakeDeps): Promise<string> {
  const startedAt = deps.now();
  const [last, database] = await Promise.all([deps.heartbeat.last(), deps.heartbeat.database()]);
  if (last !== undefined) {
    const asleepMs = startedAt.getTime() - last.seenAt.getTime();
    const isOther = last.database !== database;
    if (isOther || asleepMs > ASLEEP_MS) await doubtUnsent(deps, startedAt, { isOther, asleepMs });
  }
  // Last, so that another process that starts meanwhile doubts the same orders, and begins with none of them.
  await deps.heartbeat.beat({ seenAt: startedAt, database });
  return database;
}

/** @param why for the log */
async function doubtUnsent(deps: WakeDeps, startedAt: Date, why: object): Promise<void> {
  for (const orderId of await deps.store.unsent(startedAt)) {
    const outcome = await changeOrder(deps, orderId, (order) =>
      order.state === 'APPROVED' || order.state === 'EXECUTING'
        ? { event: { type: 'doubted', summary: DOUBTED } }
        : { refusal: 'it has ended' },
    );
    if (outcome.ok) deps.log.warn({ orderId, ...why }, 'an order may have gone out before: it is not sent');
  }
}

/** Says again and again that a bot is at work. @returns ends it */
export function keepBeating(deps: Omit<WakeDeps, 'store'>, database: string): () => void {
  const timer = setInterval(() => {
    deps.heartbeat
      .beat({ seenAt: deps.now(), database })
      .catch((err: unknown) => deps.log.warn({ err }, 'keeping the heartbeat'));
  }, BEAT_MS);
  return () => clearInterval(timer);
}
