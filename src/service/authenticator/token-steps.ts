/**
 * Tracks the time steps of used one-time tokens, because a server accepts each token only once (RFC 6238,
 * section 5.2). Accounts with the same user name share the steps, even in different contexts.
 */
export interface UsedTokenSteps {
  /**
   * Claims a time step. Resolves when the claim is stored, so that the token may be sent.
   * @returns undefined if the step was unused; otherwise the last used step
   */
  claimStep(user: string, step: number): Promise<number | undefined>;
  /** Must be called if the token wasn't sent. */
  releaseStep(user: string, step: number): Promise<void>;
}

export function createMemoryTokenSteps(): UsedTokenSteps {
  const lastSteps = new Map<string, number>();
  return {
    async claimStep(user, step) {
      const lastStep = lastSteps.get(user);
      if (lastStep !== undefined && lastStep >= step) return lastStep;
      lastSteps.set(user, step);
      return undefined;
    },
    async releaseStep(user, step) {
      if (lastSteps.get(user) === step) lastSteps.set(user, step - 1);
    },
  };
}
