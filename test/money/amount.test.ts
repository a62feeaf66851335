import { describe, expect, test } from 'vitest';
import { formatDecimal, parseAmount } from '../../src/money/amount.ts';
import fc from '../support/properties.ts';

const parseMinor = (text: string, currency: string) => {
  const read = parseAmount(text, currency);
  return read.ok ? read.amount.minor : read.issue;
};

test.each([
  ['100', 'EUR', 10_000],
  ['100.5', 'EUR', 10_050],
  [' 100.05 ', 'EUR', 10_005],
  ['0.29', 'EUR', 29],
  ['100.500', 'EUR', 10_050],
  ['100', 'JPY', 100],
  ['100.0', 'JPY', 100],
  ['1.234', 'BHD', 1_234],
  ['10000000000', 'EUR', 1_000_000_000_000],
  ['10000000000.01', 'EUR', 'too_large'],
  ['0.001', 'EUR', 'too_precise'],
  ['0.1', 'JPY', 'too_precise'],
  ['1', 'XQX', 'unknown_currency'],
  ['1', 'eur', 'unknown_currency'],
  ['', 'EUR', 'not_an_amount'],
  ['-1', 'EUR', 'not_an_amount'],
  ['1,00', 'EUR', 'not_an_amount'],
  ['1.', 'EUR', 'not_an_amount'],
  ['.5', 'EUR', 'not_an_amount'],
  ['1e3', 'EUR', 'not_an_amount'],
  ['0x10', 'EUR', 'not_an_amount'],
  ['٣', 'EUR', 'not_an_amount'],
])('parsing %j in %s returns %s', (text, currency, expected) => {
  expect(parseMinor(text, currency)).toBe(expected);
});

describe('with random input', () => {
  const amounts = fc.record({
    currency: fc.constantFrom('EUR', 'JPY', 'BHD', 'USD'),
    minor: fc.integer({ min: 0, max: 1_000_000_000_000 }),
  });

  test('a formatted amount is parsed back unchanged', () => {
    fc.assert(
      fc.property(amounts, (amount) => {
        expect(parseAmount(formatDecimal(amount), amount.currency)).toEqual({ ok: true, amount });
      }),
    );
  });

  test('any text returns a result', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, currency) => {
        expect(typeof parseAmount(text, currency).ok).toBe('boolean');
      }),
    );
  });
});

test('a negative amount is formatted with its sign first', () => {
  expect(formatDecimal({ currency: 'EUR', minor: -5 })).toBe('-0.05');
});
