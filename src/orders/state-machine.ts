import { isDeepStrictEqual } from 'node:util';
import { isExcessApproved } from '../money/budget.ts';
import { canBeSentNext, isPaused, resumeBulk } from './bulk/waves.ts';
import {
  type Approval,
  computeOrderOutcome,
  EVIDENCE_ACTOR,
  type EvaluatedApproval,
  findWaitingItems,
  type ItemResult,
  isFinal,
  isRequester,
  isWaitingForSendTime,
  ORDER_STATES,
  type Order,
  type OrderEvent,
  type OrderItem,
  type OrderState,
} from './order.ts';
import type { OrderLogEntry } from './order-events.ts';
import type { Refusal } from './refusal.ts';
import type { ItemSummary } from './summary.ts';

/**
 * The state machine of orders: which events are allowed in each state, and the resulting order. Pure; the store commits
 * the result by compare-and-swap on `version`. The table comes first, then a function for each event, then helpers.
 */

interface Success {
  readonly ok: true;
  readonly order: Order;
  readonly log: readonly OrderLogEntry[];
}

export type Transition =
  | Success
  /** The event isn't allowed in this state, so nothing changes. */
  | { readonly ok: false; readonly refusal: Refusal };

type EventOf<Type extends OrderEvent['type']> = Extract<OrderEvent, { readonly type: Type }>;

interface TransitionRule<Type extends OrderEvent['type']> {
  readonly from: readonly OrderState[];
  /** @returns undefined if the event isn't allowed for other reasons, such as the states of the items */
  readonly apply: (order: Order, event: EventOf<Type>, now: Date) => Transition | undefined;
}

const NON_FINAL_STATES = ORDER_STATES.filter((state) => !isFinal(state));

const TRANSITION_RULES: { readonly [Type in OrderEvent['type']]: TransitionRule<Type> } = {
  confirmed: { from: ['DRAFT'], apply: applyConfirmed },
  approved: { from: ['PENDING', 'APPROVED'], apply: applyApproved },
  emergency_approved: { from: ['PENDING'], apply: applyEmergencyApproved },
  denied: { from: ['PENDING'], apply: applyDenied },
  cancelled: { from: ['PENDING'], apply: applyCancelled },
  expired: { from: ['PENDING', 'APPROVED'], apply: applyExpired },
  reminded: { from: ['PENDING'], apply: applyReminded },
  escalated: { from: ['PENDING'], apply: applyEscalated },
  asked: { from: ['PENDING'], apply: applyAsked },
  reopened: { from: ['APPROVED'], apply: applyReopened },
  claimed: { from: ['APPROVED'], apply: applyClaimed },
  sending: { from: ['EXECUTING'], apply: applySending },
  retry_scheduled: { from: ['EXECUTING'], apply: applyRetryScheduled },
  released: { from: ['EXECUTING'], apply: applyReleased },
  stopped: { from: ['PENDING', 'APPROVED', 'EXECUTING'], apply: applyStopped },
  paused: { from: ['APPROVED', 'EXECUTING'], apply: applyPaused },
  resumed: { from: ['APPROVED'], apply: applyResumed },
  answered: { from: NON_FINAL_STATES, apply: applyAnswered },
  invalidated: { from: NON_FINAL_STATES, apply: applyInvalidated },
  contradicted: { from: ORDER_STATES, apply: applyContradicted },
  hinted: { from: NON_FINAL_STATES, apply: applyHinted },
  resolved: { from: NON_FINAL_STATES, apply: applyResolved },
  answered_late: { from: ORDER_STATES, apply: applyAnsweredLate },
  confirmed_by_registry: { from: ORDER_STATES, apply: applyConfirmedByRegistry },
  overdue: { from: ORDER_STATES, apply: applyOverdue },
  delegation_seen: { from: ORDER_STATES, apply: applyDelegationSeen },
  signed_off: { from: ORDER_STATES, apply: applySignedOff },
  in_force: { from: ['APPROVED'], apply: applyInForce },
  mandate_ending: { from: ['SUCCEEDED'], apply: applyMandateEnding },
  mandate_ended: { from: ['SUCCEEDED'], apply: applyMandateEnded },
};

export function transition(order: Order, event: OrderEvent, now: Date): Transition {
  return applyRule(event.type, order, event, now);
}

function applyRule<Type extends OrderEvent['type']>(
  type: Type,
  order: Order,
  event: EventOf<Type>,
  now: Date,
): Transition {
  const { from, apply } = TRANSITION_RULES[type];
  const result = from.includes(order.state) ? apply(order, event, now) : undefined;
  return result ?? refuse({ code: 'wrong_state', action: type, state: order.state });
}

