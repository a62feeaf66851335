import { isDemoContext } from '../accounts/account.ts';
import type { Expiry } from '../expiry/expiry.ts';
import { readTerm, type Term } from '../expiry/term.ts';
import { type MandatePreview, previewOf } from '../mandates/overview.ts';
import { mandateTerms } from '../mandates/terms.ts';
import type { BudgetLook } from '../money/budget-look.ts';
import type { OrderCost } from '../money/prices.ts';
import type { ListedIncident } from '../names/incident.ts';
import type { Names } from '../names/names.ts';
import type { OrderImpact } from '../names/ports.ts';
import { isPaused } from '../orders/bulk/waves.ts';
import type { OrdersContext } from '../orders/context.ts';
import { FOLLOWED_TASKS, type Order } from '../orders/order.ts';
import { budgetedItems } from '../orders/order-budget.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import { readStatement } from '../orders/statement.ts';
import type { Statement } from '../orders/statement-shape.ts';
import { type WaitingDecision, waitingDecision } from './approvers.ts';

/*
 * What an approver must know about an order, read once for every surface: the card and its copies, Details, Home, and the
 * signing page.
 */

export interface Briefing {
  /** When it was read. */
  readonly now: Date;
  /** The statement; undefined if the rows give no request. */
  readonly statement: Statement | undefined;
  /** The log of the order: who approved, and what was asked and paid. */
  readonly history: readonly OrderLogEntry[];
  /** The approvals that a waiting order needs now. */
  readonly decision: WaitingDecision | undefined;
  /** The people and groups who can approve a waiting order, stand-ins included. */
  readonly approvers: readonly string[];
  /** The price of a waiting order by the current price list; undefined for a task without a price. */
  readonly cost: OrderCost | undefined;
  /** The budgets that a waiting order, or the rest of a paused one, takes from. */
  readonly budgets: BudgetLook | undefined;
  /** When the only name of a waiting order expires. */
  readonly term: Term | undefined;
  /** The impact of a waiting order; `none` if the task puts nothing at risk. */
  readonly impact: OrderImpact | 'unseen' | 'none';
  /** The open incidents of the names of a waiting order. */
  readonly incidents: readonly ListedIncident[];
  /** The last successful order for the same name, and what it cost. */
  readonly last: { readonly order: Order; readonly cost: OrderCost | undefined } | undefined;
  /** The price of restoring the name that a deletion deletes. */
  readonly restoreCost: OrderCost | undefined;
  /** The names that a waiting mandate would cover. */
  readonly preview: MandatePreview | undefined;
}

/** Where a briefing is read from. */
export interface BriefingContext {
  readonly orders: OrdersContext;
  readonly names: Names;
  readonly expiry: Expiry;
}

/** @param history the log, if it was read together with the order */
export async function loadBriefing(
  { orders, names, expiry }: BriefingContext,
  order: Order,
  history?: readonly OrderLogEntry[],
): Promise<Briefing> {
  const isWaiting = order.state === 'PENDING';
  const pricing = isWaiting || isPaused(order) ? currentCost(orders, order) : undefined;
  const [log, decision, cost, budgets, term, impact, incidents, past, preview] = await Promise.all([
    history ?? orders.store.history(order.id, 'system'),
    isWaiting ? waitingDecision(orders, order) : undefined,
    isWaiting ? pricing : undefined,
    pricing && !isDemoContext(order.account.context)
      ? orders.lookAtBudgets(budgetedItems(order), pricing)
      : undefined,
    readTerm(expiry.findListed, order),
    isWaiting ? names.impacts.forCard(order) : ('none' as const),
    isWaiting ? names.orderIncidents.openOf(order) : [],
    readPast(orders, order),
    isWaiting ? readPreview(orders, order) : undefined,
  ]);
  return {
    now: orders.now(),
    statement: readStatement(order, orders.servicePlaces),
    ...{ history: log, decision, cost, budgets, term, impact, incidents, ...past, preview },
    approvers: decision === undefined ? [] : approversIn(decision),
  };
}

/** The price of an order, or of what a paused one has not sent, by the current price list. */
export function currentCost({ priceOf }: OrdersContext, order: Order): Promise<OrderCost | undefined> {
  const { task, input } = order;
  return priceOf({ task, names: budgetedItems(order).items.map(({ name }) => name), input });
}

function approversIn({ demand, standIns }: WaitingDecision): readonly string[] {
  const listed = demand.requirements.flatMap(({ approvers }) => approvers);
  return [...new Set([...listed, ...[...standIns.values()].map(({ userId }) => userId)])];
}

/** The last change of the only name of a live order or draft. Leaves out other people's private orders. */
async function readPast(
  { store, priceOf }: OrdersContext,
  { state, task, account, items }: Order,
): Promise<{ readonly last: Briefing['last']; readonly restoreCost: OrderCost | undefined }> {
  const [item, ...others] = items;
  const isAsked = state === 'PENDING' || state === 'DRAFT';
  const isShown = isAsked && FOLLOWED_TASKS.includes(task) && !isDemoContext(account.context);
  if (!isShown || item === undefined || others.length > 0) return { last: undefined, restoreCost: undefined };
  const [[order], restoreCost] = await Promise.all([
    store.list({
      ...{ viewer: 'system', name: item.name, tasks: FOLLOWED_TASKS },
      ...{ states: ['SUCCEEDED'], isLive: true, limit: 1 },
    }),
    task === 'delete' ? priceOf({ task: 'restore', names: [item.name], input: undefined }) : undefined,
  ]);
  if (order === undefined || order.isPrivate) return { last: undefined, restoreCost };
  const history = await store.history(order.id, 'system');
  const asked = history.findLast((event) => event.kind === 'requested')?.price;
  const cost = history.findLast((event) => event.kind === 'approved')?.price ?? asked;
  return { last: { order, cost }, restoreCost };
}

async function readPreview(orders: OrdersContext, order: Order): Promise<MandatePreview | undefined> {
  if (order.task !== 'mandate') return undefined;
  const terms = mandateTerms.safeParse(order.input).data;
  return terms && previewOf(orders, order, terms);
}
