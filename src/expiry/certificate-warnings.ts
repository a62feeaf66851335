import { DAY_MS } from '../lib/duration.ts';
import type { ExpiringCertificate } from '../names/ports.ts';

/**
 * Returns the certificates that a digest must warn about: those that passed a threshold since the previous
 * digest, and those first seen since the previous digest that had already passed a threshold.
 * @param thresholds days before the expiry
 * @param from the time of the previous digest
 */
export function findDueCertificates(
  certificates: readonly ExpiringCertificate[],
  thresholds: readonly number[],
  { from, to }: { readonly from: Date; readonly to: Date },
): readonly ExpiringCertificate[] {
  return certificates.filter(({ endsAt, seenAt }) => {
    const passedThresholdTimes = thresholds
      .map((days) => endsAt.getTime() - days * DAY_MS)
      .filter((time) => time <= to.getTime());
    if (passedThresholdTimes.length === 0 || seenAt > to) return false;
    return seenAt > from || Math.max(...passedThresholdTimes) > from.getTime();
  });
}
