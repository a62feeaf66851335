import { describe, expect, test } from 'vitest';
import { compareDeadlines, findDeadline, getRenewalOptions } from '../../src/expiry/deadline.ts';
import type { LifecyclePhase } from '../../src/zones/lifecycle.ts';

function computeDeadline(
  phase: LifecyclePhase,
  daysLeft: number,
  lastSafeDay?: string,
  isDeletionAssumed = false,
) {
  return findDeadline({ phase, isDeletionAssumed, expiryDay: '2027-06-20', daysLeft, lastSafeDay });
}

describe('the deadline of a name', () => {
  test.each([
    ['registered', 5, '2027-06-19', { action: 'renew', until: '2027-06-20', daysLeft: 5 }],
    ['auto_renew_grace', -3, '2027-08-02', { action: 'renew', until: '2027-08-02', daysLeft: 40 }],
    ['expired', -3, undefined, { action: 'renew', until: undefined, daysLeft: undefined }],
    // Deleted long before its expiry: the days until the expiry don't matter.
    ['redemption', 113, '2027-03-29', { action: 'restore', until: '2027-03-29', daysLeft: 30 }],
    ['deleted', 113, undefined, { action: 'restore', until: undefined, daysLeft: undefined }],
    ['pending_delete', 100, '2027-06-19', { action: 'none', until: undefined, daysLeft: undefined }],
    ['released', -100, undefined, { action: 'none', until: undefined, daysLeft: undefined }],
  ] as const)('in phase %s, %s days before expiry', (phase, days, lastSafeDay, expected) => {
    expect(computeDeadline(phase, days, lastSafeDay)).toEqual({ ...expected, phase });
  });

  test.each([
    [
      'redemption',
      -46,
      '2027-09-02',
      { until: '2027-09-02', daysLeft: 28 },
      { canRenew: true, canRestore: true },
    ],
    ['pending_delete', -77, '2027-09-07', { until: undefined }, { canRenew: true, canRestore: false }],
    ['released', -100, undefined, { until: undefined }, { canRenew: true, canRestore: false }],
  ] as const)(
    'in phase %s, %s days before expiry, if assumed',
    (phase, days, lastSafeDay, expected, renewalOptions) => {
      const assumedDeadline = computeDeadline(phase, days, lastSafeDay, true);
      expect(assumedDeadline).toMatchObject({ action: 'check', ...expected });
      expect(getRenewalOptions(assumedDeadline)).toEqual(renewalOptions);
    },
  );

  test('puts urgent names first, and names that can’t be saved last', () => {
    const sorted = [
      undefined,
      computeDeadline('released', -100),
      computeDeadline('registered', 5),
      computeDeadline('redemption', 113, '2027-03-03'),
      computeDeadline('expired', -1),
    ].sort(compareDeadlines);
    expect(sorted.map((each) => each && [each.action, each.daysLeft])).toEqual([
      ['renew', undefined],
      ['restore', 4],
      ['renew', 5],
      ['none', undefined],
      undefined,
    ]);
  });
});
