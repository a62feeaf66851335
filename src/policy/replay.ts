import { formatRequirementKey, type PolicyFacts, type PolicyOrder, type Requirements } from './evaluate.ts';

export interface PastOrder<Input extends PolicyOrder = PolicyOrder> {
  readonly orderId: string;
  readonly order: Input;
  readonly facts: PolicyFacts;
  readonly requirements: Requirements;
}

/** `other`: neither stricter nor looser, because other people must approve. */
export type ReplayChange = 'stricter' | 'looser' | 'other';

export interface ReplayedOrder {
  readonly orderId: string;
  readonly before: Requirements;
  readonly after: Requirements;
  readonly change: ReplayChange;
}

export interface Replay {
  readonly total: number;
  readonly unchanged: number;
  readonly counts: Readonly<Record<ReplayChange, number>>;
  /** How many orders changed their outcome, keyed by the change, such as `approve→free`. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly changedOrders: readonly ReplayedOrder[];
}

/** Compares past orders' requirements with those of a draft. @param evaluate evaluates an order under the draft */
export function comparePastOrders<Past extends PastOrder>(
  evaluate: (order: Past) => Requirements,
  pastOrders: readonly Past[],
): Replay {
  const changedOrders = pastOrders.flatMap((order): ReplayedOrder[] => {
    const { orderId, requirements: before } = order;
    const after = evaluate(order);
    const change = compareRequirements(before, after);
    return change === undefined ? [] : [{ orderId, before, after, change }];
  });
  const counts = { stricter: 0, looser: 0, other: 0 };
  const outcomes: Record<string, number> = {};
  for (const { before, after, change } of changedOrders) {
    counts[change] += 1;
    if (before.outcome === after.outcome) continue;
    const key = `${before.outcome}→${after.outcome}`;
    outcomes[key] = (outcomes[key] ?? 0) + 1;
  }
  return {
    total: pastOrders.length,
    unchanged: pastOrders.length - changedOrders.length,
    counts,
    outcomes,
    changedOrders,
  };
}

/** @returns undefined if both need the same approvals, even under different rules */
function compareRequirements(before: Requirements, after: Requirements): ReplayChange | undefined {
  const isStricter = impliesRequirements(after, before);
  const isLooser = impliesRequirements(before, after);
  if (isStricter && isLooser) return undefined;
  return isStricter ? 'stricter' : isLooser ? 'looser' : 'other';
}

/** Whether any approvals that meet `requirements` also meet `other`. */
function impliesRequirements(requirements: Requirements, other: Requirements): boolean {
  if (requirements.outcome === 'refuse' || other.outcome === 'refuse')
    return requirements.outcome === 'refuse';
  return other.list.every((otherRequirement) =>
    requirements.list.some(
      (requirement) =>
        formatRequirementKey({ ...requirement, needed: 0 }) ===
          formatRequirementKey({ ...otherRequirement, needed: 0 }) &&
        requirement.needed >= otherRequirement.needed,
    ),
  );
}
