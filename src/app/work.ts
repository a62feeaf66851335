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
export interface Work {
  catchUp(): Promise<void>;
  stop(): void;
  /** Resolves when nothing is running. */
  idle(): Promise<void>;
}

/** A periodic job, which finds out by itself what is due. */
export interface Job {
  /** Used in the log, in metrics and in `/readyz`. */
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<unknown>;
  /** `early`: runs before other jobs after a clock jump, because they use its results. */
  readonly catchUpPhase?: 'early';
  /** Whether the job may be aborted at shutdown, because the next start runs it again. */
  readonly canAbortAtStop?: true;
}

/** The longest time for each phase of catching up after a clock jump. */
const CATCH_UP_PHASE_MS = 10_000;
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
      work: deliver,
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
  const { savedSettings: settings, reminders, names, webhooks, ledger } = deps;
  const { purgeMs, periodMs, spacingMs } = pace;
  const checkDepartures = createDepartureCheck({
    ...offboarding,
    signal: shutdown.backgroundSignal,
    ...(spacingMs === undefined ? {} : { pauseMs: spacingMs }),
  });
  const watchCharter = createCharterWatch({
    ...{ signing: deps.orders.signing, keys: stores.keys, now, log },
    onChange: () => {
      deps.notifyDue();
      void deps.refreshPendingCards();
    },
  });
  return [
    { name: 'approvers', everyMs: HOUR_MS, run: connections.teamDefaults.refresh },
    { name: 'mandates', everyMs: 10 * MINUTE_MS, run: () => runMandates(deps.orders) },
    { name: 'digest', everyMs: MINUTE_MS, run: () => openDigest({ settings, reminders, now }) },
    {
      name: 'owner_questions',
      everyMs: MINUTE_MS,
      run: () => askBetweenDigests({ settings, reminders, now }),
    },
    { name: 'money_report', everyMs: MINUTE_MS, run: () => addMoneyReportNotification(deps) },
    { name: 'webhook_endpoints', everyMs: HOUR_MS, run: webhooks.serve },
    { name: 'webhook_test', everyMs: MINUTE_MS, run: webhooks.testMonthly },
    {
      name: 'slack_outage',
      everyMs: MINUTE_MS,
      run: async () => {
        await slack.token.check();
        await webhooks.recordSlackOutage(slack.outage.current());
      },
    },
    // Each run checks only a few names.
    { name: 'guarded_names', everyMs: 1_000, run: names.lookUpGuarded, catchUpPhase: 'early' },
    { name: 'departures', everyMs: HOUR_MS, run: checkDepartures, catchUpPhase: 'early' },
    {
      name: 'expired_orders',
      everyMs: purgeMs,
      run: () => stores.orders.purgeExpired(now()),
      catchUpPhase: 'early',
    },
    {
      name: 'expired_proposals',
      everyMs: purgeMs,
      run: () => stores.purgeProposals(now()),
      catchUpPhase: 'early',
    },
    { name: 'expired_links', everyMs: purgeMs, run: () => stores.links.purge(now()), catchUpPhase: 'early' },
    {
      name: 'old_observations',
      everyMs: HOUR_MS,
      run: () => stores.names.purgeObservations(new Date(now().getTime() - OBSERVATION_RETENTION_MS)),
    },
    { name: 'backup', everyMs: 10 * MINUTE_MS, run: takeBackup, canAbortAtStop: true },
    { name: 'seals', everyMs: periodMs, run: ledger.sealAndAnchor, catchUpPhase: 'early' },
    { name: 'seal_alert', everyMs: periodMs, run: ledger.alertIfStalled },
    { name: 'ledger_check', everyMs: MINUTE_MS, run: ledger.checkIfDue },
    // Admins must be notified within a minute.
    { name: 'charter', everyMs: 10_000, run: watchCharter },
  ];
}

/** Starts all jobs and loops. They run immediately, then periodically. */
export function startWork(appContext: AppContext, connections: Connections, contexts: Contexts): Work {
  const { metrics, readiness, now, log } = appContext;
  const { stores } = connections;
  const { reconciler, observationLoop } = contexts;
  const health = createJobHealth(now, metrics.countJobFailure);
  readiness.watchDetail('jobs', async () => health.describeLastingFailures());
  readiness.watchDetail('channels', async () => {
    const refused = await stores.notifications.listRefusedChannels();
    if (refused.length === 0) return undefined;
    return refused.map(({ channelId, code }) => `${channelId}: ${code}`).join(', ');
  });
  const definitions = listJobs(appContext, connections, contexts);
  for (const { name } of definitions) metrics.countJobFailure(name, 0);
  const webhooks = createWebhookLoops(appContext, contexts);
  reconciler.start();
  observationLoop.start();
  for (const loop of webhooks) loop.start();
  const jobs = definitions.map((job) => {
    const { name, everyMs, run } = job;
    const onEnded = (outcome: 'succeeded' | 'failed') => health.recordOutcome(name, outcome);
    return { job, running: startPeriodicTask({ name: `job ${name}`, everyMs, work: run, onEnded, log }) };
  });
  const runJobs = (phase: Job['catchUpPhase']) =>
    Promise.all(jobs.flatMap(({ job, running }) => (job.catchUpPhase === phase ? running.runNow() : [])));
  const loops = [reconciler, observationLoop, ...webhooks];
  const waitAtMost = (work: Promise<unknown>) =>
    Promise.race([work, sleep(CATCH_UP_PHASE_MS, undefined, { ref: false })]);
  return {
    async catchUp() {
      const lookUpNames = async () => {
        await observationLoop.poll();
        await observationLoop.idle();
      };
      await waitAtMost(Promise.all([reconciler.catchUp(), lookUpNames(), runJobs('early')]));
      await waitAtMost(runJobs(undefined));
      await reconciler.notifyDue();
      await Promise.all(webhooks.map((loop) => loop.poll()));
      await waitAtMost(Promise.all([reconciler, ...webhooks].map((loop) => loop.idle())));
    },
    stop() {
      for (const loop of loops) loop.stop();
      for (const { running } of jobs) running.stop();
    },
    async idle() {
      const requiredJobs = jobs.flatMap(({ job, running }) => (job.canAbortAtStop ? [] : running));
      await Promise.all([...loops, ...requiredJobs].map((work) => work.idle()));
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
