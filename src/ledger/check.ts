import { setImmediate } from 'node:timers/promises';
import type { LedgerDifference } from './difference.ts';
import type { LedgerKey } from './key.ts';
import type { ForgottenEvents, SealedBlock, SealedEvent, SealHash, SigningBlocks } from './ports.ts';
import { hashEventLine, hashSeal, hasValidSignature, type Seal } from './seal.ts';
import { computeTreeHead, toHex } from './tree.ts';

/**
 * Detects changes that were made to the database without the bot. This proves nothing to third parties, because the
 * operator of the program can also change this check.
 */

export interface LedgerSnapshot {
  readonly blocks: AsyncIterable<SealedBlock>;
  readonly key: LedgerKey;
  /** Anchors in the database, oldest first. */
  readonly anchors: readonly SealHash[];
  /** The newest anchor kept outside the database. */
  readonly savedAnchor: SealHash | undefined;
  /** The number of events that are neither sealed nor waiting to be sealed. */
  readonly strayEventCount: number;
  readonly forgottenEvents: ForgottenEvents;
}

/** How many events to check before yielding to the event loop. */
const EVENTS_PER_YIELD = 500;

export async function checkLedger(snapshot: LedgerSnapshot): Promise<readonly LedgerDifference[]> {
  const differences = new Map<LedgerDifference['code'], LedgerDifference>();
  const report = (code: LedgerDifference['code'], first?: number) => {
    const previous = differences.get(code) ?? { code, count: 0, ...(first === undefined ? {} : { first }) };
    differences.set(code, { ...previous, count: previous.count + 1 });
  };
  const anchoredHashes = new Map<number, string>();
  const anchoredNumbers = new Set(
    [...snapshot.anchors, ...(snapshot.savedAnchor === undefined ? [] : [snapshot.savedAnchor])].map(
      ({ n }) => n,
    ),
  );
  let lastSeal: Seal | undefined;
  let eventsSinceYield = 0;
  for await (const { seal, events } of snapshot.blocks) {
    if (seal.n !== (lastSeal?.n ?? 0) + 1) report('seal_gone', (lastSeal?.n ?? 0) + 1);
    else if (seal.prev !== hashSeal(lastSeal) || seal.from !== (lastSeal?.to ?? 0) + 1)
      report('seal_changed', seal.n);
    checkBlock({ seal, events }, snapshot, report);
    if (anchoredNumbers.has(seal.n)) anchoredHashes.set(seal.n, hashSeal(seal));
    lastSeal = seal;
    eventsSinceYield += events.length;
    if (eventsSinceYield >= EVENTS_PER_YIELD) {
      eventsSinceYield = 0;
      await setImmediate();
    }
  }
  for (const { n, hash } of snapshot.anchors) {
    if (!anchoredHashes.has(n)) report('seal_gone', n);
    else if (anchoredHashes.get(n) !== hash) report('anchor_differs', n);
  }
  const { savedAnchor } = snapshot;
  const savedDifference =
    savedAnchor && findHistoryDifference(savedAnchor, lastSeal?.n ?? 0, anchoredHashes.get(savedAnchor.n));
  if (savedDifference !== undefined) differences.set(savedDifference.code, savedDifference);
  if (snapshot.strayEventCount > 0)
    differences.set('event_unsealed', { code: 'event_unsealed', count: snapshot.strayEventCount });
  return [...differences.values()];
}

type ReportDifference = (code: LedgerDifference['code'], first: number) => void;
type BlockCheckContext = Pick<LedgerSnapshot, 'key' | 'forgottenEvents'>;

function checkBlock(
  { seal, events }: SealedBlock,
  { key, forgottenEvents }: BlockCheckContext,
  report: ReportDifference,
): void {
  if (!hasValidSignature(seal, key)) report('seal_changed', seal.n);
  const isComplete = events.length === seal.to - seal.from + 1;
  if (!isComplete || toHex(computeTreeHead(events.map(({ leaf }) => leaf))) !== seal.root)
    report('seal_changed', seal.n);
  for (const event of events) checkEvent(event, forgottenEvents, report);
}

/**
 * Whether the events about keys and charters match their seals. Later events are also checked, because a missing one
 * could be a revocation.
 */
export async function areSigningEventsSealed(
  { seqs, lastSeq, hasMissingEvents, blocks }: SigningBlocks,
  context: BlockCheckContext,
): Promise<boolean> {
  const sealedSeqs = seqs.filter((seq) => seq !== null);
  let isValid = !hasMissingEvents && seqs.slice(0, sealedSeqs.length).every((seq) => seq !== null);
  const newestSeq = Math.max(0, ...sealedSeqs);
  const missingSeqs = new Set(sealedSeqs);
  let lastSeal: Seal | undefined;
  for await (const block of blocks) {
    const { seal, events } = block;
    checkBlock(block, context, () => {
      isValid = false;
    });
    if (lastSeal !== undefined && lastSeal.to >= newestSeq) isValid &&= seal.prev === hashSeal(lastSeal);
    for (const { seq } of events) missingSeqs.delete(seq);
    lastSeal = seal;
  }
  return isValid && missingSeqs.size === 0 && (lastSeal?.to ?? 0) >= lastSeq;
}

function checkEvent(
  { seq, leaf, line }: SealedEvent,
  forgottenEvents: ForgottenEvents,
  report: ReportDifference,
): void {
  if (line === undefined) report('event_gone', seq);
  else if (!('forgotten' in line)) {
    if (toHex(hashEventLine(line)) !== toHex(leaf)) report('event_changed', seq);
  } else if (!forgottenEvents.leaves.has(toHex(leaf)) && !isInRanges(forgottenEvents.seqs, seq))
    report('event_hidden', seq);
}

/** @param ranges disjoint and sorted */
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
 * Compares the ledger with an anchor kept on this machine.
 * @param sealHash the hash of the seal that has the anchor's number
 * @returns undefined if they match
 */
export function findHistoryDifference(
  savedAnchor: SealHash,
  newestSealNumber: number,
  sealHash: string | undefined,
): LedgerDifference | undefined {
  if (newestSealNumber < savedAnchor.n) return { code: 'rolled_back', count: 1, first: savedAnchor.n };
  return sealHash === savedAnchor.hash
    ? undefined
    : { code: 'other_history', count: 1, first: savedAnchor.n };
}
