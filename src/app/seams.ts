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
  /** A request that still hasn't left this long after `sentAt` was saved is dropped. */
  readonly maxSendDelayMs: number;
  readonly notificationLeaseMs: number;
  /** The interval between queries for due orders: the longest delay if a wake-up is lost. */
  readonly periodMs: number;
  readonly purgeMs: number;
  /** The minimum pause between requests to a registry, messages of a digest, and people checked; default: one for each. */
  readonly spacingMs?: number;
}

export const PACE: Pace = {
  leaseMs: LEASE_MS,
  maxSendDelayMs: MAX_SEND_DELAY_MS,
  notificationLeaseMs: NOTIFICATION_LEASE_MS,
  periodMs: 2_000,
  purgeMs: 10_000,
};

/** Replacements of real parts, only for tests and the demo. */
export interface Seams {
  /** The clock for orders and expiry. Signatures, tokens and sessions use real time, because the other side does. */
  readonly now?: () => Date;
  /** The HTTP server's address; default: all interfaces. */
  readonly host?: string;
  readonly commandsPerMinute?: number;
  readonly pace?: Pace;
  /** Replaced in the demo, whose names have no websites. */
  readonly readCertificate?: ReadCertificate;
  readonly policy?: PolicySource;
  /** Wraps the store of orders, so that tests can observe each commit. */
  readonly wrapOrderStore?: (store: OrderStore) => OrderStore;
  readonly wrapNotificationStore?: (store: NotificationStore) => NotificationStore;
}
