import type { OrderCost } from '../money/prices.ts';
import { isPaused } from '../orders/bulk/waves.ts';
import { type ChangeOutcome, changeOrder, type Decision } from '../orders/change-order.ts';
import { stopIfChanged } from '../orders/check-statement.ts';
import type { OrdersContext } from '../orders/context.ts';
import { findEarlier, stopForEarlier } from '../orders/earlier.ts';
import type { Approval, ApprovalWeight, Order, OrderEvent } from '../orders/order.ts';
import { type BudgetCheck, budgetedItems, checkBudgets } from '../orders/order-budget.ts';
import { accountGone, checkMembers, partiesOf } from '../orders/parties.ts';
import type { Refusal } from '../orders/refusal.ts';
import { rulesChanged, taskNamed } from '../orders/tasks.ts';
import { dropUnknownRules, loggedRules, needsSignatures } from '../policy/policy.ts';
import { type ApprovalPolicy, refusalToDecide } from './approval-rights.ts';
import { approvalPolicyOf, deciders, type KnownPeople, readPeople, requestersOf } from './approvers.ts';
import { approvalProgress } from './progress.ts';
import {
  askedRequirements,
  type CurrentRequirements,
  currentRequirements,
  settingsFor,
} from './requirements.ts';
import type { LoggedSignature } from './signing/approval.ts';

/** What a decision about an order is based on, read anew. */
interface Grounds {
  readonly current: CurrentRequirements;
  readonly known: KnownPeople;
  /** Which of the people concerned may decide. */
  readonly policy: ApprovalPolicy;
}

/** @param userIds the people concerned */
async function groundsOf(deps: OrdersContext, order: Order, userIds: readonly string[]): Promise<Grounds> {
  const at = deps.now();
  const [current, away] = await Promise.all([demandOf(deps, order), deps.standIns.current(at)]);
  const { settings } = current;
  // Where a rule refuses the order now, those may deny it who could approve it when it was asked for.
  const named = current.demand.requirements.length > 0 ? current.demand : current.asked;
  const requirements = deciders(named, settings, order);
  const known = await readPeople({ ...deps, away, at }, requirements, userIds);
  const requesters = requestersOf(order);
  const policy = approvalPolicyOf({ requirements, requesters, userIds }, known, settings, at);
  return { current, known, policy };
}

/** An order that does not wait for people is not evaluated again. */
async function demandOf(deps: OrdersContext, order: Order): Promise<CurrentRequirements> {
  if (order.state === 'PENDING' || isPaused(order)) return currentRequirements(deps, order);
  const settings = settingsFor(order, await deps.settings());
  const asked = askedRequirements(order, settings);
  return {
    settings,
    demand: asked,
    asked,
    policyVersion: order.policyVersion,
    decidedBy: [],
    isStricter: false,
  };
}

/**
 * An approver approves. The last approval needed releases the order, or stops it when a precondition is no longer met.
 * Names of a retry that turned out to be done already are stopped; the approval counts for the others.
 */
export function approveOrder(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  reason?: string,
): Promise<ChangeOutcome> {
  return approve(deps, orderId, { userId, signed: undefined }, reason);
}

/** An approver approves with a signature, which was verified where it was made and is again whenever it counts. */
export function approveSigned(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  signed: LoggedSignature,
): Promise<ChangeOutcome> {
  return approve(deps, orderId, { userId, signed }, undefined);
}

function approve(
  deps: OrdersContext,
  orderId: string,
  { userId, signed }: Omit<Press, 'agreedExcess'>,
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return clearForSending(deps, orderId, async (order, { agreedExcess, pressedAt }, findObstacle) => {
    // Who lets a paused order go on presses another button.
    if (isPaused(order)) return { refusal: { code: 'wrong_state', wanted: 'approved', state: order.state } };
    const press = { userId, agreedExcess, signed };
    const counting = await withoutStale(deps, await withoutUnwarned(deps, order), userId, signed);
    const isOf = (approval: Approval) => approval.userId === userId;
    const isRenewed = order.approvals.some(isOf) && !counting.approvals.some(isOf);
    const decide = (isImpactUnknown: boolean) =>
      decisionOfApproval(deps, counting, press, findObstacle, { isImpactUnknown, isRenewed, reason });
    return withImpact(deps, order, { userId, pressedAt }, decide);
  });
}

