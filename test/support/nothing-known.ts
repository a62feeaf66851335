import type { OrderPlannerDeps } from '../../src/slack/orders/order-messages.ts';

/** What a card shows of names of which nothing is known. */
export const NOTHING_KNOWN: Pick<
  OrderPlannerDeps,
  'impacts' | 'incidents' | 'findListed' | 'firstExpiry' | 'previewOf'
> = {
  previewOf: async () => undefined,
  impacts: { forCard: async () => 'none', former: async () => ({ kind: 'same' }) },
  incidents: { openOf: async () => [] },
  findListed: async () => undefined,
  firstExpiry: async () => undefined,
};
