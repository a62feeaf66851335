import { listTwelveMonths } from '../../expiry/chart.ts';
import { findLastScheduledDayThisMonth } from '../../expiry/schedule.ts';
import { DAY_MS } from '../../lib/duration.ts';
import {
  calculateSpend,
  computeRenewalCost,
  forecastRenewals,
  parseSpendPeriod,
  type SpendPeriod,
  sumSpend,
} from '../../money/spend.ts';
import { countFindingChanges } from '../../names/posture.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';
import type { SlackContext } from '../context.ts';
import { type NotificationPlanner, STATIC_VERSION } from '../outbound/notify.ts';
import { type MoneyReport, moneyReportMessage } from './money-report.view.ts';

/** The last day of the month on which a late report is still posted, for example after downtime. */
const LAST_REPORT_DAY = 7;
/** Twelve months, including a leap day. */
const FORECAST_MS = 366 * DAY_MS;

/** Adds the notification for the previous month's report once the month's first digest is due. */
export async function addMoneyReportNotification(context: SlackContext): Promise<void> {
  const report = await findDueReport(context);
  if (report !== undefined && (await hasBudgetsOrPrices(context)))
    await context.notifications.addSubjectIfMissing({ kind: 'report', id: report.span.text }, context.now());
}

export function createMoneyReportPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id }, send) => {
    const report = await findDueReport(context);
    if (report?.span.text !== id) return undefined;
    const { channelId, span, timeZone } = report;
    await send({
      purpose: 'report',
      version: STATIC_VERSION,
      occurredAt: span.to,
      places: [async () => ({ channelId })],
      message: async () => moneyReportMessage(await loadReport(context, span, timeZone)),
      mustArrive: true,
      alertsAdmins: true,
    });
    return undefined;
  };
}

async function findDueReport({ loadSettings, now }: SlackContext) {
  const { reportChannel, reminderChannel, reminderCron, reminderTimezone } = await loadSettings();
  const channelId = reportChannel ?? reminderChannel;
  if (channelId === undefined) return undefined;
  const today = findLastScheduledDayThisMonth(reminderCron, reminderTimezone, now());
  if (today === undefined || Number(today.slice(8)) > LAST_REPORT_DAY) return undefined;
  const span = getPreviousMonth(today);
  return span && { channelId, span, timeZone: reminderTimezone };
}

async function hasBudgetsOrPrices({ prices, budgets, now }: SlackContext): Promise<boolean> {
  const [priceList, statuses] = await Promise.all([prices.list(), budgets.listStatuses(getUtcDay(now()))]);
  return priceList.length + statuses.length > 0;
}

function getPreviousMonth(day: string): SpendPeriod | undefined {
  const firstOfMonth = new Date(`${day.slice(0, 7)}-01T00:00:00Z`);
  return parseSpendPeriod(getUtcDay(new Date(firstOfMonth.getTime() - 1)).slice(0, 7));
}

async function loadReport(context: SlackContext, span: SpendPeriod, timeZone: string): Promise<MoneyReport> {
  const { spending, moneyReports: reports } = context;
  const { text: month, from, to } = span;
  const now = context.now();
  const today = getUtcDay(now);
  const [priceList, purchases, unknownOutcomes, lapsedNames, renewals, budgets, decisions, changes] =
    await Promise.all([
      context.prices.list(),
      spending.listPurchases(from, to),
      spending.countUnknownOutcomes(from, to),
      reports.listLapsedNames(from, to),
      spending.countRenewals(now, new Date(now.getTime() + FORECAST_MS), timeZone),
      context.budgets.listStatuses(getUtcDay(new Date(to.getTime() - 1))),
      reports.listDecisionStatistics(from, to),
      context.portfolio.listFindingChanges(from, to),
    ]);
  const { total: spent, byTask, byMandate } = calculateSpend(priceList, purchases);
  const forecast = forecastRenewals(priceList, renewals, listTwelveMonths(now, timeZone), today);
  return {
    month,
    spent,
    byTask,
    byMandate,
    unknownOutcomes,
    lapsedCost: computeRenewalCost(priceList, lapsedNames, today),
    forecast,
    forecastTotal: sumSpend(forecast),
    budgets,
    decisions,
    problems: countFindingChanges(changes),
  };
}
