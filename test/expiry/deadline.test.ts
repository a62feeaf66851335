import { describe, expect, test } from 'vitest';
import { compareDeadlines, findDeadline, getRenewalOptions } from '../../src/expiry/deadline.ts';
import type { LifecyclePhase } from '../../src/zones/lifecycle.ts';

function deadline(phase: LifecyclePhase, daysLeft: number, lastSafeDay?: string, isDeletionAssumed = false) {
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
  ] as const)('%s, %s days before expiry', (phase, days, lastSafeDay, expected) => {
    expect(deadline(phase, days, lastSafeDay)).toEqual({ ...expected, phase });
  });

  test.each([
    [
      'redemption',
      -46,
      '2027-09-02',
      { until: '2027-09-02', daysLeft: 28 },
      { renews: true, restores: true },
    ],
    ['pending_delete', -77, '2027-09-07', { until: undefined }, { renews: true, restores: false }],
    ['released', -100, undefined, { until: undefined }, { renews: true, restores: false }],
  ] as const)('%s, %s days before expiry, without a known deletion', (phase, days, safe, expected, ways) => {
    const assumed = deadline(phase, days, safe, true);
    expect(assumed).toMatchObject({ action: 'check', ...expected });
    expect(getRenewalOptions(assumed)).toEqual(ways);
  });

  test('sorts names by urgency, and those that can’t be saved last', () => {
    const sorted = [
      undefined,
      deadline('released', -100),
      deadline('registered', 5),
      deadline('redemption', 113, '2027-03-03'),
      deadline('expired', -1),
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
