import { formatRequirementKey, type PolicyFacts, type PolicyOrder, type Requirements } from './evaluate.ts';

/* Evaluates past orders under a draft. Pure. The caller provides the orders with current or stored facts. */

export interface PastOrder<Input extends PolicyOrder = PolicyOrder> {
  readonly orderId: string;
  readonly order: Input;
  readonly facts: PolicyFacts;
  readonly requirements: Requirements;
}

/** `other`: the order needs other people, which is neither stricter nor looser. */
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
  /** How many orders changed from one outcome to another, such as `approve→free`. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Orders with another result, in their original order. */
  readonly changed: readonly ReplayedOrder[];
}

/** Compares past orders' requirements with those of a draft. @param evaluate evaluates an order under the draft */
export function replay<Past extends PastOrder>(
  evaluate: (order: Past) => Requirements,
  past: readonly Past[],
): Replay {
  const changed = past.flatMap((order): ReplayedOrder[] => {
    const { orderId, requirements: before } = order;
    const after = evaluate(order);
    const change = compareRequirements(before, after);
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

/** Undefined if both require the same, even under different rules. */
function compareRequirements(before: Requirements, after: Requirements): ReplayChange | undefined {
  const isStricter = includesAll(after, before);
  const isLooser = includesAll(before, after);
  if (isStricter && isLooser) return undefined;
  return isStricter ? 'stricter' : isLooser ? 'looser' : 'other';
}

/** Whether all approvals that meet the first requirements also meet the others. */
function includesAll(requirements: Requirements, other: Requirements): boolean {
  if (requirements.outcome === 'refuse' || other.outcome === 'refuse')
    return requirements.outcome === 'refuse';
  return other.list.every((wanted) =>
    requirements.list.some(
      (requirement) =>
        formatRequirementKey({ ...requirement, needed: 0 }) ===
          formatRequirementKey({ ...wanted, needed: 0 }) && requirement.needed >= wanted.needed,
    ),
  );
}
