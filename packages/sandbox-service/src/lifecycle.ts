import { addYears, DAY } from './clock.ts';
import type { DomainRecord } from './model.ts';

/**
 * See “Domain lifecycle in the .rest zone” and “Limits” in the service's API documentation. All zones of the sandbox have
 * these periods, because no other zone's profile is documented.
 */

const TRANSFER_DAYS = 5;
export const TRANSFER_LOCK_DAYS = 60;
const AUTO_RENEW_GRACE_DAYS = 45;
const REDEMPTION_DAYS = 30;
const PENDING_DELETE_DAYS = 5;
export const MAX_YEARS = 10;

export type DomainStatus = 'registered' | 'auto_renew_grace' | 'redemption' | 'pending_delete';

/** The status of a domain after {@link advanceDomain} with the same `now`. */
export function statusOf(domain: DomainRecord, now: number): DomainStatus {
  if (domain.deletedAt !== undefined) {
    return now < domain.deletedAt + REDEMPTION_DAYS * DAY ? 'redemption' : 'pending_delete';
  }
  return now < domain.expires ? 'registered' : 'auto_renew_grace';
}

export function isTransferLocked(domain: DomainRecord, now: number): boolean {
  return domain.transferLockUntil !== undefined && now < domain.transferLockUntil;
}

/**
 * Updates a domain to `now`: completes a pending transfer, makes the automatic renewal final after its grace period,
 * and releases a deleted name.
 * @returns the domain at `now` (the same object if nothing happened), or undefined if it has been released
 */
export function advanceDomain(domain: DomainRecord, now: number): DomainRecord | undefined {
  let current = domain;
  const transfer = current.pendingTransfer;
  if (transfer !== undefined && now >= transfer.completesAt) {
    const { pendingTransfer: _, ...kept } = current;
    const { completesAt, ...newHolder } = transfer;
    current = {
      ...kept,
      ...newHolder,
      expires: renewOneYear(current.expires, completesAt),
      updated: completesAt,
      transferredAt: completesAt,
    };
  }
  if (current.deletedAt !== undefined) {
    const releasedAt = current.deletedAt + (REDEMPTION_DAYS + PENDING_DELETE_DAYS) * DAY;
    return now < releasedAt ? current : undefined;
  }
  while (now >= current.expires + AUTO_RENEW_GRACE_DAYS * DAY) {
    current = { ...current, expires: addYears(current.expires, 1) };
  }
  return current;
}

/** Returns the expiry after a transfer, which renews by one year but not beyond the maximum period. */
function renewOneYear(expires: number, now: number): number {
  return Math.max(expires, Math.min(addYears(expires, 1), addYears(now, MAX_YEARS)));
}

export function transferCompletesAt(now: number): number {
  return now + TRANSFER_DAYS * DAY;
}

export function expiryAfterRestore(expires: number, now: number): number {
  let restored = expires;
  while (restored <= now) restored = addYears(restored, 1);
  return restored;
}
