import type { Log } from './log.ts';
import { DUE_LANES, dueAt, tellDueAt } from './orders/due.ts';
import type { Order } from './orders/order.ts';
import type { DueLane, MessageStore, OrderStore } from './orders/ports.ts';

/*
 * What is due is found in the rows: at start, every two seconds, and at once by the process that made the change. A lost
 * wake-up, a crash and a second replica are all the same case.
 */

export interface LoopOptions {
  /** What it does, for the log. */
  readonly name: string;
  /** How many are worked on at once. */
  readonly parallel: number;
  /** Between two looks, in milliseconds. */
  readonly periodMs: number;
  /** Claims what is due and nobody does, as many as there is room for. @returns ids */
  readonly claim: (limit: number) => Promise<readonly string[]>;
  /** @param isClaimed it comes from {@link LoopOptions.claim}, and not from {@link Loop.add} */
  readonly work: (id: string, isClaimed: boolean) => Promise<void>;
  readonly log: Log;
}

/** Works on what is due, so many at once: one that is slow holds up no other. */
export interface Loop {
  /** Looks now, and again and again from then on. */
  start(): void;
  /** Goes on with one at once. The same one that waits already is one; while it is worked on, it comes again after. */
  add(id: string): void;
  /** Claims what is due and begins with it. @param claim in place of the usual one */
  look(claim?: LoopOptions['claim']): Promise<void>;
  /** Begins with nothing any more. */
  stop(): void;
  /** Resolves when nothing is under way and nothing waits. */
  idle(): Promise<void>;
}

