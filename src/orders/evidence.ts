import { changeOrder } from './change-order.ts';
import { unknownItems } from './due.ts';
import { EVIDENCE, inputOfItem, type Order, type OrderItem } from './order.ts';
import type { LookDeps } from './ports.ts';
import type { RecordHint, RecordProof } from './record-finding.ts';

/** What public records tell of a request whose answer was lost. */
export type Evidence =
  /** It was carried out: nothing else can have caused what is seen. */
  | { readonly kind: 'done'; readonly seen: RecordProof }
  /** Proves nothing, but helps the person who settles it. `source` is the server that said so. */
  | { readonly kind: 'hint'; readonly seen: RecordHint; readonly source: string }
  | { readonly kind: 'nothing' };

/** Asks public records about an item. Implemented by expiry. */
export type LookForEvidence = (order: Order, item: OrderItem) => Promise<Evidence>;

type EvidenceDeps = LookDeps<LookForEvidence>;

/**
 * Settles unknown outcomes of an order as done where public records prove it, and keeps anything else they show as a
 * hint. Nothing is settled as failed: a record that does not show it yet proves nothing. Safe to repeat, also on
 * several replicas at once.
 */
export async function resolveByEvidence(deps: EvidenceDeps, order: Order): Promise<void> {
  const { look, log, signal } = deps;
  for (const item of unknownItems(order)) {
    if (signal.aborted) return;
    const found = await look({ ...order, input: inputOfItem(order, item) }, item).catch(
      (err: unknown): Evidence => {
        log.warn({ err, orderId: order.id, ctid: item.ctid }, 'looking for what became of a request');
        return { kind: 'nothing' };
      },
    );
    if (found.kind === 'hint') await keepHint(deps, order, item, found);
    if (found.kind === 'done') await resolveAsDone(deps, order, item, found.seen);
  }
}

async function resolveAsDone(
  deps: EvidenceDeps,
  { id }: Order,
  { n, ctid }: OrderItem,
  seen: RecordProof,
): Promise<void> {
  const settled = await changeOrder(deps, id, () => ({
    event: { type: 'resolved', by: EVIDENCE, outcome: 'SUCCEEDED', reason: undefined, seen, n },
  }));
  if (settled.ok) deps.log.info({ orderId: id, ctid }, 'evidence settled an unknown outcome as done');
}

/** Keeps a hint with the item. The order refuses a hint that it has already, and then nothing is written. */
async function keepHint(
  deps: EvidenceDeps,
  { id }: Order,
  { n }: OrderItem,
  { seen, source }: { readonly seen: RecordHint; readonly source: string },
): Promise<void> {
  const hint = { seen, source, seenAt: deps.now().toISOString() };
  await changeOrder(deps, id, () => ({ event: { type: 'hinted', n, hint } }));
}
