import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Amount, sumByCurrency } from '../../src/money/amount.ts';
import { calculateCost, PRICED_TASKS, type Price } from '../../src/money/prices.ts';
import { calculateSpend, sumSpend } from '../../src/money/spend.ts';
import fc from '../support/properties.ts';

/* Amounts never use floating point, in sources or results. */

const MONEY_FOLDER = fileURLToPath(new URL('../../src/money/', import.meta.url));
const RELATED_FILES = ['../store/reservations.ts', '../store/budgets.ts', '../slack/money/budget.view.ts'];
const FLOATING_POINT =
  /\bparseFloat\b|\btoFixed\b|\btoPrecision\b|\bMath\.(round|floor|ceil|trunc)\b|\d\.\d|\bfloat\d?\b|[^*/<]\/(?![*/>])/;
/** Lines with a division of bigints, which is exact. */
const EXACT_LINES = [
  'const parts = getCurrencyFormat(locale, currency, decimalCount).formatToParts(absoluteMinor / divisor);',
  'return Number(BigInt(minor) / 10n ** BigInt(getCurrencyDecimals(currency) ?? 2));',
  'const percent = limit === 0n ? (used === 0n ? 0n : 100n) : (used * 100n) / limit;',
  'const filledCount = Number(percent > 100n ? 10n : percent / 10n);',
];

/** Removes comments, strings and regular expressions. */
function extractCode(source: string): string[] {
  return source
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replace(/(?<=[(=,:[!]\s?)\/(?:[^/\\\n]|\\.)+\/[dgimsuy]*/g, 'RegExp')
    .split('\n')
    .map((line) => line.trim());
}

test('sources that handle amounts have no division, rounding or fractions', () => {
  const files = [...readdirSync(MONEY_FOLDER), ...RELATED_FILES];
  const violations = files.flatMap((file) =>
    extractCode(readFileSync(new URL(file, `file://${MONEY_FOLDER}`), 'utf8')).filter(
      (line) => FLOATING_POINT.test(line) && !EXACT_LINES.includes(line),
    ),
  );
  expect(violations).toEqual([]);
});

const amounts = fc.record({
  currency: fc.constantFrom('EUR', 'JPY', 'KWD'),
  minor: fc.integer({ min: 0, max: 1_000_000_000_000 }),
});
const expectExact = (sums: readonly Amount[], parts: readonly Amount[]) => {
  for (const { currency, minor } of sums) {
    expect(Number.isSafeInteger(minor)).toBe(true);
    const partsInCurrency = parts.filter((part) => part.currency === currency);
    expect(BigInt(minor)).toBe(partsInCurrency.reduce((sum, part) => sum + BigInt(part.minor), 0n));
  }
  expect(new Set(sums.map(({ currency }) => currency))).toEqual(
    new Set(parts.map(({ currency }) => currency)),
  );
};

test('every sum equals the sum of bigints, for any price list', () => {
  const lists = fc.array(
    fc.record({
      zone: fc.constantFrom('rest', 'cafe'),
      task: fc.constantFrom(...PRICED_TASKS),
      period: fc.constantFrom(1, 2, 5),
      amount: amounts,
      validFrom: fc.constantFrom('2026-01-01', '2026-06-01'),
      source: fc.constant('C'),
    }),
    { maxLength: 30 },
  );
  const names = fc.array(fc.constantFrom('a.rest', 'b.cafe', 'c.example'), { maxLength: 50 });
  fc.assert(
    fc.property(lists, names, fc.integer({ min: 1, max: 10 }), (list: Price[], requestedNames, period) => {
      const cost = calculateCost(list, { task: 'renew', names: requestedNames, period }, '2026-07-01');
      const parts = cost.names.flatMap(({ quote }) => quote?.amount ?? []);
      expectExact(cost.sums, parts);
      const at = new Date('2026-07-01T12:00:00Z');
      const purchases = requestedNames.map((name) => ({
        name,
        task: 'renew' as const,
        period,
        requesterId: 'U',
        at,
      }));
      const spend = calculateSpend(list, purchases);
      expectExact(spend.total.sums, parts);
      expectExact(sumSpend(spend.byZone).sums, parts);
    }),
  );
});

test('a sum beyond the safe integers throws', () => {
  const largestAmount = { currency: 'EUR', minor: Number.MAX_SAFE_INTEGER };
  expect(sumByCurrency([largestAmount])).toEqual([largestAmount]);
  expect(() => sumByCurrency([largestAmount, { currency: 'EUR', minor: 1 }])).toThrow(RangeError);
});
