import { dropMissing } from '../../lib/collections.ts';
import type { Amount } from '../../money/amount.ts';
import {
  type Budget,
  type BudgetOverrun,
  type BudgetShare,
  type BudgetStatus,
  computeRemaining,
  toSafeInteger,
} from '../../money/budget.ts';
import type { BudgetComparison } from '../../money/budget-comparison.ts';
import {
  type AnyBlock,
  actions,
  button,
  type Cell,
  context,
  escapeText,
  formatCount,
  header,
  joinWords,
  type Message,
  mention,
  menu,
  table,
  textMessage,
} from '../kit/blocks.ts';
import { buildPageControls, type PageRequest, slicePage } from '../kit/pages.ts';
import { type HistoryEvent, type HistoryEventOf, needsMoreApprovals } from '../orders/order.view.ts';
import { amountsText } from './price.view.ts';

const MONTH_FORMAT = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** `November 2026` or `2026`. */
export function periodText(period: string): string {
  return period.length === 4 ? period : MONTH_FORMAT.format(new Date(`${period}-01T00:00:00Z`));
}

function scopeText(tag: string | null | undefined): string {
  return tag === undefined || tag === null ? 'all names' : `names tagged ${tag}`;
}

function minorAmountText(currency: string, minor: bigint | number, locale?: string): string {
  const amount: Amount = { currency, minor: typeof minor === 'bigint' ? toSafeInteger(minor) : minor };
  return amountsText([amount], locale);
}

/** `the November 2026 budget for all names`. */
function budgetName(tag: string | null | undefined, period: string): string {
  return `the ${periodText(period)} budget for ${escapeText(scopeText(tag))}`;
}

/** `It exceeds the November 2026 budget for all names by €16.00` */
function overrunText({ tag, period, currency, leftMinor, orderMinor }: BudgetOverrun): string {
  const overrunAmount = minorAmountText(currency, BigInt(orderMinor) - BigInt(leftMinor));
  return `It exceeds ${budgetName(tag, period)} by ${overrunAmount}`;
}

export function overrunDetailsText(overruns: readonly BudgetOverrun[]): string {
  return overruns
    .map((overrun) => {
      const { currency, leftMinor, orderMinor } = overrun;
      const leftText = leftMinor < 0 ? 'nothing' : minorAmountText(currency, leftMinor);
      return `${overrunText(overrun)}. It costs about ${minorAmountText(currency, orderMinor)}, and ${leftText} is left.`;
    })
    .join(' ');
}

export function formatOverrunWarning(overruns: readonly BudgetOverrun[]): string {
  return `:warning: *${overrunDetailsText(overruns)}* An admin other than the requester also has to approve it.`;
}

