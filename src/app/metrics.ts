import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ORDER_STATES } from '../orders/order.ts';
import type { OrderFigures } from '../store/probe.ts';
import { RELEASE } from './release.ts';

/** Metrics for operators. They contain no domain names, people or contexts. */
export interface Metrics {
  text(): Promise<string>;
  readonly contentType: string;
  recordServiceRequest(task: string, outcome: string, seconds: number): void;
  countSlackCall(method: string, outcome: string): void;
  /** Called if a value can't be decrypted because its key isn't in `CREDENTIALS_KEYS`. */
  countUnknownKey(): void;
  /** @param times 0 creates the counter, so that alerts can see the job before its first failure */
  countJobFailure(job: string, times?: number): void;
  recordAcknowledgement(kind: string, seconds: number): void;
  /** Sets the function that loads the order figures at every scrape. */
  setOrderSource(load: () => Promise<OrderFigures>): void;
  /** Adds a function that loads gauge values at every scrape. */
  addGaugeSource(source: () => Promise<GaugeValues>): void;
}

/** Unknown values are undefined. */
export type GaugeValues = Readonly<Partial<Record<keyof typeof GAUGES, number | undefined>>>;

/** Name and help of each gauge. Times are in seconds since 1970. */
const GAUGES = {
  databaseBytes: ['domain_steward_database_bytes', 'Size of the database'],
  databaseDiskFreeBytes: [
    'domain_steward_database_disk_free_bytes',
    'Free space on the disk of the embedded database',
  ],
  backupDiskFreeBytes: ['domain_steward_backup_disk_free_bytes', 'Free space on the disk of the backups'],
  lastBackupAt: ['domain_steward_last_backup_timestamp_seconds', 'Time of the newest backup in BACKUP_DIR'],
  lastDigestAt: ['domain_steward_last_digest_timestamp_seconds', 'Time of the last digest'],
  lastSealAt: ['domain_steward_last_seal_timestamp_seconds', 'Time of the last seal'],
  lastAnchorAt: ['domain_steward_last_anchor_timestamp_seconds', 'Time of the last published seal'],
  lastWebhookAt: ['domain_steward_last_webhook_timestamp_seconds', 'Time of the last delivered webhook'],
  webhookWaitingSeconds: ['domain_steward_webhook_waiting_seconds', 'Age of the oldest undelivered webhook'],
  names: ['domain_steward_names', 'Watched names'],
  overdueLookups: ['domain_steward_names_overdue', 'Names whose lookup is more than an hour overdue'],
} as const satisfies Record<string, readonly [name: string, help: string]>;

/** Timeout for all sources together. Prometheus waits 10 s for a scrape. */
const SOURCES_TIMEOUT_MS = 2_000;

function createGauges(registry: Registry): ReadonlyMap<string, Gauge> {
  return new Map(
    Object.entries(GAUGES).map(([key, [name, help]]) => [
      key,
      new Gauge({ name, help, registers: [registry] }),
    ]),
  );
}

function createInstruments(registry: Registry) {
  const registers = [registry];
  // Slack requests are acknowledged after 2 s even without a commit. Slack gives up after 3 s.
  const buckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5, 3, 5, 10, 30];
  return {
    serviceRequests: new Histogram({
      name: 'domain_steward_service_request_seconds',
      help: 'Requests to the domain service, by task and outcome',
      labelNames: ['task', 'outcome'],
      buckets,
      registers,
    }),
    slackCalls: new Counter({
      name: 'domain_steward_slack_calls_total',
      help: 'Calls of the Slack Web API, by method and outcome',
      labelNames: ['method', 'outcome'],
      registers,
    }),
    acknowledgements: new Histogram({
      name: 'domain_steward_ack_seconds',
      help: 'Time to acknowledge a request from Slack, by kind',
      labelNames: ['kind'],
      buckets,
      registers,
    }),
    unknownKeys: new Counter({
      name: 'domain_steward_unknown_key_total',
      help: 'Failed decryptions because CREDENTIALS_KEYS lacks the key',
      registers,
    }),
    jobFailures: new Counter({
      name: 'domain_steward_job_failures_total',
      help: 'Failed jobs and loop iterations, by name',
      labelNames: ['name'],
      registers,
    }),
    orderStates: new Gauge({
      name: 'domain_steward_orders',
      help: 'Orders by state',
      labelNames: ['state'],
      registers,
    }),
    queueAge: new Gauge({
      name: 'domain_steward_queue_age_seconds',
      help: 'Age of the oldest approved order that was not carried out',
      registers,
    }),
    unsealedAge: new Gauge({
      name: 'domain_steward_unsealed_seconds',
      help: 'Age of the oldest unsealed event',
      registers,
    }),
    databaseUp: new Gauge({
      name: 'domain_steward_database_up',
      help: 'Whether the database answered this scrape (1) or not (0)',
      registers,
    }),
  };
}

function registerBuildInfo(registry: Registry): void {
  new Gauge({
    name: 'domain_steward_build_info',
    help: 'The running release: always 1',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: RELEASE, node: process.version }, 1);
}

export function createMetrics(): Metrics {
  let loadOrderFigures: () => Promise<OrderFigures | undefined> = async () => undefined;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instruments = createInstruments(registry);
  const { orderStates, queueAge, unsealedAge, databaseUp } = instruments;
  registerBuildInfo(registry);
  const gauges = createGauges(registry);
  const gaugeSources: (() => Promise<GaugeValues>)[] = [];
  /** Unknown values are omitted from a scrape. */
  const setGauges = async () => {
    const valuesBySource = await Promise.all(
      gaugeSources.map((source) => source().catch((): GaugeValues => ({}))),
    );
    const values = new Map(valuesBySource.flatMap((sourceValues) => Object.entries(sourceValues)));
    for (const [key, gauge] of gauges) {
      const value = values.get(key);
      if (value === undefined) gauge.remove();
      else gauge.set(value);
    }
  };
  return {
    contentType: registry.contentType,
    async text() {
      // If the database doesn't respond, its figures are omitted, because outdated ones would mislead.
      const timeout = sleep(SOURCES_TIMEOUT_MS, undefined, { ref: false });
      const [figures] = await Promise.all([
        Promise.race([loadOrderFigures().catch(() => undefined), timeout]),
        Promise.race([setGauges(), timeout]),
      ]);
      databaseUp.set(figures === undefined ? 0 : 1);
      orderStates.reset();
      queueAge.remove();
      unsealedAge.remove();
      if (figures !== undefined) {
        for (const state of ORDER_STATES) orderStates.set({ state }, figures.byState[state] ?? 0);
        queueAge.set(figures.queueAgeSeconds);
        unsealedAge.set(figures.unsealedSeconds);
      }
      return registry.metrics();
    },
    recordServiceRequest: (task, outcome, seconds) =>
      instruments.serviceRequests.observe({ task, outcome }, seconds),
    countSlackCall: (method, outcome) => instruments.slackCalls.inc({ method, outcome }),
    countUnknownKey: () => instruments.unknownKeys.inc(),
    countJobFailure: (job, times = 1) => instruments.jobFailures.inc({ name: job }, times),
    recordAcknowledgement: (kind, seconds) => instruments.acknowledgements.observe({ kind }, seconds),
    setOrderSource(load) {
      loadOrderFigures = load;
    },
    addGaugeSource: (source) => void gaugeSources.push(source),
  };
}
