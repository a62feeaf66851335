import type { ModalView, SectionBlock } from '@slack/types';
import type { Briefing } from '../../approvals/briefing.ts';
import type { Order } from '../../orders/order.ts';
import { acceptsUnsignedApprovals } from '../../policy/policy.ts';
import { breakGlassButtons } from '../approvals/emergency.view.ts';
import { findingBlocks, pauseButtons } from '../bulk/bulk.view.ts';
import {
  actions,
  button,
  code,
  context,
  escapeText,
  lineSections,
  section,
  sectionFields,
  truncate,
  untruncatedSections,
} from '../kit/blocks.ts';
import { type FormOrigin, noticeView } from '../kit/form.ts';
import { coveredNamesText, previewLines } from '../mandates/mandate.view.ts';
import { quoteCell } from '../money/price.view.ts';
import { answerLines } from './answer.view.ts';
import { commentButton, impactBlocks, orderFields, type UnusualFact, unusualLines } from './card.view.ts';
import {
  decisionButtons,
  formatItemName,
  itemStateText,
  orderTitle,
  resultLines,
  sentRequestLines,
  unsignedApproveButton,
} from './order.view.ts';
import { statementPages } from './statement.view.ts';
import { orderHistory, outcomeGroupLines } from './thread.view.ts';

/* A modal with pages that show everything an order sends, with explanations. */

/** `callback_id` of the modal. */
export const DETAILS_VIEW = 'order_look';

interface DetailsInput {
  readonly order: Order;
  readonly briefing: Briefing;
  readonly canDecide: boolean;
  readonly origin: FormOrigin;
  /** Starts at 1. If there are fewer pages, the last one is shown. */
  readonly page: number;
  /** Says why the details opened, if the person clicked something else. */
  readonly note?: string | undefined;
}

/** Facts that other blocks of the modal show. */
const SHOWN_FACTS: ReadonlySet<UnusualFact> = new Set<UnusualFact>([
  ...(['price', 'account', 'retry', 'zone', 'stand_in', 'budget', 'price_change'] as const),
  ...(['findings', 'expiry_change', 'impact'] as const),
]);

function warningBlocks(order: Order, briefing: Briefing): SectionBlock[] {
  return [
    ...lineSections(unusualLines(order, briefing, SHOWN_FACTS)),
    ...(order.bulk === undefined ? [] : findingBlocks(order.bulk)),
    ...impactBlocks(briefing),
  ];
}

const MAX_RESPONSE_LENGTH = 80;

/** If there are several names, shows their prices or outcomes. A bulk order's names are in its file. */
function nameBlocks(order: Order, { cost }: Briefing): SectionBlock[] {
  if (order.bulk !== undefined || order.items.length < 2) return [];
  const isPending = order.state === 'PENDING';
  const rows = order.items.map((item) => {
    const response = [item.result?.code, item.result?.text, item.result?.stid].filter(Boolean).join(' ');
    const price = isPending && cost !== undefined ? quoteCell(cost.names[item.n - 1]?.quote) : '';
    const state = isPending ? '' : itemStateText(order, item);
    const parts = [price, state, escapeText(truncate(response, MAX_RESPONSE_LENGTH))].filter(Boolean);
    return `• ${[escapeText(formatItemName(order, item.name)), ...parts].join(' · ')}`;
  });
  return lineSections(rows);
}

const MAX_SHOWN_NAMES = 5;

/** The outcome, with the service's whole answer if there is a single name. */
function outcomeBlocks(order: Order): SectionBlock[] {
  const [item, ...others] = order.items;
  const isSingle = item !== undefined && others.length === 0;
  const texts = [
    ...sentRequestLines(order),
    ...(isSingle ? resultLines(item) : []),
    // The outcome of each row of a bulk order is in the result file.
    ...(order.bulk === undefined
      ? answerLines(order, (name) => formatItemName(order, name))
      : outcomeGroupLines(order, MAX_SHOWN_NAMES)),
  ];
  return texts.length === 0 ? [] : lineSections(['*Result*', ...texts]);
}

/** The explanations are on the first page, and the history is on the last. */
export function orderDetailsView({
  order,
  briefing,
  canDecide,
  origin,
  page,
  note,
}: DetailsInput): ModalView {
  const { mandatePreview } = briefing;
  const coveredNames = mandatePreview === undefined ? [] : [coveredNamesText(mandatePreview)];
  const pages = statementPages(briefing.statement, order, coveredNames);
  const pageNumber = Math.min(Math.max(page, 1), pages.length);
  const isFirstPage = pageNumber === 1;
  const pageButton = (actionId: string, text: string) => button(actionId, text, order.id);
  return {
    ...noticeView('Order details', [
      ...(note === undefined ? [] : [section(note)]),
      section(`*${escapeText(orderTitle(order))}*`),
      ...(isFirstPage
        ? [...sectionFields(orderFields(order, briefing)), ...nameBlocks(order, briefing)]
        : []),
      ...(isFirstPage ? outcomeBlocks(order) : []),
      ...(isFirstPage && order.state === 'PENDING' ? warningBlocks(order, briefing) : []),
      ...(isFirstPage && mandatePreview !== undefined
        ? untruncatedSections(previewLines(mandatePreview, mandatePreview.names.length))
        : []),
      ...(pages[pageNumber - 1] ?? []),
      ...actions(`look_pages_${order.id}`, [
        ...(pageNumber > 1 ? [pageButton('order_look_previous', 'Previous page')] : []),
        ...(pageNumber < pages.length ? [pageButton('order_look_next', 'Next page')] : []),
      ]),
      ...(pageNumber === pages.length ? orderHistory(order, briefing.history) : []),
      ...actions(`look_paused_${order.id}`, pauseButtons(order)),
      ...(order.state === 'PENDING' && canDecide
        ? actions(`look_${order.id}`, [
            ...decisionButtons(order, true),
            unsignedApproveButton(order),
            acceptsUnsignedApprovals(order.requirements) && commentButton(order),
            ...breakGlassButtons(order, briefing.pendingRequirements),
          ])
        : []),
      context(
        `Order ${code(order.id)}${pages.length === 1 ? '' : ` · page ${pageNumber} of ${pages.length}`}`,
      ),
    ]),
    callback_id: DETAILS_VIEW,
    private_metadata: JSON.stringify({ ...origin, subject: order.id, page: pageNumber }),
  };
}
