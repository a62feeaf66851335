import { DAY_MS } from '../lib/duration.ts';
import { DS_FACTS, FACT_NAMES, type FactName, isSameValue, NAMESERVER_FACTS } from './facts.ts';
import { type FactChange, listValues, type NameHistory } from './history.ts';
import type { KnownChange } from './unexplained-changes.ts';

export interface PastChange extends FactChange {
  /** The order that explains the change; `none` if unexplained; undefined if no order is needed. */
  readonly cause: { readonly orderId: string } | 'none' | undefined;
}

/** Omitted from the timeline, because they follow from other facts or change with every edit. */
export const UNLISTED_FACTS: ReadonlySet<FactName> = new Set([
  'updated_at',
  'transport',
  'soa',
  'requested_ds',
  'dnskey',
  'registrar_expires_at',
  'signatures',
  'certificate',
  'www_certificate',
]);
const SAME_CHANGE_WINDOW_MS = 14 * DAY_MS;

/** Lists changes, latest first. A change that several facts show is listed once. */
export function listPastChanges(history: NameHistory, knownChanges: readonly KnownChange[]): PastChange[] {
  const factChanges = FACT_NAMES.filter((fact) => !UNLISTED_FACTS.has(fact)).flatMap((fact) =>
    listFactChanges(fact, history, knownChanges),
  );
  return factChanges
    .filter((change) => !isDuplicate(change, factChanges))
    .sort((a, b) => b.afterFirstSeenAt.getTime() - a.afterFirstSeenAt.getTime());
}

function listFactChanges(
  fact: FactName,
  history: NameHistory,
  knownChanges: readonly KnownChange[],
): PastChange[] {
  const values = listValues(history, fact);
  return values.slice(0, -1).flatMap((knownValue, index): PastChange[] => {
    const before = values[index + 1];
    if (before === undefined) return [];
    return [
      {
        fact,
        before: before.value,
        after: knownValue.value,
        beforeLastSeenAt: before.lastSeen,
        afterFirstSeenAt: knownValue.firstSeen,
        cause: findCause(fact, knownValue.firstSeen, knownChanges),
      },
    ];
  });
}

function findCause(
  fact: FactName,
  firstSeen: Date,
  knownChanges: readonly KnownChange[],
): PastChange['cause'] {
  const matchingChanges = knownChanges.filter(
    (known) =>
      known.facts.includes(fact) &&
      Math.abs(known.firstSeen.getTime() - firstSeen.getTime()) <= SAME_CHANGE_WINDOW_MS,
  );
  const exactMatch = matchingChanges.find((known) => known.firstSeen.getTime() === firstSeen.getTime());
  const cause = exactMatch ?? matchingChanges[0];
  if (cause === undefined) return undefined;
  return cause.orderId === undefined ? 'none' : { orderId: cause.orderId };
}

/** Whether a related fact that takes precedence shows the same change. */
function isDuplicate(change: PastChange, factChanges: readonly PastChange[]): boolean {
  const relatedFacts = [NAMESERVER_FACTS, DS_FACTS].find((facts) => facts.includes(change.fact)) ?? [];
  const precedingFacts = relatedFacts.slice(0, relatedFacts.indexOf(change.fact));
  return factChanges.some(
    (other) =>
      precedingFacts.includes(other.fact) &&
      Math.abs(other.afterFirstSeenAt.getTime() - change.afterFirstSeenAt.getTime()) <=
        SAME_CHANGE_WINDOW_MS &&
      (relatedFacts === DS_FACTS
        ? (other.after.length === 0) === (change.after.length === 0)
        : isSameValue(change.fact, other.after, change.after)),
  );
}
