import { isDemoContext } from '../accounts/account.ts';
import { inputOfItem, type Order, type OrderItem, periodOf } from '../orders/order.ts';
import { zoneFor } from '../zones/rules.ts';
import { newlyWatched } from './change.ts';
import { addYears } from './expiry-date.ts';
import type { WatchedDomain, WatchListStore } from './ports.ts';
import type { TrustedRecord } from './trust.ts';

/** What {@link followOrder} needs. */
export interface FollowDeps {
  readonly store: WatchListStore;
  readonly now: () => Date;
}

const DAY_MS = 86_400_000;
const DEFAULT_GRACE_DAYS = 45;

/**
 * Adds the success of an order to the watch list: a registered, transferred or renewed name is watched, a renewal ends
 * its reminders, a deletion starts the name's last periods. Safe to repeat.
 * @param n the item of the order, from 1
 * @returns the name, whose date the registry's record should confirm; undefined when there was nothing to do
 */
export async function followOrder(deps: FollowDeps, order: Order, n: number): Promise<string | undefined> {
  const item = order.items.find((each) => each.n === n);
  if (item?.state !== 'SUCCEEDED') return undefined;
  const now = deps.now();
  const first = await deps.store.follow(order.id, n, now, (known) => afterSuccess(order, item, known, now));
  return first ? item.name : undefined;
}

/**
 * The entry of the list after an order for its name succeeded.
 * @returns undefined when nothing changes: names of the demo system are not on the list, and a name that is deleted or
 * restored is watched only if it was before
 */
export function afterSuccess(
  order: Pick<Order, 'task' | 'input' | 'account' | 'requesterId'>,
  item: Pick<OrderItem, 'name' | 'answeredAt' | 'input'>,
  known: WatchedDomain | undefined,
  now: Date,
): WatchedDomain | undefined {
  if (isDemoContext(order.account.context)) return undefined;
  const doneAt = item.answeredAt ?? now;
  const domain = { ...(known ?? newlyWatched(item.name, order.requesterId, now)), nextCheckAt: now };
  const mine = { registeredBy: order.requesterId, checkProblem: undefined };
  const undecided = { snooze: undefined, lapse: undefined };
  const years = periodOf(inputOfItem(order, item)) ?? 1;

  switch (order.task) {
    case 'create': {
      const at = addYears(doneAt, years);
      const fresh = { renewed: undefined, deletedAt: undefined, trusted: anyRegistrar(doneAt) };
      return { ...domain, ...mine, ...undecided, ...fresh, expiry: { at, source: 'order' } };
    }
    case 'renew': {
      const until = paidUntil(item.name, known, years, doneAt);
      const renewed = { until, at: doneAt };
      return { ...domain, ...mine, ...undecided, renewed, expiry: { at: until, source: 'order' } };
    }
    case 'transfer': {
      // A transfer takes days and may be refused, so a date of the registry stays until its record shows another.
      const expected = { trusted: transferKnown(domain, doneAt) };
      if (known?.expiry?.source === 'rdap') return { ...domain, ...mine, ...expected };
      const at = paidUntil(item.name, known, years, doneAt);
      return { ...domain, ...mine, ...expected, expiry: { at, source: 'order' } };
    }
    case 'delete':
      return known && { ...domain, deletedAt: doneAt };
    case 'restore':
      // The service has only accepted it, so the name counts as deleted until the registry shows it restored.
      return known && { ...domain, ...undecided };
    default:
      return undefined;
  }
}

/** For a name that was registered anew, any registrar that its record names first is trusted. */
function anyRegistrar(at: Date): TrustedRecord {
  return { registrar: undefined, at, transferKnownAt: undefined };
}

/** The trusted record after the team has asked for a transfer: the other registrar is trusted when it comes. */
function transferKnown(
  { trusted, record }: Pick<WatchedDomain, 'trusted' | 'record'>,
  at: Date,
): TrustedRecord {
  return { registrar: trusted?.registrar ?? record?.registrar, at: trusted?.at ?? at, transferKnownAt: at };
}

/**
 * Estimates until when a name is paid for after some more years were paid, until the registry shows its own date. Where
 * its former end is not known, the earliest possible one is assumed: it may have been in the last days of its
 * auto-renew grace. An estimate that is too early warns too soon; one that is too late could lose the name.
 */
function paidUntil(name: string, known: WatchedDomain | undefined, years: number, doneAt: Date): Date {
  if (known?.expiry !== undefined) return addYears(known.expiry.at, years);
  const graceDays = zoneFor(name).lifecycle?.autoRenewGraceDays ?? DEFAULT_GRACE_DAYS;
  return new Date(addYears(doneAt, years).getTime() - graceDays * DAY_MS);
}
