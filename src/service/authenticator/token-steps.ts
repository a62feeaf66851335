/**
 * Remembers which one-time tokens were used: a server takes each of them once (RFC 6238, section 5.2). Of a user at the
 * service all links share them, whoever made them and in whichever context.
 */
export interface TokenSteps {
  /**
   * Uses a time step up; kept before its token may leave.
   *
   * @returns undefined when nobody has used it, else the last step that was used
   */
  claimStep(user: string, step: number): Promise<number | undefined>;
  /** Takes a step back whose token has not left. */
  giveBack(user: string, step: number): Promise<void>;
}

/** Steps for one process, for as long as it lives. */
export function createTokenSteps(): TokenSteps {
  const used = new Map<string, number>();
  return {
    async claimStep(user, step) {
      const last = used.get(user);
      if (last !== undefined && last >= step) return last;
      used.set(user, step);
      return undefined;
    },
    async giveBack(user, step) {
      if (used.get(user) === step) used.set(user, step - 1);
    },
  };
}
