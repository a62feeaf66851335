import { afterEach, describe, expect, test } from 'vitest';
import { textOf, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, chargesFor, requestsOf } from '../support/orders.ts';

/*
 * What the service answers, as people hear of it.
 */

const t = useTestDemo();

afterEach(() => t.service.faults.clear());

describe('an answer that contradicts itself', () => {
  test.each([
    [
      'a success code with the type ERROR',
      'bakery.rest',
      { type: 'ERROR' },
      /`S0105` The domain was renewed/,
    ],
    ['the success code of another task', 'brunch.rest', { code: 'S0502' }, /`S0502` The domain was renewed/],
  ])('with %s settles no charge, and is shown', async (_what, name, status, said) => {
    t.service.faults.set({ kind: 'other_status', ...status, times: 1, match: { name } });
    const order = await approvedBy(t.bob, ask(t.workspace, t.alice, `/domain renew ${name}`));
    const reply = textOf(await order.ends('UNKNOWN'));
    expect(reply).toContain('its answer does not say clearly whether it was carried out');
    expect(reply).toMatch(said);
    expect(requestsOf(t.service, order), 'it is not sent again').toHaveLength(1);
    expect(chargesFor(t.service, name)).toBe(1);
  });
});
