import type { Order, OrderItem } from '../order.ts';
import type { Bulk, PauseReason } from './stored-bulk.ts';

/**
 * Bulk orders are sent in waves, one after another, and pause after too many failures. Pure: results depend only on the
 * order, so every process computes the same results.
 */

export const WAVE_SIZE = 20;
/** An order pauses after this many consecutive refusals. */
const MAX_CONSECUTIVE_REFUSALS = 3;
/** An order pauses if more than this share of a wave has an unknown outcome. */
const MAX_UNKNOWN_SHARE = 0.1;

/** The number of the wave that contains item `n`, from 1. */
export function computeWaveNumber(n: number, { waveSize }: { readonly waveSize: number }): number {
  return Math.ceil(n / waveSize);
}

/** The items that can be sent next: all waiting items or, in a bulk order, those in the first unfinished wave. */
export function findNextItems({ items, bulk }: Order): readonly OrderItem[] {
  const waitingItems = items.filter(({ state }) => state === 'WAITING');
  if (bulk === undefined) return waitingItems;
  const firstUnfinishedItem = items.find(({ state }) => state === 'WAITING' || state === 'SENT');
  if (firstUnfinishedItem === undefined) return [];
  const currentWaveNumber = computeWaveNumber(firstUnfinishedItem.n, bulk);
  return waitingItems.filter(({ n }) => computeWaveNumber(n, bulk) === currentWaveNumber);
}

/** A paused order sends nothing until a person resumes it. */
export function isPaused({ state, bulk }: Order): boolean {
  return state === 'APPROVED' && bulk?.pause !== undefined;
}

/** Why a person must review the order before more items are sent; undefined if no review is needed. */
export function findPauseReason({ items, bulk }: Order): PauseReason | undefined {
  if (bulk === undefined) return undefined;
  const unreviewedItems = items.filter(({ n }) => n >= bulk.unreviewedFrom);
  return findConsecutiveRefusals(unreviewedItems) ?? findUnknownOutcomes(unreviewedItems, items.length, bulk);
}

/** Whether waves and pause rules allow an item to be sent now. */
export function canBeSentNext(order: Order, item: OrderItem): boolean {
  return (
    order.bulk === undefined || (findNextItems(order).includes(item) && findPauseReason(order) === undefined)
  );
}

/** Finds consecutive refusals, in the order of the answers. An item without an answer doesn't end a streak. */
function findConsecutiveRefusals(unreviewedItems: readonly OrderItem[]): PauseReason | undefined {
  if (unreviewedItems.filter(({ state }) => state === 'FAILED').length < MAX_CONSECUTIVE_REFUSALS)
    return undefined;
  const answeredItems = unreviewedItems
    .flatMap(({ n, name, state, answeredAt }) =>
      answeredAt === undefined || (state !== 'SUCCEEDED' && state !== 'FAILED')
        ? []
        : { n, name, state, at: answeredAt.getTime() },
    )
    .sort((a, b) => a.at - b.at || a.n - b.n);
  let refusedNames: string[] = [];
  for (const { state, name } of answeredItems) {
    refusedNames = state === 'FAILED' ? [...refusedNames, name] : [];
    if (refusedNames.length === MAX_CONSECUTIVE_REFUSALS) return { code: 'refusals', names: refusedNames };
  }
  return undefined;
}

function findUnknownOutcomes(
  unreviewedItems: readonly OrderItem[],
  itemCount: number,
  bulk: Bulk,
): PauseReason | undefined {
  const unknownNamesByWave = new Map<number, string[]>();
  for (const { n, name, state } of unreviewedItems) {
    if (state !== 'UNKNOWN') continue;
    const wave = computeWaveNumber(n, bulk);
    const names = [...(unknownNamesByWave.get(wave) ?? []), name];
    unknownNamesByWave.set(wave, names);
    const waveItemCount = Math.min(bulk.waveSize, itemCount - (wave - 1) * bulk.waveSize);
    if (names.length > waveItemCount * MAX_UNKNOWN_SHARE)
      return { code: 'unknown', names, wave, rows: waveItemCount };
  }
  return undefined;
}

/** Ends a pause. The pause rules then ignore all items up to the last one that isn't waiting. */
export function resumeBulk(items: readonly OrderItem[], { pause: _pause, ...bulk }: Bulk): Bulk {
  const lastReviewedNumber = items.findLast(({ state }) => state !== 'WAITING')?.n ?? 0;
  return { ...bulk, unreviewedFrom: lastReviewedNumber + 1 };
}
