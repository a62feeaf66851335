import { MINUTE_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import { computeDueTime, computeNotificationTime, STATES_BY_DUE_LANE } from '../orders/due.ts';
import type { Order } from '../orders/order.ts';
import type { DueLane, OrderStore } from '../orders/ports.ts';
import {
  formatSubjectKey,
  type NotificationStore,
  parseSubjectKey,
  type Subject,
} from '../outbox/notifications.ts';

// Each process queries for due rows at start and every two seconds, and immediately processes rows that it
// has changed. Lost notifications, crashes and other replicas therefore need no special handling.

export interface LoopOptions {
  readonly name: string;
  readonly concurrency: number;
  /** Interval between queries for due work, in milliseconds. */
  readonly periodMs: number;
  /** Claims up to `limit` ids that are due and unclaimed. */
  readonly claim: (limit: number) => Promise<readonly string[]>;
  readonly handle: (id: string, isClaimed: boolean) => Promise<void>;
  readonly onFailed: () => void;
  readonly log: Log;
}

/** Processes due ids in parallel, so that a slow one doesn't block the others. */
export interface Loop {
  /** Queries for due work immediately, then periodically. */
  start(): void;
  /**
   * Processes an id immediately. An id that is already queued is processed only once. An id that is being
   * processed is processed again afterwards.
   */
  add(id: string): void;
  /** Claims due ids and starts processing them. @param claim replaces the loop's own claim */
  poll(claim?: LoopOptions['claim']): Promise<void>;
  stop(): void;
  /** Resolves when nothing is running or queued. */
  idle(): Promise<void>;
}

export function createLoop({ name, concurrency, periodMs, claim, handle, onFailed, log }: LoopOptions): Loop {
  const runsById = new Map<string, Promise<void>>();
  const queue = new Map<string, boolean>();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let isPolling = false;
  let hasMoreDue = false;
  let lastPoll: Promise<void> = Promise.resolve();

  async function run(id: string, isClaimed: boolean): Promise<void> {
    try {
      await handle(id, isClaimed);
    } catch (err) {
      onFailed();
      log.error({ err, id }, `${name}: processing failed`);
    }
    runsById.delete(id);
    startQueued();
    // Processes a backlog without waiting for the next interval.
    if (hasMoreDue && !isPolling && runsById.size + queue.size <= concurrency / 2) await poll();
  }

  function startQueued(): void {
    for (const [id, isClaimed] of queue) {
      if (runsById.size >= concurrency) return;
      if (runsById.has(id)) continue;
      queue.delete(id);
      runsById.set(id, run(id, isClaimed));
    }
  }

  function enqueue(id: string, isClaimed: boolean): void {
    if (isStopped) return;
    queue.set(id, isClaimed || queue.get(id) === true);
    startQueued();
  }

  async function pollNow(claimDue: LoopOptions['claim']): Promise<void> {
    if (isStopped) return;
    isPolling = true;
    try {
      // A process that is busy with its own changes still claims other due work.
      const limit = Math.max(1, concurrency - runsById.size - queue.size);
      const ids = await claimDue(limit);
      hasMoreDue = ids.length === limit;
      for (const id of ids) enqueue(id, true);
    } catch (err) {
      hasMoreDue = false;
      onFailed();
      log.warn({ err }, `${name}: claiming due work failed`);
    }
    isPolling = false;
  }

  function poll(claimDue = claim): Promise<void> {
    lastPoll = lastPoll.then(() => pollNow(claimDue));
    return lastPoll;
  }

  return {
    start() {
      void poll();
      timer = setInterval(() => {
        // Don't repeat the query while a slow database is still answering it.
        if (!isPolling) void poll();
      }, periodMs);
    },
    add: (id) => enqueue(id, false),
    poll,
    stop() {
      isStopped = true;
      clearInterval(timer);
      queue.clear();
    },
    async idle() {
      while (runsById.size > 0) await Promise.all(runsById.values());
    },
  };
}

export interface ReconcilerDeps {
  readonly store: OrderStore;
  readonly notifications: NotificationStore;
  readonly advance: (orderId: string, lane: DueLane) => Promise<void>;
  readonly notify: (subject: Subject, isClaimed: boolean) => Promise<void>;
  /** Whether Slack's rate limits allow background updates. */
  readonly canRefresh: () => boolean;
  /** How long a claim lasts if it isn't renewed. */
  readonly leaseMs: number;
  readonly notificationLeaseMs: number;
  readonly periodMs: number;
  readonly onFailed: (loop: string) => void;
  readonly now: () => Date;
  readonly log: Log;
}

/** Advances orders and delivers notifications. */
export interface Reconciler {
  /** Queries for due work immediately, then every two seconds. */
  start(): void;
  /** Advances an order that this process has changed. If it is due, its work starts immediately. */
  advance(order: Order): void;
  /** Delivers due notifications. Also called after this process has changed an order or a name. */
  pollNotifications(): Promise<void>;
  /** Checks public records for all orders that are waiting for them, even if the orders aren't due. */
  checkPublicRecords(): Promise<void>;
  /** Does all due work and waits for it to finish, for the demo and tests, where clocks jump. */
  catchUp(): Promise<void>;
  stop(): void;
  idle(): Promise<void>;
}

/** How many orders or subjects each loop of a process works on in parallel. */
const CONCURRENCY = { deadlines: 4, execution: 48, observation: 4, notifications: 8, refreshes: 4 } as const;
/** Checking an order with many names takes a long time. A repeated check is harmless. */
const OBSERVATION_LEASE_MS = 10 * MINUTE_MS;
/** Timers may fire a little early. */
const TIMER_LEEWAY_MS = 5;
/** Orders that wait for public records are checked hourly, so all of them are due within this time. */
const LOOK_AHEAD_MS = 61 * MINUTE_MS;

/**
 * Runs one loop per lane and two for notifications. If Slack, the service or a registry is slow, only its
 * own loop is delayed. Refreshes never delay urgent messages.
 */
export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const { store, now, log, periodMs, notificationLeaseMs } = deps;
  const laneLoops = createLaneLoops(deps);
  const createNotificationLoop = (name: 'notifications' | 'refreshes', isBackground: boolean) =>
    createLoop({
      name,
      concurrency: CONCURRENCY[name],
      periodMs,
      claim: async (limit) =>
        // Refreshes that can't be sent yet stay due.
        isBackground && !deps.canRefresh()
          ? []
          : (await deps.notifications.claimDueSubjects(now(), notificationLeaseMs, limit, isBackground)).map(
              formatSubjectKey,
            ),
      handle: (key, isClaimed) => deps.notify(parseSubjectKey(key), isClaimed),
      onFailed: () => deps.onFailed(name),
      log,
    });
  const notificationLoop = createNotificationLoop('notifications', false);
  const refreshLoop = createNotificationLoop('refreshes', true);
  const pollNotifications = async () =>
    void (await Promise.all([notificationLoop.poll(), refreshLoop.poll()]));
  const loops = [...Object.values(laneLoops), notificationLoop, refreshLoop];
  const checkPublicRecords = () => {
    const dueBefore = new Date(now().getTime() + LOOK_AHEAD_MS);
    return laneLoops.observation.poll((limit) =>
      store.claimDue('observation', dueBefore, OBSERVATION_LEASE_MS, limit),
    );
  };

  let isStarted = false;
  const scheduleNotification = createNotificationScheduler(now, (id) =>
    notificationLoop.add(formatSubjectKey({ kind: 'order', id })),
  );

  return {
    start() {
      isStarted = true;
      for (const loop of loops) loop.start();
    },
    advance(order) {
      // The first query at start will find the order.
      if (!isStarted) return;
      const currentTime = now();
      scheduleNotification(order.id, computeNotificationTime(order, currentTime));
      const dueAt = computeDueTime(order, currentTime);
      // The worker that has claimed the order will advance it further.
      if (order.claim !== undefined || dueAt === undefined || dueAt > currentTime) return;
      for (const lane of ['deadlines', 'execution', 'observation'] as const)
        if (STATES_BY_DUE_LANE[lane].includes(order.state)) laneLoops[lane].add(order.id);
    },
    pollNotifications,
    checkPublicRecords,
    async catchUp() {
      await Promise.all([
        laneLoops.deadlines.poll(),
        laneLoops.execution.poll(),
        pollNotifications(),
        checkPublicRecords(),
      ]);
      await Promise.all(Object.values(laneLoops).map((loop) => loop.idle()));
    },
    stop() {
      for (const loop of loops) loop.stop();
    },
    async idle() {
      await Promise.all(loops.map((loop) => loop.idle()));
    },
  };
}

