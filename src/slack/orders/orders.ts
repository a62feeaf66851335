import type { PendingRequirements } from '../../approvals/approvers.ts';
import { loadBriefing } from '../../approvals/briefing.ts';
import { dropMissing } from '../../lib/collections.ts';
import { type Order, sortScheduledFirst } from '../../orders/order.ts';
import type { OrderFilter } from '../../orders/ports.ts';
import { listVisibleOrders, loadVisibleOrder } from '../../orders/visibility.ts';
import { parseDomainName } from '../../zones/names.ts';
import { breakGlassButtons, signOffButtons } from '../approvals/emergency.view.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type Interaction,
  isAdmin,
  toViewer,
} from '../feature.ts';
import { actions, hasAction, lineSections, type Message, message, sectionFields } from '../kit/blocks.ts';
import { createPageActions, type PageRequest, slicePage } from '../kit/pages.ts';
import { answerButtons, answerLines } from './answer.view.ts';
import { orderCard, orderFields, parseCardBlockId } from './card.view.ts';
import { formatItemName, receiptButton } from './order.view.ts';
import {
  buildNameListTexts,
  LIST_TEXTS,
  type ListTexts,
  noSuchOrderText,
  ORDER_ID_MISSING,
  ORDERS_PER_PAGE,
  ORDERS_USAGE,
  ordersMessage,
} from './order-list.view.ts';
import { orderHistory } from './thread.view.ts';

/* Lists of orders, and single orders with their history. */

async function runOrders(call: CommandCall): Promise<void> {
  const [filterWord = '', ...extraWords] = call.words;
  if (extraWords.length > 0) return call.respond(ORDERS_USAGE);
  await call.respond(await buildOrdersPage(call, { of: filterWord, offset: 0 }));
}

async function buildOrdersPage(interaction: Interaction, page: PageRequest): Promise<Message | string> {
  const { context, person } = interaction;
  const { filter, title, emptyText } = parseOrderFilter(page.of, person.id);
  const orderList = await listVisibleOrders(context.orders, toViewer(interaction), {
    ...filter,
    limit: MAX_LISTED_ORDERS,
  });
  return orderList.length === 0
    ? emptyText
    : ordersMessage(title, slicePage(sortScheduledFirst(orderList), page.offset, ORDERS_PER_PAGE), page.of);
}

/** Nobody pages through more orders than this. */
const MAX_LISTED_ORDERS = 1_000;

function parseOrderFilter(
  word: string,
  userId: string,
): ListTexts & { readonly filter: Omit<OrderFilter, 'limit' | 'viewer'> } {
  switch (word.toLowerCase()) {
    case '':
      return { filter: {}, ...LIST_TEXTS.latest };
    case 'pending':
      return { filter: { states: ['PENDING'] }, ...LIST_TEXTS.pending };
    case 'review':
      return { filter: { isReviewOpen: true }, ...LIST_TEXTS.review };
    case 'mine':
      return { filter: { requesterId: userId }, ...LIST_TEXTS.mine };
    default: {
      const parsed = parseDomainName(word);
      const name = parsed.ok ? parsed.value.ascii : word;
      return { filter: { name }, ...buildNameListTexts(name) };
    }
  }
}

/** For admins, who may not be able to see the card. */
function emergencyButtons(
  { context, person }: CommandCall,
  order: Order,
  pendingRequirements: PendingRequirements | undefined,
) {
  return isAdmin(context, person)
    ? [...breakGlassButtons(order, pendingRequirements), ...signOffButtons(order)]
    : [];
}

async function runOrder(call: CommandCall): Promise<void> {
  const [id] = call.words;
  if (id === undefined) return call.respond(ORDER_ID_MISSING);
  const order = await loadVisibleOrder(call.context.orders, toViewer(call), id.toLowerCase());
  if (order === undefined) return call.respond(noSuchOrderText(id));
  const briefing = await loadBriefing(call.context, order);
  const card = orderCard(order, briefing);
  // The bot recognizes cards by the block id of their buttons, and this reply isn't a card.
  const blocks = card.blocks.map((block) =>
    parseCardBlockId(block.block_id ?? '') === undefined
      ? block
      : { ...block, block_id: `shown_${order.id}` },
  );
  await call.respond(
    message(card.text, [
      ...blocks,
      ...sectionFields(orderFields(order, briefing)),
      // The answers to a bulk order are in the result file in the thread.
      ...(order.bulk === undefined
        ? lineSections(answerLines(order, (name) => formatItemName(order, name)))
        : []),
      ...actions(
        `data_${order.id}`,
        dropMissing([
          ...emergencyButtons(call, order, briefing.pendingRequirements),
          ...answerButtons(order),
          receiptButton(order),
        ]).filter(({ action_id = '' }) => !hasAction(card.blocks, action_id)),
      ),
      ...orderHistory(order, briefing.history),
    ]),
  );
}

export const orders = {
  commands: [
    {
      usage: 'orders [pending, mine, review or NAME]',
      summary: 'List orders',
      example: '/domain orders pending',
      run: runOrders,
    },
    {
      usage: 'order ID',
      summary: 'Show an order and its history',
      example: '/domain order 7k2m9qx4h1ab',
      run: runOrder,
    },
  ],
  actions: createPageActions('orders', async (call: ActionCall, request) =>
    call.respond(await buildOrdersPage(call, request), { replace: true }),
  ),
} as const satisfies Feature;
