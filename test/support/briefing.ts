import type { Briefing } from '../../src/approvals/briefing.ts';

/** A briefing on an order of which nothing is known but what a test says. */
export function newBriefing(changes: Partial<Briefing> = {}): Briefing {
  return {
    now: new Date('2026-11-21T10:00:00Z'),
    statement: undefined,
    history: [],
    decision: undefined,
    approvers: [],
    cost: undefined,
    budgets: undefined,
    term: undefined,
    impact: 'none',
    incidents: [],
    last: undefined,
    restoreCost: undefined,
    preview: undefined,
    ...changes,
  };
}