function applyConfirmed(order: Order, event: EventOf<'confirmed'>, now: Date): Transition {
  const { needsApproval, expiresAt, remindAt, escalateAt, decision } = event;
  const { decidedBy, ...orderFields } = decision ?? {};
  const loggedDecision = decision && { policyVersion: decision.policyVersion, decidedBy: decision.decidedBy };
  return applyChanges(
    order,
    now,
    { kind: event.type, actor: order.requesterId, ...loggedDecision },
    needsApproval
      ? { state: 'PENDING', expiresAt, remindAt, escalateAt, ...orderFields }
      : { state: 'APPROVED', ...NO_DEADLINES, ...orderFields },
  );
}

/** An approval of a paused order is saved even if more approvals are needed to resume the order. */
function applyApproved(order: Order, event: EventOf<'approved'>, now: Date): Transition | undefined {
  if (order.state === 'APPROVED' && !isPaused(order)) return undefined;
  if (hasExpired(order, now)) return EXPIRED_REFUSAL;
  // Approvers may click again, because a lapsed approval may have become valid again.
  const previousApproval = order.approvals.find((approval) => approval.userId === event.by);
  const approvals = addOrUpdateApproval(order, event, now);
  const { exceeded, admins } = event.budget;
  const validCount = approvals.filter(({ userId }) => event.validApprovers.includes(userId)).length;
  const hasEnoughApprovals = validCount >= order.approvalsRequired && event.progress.isApproved;
  const isFullyApproved = hasEnoughApprovals && (exceeded.length === 0 || admins.length > 0);
  // An admin who clicks again may agree to a new excess.
  const agreesToExcess =
    admins.includes(event.by) && !isExcessApproved(exceeded, previousApproval?.agreedExcess ?? []);
  if (previousApproval !== undefined && !isFullyApproved && !agreesToExcess && event.isReplacement !== true) {
    return refuse(hasEnoughApprovals ? { code: 'over_budget', exceeded } : { code: 'already_approved' });
  }
  if (isPaused(order) && isFullyApproved) return undefined;
  const logData = {
    ...buildApprovalLogData(order, approvals, event),
    ...(event.reason === undefined ? {} : { reason: event.reason }),
    ...(event.isImpactUnknown === true ? { isImpactUnknown: true as const } : {}),
    ...(isPaused(order) ? { waiting: findWaitingItems(order).length } : {}),
  };
  return applyChanges(
    order,
    now,
    { kind: event.type, actor: event.by, ...logData },
    isFullyApproved ? { approvals, state: 'APPROVED', ...NO_DEADLINES } : { approvals },
  );
}

function buildApprovalLogData(
  { approvalsRequired, statementHash }: Order,
  approvals: readonly Approval[],
  {
    validApprovers,
    unreadableGroups,
    price,
    progress,
    budget: { exceeded, admins },
    signed,
  }: EvaluatedApproval,
) {
  const invalidApprovers = approvals.flatMap(({ userId }) => (validApprovers.includes(userId) ? [] : userId));
  // Admins who agree to exceed a budget don't have to be approvers.
  const lapsed = invalidApprovers.filter((userId) => !admins.includes(userId));
  return {
    validCount: approvals.length - invalidApprovers.length,
    lapsed,
    required: approvalsRequired,
    ...(lapsed.length === 0 || unreadableGroups.length === 0 ? {} : { unreadableGroups }),
    ...(price === undefined ? {} : { price }),
    statement: statementHash,
    progress,
    ...(exceeded.length === 0 ? {} : { overBudget: exceeded, admins }),
    ...signed,
  };
}

/**
 * If a person approves again, their approval keeps its position and time, but agrees to the excess that the card shows
 * now. A replacement also gets a new time.
 */
function addOrUpdateApproval(
  { approvals }: Order,
  event: EventOf<'approved' | 'emergency_approved' | 'resumed'>,
  now: Date,
): readonly Approval[] {
  const { by, agreedExcess } = event;
  const isReplacement = event.type === 'approved' && event.isReplacement === true;
  const loggedSignature = 'signed' in event ? event.signed : undefined;
  const storedSignature = loggedSignature && {
    signature: loggedSignature.signature,
    binding: loggedSignature.binding,
  };
  return approvals.some(({ userId }) => userId === by)
    ? approvals.map((approval) =>
        approval.userId === by
          ? {
              ...approval,
              at: isReplacement ? now : approval.at,
              agreedExcess,
              signed: storedSignature ?? approval.signed,
            }
          : approval,
      )
    : [...approvals, { userId: by, at: now, agreedExcess, signed: storedSignature }];
}

