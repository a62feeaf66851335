import { expect, it } from 'vitest';
import type { Order, OrderEvent } from '../../src/orders/order.ts';
import { transition } from '../../src/orders/transition.ts';
import fc from '../support/properties.ts';
import { newOrder, START } from './sample.ts';

/*
 * Workers that crash, fall silent and come back, against a service that counts what reaches it: a model of
 * all that can happen between the claim of an order and its end.
 */

/** One worker's go at the order: it knows what it has sent itself and nothing of the others. */
interface Run {
  readonly workerId: string;
  /** Items that it has not begun with. */
  readonly ahead: Set<number>;
  /** Items whose request is out. */
  readonly out: Set<number>;
}

/** What the world does next, to one of the runs and its items. */
type Move =
  | { readonly do: 'claim' }
  /** Recovery finds the lease run out, rightly or because the worker was only slow. */
  | { readonly do: 'release' }
  /** The database has slept, and nobody knows what was done meanwhile. */
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
   * Something fails before anything of the item leaves, perhaps with the mark in the database and its
   * confirmation lost: it is tried again later, or given up.
   */
  | {
      readonly do: 'fail_unsent';
      readonly run: number;
      readonly n: number;
      readonly marked: boolean;
      readonly giveUp: boolean;
    };

const run = fc.nat(3);
const n = fc.constantFrom(1, 2);
const outcome = fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const, 'UNKNOWN' as const);
const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
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
  ),
  { minLength: 4, maxLength: 30, size: 'max' },
);

/** The order, its workers and the service's ledger. */
class World {
  order: Order = newOrder(['a.rest', 'b.rest'], {
    state: 'APPROVED',
    expiresAt: undefined,
    nudgeAt: undefined,
  });
  readonly runs: Run[] = [];
  /** Requests of each item that may have been carried out. */
  readonly charges = new Map<number, number>([
    [1, 0],
    [2, 0],
  ]);
  settledByHand = false;

  take(move: Move): void {
    if (move.do === 'claim') {
      this.claim();
      return;
    }
    if (move.do === 'release') {
      this.apply({ type: 'released' });
      return;
    }
    if (move.do === 'doubt') {
      this.apply({ type: 'doubted', summary: 'it may have been sent' });
      return;
    }
    if (move.do === 'settle') {
      const event = { type: 'settled', by: 'U0BOB', outcome: move.outcome, reason: undefined } as const;
      this.settledByHand = this.apply(event) || this.settledByHand;
      return;
    }
    const { n } = move;
    const actor = this.runs[move.run];
    if (actor === undefined) return;
    const { workerId } = actor;
    switch (move.do) {
      case 'send':
        if (!actor.ahead.delete(n)) return;
        // The worker goes on only when the mark was committed.
        if (!this.apply({ type: 'sending', workerId, n })) return;
        actor.out.add(n);
        this.charges.set(n, (this.charges.get(n) ?? 0) + 1);
        return;
      case 'prove':
        if (!actor.out.delete(n)) return;
        this.charges.set(n, (this.charges.get(n) ?? 0) - 1);
        this.apply({ type: 'held_back', workerId, n, notBefore: START, why: 'The service is busy.' });
        return;
      case 'send_again':
        // Its session had ended: it was refused, and goes out again if the mark of that is committed.
        if (!actor.out.has(n)) return;
        if (this.apply({ type: 'sending', workerId, n, again: 'The session had ended.' })) return;
        actor.out.delete(n);
        this.charges.set(n, (this.charges.get(n) ?? 0) - 1);
        this.apply({ type: 'answered', n, outcome: 'FAILED', result: { summary: 'not sent again' } });
        return;
      case 'answer':
        if (!actor.out.delete(n)) return;
        this.apply({ type: 'answered', n, outcome: move.outcome, result: { summary: 'answered' } });
        return;
      case 'fail_unsent':
        if (!actor.ahead.delete(n)) return;
        if (move.marked && !this.apply({ type: 'sending', workerId, n })) return;
        this.apply(
          move.giveUp
            ? {
                type: 'answered',
                givenUpBy: workerId,
                n,
                outcome: 'FAILED',
                result: { summary: 'nothing left' },
              }
            : { type: 'held_back', workerId, n, notBefore: START, why: 'It could not be reached.' },
        );
        return;
    }
  }

  private claim(): void {
    // Every claim has a name of its own: a process may come back to an order that it lost.
    const workerId = `worker-${this.runs.length + 1}`;
    const waiting = this.order.items.filter(({ state }) => state === 'WAITING').map((item) => item.n);
    if (!this.apply({ type: 'claimed', workerId, leaseUntil: START })) return;
    this.runs.push({ workerId, ahead: new Set(waiting), out: new Set() });
  }

  private apply(event: OrderEvent): boolean {
    const result = transition(this.order, event, START);
    if (result.ok) this.order = result.order;
    return result.ok;
  }
}

it('however workers crash, stall and come back, no item may be carried out twice', () => {
  let mostRuns = 0;
  fc.assert(
    fc.property(moves, (all) => {
      const world = new World();
      for (const move of all) {
        world.take(move);
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

it('nothing but its own answer, or a person, ends an item whose request is out', () => {
  fc.assert(
    fc.property(moves, (all) => {
      const world = new World();
      for (const move of all) {
        world.take(move);
        if (world.settledByHand) return;
        for (const n of world.runs.flatMap(({ out }) => [...out])) {
          const state = world.order.items.find((item) => item.n === n)?.state;
          if (state !== 'SENT' && state !== 'UNKNOWN') {
            expect.fail(`the request for item ${n} is out, and its order says ${state}`);
          }
        }
      }
    }),
    { numRuns: 2_000 },
  );
});
