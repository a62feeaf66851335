import type { ReadCertificate } from '../names/observe.ts';
import { LEASE_MS } from '../orders/claim-order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { MAX_SEND_DELAY_MS } from '../orders/send-order.ts';
import type { NotificationStore } from '../outbox/notifications.ts';
import type { PolicySource } from '../policy/ports.ts';
import { NOTIFICATION_LEASE_MS } from '../slack/outbound/notify.ts';

/** Durations that tests change, in milliseconds. */
export interface Pace {
  readonly leaseMs: number;
  /** A request that isn't sent within this time after `sentAt` was saved is dropped. */
  readonly maxSendDelayMs: number;
  readonly notificationLeaseMs: number;
  /** The interval between queries for due orders, and so the longest delay after a lost wake-up. */
  readonly periodMs: number;
  readonly purgeMs: number;
  /**
   * The minimum pause between requests to a registry, between messages of a digest, and between checks of people. By
   * default, each has its own.
   */
  readonly spacingMs?: number;
}

export const PACE: Pace = {
  leaseMs: LEASE_MS,
  maxSendDelayMs: MAX_SEND_DELAY_MS,
  notificationLeaseMs: NOTIFICATION_LEASE_MS,
  periodMs: 2_000,
  purgeMs: 10_000,
};

/** Replacements for real parts, only for tests and the demo. */
export interface Seams {
  /**
   * The clock for orders and expiry. Signatures, tokens and sessions use real time, because the other side does too.
   */
  readonly now?: () => Date;
  /** The address that the HTTP server listens on. Default: all interfaces. */
  readonly host?: string;
  readonly commandsPerMinute?: number;
  readonly pace?: Pace;
  /** Replaced in the demo, whose names have no websites. */
  readonly readCertificate?: ReadCertificate;
  readonly policy?: PolicySource;
  /** Wraps the order store, so that tests can observe each commit. */
  readonly wrapOrderStore?: (store: OrderStore) => OrderStore;
  readonly wrapNotificationStore?: (store: NotificationStore) => NotificationStore;
}
