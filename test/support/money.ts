import type { BudgetStore } from '../../src/money/ports.ts';

/** A team without prices and budgets. */
export const NO_MONEY = {
  priceOf: async () => undefined,
  lookAtBudgets: async () => undefined,
};

/** Budgets with tags of names that are no rows. */
export function withTags(
  { standingsFor }: BudgetStore,
  tagsOf: (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>,
): Pick<BudgetStore, 'standingsFor'> {
  return {
    standingsFor: async (names, day, without) => ({
      ...(await standingsFor(names, day, without)),
      tags: await tagsOf(names),
    }),
  };
}
