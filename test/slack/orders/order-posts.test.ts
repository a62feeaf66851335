import { expect, test } from 'vitest';
import { buildMetadata } from '../../../src/slack/orders/order-posts.ts';
import { newOrder } from '../../orders/sample.ts';

const namesOf = (count: number) =>
  buildMetadata(newOrder(Array.from({ length: count }, (_, n) => `name-${n}.rest`))).event_payload.names;

test('metadata has as many names of an order as Slack accepts', () => {
  expect(namesOf(3)).toBe('name-0.rest,name-1.rest,name-2.rest');
  const names = namesOf(2_000);
  expect(names.length).toBeLessThanOrEqual(6_002);
  expect(names).toMatch(/^name-0\.rest,.*,name-\d+\.rest,…$/);
});