/** The budget text on a pending order's card. Undefined if no budget applies. */
export function formatBudgets(
  { shares, exceeded: overruns, reservation }: BudgetComparison,
  isPendingOnlyForBudget: boolean,
): string | undefined {
  const unpricedCount = reservation.items.filter(({ amount }) => amount === undefined).length;
  const lines = dropMissing([
    ...shares.filter((share) => share.orderAmount <= computeRemaining(share)).map(formatBudgetShare),
    overruns.length > 0 && formatOverrunWarning(overruns),
    overruns.length === 0 && isPendingOnlyForBudget && FITS_BUDGET_TEXT,
    shares.length > 0 &&
      unpricedCount !== 0 &&
      `Not counted in the budget: ${formatCount(unpricedCount, 'name')} with an unknown price.`,
  ]);
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** Says that the order exceeds a budget, or that it no longer needs an admin. */
export function budgetWarning(
  { exceeded: overruns }: BudgetComparison,
  isPendingOnlyForBudget: boolean,
): string | undefined {
  if (overruns.length > 0)
    return overruns
      .map((overrun) => `:warning: *${overrunText(overrun)}.* An admin also has to approve it.`)
      .join('\n');
  return isPendingOnlyForBudget ? FITS_BUDGET_TEXT : undefined;
}

const FITS_BUDGET_TEXT =
  ':white_check_mark: It fits the budget now, so it doesn’t need an admin anymore. To send it, click *Approve*.';

function formatBudgetShare(share: BudgetShare): string {
  const { currency } = share.budget.amount;
  const leftText = minorAmountText(currency, computeRemaining(share));
  return `Uses about ${minorAmountText(currency, share.orderAmount)} of the ${leftText} left in ${budgetName(share.budget.tag, share.period)}.`;
}

export function formatApprovedOverrun(history: readonly HistoryEvent[]): string | undefined {
  const approvalEvent = history.findLast(
    (event) => event.kind === 'resumed' || (event.kind === 'approved' && !needsMoreApprovals(event)),
  );
  if (approvalEvent?.kind !== 'resumed' && approvalEvent?.kind !== 'approved') return undefined;
  const { overBudget, admins = [] } = approvalEvent;
  return (
    overBudget && `:warning: ${overrunDetailsText(overBudget)} Approved by ${joinWords(admins.map(mention))}.`
  );
}

/**
 * Asks admins to approve an order that exceeds a budget. Undefined for other events.
 * @param admins without the requester
 */
export function overBudgetReply(event: HistoryEvent, admins: readonly string[]): Message | undefined {
  if (!needsMoreApprovals(event) || (event.kind !== 'approved' && event.kind !== 'requested'))
    return undefined;
  const isApproval = event.kind === 'approved';
  const { overBudget } = event;
  if (overBudget === undefined || (isApproval && (event.admins ?? []).length > 0)) return undefined;
  const missingCount = isApproval ? countMissingApprovals(event) : 0;
  const adminsText = admins.length === 0 ? 'An admin' : admins.map(mention).join(' or ');
  const sentences = dropMissing([
    isApproval &&
      `:ballot_box_with_check: ${mention(event.actor)} approved.${missingCount > 0 ? ` ${formatCount(missingCount, 'more approval')} needed.` : ''}`,
    `:moneybag: ${overrunDetailsText(overBudget)} ${adminsText} also has to approve it.${isApproval ? ' An admin’s earlier approval doesn’t count for this.' : ''}`,
  ]);
  return textMessage(sentences.join(' '));
}

/** Whether only an admin's approval to exceed the budget is missing. */
export function isWaitingOnlyForAdmin(history: readonly HistoryEvent[]): boolean {
  const lastApproval = history.findLast((event) => event.kind === 'approved');
  if (lastApproval?.overBudget === undefined || countMissingApprovals(lastApproval) > 0) return false;
  return (lastApproval.admins ?? []).length === 0;
}

/** Doesn't count the admin's approval to exceed the budget. */
function countMissingApprovals({ validCount, required }: HistoryEventOf<'approved'>): number {
  return Math.max(0, required - validCount);
}

export interface BudgetViewer {
  readonly isAdmin: boolean;
  /** BCP 47 language tag, to format amounts. */
  readonly locale: string;
}

const BUDGETS_PER_PAGE = 50;

/** Returns no blocks if there are no budgets and the viewer can't add one. */
export function budgetBlocks(
  allStatuses: readonly BudgetStatus[],
  { of: period, offset }: PageRequest,
  viewer: BudgetViewer,
): AnyBlock[] {
  const page = slicePage(allStatuses, offset, BUDGETS_PER_PAGE);
  const statuses = page.items;
  const addButton = button('budget_add', 'Add a budget…', 'new');
  return dropMissing([
    ...(statuses.length === 0
      ? []
      : dropMissing([
          header('Budgets'),
          table({
            caption: 'Budgets',
            columns: ['Scope', 'Left', 'Budget', 'Period', 'Spent', 'Reserved'],
            rows: statuses.map((status) => statusCells(status, viewer.locale)),
          }),
          viewer.isAdmin && buildEditMenu(statuses.map(({ budget }) => budget)),
          ...buildPageControls('budgets', page, BUDGETS_PER_PAGE, period),
        ])),
    ...(viewer.isAdmin ? actions('budgets', [addButton]) : []),
    statuses.length > 0 &&
      context(
        'An order’s price is reserved when it gets its final approval. If the order fails, the amount is released. Orders with an unknown outcome stay reserved. Names without a price aren’t counted.',
      ),
  ]);
}

/** `████░░░░░░ 40% used`, including reserved amounts. */
function budgetBar({ budget, booked, reserved }: BudgetStatus): string {
  const limit = BigInt(budget.amount.minor);
  const used = booked + reserved;
  const percent = limit === 0n ? (used === 0n ? 0n : 100n) : (used * 100n) / limit;
  const filledCount = Number(percent > 100n ? 10n : percent / 10n);
  return `${'█'.repeat(filledCount)}${'░'.repeat(10 - filledCount)} ${percent}% used`;
}

/** The second column is the remaining amount, because phones show only the first columns. */
function statusCells(status: BudgetStatus, locale: string): readonly Cell[] {
  const { budget, booked, reserved, period } = status;
  const { currency } = budget.amount;
  return [
    scopeText(budget.tag),
    `${minorAmountText(currency, computeRemaining(status), locale)} ${budgetBar(status)}`,
    amountsText([budget.amount], locale),
    periodText(period),
    minorAmountText(currency, booked, locale),
    minorAmountText(currency, reserved, locale),
  ];
}

/** Choosing a budget opens its form. */
function buildEditMenu(budgets: readonly Budget[]): AnyBlock {
  return menu(
    'budgets_edit',
    'budget_edit',
    'Edit a budget…',
    budgets.map((budget) => ({ text: budgetLine(budget), value: budget.id })),
  );
}

/** Plain text: `€100.00 a month for all names`. */
function budgetText({ tag, span, amount }: Omit<Budget, 'id'>): string {
  return `${amountsText([amount])} a ${span} for ${scopeText(tag)}`;
}

/** Plain text: `all names, €100.00 a month`. */
export function budgetLine({ tag, span, amount }: Omit<Budget, 'id' | 'tag'> & Partial<Budget>): string {
  return `${scopeText(tag)}, ${amountsText([amount])} a ${span}`;
}

/** One line per budget: `• all names, November 2026: €40.00 of €100.00 ████░░░░░░ 40% used`. */
export function budgetStatusLines(statuses: readonly BudgetStatus[], locale?: string): string[] {
  return statuses.map((status) => {
    const { budget, period, booked, reserved } = status;
    const { currency } = budget.amount;
    const used = minorAmountText(currency, booked + reserved, locale);
    return `• ${escapeText(scopeText(budget.tag))}, ${periodText(period)}: ${used} of ${amountsText([budget.amount], locale)} ${budgetBar(status)}`;
  });
}

export const BUDGET_TEXTS = {
  gone: 'This budget no longer exists. Close the form and check `/domain spend`.',
  taken: 'A budget for this tag and period already exists. Edit that one instead.',
  notEditable: 'You can’t change the tag or period of a budget. Close the form and add a new budget.',
  unchanged: 'Nothing changed, because the budget already has this amount.',
  saved: (budget: Omit<Budget, 'id'>) => `I saved the budget of ${budgetText(budget)}.`,
  removed: (budget: Budget) => `I removed the budget of ${budgetText(budget)}.`,
} as const;

/** @param budget the budget to edit; undefined for a new one */
export function budgetIntro(budget: Budget | undefined, currency: string): string {
  const currentText = budget === undefined ? '' : `Current budget: ${budgetLine(budget)}. `;
  return `${currentText}Amounts are in ${currency}. Months and years start at midnight UTC.`;
}
