import type { ApprovalContext, Click } from '../../src/approvals/approval-context.ts';
import type { CurrentEvaluation } from '../../src/approvals/requirements.ts';
import type { Approval, Order } from '../../src/orders/order.ts';
import { buildStatement, hashStatement } from '../../src/orders/statement.ts';
import { ENDPOINTS, hoursLater, newBulk, newOrder, newRequirements } from '../orders/sample.ts';
import { newTeamSettings } from '../support/settings.ts';

export const NOW = hoursLater(1);
export const CLICKED_AT = new Date(NOW.getTime() - 1_000);

/** The members of the workspace. */
const MEMBERS = ['U0ALICE', 'U0BOB', 'U0CAROL', 'U0ADA', 'U0NINA'];

export const EXCESS = [
  { tag: null, period: '2026-03', currency: 'EUR', leftMinor: 100, orderMinor: 150 },
] as const;

export interface ApprovalChanges extends Partial<Omit<ApprovalContext, 'click' | 'order' | 'evaluation'>> {
  readonly click?: Partial<Click>;
  readonly order?: Partial<Order>;
  readonly requirements?: Partial<CurrentEvaluation>;
}

export const newApprovalBy = (userId: string, overrides: Partial<Approval> = {}): Approval => ({
  userId,
  at: hoursLater(0.5),
  agreedExcess: [],
  ...overrides,
});

/** Bob clicks Approve on Alice's renewal, which needs one approval and nothing else. */
export function newApprovalContext(overrides: ApprovalChanges = {}): ApprovalContext {
  const { click, order: orderChanges, requirements, ...rest } = overrides;
  const requestedOrder = newOrder(['cafe.rest'], orderChanges);
  const order = {
    ...requestedOrder,
    statementHash: hashStatement(buildStatement(requestedOrder, ENDPOINTS)),
    ...orderChanges,
  };
  const { requirements: orderRequirements } = order;
  return {
    now: NOW,
    order,
    history: [],
    evaluation: {
      settings: newTeamSettings(),
      requirements: orderRequirements,
      requestedRequirements: orderRequirements,
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
      unconfirmedIds: new Set(),
    },
    signers: new Set(),
    isSigned: false,
    budgets: { price: undefined, exceeded: [], reservation: undefined },
    admins: new Set(),
    warnedAt: undefined,
    incidents: undefined,
    preconditions: {
      serviceEndpoints: ENDPOINTS,
      isAccountLinked: true,
      members: { kind: 'members' },
      earlierFindings: [],
    },
    emergency: undefined,
    click: {
      kind: 'approve',
      userId: 'U0BOB',
      at: CLICKED_AT,
      reason: undefined,
      signed: undefined,
      impact: undefined,
      ...click,
      agreedExcess: click?.agreedExcess ?? [],
    },
    ...rest,
  };
}

/** Requirements of the rule `finance`, which allows break-glass approvals. */
export function newRuleRequirements(...approvers: readonly string[]): Order['requirements'] {
  const requirements = newRequirements(['cafe.rest']);
  const rule = { kind: 'rule', version: 1, index: 0, name: 'finance' } as const;
  return {
    ...requirements,
    breakGlass: true,
    list: [{ rule, names: ['cafe.rest'], needed: 1, approvers, silent: [], signed: false }],
  };
}

/** Returns the requirements with `changes` applied to each. */
export function changeEachRequirement(
  requirements: Order['requirements'],
  changes: Partial<Order['requirements']['list'][number]>,
): Order['requirements'] {
  return { ...requirements, list: requirements.list.map((each) => ({ ...each, ...changes })) };
}

export const PAUSED_BULK_ORDER: Partial<Order> = {
  state: 'APPROVED',
  bulk: { ...newBulk(20), pause: { code: 'refusals', names: ['bar.rest'] } },
};
