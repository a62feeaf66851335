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
  HOME_SECTION_LENGTH,
  type HomeData,
  homeBlocks,
  nonMemberBlocks,
  unavailableBlocks,
} from './home.view.ts';

/** Per section. The tab shows fewer orders or names, and counts the others. */
const MAX_LOADED = 100;

export function publishHome(context: SlackContext, userId: string): Promise<void> {
  return context.homeTabUpdates.run(userId, () => publish(context, userId));
}

async function publish(context: SlackContext, userId: string): Promise<void> {
  const blocks = await buildBlocks(context, userId).catch((err: unknown) => {
    const reference = createErrorReference();
    context.log.error({ err, reference }, 'loading the Home tab failed');
    return unavailableBlocks(reference);
  });
  await sendViewWithFallback(blocks, (shown) =>
    context.web.call(
      'views.publish',
      { user_id: userId, view: { type: 'home', blocks: shown } },
      okResponseSchema,
    ),
  );
}

async function buildBlocks(context: SlackContext, userId: string): Promise<readonly KnownBlock[]> {
  const person = await context.directory.loadPerson(userId, undefined);
  return person.isMember
    ? homeBlocks(await loadHomeData(context, userId, isAdmin(context, person)))
    : nonMemberBlocks();
}

async function loadHomeData(context: SlackContext, userId: string, isAdminView: boolean): Promise<HomeData> {
  const { store } = context.orders;
  const now = context.now();
  const [account, incidents, teamAccount, standIns, orders, expiring, money, mandates, decisions, names] =
    await Promise.all([
      context.accounts.findActive(userId),
      context.names.incidents.listAllOpen(MAX_LISTED_INCIDENTS),
      context.accounts.team.current(),
      context.standIns.current(context.now()),
      store.list({ viewer: { id: userId }, requesterId: userId, states: OPEN_STATES, limit: MAX_LOADED }),
      loadExpiringNames(context, userId),
      isAdminView ? loadMoney(context, userId) : undefined,
      findMandatesByPerson(context.orders, userId),
      loadDecisions(context, userId, isAdminView),
      context.portfolio.listAssessedNames({ filter: NO_FILTER, owners: [], now }),
    ]);
  return {
    hasService: context.hasService,
    account,
    teamAccount,
    isAdmin: isAdminView,
    incidents,
    open: sortScheduledFirst(orders),
    months: expiring.months,
    money,
    mandates,
    ...decisions,
    next: expiring.names,
    owned: expiring.owned,
    renewals: expiring.renewals,
    posture: summarizePosture(names, now).counts,
    standIn: standIns.get(userId),
    standsInFor: [...standIns]
      .filter(([, standIn]) => standIn.userId === userId)
      .map(([away, { until }]) => ({ userId: away, until })),
  };
}

const OPEN_STATES = ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'] as const;

async function loadDecisions(context: SlackContext, userId: string, isAdminView: boolean) {
  const { store } = context.orders;
  const [pendingOrders, unknownOrders, ordersToReview] = await Promise.all([
    store.list({ viewer: 'system', states: ['PENDING'], limit: MAX_LOADED }),
    store.list({ viewer: 'system', states: ['UNKNOWN'], limit: MAX_LOADED }),
    isAdminView ? store.list({ viewer: 'system', isReviewOpen: true, limit: MAX_LOADED }) : [],
  ]);
  // Admins see all groups that can't be read. Other people see only the groups that they may belong to.
  const queue = await loadApproverStatus(context.orders, userId, [...pendingOrders, ...unknownOrders], {
    allGroups: isAdminView,
  });
  // The order that has waited longest comes first.
  const toDecide = queue.isApprover ? queue.toDecide.toReversed() : undefined;
  const shownOrders = toDecide?.slice(0, HOME_SECTION_LENGTH) ?? [];
  return {
    unreadableGroups: queue.unreadableGroups,
    toDecide,
    briefings: new Map(
      await Promise.all(
        shownOrders.map(async (order) => [order.id, await loadBriefing(context, order)] as const),
      ),
    ),
    toResolve: queue.toResolve,
    toReview: ordersToReview.map((order) => ({
      order,
      canSignOff: order.emergencyApprovedBy !== userId && !isRequester(order, userId),
    })),
  };
}

async function loadExpiringNames(context: SlackContext, userId: string) {
  const [names, owned, months] = await Promise.all([
    context.expiry.loadNextExpiring(HOME_SECTION_LENGTH),
    loadOwnedNames(context, userId),
    context.expiry.countRenewalsByMonth(),
  ]);
  const shownNames = owned?.next === undefined ? names : [...names, owned.next];
  return { names, owned, months, renewals: await loadRenewalDays(context, shownNames) };
}

async function loadOwnedNames({ portfolio, expiry, now }: SlackContext, userId: string) {
  const query = { filter: NO_FILTER, owners: [userId], now: now(), cursor: undefined, isBackward: false };
  const [zones, rows] = await Promise.all([
    portfolio.listZones({ ...query, limit: MAX_LOADED }),
    portfolio.listPage({ ...query, limit: MAX_LOADED }),
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
  const [priceList, purchases, statuses, locale] = await Promise.all([
    prices.list(),
    spending.listPurchases(period.from, period.to),
    budgets.listStatuses(today),
    directory.findLocale(userId),
  ]);
  return { month: period.text, spent: calculateSpend(priceList, purchases).total, budgets: statuses, locale };
}
