import type { Log } from '../lib/log.ts';
import { DUE_LANES, dueAt, notificationDueAt } from '../orders/due.ts';
import type { Order } from '../orders/order.ts';
import type { DueLane, OrderStore } from '../orders/ports.ts';
import { keyOfSubject, type NotificationStore, type Subject, subjectOfKey } from '../outbox/notifications.ts';

/*
 * Finds due work in the rows: at start, every two seconds, and at once in the process that made a change. A lost
 * wake-up, a crash and a second replica need no code of their own.
 */

export interface LoopOptions {
  /** The name of the work, for the log. */
  readonly name: string;
  /** How many ids are worked on at once. */
  readonly parallel: number;
  /** The time between two looks, in milliseconds. */
  readonly periodMs: number;
  /** Claims up to `limit` ids that are due and unclaimed. */
  readonly claim: (limit: number) => Promise<readonly string[]>;
  /** @param isClaimed the id comes from {@link LoopOptions.claim} and not from {@link Loop.add} */
  readonly work: (id: string, isClaimed: boolean) => Promise<void>;
  /** Counts a failure. */
  readonly failed: () => void;
  readonly log: Log;
}

/** Works on what is due, several ids in parallel, so that a slow one holds up no other. */
export interface Loop {
  /** Looks now and then periodically. */
  start(): void;
  /**
   * Works on an id at once. An id that waits already is worked on once; one that is being worked on is worked on again
   * afterwards.
   */
  add(id: string): void;
  /**
   * Claims due ids and starts working on them.
   * @param claim replaces the usual one
   */
  look(claim?: LoopOptions['claim']): Promise<void>;
  /** Starts no further work. */
  stop(): void;
  /** Resolves when nothing is under way and nothing waits. */
  idle(): Promise<void>;
}

export function createLoop({ name, parallel, periodMs, claim, work, failed, log }: LoopOptions): Loop {
  const running = new Map<string, Promise<void>>();
  /** The ids that wait, and whether they are claimed. */
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
      failed();
      log.error({ err, id }, name);
    }
    running.delete(id);
    next();
    // A backlog is worked off without waiting for the next turn.
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
      // At least one is claimed: a process that is busy with its own changes must still take what others left behind.
      const limit = Math.max(1, parallel - running.size - waiting.size);
      const ids = await claimDue(limit);
      mayBeMore = ids.length === limit;
      for (const id of ids) enqueue(id, true);
    } catch (err) {
      mayBeMore = false;
      failed();
      log.warn({ err }, `${name}: looking for due work`);
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
        // A slow database must not get the same query again while it runs.
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
  readonly store: OrderStore;
  readonly notifications: NotificationStore;
  readonly advance: (orderId: string, lane: DueLane) => Promise<void>;
  readonly notify: (subject: Subject, isClaimed: boolean) => Promise<void>;
  /** Whether Slack takes background updates. */
  readonly mayRefresh: () => boolean;
  /** How long a claim holds when this process no longer extends it. */
  readonly leaseMs: number;
  readonly notificationLeaseMs: number;
  /** The time between two looks, in milliseconds. */
  readonly periodMs: number;
  /** Counts a failure of a loop. */
  readonly failed: (loop: string) => void;
  readonly now: () => Date;
  readonly log: Log;
}

