import type { ReadCertificate } from '../names/observe.ts';
import { LEASE_MS } from '../orders/claim-order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { SEND_WITHIN_MS } from '../orders/send-order.ts';
import type { NotificationStore } from '../outbox/notifications.ts';
import type { PolicySource } from '../policy/ports.ts';
import { NOTIFICATION_LEASE_MS } from '../slack/outbound/notify.ts';

/** Durations that tests change, in milliseconds. */
export interface Pace {
  /** A worker's lease of an order. */
  readonly leaseMs: number;
  /** A request that has not left this long after its `sentAt` is not sent. */
  readonly sendWithinMs: number;
  /** A process's lease of a subject's messages. */
  readonly notificationLeaseMs: number;
  /** The interval between lookups of due orders: the longest delay after a lost wake-up. */
  readonly periodMs: number;
  readonly purgeMs: number;
  /**
   * The pause between two requests to the same registry, between two messages of a digest, and between two people. Each
   * has its own default.
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

/** Replacements of real parts for tests and the demo. Nothing else sets it. */
export interface Seams {
  /** The clock of orders and expiry. Signatures, tokens and sessions use real time, like their other ends. */
  readonly now?: () => Date;
  /** The address of the HTTP server; default: every address of the machine. */
  readonly host?: string;
  /** Commands that one person may use per minute. */
  readonly commandsPerMinute?: number;
  readonly pace?: Pace;
  /** The demo's names have no websites. */
  readonly readCertificate?: ReadCertificate;
  /** The policy in force. */
  readonly policy?: PolicySource;
  /** Wraps the store of orders, so that tests see each commit. */
  readonly wrapOrderStore?: (store: OrderStore) => OrderStore;
  /** Wraps the outbox. */
  readonly wrapNotificationStore?: (store: NotificationStore) => NotificationStore;
}
