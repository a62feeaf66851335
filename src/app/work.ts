import { setTimeout as sleep } from 'node:timers/promises';
import { createCharterWatch } from '../approvals/charter-watch.ts';
import { openDigest } from '../expiry/digest.ts';
import { askBetweenDigests } from '../expiry/owner-question.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import { runMandates } from '../mandates/run.ts';
import { createDepartureCheck } from '../orders/offboarding.ts';
import { addMoneyReportNotification } from '../slack/money/money-report.ts';
import { createLoop, startPeriodicTask } from './reconcile.ts';
import type { AppContext, Connections, Contexts } from './site.ts';

/** The running jobs and loops. Due times are stored in the database, which all replicas share. */
export interface BackgroundWork {
  catchUp(): Promise<void>;
  stop(): void;
  /** Resolves when nothing is running. */
  idle(): Promise<void>;
}

/** A periodic job. Each run finds out what is due. */
export interface Job {
  /** Used in the log, in metrics and in `/readyz`. */
  readonly name: string;
  readonly periodMs: number;
  readonly run: () => Promise<unknown>;
  /** `early`: runs before other jobs after a clock jump, because they use its results. */
  readonly catchUpPhase?: 'early';
  /** Whether the job may be aborted at shutdown, because the next start runs it again. */
  readonly canAbortAtStop?: true;
}

/** Timeout for each phase of catching up after a clock jump. */
const CATCH_UP_PHASE_TIMEOUT_MS = 10_000;
/** Per process and endpoint. */
const MAX_PARALLEL_WEBHOOKS = 4;

/** One loop per endpoint, so that a slow one doesn't block the others. */
function createWebhookLoops({ pace, metrics, log }: AppContext, { slack }: Contexts) {
  return slack.webhooks.endpoints.map(({ host, claimDue, deliver }) =>
    createLoop({
      name: `webhooks to ${host}`,
      concurrency: MAX_PARALLEL_WEBHOOKS,
      periodMs: pace.periodMs,
      claim: claimDue,
      handle: deliver,
      onFailed: () => metrics.countJobFailure('webhooks'),
      log,
    }),
  );
}

/** Longer than a year, so that a name's history includes its last renewal. */
const OBSERVATION_RETENTION_MS = 400 * DAY_MS;

function listJobs(appContext: AppContext, connections: Connections, contexts: Contexts): readonly Job[] {
  const { now, log, pace, shutdown } = appContext;
  const { stores, slack, takeBackup } = connections;
  const { slack: deps, offboarding } = contexts;
  const { loadSettings: settings, reminders, names, webhooks, ledger } = deps;
  const { purgePeriodMs, periodMs, spacingMs } = pace;
  const checkDepartures = createDepartureCheck({
    ...offboarding,
    signal: shutdown.backgroundSignal,
    ...(spacingMs === undefined ? {} : { pauseMs: spacingMs }),
  });
  const { signing } = deps.orders;
  const onChange = () => {
    deps.notifyDue();
    void deps.refreshPendingCards();
  };
  const watchCharter = createCharterWatch({ signing, keys: stores.keys, now, log, onChange });
  return [
    { name: 'approvers', periodMs: HOUR_MS, run: connections.teamDefaults.refresh },
    { name: 'mandates', periodMs: 10 * MINUTE_MS, run: () => runMandates(deps.orders) },
    { name: 'digest', periodMs: MINUTE_MS, run: () => openDigest({ settings, reminders, now }) },
    {
      name: 'owner_questions',
      periodMs: MINUTE_MS,
      run: () => askBetweenDigests({ settings, reminders, now }),
    },
    { name: 'money_report', periodMs: MINUTE_MS, run: () => addMoneyReportNotification(deps) },
    { name: 'webhook_endpoints', periodMs: HOUR_MS, run: webhooks.registerEndpoints },
    { name: 'webhook_test', periodMs: MINUTE_MS, run: webhooks.queueMonthlyTest },
    {
      name: 'slack_outage',
      periodMs: MINUTE_MS,
      run: async () => {
        await slack.tokenHealth.check();
        await webhooks.recordSlackOutage(slack.outageWatch.getCurrentOutage());
      },
    },
    // Each run checks only a few names.
    { name: 'guarded_names', periodMs: 1_000, run: names.lookUpGuarded, catchUpPhase: 'early' },
    { name: 'departures', periodMs: HOUR_MS, run: checkDepartures, catchUpPhase: 'early' },
    {
      name: 'expired_orders',
      periodMs: purgePeriodMs,
      run: () => stores.orders.purgeExpired(now()),
      catchUpPhase: 'early',
    },
    {
      name: 'expired_proposals',
      periodMs: purgePeriodMs,
      run: () => stores.purgeProposals(now()),
      catchUpPhase: 'early',
    },
    {
      name: 'expired_links',
      periodMs: purgePeriodMs,
      run: () => stores.links.purge(now()),
      catchUpPhase: 'early',
    },
    {
      name: 'old_observations',
      periodMs: HOUR_MS,
      run: () => stores.names.purgeObservations(new Date(now().getTime() - OBSERVATION_RETENTION_MS)),
    },
    { name: 'backup', periodMs: 10 * MINUTE_MS, run: takeBackup, canAbortAtStop: true },
    { name: 'seals', periodMs, run: ledger.sealAndAnchor, catchUpPhase: 'early' },
    { name: 'seal_alert', periodMs, run: ledger.alertIfStalled },
    { name: 'ledger_check', periodMs: MINUTE_MS, run: ledger.checkIfDue },
    // Admins must be notified within a minute.
    { name: 'charter', periodMs: 10_000, run: watchCharter },
  ];
}

