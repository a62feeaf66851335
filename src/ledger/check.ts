import { setImmediate } from 'node:timers/promises';
import type { LedgerDifference } from './difference.ts';
import type { LedgerKey } from './key.ts';
import type { ForgottenEvents, SealedBlock, SealedEvent, SealHash, SigningBlocks } from './ports.ts';
import { hashEventLine, hashSeal, isSigned, type Seal } from './seal.ts';
import { computeTreeHead, toHex } from './tree.ts';

/**
 * Compares the ledger with the event rows and the anchors. Detects changes made in the database without the bot. It
 * proves nothing to third parties, because anyone who can change the program can change this check.
 */

export interface LedgerSnapshot {
  readonly blocks: AsyncIterable<SealedBlock>;
  readonly key: LedgerKey;
  /** Anchors in the database, oldest first. */
  readonly anchors: readonly SealHash[];
  /** The newest anchor kept outside of the database. */
  readonly savedAnchor: SealHash | undefined;
  /** Events that are neither sealed nor waiting to be sealed. */
  readonly strayEventCount: number;
  readonly forgotten: ForgottenEvents;
}

/** Number of events between yields to the event loop. */
const YIELD_EVENTS = 500;

export async function checkLedger(snapshot: LedgerSnapshot): Promise<readonly LedgerDifference[]> {
  const differences = new Map<LedgerDifference['code'], LedgerDifference>();
  const report = (code: LedgerDifference['code'], first?: number) => {
    const previous = differences.get(code) ?? { code, count: 0, ...(first === undefined ? {} : { first }) };
    differences.set(code, { ...previous, count: previous.count + 1 });
  };
  const hashes = new Map<number, string>();
  const anchoredNumbers = new Set(
    [...snapshot.anchors, ...(snapshot.savedAnchor === undefined ? [] : [snapshot.savedAnchor])].map(
      ({ n }) => n,
    ),
  );
  let last: Seal | undefined;
  let eventsSinceYield = 0;
  for await (const { seal, events } of snapshot.blocks) {
    if (seal.n !== (last?.n ?? 0) + 1) report('seal_gone', (last?.n ?? 0) + 1);
    else if (seal.prev !== hashSeal(last) || seal.from !== (last?.to ?? 0) + 1)
      report('seal_changed', seal.n);
    checkBlock({ seal, events }, snapshot, report);
    if (anchoredNumbers.has(seal.n)) hashes.set(seal.n, hashSeal(seal));
    last = seal;
    eventsSinceYield += events.length;
    if (eventsSinceYield >= YIELD_EVENTS) {
      eventsSinceYield = 0;
      await setImmediate();
    }
  }
  for (const { n, hash } of snapshot.anchors) {
    if (!hashes.has(n)) report('seal_gone', n);
    else if (hashes.get(n) !== hash) report('anchor_differs', n);
  }
  const { savedAnchor } = snapshot;
  const savedDifference =
    savedAnchor && findHistoryDifference(savedAnchor, last?.n ?? 0, hashes.get(savedAnchor.n));
  if (savedDifference !== undefined) differences.set(savedDifference.code, savedDifference);
  if (snapshot.strayEventCount > 0)
    differences.set('event_unsealed', { code: 'event_unsealed', count: snapshot.strayEventCount });
  return [...differences.values()];
}

type ReportDifference = (code: LedgerDifference['code'], first: number) => void;
type BlockCheckContext = Pick<LedgerSnapshot, 'key' | 'forgotten'>;

function checkBlock(
  { seal, events }: SealedBlock,
  { key, forgotten }: BlockCheckContext,
  report: ReportDifference,
): void {
  if (!isSigned(seal, key)) report('seal_changed', seal.n);
  const isComplete = events.length === seal.to - seal.from + 1;
  if (!isComplete || toHex(computeTreeHead(events.map(({ leaf }) => leaf))) !== seal.root)
    report('seal_changed', seal.n);
  for (const event of events) checkEvent(event, forgotten, report);
}

/**
 * Whether the events about keys and charters match their seals. No later event may be missing or changed either,
 * because it could be a revocation.
 */
export async function areSigningEventsSealed(
  { numbers, lastSeq, hasMissingEvents, blocks }: SigningBlocks,
  context: BlockCheckContext,
): Promise<boolean> {
  const sealed = numbers.filter((number) => number !== null);
  let isValid = !hasMissingEvents && numbers.slice(0, sealed.length).every((number) => number !== null);
  const newest = Math.max(0, ...sealed);
  const missing = new Set(sealed);
  let last: Seal | undefined;
  for await (const block of blocks) {
    const { seal, events } = block;
    checkBlock(block, context, () => {
      isValid = false;
    });
    if (last !== undefined && last.to >= newest) isValid &&= seal.prev === hashSeal(last);
    for (const { seq } of events) missing.delete(seq);
    last = seal;
  }
  return isValid && missing.size === 0 && (last?.to ?? 0) >= lastSeq;
}

function checkEvent(
  { seq, leaf, line }: SealedEvent,
  forgotten: ForgottenEvents,
  report: ReportDifference,
): void {
  if (line === undefined) report('event_gone', seq);
  else if (!('forgotten' in line)) {
    if (toHex(hashEventLine(line)) !== toHex(leaf)) report('event_changed', seq);
  } else if (!forgotten.leaves.has(toHex(leaf)) && !isInRanges(forgotten.seqs, seq))
    report('event_hidden', seq);
}

/** @param ranges sorted by their lower bound */
function isInRanges(ranges: ForgottenEvents['seqs'], seq: number): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.[0] ?? seq) <= seq) low = middle + 1;
    else high = middle;
  }
  return (ranges[low - 1]?.[1] ?? 0) >= seq;
}

/**
 * Compares the ledger with the anchor kept on this machine.
 * @param newest number of the ledger's newest seal
 * @param hash hash of the ledger's seal with the anchor's number
 * @returns undefined if they match
 */
export function findHistoryDifference(
  saved: SealHash,
  newest: number,
  hash: string | undefined,
): LedgerDifference | undefined {
  if (newest < saved.n) return { code: 'rolled_back', count: 1, first: saved.n };
  return hash === saved.hash ? undefined : { code: 'other_history', count: 1, first: saved.n };
}
