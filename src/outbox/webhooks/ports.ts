import type { WebhookEvent, WebhookType } from './messages.ts';

export interface WebhookDelivery {
  readonly id: string;
  /** Webhooks with the same subject are delivered in order. */
  readonly subject: string;
  readonly webhookId: string;
  readonly type: WebhookType;
  readonly at: Date;
  readonly body: string;
  readonly attempts: number;
}

export interface WebhookFailure {
  /** For example `http_500` or `timeout`. */
  readonly code: string;
  readonly retryAt: Date;
  /** When admins are notified, unless the endpoint accepts a webhook before then. */
  readonly alertAt: Date;
}

export interface SlackOutage {
  readonly since: Date;
  readonly code: string;
}

/** Implemented by the store. Leases use the database's clock. */
export interface WebhookStore {
  /**
   * Starts queuing webhooks for these endpoints. Deletes endpoints that no process has passed since `since`,
   * and their deliveries. Newer ones are kept: replicas may have different endpoints during a restart.
   */
  registerEndpoints(endpoints: readonly string[], now: Date, since: Date): Promise<void>;
  /** Claims due deliveries that no process has claimed. @returns their ids, longest overdue first */
  claimDue(endpoint: string, now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  loadDelivery(id: string): Promise<WebhookDelivery | undefined>;
  /**
   * Deletes a delivery that was accepted or has permanently failed.
   * Claims the next delivery for the same subject.
   * @returns undefined if no delivery is due
   */
  finish(
    endpoint: string,
    delivery: WebhookDelivery,
    now: Date,
    leaseMs: number,
  ): Promise<WebhookDelivery | undefined>;
  recordSuccess(endpoint: string, now: Date): Promise<void>;
  postpone(endpoint: string, id: string, failure: WebhookFailure): Promise<void>;
  release(id: string): Promise<void>;
  /** Queues a webhook that isn't part of another transaction. */
  queue(event: WebhookEvent): Promise<void>;
  queueMonthlyTest(now: Date): Promise<void>;
  /** Records the start or end of an outage. Queues one webhook per outage that started before `alertBefore`. */
  recordSlackOutage(outage: SlackOutage | undefined, alertBefore: Date, now: Date): Promise<void>;
}
