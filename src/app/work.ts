import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';
import type { Names } from '../names/names.ts';
import { advance } from '../orders/advance.ts';
import type { SendingContext } from '../orders/context.ts';
import type { NotificationStore, Subject } from '../outbox/notifications.ts';
import type { Webhooks } from '../outbox/webhooks/webhooks.ts';
import type { Bus } from './bus.ts';
import type { JobHealth } from './job-health.ts';
import { createLoop, createReconciler, type ReconcilerDeps, repeat } from './reconcile.ts';
import type { Pace } from './seams.ts';

/** What is carried out whenever it is due. Rows say what is due, and replicas share it. */
export interface Work {
  /** Looks for due work at once, instead of at the next turn. */
  catchUp(): Promise<void>;
  /** Begins nothing more. */
  stop(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Something that runs periodically in a loop of its own. It finds out itself what is due. */
export interface Job {
  /** Its name in the log, in metrics and in `/readyz`. */
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<unknown>;
  /** `early`: runs before the others when a clock has jumped, because they use its results. */
  readonly whenBehind?: 'early';
  /** It may be cut off at shutdown. The next start runs it again. */
  readonly isCutOffAtStop?: true;
}

export interface WorkDeps {
  readonly bus: Bus;
  readonly execution: SendingContext;
  readonly notifications: NotificationStore;
  /** Tells people of a subject. */
  readonly notify: (subject: Subject, isClaimed: boolean) => Promise<void>;
  readonly mayRefresh: ReconcilerDeps['mayRefresh'];
  readonly names: Pick<Names, 'claimDue' | 'look'>;
  readonly webhooks: Pick<Webhooks, 'endpoints'>;
  readonly jobs: readonly Job[];
  readonly health: JobHealth;
  /** Counts a failed item of a loop. */
  readonly itemFailed: (loop: string) => void;
  readonly pace: Pace;
  readonly now: () => Date;
  readonly log: Log;
}

/** How long a jump of the clock waits for the registries before it looks for due work. */
const CATCH_UP_MS = 10_000;
/** The number of webhooks that one process sends to one endpoint in parallel. */
const WEBHOOKS_AT_ONCE = 4;
/** The number of names that one process looks at in parallel. */
const OBSERVED_AT_ONCE = 8;

/** Starts with everything that is due. */
export function startWork(deps: WorkDeps): Work {
  const { bus, execution, notifications, names, health, itemFailed, pace, now, log } = deps;
  const reconciler = createReconciler({
    store: execution.store,
    advance: (orderId, lane) => advance(execution, orderId, lane),
    notifications,
    notify: deps.notify,
    mayRefresh: deps.mayRefresh,
    leaseMs: pace.leaseMs,
    notificationLeaseMs: pace.notificationLeaseMs,
    periodMs: pace.periodMs,
    failed: itemFailed,
    now,
    log,
  });
  const observing = createLoop({
    name: 'looking at names',
    parallel: OBSERVED_AT_ONCE,
    periodMs: pace.periodMs,
    claim: names.claimDue,
    work: names.look,
    failed: () => itemFailed('names'),
    log,
  });
  // One loop for each, so that an endpoint which hangs holds up no other.
  const webhooks = deps.webhooks.endpoints.map(({ host, claimDue, deliver }) =>
    createLoop({
      name: `webhooks to ${host}`,
      parallel: WEBHOOKS_AT_ONCE,
      periodMs: pace.periodMs,
      claim: claimDue,
      work: deliver,
      failed: () => itemFailed('webhooks'),
      log,
    }),
  );
  bus.on('orderChanged', (order) => reconciler.changed(order));
  bus.on('notificationsDue', () => void reconciler.notifyDue());
  bus.on('namesAdded', () => {
    void reconciler.askRecords();
    void observing.look();
  });
  reconciler.start();
  observing.start();
  for (const loop of webhooks) loop.start();
  const jobs = deps.jobs.map((job) => {
    const { name, everyMs, run } = job;
    const ended = (outcome: 'succeeded' | 'failed') => health.ended(name, outcome);
    return { job, running: repeat({ name: `job ${name}`, everyMs, work: run, ended, log }) };
  });
  const runJobs = (whenBehind: Job['whenBehind']) =>
    Promise.all(jobs.flatMap(({ job, running }) => (job.whenBehind === whenBehind ? running.now() : [])));
  const loops = [reconciler, observing, ...webhooks];
  const atMost = (work: Promise<unknown>) =>
    Promise.race([work, sleep(CATCH_UP_MS, undefined, { ref: false })]);
  return {
    async catchUp() {
      await atMost(Promise.all([reconciler.catchUp(), observing.look(), runJobs('early')]));
      await atMost(runJobs(undefined));
      await reconciler.notifyDue();
      await Promise.all(webhooks.map((loop) => loop.look()));
      await atMost(Promise.all([reconciler, ...webhooks].map((loop) => loop.idle())));
    },
    stop() {
      for (const loop of loops) loop.stop();
      for (const { running } of jobs) running.stop();
    },
    async idle() {
      const running = jobs.flatMap((each) => (each.job.isCutOffAtStop ? [] : each.running));
      await Promise.all([...loops, ...running].map((each) => each.idle()));
    },
  };
}