/**
 * Decides about a press, and looks before it counts what hangs on the name. Only a press that would count asks: what is new
 * is put to those who may approve, once.
 */
export async function withImpact(
  deps: OrdersContext,
  order: Order,
  who: Pressed,
  decide: (isImpactUnknown: boolean) => Promise<Decision>,
): Promise<Decision> {
  return withIncidents(deps, order, who, await withImpactAlone(deps, order, who, decide));
}

/** Puts the open incidents of an order's names to a person whose press would count, once each. */
export async function withIncidents(
  deps: OrdersContext,
  order: Order,
  { userId, pressedAt }: Pressed,
  decision: Decision,
): Promise<Decision> {
  if (!('event' in decision && APPROVALS.has(decision.event.type))) return decision;
  const shown = await deps.incidents.newTo(order, userId, pressedAt);
  return shown === undefined ? decision : { refusal: { code: 'incident_open', shown } };
}

/**
 * Notes that a person has been told why their press did not count. Their next press counts; the second half of a double click,
 * which came before that, does not.
 */
export async function noteTold(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  refusal: Refusal,
): Promise<void> {
  if (refusal.code === 'incident_open') await deps.incidents.told(orderId, userId, refusal.shown);
  if (refusal.code === 'impact_changed') await deps.impactTold(orderId);
}

async function withImpactAlone(
  deps: OrdersContext,
  order: Order,
  { pressedAt }: Pressed,
  decide: (isImpactUnknown: boolean) => Promise<Decision>,
): Promise<Decision> {
  if (order.state !== 'PENDING' || taskNamed(order.task).risk === 'none') return decide(false);
  const decision = await decide(true);
  const counts = 'event' in decision && APPROVALS.has(decision.event.type);
  if (!counts) return decision;
  const impact = await deps.impactAtApproval(order, pressedAt);
  // The look may take a moment, so everything that decides is read again after it.
  return impact === 'changed' ? { refusal: { code: 'impact_changed' } } : decide(impact === 'unknown');
}

const APPROVALS: ReadonlySet<OrderEvent['type']> = new Set(['approved', 'emergency_approved', 'resumed']);

/** An order without the approvals that were given before something about its name was put to the approvers. */
async function withoutUnwarned(deps: OrdersContext, order: Order): Promise<Order> {
  if (order.approvals.length === 0) return order;
  const [warnedAt, informed] = await Promise.all([
    taskNamed(order.task).risk === 'none' ? undefined : deps.impactWarnedAt(order),
    deps.incidents.informedSince(order),
  ]);
  const counts = ({ userId, at }: Approval) => {
    const knowsSince = informed?.get(userId);
    const isInformed = informed === undefined || (knowsSince !== undefined && at >= knowsSince);
    return isInformed && (warnedAt === undefined || at >= warnedAt);
  };
  return { ...order, approvals: order.approvals.filter(counts) };
}

/**
 * An order without a former approval of somebody whose signature under it does not count any more: they sign again.
 * @param signed how they approve now
 */
export async function withoutStale(
  deps: OrdersContext,
  order: Order,
  userId: string,
  signed: LoggedSignature | undefined,
): Promise<Order> {
  const former = order.approvals.find((approval) => approval.userId === userId);
  // A second click adds nothing to the first.
  if (former === undefined || (former.signed === undefined && signed === undefined)) return order;
  const { demand, policyVersion } = await currentRequirements(deps, order);
  if (!needsSignatures(demand)) return order;
  const signers = await deps.signing.signersOf(order, policyVersion);
  if (signers.has(userId)) return order;
  return { ...order, approvals: order.approvals.filter((approval) => approval !== former) };
}

