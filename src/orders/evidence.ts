import type { Log } from '../log.ts';
import { changeOrder } from './change.ts';
import { jobsAfterOutcome } from './jobs.ts';
import { EVIDENCE, type Hint, type Order, type OrderItem, type OrderTaskName } from './order.ts';
import type { OrderStore } from './ports.ts';

/** What public records tell of a request whose answer was lost. */
export type Evidence =
  /** It was carried out, and nothing else can have caused what is seen; `seen` says so to people. */
  | { readonly kind: 'done'; readonly seen: string }
  /** Something for the person who settles it, which proves nothing. */
  | ({ readonly kind: 'hint' } & Omit<Hint, 'seenAt'>)
  | { readonly kind: 'nothing' };

/** Looks at public records. Implemented by expiry. */
export type LookForEvidence = (order: Order, item: OrderItem) => Promise<Evidence>;

/** The tasks that leave something to see in public records. */
export const LOOKED_UP_TASKS: ReadonlySet<OrderTaskName> = new Set<OrderTaskName>([
  'create',
  'renew',
  'transfer',
  'restore',
  'delete',
  'nameservers',
]);

const MINUTE_MS = 60_000;
/** Often at first, when approvers wait; then what the record does not show yet is not asked for all the time. */
const EARLY_INTERVAL_MS = 60 * MINUTE_MS;
const LATE_INTERVAL_MS = 60 * MINUTE_MS;
/** Two looks lie about this far apart. */
const LOOK_INTERVAL_MS = 5 * MINUTE_MS;
/** What no record has shown by now it will not show; it is left to people. */
const GIVE_UP_AFTER_MS = 3 * 24 * 60 * MINUTE_MS;
const MAX_CONCURRENT_LOOKUPS = 100;

interface EvidenceDeps {
  readonly store: OrderStore;
  readonly look: LookForEvidence;
  readonly now: () => Date;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Settles unknown outcomes as done where public records prove it, and keeps what else they show as a hint. Nothing is
 * ever settled as failed: that a record does not show it yet proves nothing. Safe to repeat, and on several replicas at
 * once.
 * @param options.lookAtAll also at what it is not time for: the clock has jumped
 * @returns how many items were settled
 */
export async function resolveByEvidence(
  deps: EvidenceDeps,
  options: { readonly lookAtAll?: boolean } = {},
): Promise<number> {
  const { store, look, now, log, signal } = deps;
  let count = 0;
  for (const order of await store.list({ states: ['UNKNOWN'], limit: MAX_CONCURRENT_LOOKUPS })) {
    if (!LOOKED_UP_TASKS.has(order.task)) continue;
    for (const item of order.items) {
      if (signal.aborted) return count;
      if (item.state !== 'UNKNOWN' || item.sentAt === undefined) continue;
      const age = now().getTime() - item.sentAt.getTime();
      if (options.lookAtAll !== true && !isTimeToLook(age)) continue;
      const found = await look(order, item).catch((err: unknown): Evidence => {
        log.warn({ err, orderId: order.id, ctid: item.ctid }, 'looking for what became of a request');
        return { kind: 'nothing' };
      });
      if (found.kind === 'hint') await keepHint(deps, order, item, found);
      if (found.kind === 'done' && (await resolveAsDone(deps, order, item, found.seen))) count += 1;
    }
  }
  return count;
}

async function resolveAsDone(
  deps: EvidenceDeps,
  { id }: Order,
  { n, ctid }: OrderItem,
  seen: string,
): Promise<boolean> {
  const settled = await changeOrder(deps, id, (current) => ({
    event: { type: 'resolved', by: EVIDENCE, outcome: 'SUCCEEDED', reason: seen, n },
    jobs: jobsAfterOutcome(current, [n]),
  }));
  if (settled.ok) deps.log.info({ orderId: id, ctid }, 'evidence settled an unknown outcome as done');
  return settled.ok;
}

/** A hint that is there already is refused by the order, and nothing is written. */
async function keepHint(
  deps: EvidenceDeps,
  { id }: Order,
  { n }: OrderItem,
  { text, source }: Omit<Hint, 'seenAt'>,
): Promise<void> {
  const hint = { text, source, seenAt: deps.now().toISOString() };
  await changeOrder(deps, id, () => ({
    event: { type: 'hinted', n, hint },
    jobs: [{ queue: 'order.show', data: { orderId: id } }],
  }));
}

function isTimeToLook(age: number): boolean {
  return age < EARLY_INTERVAL_MS || (age < GIVE_UP_AFTER_MS && age % LATE_INTERVAL_MS < LOOK_INTERVAL_MS);
}
