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
 */
const QUEUES = {
  'order.execute': { data: order, parallel: 24 },
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
  readonly [Name in QueueName]: (data: JobData<Name>) => Promise<void>;
};

const ids = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

/** Runs SQL inside the caller's transaction. */
export type ExecuteSql = (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>;

export interface Jobs {
  /** Creates the queues, so that jobs can be sent. */
  start(): Promise<void>;
  /** Begins to work. */
  work(handlers: Handlers): Promise<void>;
  /** Queues jobs in the caller's transaction. */
  enqueue(execute: ExecuteSql, jobs: readonly OrderJob[]): Promise<void>;
  /** Orders for which a job of the queue is due, and no process has taken it yet. */
  waiting(queue: OrderJob['queue']): Promise<ReadonlySet<string>>;
  /** Queues a job that carries nothing, outside of any transaction. */
  send(queue: 'expiry.refresh'): Promise<void>;
  /** Tells this process's workers that there is work, so that they need not wait for their next poll. */
  wake(queues: Iterable<QueueName>): void;
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
  const underWay = new Set<Promise<void>>();
  let stopping = false;

  const wake = (queues: Iterable<QueueName>) => {
    for (const name of new Set(queues)) {
      const worker = workers.get(name);
      if (worker !== undefined) boss.notifyWorker(worker);
    }
  };

  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.allSettled(underWay);
  }

  /** Starts the handler when there is room, and does not wait for its end: one slow job holds up no other. */
  function pooled<Name extends QueueName>(name: Name, handler: Handlers[Name]) {
    const running = new Set<Promise<void>>();
    return async (jobs: PgBoss.Job<object>[]) => {
      // Where a whole batch was waiting there may be more: asked for at once, not at the next poll.
      if (jobs.length === QUEUES[name].parallel) wake([name]);
      for (const job of jobs) {
        while (running.size >= QUEUES[name].parallel) await Promise.race(running);
        if (stopping) return;
        const parsed = QUEUES[name].data.safeParse(job.data);
        if (!parsed.success) {
          log.error({ queue: name, jobId: job.id }, 'a job carries data of another shape; it is dropped');
          continue;
        }
        const work = (handler as (data: unknown) => Promise<void>)(parsed.data)
          .catch((err: unknown) => log.error({ err, queue: name, data: parsed.data }, 'working on a job'))
          .finally(() => {
            running.delete(work);
            underWay.delete(work);
          });
        running.add(work);
        underWay.add(work);
      }
    };
  }

  /** What is due soon is begun on time, not at the next poll. Too early or for nothing is harmless. */
  const wakeAt = (queue: QueueName, due: Date) => {
    const inMs = due.getTime() - Date.now();
    if (inMs < SOON_MS) setTimeout(() => wake([queue]), inMs + CLOCK_LEEWAY_MS).unref();
  };

  return {
    async start() {
      await boss.start();
      for (const name of QUEUE_NAMES)
        await despiteDeadlocks(() => boss.createQueue(name, { name, policy: 'standard', retryLimit: 0 }));
    },

    async work(handlers) {
      const begin = async <Name extends QueueName>(name: Name) => {
        const options = { batchSize: QUEUES[name].parallel, pollingIntervalSeconds: POLL_SECONDS };
        workers.set(name, await boss.work<object>(name, options, pooled(name, handlers[name])));
      };
      for (const name of QUEUE_NAMES) await begin(name);
    },

    async enqueue(execute, jobs) {
      if (jobs.length === 0) return;
      // The queue goes by the database's clock, `startAfter` by ours.
      const ahead = options.now().getTime() - Date.now();
      const due = (job: OrderJob) => new Date((job.startAfter ?? options.now()).getTime() - ahead);
      await boss.insert(
        jobs.map((job) => ({
          name: job.queue,
          data: job.data,
          retryLimit: 0,
          expireInSeconds: 300,
          keepUntil: new Date(due(job).getTime() + KEEP_DAYS * 86_400_000),
          ...(job.startAfter === undefined ? {} : { startAfter: due(job) }),
        })),
        { db: { executeSql: execute } },
      );
      for (const job of jobs) if (job.startAfter !== undefined) wakeAt(job.queue, due(job));
    },

    async waiting(queue) {
      const { rows } = await boss.getDb().executeSql(
        `SELECT data->>'orderId' AS id FROM pgboss.job
          WHERE name = $1 AND state < 'active' AND start_after <= now() AND data->>'orderId' IS NOT NULL`,
        [queue],
      );
      return new Set(ids.parse(rows));
    },

    async send(queue) {
      await boss.send(queue, {}, { retryLimit: 0 });
      wake([queue]);
    },

    wake,

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
