import { setTimeout as sleep } from 'node:timers/promises';
import PgBoss from 'pg-boss';
import { z } from 'zod';
import type { Log } from '../log.ts';
import type { Order } from '../orders/order.ts';
import { isForLater, type LaterJob, type OrderJob } from '../orders/ports.ts';

const order = z.object({ orderId: z.string() });

/**
 * Every queue: what its jobs carry and how many of them one process works on at once.
 *
 * A job is a hint, never the truth: the truth is the order's row, and every handler decides by compare-and-swap
 * on it. So jobs are not retried by the queue; what a crash leaves behind is found in the rows (`recover.ts`).
 *
 * What is due at once stands in the rows anyway (approved, not shown, not followed): it is told to the process that made
 * the change, and not written a second time. What is due later is written down.
 */
const QUEUES = {
  'order.execute': { data: order, parallel: 48 },
  'order.show': { data: order.extend({ attempt: z.number().optional() }), parallel: 8 },
  'order.expire': { data: order, parallel: 4 },
  'order.nudge': { data: order, parallel: 4 },
  'expiry.follow': { data: order.extend({ n: z.number() }), parallel: 2 },
  'expiry.refresh': { data: z.object({}), parallel: 1 },
  'expiry.digest': { data: z.object({}), parallel: 1 },
} as const;

export type QueueName = keyof typeof QUEUES;
const QUEUE_NAMES = Object.keys(QUEUES) as readonly QueueName[];
type JobData<Name extends QueueName> = z.output<(typeof QUEUES)[Name]['data']>;

export type Handlers = {
  /** `known` comes with what is told: the order as it was then. */
  readonly [Name in QueueName]: (data: JobData<Name>, known?: Order) => Promise<void>;
};

