import type { Log } from '../log.ts';
import { changeOrder } from './change.ts';
import { ORDER_TASK_NAMES, type Order, type OrderItem } from './order.ts';
import type { OrderStore } from './ports.ts';
import { taskNamed } from './tasks.ts';

/** Whether the registry shows that what the service accepted has happened. Implemented by expiry. */
export type IsShownByRegistry = (order: Order, item: OrderItem) => Promise<boolean>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Often at first, then what takes days is looked for once an hour. */
const EARLY_INTERVAL_MS = 60 * MINUTE_MS;
const LATE_INTERVAL_MS = 60 * MINUTE_MS;
/** Two looks lie about this far apart. */
const LOOK_INTERVAL_MS = 5 * MINUTE_MS;
/** What the registry has not shown by now is not looked for any more. */
const GIVE_UP_AFTER_MS = 30 * DAY_MS;
const MAX_CONCURRENT_LOOKUPS = 200;

const ACCEPTED_TASKS = ORDER_TASK_NAMES.filter((name) => taskNamed(name).acceptedOnly);

/**
 * Looks whether the registry shows the end of what the service had only accepted, and notes it with the order, so that
 * its thread says so. Safe to repeat, and on several replicas at once.
 * @param options.lookAtAll also at what it is not time for: the clock has jumped
 * @returns how many items were noted
 */
export async function recordRegistryConfirmations(
  deps: {
    readonly store: OrderStore;
    readonly look: IsShownByRegistry;
    readonly now: () => Date;
    readonly log: Log;
    readonly signal: AbortSignal;
  },
  options: { readonly lookAtAll?: boolean } = {},
): Promise<number> {
  const { store, now, log, signal } = deps;
  let count = 0;
  const filter = { states: ['SUCCEEDED'], tasks: ACCEPTED_TASKS, limit: MAX_CONCURRENT_LOOKUPS } as const;
  for (const order of await store.list(filter)) {
    for (const item of order.items) {
      if (signal.aborted) return count;
      if (item.state !== 'SUCCEEDED' || item.answeredAt === undefined) continue;
      const age = now().getTime() - item.answeredAt.getTime();
      if (age > GIVE_UP_AFTER_MS || (options.lookAtAll !== true && !isTimeToLook(age))) continue;
      if (await isRecorded(store, order.id, item.n)) continue;
      const isShown = await deps.look(order, item).catch((err: unknown) => {
        log.warn({ err, orderId: order.id, ctid: item.ctid }, 'looking whether the registry shows a result');
        return false;
      });
      if (!isShown) continue;
      const noted = await changeOrder(deps, order.id, async () =>
        (await isRecorded(store, order.id, item.n))
          ? { refusal: 'noted already' }
          : {
              event: { type: 'shown', n: item.n },
              jobs: [{ queue: 'order.show', data: { orderId: order.id } }],
            },
      );
      if (noted.ok) count += 1;
    }
  }
  return count;
}

async function isRecorded(store: OrderStore, orderId: string, n: number): Promise<boolean> {
  return (await store.history(orderId)).some(({ kind, detail }) => kind === 'shown' && detail['n'] === n);
}

function isTimeToLook(age: number): boolean {
  return age < EARLY_INTERVAL_MS || age % LATE_INTERVAL_MS < LOOK_INTERVAL_MS;
}