/** Requesters can never approve their own orders in an emergency, whatever the settings allow. */
function applyEmergencyApproved(
  order: Order,
  event: EventOf<'emergency_approved'>,
  now: Date,
): Transition | undefined {
  const { type, by, agreedExcess: _, exceeded, price, isImpactUnknown, ...otherFields } = event;
  if (hasExpired(order, now)) return EXPIRED_REFUSAL;
  if (isRequester(order, by)) return refuse({ code: 'emergency_on_own_order' });
  const logData = {
    statement: order.statementHash,
    ...otherFields,
    ...(price === undefined ? {} : { price }),
    ...(isImpactUnknown === true ? { isImpactUnknown } : {}),
    ...(exceeded.length === 0 ? {} : { overBudget: exceeded, admins: [by] }),
  };
  const approvals = addOrUpdateApproval(order, event, now);
  return applyChanges(
    order,
    now,
    { kind: type, actor: by, ...logData },
    { state: 'APPROVED', approvals, emergencyApprovedBy: by, ...NO_DEADLINES },
  );
}

function applyDenied(order: Order, event: EventOf<'denied'>, now: Date): Transition {
  const { by, reason = null, progress } = event;
  const logData = { reason, ...(progress === undefined ? {} : { progress }) };
  return applyChanges(
    order,
    now,
    { kind: event.type, actor: by, ...logData },
    buildClosedFields('DENIED', now),
  );
}

function applyCancelled(order: Order, event: EventOf<'cancelled'>, now: Date): Transition {
  return applyChanges(order, now, { kind: event.type, actor: event.by }, buildClosedFields('CANCELLED', now));
}

function applyExpired(order: Order, event: EventOf<'expired'>, now: Date): Transition | undefined {
  if (order.expiresAt === undefined || order.expiresAt > now) return undefined;
  return isPaused(order)
    ? stopAfterPause(order, now)
    : applyChanges(order, now, { kind: event.type }, buildClosedFields('EXPIRED', now));
}

/** Stops the waiting items of an order that no one resumed in time. Sent items keep their results. */
function stopAfterPause(order: Order, now: Date): Transition {
  const names = findWaitingItems(order).map(({ name }) => name);
  const entry = { kind: 'expired', names, summary: PAUSE_EXPIRED_SUMMARY } as const;
  if (order.items.every(isUnsent))
    return applyChanges(order, now, entry, buildClosedFields('CANCELLED', now));
  const items = order.items.map((item) =>
    item.state === 'WAITING' ? stopItem(item, { summary: PAUSE_EXPIRED_SUMMARY }) : item,
  );
  return applyAndFinish(order, now, entry, { items });
}

function applyReminded(order: Order, event: EventOf<'reminded'>, now: Date): Transition | undefined {
  if (order.remindAt === undefined || order.remindAt > now) return undefined;
  return applyChanges(order, now, { kind: event.type }, { remindAt: undefined });
}

function applyEscalated(order: Order, event: EventOf<'escalated'>, now: Date): Transition | undefined {
  if (order.escalateAt === undefined || order.escalateAt > now) return undefined;
  return applyChanges(
    order,
    now,
    { kind: event.type, to: event.to, toAdmins: event.toAdmins },
    { escalateAt: undefined },
  );
}

function applyAsked(order: Order, event: EventOf<'asked'>, now: Date): Transition {
  if (hasExpired(order, now)) return EXPIRED_REFUSAL;
  const { by, question, expiresAt, remindAt, escalateAt } = event;
  return applyChanges(
    order,
    now,
    { kind: event.type, actor: by, question },
    { expiresAt, remindAt, escalateAt },
  );
}

function applyReopened(order: Order, event: EventOf<'reopened'>, now: Date): Transition | undefined {
  const { type, reasons, price, decision, ...deadlines } = event;
  if (!isWaitingForSendTime(order)) return undefined;
  const { decidedBy, ...orderFields } = decision;
  const { policyVersion } = decision;
  const entry = { kind: type, reasons, policyVersion, decidedBy, ...(price === undefined ? {} : { price }) };
  return applyChanges(order, now, entry, {
    ...deadlines,
    ...orderFields,
    state: 'PENDING',
    approvals: [],
    emergencyApprovedBy: undefined,
    signedOffBy: undefined,
    approvalRound: order.approvalRound + 1,
  });
}

function applyClaimed(order: Order, event: EventOf<'claimed'>, now: Date): Transition | undefined {
  const { workerId } = event;
  if (order.bulk?.pause !== undefined) return undefined;
  return applyChanges(
    order,
    now,
    { kind: event.type, workerId },
    { state: 'EXECUTING', claim: { workerId } },
  );
}

