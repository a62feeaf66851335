import { describe, expect, it } from 'vitest';
import { computeWaveNumber, findNextItems, findPauseReason } from '../../../src/orders/bulk/waves.ts';
import type { Order, OrderEvent } from '../../../src/orders/order.ts';
import { transition } from '../../../src/orders/state-machine.ts';
import fc, { runs } from '../../support/properties.ts';
import { hoursLater, newBulk, newOrder, RESUMED, START } from '../sample.ts';

const WORKER = 'worker-1';
const names = (count: number) => Array.from({ length: count }, (_, index) => `name${index + 1}.rest`);
type End = 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';

/** A claimed order with this many rows. */
function claimed(rows: number, waveSize: number): Order {
  const order = newOrder(names(rows), { state: 'APPROVED', expiresAt: undefined, bulk: newBulk(waveSize) });
  return must(order, { type: 'claimed', workerId: WORKER });
}

function must(order: Order, event: OrderEvent, at = START): Order {
  const result = transition(order, event, at);
  if (!result.ok) throw new Error(`${event.type} does not apply: ${JSON.stringify(result.refusal)}`);
  return result.order;
}

const sending = (n: number): OrderEvent => ({ type: 'sending', workerId: WORKER, n });
const answered = (n: number, outcome: End): OrderEvent => ({
  type: 'answered',
  n,
  outcome,
  result: { summary: { code: 'done' } },
});

/** Sends rows one after the other, with these outcomes. */
function sent(order: Order, ends: readonly End[]): Order {
  return ends.reduce((before, end, index) => {
    const [next] = findNextItems(before);
    if (next === undefined) throw new Error(`nothing is left to send for end ${index}`);
    const at = new Date(START.getTime() + before.version);
    return must(must(before, sending(next.n), at), answered(next.n, end), at);
  }, order);
}

describe('the stop rules', () => {
  it('pause after three refusals in a row, and not after three with a success between', () => {
    expect(
      findPauseReason(sent(claimed(40, 20), ['FAILED', 'FAILED', 'SUCCEEDED', 'FAILED'])),
    ).toBeUndefined();
    expect(findPauseReason(sent(claimed(40, 20), ['SUCCEEDED', 'FAILED', 'FAILED', 'FAILED']))).toEqual({
      code: 'refusals',
      names: ['name2.rest', 'name3.rest', 'name4.rest'],
    });
  });

  it('count refusals across two waves', () => {
    const ends: End[] = [
      ...Array.from({ length: 19 }, () => 'SUCCEEDED' as const),
      'FAILED',
      'FAILED',
      'FAILED',
    ];
    expect(findPauseReason(sent(claimed(40, 20), ends))).toMatchObject({ code: 'refusals' });
  });

  it('pause a wave of 20 at the third unknown, at any position', () => {
    const two: End[] = ['UNKNOWN', ...Array.from({ length: 10 }, () => 'SUCCEEDED' as const), 'UNKNOWN'];
    expect(findPauseReason(sent(claimed(40, 20), two))).toBeUndefined();
    expect(findPauseReason(sent(claimed(40, 20), [...two, 'UNKNOWN']))).toMatchObject({
      code: 'unknown',
      wave: 1,
      rows: 20,
    });
  });

  it('allow a tenth of a short last wave', () => {
    const ends: End[] = [...Array.from({ length: 20 }, () => 'SUCCEEDED' as const), 'UNKNOWN'];
    expect(findPauseReason(sent(claimed(25, 20), ends))).toMatchObject({ code: 'unknown', wave: 2, rows: 5 });
  });

  it('start over after a person has resumed it', () => {
    const failed = sent(claimed(40, 20), ['FAILED', 'FAILED', 'FAILED']);
    const reason = findPauseReason(failed);
    if (reason === undefined) throw new Error('there is no reason to pause');
    const paused = must(failed, { type: 'paused', reason, expiresAt: hoursLater(72), workerId: WORKER });
    expect(paused).toMatchObject({ state: 'APPROVED', bulk: { pause: reason } });
    expect(transition(paused, { type: 'claimed', workerId: WORKER }, START).ok).toBe(false);
    const resumed = must(paused, RESUMED);
    expect(findPauseReason(resumed)).toBeUndefined();
    const again = must(resumed, { type: 'claimed', workerId: WORKER });
    expect(findPauseReason(sent(again, ['FAILED', 'FAILED']))).toBeUndefined();
    expect(findPauseReason(sent(again, ['FAILED', 'FAILED', 'FAILED']))).toMatchObject({
      names: ['name4.rest', 'name5.rest', 'name6.rest'],
    });
  });

  it('ignore orders without waves', () => {
    const order = must(newOrder(names(9), { state: 'APPROVED' }), { type: 'claimed', workerId: WORKER });
    expect(findPauseReason(sent(order, ['FAILED', 'FAILED', 'FAILED', 'UNKNOWN']))).toBeUndefined();
  });
});

