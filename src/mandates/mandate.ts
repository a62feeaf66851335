import type { Order } from '../orders/order.ts';
import { parseMandateTerms } from '../orders/tasks.ts';
import { matchPatterns, type NamePatterns, splitPatterns } from '../policy/name-patterns.ts';
import { toAffectedName } from '../policy/subject.ts';
import type { MandateEnd } from './codes.ts';
import { computeMandateEnd, type MandateTerms } from './terms.ts';

/**
 * A mandate is an order that sends nothing itself and is `SUCCEEDED` while active. Each renewal is a separate order
 * that needs no approvals of its own. Pure.
 */

/** A started mandate, read from its order. */
export interface Mandate {
  readonly id: string;
  readonly startedAt: Date;
  readonly terms: MandateTerms;
  readonly patterns: NamePatterns;
  /** The end according to the terms. */
  readonly endsAt: Date;
  /** Set if the mandate has ended. */
  readonly end: MandateEnd | undefined;
}

export interface ActiveMandate {
  readonly order: Order;
  readonly mandate: Mandate;
}

/** @returns undefined for any other order, or a mandate that hasn't started */
export function readMandate(order: Order): Mandate | undefined {
  if (order.task !== 'mandate' || order.state !== 'SUCCEEDED' || order.closedAt === undefined)
    return undefined;
  const terms = parseMandateTerms(order.input);
  if (terms === undefined) return undefined;
  return {
    id: order.id,
    startedAt: order.closedAt,
    terms,
    patterns: splitPatterns(terms.mandate_names),
    endsAt: computeMandateEnd(terms),
    end: order.mandateEnd,
  };
}

export function isActive({ end, endsAt }: Mandate, at: Date): boolean {
  return end === undefined && at < endsAt;
}

export function coversName({ patterns }: Mandate, name: string, affectedTags: readonly string[]): boolean {
  return matchPatterns(patterns, toAffectedName(name, 'host'), affectedTags) === 'yes';
}

function compareAge(a: Mandate, b: Mandate): number {
  return a.startedAt.getTime() - b.startedAt.getTime() || (a.id < b.id ? -1 : 1);
}

/** If several mandates cover a name, the oldest applies, even if another one allows more. */
export function findApplicableMandate(
  mandates: readonly Mandate[],
  name: string,
  affectedTags: readonly string[],
  at: Date,
): Mandate | undefined {
  return mandates
    .filter((mandate) => isActive(mandate, at) && coversName(mandate, name, affectedTags))
    .toSorted(compareAge)[0];
}
