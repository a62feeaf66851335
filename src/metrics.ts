import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What operators watch. Nothing in it is personal: no names, no people, no contexts. */
export interface Metrics {
  /** Prometheus' text format. */
  text(): Promise<string>;
  readonly contentType: string;
  /** A request to the domain service ended. */
  serviceRequest(task: string, outcome: string, seconds: number): void;
  /** A call of Slack's Web API ended. */
  slackCall(method: string, outcome: string): void;
  /** Slack's delivery was acknowledged. */
  acknowledged(kind: string, seconds: number): void;
}

export interface MetricsSources {
  /** Orders by state, and how long the oldest due job waits, in seconds. */
  readonly orders: () => Promise<{
    readonly byState: Readonly<Record<string, number>>;
    readonly queueAgeSeconds: number;
  }>;
}

/** @param sources asked at every scrape */
export function createMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const buckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30];
  const service = new Histogram({
    name: 'domain_steward_service_request_seconds',
    help: 'Requests to the domain service, by task and outcome',
    labelNames: ['task', 'outcome'],
    buckets,
    registers,
  });
  const slack = new Counter({
    name: 'domain_steward_slack_calls_total',
    help: 'Calls of the Slack Web API, by method and outcome',
    labelNames: ['method', 'outcome'],
    registers,
  });
  const acks = new Histogram({
    name: 'domain_steward_ack_seconds',
    help: 'Time until a delivery of Slack was acknowledged, by kind',
    labelNames: ['kind'],
    buckets,
    registers,
  });
  const states = new Gauge({
    name: 'domain_steward_orders',
    help: 'Orders by state',
    labelNames: ['state'],
    registers,
  });
  const age = new Gauge({
    name: 'domain_steward_queue_age_seconds',
    help: 'How long the oldest job that is due has waited',
    registers,
  });

  return {
    contentType: registry.contentType,
    async text() {
      const { byState, queueAgeSeconds } = await sources.orders();
      for (const [state, count] of Object.entries(byState)) states.set({ state }, count);
      age.set(queueAgeSeconds);
      return registry.metrics();
    },
    serviceRequest: (task, outcome, seconds) => service.observe({ task, outcome }, seconds),
    slackCall: (method, outcome) => slack.inc({ method, outcome }),
    acknowledged: (kind, seconds) => acks.observe({ kind }, seconds),
  };
}
