import { expect, it } from 'vitest';
import type { Order, OrderEvent, OrderItem } from '../../src/orders/order.ts';
import { type AnsweredEvent, buildOutcomeEvent } from '../../src/orders/outcome-event.ts';
import { transition } from '../../src/orders/state-machine.ts';
import fc from '../support/properties.ts';
import { newOrder, START } from './sample.ts';

/*
 * A model of everything that can happen between an order's claim and its end: workers crash, hang and come back, and the
 * service counts requests.
 */

/** One worker's claim. It knows only what it has sent itself. */
interface WorkerRun {
  readonly workerId: string;
  /** Items that it hasn't started. */
  readonly unstarted: Set<number>;
  /** Items with a running request, as they were marked. */
  readonly running: Map<number, OrderItem>;
}

/** The next event, for a run and its items. */
type Move =
  | { readonly do: 'claim' }
  /** The lease expired, because the worker died or was slow. */
  | { readonly do: 'release' }
  /** The database may have been restored. */
  | { readonly do: 'doubt' }
  | { readonly do: 'settle'; readonly outcome: 'SUCCEEDED' | 'FAILED' }
  | { readonly do: 'send' | 'prove' | 'send_again'; readonly run: number; readonly n: number }
  | {
      readonly do: 'answer';
      readonly run: number;
      readonly n: number;
      readonly outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';
    }
  /**
   * A failure before the item is sent, perhaps after its commit was saved without a confirmation. The item is retried
   * later or given up.
   */
  | {
      readonly do: 'fail_unsent';
      readonly run: number;
      readonly n: number;
      readonly marked: boolean;
      readonly giveUp: boolean;
    }
  /** The database loses its last changes. */
  | { readonly do: 'rewind'; readonly changes: number };

const run = fc.nat(3);
const n = fc.constantFrom(1, 2);
const outcome = fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const, 'UNKNOWN' as const);
const anyMove: readonly fc.MaybeWeightedArbitrary<Move>[] = [
  { weight: 4, arbitrary: fc.constant<Move>({ do: 'claim' }) },
  { weight: 2, arbitrary: fc.constant<Move>({ do: 'release' }) },
  { weight: 1, arbitrary: fc.constant<Move>({ do: 'doubt' }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const), run, n }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('prove' as const), run, n }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('send_again' as const), run, n }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('answer' as const), run, n, outcome }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fail_unsent' as const),
      run,
      n,
      marked: fc.boolean(),
      giveUp: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      outcome: fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const),
    }),
  },
];
const rewind = fc.record({ do: fc.constant('rewind' as const), changes: fc.integer({ min: 1, max: 4 }) });
const SEQUENCE_LENGTH = { minLength: 4, maxLength: 30, size: 'max' } as const;
const moves = fc.array(fc.oneof(...anyMove), SEQUENCE_LENGTH);
const movesAndRewinds = fc.array(fc.oneof(...anyMove, { weight: 3, arbitrary: rewind }), SEQUENCE_LENGTH);
/** Two workers send one item, because the database lost the first one's commits. Rare in random moves. */
const SENT_TWICE: readonly Move[] = [
  { do: 'claim' },
  { do: 'send', run: 0, n: 1 },
  { do: 'rewind', changes: 2 },
  { do: 'claim' },
  { do: 'send', run: 1, n: 1 },
];
const movesWithLosses = fc.oneof(
  movesAndRewinds,
  movesAndRewinds.map((rest) => [...SENT_TWICE, ...rest]),
);

/** The order, its workers and the service's counts. */
class World {
  order: Order = newOrder(['a.rest', 'b.rest'], {
    state: 'APPROVED',
    expiresAt: undefined,
    remindAt: undefined,
  });
  readonly runs: WorkerRun[] = [];
  /** Requests of each item that may have been carried out. */
  readonly charges = new Map<number, number>([
    [1, 0],
    [2, 0],
  ]);
  isSettledByPerson = false;
  /** Items with a reported result of a sent request. */
  reported: ReadonlySet<number> = new Set();
  /** The order, and its reported results, before each change. */
  readonly history: { readonly order: Order; readonly reported: ReadonlySet<number> }[] = [];

