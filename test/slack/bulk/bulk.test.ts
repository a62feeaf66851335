import { expect, test } from 'vitest';
import type { OrderCost } from '../../../src/money/prices.ts';
import type { BulkPlan } from '../../../src/orders/bulk/bulk.ts';
import { planMessage, tallyText } from '../../../src/slack/bulk/bulk.view.ts';
import { formatCost } from '../../../src/slack/money/price.view.ts';
import { orderReply, outcomeGroupLines } from '../../../src/slack/orders/thread.view.ts';
import { newBulk } from '../../orders/sample.ts';
import { newOrderEvent } from '../../support/log.ts';
import { SAMPLE_INPUTS, SECRET_HASH, sampleOrder } from '../orders/samples.ts';

const plan = (changes: Partial<BulkPlan> = {}): BulkPlan => ({
  task: 'transfer',
  rows: [],
  skipped: [{ line: 2, name: 'nothing', issues: [] }],
  findings: [],
  ...changes,
});

test('the plan for a file without valid rows counts them and says what to do', () => {
  const one = JSON.stringify(planMessage(plan(), undefined, []).blocks);
  expect(one).toContain('Transfer: the only row can’t be used.* Fix the file and try');
  expect(one).toContain('`/domain bulk transfer`');
  expect(one).toContain('*I skipped 1 row* (see the file)');
  const [row] = plan().skipped;
  const two = plan({ skipped: row === undefined ? [] : [row, row] });
  expect(JSON.stringify(planMessage(two, undefined, []).blocks)).toContain(
    '*I skipped 2 rows* (see the file)',
  );
});

test('a price for several years is explained as a multiple of the 1-year price', () => {
  const quote = (times: number) => ({
    amount: { currency: 'EUR', minor: 1_800 * times },
    validFrom: '2026-11-01',
    source: '',
    times,
  });
  const cost = (...times: number[]): OrderCost => ({
    names: times.map((each) => ({ name: `${each}.rest`, quote: quote(each) })),
    sums: [{ currency: 'EUR', minor: 1_800 }],
    unknown: 0,
    mayCostMore: false,
    days: ['2026-11-01'],
    sources: [],
  });
  expect(formatCost(cost(1, 1), undefined)).not.toContain('times');
  expect(formatCost(cost(2, 2), undefined)).toContain('This is 2 times the 1-year price');
  expect(formatCost(cost(1, 2, 3), undefined)).toContain(
    'I multiplied the 1-year price by the number of years',
  );
});

test('rows with the same failure are grouped, although each response contains its own name', () => {
  const names = ['a.rest', 'b.rest', 'c.rest', 'd.rest', 'e.rest', 'f.rest', 'g.rest'];
  const order = sampleOrder('FAILED', { bulk: newBulk(10) }, names);
  const items = order.items.map((item) => ({
    ...item,
    result: {
      summary: { code: 'refused' } as const,
      code: '1001',
      text: item.name === 'g.rest' ? 'no credit' : `${item.name} is not in this account`,
    },
  }));
  const finished = newOrderEvent('finished', 'FAILED');
  const reply = JSON.stringify(orderReply({ ...order, items }, finished, [])?.blocks);
  expect(reply, 'the most frequent reason').toContain('*a.rest, b.rest, c.rest and 3 more*: failed · `1001`');
  expect(reply).not.toContain('b.rest is not');
  expect(outcomeGroupLines({ ...order, items }, 5)).toEqual([
    ':x: *a.rest, b.rest, c.rest, d.rest, e.rest and 1 more*: failed · `1001` “a.rest is not in this account”',
    ':x: *g.rest*: failed · `1001` “no credit”',
  ]);
});

test.each([
  ['renew', 'done'],
  ['transfer', 'accepted'],
] as const)('a successful row of %s counts as %s', (task, words) => {
  const order = sampleOrder('SUCCEEDED', { task, input: SAMPLE_INPUTS[task], secretHash: SECRET_HASH });
  expect(tallyText(order)).toBe(`1 ${words}`);
});