/** A second request within a claim needs proof that the first one wasn't carried out. */
function applySending(order: Order, event: EventOf<'sending'>, now: Date): Transition | undefined {
  const item = findItem(order, event.n);
  const canBeSent =
    event.retryReason === undefined
      ? item?.state === 'WAITING' && item.sentAt === undefined
      : // The order may have been stopped while the refused request was in progress.
        item?.state === 'SENT' && item.result?.stoppedBy === undefined && !order.items.some(wasStopped);
  if (!isClaimedBy(order, event.workerId) || item === undefined || !canBeSent) return undefined;
  if (event.retryReason === undefined && !canBeSentNext(order, item)) return undefined;
  const retryFields = event.retryReason === undefined ? {} : { retryReason: { code: event.retryReason } };
  return applyChanges(
    order,
    now,
    {
      kind: event.type,
      ...pickRequestFields(item),
      workerId: event.workerId,
      ...retryFields,
      ...(order.mandate && { mandate: order.mandate.id }),
      ...(event.amount && { amount: event.amount }),
    },
    { items: replaceItem(order, event.n, { state: 'SENT', sentAt: now, attempts: item.attempts + 1 }) },
  );
}

function applyRetryScheduled(
  order: Order,
  event: EventOf<'retry_scheduled'>,
  now: Date,
): Transition | undefined {
  const item = findItem(order, event.n);
  if (!isClaimedBy(order, event.workerId) || (item?.state !== 'SENT' && item?.state !== 'WAITING'))
    return undefined;
  const { type: kind, workerId, notBefore } = event;
  const retryReason = { code: event.retryReason };
  const entry = { kind, n: item.n, name: item.name, workerId, retryReason, until: notBefore };
  if (item.result?.stoppedBy !== undefined) return cancelRetry(order, item, entry, event.doubt, now);
  return applyChanges(order, now, entry, {
    items: replaceItem(order, event.n, {
      state: 'WAITING',
      sentAt: undefined,
      notBefore,
      attempts: countAttempts(item),
      ...(event.doubt === undefined ? {} : { result: { summary: event.doubt, inDoubt: true } }),
    }),
  });
}

/** A person stopped the order while this item's request was being sent, so the request isn't resent. */
function cancelRetry(
  order: Order,
  item: OrderItem,
  entry: NewLogEntry,
  doubt: ItemSummary | undefined,
  now: Date,
): Transition {
  const stoppedBy = item.result?.stoppedBy;
  const inDoubt = doubt !== undefined || item.result?.inDoubt === true;
  const summary = { code: 'stopped' } as const;
  const updatedItem = { ...item, result: { summary, inDoubt }, attempts: countAttempts(item) };
  const stopEvent = { summary, ...(stoppedBy === undefined ? {} : { by: stoppedBy }) };
  const items = replaceItem(order, item.n, stopItem(updatedItem, stopEvent));
  return applyAndFinish(order, now, entry, { items });
}

/** Sent items without an answer become unknown. Unsent items wait for another claim. */
function applyReleased(order: Order, event: EventOf<'released'>, now: Date): Transition {
  const unansweredItems = order.items.filter((item) => item.state === 'SENT');
  return applyAndFinish(
    order,
    now,
    { kind: event.type, lost: unansweredItems.map((item) => item.ctid) },
    {
      state: 'APPROVED',
      claim: undefined,
      items: order.items.map((item) =>
        item.state === 'SENT' ? { ...item, state: 'UNKNOWN', result: NO_ANSWER_RESULT } : item,
      ),
    },
  );
}

function applyStopped(order: Order, event: EventOf<'stopped'>, now: Date): Transition | undefined {
  const { by, itemNumbers, doneByOrderId } = event;
  const isAffected = (item: OrderItem) =>
    item.state === 'WAITING' && (itemNumbers === undefined || itemNumbers.includes(item.n));
  // If a person has left, several parallel requests detect this. The first event stops all waiting items.
  if (!order.items.some(isAffected)) return undefined;
  // People can't stop a pending order. They cancel it.
  if (order.state === 'PENDING' && by !== undefined) return undefined;
  const entry = {
    kind: event.type,
    summary: event.summary,
    names: order.items.filter(isAffected).map(({ name }) => name),
    ...(doneByOrderId === undefined ? {} : { doneByOrderId }),
    ...(by === undefined ? {} : { actor: by }),
  };
  const isCancelled = by !== undefined || event.summary.code === 'policy_refuses';
  if (isCancelled && order.items.every(isUnsent)) {
    return applyChanges(order, now, entry, buildClosedFields('CANCELLED', now));
  }
  const items = order.items.map((item) => {
    if (isAffected(item)) return stopItem(item, event);
    // After a stop, a sent item isn't resent, even if the service didn't carry it out.
    return by !== undefined && item.state === 'SENT'
      ? {
          ...item,
          result: { ...(item.result ?? { summary: { code: 'stopped_while_sending' } }), stoppedBy: by },
        }
      : item;
  });
  return applyAndFinish(order, now, entry, { items });
}

