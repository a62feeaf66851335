import type { WebhookEvent, WebhookType } from './messages.ts';

/** A webhook that waits for one endpoint. */
export interface WebhookDelivery {
  readonly id: string;
  /** Webhooks of one subject are delivered in their order. */
  readonly subject: string;
  /** The `webhook-id`. */
  readonly webhookId: string;
  readonly type: WebhookType;
  /** When it happened. */
  readonly at: Date;
  readonly body: string;
  /** How often it has failed. */
  readonly attempts: number;
}

export interface WebhookFailure {
  /** `http_500`, `timeout`, … */
  readonly code: string;
  readonly until: Date;
  /** When admins are notified, unless the endpoint accepts a webhook before. */
  readonly alertAt: Date;
}

/** A Slack outage: its start, and the code of the last failure. */
export interface SlackOutage {
  readonly since: Date;
  readonly code: string;
}

/** Deliveries of webhooks. Leases use the database's clock. Implemented by the store. */
export interface WebhookStore {
  /**
   * Queues webhooks for these endpoints from now on. Replicas may serve different ones during a restart, so others are
   * deleted with their deliveries only when no process has served them since a moment.
   */
  serve(endpoints: readonly string[], now: Date, since: Date): Promise<void>;
  /** Claims deliveries of an endpoint that are due and that no process has. @returns the longest due first */
  claimDue(endpoint: string, now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  read(id: string): Promise<WebhookDelivery | undefined>;
  /** Deletes a delivery that was accepted or given up. @returns the next one of its subject, claimed, if it is due */
  finish(
    endpoint: string,
    delivery: WebhookDelivery,
    now: Date,
    leaseMs: number,
  ): Promise<WebhookDelivery | undefined>;
  /** The endpoint accepted a webhook. */
  noteTaken(endpoint: string, now: Date): Promise<void>;
  /** Ends the claim of a delivery that has failed. */
  postpone(endpoint: string, id: string, failure: WebhookFailure): Promise<void>;
  /** Ends a claim without an attempt. */
  release(id: string): Promise<void>;
  /** Queues a webhook that belongs to no other change. */
  queue(event: WebhookEvent): Promise<void>;
  /** Queues the monthly test, once. */
  testMonthly(now: Date): Promise<void>;
  /** Records a Slack outage or its end. An outage since `before` is queued, once. */
  noteSlack(outage: SlackOutage | undefined, before: Date, now: Date): Promise<void>;
}