/** What a press to approve makes of an order, by everything that decides at this moment but the impact. */
async function decisionOfApproval(
  deps: OrdersContext,
  order: Order,
  press: Press,
  findObstacle: FindObstacle,
  said: Pick<Extract<OrderEvent, { type: 'approved' }>, 'isImpactUnknown' | 'isRenewed' | 'reason'>,
): Promise<Decision> {
  const weighed = await weighPress(deps, order, press, findObstacle, (policy) =>
    refusalToDecide(order, press.userId, 'approve', policy),
  );
  if (!('weight' in weighed)) return weighed;
  const { weight, reservation } = weighed;
  const { validApprovers, budget } = weight;
  if (!validApprovers.includes(press.userId) && !budget.admins.includes(press.userId))
    return { refusal: { code: 'stand_in_not_needed' } };
  return { event: { type: 'approved', ...weight, ...said }, extra: { reservation } };
}

/** Who pressed, and when that arrived. */
interface Pressed {
  readonly userId: string;
  readonly pressedAt: Date;
}

/** What a person could know when they pressed. */
interface KnownAtPress extends Pick<Pressed, 'pressedAt'> {
  /** By how much the card said that the order exceeds budgets. */
  readonly agreedExcess: Order['shownExcess'];
}

/** A person's approval, before anything has decided whether it counts. */
interface Press extends Pick<Approval, 'userId' | 'agreedExcess'> {
  /** Undefined for a click. */
  readonly signed: LoggedSignature | undefined;
}
type FindObstacle = () => Promise<Decision | undefined>;

/** A press that may decide about a waiting or a paused order, with all that it counts for at this moment. */
interface WeighedPress {
  readonly weight: ApprovalWeight;
  readonly reservation: MoneyCheck['reservation'];
  readonly policy: ApprovalPolicy;
  readonly isRepeated: boolean;
}

/**
 * Weighs the press of a person by everything that decides at this moment.
 * @param refusalBy why the person may not press, unless they agree to exceed a budget as an admin
 * @returns what is decided without it, or what it counts for
 */
export async function weighPress(
  deps: OrdersContext,
  order: Order,
  { userId, agreedExcess, signed }: Press,
  findObstacle: FindObstacle,
  refusalBy: (policy: ApprovalPolicy) => Refusal | undefined,
): Promise<Decision | WeighedPress> {
  const others = order.approvals.filter((approval) => approval.userId !== userId);
  const given = [...others, { userId, agreedExcess, at: deps.now(), signed }];
  const givers = given.map((approval) => approval.userId);
  const [grounds, money, obstacle, history] = await Promise.all([
    groundsOf(deps, order, givers),
    moneyOf(deps, order, given),
    findObstacle(),
    deps.store.history(order.id, 'system'),
  ]);
  // Otherwise the approval would record a rule that only the row names.
  const { demand, decidedBy } = grounds.current;
  const rules = demand.requirements.map(({ rule }) => rule);
  const known = dropUnknownRules(rules, [...loggedRules(history), ...decidedBy]);
  if (order.state === 'PENDING' && known.length < rules.length) return { refusal: { code: 'log_differs' } };
  const { price, over, admins, unaware, reservation } = money;
  const refusal = refusalBy(grounds.policy);
  const isRepeated = others.length < order.approvals.length;
  if (unaware.includes(userId) && (refusal !== undefined || isRepeated))
    return { refusal: { code: 'excess_unseen', over } };
  if (refusal !== undefined && !admins.includes(userId)) return { refusal };
  const counted = await countApprovals(deps, { ...order, approvals: given }, userId, grounds);
  // A click counts where no signature is asked for, and takes the place of none.
  const isMissing = !('refusal' in counted || counted.validApprovers.includes(userId));
  if (signed === undefined && needsSignatures(grounds.current.demand) && isMissing)
    return { refusal: { code: 'signature_needed' } };
  if (obstacle !== undefined) return obstacle;
  if ('refusal' in counted) return counted;
  const weight = { ...counted, by: userId, signed, agreedExcess, price, budget: { over, admins } };
  return { weight, reservation, policy: grounds.policy, isRepeated };
}

