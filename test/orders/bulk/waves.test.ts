import { describe, expect, it } from 'vitest';
import { computeWaveNumber, findNextItems, findPauseReason } from '../../../src/orders/bulk/waves.ts';
import type { Order, OrderEvent } from '../../../src/orders/order.ts';
import { transition } from '../../../src/orders/state-machine.ts';
import fc, { runs } from '../../support/properties.ts';
import { hoursLater, newBulk, newOrder, RESUMED, START } from '../sample.ts';

const WORKER = 'worker-1';
const names = (count: number) => Array.from({ length: count }, (_, index) => `name${index + 1}.rest`);
type End = 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';

function claim(rows: number, waveSize: number): Order {
  const order = newOrder(names(rows), { state: 'APPROVED', expiresAt: undefined, bulk: newBulk(waveSize) });
  return apply(order, { type: 'claimed', workerId: WORKER });
}

function apply(order: Order, event: OrderEvent, at = START): Order {
  const result = transition(order, event, at);
  if (!result.ok) throw new Error(`${event.type} was refused: ${JSON.stringify(result.refusal)}`);
  return result.order;
}

const sending = (n: number): OrderEvent => ({ type: 'sending', workerId: WORKER, n });
const answered = (n: number, outcome: End): OrderEvent => ({
  type: 'answered',
  n,
  outcome,
  result: { summary: { code: 'done' } },
});

/** Sends rows one by one, with these outcomes. */
function send(order: Order, ends: readonly End[]): Order {
  return ends.reduce((before, end, index) => {
    const [next] = findNextItems(before);
    if (next === undefined) throw new Error(`no row is left for outcome ${index}`);
    const at = new Date(START.getTime() + before.version);
    return apply(apply(before, sending(next.n), at), answered(next.n, end), at);
  }, order);
}

describe('the pause rules', () => {
  it('pause after three refusals in a row, but not with a success in between', () => {
    expect(findPauseReason(send(claim(40, 20), ['FAILED', 'FAILED', 'SUCCEEDED', 'FAILED']))).toBeUndefined();
    expect(findPauseReason(send(claim(40, 20), ['SUCCEEDED', 'FAILED', 'FAILED', 'FAILED']))).toEqual({
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
    expect(findPauseReason(send(claim(40, 20), ends))).toMatchObject({ code: 'refusals' });
  });

  it('pause a wave of 20 at the third unknown row, at any position', () => {
    const two: End[] = ['UNKNOWN', ...Array.from({ length: 10 }, () => 'SUCCEEDED' as const), 'UNKNOWN'];
    expect(findPauseReason(send(claim(40, 20), two))).toBeUndefined();
    expect(findPauseReason(send(claim(40, 20), [...two, 'UNKNOWN']))).toMatchObject({
      code: 'unknown',
      wave: 1,
      rows: 20,
    });
  });

  it('allow a tenth of a short last wave', () => {
    const ends: End[] = [...Array.from({ length: 20 }, () => 'SUCCEEDED' as const), 'UNKNOWN'];
    expect(findPauseReason(send(claim(25, 20), ends))).toMatchObject({
      code: 'unknown',
      wave: 2,
      rows: 5,
    });
  });

  it('start over after a person resumes the order', () => {
    const failed = send(claim(40, 20), ['FAILED', 'FAILED', 'FAILED']);
    const reason = findPauseReason(failed);
    if (reason === undefined) throw new Error('expected a reason to pause');
    const paused = apply(failed, { type: 'paused', reason, expiresAt: hoursLater(72), workerId: WORKER });
    expect(paused).toMatchObject({ state: 'APPROVED', bulk: { pause: reason } });
    expect(transition(paused, { type: 'claimed', workerId: WORKER }, START).ok).toBe(false);
    const resumed = apply(paused, RESUMED);
    expect(findPauseReason(resumed)).toBeUndefined();
    const again = apply(resumed, { type: 'claimed', workerId: WORKER });
    expect(findPauseReason(send(again, ['FAILED', 'FAILED']))).toBeUndefined();
    expect(findPauseReason(send(again, ['FAILED', 'FAILED', 'FAILED']))).toMatchObject({
      names: ['name4.rest', 'name5.rest', 'name6.rest'],
    });
  });

  it('ignore orders without waves', () => {
    const order = apply(newOrder(names(9), { state: 'APPROVED' }), { type: 'claimed', workerId: WORKER });
    expect(findPauseReason(send(order, ['FAILED', 'FAILED', 'FAILED', 'UNKNOWN']))).toBeUndefined();
  });
});

describe('for any outcomes of concurrent rows', () => {
  /** At most four rows run at once. */
  const step = fc.record({
    act: fc.constantFrom('send', 'end', 'release', 'resume'),
    pick: fc.nat(3),
    end: fc.constantFrom<End>('SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'UNKNOWN'),
  });
  const shape = fc.record({
    rows: fc.integer({ min: 1, max: 23 }),
    waveSize: fc.integer({ min: 2, max: 10 }),
  });

  it('waves run one by one, rows are sent once, and nothing is sent after a reason to pause', () => {
    let pauses = 0;
    fc.assert(
      fc.property(shape, fc.array(step, { maxLength: 120, size: 'max' }), ({ rows, waveSize }, steps) => {
        let order = claim(rows, waveSize);
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
            expect(sentRows.has(item.n), `row ${item.n} was already sent`).toBe(false);
            sentRows.add(item.n);
            order = result.order;
          } else if (act === 'end' && out.length > 0) {
            const item = out[pick % out.length];
            if (item !== undefined) order = apply(order, answered(item.n, end), at);
          } else if (act === 'release' && order.state === 'EXECUTING') {
            order = apply(order, { type: 'released' }, at);
            const reason = findPauseReason(order);
            if (order.state !== 'APPROVED') continue;
            if (reason !== undefined) {
              pauses += 1;
              order = apply(order, { type: 'paused', reason, expiresAt: hoursLater(72) }, at);
            } else order = apply(order, { type: 'claimed', workerId: WORKER }, at);
          } else if (act === 'resume' && order.bulk?.pause !== undefined) {
            order = apply(apply(order, RESUMED, at), { type: 'claimed', workerId: WORKER }, at);
            expect(findPauseReason(order)).toBeUndefined();
          }
        }
      }),
      { numRuns: runs(500) },
    );
    expect(pauses, 'pauses in all runs').toBeGreaterThan(10);
  });
});
