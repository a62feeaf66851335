/** Returns the key of a zone's lookup budget. Zones that share a registry server have separate budgets. */
export function getLookupBudgetKey(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
