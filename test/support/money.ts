/** A team without prices and budgets. */
export const NO_MONEY = {
  priceOf: async () => undefined,
  lookAtBudgets: async () => undefined,
};
