import type { Briefing } from '../../src/approvals/briefing.ts';

/** A briefing with only the given facts. */
export function newBriefing(changes: Partial<Briefing> = {}): Briefing {
  return {
    now: new Date('2026-11-21T10:00:00Z'),
    statement: undefined,
    history: [],
    decision: undefined,
    approvers: [],
    cost: undefined,
    budgets: undefined,
    expiryChange: undefined,
    impact: 'none',
    incidents: [],
    lastChange: undefined,
    restoreCost: undefined,
    preview: undefined,
    ...changes,
  };
}
