import { addYears, DAY_MS } from './clock.ts';
import type { DomainRecord } from './model.ts';

/**
 * See “Domain lifecycle in the .rest zone” and “Limits” in the service's API documentation. All zones of the sandbox
 * have these periods, because no other zone's profile is documented.
 */

const TRANSFER_DAYS = 5;
export const TRANSFER_LOCK_DAYS = 60;
const AUTO_RENEW_GRACE_DAYS = 45;
const REDEMPTION_DAYS = 30;
const PENDING_DELETE_DAYS = 5;
export const MAX_REGISTRATION_YEARS = 10;

export type DomainStatus = 'registered' | 'auto_renew_grace' | 'redemption' | 'pending_delete';

/** @param domain a domain that {@link advanceDomain} has updated to `now` */
export function getDomainStatus(domain: DomainRecord, now: number): DomainStatus {
  if (domain.deletedAt !== undefined) {
    return now < domain.deletedAt + REDEMPTION_DAYS * DAY_MS ? 'redemption' : 'pending_delete';
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
    const { pendingTransfer: _, ...otherFields } = current;
    const { completesAt, ...newHolderFields } = transfer;
    current = {
      ...otherFields,
      ...newHolderFields,
      expires: getExpiryAfterTransfer(current.expires, completesAt),
      updated: completesAt,
      transferredAt: completesAt,
    };
  }
  if (current.deletedAt !== undefined) {
    const releasedAt = current.deletedAt + (REDEMPTION_DAYS + PENDING_DELETE_DAYS) * DAY_MS;
    return now < releasedAt ? current : undefined;
  }
  while (now >= current.expires + AUTO_RENEW_GRACE_DAYS * DAY_MS) {
    current = { ...current, expires: addYears(current.expires, 1) };
  }
  return current;
}

/** A transfer renews the domain by one year, but not beyond the maximum period. */
function getExpiryAfterTransfer(expires: number, now: number): number {
  return Math.max(expires, Math.min(addYears(expires, 1), addYears(now, MAX_REGISTRATION_YEARS)));
}

export function getTransferCompletionTime(now: number): number {
  return now + TRANSFER_DAYS * DAY_MS;
}

export function getExpiryAfterRestore(expires: number, now: number): number {
  let restoredExpiry = expires;
  while (restoredExpiry <= now) restoredExpiry = addYears(restoredExpiry, 1);
  return restoredExpiry;
}
