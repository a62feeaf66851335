/** A context without facts about names, for the cards of their orders. */
export const NO_NAME_FACTS = {
  names: {
    impacts: {
      loadForCard: async () => 'none' as const,
      loadFormerNameServers: async () => ({ kind: 'same' }) as const,
    },
    orderIncidents: { listOpen: async () => [] },
  },
  expiry: { findListedName: async () => undefined },
};

/** A team without rules, prices and stand-ins. */
export const NO_POLICY = {
  policy: {
    loadCurrentPolicy: async () => ({
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
  standIns: { loadActiveStandIns: async () => new Map() },
};
