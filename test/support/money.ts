import type { BudgetStore } from '../../src/money/ports.ts';

/** A team without prices and budgets. */
export const NO_MONEY = {
  priceOrder: async () => undefined,
  compareBudgets: async () => undefined,
};

/** Budgets with tags for names without rows. */
export function withTags(
  { loadStatusesForNames }: BudgetStore,
  tagsOf: (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>,
): Pick<BudgetStore, 'loadStatusesForNames'> {
  return {
    loadStatusesForNames: async (names, day, without) => ({
      ...(await loadStatusesForNames(names, day, without)),
      tags: await tagsOf(names),
    }),
  };
}
