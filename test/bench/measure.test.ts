import { expect, test } from 'vitest';
import {
  computeSpread,
  isMet,
  type Line,
  measureAlternately,
  quantile,
  targetFigures,
} from '../../bench/measure.ts';
import { formatTable } from '../../bench/table.ts';

const LINE: Line = {
  row: 'orders',
  what: 'orders a second',
  reference: 'jobs by hand',
  unit: '/s',
  ours: [60, 40, 50],
  theirs: [100, 100, 125],
  target: { of: 'ratio', kind: 'at least', value: 0.5 },
};

test('a ratio is computed for each round, and its median is compared with the target', () => {
  expect(targetFigures(LINE)).toEqual([0.6, 0.4, 0.4]);
  expect(computeSpread(targetFigures(LINE))).toEqual({ median: 0.4, min: 0.4, max: 0.6 });
  expect(isMet(LINE)).toBe(false);
  expect(isMet({ ...LINE, ours: [60, 50, 70] })).toBe(true);
});

test('a difference and a figure without a reference are compared directly', () => {
  const difference = { ...LINE, target: { of: 'difference', kind: 'at most', value: -50 } } as const;
  expect(targetFigures(difference)).toEqual([-40, -60, -75]);
  expect(isMet(difference)).toBe(true);
  const alone = { ...LINE, theirs: [], target: { of: 'ours', kind: 'at most', value: 49 } } as const;
  expect(isMet(alone)).toBe(false);
  const { target: _, ...withoutTarget } = LINE;
  expect(isMet(withoutTarget)).toBeUndefined();
});

test('a quantile is interpolated between its neighbors', () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([10, 20], 0.99)).toBeCloseTo(19.9);
  expect(quantile([7], 0.99)).toBe(7);
});

test('both sides are measured alternately and take turns going first', async () => {
  const order: string[] = [];
  const side = (name: string) => async (round: number) => void order.push(`${name}${round}`);
  await measureAlternately(3, side('a'), side('b'));
  expect(order).toEqual(['a0', 'b0', 'b1', 'a1', 'a2', 'b2']);
});

test('the table shows each measurement, its reference, and whether it meets the target', () => {
  const [head, , line] = formatTable([LINE]).split('\n');
  expect(head).toMatch(/^row .*ours .*reference .*assessed \(least … most\) .*target/);
  expect(line).toMatch(
    /^orders .*50\.0 \/s .*100 \/s .*jobs by hand .*0\.400× \(0\.400 … 0\.600\) .*≥ 0\.5× .*NOT MET$/,
  );
});
