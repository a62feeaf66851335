import { isDemoContext } from '../accounts/account.ts';
import { addYears } from '../names/dates.ts';
import { getPeriodYears, type Order } from '../orders/order.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import type { Day } from './days.ts';
import type { ListedName } from './expiry.ts';

/** The current and new expiry of a pending order's name. */
export type ExpiryChange =
  | {
      readonly task: 'renew';
      readonly listedName: ListedName | undefined;
      /** The expiry after the renewal; undefined if the current expiry is unknown. */
      readonly renewedUntil: Day | undefined;
    }
  | { readonly task: 'create' | 'restore'; readonly listedName: ListedName };

/** Loads the dates for the card of a pending live order for one name. Returns undefined for other orders. */
export async function loadExpiryChange(
  findListedName: (name: string) => Promise<ListedName | undefined>,
  { state, task, account, items, input }: Order,
): Promise<ExpiryChange | undefined> {
  const [item, ...otherItems] = items;
  if (state !== 'PENDING' || isDemoContext(account.context)) return undefined;
  if (item === undefined || otherItems.length > 0) return undefined;
  if (task !== 'renew' && task !== 'restore' && task !== 'create') return undefined;
  const listedName = await findListedName(item.name);
  if (task !== 'renew') return listedName && { task, listedName };
  const day = listedName?.expiryDay && new Date(listedName.expiryDay);
  return { task, listedName, renewedUntil: day && getUtcDay(addYears(day, getPeriodYears(input) ?? 1)) };
}