  applyMove(move: Move): void {
    if (move.do === 'claim') {
      this.claim();
      return;
    }
    if (move.do === 'release') {
      this.apply({ type: 'released' });
      return;
    }
    if (move.do === 'doubt') {
      this.apply({ type: 'invalidated', summary: { code: 'database_restored' } });
      return;
    }
    if (move.do === 'rewind') {
      const lost = this.history.splice(-move.changes);
      if (lost[0] !== undefined) ({ order: this.order, reported: this.reported } = lost[0]);
      return;
    }
    if (move.do === 'settle') {
      const event = { type: 'resolved', by: 'U0BOB', outcome: move.outcome, reason: undefined } as const;
      this.isSettledByPerson = this.apply(event) || this.isSettledByPerson;
      return;
    }
    const { n } = move;
    const worker = this.runs[move.run];
    if (worker === undefined) return;
    const { workerId } = worker;
    switch (move.do) {
      case 'send':
        if (!worker.unstarted.delete(n)) return;
        // The worker continues only if the commit succeeded.
        if (!this.apply({ type: 'sending', workerId, n })) return;
        if (this.reported.has(n)) expect.fail(`item ${n} was sent again after its response was reported`);
        worker.running.set(n, this.getItem(n));
        this.charges.set(n, (this.charges.get(n) ?? 0) + 1);
        return;
      case 'prove': {
        const sentItem = worker.running.get(n);
        if (sentItem === undefined) return;
        worker.running.delete(n);
        this.charges.set(n, (this.charges.get(n) ?? 0) - 1);
        const busy = { summary: { code: 'service_busy' }, code: workerId } as const;
        const finalAnswer: AnsweredEvent = { type: 'answered', n, outcome: 'FAILED', result: busy };
        const event = {
          type: 'retry_scheduled',
          workerId,
          n,
          notBefore: START,
          retryReason: 'busy',
        } as const;
        this.apply(buildOutcomeEvent(this.order, { event, sentItem, finalAnswer }));
        return;
      }
      case 'send_again': {
        // The session had ended, so the request was refused. It is sent again if this commit succeeds.
        const sentItem = worker.running.get(n);
        if (sentItem === undefined) return;
        if (this.apply({ type: 'sending', workerId, n, retryReason: 'session_ended' })) return;
        worker.running.delete(n);
        this.charges.set(n, (this.charges.get(n) ?? 0) - 1);
        const event: AnsweredEvent = {
          type: 'answered',
          n,
          outcome: 'FAILED',
          result: { summary: { code: 'session_ended' } },
        };
        this.apply(buildOutcomeEvent(this.order, { event, sentItem }));
        return;
      }
      case 'answer': {
        const sentItem = worker.running.get(n);
        if (sentItem === undefined) return;
        worker.running.delete(n);
        const result = { summary: { code: 'done' }, code: workerId } as const;
        const event: AnsweredEvent = { type: 'answered', n, outcome: move.outcome, result };
        this.apply(buildOutcomeEvent(this.order, { event, sentItem }));
        this.reported = new Set([...this.reported, n]);
        const { state, result: savedResult } = this.getItem(n);
        const isKept = savedResult?.code === workerId || savedResult?.lateOutcome === 'SUCCEEDED';
        if (move.outcome === 'SUCCEEDED' && !isKept)
          expect.fail(
            `item ${n} was carried out, but that isn't saved: ${state} ${JSON.stringify(savedResult)}`,
          );
        if (move.outcome === 'UNKNOWN' && state === 'WAITING') expect.fail(`item ${n} may be sent again`);
        return;
      }
      case 'fail_unsent':
        if (!worker.unstarted.delete(n)) return;
        if (move.marked && !this.apply({ type: 'sending', workerId, n })) return;
        this.apply(
          move.giveUp
            ? {
                type: 'answered',
                abandonedBy: workerId,
                n,
                outcome: 'FAILED',
                result: { summary: { code: 'not_reached' } },
              }
            : { type: 'retry_scheduled', workerId, n, notBefore: START, retryReason: 'not_reached' },
        );
        return;
    }
  }

  private claim(): void {
    // Every claim has a unique id, because a process may claim an order again.
    const workerId = `worker-${this.runs.length + 1}`;
    const waiting = this.order.items.filter(({ state }) => state === 'WAITING').map((item) => item.n);
    if (!this.apply({ type: 'claimed', workerId })) return;
    this.runs.push({ workerId, unstarted: new Set(waiting), running: new Map() });
  }

  private apply(event: OrderEvent): boolean {
    const result = transition(this.order, event, START);
    if (!result.ok) return false;
    this.history.push({ order: this.order, reported: this.reported });
    this.order = result.order;
    return true;
  }

  private getItem(n: number): OrderItem {
    const item = this.order.items.find((each) => each.n === n);
    if (item === undefined) throw new Error(`there is no item ${n}`);
    return item;
  }
}

it('no item is carried out twice when workers crash, hang and come back', () => {
  let mostRuns = 0;
  fc.assert(
    fc.property(moves, (sequence) => {
      const world = new World();
      for (const move of sequence) {
        world.applyMove(move);
        for (const [n, charges] of world.charges) {
          if (charges > 1) expect.fail(`${charges} requests for item ${n} may be carried out`);
        }
      }
      mostRuns = Math.max(mostRuns, world.runs.length);
    }),
    { numRuns: 2_000 },
  );
  expect(mostRuns, 'claims of one order').toBeGreaterThan(2);
});

it('an item with a running request is ended only by its response or a person', () => {
  fc.assert(
    fc.property(moves, (sequence) => {
      const world = new World();
      for (const move of sequence) {
        world.applyMove(move);
        if (world.isSettledByPerson) return;
        for (const n of world.runs.flatMap(({ running }) => [...running.keys()])) {
          const state = world.order.items.find((item) => item.n === n)?.state;
          if (state !== 'SENT' && state !== 'UNKNOWN') {
            expect.fail(`item ${n} has a running request and the state ${state}`);
          }
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

it('after lost commits, a sent request’s result is saved and it isn’t sent again', () => {
  let mostSent = 0;
  fc.assert(
    fc.property(movesWithLosses, (sequence) => {
      const world = new World();
      for (const move of sequence) world.applyMove(move);
      mostSent = Math.max(mostSent, ...world.charges.values());
    }),
    { numRuns: 5_000 },
  );
  expect(mostSent, 'requests for one item after losses').toBeGreaterThan(1);
});
