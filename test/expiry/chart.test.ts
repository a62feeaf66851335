import { expect, test } from 'vitest';
import { buildMonthCounts, listTwelveMonths } from '../../src/expiry/chart.ts';

const now = new Date('2026-10-31T23:30:00Z');

test('the chart begins with the team’s current month', () => {
  expect(listTwelveMonths(now, 'UTC').slice(0, 4)).toEqual(['2026-10', '2026-11', '2026-12', '2027-01']);
  expect(listTwelveMonths(now, 'Europe/Berlin')[0]).toBe('2026-11');
  expect(listTwelveMonths(now, 'UTC')).toHaveLength(12);
});

test('the chart has only twelve months, including empty ones', () => {
  const counts = [
    ['2026-09', 9],
    ['2026-12', 2],
    ['2027-09', 1],
    ['2026-12', 3],
    ['2027-10', 7],
  ] as const;
  const chart = buildMonthCounts(counts, now, 'UTC');
  expect(chart).toHaveLength(12);
  expect(chart.filter(({ count }) => count > 0)).toEqual([
    { month: '2026-12', label: 'Dec 2026', count: 5 },
    { month: '2027-09', label: 'Sep 2027', count: 1 },
  ]);
});
