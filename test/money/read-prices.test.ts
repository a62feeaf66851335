import { stringify } from 'csv-stringify/sync';
import { describe, expect, test } from 'vitest';
import { formatPriceKey, PRICED_TASKS, type Price } from '../../src/money/prices.ts';
import { PRICE_COLUMNS, parsePrice, parsePrices, toPriceCells } from '../../src/money/read-prices.ts';
import fc from '../support/properties.ts';

const VALID_ROW = {
  zone: '.REST',
  task: 'Renew',
  period: '2',
  amount: '36.50',
  valid_from: '2026-11-01',
  source: ' Contract  7 ',
};

describe('a price row', () => {
  test('is read field by field', () => {
    expect(parsePrice(VALID_ROW, 'EUR')).toEqual({
      ok: true,
      price: {
        zone: 'rest',
        task: 'renew',
        period: 2,
        amount: { currency: 'EUR', minor: 3_650 },
        validFrom: '2026-11-01',
        source: 'Contract 7',
      },
    });
  });

  test.each([
    [{ zone: 'two words' }, { zone: 'not_a_zone' }],
    [{ zone: '' }, { zone: 'not_a_zone' }],
    [{ task: 'redirect' }, { task: 'unknown_task' }],
    [{ period: '0' }, { period: 'invalid_period' }],
    [{ period: '100' }, { period: 'invalid_period' }],
    [{ period: '1.5' }, { period: 'invalid_period' }],
    [{ task: 'restore' }, { period: 'period_not_supported' }],
    [{ amount: '36,50' }, { amount: 'not_an_amount' }],
    [{ amount: '1.005' }, { amount: 'too_precise' }],
    [{ currency: 'XQX' }, { currency: 'unknown_currency' }],
    [{ valid_from: '2026-02-30' }, { valid_from: 'invalid_date' }],
    [{ valid_from: '01/11/2026' }, { valid_from: 'ambiguous_date' }],
    [{ valid_from: '' }, { valid_from: 'invalid_date' }],
    [{ source: ' ' }, { source: 'no_source' }],
    [{ source: 'x'.repeat(201) }, { source: 'source_too_long' }],
    [
      { zone: '', task: '', amount: '' },
      { zone: 'not_a_zone', task: 'unknown_task', amount: 'not_an_amount' },
    ],
  ])('with %j is refused with %j', (changes, issues) => {
    expect(parsePrice({ ...VALID_ROW, ...changes }, 'EUR')).toEqual({ ok: false, issues });
  });

  test.each(['1.11.2026', '1 November 2026', '46327', '2026-11-01T00:00:00Z'])(
    'can have %s as its first day',
    (text) => {
      expect(parsePrice({ ...VALID_ROW, valid_from: text }, 'EUR')).toMatchObject({
        price: { validFrom: '2026-11-01' },
      });
    },
  );

  test.each([{ period: '99' }, { source: 'x'.repeat(200) }])('with %j is accepted', (changes) => {
    expect(parsePrice({ ...VALID_ROW, ...changes }, 'EUR').ok).toBe(true);
  });

  test('without a period is for one year', () => {
    expect(parsePrice({ ...VALID_ROW, period: '' }, 'EUR')).toMatchObject({ price: { period: 1 } });
  });
});

describe('a CSV price list', () => {
  const HEADER = 'zone,task,period,amount,valid_from,source';

  test('can have semicolons, a byte-order mark and blank lines', async () => {
    const text = `\ufeff${HEADER.replaceAll(',', ';')}\r\n\r\nrest;renew;1;18.00;2026-11-01;"Contract; 7"\r\n`;
    expect(await parsePrices(text, 'EUR')).toMatchObject({
      ok: true,
      prices: [{ zone: 'rest', source: 'Contract; 7' }],
    });
  });

  test('is refused with every issue and its line', async () => {
    const lines = [
      HEADER,
      'rest,renew,1,18.00,2026-11-01,A',
      'rest,renew,1,18,00,2026-11-01,A',
      'rest,redirect,1,x,2026-11-01,A',
      '',
      'rest,renew,1,19.00,2026-11-01,B',
    ];
    expect(await parsePrices(lines.join('\n'), 'EUR')).toEqual({
      ok: false,
      issues: [
        { line: 3, kind: 'too_many_cells' },
        { line: 4, kind: 'price', field: 'task', issue: 'unknown_task' },
        { line: 4, kind: 'price', field: 'amount', issue: 'not_an_amount' },
        { line: 6, kind: 'repeated', firstLine: 2 },
      ],
    });
  });

  test.each([
    ['', [{ line: 1, kind: 'empty' }]],
    [HEADER, [{ line: 1, kind: 'empty' }]],
    [
      `zone,task,amount,valid_from,note\nrest,renew,1,2026-11-01,x`,
      [
        { line: 1, kind: 'missing_column', column: 'source' },
        { line: 1, kind: 'unknown_column', column: 'note' },
      ],
    ],
    [
      `${HEADER}\nrest,renew,1,18.00,2026-11-01,"A`,
      [{ line: 2, kind: 'csv', issue: { line: 2, code: 'not_csv' } }],
    ],
    [
      'zone,task,valid_from,source,amount\nrest,renew,2026-11-01,A,36,50',
      [{ line: 2, kind: 'too_many_cells' }],
    ],
  ])('%j is refused', async (text, issues) => {
    expect(await parsePrices(text, 'EUR')).toEqual({ ok: false, issues });
  });

  test('is read back unchanged, even with cells that look like formulas', async () => {
    const anyPrice: fc.Arbitrary<Price> = fc.record({
      zone: fc.constantFrom('rest', 'co.uk', 'xn--bcher-kva'),
      task: fc.constantFrom(...PRICED_TASKS),
      period: fc.constant(1),
      amount: fc.record({
        currency: fc.constantFrom('EUR', 'JPY', 'BHD'),
        minor: fc.integer({ min: 0, max: 1_000_000_000_000 }),
      }),
      validFrom: fc.constantFrom('2026-01-01', '2026-11-01'),
      source: fc.constantFrom('Contract "7"', 'a,b;c', '=1+1', '@web', 'ü'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anyPrice, { minLength: 1, selector: formatPriceKey }),
        async (prices) => {
          const rows = prices.map((each) => toPriceCells(each).map((cell) => cell.replace(/^(?=[=@])/, "'")));
          expect(await parsePrices(stringify([PRICE_COLUMNS, ...rows]), 'USD')).toEqual({ ok: true, prices });
        },
      ),
    );
  });

  test('returns a result for any content', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        expect(typeof (await parsePrices(`${HEADER}\n${text}`, 'EUR')).ok).toBe('boolean');
      }),
    );
  });
});
