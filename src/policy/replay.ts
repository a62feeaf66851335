import {
  type Demand,
  evaluate,
  type PolicyFacts,
  type PolicyOrder,
  type PolicySettings,
  requirementKey,
} from './evaluate.ts';
import type { Policy } from './policy.ts';

/*
 * What past orders would have needed under a draft. Pure: the caller provides the orders with today's facts, or with
 * those of their time where they were kept.
 */

export interface PastOrder {
  readonly orderId: string;
  readonly order: PolicyOrder;
  readonly facts: PolicyFacts;
  /** What it needed when it was asked for. */
  readonly demand: Demand;
}

/** `other`: it needs other people, and neither more nor fewer. */
export type ReplayChange = 'stricter' | 'looser' | 'other';

export interface ReplayedOrder {
  readonly orderId: string;
  readonly before: Demand;
  readonly after: Demand;
  readonly change: ReplayChange;
}

export interface Replay {
  readonly total: number;
  readonly unchanged: number;
  readonly counts: Readonly<Record<ReplayChange, number>>;
  /** How many orders went from one outcome to another, as `approve→free`. Outcomes that stayed are not counted. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** The orders that would have been decided otherwise, in the order in which they came. */
  readonly changed: readonly ReplayedOrder[];
}

/** Evaluates past orders under a draft and tells which of them it would have decided otherwise. */
export function replay(draft: Policy, settings: PolicySettings, past: readonly PastOrder[]): Replay {
  const changed = past.flatMap(({ orderId, order, facts, demand: before }): ReplayedOrder[] => {
    const after = evaluate(draft, settings, order, facts).demand;
    const change = changeBetween(before, after);
    return change === undefined ? [] : [{ orderId, before, after, change }];
  });
  const counts = { stricter: 0, looser: 0, other: 0 };
  const outcomes: Record<string, number> = {};
  for (const { before, after, change } of changed) {
    counts[change] += 1;
    if (before.outcome === after.outcome) continue;
    const key = `${before.outcome}→${after.outcome}`;
    outcomes[key] = (outcomes[key] ?? 0) + 1;
  }
  return { total: past.length, unchanged: past.length - changed.length, counts, outcomes, changed };
}

/** How two demands differ; undefined when they ask for the same, whichever rule says so. */
function changeBetween(before: Demand, after: Demand): ReplayChange | undefined {
  const isStricter = asksForAllOf(after, before);
  const isLooser = asksForAllOf(before, after);
  if (isStricter && isLooser) return undefined;
  return isStricter ? 'stricter' : isLooser ? 'looser' : 'other';
}

/** Whether everything that meets one demand meets the other too. */
function asksForAllOf(demand: Demand, other: Demand): boolean {
  if (demand.outcome === 'refuse' || other.outcome === 'refuse') return demand.outcome === 'refuse';
  return other.requirements.every((wanted) =>
    demand.requirements.some(
      (requirement) =>
        requirementKey({ ...requirement, needed: 0 }) === requirementKey({ ...wanted, needed: 0 }) &&
        requirement.needed >= wanted.needed,
    ),
  );
}
