import { z } from 'zod';
import { hashStatement } from '../orders/statement.ts';
import type { Statement } from '../orders/statement-shape.ts';
import type { LedgerKey } from './key.ts';
import type { Anchor, LedgerStore, SealedEvent } from './ports.ts';
import type { EventLine, ForgottenLine, Seal } from './seal.ts';
import { computeAuditPath, type Hash, toHex } from './tree.ts';

/** The audit path from an event to its seal's root. */
interface PathLine {
  readonly type: 'path';
  readonly seq: number;
  readonly seal: number;
  readonly index: number;
  readonly size: number;
  readonly path: readonly string[];
}

interface AnchorLine {
  readonly type: 'anchor';
  readonly n: number;
  readonly hash: string;
  readonly at: string;
}

export type FileLine =
  | {
      readonly type: 'ledger' | 'receipt';
      readonly version: 1;
      readonly key: string;
      readonly public: string;
      readonly order?: string;
    }
  | { readonly type: 'statement'; readonly statement: Statement }
  /** Used if the statement can't be rebuilt. */
  | { readonly type: 'statement'; readonly hash: string }
  | EventLine
  | ForgottenLine
  | Seal
  | PathLine
  | AnchorLine;

/** @param order the id of a receipt's order; undefined for a ledger file */
export function buildHeaderLine({ fingerprint, publicKey }: LedgerKey, order?: string): FileLine {
  const common = { version: 1, key: fingerprint, public: publicKey } as const;
  return order === undefined ? { type: 'ledger', ...common } : { type: 'receipt', ...common, order };
}

/** A receipt leaves out an anchor that is more seals away than this. */
const MAX_SEALS_TO_ANCHOR = 2_000;

export interface ReceiptOrder {
  readonly id: string;
  readonly statementHash: string;
}

/** An event with a signed approval: the approver's key, and the keys that vouched for it. */
const signedDataSchema = z.object({
  signature: z.object({ key: z.string() }),
  chain: z.array(z.object({ key: z.string() })).default([]),
});

/**
 * A receipt contains the order's statement and sealed events, revocations of the keys that signed them, the audit
 * paths, and the seals up to the next anchor.
 * @param statement rebuilt from the order's current rows. It differs from the original if the requester was deleted or
 * the service's URL has changed
 */
export async function buildReceiptLines(
  store: LedgerStore,
  key: LedgerKey,
  { id, statementHash: hash }: ReceiptOrder,
  statement: Statement | undefined,
): Promise<FileLine[]> {
  const isUnchanged = statement !== undefined && hashStatement(statement) === hash;
  const orderEvents = (await store.listOrderEvents(id)).filter(hasLine);
  const keys = orderEvents.flatMap(({ line }) => listSigningKeys(line));
  const revocations = keys.length === 0 ? [] : (await store.listRevocations(keys)).filter(hasLine);
  const events = [...orderEvents, ...revocations].sort((a, b) => a.seq - b.seq);
  const seals = new Map<number, Seal>();
  const anchors = new Map<number, Anchor>();
  const paths: PathLine[] = [];
  let currentBlock: { readonly seal: Seal; readonly leaves: readonly Hash[] } | undefined;
  for (const { seq } of events) {
    if (currentBlock === undefined || seq > currentBlock.seal.to) {
      const seal = await store.findSeal(seq);
      if (seal === undefined) throw new Error(`event ${seq} of the ledger has no seal`);
      currentBlock = { seal, leaves: await store.loadLeaves(seal) };
      await addSealsUpToAnchor(store, seal, seals, anchors);
    }
    const { seal, leaves } = currentBlock;
    const index = seq - seal.from;
    const path = computeAuditPath(index, leaves).map(toHex);
    paths.push({ type: 'path', seq, seal: seal.n, index, size: leaves.length, path });
  }
  return [
    buildHeaderLine(key, id),
    isUnchanged ? { type: 'statement', statement } : { type: 'statement', hash },
    ...events.map(({ line }) => line),
    ...paths,
    ...[...seals.values()].sort((a, b) => a.n - b.n),
    ...[...anchors.values()].map(toAnchorLine),
  ];
}

function listSigningKeys(line: EventLine | ForgottenLine): string[] {
  const data = 'data' in line ? signedDataSchema.safeParse(line.data).data : undefined;
  return data === undefined ? [] : [data.signature, ...data.chain].map(({ key }) => key);
}

async function addSealsUpToAnchor(
  store: LedgerStore,
  seal: Seal,
  seals: Map<number, Seal>,
  anchors: Map<number, Anchor>,
): Promise<void> {
  seals.set(seal.n, seal);
  const anchor = await store.findAnchor(seal.n);
  if (anchor === undefined || anchor.n - seal.n > MAX_SEALS_TO_ANCHOR || anchors.has(anchor.n)) return;
  anchors.set(anchor.n, anchor);
  for (const next of await store.listSeals(seal.n, anchor.n)) seals.set(next.n, next);
}

function hasLine(event: SealedEvent): event is SealedEvent & { readonly line: EventLine | ForgottenLine } {
  return event.line !== undefined;
}

function toAnchorLine({ n, hash, at }: Anchor): AnchorLine {
  return { type: 'anchor', n, hash, at: at.toISOString() };
}
