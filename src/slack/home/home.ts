import type { KnownBlock } from '@slack/types';
import { loadApproverStatus } from '../../approvals/approvers.ts';
import { loadBriefing } from '../../approvals/briefing.ts';
import { createErrorReference } from '../../lib/log.ts';
import { findMandatesByPerson } from '../../mandates/overview.ts';
import { calculateSpend, parseSpendPeriod } from '../../money/spend.ts';
import { NO_FILTER } from '../../names/filter.ts';
import { countNames, getExpiry, getOwnerAnswer } from '../../names/portfolio.ts';
import { summarizePosture } from '../../names/posture.ts';
import { isRequester, sortScheduledFirst } from '../../orders/order.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';
import { loadRenewalDays } from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import { isAdmin } from '../feature.ts';
import { MAX_LISTED_INCIDENTS } from '../names/incident.view.ts';
import { sendViewWithFallback } from '../outbound/fallback.ts';
import { okResponseSchema } from '../outbound/web.ts';
import {
  type HomeData,
  homeBlocks,
  MAX_HOME_SECTION_ENTRIES,
  nonMemberBlocks,
  unavailableBlocks,
} from './home.view.ts';

/** The tab shows fewer orders or names, and counts the others. */
const MAX_LOADED_PER_SECTION = 100;

export function publishHome(context: SlackContext, userId: string): Promise<void> {
  return context.homeTabUpdates.run(userId, () => publish(context, userId));
}

async function publish(context: SlackContext, userId: string): Promise<void> {
  const blocks = await loadHomeBlocks(context, userId).catch((err: unknown) => {
    const reference = createErrorReference();
    context.log.error({ err, reference }, 'loading the Home tab failed');
    return unavailableBlocks(reference);
  });
  await sendViewWithFallback(blocks, (shownBlocks) =>
    context.web.call(
      'views.publish',
      { user_id: userId, view: { type: 'home', blocks: shownBlocks } },
      okResponseSchema,
    ),
  );
}

async function loadHomeBlocks(context: SlackContext, userId: string): Promise<readonly KnownBlock[]> {
  const person = await context.directory.loadPerson(userId, undefined);
  return person.isMember
    ? homeBlocks(await loadHomeData(context, userId, isAdmin(context, person)))
    : nonMemberBlocks();
}

async function loadHomeData(context: SlackContext, userId: string, isAdminView: boolean): Promise<HomeData> {
  const { store } = context.orders;
  const now = context.now();
  const [account, incidents, teamAccount, standIns, orders, expiring, money, mandates, orderQueue, names] =
    await Promise.all([
      context.accounts.findActive(userId),
      context.names.incidents.listAllOpen(MAX_LISTED_INCIDENTS),
      context.accounts.team.find(),
      context.standIns.loadActiveStandIns(context.now()),
      store.list({
        viewer: { id: userId },
        requesterId: userId,
        states: OPEN_STATES,
        limit: MAX_LOADED_PER_SECTION,
      }),
      loadExpiringNames(context, userId),
      isAdminView ? loadMoney(context, userId) : undefined,
      findMandatesByPerson(context.orders, userId),
      loadOrderQueue(context, userId, isAdminView),
      context.portfolio.listAssessedNames({ filter: NO_FILTER, owners: [], now }),
    ]);
  return {
    hasService: context.hasService,
    account,
    teamAccount,
    isAdmin: isAdminView,
    incidents,
    openOrders: sortScheduledFirst(orders),
    monthCounts: expiring.months,
    money,
    mandates,
    ...orderQueue,
    expiringNames: expiring.names,
    ownedNames: expiring.owned,
    renewals: expiring.renewals,
    postureCounts: summarizePosture(names, now).counts,
    standIn: standIns.get(userId),
    coveredAbsences: [...standIns]
      .filter(([, standIn]) => standIn.userId === userId)
      .map(([absentUserId, { until }]) => ({ userId: absentUserId, until })),
  };
}

const OPEN_STATES = ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'] as const;

async function loadOrderQueue(context: SlackContext, userId: string, isAdminView: boolean) {
  const { store } = context.orders;
  const [pendingOrders, unknownOrders, ordersToReview] = await Promise.all([
    store.list({ viewer: 'system', states: ['PENDING'], limit: MAX_LOADED_PER_SECTION }),
    store.list({ viewer: 'system', states: ['UNKNOWN'], limit: MAX_LOADED_PER_SECTION }),
    isAdminView ? store.list({ viewer: 'system', isReviewOpen: true, limit: MAX_LOADED_PER_SECTION }) : [],
  ]);
  // Admins see all groups that can't be read. Other people see only the groups that they may belong to.
  const approverStatus = await loadApproverStatus(
    context.orders,
    userId,
    [...pendingOrders, ...unknownOrders],
    {
      allGroups: isAdminView,
    },
  );
  // The order that has waited longest comes first.
  const ordersToDecide = approverStatus.isApprover ? approverStatus.ordersToDecide.toReversed() : undefined;
  const shownOrders = ordersToDecide?.slice(0, MAX_HOME_SECTION_ENTRIES) ?? [];
  return {
    unreadableGroups: approverStatus.unreadableGroups,
    ordersToDecide,
    briefings: new Map(
      await Promise.all(
        shownOrders.map(async (order) => [order.id, await loadBriefing(context, order)] as const),
      ),
    ),
    ordersToResolve: approverStatus.ordersToResolve,
    emergencyReviews: ordersToReview.map((order) => ({
      order,
      canSignOff: order.emergencyApprovedBy !== userId && !isRequester(order, userId),
    })),
  };
}

async function loadExpiringNames(context: SlackContext, userId: string) {
  const [names, owned, months] = await Promise.all([
    context.expiry.loadNextExpiring(MAX_HOME_SECTION_ENTRIES),
    loadOwnedNames(context, userId),
    context.expiry.countRenewalsByMonth(),
  ]);
  const shownNames = owned?.next === undefined ? names : [...names, owned.next];
  return { names, owned, months, renewals: await loadRenewalDays(context, shownNames) };
}

async function loadOwnedNames({ portfolio, expiry, now }: SlackContext, userId: string) {
  const query = { filter: NO_FILTER, owners: [userId], now: now(), cursor: undefined, isBackward: false };
  const [zones, rows] = await Promise.all([
    portfolio.listZones({ ...query, limit: MAX_LOADED_PER_SECTION }),
    portfolio.listPage({ ...query, limit: MAX_LOADED_PER_SECTION }),
  ]);
  if (rows.length === 0) return undefined;
  const renewableNames = await expiry.filterRenewable(rows.map(({ name }) => name));
  const next = renewableNames.find(({ domain }) => {
    const answer = getOwnerAnswer(domain, getExpiry(domain))?.code;
    return answer === 'open' || answer === 'unasked';
  });
  return { count: countNames(zones), next };
}

async function loadMoney({ prices, spending, budgets, directory, now }: SlackContext, userId: string) {
  const today = getUtcDay(now());
  const period = parseSpendPeriod(today.slice(0, 7));
  if (period === undefined) return undefined;
  const [priceList, purchases, budgetStatuses, locale] = await Promise.all([
    prices.list(),
    spending.listPurchases(period.from, period.to),
    budgets.listStatuses(today),
    directory.findLocale(userId),
  ]);
  return {
    month: period.text,
    spendTotal: calculateSpend(priceList, purchases).total,
    budgets: budgetStatuses,
    locale,
  };
}
