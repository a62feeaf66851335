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
   * Queues webhooks for these endpoints from now on. Other endpoints and their deliveries are deleted, unless a process
   * has served them since `since`: during a restart, replicas may have different endpoints.
   */
  serve(endpoints: readonly string[], now: Date, since: Date): Promise<void>;
  /** Claims due deliveries that no process has claimed. @returns longest overdue first */
  claimDue(endpoint: string, now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  read(id: string): Promise<WebhookDelivery | undefined>;
  /**
   * Deletes a delivery that was accepted or has permanently failed.
   * @returns the next delivery for the same subject, claimed, if it is due
   */
  finish(
    endpoint: string,
    delivery: WebhookDelivery,
    now: Date,
    leaseMs: number,
  ): Promise<WebhookDelivery | undefined>;
  recordAccepted(endpoint: string, now: Date): Promise<void>;
  postpone(endpoint: string, id: string, failure: WebhookFailure): Promise<void>;
  release(id: string): Promise<void>;
  /** Queues a webhook that doesn't belong to another change. */
  queue(event: WebhookEvent): Promise<void>;
  testMonthly(now: Date): Promise<void>;
  /** Records the start or end of an outage. Queues one webhook per outage that started before `alertBefore`. */
  recordSlackOutage(outage: SlackOutage | undefined, alertBefore: Date, now: Date): Promise<void>;
}
