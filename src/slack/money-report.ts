import type { TeamSettings } from '../config.ts';
import { nextTwelveMonths } from '../expiry/chart.ts';
import { lastScheduledThisMonth } from '../expiry/schedule.ts';
import type { Log } from '../log.ts';
import { utcDayOf } from '../money/order-cost.ts';
import type { BudgetStore, MoneyReportStore, PriceStore, SpendStore } from '../money/ports.ts';
import { readSpan, renewalsAhead, renewalsOf, type SpendSpan, spendOf, totalOf } from '../money/spend.ts';
import { SlackApiError, type SlackWeb } from './platform/web.ts';
import { postMessage } from './post-message.ts';
import { type MoneyReport, moneyReport } from './views/money-report.ts';

/** What the monthly report needs. */
export interface MoneyReportDeps {
  readonly web: SlackWeb;
  readonly settings: () => Promise<TeamSettings>;
  readonly prices: Pick<PriceStore, 'list'>;
  readonly spending: SpendStore;
  readonly budgets: Pick<BudgetStore, 'standings'>;
  readonly reports: MoneyReportStore;
  readonly now: () => Date;
  readonly log: Log;
}

/** A bot that was off on the 1st posts the report until this day. After that it is skipped. */
const LAST_DAY = 7;
/** Another process may post it after this long without a post. */
const LEASE_MS = 10 * 60_000;
/** Longer than the twelve months ahead. */
const AHEAD_MS = 366 * 86_400_000;

/** Posts the report of the previous month once, with the first digest of a month or later. */
export async function postMoneyReport(deps: MoneyReportDeps): Promise<void> {
  const { reportChannel, reminderChannel, reminderCron, reminderTimezone } = await deps.settings();
  const channel = reportChannel ?? reminderChannel;
  if (channel === undefined) return;
  const now = deps.now();
  const today = lastScheduledThisMonth(reminderCron, reminderTimezone, now);
  if (today === undefined || Number(today.slice(8)) > LAST_DAY) return;
  const span = monthBefore(today);
  if (span === undefined || !(await keepsBooks(deps))) return;
  if (!(await deps.reports.claim(span.text, now, LEASE_MS))) return;
  const message = moneyReport(await figuresOf(deps, span, reminderTimezone));
  try {
    await postMessage(deps.web, { channelId: channel }, message);
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    deps.log.warn({ err: error, month: span.text }, 'posting the report of a month; will try again');
    return;
  }
  await deps.reports.posted(span.text, deps.now());
}

/** Whether the team has prices or budgets. Without them there is nothing to report. */
async function keepsBooks({ prices, budgets, now }: MoneyReportDeps): Promise<boolean> {
  const [list, standings] = await Promise.all([prices.list(), budgets.standings(utcDayOf(now()))]);
  return list.length + standings.length > 0;
}

/** The month before the month of a day. */
function monthBefore(day: string): SpendSpan | undefined {
  const first = new Date(`${day.slice(0, 7)}-01T00:00:00Z`);
  return readSpan(utcDayOf(new Date(first.getTime() - 1)).slice(0, 7));
}

async function figuresOf(deps: MoneyReportDeps, span: SpendSpan, timeZone: string): Promise<MoneyReport> {
  const { spending, reports } = deps;
  const { text: month, from, to } = span;
  const now = deps.now();
  const today = utcDayOf(now);
  const [list, purchases, unknownOutcomes, letGo, renewals, budgets, decisions] = await Promise.all([
    deps.prices.list(),
    spending.purchases(from, to),
    spending.unknownOutcomes(from, to),
    reports.letGo(from, to),
    spending.renewals(now, new Date(now.getTime() + AHEAD_MS), timeZone),
    deps.budgets.standings(utcDayOf(new Date(to.getTime() - 1))),
    reports.decisions(from, to),
  ]);
  const { total: spent, byTask } = spendOf(list, purchases);
  const ahead = renewalsAhead(list, renewals, nextTwelveMonths(now, timeZone), today);
  return {
    month,
    spent,
    byTask,
    unknownOutcomes,
    saved: renewalsOf(list, letGo, today),
    ahead,
    aheadTotal: totalOf(ahead),
    budgets,
    decisions,
  };
}