/** Pauses a bulk order until a person resumes it. No request may be running. */
function applyPaused(order: Order, event: EventOf<'paused'>, now: Date): Transition | undefined {
  const { bulk } = order;
  const isAllowedWorker =
    order.state === 'APPROVED' ? event.workerId === undefined : isClaimedBy(order, event.workerId);
  if (!isAllowedWorker || bulk === undefined || bulk.pause !== undefined) return undefined;
  const hasUnansweredItem = order.items.some(({ state }) => state === 'SENT');
  if (hasUnansweredItem || findWaitingItems(order).length === 0) return undefined;
  const { reason, expiresAt } = event;
  return applyChanges(
    order,
    now,
    { kind: event.type, pause: reason, waiting: findWaitingItems(order).length },
    { state: 'APPROVED', claim: undefined, expiresAt, bulk: { ...bulk, pause: reason } },
  );
}

/** A person has reviewed the earlier failures, so the pause rules ignore them from now on. */
function applyResumed(order: Order, event: EventOf<'resumed'>, now: Date): Transition | undefined {
  const { bulk } = order;
  const { type, by, validApprovers, progress, budget } = event;
  if (bulk?.pause === undefined) return undefined;
  if (hasExpired(order, now)) return EXPIRED_REFUSAL;
  if (!progress.isApproved) return refuse({ code: 'approvals_missing', requirements: progress.requirements });
  if (budget.exceeded.length > 0 && budget.admins.length === 0)
    return refuse({ code: 'over_budget', exceeded: budget.exceeded });
  const isApproval = validApprovers.includes(by) || budget.admins.includes(by);
  const approvals = isApproval ? addOrUpdateApproval(order, event, now) : order.approvals;
  const logData = {
    waiting: findWaitingItems(order).length,
    ...buildApprovalLogData(order, approvals, event),
  };
  return applyChanges(
    order,
    now,
    { kind: type, actor: by, ...logData },
    { approvals, expiresAt: undefined, bulk: resumeBulk(order.items, bulk) },
  );
}

/** If an earlier request may have been carried out, the item becomes `UNKNOWN`, not `FAILED`. */
function stopItem(
  item: OrderItem,
  { summary, by, doneByOrderId }: Omit<EventOf<'stopped'>, 'type'>,
): OrderItem {
  const stopFields = {
    ...(by === undefined ? {} : { stoppedBy: by }),
    ...(doneByOrderId === undefined ? {} : { doneByOrderId }),
  };
  return item.result?.inDoubt === true
    ? {
        ...item,
        state: 'UNKNOWN',
        result: { summary: { code: 'earlier_unanswered', since: summary }, ...stopFields },
      }
    : { ...item, state: 'FAILED', result: { summary, ...stopFields } };
}

/**
 * An answer still counts after its item was marked as unknown. A worker that abandons an item without sending a request
 * needs the current claim, because another worker's request may be running.
 */
function applyAnswered(order: Order, event: EventOf<'answered'>, now: Date): Transition | undefined {
  const item = findItem(order, event.n);
  const isAnswerNewFor = (unknownItem: OrderItem) =>
    unknownItem.answeredAt === undefined ||
    (event.outcome !== 'UNKNOWN' && !hasSameAnswer(unknownItem, event.result));
  const isApplicable =
    event.abandonedBy === undefined
      ? item?.state === 'SENT' || (item?.state === 'UNKNOWN' && isAnswerNewFor(item))
      : event.outcome === (item?.result?.inDoubt === true ? 'UNKNOWN' : 'FAILED') &&
        isClaimedBy(order, event.abandonedBy) &&
        (item?.state === 'WAITING' || item?.state === 'SENT');
  if (item === undefined || !isApplicable) return undefined;
  const { type: kind, outcome, result, abandonedBy } = event;
  const workerField = abandonedBy === undefined ? {} : { workerId: abandonedBy };
  return applyAndFinish(
    order,
    now,
    { kind, ...pickRequestFields(item), ...workerField, outcome, result },
    {
      items: replaceItem(order, event.n, {
        state: outcome,
        answeredAt: now,
        result,
        attempts: countAttempts(item),
      }),
    },
  );
}

/**
 * The database may have lost sent requests, so orders that were about to be sent are stopped. If a lost request is
 * known, its order is stopped even if it is pending.
 */
function applyInvalidated(order: Order, event: EventOf<'invalidated'>, now: Date): Transition | undefined {
  const { summary, lostRequest } = event;
  const lostItem = findItem(order, lostRequest?.n);
  const isApplicable =
    lostRequest === undefined
      ? order.state === 'APPROVED' || order.state === 'EXECUTING'
      : lostItem !== undefined && !hasOutcome(lostItem);
  if (!isApplicable) return undefined;
  const lostRequestFields =
    lostRequest === undefined || lostItem === undefined
      ? {}
      : { ...pickRequestFields(lostItem), outcome: lostRequest.outcome, result: lostRequest.result };
  return applyAndFinish(
    order,
    now,
    { kind: event.type, summary, ...lostRequestFields },
    {
      items: order.items.map((item): OrderItem => {
        if (hasOutcome(item)) return item;
        if (item.n !== lostRequest?.n) return markUnknown(item, summary);
        const attempts = Math.max(item.attempts, lostRequest.attempts);
        const { sentAt, result } = lostRequest;
        return { ...item, state: 'UNKNOWN', sentAt, attempts, answeredAt: now, result };
      }),
    },
  );
}

