import { rulesChanged } from '../../approvals/decide.ts';
import type { ChangeOutcome, Decision } from '../change-order.ts';
import { type Order, type OrderItem, waitingItems } from '../order.ts';
import { nextItems, reasonToPause } from './waves.ts';

/** When a pause that begins now ends by itself, if nobody lets the order go on. */
export type PauseEnd = () => Promise<Date>;

/**
 * What keeps an order from going out, or its next wave: it is paused or has to be, or the zone no longer allows it. Undefined
 * when nothing does.
 * @param pauseEnd when a pause would end
 * @param workerId the worker that has the order; left out before it is claimed
 */
export async function beforeWave(
  order: Order,
  pauseEnd: PauseEnd,
  workerId?: string,
): Promise<Decision | undefined> {
  if (order.bulk?.pause !== undefined) return { refusal: { code: 'not_due' } };
  const reason = waitingItems(order).length === 0 ? undefined : reasonToPause(order);
  if (reason !== undefined) {
    const expiresAt = await pauseEnd();
    return { event: { type: 'paused', reason, expiresAt, ...(workerId === undefined ? {} : { workerId }) } };
  }
  const changed = rulesChanged(order, nextItems(order));
  return changed === undefined ? undefined : { event: { type: 'stopped', summary: changed } };
}

/** What the waves of a claimed order go out with. */
export interface WaveSender {
  readonly workerId: string;
  readonly pauseEnd: PauseEnd;
  /** The order as its worker's last change left it. */
  readonly order: () => Order;
  /** The items of the wave that is next and that may be sent at this moment. */
  readonly dueIn: (order: Order) => readonly OrderItem[];
  /** Sends items side by side. */
  readonly send: (items: readonly OrderItem[]) => Promise<void>;
  /** Reads the order anew, and says how it is stopped when its rows no longer give its statement. */
  readonly stopIfChanged: () => Promise<Decision | undefined>;
  readonly change: (decide: (order: Order) => Decision | Promise<Decision>) => Promise<ChangeOutcome>;
  readonly signal: AbortSignal;
}

/**
 * Sends one wave after the other, each after a look at what came of those before and at the rows as they are kept. Ends when
 * nothing is left, when a person is needed, or when what is left has to wait.
 */
export async function sendWaves(sender: WaveSender): Promise<void> {
  const { workerId, pauseEnd, order, dueIn, send, change, signal } = sender;
  while (!signal.aborted) {
    if ((await beforeWave(order(), pauseEnd, workerId)) !== undefined) {
      await change(
        async (current) =>
          (await beforeWave(current, pauseEnd, workerId)) ?? { refusal: { code: 'not_due' } },
      );
      return;
    }
    const due = dueIn(order());
    if (due.length === 0) return;
    const changed = await sender.stopIfChanged();
    if (changed !== undefined) {
      await change(() => changed);
      return;
    }
    const { version } = order();
    await send(due);
    // Nothing could be sent, such as for a person of whom Slack does not tell: left for another claim.
    if (order().version === version) return;
  }
}
