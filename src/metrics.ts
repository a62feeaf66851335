import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ORDER_STATES } from './orders/order.ts';

/** The metrics for operators. They contain no names of domains, no people and no contexts. */
export interface Metrics {
  /** Prometheus' text format. */
  text(): Promise<string>;
  readonly contentType: string;
  /** A request to the domain service ended. */
  serviceRequest(task: string, outcome: string, seconds: number): void;
  /** A call of Slack's Web API ended. */
  slackCall(method: string, outcome: string): void;
  /** A value could not be opened, because its key is not in `CREDENTIALS_KEYS`. */
  unknownKey(): void;
  /** A delivery from Slack was acknowledged. */
  acknowledged(kind: string, seconds: number): void;
  /** Asks for the figures of orders at every scrape from now on. */
  watchOrders(figures: () => Promise<OrderFigures>): void;
}

/** Orders by state, and for how long the oldest approved one has waited, in seconds. */
export interface OrderFigures {
  readonly byState: Readonly<Record<string, number>>;
  readonly queueAgeSeconds: number;
}

/** How long the sources may take. Prometheus waits 10 s for a scrape. */
const SOURCES_MS = 2_000;

/** The bot's own metrics; Node's are collected by the library. */
function createInstruments(registry: Registry) {
  const registers = [registry];
  // A commit that takes longer is acknowledged after 2 s, and Slack gives up after 3 s.
  const buckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5, 3, 5, 10, 30];
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
  const unknownKeys = new Counter({
    name: 'domain_steward_unknown_key_total',
    help: 'Openings in vain of something sealed with a key that CREDENTIALS_KEYS does not have',
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
    help: 'How long the oldest approved order has waited to be carried out',
    registers,
  });
  const database = new Gauge({
    name: 'domain_steward_database_up',
    help: 'Whether the database told the figures of this scrape (1) or not (0)',
    registers,
  });
  return { service, slack, acks, unknownKeys, states, age, database };
}

export function createMetrics(): Metrics {
  let figuresOfOrders: () => Promise<OrderFigures | undefined> = async () => undefined;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { service, slack, acks, unknownKeys, states, age, database } = createInstruments(registry);
  return {
    contentType: registry.contentType,
    async text() {
      // Without the database the other metrics are still served. Its last values would mislead, so they are left out.
      const figures = await Promise.race([
        figuresOfOrders().catch(() => undefined),
        sleep(SOURCES_MS, undefined, { ref: false }),
      ]);
      database.set(figures === undefined ? 0 : 1);
      states.reset();
      age.remove();
      if (figures !== undefined) {
        for (const state of ORDER_STATES) states.set({ state }, figures.byState[state] ?? 0);
        age.set(figures.queueAgeSeconds);
      }
      return registry.metrics();
    },
    serviceRequest: (task, outcome, seconds) => service.observe({ task, outcome }, seconds),
    slackCall: (method, outcome) => slack.inc({ method, outcome }),
    unknownKey: () => unknownKeys.inc(),
    acknowledged: (kind, seconds) => acks.observe({ kind }, seconds),
    watchOrders(figures) {
      figuresOfOrders = figures;
    },
  };
}