/** The order's new version is higher than any version in the log. All items end, so nothing more is sent. */
function applyContradicted(order: Order, event: EventOf<'contradicted'>, now: Date): Transition {
  const { type: kind, difference, version, loggedOutcomes } = event;
  const baseOrder = { ...order, version: Math.max(order.version, version) };
  const entry = { kind, difference };
  const items = order.items.map((item): OrderItem => {
    if (hasOutcome(item)) return item;
    const loggedOutcome = loggedOutcomes.get(item.n);
    const result: ItemResult = {
      ...item.result,
      summary: { code: 'log_differs' },
      ...(loggedOutcome === undefined ? {} : { lateOutcome: loggedOutcome }),
    };
    return { ...item, state: 'FAILED', result };
  });
  if (isFinal(order.state)) {
    const isMandate = order.task === 'mandate' && order.state === 'SUCCEEDED';
    const mandateEnd = order.mandateEnd ?? ({ at: now, cause: 'log_differs' } as const);
    return applyChanges(baseOrder, now, entry, {
      items,
      ...(isMandate ? { mandateEnd, ...NO_DEADLINES } : {}),
    });
  }
  const closingResult = applyChanges(baseOrder, now, entry, { items, ...buildClosedFields('FAILED', now) });
  return {
    ...closingResult,
    log: [...closingResult.log, buildFinishedEntry(closingResult.order, kind, now)],
  };
}

function markUnknown(item: OrderItem, summary: ItemSummary): OrderItem {
  return item.state === 'UNKNOWN' ? item : { ...item, state: 'UNKNOWN', result: { ...item.result, summary } };
}

function applyHinted(order: Order, event: EventOf<'hinted'>, now: Date): Transition | undefined {
  const { n, hint } = event;
  const item = findItem(order, n);
  const savedHint = item?.result?.hint;
  const isSameHint = isDeepStrictEqual(savedHint?.seen, hint.seen) && savedHint?.source === hint.source;
  if (item?.state !== 'UNKNOWN' || isSameHint) return undefined;
  return applyChanges(
    order,
    now,
    { kind: event.type, ...pickRequestFields(item), hint: hint.seen, source: hint.source },
    { items: replaceItem(order, n, { result: { ...(item.result ?? NO_ANSWER_RESULT), hint } }) },
  );
}

function applyResolved(order: Order, event: EventOf<'resolved'>, now: Date): Transition | undefined {
  const unknownItems = order.items.filter(
    (item) => item.state === 'UNKNOWN' && (event.n === undefined || item.n === event.n),
  );
  if (unknownItems.length === 0) return undefined;
  const summary: ItemSummary = { code: 'settled', outcome: event.outcome };
  const logData = {
    outcome: event.outcome,
    reason: event.reason ?? null,
    ...(event.proof === undefined ? {} : { seen: event.proof }),
    ctids: unknownItems.map((item) => item.ctid),
  };
  return applyAndFinish(
    order,
    now,
    { kind: event.type, actor: event.by, ...logData },
    {
      items: order.items.map((item) =>
        unknownItems.includes(item)
          ? { ...item, state: event.outcome, result: { ...item.result, summary, resolvedBy: event.by } }
          : item,
      ),
    },
  );
}

/**
 * An ended item keeps its state, because people and later orders rely on that state. The late outcome is stored in the
 * item's result, and people are notified.
 */
function applyAnsweredLate(order: Order, event: EventOf<'answered_late'>, now: Date): Transition | undefined {
  const item = findItem(order, event.n);
  const hasEnded = isFinal(order.state) || item?.state === 'SUCCEEDED' || item?.state === 'FAILED';
  if (item === undefined || !hasEnded) return undefined;
  const { summary, resolvedBy, lateOutcome } = item.result ?? {};
  // The person who settled the item already knew that its outcome was unknown.
  const isDoubtAlreadyKnown = event.outcome === 'UNKNOWN' && resolvedBy !== undefined;
  const wasSendingLost = item.sentAt === undefined && resolvedBy === undefined;
  const isLateOutcomeKnown =
    lateOutcome === 'SUCCEEDED' || (lateOutcome === 'UNKNOWN' && event.outcome === 'UNKNOWN');
  if (isDoubtAlreadyKnown || isLateOutcomeKnown || hasSameAnswer(item, event.result)) return undefined;
  const { type: kind, outcome, result } = event;
  const settledFields = resolvedBy === undefined ? {} : { resolvedBy };
  const updatedResult: ItemResult = {
    ...result,
    ...settledFields,
    summary: wasSendingLost || summary === undefined ? { code: 'sending_lost' } : summary,
    lateOutcome: outcome,
  };
  return applyChanges(
    order,
    now,
    { kind, ...pickRequestFields(item), outcome, ...settledFields, agrees: outcome === item.state, result },
    { items: replaceItem(order, event.n, { answeredAt: now, result: updatedResult }) },
  );
}

