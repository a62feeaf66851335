import type { Order, OrderItem } from '../order.ts';
import type { Bulk, PauseReason } from './stored-bulk.ts';

/**
 * Bulk orders are sent in waves, one after another, and pause after too many failures. Pure: results depend only on the
 * order, so they are the same in every process.
 */

export const WAVE_SIZE = 20;
/** Consecutive refusals that pause an order. */
const MAX_REFUSALS = 3;
/** An order pauses if more than this share of a wave has an unknown outcome. */
const MAX_UNKNOWN_SHARE = 0.1;

/** The number of a row's wave, from 1. */
export function computeWaveNumber(n: number, { waveSize }: { readonly waveSize: number }): number {
  return Math.ceil(n / waveSize);
}

/** The items that can be sent next: all waiting ones or, in a bulk order, those of the first unfinished wave. */
export function findNextItems({ items, bulk }: Order): readonly OrderItem[] {
  const waiting = items.filter(({ state }) => state === 'WAITING');
  if (bulk === undefined) return waiting;
  const firstUnfinished = items.find(({ state }) => state === 'WAITING' || state === 'SENT');
  if (firstUnfinished === undefined) return [];
  const currentWave = computeWaveNumber(firstUnfinished.n, bulk);
  return waiting.filter(({ n }) => computeWaveNumber(n, bulk) === currentWave);
}

/** A paused order sends nothing until a person resumes it. */
export function isPaused({ state, bulk }: Order): boolean {
  return state === 'APPROVED' && bulk?.pause !== undefined;
}

/** Why a person must review the order before more is sent; undefined if no review is needed. */
export function findPauseReason({ items, bulk }: Order): PauseReason | undefined {
  if (bulk === undefined) return undefined;
  const unreviewed = items.filter(({ n }) => n >= bulk.unreviewedFrom);
  return findConsecutiveRefusals(unreviewed) ?? findUnknownWave(unreviewed, items.length, bulk);
}

/** Whether waves and pause rules allow an item to be sent now. */
export function canBeSentNext(order: Order, item: OrderItem): boolean {
  return (
    order.bulk === undefined || (findNextItems(order).includes(item) && findPauseReason(order) === undefined)
  );
}

/** Finds refusals in a row, in the order of the answers. An item without an answer doesn't end a streak. */
function findConsecutiveRefusals(unreviewed: readonly OrderItem[]): PauseReason | undefined {
  if (unreviewed.filter(({ state }) => state === 'FAILED').length < MAX_REFUSALS) return undefined;
  const answered = unreviewed
    .flatMap(({ n, name, state, answeredAt }) =>
      answeredAt === undefined || (state !== 'SUCCEEDED' && state !== 'FAILED')
        ? []
        : { n, name, state, at: answeredAt.getTime() },
    )
    .sort((a, b) => a.at - b.at || a.n - b.n);
  let streak: string[] = [];
  for (const { state, name } of answered) {
    streak = state === 'FAILED' ? [...streak, name] : [];
    if (streak.length === MAX_REFUSALS) return { code: 'refusals', names: streak };
  }
  return undefined;
}

function findUnknownWave(
  unreviewed: readonly OrderItem[],
  rows: number,
  bulk: Bulk,
): PauseReason | undefined {
  const unknownNames = new Map<number, string[]>();
  for (const { n, name, state } of unreviewed) {
    if (state !== 'UNKNOWN') continue;
    const wave = computeWaveNumber(n, bulk);
    const names = [...(unknownNames.get(wave) ?? []), name];
    unknownNames.set(wave, names);
    const size = Math.min(bulk.waveSize, rows - (wave - 1) * bulk.waveSize);
    if (names.length > size * MAX_UNKNOWN_SHARE) return { code: 'unknown', names, wave, rows: size };
  }
  return undefined;
}

/** For a resumed order. The pause rules start again after the last item that isn't waiting. */
export function resumeBulk(items: readonly OrderItem[], { pause: _pause, ...bulk }: Bulk): Bulk {
  const lastReviewed = items.findLast(({ state }) => state !== 'WAITING')?.n ?? 0;
  return { ...bulk, unreviewedFrom: lastReviewed + 1 };
}
