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
  readonly totalCount: number;
  readonly unchangedCount: number;
  readonly changeCounts: Readonly<Record<ReplayChange, number>>;
  /** How many orders changed their outcome, keyed by the change, such as `approve→free`. */
  readonly outcomeChangeCounts: Readonly<Record<string, number>>;
  readonly changedOrders: readonly ReplayedOrder[];
}

/** Compares past orders' requirements with a draft's. @param evaluate evaluates an order under the draft */
export function comparePastOrders<Past extends PastOrder>(
  evaluate: (pastOrder: Past) => Requirements,
  pastOrders: readonly Past[],
): Replay {
  const changedOrders = pastOrders.flatMap((pastOrder): ReplayedOrder[] => {
    const { orderId, requirements: before } = pastOrder;
    const after = evaluate(pastOrder);
    const change = compareRequirements(before, after);
    return change === undefined ? [] : [{ orderId, before, after, change }];
  });
  const changeCounts = { stricter: 0, looser: 0, other: 0 };
  const outcomeChangeCounts: Record<string, number> = {};
  for (const { before, after, change } of changedOrders) {
    changeCounts[change] += 1;
    if (before.outcome === after.outcome) continue;
    const key = `${before.outcome}→${after.outcome}`;
    outcomeChangeCounts[key] = (outcomeChangeCounts[key] ?? 0) + 1;
  }
  return {
    totalCount: pastOrders.length,
    unchangedCount: pastOrders.length - changedOrders.length,
    changeCounts,
    outcomeChangeCounts,
    changedOrders,
  };
}

/** @returns undefined if both need the same approvals, even if different rules apply */
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
