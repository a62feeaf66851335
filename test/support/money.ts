import type { BudgetStore } from '../../src/money/ports.ts';

/** A team without prices and budgets. */
export const NO_PRICES_OR_BUDGETS = {
  priceOrder: async () => undefined,
  compareBudgets: async () => undefined,
};

/** A budget store that takes the names' tags from a function, so the names need no rows. */
export function addBudgetTags(
  { loadStatusesForNames }: BudgetStore,
  tagsOf: (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>,
): Pick<BudgetStore, 'loadStatusesForNames'> {
  return {
    loadStatusesForNames: async (names, day, omittedOrderId) => ({
      ...(await loadStatusesForNames(names, day, omittedOrderId)),
      tags: await tagsOf(names),
    }),
  };
}
