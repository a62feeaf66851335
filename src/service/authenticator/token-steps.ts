/**
 * Tracks used one-time tokens, because a server accepts each only once (RFC 6238, section 5.2). Shared by all accounts
 * with the same user at the service, in any context.
 */
export interface TokenSteps {
  /**
   * Claims a time step, which must be stored before the token is sent.
   * @returns undefined if the step was unused; otherwise the last used step
   */
  claimStep(user: string, step: number): Promise<number | undefined>;
  /** Call if the token wasn't sent. */
  releaseStep(user: string, step: number): Promise<void>;
}

/** In memory, for one process. */
export function createTokenSteps(): TokenSteps {
  const used = new Map<string, number>();
  return {
    async claimStep(user, step) {
      const last = used.get(user);
      if (last !== undefined && last >= step) return last;
      used.set(user, step);
      return undefined;
    },
    async releaseStep(user, step) {
      if (used.get(user) === step) used.set(user, step - 1);
    },
  };
}
