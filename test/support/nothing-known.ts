/** Names without records, for the cards of their orders. */
export const NOTHING_KNOWN = {
  names: {
    impacts: {
      loadForCard: async () => 'none' as const,
      loadFormerNameServers: async () => ({ kind: 'same' }) as const,
    },
    orderIncidents: { listOpen: async () => [] },
  },
  expiry: { findListed: async () => undefined },
};

/** A team without rules, prices and stand-ins. */
export const NO_POLICY = {
  policy: {
    current: async () => ({
      version: 0,
      rules: [],
      isCharterMissing: false,
      tags: [],
      charterProblem: undefined,
    }),
  },
  ruleFacts: {
    currency: 'EUR',
    loadPrices: async () => new Map(),
    loadTags: async () => new Map(),
    findMatchingNames: async () => [],
  },
  standIns: { current: async () => new Map() },
};
