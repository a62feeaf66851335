import type { Log } from '../log.ts';
import { priceDifferences } from '../money/answered-amounts.ts';
import { utcDayOf } from '../money/order-cost.ts';
import type { MoneyReportStore, PriceStore } from '../money/ports.ts';
import { type AdminAlertDeps, alertAdmins } from './admins.ts';
import { SlackApiError } from './platform/web.ts';
import { differencesMessage } from './views/money-report.ts';

/** What telling about differences needs. */
export interface PriceDifferenceDeps extends AdminAlertDeps {
  readonly prices: Pick<PriceStore, 'list'>;
  readonly reports: Pick<MoneyReportStore, 'claim' | 'posted' | 'answers'>;
  readonly now: () => Date;
  readonly log: Log;
}

const DAY_MS = 86_400_000;
const LEASE_MS = 10 * 60_000;

/** Tells admins once a day, by direct message, where yesterday’s answers differ from the price list. */
export async function tellPriceDifferences(deps: PriceDifferenceDeps): Promise<void> {
  const { prices, reports, now, log } = deps;
  const to = new Date(`${utcDayOf(now())}T00:00:00Z`);
  const from = new Date(to.getTime() - DAY_MS);
  const day = utcDayOf(from);
  if (!(await reports.claim(day, now(), LEASE_MS))) return;
  const [list, answers] = await Promise.all([prices.list(), reports.answers(from, to)]);
  const found = priceDifferences(list, answers);
  if (found.length > 0) {
    log.warn({ day, count: found.length }, 'the service tells other amounts than the price list');
    try {
      await alertAdmins(deps, differencesMessage(day, found));
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      log.warn({ err: error, day }, 'telling admins of other amounts than the price list; will try again');
      return;
    }
  }
  await reports.posted(day, now());
}
