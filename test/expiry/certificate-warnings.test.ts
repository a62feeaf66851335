import { expect, test } from 'vitest';
import { findDueCertificates } from '../../src/expiry/certificate-warnings.ts';

const DAY_MS = 86_400_000;
const day = (n: number) => new Date(Date.UTC(2026, 10, 22) + n * DAY_MS);

/** Lists the days on which a daily digest has a warning, among 30 days. */
function listWarningDays(endsAt: Date, seenAt: Date): number[] {
  const certificates = [{ host: 'cafe.rest', endsAt, seenAt }];
  return Array.from({ length: 30 }, (_, n) => n).filter(
    (n) => findDueCertificates(certificates, [14, 7, 3, 1], { from: day(n - 1), to: day(n) }).length > 0,
  );
}

test.each([
  ['each threshold warns once', day(20.5), day(-50), [7, 14, 18, 20]],
  ['a certificate seen late warns at once, then at the remaining thresholds', day(6.5), day(0.5), [1, 4, 6]],
  ['a threshold at the time of a digest is in that digest', day(20), day(-50), [6, 13, 17, 19]],
  ['a certificate seen at the time of a digest warns once', day(6.5), day(2), [2, 4, 6]],
  ['a certificate with more days left doesn’t warn yet', day(60), day(-50), []],
])('%s', (_case, endsAt, seenAt, days) => {
  expect(listWarningDays(endsAt, seenAt)).toEqual(days);
});

test('no warning is lost while the bot is down', () => {
  const certificates = [{ host: 'cafe.rest', endsAt: day(9), seenAt: day(-50) }];
  expect(findDueCertificates(certificates, [14, 7], { from: day(1), to: day(5) })).toEqual(certificates);
});
