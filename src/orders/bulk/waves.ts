import type { Order, OrderItem } from '../order.ts';
import type { Bulk, PauseReason } from './stored-bulk.ts';

/*
 * How an order of many rows goes out: in waves, one after the other, and when it stops for a person. Pure: both follow
 * from the order alone, so that a process that takes it over decides what its predecessor would have decided.
 */

/** Rows of one wave. */
export const WAVE_SIZE = 20;
/** So many names refused one after the other pause the order. */
const MAX_REFUSALS = 3;
/** More than this share of a wave with an outcome that nobody knows pauses it. */
const MAX_UNKNOWN_SHARE = 0.1;

type Waves = Order;

/** The wave that a row belongs to, from 1. */
export function waveOf(n: number, { waveSize }: { readonly waveSize: number }): number {
  return Math.ceil(n / waveSize);
}

/**
 * The items that may be sent next: of an ordinary order all that wait, of one in waves those of the first wave that has
 * not ended.
 */
export function nextItems({ items, bulk }: Waves): readonly OrderItem[] {
  const waiting = items.filter(({ state }) => state === 'WAITING');
  if (bulk === undefined) return waiting;
  const first = items.find(({ state }) => state === 'WAITING' || state === 'SENT');
  if (first === undefined) return [];
  const current = waveOf(first.n, bulk);
  return waiting.filter(({ n }) => waveOf(n, bulk) === current);
}

/** Whether nothing more of an order is sent until a person lets it go on. */
export function isPaused({ state, bulk }: Order): boolean {
  return state === 'APPROVED' && bulk?.pause !== undefined;
}

/** Why nothing more may be sent until a person has looked at it; undefined while all goes well. */
export function reasonToPause({ items, bulk }: Waves): PauseReason | undefined {
  if (bulk === undefined) return undefined;
  const judged = items.filter(({ n }) => n >= bulk.judgedFrom);
  return refusalsInRow(judged) ?? unknownWave(judged, items.length, bulk);
}

/** Whether an item may be sent at this moment, as far as waves and their stop rules go. */
export function mayBeSentNext(order: Waves, item: OrderItem): boolean {
  return order.bulk === undefined || (nextItems(order).includes(item) && reasonToPause(order) === undefined);
}

/** Answers in the sequence in which they came. What has no answer stands in no row. */
function refusalsInRow(judged: readonly OrderItem[]): PauseReason | undefined {
  if (judged.filter(({ state }) => state === 'FAILED').length < MAX_REFUSALS) return undefined;
  const answered = judged
    .flatMap(({ n, name, state, answeredAt }) =>
      answeredAt === undefined || (state !== 'SUCCEEDED' && state !== 'FAILED')
        ? []
        : { n, name, state, at: answeredAt.getTime() },
    )
    .sort((a, b) => a.at - b.at || a.n - b.n);
  let row: string[] = [];
  for (const { state, name } of answered) {
    row = state === 'FAILED' ? [...row, name] : [];
    if (row.length === MAX_REFUSALS) return { code: 'refusals', names: row };
  }
  return undefined;
}

function unknownWave(judged: readonly OrderItem[], rows: number, bulk: Bulk): PauseReason | undefined {
  const unknown = new Map<number, string[]>();
  for (const { n, name, state } of judged) {
    if (state !== 'UNKNOWN') continue;
    const wave = waveOf(n, bulk);
    const names = [...(unknown.get(wave) ?? []), name];
    unknown.set(wave, names);
    const size = Math.min(bulk.waveSize, rows - (wave - 1) * bulk.waveSize);
    if (names.length > size * MAX_UNKNOWN_SHARE) return { code: 'unknown', names, wave, rows: size };
  }
  return undefined;
}

/** What is kept of an order that goes on: the rules begin anew behind the last item that has ended. */
export function resumedBulk(items: readonly OrderItem[], { pause: _pause, ...bulk }: Bulk): Bulk {
  const last = items.findLast(({ state }) => state !== 'WAITING')?.n ?? 0;
  return { ...bulk, judgedFrom: last + 1 };
}
