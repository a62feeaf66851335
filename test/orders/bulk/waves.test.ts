import { describe, expect, it } from 'vitest';
import { computeWaveNumber, findNextItems, findPauseReason } from '../../../src/orders/bulk/waves.ts';
import type { Order, OrderEvent } from '../../../src/orders/order.ts';
import { transition } from '../../../src/orders/state-machine.ts';
import fc, { runs } from '../../support/properties.ts';
import { hoursLater, newBulk, newOrder, RESUMED_EVENT, START } from '../sample.ts';

const WORKER = 'worker-1';
const createNames = (count: number) => Array.from({ length: count }, (_, index) => `name${index + 1}.rest`);
type Outcome = 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';

function createClaimedOrder(rows: number, waveSize: number): Order {
  const order = newOrder(createNames(rows), {
    state: 'APPROVED',
    expiresAt: undefined,
    bulk: newBulk(waveSize),
  });
  return applyEvent(order, { type: 'claimed', workerId: WORKER });
}

function applyEvent(order: Order, event: OrderEvent, at = START): Order {
  const result = transition(order, event, at);
  if (!result.ok) throw new Error(`${event.type} was refused: ${JSON.stringify(result.refusal)}`);
  return result.order;
}

const newSendingEvent = (n: number): OrderEvent => ({ type: 'sending', workerId: WORKER, n });
const newAnsweredEvent = (n: number, outcome: Outcome): OrderEvent => ({
  type: 'answered',
  n,
  outcome,
  result: { summary: { code: 'done' } },
});

/** Sends one row for each outcome. */
function sendRows(order: Order, outcomes: readonly Outcome[]): Order {
  return outcomes.reduce((current, end, index) => {
    const [next] = findNextItems(current);
    if (next === undefined) throw new Error(`no row is left for outcome ${index}`);
    const at = new Date(START.getTime() + current.version);
    return applyEvent(applyEvent(current, newSendingEvent(next.n), at), newAnsweredEvent(next.n, end), at);
  }, order);
}

describe('the pause rules', () => {
  it('pause after three refusals in a row, but not with a success in between', () => {
    expect(
      findPauseReason(sendRows(createClaimedOrder(40, 20), ['FAILED', 'FAILED', 'SUCCEEDED', 'FAILED'])),
    ).toBeUndefined();
    expect(
      findPauseReason(sendRows(createClaimedOrder(40, 20), ['SUCCEEDED', 'FAILED', 'FAILED', 'FAILED'])),
    ).toEqual({
      code: 'refusals',
      names: ['name2.rest', 'name3.rest', 'name4.rest'],
    });
  });

  it('count refusals across two waves', () => {
    const outcomes: Outcome[] = [
      ...Array.from({ length: 19 }, () => 'SUCCEEDED' as const),
      'FAILED',
      'FAILED',
      'FAILED',
    ];
    expect(findPauseReason(sendRows(createClaimedOrder(40, 20), outcomes))).toMatchObject({
      code: 'refusals',
    });
  });

  it('pause a wave of 20 at the third unknown row, at any position', () => {
    const twoUnknown: Outcome[] = [
      'UNKNOWN',
      ...Array.from({ length: 10 }, () => 'SUCCEEDED' as const),
      'UNKNOWN',
    ];
    expect(findPauseReason(sendRows(createClaimedOrder(40, 20), twoUnknown))).toBeUndefined();
    expect(findPauseReason(sendRows(createClaimedOrder(40, 20), [...twoUnknown, 'UNKNOWN']))).toMatchObject({
      code: 'unknown',
      wave: 1,
      rows: 20,
    });
  });

  it('pause a last wave of five rows at the first unknown row', () => {
    const outcomes: Outcome[] = [...Array.from({ length: 20 }, () => 'SUCCEEDED' as const), 'UNKNOWN'];
    expect(findPauseReason(sendRows(createClaimedOrder(25, 20), outcomes))).toMatchObject({
      code: 'unknown',
      wave: 2,
      rows: 5,
    });
  });

  it('start over after a person resumes the order', () => {
    const failed = sendRows(createClaimedOrder(40, 20), ['FAILED', 'FAILED', 'FAILED']);
    const reason = findPauseReason(failed);
    if (reason === undefined) throw new Error('expected a reason to pause');
    const paused = applyEvent(failed, {
      type: 'paused',
      reason,
      expiresAt: hoursLater(72),
      workerId: WORKER,
    });
    expect(paused).toMatchObject({ state: 'APPROVED', bulk: { pause: reason } });
    expect(transition(paused, { type: 'claimed', workerId: WORKER }, START).ok).toBe(false);
    const resumed = applyEvent(paused, RESUMED_EVENT);
    expect(findPauseReason(resumed)).toBeUndefined();
    const claimedAgain = applyEvent(resumed, { type: 'claimed', workerId: WORKER });
    expect(findPauseReason(sendRows(claimedAgain, ['FAILED', 'FAILED']))).toBeUndefined();
    expect(findPauseReason(sendRows(claimedAgain, ['FAILED', 'FAILED', 'FAILED']))).toMatchObject({
      names: ['name4.rest', 'name5.rest', 'name6.rest'],
    });
  });

  it('ignore orders without waves', () => {
    const order = applyEvent(newOrder(createNames(9), { state: 'APPROVED' }), {
      type: 'claimed',
      workerId: WORKER,
    });
    expect(findPauseReason(sendRows(order, ['FAILED', 'FAILED', 'FAILED', 'UNKNOWN']))).toBeUndefined();
  });
});

