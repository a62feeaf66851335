import type { CertificateReader } from '../names/observe.ts';
import { LEASE_MS } from '../orders/claim-order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { MAX_SEND_DELAY_MS } from '../orders/send-order.ts';
import type { NotificationStore } from '../outbox/notifications.ts';
import type { PolicySource } from '../policy/ports.ts';
import { NOTIFICATION_LEASE_MS } from '../slack/outbound/notify.ts';

/** Durations that tests change. */
export interface Pace {
  readonly leaseMs: number;
  /** A request is dropped if it isn't sent within this time after `sentAt` was saved. */
  readonly maxSendDelayMs: number;
  readonly notificationLeaseMs: number;
  /** The interval between queries for due work, and so the longest delay after a lost wake-up. */
  readonly periodMs: number;
  readonly purgePeriodMs: number;
  /**
   * Replaces the minimum pauses between requests to a registry, between messages of a digest, and between
   * checks of people.
   */
  readonly spacingMs?: number;
}

export const DEFAULT_PACE: Pace = {
  leaseMs: LEASE_MS,
  maxSendDelayMs: MAX_SEND_DELAY_MS,
  notificationLeaseMs: NOTIFICATION_LEASE_MS,
  periodMs: 2_000,
  purgePeriodMs: 10_000,
};

/** Replacements for real parts, only for tests and the demo. */
export interface Seams {
  /** The clock for orders and expiry. Signatures, tokens and sessions always use real time. */
  readonly now?: () => Date;
  /** The address that the HTTP server listens on. Default: all interfaces. */
  readonly host?: string;
  readonly commandsPerMinute?: number;
  readonly pace?: Pace;
  /** Replaced in the demo, whose names have no websites. */
  readonly readCertificate?: CertificateReader;
  readonly policy?: PolicySource;
  /** Wraps the order store, so that tests can observe each commit. */
  readonly wrapOrderStore?: (store: OrderStore) => OrderStore;
  readonly wrapNotificationStore?: (store: NotificationStore) => NotificationStore;
}