export function createLoop({ name, parallel, periodMs, claim, work, log }: LoopOptions): Loop {
  const running = new Map<string, Promise<void>>();
  /** Whether each that waits is claimed. */
  const waiting = new Map<string, boolean>();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let isLooking = false;
  let mayBeMore = false;
  let lastLook: Promise<void> = Promise.resolve();

  async function run(id: string, isClaimed: boolean): Promise<void> {
    try {
      await work(id, isClaimed);
    } catch (err) {
      log.error({ err, id }, name);
    }
    running.delete(id);
    next();
    // A backlog is worked off without waiting for the period.
    if (mayBeMore && !isLooking && running.size + waiting.size <= parallel / 2) await look();
  }

  function next(): void {
    for (const [id, isClaimed] of waiting) {
      if (running.size >= parallel) return;
      if (running.has(id)) continue;
      waiting.delete(id);
      running.set(id, run(id, isClaimed));
    }
  }

  function enqueue(id: string, isClaimed: boolean): void {
    if (isStopped) return;
    waiting.set(id, isClaimed || waiting.get(id) === true);
    next();
  }

  async function lookNow(claimDue: LoopOptions['claim']): Promise<void> {
    if (isStopped) return;
    isLooking = true;
    try {
      // However much this process has to do itself, what others have left behind gets its turn.
      const limit = Math.max(1, parallel - running.size - waiting.size);
      const ids = await claimDue(limit);
      mayBeMore = ids.length === limit;
      for (const id of ids) enqueue(id, true);
    } catch (err) {
      mayBeMore = false;
      log.warn({ err }, `${name}: looking for what is due`);
    }
    isLooking = false;
  }

  function look(claimDue = claim): Promise<void> {
    lastLook = lastLook.then(() => lookNow(claimDue));
    return lastLook;
  }

  return {
    start() {
      void look();
      timer = setInterval(() => {
        // A database that is slow already is not asked the same thing twice at once.
        if (!isLooking) void look();
      }, periodMs);
    },
    add: (id) => enqueue(id, false),
    look,
    stop() {
      isStopped = true;
      clearInterval(timer);
      waiting.clear();
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

export interface ReconcilerDeps {
  readonly store: OrderStore & MessageStore;
  readonly advance: (orderId: string) => Promise<void>;
  readonly show: (orderId: string, isClaimed: boolean) => Promise<void>;
  /** How long a claim of this process is good, should it fall silent. */
  readonly leaseMs: number;
  readonly showLeaseMs: number;
  /** Between two looks, in milliseconds. */
  readonly periodMs: number;
  readonly now: () => Date;
  readonly log: Log;
}

/** Goes on with orders. */
export interface Reconciler {
  /** Looks now, and every two seconds from then on. */
  start(): void;
  /** An order was changed by this process: what is due at once is begun. */
  changed(order: Order): void;
  /** Asks public records of all orders that they may tell of, before it is time. */
  askRecords(): Promise<void>;
  /** Looks at once for all that is due, and waits for what it finds: for clocks that jump. */
  catchUp(): Promise<void>;
  /** Takes no more work. */
  stop(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** How many orders one process works on at once. */
const PARALLEL = { deadlines: 4, execution: 48, observation: 4, telling: 8 } as const;
/** Asking public records of an order of many names takes long, and to ask them twice does no harm. */
const OBSERVATION_LEASE_MS = 10 * 60_000;
/** Timers come a little early. */
const TIMER_LEEWAY_MS = 5;
/** Public records are asked at least so often. */
const LOOK_AHEAD_MS = 61 * 60_000;

/** Joins the loops: apart, so that a slow Slack, service or registry holds up nothing else. */
export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const { store, now, log, periodMs, leaseMs, showLeaseMs } = deps;
  const advance = async (orderId: string) => {
    try {
      await deps.advance(orderId);
    } catch (err) {
      log.error({ err, orderId }, 'going on with an order; it is put off');
      await store.putOff(orderId);
    }
  };
  const laneLoop = (lane: DueLane, lease: number) =>
    createLoop({
      name: `orders, ${lane}`,
      parallel: PARALLEL[lane],
      periodMs,
      claim: (limit) => store.claimDue(lane, now(), lease, limit),
      work: advance,
      log,
    });
  const lanes: Readonly<Record<DueLane, Loop>> = {
    deadlines: laneLoop('deadlines', leaseMs),
    execution: laneLoop('execution', leaseMs),
    observation: laneLoop('observation', OBSERVATION_LEASE_MS),
  };
  const telling = createLoop({
    name: 'telling of orders',
    parallel: PARALLEL.telling,
    periodMs,
    claim: (limit) => store.claimTelling(now(), showLeaseMs, limit),
    work: deps.show,
    log,
  });
  const loops = [...Object.values(lanes), telling];
  const askRecords = () => {
    const ahead = new Date(now().getTime() + LOOK_AHEAD_MS);
    return lanes.observation.look((limit) =>
      store.claimDue('observation', ahead, OBSERVATION_LEASE_MS, limit),
    );
  };

  /** Orders that Slack is told of in a moment, should they still be under way then. */
  const soon = new Map<string, { readonly due: Date; readonly timer: NodeJS.Timeout }>();
  const tellOnTime = (id: string, due: Date | undefined) => {
    const known = soon.get(id);
    if (due !== undefined && known !== undefined && known.due <= due) return;
    clearTimeout(known?.timer);
    soon.delete(id);
    if (due === undefined) return;
    const announce = () => {
      soon.delete(id);
      telling.add(id);
    };
    const inMs = due.getTime() - now().getTime();
    if (inMs <= 0) announce();
    else soon.set(id, { due, timer: setTimeout(announce, inMs + TIMER_LEEWAY_MS).unref() });
  };

  return {
    start() {
      for (const loop of loops) loop.start();
    },
    changed(order) {
      const at = now();
      const isDue = (moment: Date | undefined) => moment !== undefined && moment <= at;
      tellOnTime(order.id, tellDueAt(order, at));
      // One that has a worker is that worker's.
      if (order.claim !== undefined || !isDue(dueAt(order, at))) return;
      for (const lane of ['deadlines', 'execution', 'observation'] as const)
        if (DUE_LANES[lane].includes(order.state)) lanes[lane].add(order.id);
    },
    askRecords,
    async catchUp() {
      await Promise.all([lanes.deadlines.look(), lanes.execution.look(), telling.look(), askRecords()]);
      await Promise.all(Object.values(lanes).map((lane) => lane.idle()));
    },
    stop() {
      for (const loop of loops) loop.stop();
    },
    async idle() {
      await Promise.all(loops.map((loop) => loop.idle()));
    },
  };
}

export interface RepeatOptions {
  /** What it does, for the log. */
  readonly name: string;
  readonly everyMs: number;
  readonly work: () => Promise<unknown>;
  readonly log: Log;
}

/** Work that finds out itself what is due, done again and again. */
export interface Repeated {
  /** Does it now. Where it is being done, it comes once more after that. Never throws. */
  now(): Promise<void>;
  stop(): void;
  /** Resolves when it is not being done. */
  idle(): Promise<void>;
}

/** Does something now and again and again from then on, never twice at once. */
export function repeat({ name, everyMs, work, log }: RepeatOptions): Repeated {
  let turn: Promise<void> | undefined;
  let isWanted = false;
  let isStopped = false;
  const takeTurn = async () => {
    while (isWanted && !isStopped) {
      isWanted = false;
      await work().catch((err: unknown) => log.error({ err }, name));
    }
    turn = undefined;
  };
  const now = () => {
    isWanted = true;
    turn ??= takeTurn();
    return turn;
  };
  void now();
  const timer = setInterval(() => {
    if (turn === undefined) void now();
  }, everyMs);
  return {
    now,
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
    idle: async () => turn,
  };
}
