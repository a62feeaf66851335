import type { OrderPlannerDeps } from '../../src/slack/orders/order-messages.ts';

/** What a card shows of names of which nothing is known. */
export const NOTHING_KNOWN: Pick<OrderPlannerDeps, 'impacts' | 'findListed' | 'firstExpiry'> = {
  impacts: { forCard: async () => 'none', former: async () => ({ kind: 'same' }) },
  findListed: async () => undefined,
  firstExpiry: async () => undefined,
};
