import type { Order } from '../orders/order.ts';
import { fitsPatterns, type NamePatterns, sortPatterns } from '../policy/name-patterns.ts';
import { subjectOf } from '../policy/subject.ts';
import type { MandateEnd } from './codes.ts';
import { endOfMandate, type MandateTerms, mandateTerms } from './terms.ts';

/**
 * A mandate: an order that sends nothing itself and is `SUCCEEDED` while in force. Its approvals count for the
 * renewals it makes, each an order of its own. Pure.
 */

/** A mandate that has been in force, read from its order. */
export interface Mandate {
  readonly id: string;
  readonly since: Date;
  readonly terms: MandateTerms;
  readonly patterns: NamePatterns;
  /** First moment after its last day. */
  readonly endsAt: Date;
  readonly end: MandateEnd | undefined;
}

/** A mandate in force, with its order. */
export interface MandateInForce {
  readonly order: Order;
  readonly mandate: Mandate;
}

/** @returns undefined for another kind of order, or one that hasn't come into force */
export function mandateOf(order: Order): Mandate | undefined {
  if (order.task !== 'mandate' || order.state !== 'SUCCEEDED' || order.closedAt === undefined)
    return undefined;
  const terms = mandateTerms.safeParse(order.input).data;
  if (terms === undefined) return undefined;
  return {
    id: order.id,
    since: order.closedAt,
    terms,
    patterns: sortPatterns(terms.mandate_names),
    endsAt: endOfMandate(terms),
    end: order.mandateEnd,
  };
}

/** Whether a mandate allows sending at a moment. */
export function isInForce({ end, endsAt }: Mandate, at: Date): boolean {
  return end === undefined && at < endsAt;
}

export function covers({ patterns }: Mandate, name: string, touched: readonly string[]): boolean {
  return fitsPatterns(patterns, subjectOf(name, 'host'), touched) === 'yes';
}

/** If several mandates cover a name, the oldest acts, whatever the others allow. */
function byAge(a: Mandate, b: Mandate): number {
  return a.since.getTime() - b.since.getTime() || (a.id < b.id ? -1 : 1);
}

export function mandateFor(
  mandates: readonly Mandate[],
  name: string,
  touched: readonly string[],
  at: Date,
): Mandate | undefined {
  return mandates
    .filter((mandate) => isInForce(mandate, at) && covers(mandate, name, touched))
    .toSorted(byAge)[0];
}