/** Creates the loops for orders. If an order fails, it is rescheduled. */
function createLaneLoops(deps: ReconcilerDeps): Readonly<Record<DueLane, Loop>> {
  const { store, now, log, periodMs, leaseMs } = deps;
  const advance = async (orderId: string, lane: DueLane) => {
    try {
      await deps.advance(orderId, lane);
    } catch (err) {
      deps.onFailed(`orders_${lane}`);
      log.error({ err, orderId }, 'advancing order failed, rescheduled');
      await store.postpone(orderId);
    }
  };
  const createLaneLoop = (lane: DueLane, laneLeaseMs: number) =>
    createLoop({
      name: `orders, ${lane}`,
      concurrency: CONCURRENCY[lane],
      periodMs,
      claim: (limit) => store.claimDue(lane, now(), laneLeaseMs, limit),
      handle: (orderId) => advance(orderId, lane),
      onFailed: () => deps.onFailed(`orders_${lane}`),
      log,
    });
  return {
    deadlines: createLaneLoop('deadlines', leaseMs),
    execution: createLaneLoop('execution', leaseMs),
    observation: createLaneLoop('observation', OBSERVATION_LEASE_MS),
  };
}

/** Returns a function that calls `notify` when an order is due. An earlier due time replaces a later one. */
function createNotificationScheduler(now: () => Date, notify: (orderId: string) => void) {
  const timers = new Map<string, { readonly dueAt: Date; readonly timer: NodeJS.Timeout }>();
  return (id: string, dueAt: Date | undefined) => {
    const existingTimer = timers.get(id);
    if (dueAt !== undefined && existingTimer !== undefined && existingTimer.dueAt <= dueAt) return;
    clearTimeout(existingTimer?.timer);
    timers.delete(id);
    if (dueAt === undefined) return;
    const fire = () => {
      timers.delete(id);
      notify(id);
    };
    const delayMs = dueAt.getTime() - now().getTime();
    if (delayMs <= 0) fire();
    else timers.set(id, { dueAt, timer: setTimeout(fire, delayMs + TIMER_LEEWAY_MS).unref() });
  };
}

