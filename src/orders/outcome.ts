import { isFinal, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { RequestSummary } from './summary.ts';

/*
 * What a worker makes of its request’s outcome. Nothing that is known of a request that left is thrown away,
 * whatever the order says by then.
 */

export type AnsweredEvent = OrderEvent & {
  readonly type: 'answered';
  readonly result: { readonly summary: RequestSummary };
};
type RetryScheduledEvent = OrderEvent & { readonly type: 'retry_scheduled' };

/** How a try to carry an item out ended. */
export interface SendOutcome {
  readonly event: AnsweredEvent | RetryScheduledEvent;
  /** The item as it was marked before its request left; undefined when nothing left. */
  readonly sent: OrderItem | undefined;
  /** Of a request that left and may go again: its end, should the item have been given up meanwhile. */
  readonly end?: AnsweredEvent;
}

/** What an outcome is to its order as that stands by now. Pure. */
export function eventOfOutcome(current: Order, outcome: SendOutcome): OrderEvent {
  const { event, sent, end } = outcome;
  const item = current.items.find(({ n }) => n === event.n);
  // What never left speaks for its own claim alone, and so does what was held back and is known to have been.
  if (sent === undefined || item === undefined) return event;
  if (event.type === 'retry_scheduled' && (item.state === 'SENT' || isRetryScheduled(item, event, sent)))
    return event;
  const said = event.type === 'answered' ? event : (end ?? event);
  if (said.type === 'retry_scheduled') return said;
  const { n, outcome: became, result } = said;
  // The connection was refused after the mark: nothing left, which is news only where it was taken for sent.
  const isTakenForSent = item.state === 'UNKNOWN' || item.result?.resolvedBy !== undefined;
  if (result.errorKind === 'not_sent' && !isTakenForSent) return event;
  if (isFinal(current.state) || item.state === 'SUCCEEDED' || item.state === 'FAILED')
    return { type: 'answered_late', n, outcome: became, result };
  return item.state === 'WAITING' ? lostRequest(said, sent) : said;
}

/** Whether this very outcome was committed before: only that lets an item’s tries go on. */
function isRetryScheduled(item: OrderItem, event: RetryScheduledEvent, sent: OrderItem): boolean {
  if (item.attempts !== sent.attempts) return item.attempts > sent.attempts;
  return item.sentAt === undefined && (event.doubt === undefined || item.result?.inDoubt === true);
}

/** The doubt that stops an order whose row has lost that a request left. */
export function lostRequest(
  said: AnsweredEvent,
  sent: OrderItem,
): OrderEvent & { readonly type: 'invalidated' } {
  const { n, outcome, result } = said;
  return {
    type: 'invalidated',
    summary: { code: 'may_be_sent_too' },
    known: {
      n,
      sentAt: sent.sentAt,
      attempts: sent.attempts,
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