/** Runs SQL inside the caller's transaction. */
export type ExecuteSql = (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>;

export interface Jobs {
  /** Creates the queues, so that jobs can be sent. */
  start(): Promise<void>;
  /** Begins to work. */
  work(handlers: Handlers): Promise<void>;
  /** Writes down what is due later, in the caller's transaction. */
  enqueue(execute: ExecuteSql, jobs: readonly LaterJob[]): Promise<void>;
  /** Takes note of what is committed: begins what is due at once, and looks for the rest when its time has come. */
  committed(jobs: readonly OrderJob[]): void;
  /** Queues a job that carries nothing, outside of any transaction. */
  send(queue: 'expiry.refresh'): Promise<void>;
  /** Runs a queue at the times of a cron line in UTC, once among all replicas. */
  schedule(queue: QueueName, cron: string): Promise<void>;
  /** Takes no more work and waits for what is under way. @returns false when `timeoutMs` was not enough */
  stop(timeoutMs: number): Promise<boolean>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  /** Lets go of the database. */
  close(): Promise<void>;
}

/** A connection, as far as it is needed here. */
interface SqlClient {
  query(text: string): Promise<unknown>;
}

const POLL_SECONDS = 2;
const SOON_MS = 60_000;
/** For the database's clock, which says what is due. */
const CLOCK_LEEWAY_MS = 30;
/** A job that no process picks up is kept this long; what matters is in the rows. */
const KEEP_DAYS = 14;

/**
 * Jobs on pg-boss.
 * @param options.connectionString PostgreSQL
 * @param options.session SQL that each session begins with
 * @param options.now the clock that jobs' `startAfter` is told in
 */
export function createJobs(options: {
  readonly connectionString: string;
  readonly session: string;
  readonly log: Log;
  readonly now: () => Date;
}): Jobs {
  const { log } = options;
  // Handed on to its pool as it is.
  const pool = { onConnect: (client: SqlClient) => client.query(options.session) };
  const boss = new PgBoss({
    ...pool,
    connectionString: options.connectionString,
    application_name: 'domain-steward-jobs',
    max: 6,
    deleteAfterDays: 2,
    archiveCompletedAfterSeconds: 3_600,
  });
  boss.on('error', (err) => log.error({ err }, 'job queue'));
  const workers = new Map<QueueName, string>();
  const crews = new Map<QueueName, Crew>();
  let stopping = false;

  const wake = (name: QueueName) => {
    const worker = workers.get(name);
    if (worker !== undefined) boss.notifyWorker(worker);
  };

  async function idle(): Promise<void> {
    while ([...crews.values()].some((crew) => crew.underWay.size > 0)) {
      await Promise.allSettled([...crews.values()].flatMap(({ underWay }) => [...underWay]));
    }
  }

  function crewOf<Name extends QueueName>(name: Name, handler: Handlers[Name]): Crew {
    const { data: shape, parallel } = QUEUES[name];
    return createCrew(parallel, async ({ data, known }) => {
      if (stopping) return;
      const parsed = shape.safeParse(data);
      if (!parsed.success) {
        log.error({ queue: name }, 'a job carries data of another shape; it is dropped');
        return;
      }
      try {
        await (handler as (data: unknown, known?: Order) => Promise<void>)(parsed.data, known);
      } catch (err) {
        log.error({ err, queue: name, data: parsed.data }, 'working on a job');
      }
    });
  }

  /** What is due soon is begun on time, not at the next poll. Too early or for nothing is harmless. */
  const wakeAt = (queue: QueueName, due: Date) => {
    const inMs = due.getTime() - Date.now();
    if (inMs < SOON_MS) setTimeout(() => wake(queue), inMs + CLOCK_LEEWAY_MS).unref();
  };

  /** The queue goes by the database's clock, `startAfter` by ours. */
  const dueAt = ({ startAfter }: LaterJob) =>
    new Date(startAfter.getTime() - (options.now().getTime() - Date.now()));

  return {
    async start() {
      await boss.start();
      for (const name of QUEUE_NAMES)
        await despiteDeadlocks(() => boss.createQueue(name, { name, policy: 'standard', retryLimit: 0 }));
    },

    async work(handlers) {
      const begin = async <Name extends QueueName>(name: Name) => {
        const { parallel } = QUEUES[name];
        const crew = crewOf(name, handlers[name]);
        crews.set(name, crew);
        const options = { batchSize: parallel, pollingIntervalSeconds: POLL_SECONDS };
        const worker = await boss.work<object>(name, options, async (jobs) => {
          // Where a whole batch was waiting there may be more: asked for at once, not at the next poll.
          if (jobs.length === parallel) wake(name);
          for (const { data } of jobs) await crew.begin({ data });
        });
        workers.set(name, worker);
      };
      for (const name of QUEUE_NAMES) await begin(name);
    },

    async enqueue(execute, jobs) {
      if (jobs.length === 0) return;
      await boss.insert(
        jobs.map((job) => ({
          name: job.queue,
          data: job.data,
          retryLimit: 0,
          expireInSeconds: 300,
          keepUntil: new Date(dueAt(job).getTime() + KEEP_DAYS * 86_400_000),
          startAfter: dueAt(job),
        })),
        { db: { executeSql: execute } },
      );
    },

    committed(jobs) {
      for (const job of jobs) {
        if (isForLater(job)) wakeAt(job.queue, dueAt(job));
        else crews.get(job.queue)?.tell(job);
      }
    },

    async send(queue) {
      await boss.send(queue, {}, { retryLimit: 0 });
      wake(queue);
    },

    async schedule(queue, cron) {
      await boss.schedule(queue, cron, {}, { tz: 'UTC', retryLimit: 0 });
    },

    async stop(timeoutMs) {
      stopping = true;
      const deadline = new Promise<false>((resolve) => {
        setTimeout(() => resolve(false), timeoutMs).unref();
      });
      return Promise.race([idle().then(() => true), deadline]);
    },

    idle,

    async close() {
      await boss.stop({ graceful: false, close: true, wait: false });
    },
  };
}

/** A job as a crew takes it. */
interface Work {
  readonly data: unknown;
  readonly known?: Order;
}

/** Works on the jobs of one queue, so many at once: one slow job holds up no other. */
interface Crew {
  readonly underWay: ReadonlySet<Promise<void>>;
  /** Begins a job as soon as there is room, and does not wait for its end. */
  begin(job: Work): Promise<void>;
  /** Takes note of a job and begins it when there is room; the same one twice is one. */
  tell(job: Work): void;
}

/** @param work never throws */
function createCrew(parallel: number, work: (job: Work) => Promise<void>): Crew {
  const underWay = new Set<Promise<void>>();
  const told = new Map<string, Work>();
  let isTelling = false;
  let free = parallel;
  const wanting: (() => void)[] = [];

  /** Resolves with a place taken. */
  async function place(): Promise<void> {
    if (free === 0) return new Promise((resolve) => wanting.push(resolve));
    free -= 1;
  }

  /** Takes up the place that was waited for. */
  function start(job: Work): void {
    const one = work(job).finally(() => {
      underWay.delete(one);
      const next = wanting.shift();
      if (next === undefined) free += 1;
      else next();
    });
    underWay.add(one);
  }

  async function startTold(): Promise<void> {
    if (isTelling) return;
    isTelling = true;
    for (const [key, job] of told) {
      await place();
      told.delete(key);
      start(job);
    }
    isTelling = false;
  }

  return {
    underWay,
    async begin(job) {
      await place();
      start(job);
    },
    tell(job) {
      told.set(JSON.stringify(job.data), job);
      void startTold();
    },
  };
}

const DEADLOCK = z.object({ code: z.literal('40P01') });

/** Making a queue locks tables that other replicas use; PostgreSQL ends one of two that wait for each other. */
async function despiteDeadlocks(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!DEADLOCK.safeParse(error).success || tries === 10) throw error;
      await sleep(50 + Math.random() * 200);
    }
  }
}
