import type { Log } from '../log.ts';
import { changeOrder } from './change.ts';
import { jobsAfterOutcome } from './jobs.ts';
import { EVIDENCE, type Order, type OrderItem } from './order.ts';
import type { OrderStore } from './ports.ts';

/** What public records tell of a request whose answer was lost. Implemented by expiry. */
export type LookForEvidence = (order: Order, item: OrderItem) => Promise<'done' | 'not_done' | 'unclear'>;

const MINUTE_MS = 60_000;
/** Often at first, when approvers wait; then what the record does not show yet is not asked for all the time. */
const OFTEN_MS = 60 * MINUTE_MS;
const SELDOM_MS = 60 * MINUTE_MS;
/** Two looks lie about this far apart. */
const TURN_MS = 5 * MINUTE_MS;
/** What no record has shown by now it will not show; it is left to people. */
const GIVEN_UP_MS = 3 * 24 * 60 * MINUTE_MS;
const AT_ONCE = 100;

const SEEN: Readonly<Record<string, Readonly<Record<'done' | 'not_done', string>>>> = {
  create: {
    done: 'The registry has the name as registered when this was sent.',
    not_done: 'The registry has no registration of the name from the time when this was sent.',
  },
  renew: {
    done: 'The registry’s expiry date has moved by the years asked for.',
    not_done: 'The registry’s expiry date has not moved in the day since this was sent.',
  },
};

/**
 * Settles unknown outcomes that public records prove; the rest stays with approvers. Safe to repeat, and on several
 * replicas at once.
 * @param options.lookAtAll also at what it is not time for: the clock has jumped
 * @returns how many items were settled
 */
export async function settleByEvidence(
  deps: {
    readonly store: OrderStore;
    readonly look: LookForEvidence;
    readonly now: () => Date;
    readonly log: Log;
    readonly signal: AbortSignal;
  },
  options: { readonly lookAtAll?: boolean } = {},
): Promise<number> {
  const { store, look, now, log, signal } = deps;
  let count = 0;
  for (const order of await store.list({ states: ['UNKNOWN'], limit: AT_ONCE })) {
    const seen = SEEN[order.task];
    if (seen === undefined) continue;
    for (const item of order.items) {
      if (signal.aborted) return count;
      if (item.state !== 'UNKNOWN' || item.sentAt === undefined) continue;
      const age = now().getTime() - item.sentAt.getTime();
      if (options.lookAtAll !== true && !isTimeToLook(age)) continue;
      const found = await look(order, item).catch((err: unknown) => {
        log.warn({ err, orderId: order.id, ctid: item.ctid }, 'looking for what became of a request');
        return 'unclear' as const;
      });
      if (found === 'unclear') continue;
      const outcome = found === 'done' ? 'SUCCEEDED' : 'FAILED';
      const { n } = item;
      const settled = await changeOrder(deps, order.id, (current) => ({
        event: { type: 'settled', by: EVIDENCE, outcome, reason: seen[found], n },
        jobs: jobsAfterOutcome(current, found === 'done' ? [n] : []),
      }));
      if (!settled.ok) continue;
      count += 1;
      log.info({ orderId: order.id, ctid: item.ctid, outcome }, 'evidence settled an unknown outcome');
    }
  }
  return count;
}

function isTimeToLook(age: number): boolean {
  return age < OFTEN_MS || (age < GIVEN_UP_MS && age % SELDOM_MS < TURN_MS);
}