describe('for any outcomes of concurrent rows', () => {
  /** `pick` selects one of the rows. At most four run at once. */
  const step = fc.record({
    act: fc.constantFrom('send', 'end', 'release', 'resume'),
    pick: fc.nat(3),
    end: fc.constantFrom<Outcome>('SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'UNKNOWN'),
  });
  const orderSize = fc.record({
    rows: fc.integer({ min: 1, max: 23 }),
    waveSize: fc.integer({ min: 2, max: 10 }),
  });

  it('waves run one by one, rows are sent once, and nothing is sent after a reason to pause', () => {
    let pauses = 0;
    fc.assert(
      fc.property(orderSize, fc.array(step, { maxLength: 120, size: 'max' }), ({ rows, waveSize }, steps) => {
        let order = createClaimedOrder(rows, waveSize);
        const sentRows = new Set<number>();
        for (const [index, { act, pick, end }] of steps.entries()) {
          const at = new Date(START.getTime() + index);
          const sentItems = order.items.filter(({ state }) => state === 'SENT');
          if (act === 'send' && sentItems.length < 4 && order.state === 'EXECUTING') {
            // The state machine enforces the rules, even if a worker doesn't.
            const waiting = order.items.filter(({ state }) => state === 'WAITING');
            const item = waiting[pick];
            if (item === undefined) continue;
            const reason = findPauseReason(order);
            const first = order.items.find(({ state }) => state === 'WAITING' || state === 'SENT');
            const isInCurrentWave =
              computeWaveNumber(item.n, { waveSize }) === computeWaveNumber(first?.n ?? 0, { waveSize });
            const result = transition(order, newSendingEvent(item.n), at);
            expect(result.ok, `row ${item.n}`).toBe(isInCurrentWave && reason === undefined);
            if (!result.ok) continue;
            expect(sentRows.has(item.n), `row ${item.n} was already sent`).toBe(false);
            sentRows.add(item.n);
            order = result.order;
          } else if (act === 'end' && sentItems.length > 0) {
            const item = sentItems[pick % sentItems.length];
            if (item !== undefined) order = applyEvent(order, newAnsweredEvent(item.n, end), at);
          } else if (act === 'release' && order.state === 'EXECUTING') {
            order = applyEvent(order, { type: 'released' }, at);
            const reason = findPauseReason(order);
            if (order.state !== 'APPROVED') continue;
            if (reason !== undefined) {
              pauses += 1;
              order = applyEvent(order, { type: 'paused', reason, expiresAt: hoursLater(72) }, at);
            } else order = applyEvent(order, { type: 'claimed', workerId: WORKER }, at);
          } else if (act === 'resume' && order.bulk?.pause !== undefined) {
            order = applyEvent(
              applyEvent(order, RESUMED_EVENT, at),
              { type: 'claimed', workerId: WORKER },
              at,
            );
            expect(findPauseReason(order)).toBeUndefined();
          }
        }
      }),
      { numRuns: runs(500) },
    );
    expect(pauses, 'pauses in all runs').toBeGreaterThan(10);
  });
});