describe('for any outcomes of concurrent rows', () => {
  /** A row is sent while fewer than four are running, or a running one ends. */
  const step = fc.record({
    act: fc.constantFrom('send', 'end', 'release', 'resume'),
    pick: fc.nat(3),
    end: fc.constantFrom<End>('SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'UNKNOWN'),
  });
  const shape = fc.record({
    rows: fc.integer({ min: 1, max: 23 }),
    waveSize: fc.integer({ min: 2, max: 10 }),
  });

  it('waves follow one another, each row once, and nothing is sent past a reason to pause', () => {
    let pauses = 0;
    fc.assert(
      fc.property(shape, fc.array(step, { maxLength: 120, size: 'max' }), ({ rows, waveSize }, steps) => {
        let order = claimed(rows, waveSize);
        const sentRows = new Set<number>();
        for (const [index, { act, pick, end }] of steps.entries()) {
          const at = new Date(START.getTime() + index);
          const out = order.items.filter(({ state }) => state === 'SENT');
          if (act === 'send' && out.length < 4 && order.state === 'EXECUTING') {
            // The state machine enforces the rules, even if a worker doesn't.
            const waiting = order.items.filter(({ state }) => state === 'WAITING');
            const item = waiting[pick];
            if (item === undefined) continue;
            const reason = findPauseReason(order);
            const first = order.items.find(({ state }) => state === 'WAITING' || state === 'SENT');
            const isOfWave =
              computeWaveNumber(item.n, { waveSize }) === computeWaveNumber(first?.n ?? 0, { waveSize });
            const result = transition(order, sending(item.n), at);
            expect(result.ok, `row ${item.n}`).toBe(isOfWave && reason === undefined);
            if (!result.ok) continue;
            expect(sentRows.has(item.n), `row ${item.n} was sent a second time`).toBe(false);
            sentRows.add(item.n);
            order = result.order;
          } else if (act === 'end' && out.length > 0) {
            const item = out[pick % out.length];
            if (item !== undefined) order = must(order, answered(item.n, end), at);
          } else if (act === 'release' && order.state === 'EXECUTING') {
            order = must(order, { type: 'released' }, at);
            const reason = findPauseReason(order);
            if (order.state !== 'APPROVED') continue;
            if (reason !== undefined) {
              pauses += 1;
              order = must(order, { type: 'paused', reason, expiresAt: hoursLater(72) }, at);
            } else order = must(order, { type: 'claimed', workerId: WORKER }, at);
          } else if (act === 'resume' && order.bulk?.pause !== undefined) {
            order = must(must(order, RESUMED, at), { type: 'claimed', workerId: WORKER }, at);
            expect(findPauseReason(order)).toBeUndefined();
          }
        }
      }),
      { numRuns: runs(500) },
    );
    expect(pauses, 'it was paused in some of them').toBeGreaterThan(10);
  });
});
