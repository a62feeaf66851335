import type { OrdersContext } from '../orders/context.ts';
import { loadEarlierFindings } from '../orders/earlier.ts';
import type { Order } from '../orders/order.ts';
import { type BudgetUse, loadBudgetUse } from '../orders/order-budget.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import { checkMembers, findParties, type MemberCheck } from '../orders/parties.ts';
import type { ImpactCheck, OpenIncidents } from '../orders/ports.ts';
import type { EarlierFinding } from '../orders/refusal.ts';
import type { ServiceEndpoints } from '../orders/statement.ts';
import { getOrderTask } from '../orders/tasks.ts';
import { needsSignatures } from '../policy/policy.ts';
import {
  type DecisionContext,
  findNotifiedPeople,
  loadDecisionContext,
  loadStandIns,
  type ResolvedPeople,
} from './approvers.ts';
import { buildSignedSubject } from './order-signing.ts';
import { isWaitingForPerson } from './requirements.ts';
import type { LoggedSignature } from './signing/approval.ts';
import type { KeyRing } from './signing/key-ring.ts';

/** A person's click, and what the card showed them before the click. */
export interface Click {
  readonly kind: 'approve' | 'resume' | 'break_glass';
  readonly userId: string;
  readonly at: Date;
  readonly reason: string | undefined;
  /** Undefined if the person didn't sign with a passkey. */
  readonly signed: LoggedSignature | undefined;
  /** The budget excess shown on the card; undefined before the order is loaded. */
  readonly agreedExcess: Order['shownExcess'] | undefined;
  /** The impact looked up for this click; undefined before the lookup. */
  readonly impact: ImpactCheck | undefined;
}

export interface ApprovalContext extends DecisionContext {
  readonly click: Click & { readonly agreedExcess: Order['shownExcess'] };
  readonly history: readonly OrderLogEntry[];
  /** People whose earlier signed approvals are valid. */
  readonly signers: ReadonlySet<string>;
  readonly isSigned: boolean;
  readonly budgets: BudgetUse;
  /** The admins among the approvers. Loaded only if a budget is exceeded. */
  readonly admins: ReadonlySet<string>;
  /** When an approver was last warned of a new finding. Approvals before this time are dropped. */
  readonly warnedAt: Date | undefined;
  readonly incidents: OpenIncidents | undefined;
  /** Undefined unless the order is pending or paused. */
  readonly preconditions: Preconditions | undefined;
  /** Undefined unless the click is `break_glass`. */
  readonly emergency: EmergencyContext | undefined;
}

interface Preconditions {
  readonly serviceEndpoints: ServiceEndpoints;
  readonly isAccountLinked: boolean;
  readonly members: MemberCheck;
  readonly earlierFindings: readonly EarlierFinding[];
}

interface EmergencyContext {
  readonly isAdmin: boolean;
  /** Approvers to notify, including stand-ins. */
  readonly approvers: ResolvedPeople;
}

/** @returns undefined if there is no such order */
export async function loadApprovalContext(
  context: OrdersContext,
  orderId: string,
  initialClick: Click,
): Promise<ApprovalContext | undefined> {
  const orderWithHistory = await context.store.loadWithHistory(orderId, 'system');
  if (orderWithHistory === undefined) return undefined;
  const { order, history } = orderWithHistory;
  const click = { ...initialClick, agreedExcess: initialClick.agreedExcess ?? order.shownExcess };
  const approvalsAndClick = [...order.approvals, click];
  const userIds = [...new Set(approvalsAndClick.map(({ userId }) => userId))];
  const [decisionContext, budgetsAndAdmins, preconditions, incidents, warnedAt, signingKeys] =
    await Promise.all([
      loadDecisionContext(context, order, userIds),
      loadBudgetsAndAdmins(context, order, userIds),
      isWaitingForPerson(order) ? loadPreconditions(context, order) : undefined,
      context.incidents.loadOpenIncidents(order),
      order.approvals.length === 0 || getOrderTask(order.task).risk === 'none'
        ? undefined
        : context.findLastImpactWarning(order),
      approvalsAndClick.some(({ signed }) => signed !== undefined) ? context.signing.loadKeys() : undefined,
    ]);
  const [signatures, emergency] = await Promise.all([
    loadSignatures(context, decisionContext, click, signingKeys?.ring),
    click.kind === 'break_glass' ? loadEmergency(context, decisionContext, click.userId) : undefined,
  ]);
  return {
    ...decisionContext,
    ...budgetsAndAdmins,
    ...signatures,
    click,
    history,
    preconditions,
    incidents,
    warnedAt,
    emergency,
  };
}

async function loadBudgetsAndAdmins(context: OrdersContext, order: Order, userIds: readonly string[]) {
  const budgets = await loadBudgetUse(context, order);
  const adminCandidates = budgets.exceeded.length === 0 ? [] : userIds;
  const areAdmins = await Promise.all(adminCandidates.map((userId) => context.isAdmin(userId)));
  return { budgets, admins: new Set(adminCandidates.filter((_, index) => areAdmins[index])) };
}

async function loadPreconditions(context: OrdersContext, order: Order): Promise<Preconditions> {
  const { serviceEndpoints } = context;
  const { people, isLinked: isAccountLinked } = await findParties(context.findAccount, order);
  const [members, earlierFindings] = await Promise.all([
    checkMembers(context.directory, people),
    loadEarlierFindings(context.store.load, order),
  ]);
  return { serviceEndpoints, isAccountLinked, members, earlierFindings };
}

async function loadSignatures(
  { signing }: OrdersContext,
  { order, evaluation: { requirements, policyVersion } }: DecisionContext,
  click: ApprovalContext['click'],
  ring: KeyRing | undefined,
) {
  if (ring === undefined || !needsSignatures(requirements))
    return { signers: new Set<string>(), isSigned: false };
  const validConsents = await signing.filterValidApprovals(
    [...order.approvals, click],
    buildSignedSubject(order, policyVersion),
    ring,
  );
  const validApprovals = order.approvals.filter((approval) => validConsents.has(approval));
  return {
    signers: new Set(validApprovals.map((approval) => approval.userId)),
    isSigned: validConsents.has(click),
  };
}

async function loadEmergency(
  context: OrdersContext,
  { order, evaluation: { requirements } }: DecisionContext,
  userId: string,
): Promise<EmergencyContext> {
  const [isAdmin, standIns] = await Promise.all([
    context.isAdmin(userId),
    loadStandIns(context, order, requirements),
  ]);
  const approvers = await findNotifiedPeople(context.directory, requirements.list, standIns);
  return { isAdmin, approvers };
}