function applyConfirmedByRegistry(
  order: Order,
  event: EventOf<'confirmed_by_registry'>,
  now: Date,
): Transition | undefined {
  const item = findItem(order, event.n);
  const isConfirmed = item?.result?.confirmedByRegistry === true;
  if (item?.state !== 'SUCCEEDED' || item.result === undefined || isConfirmed) return undefined;
  return applyChanges(
    order,
    now,
    { kind: event.type, actor: EVIDENCE_ACTOR, n: item.n, name: item.name },
    { items: replaceItem(order, item.n, { result: { ...item.result, confirmedByRegistry: true } }) },
  );
}

function applyOverdue(order: Order, event: EventOf<'overdue'>, now: Date): Transition | undefined {
  const item = findItem(order, event.n);
  if (item?.state !== 'SUCCEEDED' || item.result === undefined) return undefined;
  if (item.result.confirmedByRegistry === true || item.result.isOverdue === true) return undefined;
  return applyChanges(
    order,
    now,
    { kind: event.type, actor: EVIDENCE_ACTOR, n: item.n, name: item.name, days: event.days },
    { items: replaceItem(order, item.n, { result: { ...item.result, isOverdue: true } }) },
  );
}

function applyDelegationSeen(
  order: Order,
  event: EventOf<'delegation_seen'>,
  now: Date,
): Transition | undefined {
  const { n, delegation, hosts, hours } = event;
  const item = findItem(order, n);
  const hasChanged = item?.result?.delegation !== delegation;
  if (item?.state !== 'SUCCEEDED' || item.result === undefined || !hasChanged) return undefined;
  return applyChanges(
    order,
    now,
    { kind: event.type, actor: EVIDENCE_ACTOR, n, name: item.name, delegation, hosts: [...hosts], hours },
    { items: replaceItem(order, n, { result: { ...item.result, delegation } }) },
  );
}

/** The review stays open until another admin signs off, whatever the order's outcome. */
function applySignedOff(order: Order, { type, by }: EventOf<'signed_off'>, now: Date): Transition {
  const { emergencyApprovedBy, signedOffBy } = order;
  if (emergencyApprovedBy === undefined) return refuse({ code: 'nothing_to_sign_off' });
  if (signedOffBy !== undefined) return refuse({ code: 'already_signed_off', by: signedOffBy });
  if (emergencyApprovedBy === by) return refuse({ code: 'own_emergency_approval' });
  if (isRequester(order, by)) return refuse({ code: 'own_order_to_sign_off' });
  return applyChanges(order, now, { kind: type, actor: by, emergencyApprovedBy }, { signedOffBy: by });
}

/** A mandate sends nothing, so it succeeds when it starts. */
function applyInForce(
  order: Order,
  { type, ...deadlines }: EventOf<'in_force'>,
  now: Date,
): Transition | undefined {
  if (order.task !== 'mandate') return undefined;
  const result = { summary: { code: 'in_force' } } as const;
  const items = order.items.map(
    (item) => ({ ...item, state: 'SUCCEEDED', answeredAt: now, result }) as const,
  );
  const { log, order: startedOrder } = applyAndFinish(
    order,
    now,
    { kind: type, until: deadlines.expiresAt },
    { items },
  );
  return { ok: true, log, order: { ...startedOrder, ...deadlines } };
}

function applyMandateEnding(
  order: Order,
  { type }: EventOf<'mandate_ending'>,
  now: Date,
): Transition | undefined {
  const { task, mandateEnd, remindAt, expiresAt } = order;
  const isDue = remindAt !== undefined && remindAt <= now && expiresAt !== undefined;
  if (task !== 'mandate' || mandateEnd !== undefined || !isDue) return undefined;
  return applyChanges(order, now, { kind: type, until: expiresAt }, { remindAt: undefined });
}

function applyMandateEnded(order: Order, event: EventOf<'mandate_ended'>, now: Date): Transition | undefined {
  const { type, cause, by } = event;
  if (order.task !== 'mandate' || order.mandateEnd !== undefined) return undefined;
  const actorField = cause === 'person' && by !== undefined ? { actor: by } : {};
  const personField = by === undefined ? {} : { by };
  return applyChanges(
    order,
    now,
    { kind: type, ...actorField, cause, ...personField },
    { mandateEnd: { at: now, cause, ...personField }, ...NO_DEADLINES },
  );
}

