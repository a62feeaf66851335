/**
 * Remembers which one-time tokens were used: a server takes each of them once (RFC 6238, section 5.2). All links to one
 * user of the service share them, whoever made the link and in whichever context.
 */
export interface TokenSteps {
  /**
   * Marks a time step as used. This is stored before its token may leave.
   * @returns undefined when nobody has used it, else the last step that was used
   */
  claimStep(user: string, step: number): Promise<number | undefined>;
  /** Marks a step as unused whose token has not left. */
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
