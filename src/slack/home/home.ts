import type { KnownBlock } from '@slack/types';
import { waitingFor } from '../../approvals/approvers.ts';
import { newReference } from '../../lib/log.ts';
import { mandatesOfPerson } from '../../mandates/overview.ts';
import { readSpan, spendOf } from '../../money/spend.ts';
import { isRequester, type Order } from '../../orders/order.ts';
import { utcDay } from '../../zones/calendar-day.ts';
import { renewalDaysOf } from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import { isAdmin } from '../feature.ts';
import { MAX_LISTED } from '../names/incident.view.ts';
import { budgetsNow, costNow } from '../orders/order-messages.ts';
import { withPlainView } from '../outbound/fallback.ts';
import { okResponse } from '../outbound/web.ts';
import {
  HOME_LENGTH,
  type HomeData,
  homeBlocks,
  type KnownOfOrder,
  strangerBlocks,
  unavailableBlocks,
} from './home.view.ts';

/*
 * The bot's Home tab, for the person who opens it.
 */

/**
 * The number of orders read for one part of the tab. Numbers beyond what is shown are counted from these.
 */
const READ = 100;

/** Publishes a person's Home tab; again later where Slack does not take it now. */
export function publishHome(deps: SlackContext, userId: string): Promise<void> {
  return deps.homeTabs.run(userId, () => publish(deps, userId));
}

async function publish(deps: SlackContext, userId: string): Promise<void> {
  const blocks = await blocksFor(deps, userId).catch((err: unknown) => {
    const reference = newReference();
    deps.log.error({ err, reference }, 'reading what the Home tab shows');
    return unavailableBlocks(reference);
  });
  await withPlainView(blocks, (shown) =>
    deps.web.call('views.publish', { user_id: userId, view: { type: 'home', blocks: shown } }, okResponse),
  );
}

async function blocksFor(deps: SlackContext, userId: string): Promise<readonly KnownBlock[]> {
  const person = await deps.directory.person(userId, undefined);
  return person.isMember ? homeBlocks(await homeData(deps, userId, isAdmin(deps, person))) : strangerBlocks();
}

async function homeData(deps: SlackContext, userId: string, admin: boolean): Promise<HomeData> {
  const [
    account,
    incidents,
    teamAccount,
    pending,
    unknown,
    toReview,
    standIns,
    open,
    next,
    months,
    money,
    mandates,
  ] = await Promise.all([
    deps.accounts.active(userId),
    deps.names.incidents.allOpen(MAX_LISTED),
    deps.accounts.team.current(),
    deps.orders.store.list({ viewer: 'system', states: ['PENDING'], limit: READ }),
    deps.orders.store.list({ viewer: 'system', states: ['UNKNOWN'], limit: READ }),
    admin ? deps.orders.store.list({ viewer: 'system', isReviewOpen: true, limit: READ }) : [],
    deps.standIns.current(deps.now()),
    deps.orders.store.list({
      viewer: { id: userId },
      requesterId: userId,
      states: ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'],
      limit: READ,
    }),
    expiringNext(deps),
    deps.expiry.countsByMonth(),
    admin ? moneyOf(deps, userId) : undefined,
    mandatesOfPerson(deps.orders, userId),
  ]);
  // Admins are shown every group that cannot be read; for others only those matter that they may belong to.
  const waiting = await waitingFor(deps.orders, userId, [...pending, ...unknown], { allGroups: admin });
  // The longest waiting comes first.
  const toDecide = waiting.isApprover ? waiting.toDecide.toReversed() : undefined;
  return {
    account,
    teamAccount,
    isAdmin: admin,
    incidents,
    unreadableGroups: waiting.unreadableGroups,
    toDecide,
    known: await knownOf(deps, toDecide?.slice(0, HOME_LENGTH) ?? []),
    toResolve: waiting.toResolve,
    toReview: toReview.map((order) => ({
      order,
      canSignOff: order.emergencyApprovedBy !== userId && !isRequester(order, userId),
    })),
    standIn: standIns.get(userId),
    standsInFor: [...standIns]
      .filter(([, standIn]) => standIn.userId === userId)
      .map(([away, { until }]) => ({ userId: away, until })),
    open,
    ...next,
    months,
    money,
    mandates,
  };
}

/** The names that expire next, and which of them a mandate renews. */
async function expiringNext(deps: SlackContext): Promise<Pick<HomeData, 'next' | 'renewals'>> {
  const next = await deps.expiry.expiringNext(HOME_LENGTH);
  return { next, renewals: await renewalDaysOf(deps, next) };
}

/** What an approver has to know of orders besides what they hold: what they cost, and what hangs on their names. */
async function knownOf(
  deps: SlackContext,
  orders: readonly Order[],
): Promise<ReadonlyMap<string, KnownOfOrder>> {
  const known = orders.map(async (order) => {
    const pricing = costNow(deps.orders, order);
    const [cost, impact, budgets] = await Promise.all([
      pricing,
      deps.names.impacts.found(order),
      budgetsNow(deps.orders, order, pricing),
    ]);
    const statement = deps.statementOf(order);
    return [order.id, { statement, cost, impact, overBudget: budgets?.over ?? [] }] as const;
  });
  return new Map(await Promise.all(known));
}

/** What was spent this month and how the budgets stand, for admins. */
async function moneyOf({ prices, spending, budgets, directory, now }: SlackContext, userId: string) {
  const today = utcDay(now());
  const span = readSpan(today.slice(0, 7));
  if (span === undefined) return undefined;
  const [list, purchases, standings, locale] = await Promise.all([
    prices.list(),
    spending.purchases(span.from, span.to),
    budgets.standings(today),
    directory.localeOf(userId),
  ]);
  return { month: span.text, spent: spendOf(list, purchases).total, budgets: standings, locale };
}