function refuse(refusal: Refusal): Transition {
  return { ok: false, refusal };
}

const EXPIRED_REFUSAL = refuse({ code: 'order_expired' });

function hasExpired({ expiresAt }: Order, now: Date): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function findItem({ items }: Order, n: number | undefined): OrderItem | undefined {
  return items.find((item) => item.n === n);
}

function pickRequestFields({ n, name, ctid }: OrderItem) {
  return { n, name, ctid };
}

function isClaimedBy(order: Order, workerId: string | undefined): boolean {
  return order.state === 'EXECUTING' && workerId !== undefined && order.claim?.workerId === workerId;
}

function replaceItem(order: Order, n: number, changes: Partial<OrderItem>): readonly OrderItem[] {
  return order.items.map((item) => (item.n === n ? { ...item, ...changes } : item));
}

/** Counts an attempt that failed before the item was marked as sent, so that attempts aren't repeated forever. */
function countAttempts(item: OrderItem): number {
  return item.state === 'WAITING' ? item.attempts + 1 : item.attempts;
}

/** Whether an item certainly wasn't carried out: it was never sent, or the service refused it because it was busy. */
function isUnsent(item: OrderItem): boolean {
  return item.state === 'WAITING' && item.result?.inDoubt !== true;
}

/** Whether an item failed without an answer and wasn't settled by a person. */
function wasStopped({ state, answeredAt, result }: OrderItem): boolean {
  return state === 'FAILED' && answeredAt === undefined && result?.resolvedBy === undefined;
}

function hasOutcome({ state }: OrderItem): boolean {
  return state === 'SUCCEEDED' || state === 'FAILED';
}

/** The same answer may be committed twice, because a commit can succeed although its confirmation is lost. */
function hasSameAnswer(item: OrderItem, result: ItemResult): boolean {
  const storedAnswer = pickServiceFields(item.result);
  const isEmpty = Object.values(storedAnswer).every((value) => value === undefined);
  return (
    item.answeredAt !== undefined && !isEmpty && isDeepStrictEqual(storedAnswer, pickServiceFields(result))
  );
}

/** Picks the part of a result that came from the service, without the bot's own summary, which may change later. */
function pickServiceFields(result: ItemResult | undefined) {
  const { code, text, stid, httpStatus, messages, errorKind } = result ?? {};
  return { code, text, stid, httpStatus, messages, errorKind };
}

const SYSTEM_ACTOR = 'system';

const NO_ANSWER_RESULT: ItemResult = { summary: { code: 'no_answer_known' } };
const PAUSE_EXPIRED_SUMMARY = { code: 'pause_expired' } as const;

const NO_DEADLINES = { expiresAt: undefined, remindAt: undefined, escalateAt: undefined } as const;

function buildClosedFields(state: OrderState, now: Date): Partial<Order> {
  return { state, closedAt: now, ...NO_DEADLINES, claim: undefined };
}

/** A log entry without the fields that {@link applyChanges} adds. The actor defaults to the bot. */
type NewLogEntry<Entry = OrderLogEntry> = Entry extends unknown
  ? Omit<Entry, 'actor' | 'at' | 'state' | 'version'> & { readonly actor?: string }
  : never;

function applyChanges(order: Order, now: Date, entry: NewLogEntry, changes: Partial<Order>): Success {
  const changedOrder: Order = { ...order, ...changes, version: order.version + 1 };
  return {
    ok: true,
    order: changedOrder,
    log: [
      {
        ...entry,
        actor: entry.actor ?? SYSTEM_ACTOR,
        at: now,
        state: changedOrder.state,
        version: changedOrder.version,
      },
    ],
  };
}

/** Applies a change. If all items have ended, the order gets its outcome. */
function applyAndFinish(order: Order, now: Date, entry: NewLogEntry, changes: Partial<Order>): Success {
  const result = applyChanges(order, now, entry, changes);
  const outcome = computeOrderOutcome(result.order.items);
  if (outcome === undefined || outcome === result.order.state) return result;
  const finishedOrder = {
    ...result.order,
    ...buildClosedFields(outcome, now),
    closedAt: outcome === 'UNKNOWN' ? undefined : now,
  };
  return {
    ok: true,
    order: finishedOrder,
    log: [
      ...result.log.map((logEntry) => ({ ...logEntry, state: outcome })),
      buildFinishedEntry(finishedOrder, entry.kind, now),
    ],
  };
}

function buildFinishedEntry({ state, version }: Order, endingEvent: string, at: Date): OrderLogEntry {
  return { kind: 'finished', actor: SYSTEM_ACTOR, endingEvent, at, state, version };
}
