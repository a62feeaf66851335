import { setTimeout as sleep } from 'node:timers/promises';
import PgBoss from 'pg-boss';
import { z } from 'zod';
import type { Log } from '../log.ts';
import type { OrderJob } from '../orders/ports.ts';

const order = z.object({ orderId: z.string() });

/**
 * Every queue: what its jobs carry and how many of them one process works on at once.
 *
 * A job is a hint, never the truth: the truth is the order's row, and every handler decides by compare-and-swap
 * on it. So jobs are not retried by the queue; what a crash leaves behind is found in the rows (`recover.ts`).
 *
 * `spoken`: that there is something to do stands in the row itself (a version that is not shown, a success that is not
 * followed). What is due at once is then told to this process alone and not written a second time.
 */
const QUEUES = {
  'order.execute': { data: order, parallel: 48, spoken: false },
  'order.show': { data: order.extend({ attempt: z.number().optional() }), parallel: 8, spoken: true },
  'order.expire': { data: order, parallel: 4, spoken: false },
  'order.nudge': { data: order, parallel: 4, spoken: false },
  'expiry.follow': { data: order.extend({ n: z.number() }), parallel: 2, spoken: true },
  'expiry.refresh': { data: z.object({}), parallel: 1, spoken: false },
  'expiry.digest': { data: z.object({}), parallel: 1, spoken: false },
} as const;

export type QueueName = keyof typeof QUEUES;
const QUEUE_NAMES = Object.keys(QUEUES) as readonly QueueName[];
type JobData<Name extends QueueName> = z.output<(typeof QUEUES)[Name]['data']>;

export type Handlers = {
  readonly [Name in QueueName]: (data: JobData<Name>) => Promise<void>;
};

const orders = z.array(order);
const ids = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

/** Runs SQL inside the caller's transaction. */
export type ExecuteSql = (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>;

export interface Jobs {
  /** Creates the queues, so that jobs can be sent. */
  start(): Promise<void>;
  /** Begins to work. */
  work(handlers: Handlers): Promise<void>;
  /** Whether a job is written down; all others are only told of after the commit. */
  isWritten(job: OrderJob): boolean;
  /** Writes jobs down in the caller's transaction, as far as they are written. */
  enqueue(execute: ExecuteSql, jobs: readonly OrderJob[]): Promise<void>;
  /** Tells this process of jobs that are committed, so that what is due at once need not wait for the next poll. */
  committed(jobs: readonly OrderJob[]): void;
  /** Orders for which a job of the queue is due that no process has begun, as far as this one knows. */
  waiting(queue: OrderJob['queue']): Promise<ReadonlySet<string>>;
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

const POLL_SECONDS = 2;
const SOON_MS = 60_000;
/** For the database's clock, which says what is due. */
const CLOCK_LEEWAY_MS = 30;
/** A job that no process picks up is kept this long; what matters is in the rows. */
const KEEP_DAYS = 14;

/**
 * Jobs on pg-boss.
 * @param options.connectionString PostgreSQL
 * @param options.now the clock that jobs' `startAfter` is told in
 */
export function createJobs(options: {
  readonly connectionString: string;
  readonly log: Log;
  readonly now: () => Date;
}): Jobs {
  const { log } = options;
  const boss = new PgBoss({
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
    return createCrew(parallel, async (data) => {
      if (stopping) return;
      const parsed = shape.safeParse(data);
      if (!parsed.success) {
        log.error({ queue: name }, 'a job carries data of another shape; it is dropped');
        return;
      }
      try {
        await (handler as (data: unknown) => Promise<void>)(parsed.data);
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
  const dueAt = ({ startAfter }: OrderJob) => {
    const now = options.now().getTime();
    return new Date((startAfter?.getTime() ?? now) - (now - Date.now()));
  };

  const isWritten = (job: OrderJob) => job.startAfter !== undefined || !QUEUES[job.queue].spoken;

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
          for (const { data } of jobs) await crew.begin(data);
        });
        workers.set(name, worker);
      };
      for (const name of QUEUE_NAMES) await begin(name);
    },

    isWritten,

    async enqueue(execute, jobs) {
      const written = jobs.filter(isWritten);
      if (written.length === 0) return;
      await boss.insert(
        written.map((job) => ({
          name: job.queue,
          data: job.data,
          retryLimit: 0,
          expireInSeconds: 300,
          keepUntil: new Date(dueAt(job).getTime() + KEEP_DAYS * 86_400_000),
          ...(job.startAfter === undefined ? {} : { startAfter: dueAt(job) }),
        })),
        { db: { executeSql: execute } },
      );
    },

    committed(jobs) {
      for (const job of jobs) {
        if (!isWritten(job)) crews.get(job.queue)?.tell(job.data);
        else if (job.startAfter !== undefined) wakeAt(job.queue, dueAt(job));
      }
      const due = jobs.filter((job) => job.startAfter === undefined && isWritten(job));
      for (const queue of new Set(due.map(({ queue }) => queue))) wake(queue);
    },

    async waiting(queue) {
      const { rows } = await boss.getDb().executeSql(
        `SELECT data->>'orderId' AS id FROM pgboss.job
          WHERE name = $1 AND state < 'active' AND start_after <= now() AND data->>'orderId' IS NOT NULL`,
        [queue],
      );
      const told = orders.parse(crews.get(queue)?.waiting() ?? []).map(({ orderId }) => orderId);
      return new Set([...ids.parse(rows), ...told]);
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

/** Works on the jobs of one queue, so many at once: one slow job holds up no other. */
interface Crew {
  readonly underWay: ReadonlySet<Promise<void>>;
  /** Begins a job as soon as there is room, and does not wait for its end. */
  begin(data: unknown): Promise<void>;
  /** Takes note of a job and begins it when there is room; the same one twice is one. */
  tell(data: object): void;
  /** What was told and has not begun. */
  waiting(): readonly object[];
}

/** @param work never throws */
function createCrew(parallel: number, work: (data: unknown) => Promise<void>): Crew {
  const underWay = new Set<Promise<void>>();
  const told = new Map<string, object>();
  let isTelling = false;
  let free = parallel;
  const wanting: (() => void)[] = [];

  /** Resolves with a place taken. */
  async function place(): Promise<void> {
    if (free === 0) return new Promise((resolve) => wanting.push(resolve));
    free -= 1;
  }

  /** Takes up the place that was waited for. */
  function start(data: unknown): void {
    const one = work(data).finally(() => {
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
    for (const [key, data] of told) {
      await place();
      told.delete(key);
      start(data);
    }
    isTelling = false;
  }

  return {
    underWay,
    async begin(data) {
      await place();
      start(data);
    },
    tell(data) {
      told.set(JSON.stringify(data), data);
      void startTold();
    },
    waiting: () => [...told.values()],
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
