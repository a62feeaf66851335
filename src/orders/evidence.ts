import { changeOrder } from './change-order.ts';
import type { SendingContext } from './context.ts';
import { findUnknownItems } from './due.ts';
import { EVIDENCE_ACTOR, getItemInput, type Order, type OrderItem } from './order.ts';
import type { Evidence } from './ports.ts';
import type { EvidenceHint, EvidenceProof } from './record-finding.ts';

/**
 * Settles unknown outcomes as done if public records prove success, and otherwise saves a hint. Never settles an
 * outcome as failed, because a missing record proves nothing. Idempotent across replicas.
 */
export async function resolveByEvidence(deps: SendingContext, order: Order): Promise<void> {
  const { findEvidence, log, lookupSignal } = deps;
  for (const item of findUnknownItems(order)) {
    if (lookupSignal.aborted) return;
    const evidence = await findEvidence({ ...order, input: getItemInput(order, item) }, item).catch(
      (err: unknown): Evidence => {
        log.warn(
          { err, orderId: order.id, ctid: item.ctid },
          'looking up evidence for a request’s outcome failed',
        );
        return { kind: 'nothing' };
      },
    );
    if (evidence.kind === 'hint') await saveHint(deps, order, item, evidence);
    if (evidence.kind === 'done') await resolveAsDone(deps, order, item, evidence.seen);
  }
}

async function resolveAsDone(
  deps: SendingContext,
  { id }: Order,
  { n, ctid }: OrderItem,
  proof: EvidenceProof,
): Promise<void> {
  const outcome = await changeOrder(deps, id, () => ({
    event: { type: 'resolved', by: EVIDENCE_ACTOR, outcome: 'SUCCEEDED', reason: undefined, proof, n },
  }));
  if (outcome.ok) deps.log.info({ orderId: id, ctid }, 'settled an unknown outcome as done by evidence');
}

async function saveHint(
  deps: SendingContext,
  { id }: Order,
  { n }: OrderItem,
  { seen, source }: { readonly seen: EvidenceHint; readonly source: string },
): Promise<void> {
  const hint = { seen, source, seenAt: deps.now().toISOString() };
  await changeOrder(deps, id, () => ({ event: { type: 'hinted', n, hint } }));
}