/** Continues orders, and tells people of whatever there is to tell. */
export interface Reconciler {
  /** Looks now, and every two seconds from then on. */
  start(): void;
  /** Continues an order that this process has changed. Work that is due at once starts. */
  advance(order: Order): void;
  /** Looks for notifications that are due, also when this process has changed what they tell. */
  notifyDue(): Promise<void>;
  /** Looks up in public records all orders that wait for them, before they are due. */
  askRecords(): Promise<void>;
  /**
   * Looks for everything that is due and waits until it is done. The demo and tests use it, because their clocks jump.
   */
  catchUp(): Promise<void>;
  /** Takes no more work. */
  stop(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** How many orders one process works on at once. */
const PARALLEL = { deadlines: 4, execution: 48, observation: 4, notifications: 8, refreshes: 4 } as const;
/** Looking up an order of many names takes long. Doing it twice does no harm. */
const OBSERVATION_LEASE_MS = 10 * 60_000;
/** Timers may fire a little early. */
const TIMER_LEEWAY_MS = 5;
/** Orders that wait for public records are looked up at least once an hour, so all of them are due within this time. */
const LOOK_AHEAD_MS = 61 * 60_000;

/**
 * Runs one loop for each lane and two for notifications, so that a slow Slack, service or registry holds up nothing else, and
 * refreshes never hold up what somebody waits for.
 */
export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const { store, now, log, periodMs, notificationLeaseMs } = deps;
  const lanes = createLanes(deps);
  const notificationLoop = (name: 'notifications' | 'refreshes', isBackground: boolean) =>
    createLoop({
      name,
      parallel: PARALLEL[name],
      periodMs,
      claim: async (limit) =>
        // What Slack doesn't take now stays due.
        isBackground && !deps.mayRefresh()
          ? []
          : (await deps.notifications.claimDue(now(), notificationLeaseMs, limit, isBackground)).map(
              keyOfSubject,
            ),
      work: (key, isClaimed) => deps.notify(subjectOfKey(key), isClaimed),
      failed: () => deps.failed(name),
      log,
    });
  const notifications = notificationLoop('notifications', false);
  const refreshes = notificationLoop('refreshes', true);
  const notifyDue = async () => void (await Promise.all([notifications.look(), refreshes.look()]));
  const loops = [...Object.values(lanes), notifications, refreshes];
  const askRecords = () => {
    const ahead = new Date(now().getTime() + LOOK_AHEAD_MS);
    return lanes.observation.look((limit) =>
      store.claimDue('observation', ahead, OBSERVATION_LEASE_MS, limit),
    );
  };

  let isStarted = false;
  const notifyOnTime = createOrderTimers(now, (id) => notifications.add(keyOfSubject({ kind: 'order', id })));

  return {
    start() {
      isStarted = true;
      for (const loop of loops) loop.start();
    },
    advance(order) {
      // The first look finds it.
      if (!isStarted) return;
      const at = now();
      const isDue = (moment: Date | undefined) => moment !== undefined && moment <= at;
      notifyOnTime(order.id, notificationDueAt(order, at));
      // The worker of an order continues it.
      if (order.claim !== undefined || !isDue(dueAt(order, at))) return;
      for (const lane of ['deadlines', 'execution', 'observation'] as const)
        if (DUE_LANES[lane].includes(order.state)) lanes[lane].add(order.id);
    },
    notifyDue,
    askRecords,
    async catchUp() {
      await Promise.all([lanes.deadlines.look(), lanes.execution.look(), notifyDue(), askRecords()]);
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

/** The loops over orders. An order that fails is due later. */
function createLanes(deps: ReconcilerDeps): Readonly<Record<DueLane, Loop>> {
  const { store, now, log, periodMs, leaseMs } = deps;
  const advance = async (orderId: string, lane: DueLane) => {
    try {
      await deps.advance(orderId, lane);
    } catch (err) {
      deps.failed(`orders_${lane}`);
      log.error({ err, orderId }, 'advancing order failed, rescheduled');
      await store.putOff(orderId);
    }
  };
  const laneLoop = (lane: DueLane, lease: number) =>
    createLoop({
      name: `orders, ${lane}`,
      parallel: PARALLEL[lane],
      periodMs,
      claim: (limit) => store.claimDue(lane, now(), lease, limit),
      work: (orderId) => advance(orderId, lane),
      failed: () => deps.failed(`orders_${lane}`),
      log,
    });
  return {
    deadlines: laneLoop('deadlines', leaseMs),
    execution: laneLoop('execution', leaseMs),
    observation: laneLoop('observation', OBSERVATION_LEASE_MS),
  };
}

/** Notifies of an order when it is due: at once, or by a timer that a later call replaces. */
function createOrderTimers(now: () => Date, notify: (orderId: string) => void) {
  /** Orders with a notification that is due shortly. */
  const soon = new Map<string, { readonly due: Date; readonly timer: NodeJS.Timeout }>();
  return (id: string, due: Date | undefined) => {
    const known = soon.get(id);
    if (due !== undefined && known !== undefined && known.due <= due) return;
    clearTimeout(known?.timer);
    soon.delete(id);
    if (due === undefined) return;
    const end = () => {
      soon.delete(id);
      notify(id);
    };
    const inMs = due.getTime() - now().getTime();
    if (inMs <= 0) end();
    else soon.set(id, { due, timer: setTimeout(end, inMs + TIMER_LEEWAY_MS).unref() });
  };
}

/** Work that is repeated. It finds out itself what is due. */
export interface Repeated {
  /** Runs the work now; if it is running, once more after that. Never throws. */
  now(): Promise<void>;
  stop(): void;
  /** Resolves when the work is not running. */
  idle(): Promise<void>;
}

/** Runs some work now and then periodically, never twice at once. */
export function repeat({
  name,
  everyMs,
  work,
  ended,
  log,
}: {
  /** The name of the work, for the log. */
  readonly name: string;
  readonly everyMs: number;
  readonly work: () => Promise<unknown>;
  /** Gets the outcome of each run. */
  readonly ended: (outcome: 'succeeded' | 'failed') => void;
  readonly log: Log;
}): Repeated {
  let turn: Promise<void> | undefined;
  let isWanted = false;
  let isStopped = false;
  const takeTurn = async () => {
    while (isWanted && !isStopped) {
      isWanted = false;
      try {
        await work();
        ended('succeeded');
      } catch (err) {
        ended('failed');
        log.error({ err }, name);
      }
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
