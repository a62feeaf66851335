import type { RecheckDecision } from '../approvals/decide-scheduled.ts';
import type { HoldReason } from '../mandates/codes.ts';
import { findNextItems, findPauseReason } from './bulk/waves.ts';
import { hasPassed } from './clock.ts';
import { findWaitingItems, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { MemberCheck } from './parties.ts';
import type { StatementPart } from './summary.ts';
import { findRuleChange } from './tasks.ts';

/* Decides whether an approved order is sent now, waits, or ends. Pure. */

type ClaimedEvent = Extract<OrderEvent, { readonly type: 'claimed' }>;
type PausedEvent = Extract<OrderEvent, { readonly type: 'paused' }>;
type ReopenedEvent = Extract<OrderEvent, { readonly type: 'reopened' }>;
type StoppedEvent = Extract<OrderEvent, { readonly type: 'stopped' }>;

/** Facts for a decision from the order's row alone. */
export interface ClaimFacts {
  readonly order: Order;
  readonly now: Date;
  /** When a pause that starts now would end. */
  readonly pauseEndsAt: Date;
  readonly changedParts: readonly StatementPart[] | undefined;
}

/** Facts loaded for an order whose row allows sending. */
export interface SendingFacts {
  /** Unique per claim, because a process may lose an order and claim it again. */
  readonly workerId: string;
  /** Whether the mandate allows sending; undefined for an order without a mandate. */
  readonly clearance:
    | { readonly kind: 'clear' }
    | { readonly kind: 'later'; readonly until: Date }
    | { readonly kind: 'held'; readonly code: HoldReason }
    | undefined;
  readonly memberCheck: MemberCheck;
  /** Whether anything has changed since a scheduled order's approval. */
  readonly recheck: RecheckDecision;
  /** Whether this replica lacks the key for the encrypted credential or input. */
  readonly isKeyUnknown: boolean;
}

export type SendingDecision =
  | { readonly kind: 'claim'; readonly event: ClaimedEvent }
  | { readonly kind: 'end'; readonly event: StoppedEvent | PausedEvent | ReopenedEvent }
  /** The mandate holds the order. */
  | { readonly kind: 'held'; readonly holdReason: HoldReason; readonly event: StoppedEvent }
  | { readonly kind: 'not_due' }
  | { readonly kind: 'later'; readonly until: Date }
  /** Slack can't look up whether this person is a member. */
  | { readonly kind: 'membership_unknown'; readonly userId: string }
  /** Another replica may have the key. */
  | { readonly kind: 'key_unknown' };

export function isDue({ state, notBefore }: OrderItem, now: Date): boolean {
  return state === 'WAITING' && (notBefore === undefined || hasPassed(notBefore, now));
}

/** Decides from the order's row alone whether to send it. @returns undefined if the row allows sending */
export function decideClaim(facts: ClaimFacts): SendingDecision | undefined {
  const { order, now, changedParts } = facts;
  const nextItems = findNextItems(order);
  if (order.state !== 'APPROVED') return { kind: 'not_due' };
  const { sendAfter, mandate } = order;
  // A mandate's order must have a send time.
  if (sendAfter === undefined ? mandate !== undefined : sendAfter > now) return { kind: 'not_due' };
  if (nextItems.length > 0 && !nextItems.some((item) => isDue(item, now))) return { kind: 'not_due' };
  const waveDecision = decideWave(order, facts.pauseEndsAt);
  if (waveDecision !== undefined) return waveDecision;
  return (
    changedParts && {
      kind: 'end',
      event: buildStoppedEvent({ code: 'statement_changed', parts: [...changedParts] }),
    }
  );
}

/**
 * Decides whether the next wave of a bulk order, or any other order as a whole, may be sent.
 * @param workerId the worker that has claimed the order, if any
 * @returns undefined if it may be sent
 */
export function decideWave(
  order: Order,
  pauseEndsAt: Date,
  workerId?: string,
): Extract<SendingDecision, { kind: 'end' | 'not_due' }> | undefined {
  if (order.bulk?.pause !== undefined) return { kind: 'not_due' };
  const pauseReason = findWaitingItems(order).length === 0 ? undefined : findPauseReason(order);
  if (pauseReason !== undefined) {
    const workerField = workerId === undefined ? {} : { workerId };
    return {
      kind: 'end',
      event: { type: 'paused', reason: pauseReason, expiresAt: pauseEndsAt, ...workerField },
    };
  }
  const ruleChange = findRuleChange(order, findNextItems(order));
  return ruleChange && { kind: 'end', event: buildStoppedEvent(ruleChange) };
}

export function decideSending(facts: SendingFacts): SendingDecision {
  const { workerId, clearance, memberCheck, recheck, isKeyUnknown } = facts;
  if (clearance?.kind === 'held') return buildMandateHoldDecision(clearance.code);
  if (clearance?.kind === 'later') return clearance;
  if (memberCheck.kind === 'left') return { kind: 'end', event: buildStoppedEvent(memberCheck.summary) };
  if (memberCheck.kind === 'unknown') return { kind: 'membership_unknown', userId: memberCheck.userId };
  if (recheck.kind === 'changed') return { kind: 'end', event: recheck.event };
  if (recheck.kind === 'unclear') return { kind: 'later', until: recheck.until };
  if (isKeyUnknown) return { kind: 'key_unknown' };
  return { kind: 'claim', event: { type: 'claimed', workerId } };
}

export function buildMandateHoldDecision(holdReason: HoldReason): Extract<SendingDecision, { kind: 'held' }> {
  return { kind: 'held', holdReason, event: buildStoppedEvent({ code: 'mandate_held', holdReason }) };
}

function buildStoppedEvent(summary: StoppedEvent['summary']): StoppedEvent {
  return { type: 'stopped', summary };
}
