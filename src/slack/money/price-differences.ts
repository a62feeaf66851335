import { DAY_MS } from '../../duration.ts';
import { priceDifferences } from '../../money/answered-amounts.ts';
import { utcDayOf } from '../../money/order-cost.ts';
import type { MoneyReportStore, PriceStore } from '../../money/ports.ts';
import type { NotificationStore } from '../../notifications.ts';
import { type AdminPlannerDeps, notifyAdmins } from '../admins/admins.ts';
import type { NotificationPlanner } from '../outbound/notify.ts';
import { differencesMessage } from './money-report.view.ts';

/** What telling about differences needs. */
export interface PriceDifferenceDeps extends AdminPlannerDeps {
  readonly prices: Pick<PriceStore, 'list'>;
  readonly reports: Pick<MoneyReportStore, 'answers'>;
}

/** Opens the report on the answers of yesterday. */
export async function openPriceDifferences(deps: {
  readonly notifications: Pick<NotificationStore, 'open'>;
  readonly now: () => Date;
}): Promise<void> {
  const now = deps.now();
  const yesterday = utcDayOf(new Date(now.getTime() - DAY_MS));
  await deps.notifications.open({ kind: 'report', id: yesterday }, now);
}

/** Tells admins once, by direct message, where the answers of a day (YYYY-MM-DD) differ from the price list. */
export function createPriceDifferencePlanner(deps: PriceDifferenceDeps): NotificationPlanner {
  return async ({ id: day }, send) => {
    const from = new Date(`${day}T00:00:00Z`);
    const [list, answers] = await Promise.all([
      deps.prices.list(),
      deps.reports.answers(from, new Date(from.getTime() + DAY_MS)),
    ]);
    const found = priceDifferences(list, answers);
    if (found.length > 0) await notifyAdmins(deps, send, differencesMessage(day, found));
    return undefined;
  };
}
