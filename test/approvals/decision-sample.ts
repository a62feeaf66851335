import type { ApprovalContext, Click } from '../../src/approvals/approval-context.ts';
import type { CurrentEvaluation } from '../../src/approvals/requirements.ts';
import type { Approval, Order } from '../../src/orders/order.ts';
import { buildStatement, hashStatement } from '../../src/orders/statement.ts';
import { ENDPOINTS, hoursLater, newBulk, newOrder, newRequirements } from '../orders/sample.ts';
import { newTeamSettings } from '../support/settings.ts';

export const NOW = hoursLater(1);
export const AT_CLICK = new Date(NOW.getTime() - 1_000);

/** Everyone is a member, except for U0GONE, who has left, and U0UNKNOWN, whom Slack doesn't return. */
const MEMBERS = ['U0ALICE', 'U0BOB', 'U0CAROL', 'U0ADA', 'U0NINA'];

export const EXCESS = [
  { tag: null, period: '2026-03', currency: 'EUR', leftMinor: 100, orderMinor: 150 },
] as const;

export interface ApprovalChanges extends Partial<Omit<ApprovalContext, 'click' | 'order' | 'evaluation'>> {
  readonly click?: Partial<Click>;
  readonly order?: Partial<Order>;
  readonly requirements?: Partial<CurrentEvaluation>;
}

export const approvedBy = (userId: string, more: Partial<Approval> = {}): Approval => ({
  userId,
  at: hoursLater(0.5),
  agreedExcess: [],
  ...more,
});

/** Bob's click: Alice's renewal, which needs one approval and is otherwise complete. */
export function newApproval(given: ApprovalChanges = {}): ApprovalContext {
  const { click, order: changes, requirements, ...rest } = given;
  const requested = newOrder(['cafe.rest'], changes);
  const order = {
    ...requested,
    statementHash: hashStatement(buildStatement(requested, ENDPOINTS)),
    ...changes,
  };
  const { requirements: demand } = order;
  return {
    now: NOW,
    order,
    history: [],
    evaluation: {
      settings: newTeamSettings(),
      requirements: demand,
      requested: demand,
      policyVersion: 0,
      decidedBy: [],
      isStricter: false,
      ...requirements,
    },
    people: {
      people: {
        groups: new Map(),
        membership: new Map(MEMBERS.map((userId) => [userId, 'member'])),
        standIns: new Map(),
      },
      unreadableGroups: [],
      unconfirmed: new Set(),
    },
    signers: new Set(),
    isSigned: false,
    budgets: { price: undefined, exceeded: [], reservation: undefined },
    admins: new Set(),
    warnedAt: undefined,
    incidents: undefined,
    preconditions: {
      serviceEndpoints: ENDPOINTS,
      isLinked: true,
      members: { kind: 'members' },
      earlierFindings: [],
    },
    emergency: undefined,
    click: {
      kind: 'approve',
      userId: 'U0BOB',
      at: AT_CLICK,
      reason: undefined,
      signed: undefined,
      impact: undefined,
      ...click,
      agreedExcess: click?.agreedExcess ?? [],
    },
    ...rest,
  };
}

/** Requirements of a rule. */
export function newRuleRequirements(...approvers: readonly string[]): Order['requirements'] {
  const demand = newRequirements(['cafe.rest']);
  const rule = { kind: 'rule', version: 1, index: 0, name: 'finance' } as const;
  return {
    ...demand,
    breakGlass: true,
    list: [{ rule, names: ['cafe.rest'], needed: 1, approvers, silent: [], signed: false }],
  };
}

/** The same, with `changes` to each requirement. */
export function withRequirement(
  demand: Order['requirements'],
  changes: Partial<Order['requirements']['list'][number]>,
): Order['requirements'] {
  return { ...demand, list: demand.list.map((each) => ({ ...each, ...changes })) };
}

export const PAUSED: Partial<Order> = {
  state: 'APPROVED',
  bulk: { ...newBulk(20), pause: { code: 'refusals', names: ['bar.rest'] } },
};
