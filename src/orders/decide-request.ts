import { type Account, formatAccountName, isTeamAccount } from '../accounts/account.ts';
import { computeMinimumApprovals, type EvaluatedOrder } from '../approvals/requirements.ts';
import { MINUTE_MS } from '../lib/duration.ts';
import { InvalidInputError } from '../service/codec/codec-errors.ts';
import type { RequestIssue } from '../service/request-issue.ts';
import { buildBulk } from './bulk/request-bulk.ts';
import { computeDeadlines, type PendingDeadlines } from './deadlines.ts';
import { buildCtid, getAccountOwner, type Order, type OrderAccount, type PolicyDecision } from './order.ts';
import type { BudgetUse } from './order-budget.ts';
import type { OrderLogEntry } from './order-events.ts';
import type { Refusal } from './refusal.ts';
import { type RequestContext, startsAsDraft } from './request-context.ts';
import { buildStatement, hashStatement, type UnhashedOrder } from './statement.ts';
import type { Statement } from './statement-shape.ts';

/*
 * Decides whether a request is refused, becomes a draft, or becomes an order. Pure: time, ids, salts,
 * the policy and budgets are parameters.
 */

const DRAFT_TTL_MS = 15 * MINUTE_MS;

export interface BuiltOrder {
  readonly order: Order;
  readonly logEntry: OrderLogEntry;
}

export type RequestDecision =
  | (BuiltOrder & { readonly kind: 'create'; readonly reservation: BudgetUse['reservation'] })
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'unsupported'; readonly issue: RequestIssue };

/** Turns a request into an order: a draft, a pending order, or one that is sent immediately. */
export function decideRequest(context: RequestContext): RequestDecision {
  const { requirements } = context.evaluated;
  if (requirements.outcome === 'refuse')
    return { kind: 'refused', refusal: { code: 'policy_refuses', rules: requirements.refusedBy } };
  const timeRefusal = checkSendTime(context);
  if (timeRefusal !== undefined) return { kind: 'refused', refusal: timeRefusal };
  const initialState = decideInitialState(context);
  const buildResult = buildOrder(context, initialState);
  if ('issue' in buildResult) return { kind: 'unsupported', issue: buildResult.issue };
  // An order that needs confirmation or approval reserves its amounts later.
  const reservation = initialState.state === 'APPROVED' ? context.budgets.reservation : undefined;
  return { kind: 'create', ...buildResult, reservation };
}

/** Returns why a request can't be sent at its chosen time; undefined if it can. */
function checkSendTime({ schedule, request, firstExpiry }: RequestContext): Refusal | undefined {
  if (schedule === undefined) return undefined;
  if (typeof schedule === 'string') return { code: 'send_at', issue: schedule };
  const requiresUnexpiredName = request.task !== 'create' && request.task !== 'restore';
  return requiresUnexpiredName && firstExpiry !== undefined && firstExpiry <= schedule.sendAt
    ? { code: 'send_at_after_expiry', expiresAt: firstExpiry }
    : undefined;
}

function findSendTime({ schedule, request }: RequestContext): Date | undefined {
  return typeof schedule === 'object' ? schedule.sendAt : request.sendAfter;
}

export interface InitialState {
  readonly state: 'DRAFT' | 'PENDING' | 'APPROVED';
  /** Undefined for an order that is sent immediately. */
  readonly deadlines: Partial<PendingDeadlines> | undefined;
}

function decideInitialState(context: RequestContext): InitialState {
  const { now, request, checked, evaluated, budgets, firstExpiry } = context;
  const { requirements } = evaluated;
  if (startsAsDraft(checked, request))
    return { state: 'DRAFT', deadlines: { expiresAt: new Date(now.getTime() + DRAFT_TTL_MS) } };
  if (requirements.outcome === 'free' && budgets.exceeded.length === 0)
    return { state: 'APPROVED', deadlines: undefined };
  return {
    state: 'PENDING',
    deadlines: computeDeadlines(requirements, now, firstExpiry, findSendTime(context)),
  };
}

