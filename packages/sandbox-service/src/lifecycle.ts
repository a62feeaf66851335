import { addYears, DAY } from './clock.ts';
import type { DomainRecord } from './model.ts';

/**
 * The lifecycle of a domain (service API, Domain lifecycle in the .rest zone, and Limits). Pure. Other zones have the
 * same periods in the sandbox, because no other profile is documented.
 */

const TRANSFER_DAYS = 5;
export const TRANSFER_LOCK_DAYS = 60;
const AUTO_RENEW_GRACE_DAYS = 45;
const REDEMPTION_DAYS = 30;
const PENDING_DELETE_DAYS = 5;
export const MAX_YEARS = 10;

export type DomainStatus = 'registered' | 'auto_renew_grace' | 'redemption' | 'pending_delete';

/** The status of a domain after {@link settleDomain} with the same `now`. */
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
export function settleDomain(domain: DomainRecord, now: number): DomainRecord | undefined {
  let settled = domain;
  const transfer = settled.pendingTransfer;
  if (transfer !== undefined && now >= transfer.completesAt) {
    const { pendingTransfer: _, ...kept } = settled;
    const { completesAt, ...holder } = transfer;
    settled = {
      ...kept,
      ...holder,
      expires: cappedRenewal(settled.expires, completesAt),
      updated: completesAt,
      transferredAt: completesAt,
    };
  }
  if (settled.deletedAt !== undefined) {
    const released = settled.deletedAt + (REDEMPTION_DAYS + PENDING_DELETE_DAYS) * DAY;
    return now < released ? settled : undefined;
  }
  while (now >= settled.expires + AUTO_RENEW_GRACE_DAYS * DAY) {
    settled = { ...settled, expires: addYears(settled.expires, 1) };
  }
  return settled;
}

/** A transfer renews by one year, but not beyond the longest period. */
function cappedRenewal(expires: number, now: number): number {
  return Math.max(expires, Math.min(addYears(expires, 1), addYears(now, MAX_YEARS)));
}

export function transferCompletesAt(now: number): number {
  return now + TRANSFER_DAYS * DAY;
}

/** The expiry after a restore. Years are added until it is in the future. */
export function expiryAfterRestore(expires: number, now: number): number {
  let restored = expires;
  while (restored <= now) restored = addYears(restored, 1);
  return restored;
}
