import { setTimeout as sleep } from 'node:timers/promises';
import { checkCanApprove } from '../../approvals/approve.ts';
import { loadBriefing } from '../../approvals/briefing.ts';
import { loadVisibleOrder } from '../../orders/visibility.ts';
import { buildOpenedPagesRecord, checkRowVisibility } from '../bulk/plan-rows.ts';
import { type Action, type ActionCall, isAdmin, toFormOrigin, toViewer } from '../feature.ts';
import { updateOpenView } from '../refresh-form.ts';
import { ROWS_NOT_SHOWN } from './order-buttons.view.ts';
import { DETAILS_VIEW, orderDetailsView } from './order-details.view.ts';
import { getPostedMessages } from './order-messages.ts';
import { refusalText } from './refusal.view.ts';

/* *Details*: everything that an order sends, with buttons to approve it. */

/** @param note why another click opened the details */
async function showDetails(call: ActionCall, page: number, note?: string): Promise<void> {
  const { context, person, view } = call;
  const order = await loadVisibleOrder(context.orders, toViewer(call), call.value);
  if (order === undefined) return call.respond(refusalText({ code: 'no_such_order' }));
  const [briefing, refusal] = await Promise.all([
    loadBriefing(context, order),
    order.state === 'PENDING' ? checkCanApprove(context.orders, order, person.id) : undefined,
  ]);
  // An admin may need to agree to exceed a budget.
  const canDecide = refusal === undefined || isAdmin(context, person);
  const origin = view?.origin ?? toFormOrigin(call);
  const modal = orderDetailsView({ order, briefing, canDecide, origin, page, note });
  if (view?.formName === DETAILS_VIEW) return updateOpenView(context.web, view.id, modal);
  await call.open(modal, {
    onOpened: async () => {
      if (order.bulk !== undefined)
        await context.notifications.recordPosted(
          { kind: 'order', id: order.id },
          buildOpenedPagesRecord(person.id, call.channelId),
        );
    },
  });
}

/** The plan file is posted right after the card. Slack waits 3 seconds for a click to be acknowledged. */
const MAX_FILE_WAITS = 10;
const FILE_WAIT_MS = 150;

async function hasSeenAllRows(call: ActionCall): Promise<boolean> {
  const { context, person, channelId, view } = call;
  if (view?.formName === DETAILS_VIEW) return true;
  const order = await loadVisibleOrder(context.orders, toViewer(call), call.value);
  if (order === undefined) return false;
  if (order.bulk === undefined) return true;
  for (let waits = 0; waits < MAX_FILE_WAITS; waits += 1) {
    const subject = await context.notifications.loadSubject({ kind: 'order', id: order.id });
    const visibility =
      subject === undefined
        ? 'yes'
        : checkRowVisibility(order, getPostedMessages(subject), person.id, channelId);
    if (visibility !== 'soon') return visibility === 'yes';
    await sleep(FILE_WAIT_MS);
  }
  return false;
}

/** Runs the action if the person has seen all rows; otherwise, opens *Details*. */
export function requireFullView(run: Action['run']): Action['run'] {
  return async (call) => {
    if (await hasSeenAllRows(call)) return run(call);
    await showDetails(call, 1, ROWS_NOT_SHOWN);
  };
}

function createPageAction(step: 1 | -1): Action['run'] {
  return (call) => showDetails(call, (call.view?.origin.page ?? 1) + step);
}

export const detailsActions = [
  { id: 'order_look', run: (call) => showDetails(call, 1) },
  { id: 'order_look_next', run: createPageAction(1) },
  { id: 'order_look_previous', run: createPageAction(-1) },
] as const satisfies readonly Action[];
