import { describe, expect, test } from 'vitest';
import { DEMO_CONTEXT } from '../../src/accounts/account.ts';
import { checkCanApprove, recordRefusalShown } from '../../src/approvals/approve.ts';
import { loadDraftBriefing } from '../../src/approvals/briefing.ts';
import type { Order } from '../../src/orders/order.ts';
import type { Refusal } from '../../src/orders/refusal.ts';
import { ENDPOINTS, newOrder, START } from '../orders/sample.ts';
import { contextWith } from '../support/context.ts';

/* The reads and records of a click, without a database. */

test.each<[refusal: Refusal, recorded: readonly string[]]>([
  [{ code: 'impact_changed' }, ['impact']],
  [{ code: 'incident_open', incidents: [] }, ['incident']],
  [{ code: 'no_such_order' }, []],
])('the refusal %j records what the person was shown: %j', async (refusal, expected) => {
  const recorded: string[] = [];
  const context = contextWith({
    incidents: { recordShown: async () => void recorded.push('incident') },
    recordImpactWarning: async () => void recorded.push('impact'),
  });
  await recordRefusalShown(context, 'o1', 'U0BOB', refusal);
  expect(recorded).toEqual(expected);
});

test('an order that isn’t pending can’t be approved, so no comment is requested', async () => {
  const order = newOrder(['cafe.rest'], { state: 'DENIED' });
  expect(await checkCanApprove(contextWith({}), order, 'U0BOB')).toMatchObject({ code: 'wrong_state' });
});

describe('a draft briefing', () => {
  const last = newOrder(['cafe.rest'], { id: 'last', state: 'SUCCEEDED' });
  const { account } = last;
  const cost = {
    ...{ names: [], sums: [{ currency: 'EUR', minor: 8_000 }], unknown: 0 },
    ...{ mayCostMore: false, days: [], sources: [] },
  };
  const load = async (changes: Partial<Order>) => {
    const context = contextWith({
      now: () => START,
      serviceEndpoints: ENDPOINTS,
      priceOrder: async () => cost,
      store: { list: async () => [last], loadHistory: async () => [] },
    });
    const briefing = await loadDraftBriefing(context, newOrder(['cafe.rest'], changes));
    return [briefing.lastChange?.order.id, briefing.restoreCost];
  };

  test.each<
    [what: string, changes: Partial<Order>, last: string | undefined, restoreCost: object | undefined]
  >([
    ['a pending renewal', {}, 'last', undefined],
    ['a draft', { state: 'DRAFT' }, 'last', undefined],
    ['a deletion', { task: 'delete' }, 'last', cost],
    ['an approved order', { state: 'APPROVED' }, undefined, undefined],
    ['a task that isn’t about a registration', { task: 'redirect' }, undefined, undefined],
    ['a demo order', { account: { ...account, context: DEMO_CONTEXT } }, undefined, undefined],
    ['several names', { items: newOrder(['a.rest', 'b.rest']).items }, undefined, undefined],
  ])('has the last change and the restore cost where they apply: %s', async (_, changes, id, restoreCost) => {
    expect(await load(changes)).toEqual([id, restoreCost]);
  });
});