/** What an order costs at this moment, and whether the budgets have it. */
interface MoneyCheck extends BudgetCheck {
  readonly price: OrderCost | undefined;
}

/** @param given the approvals so far, with that of who presses now */
export async function moneyOf(
  deps: OrdersContext,
  order: Order,
  given: readonly Omit<Press, 'signed'>[],
): Promise<MoneyCheck> {
  const takes = budgetedItems(order);
  const names = takes.items.map(({ name }) => name);
  const pricing = deps.priceOf({ task: order.task, names, input: order.input });
  const [price, check] = await Promise.all([
    pricing,
    checkBudgets(deps, { ...order, ...takes }, pricing, given),
  ]);
  return { price, ...check };
}

/**
 * Lets a waiting order go, or a paused one go on, by a person's decision. Names that an earlier order turned out to have
 * done are stopped first; the decision is for the others.
 * @param decide is told what the person could know when they pressed, and asks what stands in the way of the order at the
 * point at which it may be said to the person
 */
export async function clearForSending(
  deps: OrdersContext,
  orderId: string,
  decide: (order: Order, known: KnownAtPress, findObstacle: FindObstacle) => Promise<Decision>,
  pressedAt = deps.now(),
): Promise<ChangeOutcome> {
  let isPart = false;
  let agreedExcess: Order['shownExcess'] | undefined;
  const outcome = await changeOrder(deps, orderId, (order) => {
    isPart = false;
    // What the card says by the time of another try was not there to be read.
    agreedExcess ??= order.shownExcess;
    return decide(order, { agreedExcess, pressedAt }, async () => {
      if (order.state !== 'PENDING' && !isPaused(order)) return undefined;
      const unmet = await unmetPrecondition(deps, order);
      if (unmet !== undefined) return unmet;
      const findings = await findEarlier(deps.store.load, order);
      const open = findings.find(({ found }) => found === 'open');
      if (open !== undefined) return { refusal: { code: 'earlier_order', finding: open } };
      const stop = stopForEarlier(order, findings);
      isPart = stop !== undefined;
      return stop === undefined ? undefined : { event: stop };
    });
  });
  // The card may say less than the budgets lack, or than has happened to a name, by now.
  if (!outcome.ok && TOLD_BY_CARD.has(outcome.refusal.code))
    await deps.store.requestNotification(orderId, deps.now());
  const goesOn = isPart && outcome.ok && (outcome.order.state === 'PENDING' || isPaused(outcome.order));
  return goesOn ? clearForSending(deps, orderId, decide, pressedAt) : outcome;
}

const TOLD_BY_CARD: ReadonlySet<Refusal['code']> = new Set(['excess_unseen', 'over_budget', 'incident_open']);

/** The approvals that count at one moment. */
type CountedApprovals = Pick<ApprovalWeight, 'validApprovers' | 'progress' | 'unreadableGroups'>;

const NOBODY: ReadonlySet<string> = new Set();

