import type { UnguardedEvent } from './change-order.ts';
import { buildErrorResult } from './item-result.ts';
import { isFinal, type Order, type OrderAccount, type OrderEvent, type OrderItem } from './order.ts';
import type { OrderTask } from './order-task.ts';
import { decideResend } from './resend.ts';
import type { RequestSummary } from './summary.ts';

/*
 * Builds the event for the outcome of a request. A sent request's outcome is recorded in any state of the order.
 */

export type AnsweredEvent = OrderEvent & {
  readonly type: 'answered';
  readonly result: { readonly summary: RequestSummary };
};
type RetryScheduledEvent = OrderEvent & { readonly type: 'retry_scheduled' };

export interface SendOutcome {
  readonly event: AnsweredEvent | RetryScheduledEvent;
  /** The item as saved before the request was sent; undefined if no request was sent. */
  readonly sentItem: OrderItem | undefined;
  /** For a scheduled retry: the outcome to record if the item can no longer be retried. */
  readonly finalAnswer?: AnsweredEvent;
}

export interface RequestProgress {
  readonly task: OrderTask;
  readonly account: OrderAccount;
  /** The item when its order was claimed. */
  readonly item: OrderItem;
  readonly workerId: string;
  /** The item as saved before the last request; undefined if no request can have been sent. */
  readonly sentItem: OrderItem | undefined;
  /** Whether the last request may have been carried out. */
  readonly mayBeDone: boolean;
}

export function buildErrorOutcome(error: unknown, progress: RequestProgress, now: Date): SendOutcome {
  const { task, item, workerId, sentItem } = progress;
  const decision = decideResend(error, task, sentItem?.attempts ?? item.attempts + 1, progress.mayBeDone);
  if (decision.kind === 'final')
    return { event: buildErrorAnswer(error, progress, decision.outcome), sentItem };
  const { retryReason, inDoubt = item.result?.inDoubt ?? false } = decision;
  return {
    event: {
      type: 'retry_scheduled',
      workerId,
      n: item.n,
      notBefore: new Date(now.getTime() + decision.afterMs),
      retryReason,
      ...(inDoubt ? { doubt: { code: 'sent_again' } as const } : {}),
    },
    sentItem,
    ...(sentItem === undefined
      ? {}
      : { finalAnswer: buildErrorAnswer(error, progress, inDoubt ? 'UNKNOWN' : 'FAILED') }),
  };
}

function buildErrorAnswer(
  error: unknown,
  { account, item, workerId, sentItem }: RequestProgress,
  outcome: 'FAILED' | 'UNKNOWN',
): AnsweredEvent {
  const result = buildErrorResult(error, outcome, account);
  const event = {
    type: 'answered',
    n: item.n,
    ...(sentItem === undefined ? { abandonedBy: workerId } : {}),
  } as const;
  // An earlier request may still have been carried out.
  return outcome === 'FAILED' && item.result?.inDoubt === true
    ? {
        ...event,
        outcome: 'UNKNOWN',
        result: { ...result, summary: { code: 'earlier_unanswered', since: result.summary } },
      }
    : { ...event, outcome, result };
}

/** Builds the event that records an outcome in the order's current state. Pure. */
export function buildOutcomeEvent(current: Order, outcome: SendOutcome): UnguardedEvent {
  const { event, sentItem, finalAnswer } = outcome;
  const item = current.items.find(({ n }) => n === event.n);
  // If no request was sent, or the retry is already scheduled, the event applies only to the worker's own claim.
  if (sentItem === undefined || item === undefined) return event;
  if (event.type === 'retry_scheduled' && (item.state === 'SENT' || isRetryScheduled(item, event, sentItem)))
    return event;
  const answer = event.type === 'answered' ? event : (finalAnswer ?? event);
  if (answer.type === 'retry_scheduled') return answer;
  const { n, outcome: answerOutcome, result } = answer;
  // Nothing was sent, because the connection was refused. People need to know only if the item was treated as sent.
  const wasTreatedAsSent = item.state === 'UNKNOWN' || item.result?.resolvedBy !== undefined;
  if (result.errorKind === 'not_sent' && !wasTreatedAsSent) return event;
  if (isFinal(current.state) || item.state === 'SUCCEEDED' || item.state === 'FAILED')
    return { type: 'answered_late', n, outcome: answerOutcome, result };
  return item.state === 'WAITING' ? buildLostRequestEvent(answer, sentItem) : answer;
}

/** Whether the item's row already contains the retry. */
function isRetryScheduled(item: OrderItem, event: RetryScheduledEvent, sentItem: OrderItem): boolean {
  if (item.attempts !== sentItem.attempts) return item.attempts > sentItem.attempts;
  return item.sentAt === undefined && (event.doubt === undefined || item.result?.inDoubt === true);
}

/** Builds the event that stops an order whose row lacks a sent request. */
export function buildLostRequestEvent(
  answer: AnsweredEvent,
  sentItem: OrderItem,
): OrderEvent & { readonly type: 'invalidated' } {
  const { n, outcome, result } = answer;
  return {
    type: 'invalidated',
    summary: { code: 'may_also_be_sent' },
    lostRequest: {
      n,
      sentAt: sentItem.sentAt,
      attempts: sentItem.attempts,
      outcome,
      result: {
        ...result,
        summary: {
          code: 'sending_lost',
          since: outcome === 'SUCCEEDED' ? { code: 'answered_done' } : result.summary,
        },
      },
    },
  };
}