export interface PeriodicTask {
  /** Runs the work now. If it is already running, runs it once more afterwards. Never throws. */
  runNow(): Promise<void>;
  stop(): void;
  /** Resolves when the work isn't running. */
  idle(): Promise<void>;
}

/** Runs work immediately, then periodically, never concurrently. */
export function startPeriodicTask({
  name,
  periodMs,
  work,
  onEnded,
  log,
}: {
  readonly name: string;
  readonly periodMs: number;
  readonly work: () => Promise<unknown>;
  readonly onEnded: (outcome: 'succeeded' | 'failed') => void;
  readonly log: Log;
}): PeriodicTask {
  let currentRun: Promise<void> | undefined;
  let isRunRequested = false;
  let isStopped = false;
  const runWhileRequested = async () => {
    while (isRunRequested && !isStopped) {
      isRunRequested = false;
      try {
        await work();
        onEnded('succeeded');
      } catch (err) {
        onEnded('failed');
        log.error({ err }, `${name} failed`);
      }
    }
    currentRun = undefined;
  };
  const runNow = () => {
    isRunRequested = true;
    currentRun ??= runWhileRequested();
    return currentRun;
  };
  void runNow();
  const timer = setInterval(() => {
    if (currentRun === undefined) void runNow();
  }, periodMs);
  return {
    runNow,
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
    idle: async () => currentRun,
  };
}
