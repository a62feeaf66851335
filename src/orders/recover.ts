import type { Log } from '../log.ts';
import { changeOrder } from './change.ts';
import { isOver } from './clock.ts';
import { expireOrder, remindApprovers } from './decide.ts';
import type { OrderStore } from './ports.ts';

/** What nobody has been at for so many milliseconds was forgotten: by a process that died, or is too busy. */
const SILENT_MS = 3_000;
/** An order that ran out is noticed within 5 s even if its job is lost. */
const RECOVERY_MS = 4_000;

export interface RecoverDeps {
  readonly store: OrderStore;
  readonly now: () => Date;
  readonly log: Log;
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
  const recover = (silentMs = SILENT_MS / hurry) =>
    recoverOrders(deps, silentMs).catch((err: unknown) =>
      deps.log.error({ err }, 'looking for neglected orders'),
    );
  await recover(0);
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
export async function recoverOrders(deps: RecoverDeps, silentMs = SILENT_MS): Promise<void> {
  const now = deps.now();
  const neglected = await deps.store.findNeglected(now, silentMs);
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
  await each(neglected.toRemind, (orderId) => remindApprovers(deps, orderId));
  await deps.store.enqueue([
    ...neglected.unclaimed.map((orderId) => ({ queue: 'order.execute', data: { orderId } }) as const),
    ...neglected.unnotified.map((orderId) => ({ queue: 'order.show', data: { orderId } }) as const),
  ]);
  const swept = await deps.store.purgeExpired(now);
  if (swept.drafts + swept.secrets > 0) deps.log.debug(swept, 'swept what had run out');
}
