import { isDemoContext } from '../accounts/account.ts';
import type { ExpiryTracker } from '../expiry/expiry.ts';
import { type ExpiryChange, loadExpiryChange } from '../expiry/expiry-change.ts';
import { loadPreview, type MandatePreview } from '../mandates/overview.ts';
import type { BudgetComparison } from '../money/budget-comparison.ts';
import type { OrderCost } from '../money/prices.ts';
import type { ListedIncident } from '../names/incident.ts';
import type { Names } from '../names/names.ts';
import type { OrderImpact } from '../names/ports.ts';
import { isPaused } from '../orders/bulk/waves.ts';
import type { OrdersContext } from '../orders/context.ts';
import { type Order, WATCH_LIST_TASKS } from '../orders/order.ts';
import { computeOrderCost, getBudgetComparer, pickBudgetedItems } from '../orders/order-budget.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import { tryBuildStatement } from '../orders/statement.ts';
import type { Statement } from '../orders/statement-shape.ts';
import { parseMandateTerms } from '../orders/tasks.ts';
import { findNotifiedIds } from '../policy/policy.ts';
import { loadPendingRequirements, type PendingRequirements } from './approvers.ts';

export interface DraftBriefing {
  readonly now: Date;
  /** Undefined if the order's rows are invalid. */
  readonly statement: Statement | undefined;
  /** The last successful order for the same name, with its cost. */
  readonly lastChange: { readonly order: Order; readonly cost: OrderCost | undefined } | undefined;
  /** The price of restoring the name; only for a deletion. */
  readonly restoreCost: OrderCost | undefined;
}

/** Facts for approvers, shown on the card, in Details, on Home and on the signing page. */
export interface Briefing extends DraftBriefing {
  /** The order's log: approvals, requests and payments. */
  readonly history: readonly OrderLogEntry[];
  readonly pendingRequirements: PendingRequirements | undefined;
  /** The people and groups notified about a pending order, including stand-ins. */
  readonly approvers: readonly string[];
  /** Based on the current price list; undefined for a task without a price. */
  readonly cost: OrderCost | undefined;
  /** How a pending order, or the unsent items of a paused one, compare with the budgets. */
  readonly budgetComparison: BudgetComparison | undefined;
  /** How a pending order with a single name changes the name's expiry. */
  readonly expiryChange: ExpiryChange | undefined;
  /** The impact of a pending order; `none` if the task puts nothing at risk, `unseen` if not looked up yet. */
  readonly impact: OrderImpact | 'unseen' | 'none';
  /** Open incidents that affect a pending order's names. */
  readonly incidents: readonly ListedIncident[];
  /** The names that a pending mandate would cover. */
  readonly mandatePreview: MandatePreview | undefined;
}

export interface BriefingContext {
  readonly orders: OrdersContext;
  readonly names: Names;
  readonly expiry: ExpiryTracker;
}

/** @param loadedHistory the order's log, if it is already loaded */
export async function loadBriefing(
  { orders, names, expiry }: BriefingContext,
  order: Order,
  loadedHistory?: readonly OrderLogEntry[],
): Promise<Briefing> {
  const isPending = order.state === 'PENDING';
  const costPromise = isPending || isPaused(order) ? computeOrderCost(orders, order) : undefined;
  const [
    history,
    pendingRequirements,
    cost,
    budgetComparison,
    expiryChange,
    impact,
    incidents,
    draft,
    mandatePreview,
  ] = await Promise.all([
    loadedHistory ?? orders.store.loadHistory(order.id, 'system'),
    isPending ? loadPendingRequirements(orders, order) : undefined,
    isPending ? costPromise : undefined,
    costPromise && !isDemoContext(order.account.context)
      ? getBudgetComparer(orders, order)(pickBudgetedItems(order), costPromise)
      : undefined,
    loadExpiryChange(expiry.findListedName, order),
    isPending ? names.impacts.loadForCard(order) : ('none' as const),
    isPending ? names.orderIncidents.listOpen(order) : [],
    loadDraftBriefing(orders, order),
    isPending ? loadMandatePreview(orders, order) : undefined,
  ]);
  return {
    ...draft,
    history,
    pendingRequirements,
    cost,
    budgetComparison,
    expiryChange,
    impact,
    incidents,
    mandatePreview,
    approvers: pendingRequirements === undefined ? [] : listNotifiedApprovers(pendingRequirements),
  };
}

function listNotifiedApprovers({ requirements, standIns }: PendingRequirements): readonly string[] {
  return [
    ...new Set([
      ...findNotifiedIds(requirements.list),
      ...[...standIns.values()].map(({ userId }) => userId),
    ]),
  ];
}

/** Includes the last change only for an undecided live order with one name, and only if that change isn't private. */
export async function loadDraftBriefing(
  { store, priceOrder, now, serviceEndpoints }: OrdersContext,
  order: Order,
): Promise<DraftBriefing> {
  const { state, task, account } = order;
  const [item, ...otherItems] = order.items;
  const draft = { now: now(), statement: tryBuildStatement(order, serviceEndpoints), lastChange: undefined };
  const isUndecided = state === 'PENDING' || state === 'DRAFT';
  const needsLastChange = isUndecided && WATCH_LIST_TASKS.includes(task) && !isDemoContext(account.context);
  if (!needsLastChange || item === undefined || otherItems.length > 0)
    return { ...draft, restoreCost: undefined };
  const [[lastOrder], restoreCost] = await Promise.all([
    store.list({
      ...{ viewer: 'system', name: item.name, tasks: WATCH_LIST_TASKS },
      ...{ states: ['SUCCEEDED'], isLive: true, limit: 1 },
    }),
    task === 'delete' ? priceOrder({ task: 'restore', names: [item.name], input: undefined }) : undefined,
  ]);
  if (lastOrder === undefined || lastOrder.isPrivate) return { ...draft, restoreCost };
  const history = await store.loadHistory(lastOrder.id, 'system');
  const requestedPrice = history.findLast((event) => event.kind === 'requested')?.price;
  const cost = history.findLast((event) => event.kind === 'approved')?.price ?? requestedPrice;
  return { ...draft, lastChange: { order: lastOrder, cost }, restoreCost };
}

async function loadMandatePreview(orders: OrdersContext, order: Order): Promise<MandatePreview | undefined> {
  if (order.task !== 'mandate') return undefined;
  const terms = parseMandateTerms(order.input);
  return terms && loadPreview(orders, order, terms);
}
