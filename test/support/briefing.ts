import type { Briefing } from '../../src/approvals/briefing.ts';

/** A briefing without facts except for the changes. */
export function newBriefing(changes: Partial<Briefing> = {}): Briefing {
  return {
    now: new Date('2026-11-21T10:00:00Z'),
    statement: undefined,
    history: [],
    pendingRequirements: undefined,
    approvers: [],
    cost: undefined,
    budgetComparison: undefined,
    expiryChange: undefined,
    impact: 'none',
    incidents: [],
    lastChange: undefined,
    restoreCost: undefined,
    mandatePreview: undefined,
    ...changes,
  };
}
