import { setTimeout as sleep } from 'node:timers/promises';
import { waitingDecision } from '../../approvals/approvers.ts';
import { refusalToApprove } from '../../approvals/decide.ts';
import type { Order } from '../../orders/order.ts';
import { loadVisible } from '../../orders/visibility.ts';
import { decisionApprovers } from '../approvals/decision.view.ts';
import { pagesOpened, rowsShownTo } from '../bulk/plan-rows.ts';
import { type Action, type ActionCall, formOrigin, type Interaction, isAdmin, viewerOf } from '../feature.ts';
import { mandatePreview } from '../mandates/mandate-day.ts';
import { updateOpenView } from '../refresh-form.ts';
import type { CardExtras } from './card.view.ts';
import { ROWS_UNSEEN } from './order-buttons.view.ts';
import { LOOK, lookView } from './order-look.view.ts';
import { budgetsNow, costNow, pastNow, standingMessages, termNow } from './order-messages.ts';
import { refusalText } from './refusal.view.ts';

/* Shows all that an order sends, and lets it be approved there. */

/** What is shown of an order beside itself, at this moment. */
export async function readExtras({ deps }: Interaction, order: Order) {
  const isWaiting = order.state === 'PENDING';
  const pricing = isWaiting ? costNow(deps.orders, order) : undefined;
  const [history, decision, cost, budgets, term, impact, incidents, past, preview] = await Promise.all([
    deps.orders.store.history(order.id, 'system'),
    isWaiting ? waitingDecision(deps.orders, order) : undefined,
    pricing,
    isWaiting ? budgetsNow(deps.orders, order, pricing) : undefined,
    termNow(deps.expiry, order),
    isWaiting ? deps.names.impacts.forCard(order) : undefined,
    isWaiting ? deps.names.orderIncidents.openOf(order) : [],
    pastNow({ orders: deps.orders.store, priceOf: deps.orders.priceOf }, order),
    mandatePreview(deps.orders, order),
  ]);
  return {
    statement: deps.statementOf(order),
    now: deps.now(),
    approvers: decision === undefined ? [] : decisionApprovers(decision),
    ...{ history, decision, cost, budgets, term, impact: impact === 'none' ? undefined : impact, ...past },
    incidents,
    preview,
  } satisfies CardExtras;
}

/** @param note why it is shown to somebody who pressed something else */
async function look(call: ActionCall, page: number, note?: string): Promise<void> {
  const { deps, person, view } = call;
  const order = await loadVisible(deps.orders, viewerOf(call), call.value);
  if (order === undefined) return call.respond(refusalText({ code: 'no_such_order' }));
  const [extras, refusal] = await Promise.all([
    readExtras(call, order),
    order.state === 'PENDING' ? refusalToApprove(deps.orders, order, person.id) : undefined,
  ]);
  // An admin may have to agree to a budget.
  const mayDecide = refusal === undefined || isAdmin(deps, person);
  const origin = view?.origin ?? formOrigin(call);
  const shown = lookView({ order, extras, mayDecide, origin, page, note });
  if (view?.form === LOOK) return updateOpenView(deps.web, view.id, shown);
  await call.open(shown, {
    done: async () => {
      if (order.bulk !== undefined)
        await deps.notifications.record(
          { kind: 'order', id: order.id },
          pagesOpened(person.id, call.channelId),
        );
    },
  });
}

/** The file of a plan follows its card at once. Slack waits 3 seconds. */
const FILE_WAITS = 10;
const FILE_WAIT_MS = 150;

/** Whether every row of an order could be shown to the person who presses a button. */
async function couldSeeAll(call: ActionCall): Promise<boolean> {
  const { deps, person, channelId, view } = call;
  if (view?.form === LOOK) return true;
  // Few orders have rows.
  const order = await loadVisible(deps.orders, viewerOf(call), call.value);
  if (order === undefined) return false;
  if (order.bulk === undefined) return true;
  for (let waits = 0; waits < FILE_WAITS; waits += 1) {
    const known = await deps.notifications.read({ kind: 'order', id: order.id });
    const shown =
      known === undefined ? 'yes' : rowsShownTo(order, standingMessages(known), person.id, channelId);
    if (shown !== 'soon') return shown === 'yes';
    await sleep(FILE_WAIT_MS);
  }
  return false;
}

/** A button that approves, or lets a paused order go on. Who could not see all that it sends is shown that first. */
export function whereAllIsShown(run: Action['run']): Action['run'] {
  return async (call) => {
    if (await couldSeeAll(call)) return run(call);
    await look(call, 1, ROWS_UNSEEN);
  };
}

/** Turns the page of the modal in which it is pressed. */
function turning(step: 1 | -1): Action['run'] {
  return (call) => look(call, (call.view?.origin.page ?? 1) + step);
}

export const lookActions = [
  { id: 'order_look', run: (call) => look(call, 1) },
  { id: 'order_look_next', run: turning(1) },
  { id: 'order_look_previous', run: turning(-1) },
] as const satisfies readonly Action[];
