import type { Log } from '../log.ts';
import { changeOrder } from './change.ts';
import { isOver } from './clock.ts';
import { expireOrder, nudgeApprovers } from './decide.ts';
import type { OrderJob, OrderStore, Patience } from './ports.ts';

const PATIENCE: Patience = { silentMs: 15_000, unshownMs: 3_000 };
/** An order that ran out is noticed within 5 s even if its job is lost. */
const RECOVERY_MS = 4_000;

export interface RecoverDeps {
  readonly store: OrderStore;
  readonly now: () => Date;
  readonly log: Log;
  /** Orders whose job of a queue is due and not taken yet, as when Slack or the database is slow. */
  readonly waiting?: (queue: OrderJob['queue']) => Promise<ReadonlySet<string>>;
}

export interface Recovery {
  /** Looks at once. Never throws. */
  now(): Promise<void>;
  stop(): void;
}

/**
 * Recovers orders now, whatever another process left behind, and every few seconds from then on.
 * @param deps.hurry how many times faster than usual
 */
export async function keepRecovering(deps: RecoverDeps & { readonly hurry: number }): Promise<Recovery> {
  const { hurry } = deps;
  const usual = { silentMs: PATIENCE.silentMs / hurry, unshownMs: PATIENCE.unshownMs / hurry };
  const recover = (patience: Patience = usual) =>
    recoverOrders(deps, patience).catch((err: unknown) =>
      deps.log.error({ err }, 'looking for neglected orders'),
    );
  await recover({ silentMs: 0, unshownMs: 0 });
  let isRecovering = false;
  const timer = setInterval(async () => {
    // A database that is slow already is not asked the same thing twice at once.
    if (isRecovering) return;
    isRecovering = true;
    await recover();
    isRecovering = false;
  }, RECOVERY_MS / hurry);
  return { now: () => recover(), stop: () => clearInterval(timer) };
}

/**
 * Takes up what a crash or a lost job left behind: at start and again and again while the bot runs.
 * Safe on several replicas at once, for every step is a compare-and-swap.
 */
export async function recoverOrders(deps: RecoverDeps, patience = PATIENCE): Promise<void> {
  const now = deps.now();
  const neglected = await deps.store.neglected(now, patience);
  // One order that fails holds up no other.
  const each = async (orderIds: readonly string[], take: (orderId: string) => Promise<unknown>) => {
    for (const orderId of orderIds) {
      try {
        await take(orderId);
      } catch (err) {
        deps.log.error({ err, orderId }, 'taking up a neglected order');
      }
    }
  };
  await each(neglected.abandoned, async (orderId) => {
    const outcome = await changeOrder(deps, orderId, (order) =>
      order.claim !== undefined && !isOver(order.claim.leaseUntil, deps.now())
        ? { refusal: 'its worker is alive' }
        : { event: { type: 'released' } },
    );
    if (outcome.ok) deps.log.warn({ orderId, state: outcome.order.state }, 'took up an abandoned order');
  });
  await each(neglected.overdue, (orderId) => expireOrder(deps, orderId));
  await each(neglected.toNudge, (orderId) => nudgeApprovers(deps, orderId));
  // Or a backlog would grow by itself, the faster the longer it is.
  const withoutJob = async (queue: 'order.execute' | 'order.show', orderIds: readonly string[]) => {
    if (orderIds.length === 0) return [];
    const waiting = await deps.waiting?.(queue);
    return orderIds
      .filter((orderId) => waiting?.has(orderId) !== true)
      .map((orderId) => ({ queue, data: { orderId } }) as const);
  };
  await deps.store.enqueue([
    ...(await withoutJob('order.execute', neglected.unclaimed)),
    ...(await withoutJob('order.show', neglected.unshown)),
  ]);
  const swept = await deps.store.sweep(now);
  if (swept.drafts + swept.secrets > 0) deps.log.debug(swept, 'swept what had run out');
}
