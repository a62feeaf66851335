import { DAY_MS } from '../lib/duration.ts';
import type { ExpiringCertificate } from '../names/ports.ts';

/**
 * Certificates to warn about in a digest. A threshold is reported once, in the digest after it is passed. For a
 * certificate first seen later, the smallest threshold passed is reported.
 * @param days before the expiry
 * @param from the previous digest
 */
export function findDueCertificates(
  certificates: readonly ExpiringCertificate[],
  days: readonly number[],
  { from, to }: { readonly from: Date; readonly to: Date },
): readonly ExpiringCertificate[] {
  return certificates.filter(({ endsAt, seenAt }) => {
    const passed = days.map((each) => endsAt.getTime() - each * DAY_MS).filter((at) => at <= to.getTime());
    return passed.length > 0 && (Math.max(...passed) > from.getTime() || seenAt > from) && seenAt <= to;
  });
}
