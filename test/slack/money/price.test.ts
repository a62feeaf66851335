import { expect, test } from 'vitest';
import type { ListedPrice } from '../../../src/money/ports.ts';
import { priceListMessage } from '../../../src/slack/money/price.view.ts';

const price = (validFrom: string, given: Partial<ListedPrice> = {}): ListedPrice => ({
  id: validFrom,
  zone: 'rest',
  task: 'renew',
  period: 1,
  amount: { currency: 'EUR', minor: 1_800 },
  validFrom,
  source: '',
  ...given,
});

test('the price list marks past, current and future prices and has past ones last', () => {
  const list = [
    price('2026-12-01'),
    price('2026-11-01'),
    price('2026-01-01'),
    price('2026-01-02', { period: 2 }),
    price('2026-01-03', { task: 'create' }),
    price('2026-01-04', { zone: 'cafe' }),
  ];
  const reader = { isAdmin: false, locale: 'en-US', today: '2026-11-22', currency: 'EUR' };
  const { blocks } = priceListMessage(list, 0, reader);
  const marks = JSON.stringify(blocks).match(/\b(?:past|current|future)\b/g);
  expect(marks).toEqual(['future', 'current', 'current', 'current', 'current', 'past']);
});