/** Counts the approvals of an order, with that of a person; or says why they cannot be counted at this moment. */
async function countApprovals(
  deps: OrdersContext,
  order: Order,
  userId: string,
  { current, known, policy }: Grounds,
): Promise<CountedApprovals | { readonly refusal: Refusal }> {
  const { demand, policyVersion, isStricter } = current;
  if (demand.outcome === 'refuse') return { refusal: { code: 'policy_refuses', rules: demand.refusedBy } };
  const givers = order.approvals.map((approval) => approval.userId);
  const earlier = givers.filter((giver) => giver !== userId);
  const { isApproved, requirements } = approvalProgress(demand, {
    requesters: requestersOf(order),
    approvals: givers,
    signers: needsSignatures(demand) ? await deps.signing.signersOf(order, policyVersion) : NOBODY,
    people: known.people,
    allowSelfApproval: policy.allowSelfApproval,
    now: deps.now(),
  });
  // While Slack does not tell about one of those who approved, no approval is dropped and none is counted.
  const doubtful = earlier.find((giver) => policy.unconfirmed.has(giver));
  if (doubtful !== undefined && !isApproved)
    return { refusal: { code: 'membership_unknown', userId: doubtful } };
  return {
    // An order that waits because it exceeded a budget needs nobody in particular.
    validApprovers:
      demand.outcome === 'free'
        ? givers
        : [...new Set(requirements.flatMap(({ counted }) => counted.map((slot) => slot.userId)))],
    progress: {
      isApproved,
      policyVersion,
      isStricter,
      requirements: requirements.map(({ requirement: { rule, needed, approvers }, counted }) => ({
        rule,
        needed,
        approvers,
        given: counted,
      })),
    },
    unreadableGroups: policy.unreadableGroups,
  };
}

/** An approver denies. */
export async function denyOrder(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    const grounds = await groundsOf(deps, order, [userId]);
    const refusal = refusalToDecide(order, userId, 'deny', grounds.policy);
    if (refusal !== undefined) return { refusal };
    // The log says for whom and by which rules, as it does of an approval.
    const own = { userId, at: deps.now(), agreedExcess: [] };
    const counted = await countApprovals(deps, { ...order, approvals: [own] }, userId, grounds);
    const progress = 'refusal' in counted ? undefined : counted.progress;
    return { event: { type: 'denied', by: userId, reason, progress } };
  });
}

/** Why a person may not deny at this moment. It is checked before the form for the reason opens, too. */
export async function refusalToDeny(
  deps: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  const { policy } = await groundsOf(deps, order, [userId]);
  return refusalToDecide(order, userId, 'deny', policy);
}

/** Why a person may not approve at this moment. It is checked before the form for a comment opens. */
export async function refusalToApprove(
  deps: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  if (order.state !== 'PENDING') return { code: 'wrong_state', wanted: 'approved', state: order.state };
  const { policy } = await groundsOf(deps, order, [userId]);
  return refusalToDecide(order, userId, 'approve', policy);
}

/** The requester takes a waiting order back. */
export function cancelOrder(deps: OrdersContext, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, (order) =>
    order.requesterId === userId
      ? { event: { type: 'cancelled', by: userId } }
      : { refusal: { code: 'not_the_requester', wanted: 'cancel' } },
  );
}

/** Expires a waiting order. Does nothing when it is not time yet, or the order was decided. */
export function expireOrder(deps: OrdersContext, orderId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, () => ({ event: { type: 'expired' } }));
}

/** Reminds the approvers, once. Does nothing when it is not time yet, or they were reminded. */
export function remindApprovers(deps: OrdersContext, orderId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, () => ({ event: { type: 'reminded' } }));
}

/**
 * How an order ends that is not what was asked for, or lacks what it needs: its account, the zone’s permission, and members of
 * the workspace as its people. Undefined when everything is there.
 */
async function unmetPrecondition(deps: OrdersContext, order: Order): Promise<Decision | undefined> {
  const changed = await stopIfChanged(deps, order);
  if (changed !== undefined) return changed;
  const { people, isLinked } = await partiesOf(deps.findAccount, order);
  const check = await checkMembers(deps.directory, people);
  const noLongerAllowed = isLinked ? rulesChanged(order) : accountGone(order);
  const summary = check.kind === 'left' ? check.summary : noLongerAllowed;
  if (summary !== undefined) return { event: { type: 'stopped', summary } };
  return check.kind === 'unknown'
    ? { refusal: { code: 'membership_unknown', userId: check.userId } }
    : undefined;
}