/** Starts all jobs and loops. They run immediately, then periodically. */
export function startBackgroundWork(
  appContext: AppContext,
  connections: Connections,
  contexts: Contexts,
): BackgroundWork {
  const { metrics, readiness, now, log } = appContext;
  const { stores } = connections;
  const { reconciler, observationLoop } = contexts;
  const health = createJobHealth(now, metrics.countJobFailure);
  readiness.setDetailCheck('jobs', async () => health.describeLastingFailures());
  readiness.setDetailCheck('channels', async () => {
    const refusedChannels = await stores.notifications.listRefusedChannels();
    if (refusedChannels.length === 0) return undefined;
    return refusedChannels.map(({ channelId, code }) => `${channelId}: ${code}`).join(', ');
  });
  const definitions = listJobs(appContext, connections, contexts);
  for (const { name } of definitions) metrics.countJobFailure(name, 0);
  const webhooks = createWebhookLoops(appContext, contexts);
  reconciler.start();
  observationLoop.start();
  for (const loop of webhooks) loop.start();
  const jobs = definitions.map((job) => {
    const { name, periodMs, run } = job;
    const onEnded = (outcome: 'succeeded' | 'failed') => health.recordOutcome(name, outcome);
    return { job, task: startPeriodicTask({ name: `job ${name}`, periodMs, work: run, onEnded, log }) };
  });
  const runJobs = (phase: Job['catchUpPhase']) =>
    Promise.all(jobs.flatMap(({ job, task }) => (job.catchUpPhase === phase ? task.runNow() : [])));
  const loops = [reconciler, observationLoop, ...webhooks];
  const waitForPhase = (work: Promise<unknown>) =>
    Promise.race([work, sleep(CATCH_UP_PHASE_TIMEOUT_MS, undefined, { ref: false })]);
  return {
    async catchUp() {
      const lookUpNames = async () => {
        await observationLoop.poll();
        await observationLoop.idle();
      };
      await waitForPhase(Promise.all([reconciler.catchUp(), lookUpNames(), runJobs('early')]));
      await waitForPhase(runJobs(undefined));
      await reconciler.pollNotifications();
      await Promise.all(webhooks.map((loop) => loop.poll()));
      await waitForPhase(Promise.all([reconciler, ...webhooks].map((loop) => loop.idle())));
    },
    stop() {
      for (const loop of loops) loop.stop();
      for (const { task } of jobs) task.stop();
    },
    async idle() {
      const tasksToFinish = jobs.flatMap(({ job, task }) => (job.canAbortAtStop ? [] : task));
      await Promise.all([...loops, ...tasksToFinish].map((work) => work.idle()));
    },
  };
}

/** A job that has failed for this long appears in the details of `/readyz`. */
const LASTING_FAILURE_MS = 10 * MINUTE_MS;

export interface JobHealth {
  recordOutcome(job: string, outcome: 'succeeded' | 'failed'): void;
  /** @returns undefined if no job has failed for ten minutes */
  describeLastingFailures(): string | undefined;
}

export function createJobHealth(now: () => Date, countFailure: (job: string) => void): JobHealth {
  const failures = new Map<string, { readonly since: Date; readonly count: number }>();
  return {
    recordOutcome(job, outcome) {
      if (outcome === 'succeeded') return void failures.delete(job);
      countFailure(job);
      const { since = now(), count = 0 } = failures.get(job) ?? {};
      failures.set(job, { since, count: count + 1 });
    },
    describeLastingFailures() {
      const lastingFailures = [...failures].filter(
        ([, { since, count }]) => count > 1 && now().getTime() - since.getTime() >= LASTING_FAILURE_MS,
      );
      if (lastingFailures.length === 0) return undefined;
      return lastingFailures
        .map(([job, { since, count }]) => `${job} failed ${count} times since ${since.toISOString()}`)
        .join(', ');
    },
  };
}
