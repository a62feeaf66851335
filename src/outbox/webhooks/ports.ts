import type { WebhookEvent, WebhookType } from './messages.ts';

export interface QueuedWebhook {
  readonly id: string;
  readonly type: WebhookType;
  readonly at: Date;
  /** What is sent. */
  readonly body: string;
}

/** What waits of one subject for one endpoint. */
export interface WebhookQueue {
  /** Grows with each webhook that is queued. */
  readonly version: number;
  /** How often its first webhook has failed. */
  readonly attempts: number;
  /** The first one; undefined when none is left. */
  readonly first: QueuedWebhook | undefined;
}

/** How an attempt failed. */
export interface WebhookFailure {
  /** `http_500`, `timeout`, … */
  readonly code: string;
  /** Nobody tries before. */
  readonly until: Date;
  /** When admins are told, unless the endpoint takes something before. */
  readonly alertAt: Date;
}

/** How Slack stands: since when it is out of reach, and the code of the last failure. */
export interface SlackOutage {
  readonly since: Date;
  readonly code: string;
}

/**
 * The queues of webhooks in the outbox: one for each endpoint and subject, which one process has at a time. Leases go by the
 * database’s clock. Implemented by the store.
 */
export interface WebhookStore {
  /**
   * Queues what happens from now on for these endpoints. Replicas may serve different ones during a restart, so others are
   * dropped with their queues only when no process has served them since a moment.
   */
  serve(endpoints: readonly string[], now: Date, since: Date): Promise<void>;
  /** Claims queues of an endpoint that are due and that no process has. @returns the longest due first */
  claimDue(endpoint: string, now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  read(queue: string): Promise<WebhookQueue | undefined>;
  /** The endpoint took a webhook, or it was given up: the next one follows. Says that the process is alive. */
  remove(queue: string, id: string, leaseMs: number): Promise<void>;
  noteTaken(endpoint: string, now: Date): Promise<void>;
  /** Ends the claim of a queue whose first webhook has failed. */
  postpone(endpoint: string, queue: string, failure: WebhookFailure): Promise<void>;
  /** Ends a claim without an attempt. */
  release(queue: string): Promise<void>;
  /** Ends an empty queue. @returns false when something was queued since */
  close(queue: string, version: number): Promise<boolean>;
  /** Queues a webhook that belongs to no other change. */
  queue(event: WebhookEvent): Promise<void>;
  /** Queues the test of a month, once. */
  testMonthly(now: Date): Promise<void>;
  /** Notes how Slack stands. Where it has been out of reach since `before`, that is queued, once an outage. */
  noteSlack(outage: SlackOutage | undefined, before: Date, now: Date): Promise<void>;
}
