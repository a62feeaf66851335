import { LEASE_MS } from '../orders/claim-order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { SEND_WITHIN_MS } from '../orders/send-order.ts';
import type { NotificationStore } from '../outbox/notifications.ts';
import type { PolicySource } from '../policy/ports.ts';
import { NOTIFICATION_LEASE_MS } from '../slack/outbound/notify.ts';

/** Durations that tests change, in milliseconds. */
export interface Pace {
  /** How long an order belongs to a worker without a sign of life. */
  readonly leaseMs: number;
  /** A request that has not left this long after its `sentAt` is not sent. */
  readonly sendWithinMs: number;
  /** How long the messages of a subject belong to a process without a sign of life. */
  readonly notificationLeaseMs: number;
  /** The time between two looks for due orders, which bounds what a lost wake-up costs. */
  readonly periodMs: number;
  readonly purgeMs: number;
  /**
   * The pause between two requests to one registry, between two messages of a digest, and between two people. When left
   * out, each has its own default.
   */
  readonly spacingMs?: number;
}

export const PACE: Pace = {
  leaseMs: LEASE_MS,
  sendWithinMs: SEND_WITHIN_MS,
  notificationLeaseMs: NOTIFICATION_LEASE_MS,
  periodMs: 2_000,
  purgeMs: 10_000,
};

/** What tests and the demo put in the place of the real parts. Nothing else sets it. */
export interface Seams {
  /**
   * The clock that orders and expiry go by. Signatures, tokens and sessions follow real time, because their other ends
   * do.
   */
  readonly now?: () => Date;
  /** The address that the HTTP server listens on; every address of the machine when left out. */
  readonly host?: string;
  /** Commands that one person may use in a minute. */
  readonly commandsPerMinute?: number;
  readonly pace?: Pace;
  /** The policy that is in force. */
  readonly policy?: PolicySource;
  /** Wraps the store of orders: tests learn here what is committed, and when. */
  readonly wrapOrderStore?: (store: OrderStore) => OrderStore;
  /** Wraps the outbox. */
  readonly wrapNotificationStore?: (store: NotificationStore) => NotificationStore;
}