/** @returns the order, or the issue if the request can't be sent */
export function buildOrder(
  context: RequestContext,
  initialState: InitialState,
): BuiltOrder | { readonly issue: RequestIssue } {
  const { request, account, price, serviceEndpoints, budgets } = context;
  const { retriedOrder } = request;
  const decision = toPolicyDecision(context.evaluated);
  const unhashedOrder = buildUnhashedOrder(context, initialState, decision);
  let statement: Statement;
  try {
    statement = buildStatement(unhashedOrder, serviceEndpoints);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return { issue: error.issue };
  }
  const order = { ...unhashedOrder, statementHash: hashStatement(statement) };
  const { service, replyTo } = statement;
  const logEntry: OrderLogEntry = {
    kind: 'requested',
    actor: order.requesterId,
    state: order.state,
    version: order.version,
    at: order.createdAt,
    task: order.task,
    ...(order.bulk === undefined
      ? { names: order.items.map(({ name }) => name), input: order.input }
      : { rows: order.items.length }),
    statement: order.statementHash,
    service,
    ...(replyTo === undefined ? {} : { replyTo }),
    account: formatAccountName(account),
    ...(isTeamAccount(account) ? { usesTeamAccount: true as const } : {}),
    reason: order.reason ?? null,
    ...(order.ownership === undefined ? {} : { ownership: order.ownership }),
    policyVersion: decision.policyVersion,
    decidedBy: decision.decidedBy,
    ...(price === undefined ? {} : { price }),
    ...(budgets.exceeded.length === 0 ? {} : { overBudget: budgets.exceeded }),
    ...(retriedOrder === undefined ? {} : { retryOf: retriedOrder.id, accountOwner: getAccountOwner(order) }),
    ...(order.mandate === undefined ? {} : { mandate: order.mandate.id }),
    ...toScheduleLogFields(context.schedule),
  };
  return { order, logEntry };
}

function toScheduleLogFields(schedule: RequestContext['schedule']) {
  if (typeof schedule !== 'object') return {};
  const { sendAt: notBefore, occursTwice } = schedule;
  return { notBefore, ...(occursTwice ? { occursTwice } : {}) };
}

function buildUnhashedOrder(
  context: RequestContext,
  { state, deadlines }: InitialState,
  decision: PolicyDecision,
): UnhashedOrder {
  const { now, id, request, account, checked, budgets, secrets } = context;
  const { bulk, retriedOrder } = request;
  const { task, names, input } = checked;
  return {
    id,
    task: task.name,
    state,
    version: 1,
    requesterId: request.requesterId,
    account: toOrderAccount(account),
    items: names.map((name, index) => ({
      n: index + 1,
      name,
      ctid: buildCtid(id, index + 1, names.length),
      input: bulk?.rows[index]?.input,
      secretHash: secrets.itemHashes.get(index + 1),
      state: 'WAITING',
      attempts: 0,
      notBefore: undefined,
      sentAt: undefined,
      answeredAt: undefined,
      result: undefined,
      isWatchListUpdated: false,
    })),
    input,
    bulk: bulk && buildBulk(bulk),
    secretHash: secrets.inputHash,
    reason: request.reason,
    ownership: request.ownership,
    channelId: request.channelId,
    threadTs: request.threadTs,
    approvals: [],
    // Budgets are checked only if no approval is needed. Exceeding one requires only an admin's consent.
    approvalsRequired: budgets.exceeded.length > 0 ? 0 : decision.approvalsRequired,
    policyVersion: decision.policyVersion,
    requirements: decision.requirements,
    expiresAt: deadlines?.expiresAt,
    remindAt: deadlines?.remindAt,
    escalateAt: deadlines?.escalateAt,
    isPrivate: request.isPrivate ?? false,
    shownExcess: [],
    claim: undefined,
    retryOf: retriedOrder?.id,
    earlierRequesters:
      retriedOrder === undefined
        ? []
        : [...new Set([...retriedOrder.earlierRequesters, retriedOrder.requesterId])],
    sendAfter: findSendTime(context),
    approvalRound: 0,
    mandate: request.mandateOrder,
    deliveryId: request.deliveryId,
    createdAt: now,
    closedAt: undefined,
  };
}

function toOrderAccount(account: Account): OrderAccount {
  const { id, login, method, context } = account;
  return { id, login, method, context, ...(isTeamAccount(account) ? { isTeamAccount: true } : {}) };
}

export function toPolicyDecision({
  policyVersion,
  requirements,
  settings,
  decidedBy,
}: EvaluatedOrder): PolicyDecision {
  return {
    policyVersion,
    requirements,
    decidedBy,
    approvalsRequired: computeMinimumApprovals(requirements, settings),
  };
}
