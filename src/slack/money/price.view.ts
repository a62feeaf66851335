import { dropMissing } from '../../lib/collections.ts';
import { type Amount, formatAmount } from '../../money/amount.ts';
import type { ListedPrice } from '../../money/ports.ts';
import {
  findPrice,
  isSameCost,
  type OrderCost,
  PRICED_TASKS,
  type Price,
  type PricedTask,
  type PriceEdit,
  type Quote,
} from '../../money/prices.ts';
import type { LineIssue, PriceIssue } from '../../money/read-prices.ts';
import { computeCostAtRisk, type DelayStage } from '../../money/waiting.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  type AnyBlock,
  actions,
  button,
  context,
  escapeLine,
  formatCount,
  formatUtcDate,
  joinWords,
  MAX_TABLE_ROWS,
  type Message,
  menu,
  message,
  section,
  table,
  textMessage,
} from '../kit/blocks.ts';
import { formatCsvIssue, TOO_MANY_CELLS_TEXT } from '../kit/csv-issue.view.ts';
import { buildPageControls, slicePage } from '../kit/pages.ts';
import type { HistoryEvent } from '../orders/order.view.ts';

/** For messages that several people read, such as cards. */
const SHARED_LOCALE = 'en-GB';

function amountText(amount: Amount): string {
  return formatAmount(amount, SHARED_LOCALE);
}

/** @param today if given, the year is omitted for days close to it */
const dayText = (calendarDay: string, today?: string) =>
  formatUtcDate(new Date(`${calendarDay}T00:00:00Z`), today === undefined ? undefined : new Date(today));

/** `about €36.00 for 2 of 3 names (price list of 1 Nov 2026); price unknown for 1 name`. */
function costSummary(cost: OrderCost): string {
  const { names, sums, unknown: unpricedCount } = cost;
  if (sums.length === 0) return 'unknown';
  const knownPart =
    unpricedCount === 0 ? '' : ` for ${names.length - unpricedCount} of ${formatCount(names.length, 'name')}`;
  const priceListText = `price list of ${joinWords(cost.days.map((startDay) => dayText(startDay)))}`;
  const unknownPart = unpricedCount === 0 ? '' : `; price unknown for ${formatCount(unpricedCount, 'name')}`;
  return `about ${amountsText(sums)}${knownPart} (${priceListText})${unknownPart}`;
}

export function amountsText(amounts: readonly Amount[], locale = SHARED_LOCALE): string {
  return joinWords(amounts.map((amount) => formatAmount(amount, locale)));
}

export function needsPremiumNote({ sums, mayCostMore }: OrderCost): boolean {
  return sums.length > 0 && mayCostMore;
}

/** Explains the sum. Empty if the price is unknown. */
function costNotes(cost: OrderCost): string[] {
  if (cost.sums.length === 0) return [];
  const multipliers = new Set(cost.names.flatMap(({ quote: priceQuote }) => priceQuote?.times ?? []));
  const [multiplier = 1] = multipliers;
  const lead = multipliers.size > 1 ? 'I multiplied' : `This is ${multiplier} times`;
  return dropMissing([
    (multipliers.size > 1 || multiplier > 1) &&
      `${lead} the 1-year price${multipliers.size > 1 ? ' by the number of years' : ''}, because there’s no multi-year price.`,
    needsPremiumNote(cost) && 'A premium name may cost more.',
    cost.sources.length > 0 &&
      `Source: ${cost.sources.map((source) => `“${escapeLine(source, 80)}”`).join(', ')}.`,
  ]);
}

export function findLoggedCosts(history: readonly HistoryEvent[]): {
  readonly atRequest: OrderCost | undefined;
  readonly atApproval: OrderCost | undefined;
} {
  return {
    atRequest: history.findLast((event) => event.kind === 'requested')?.price,
    atApproval: history.findLast((event) => event.kind === 'approved')?.price,
  };
}

/** Undefined if the price hasn't changed since the request. */
function costChangeText(
  costAtRequest: OrderCost | undefined,
  currentCost: OrderCost | undefined,
): string | undefined {
  if (costAtRequest === undefined || currentCost === undefined || isSameCost(costAtRequest, currentCost))
    return undefined;
  const oldPriceText = costAtRequest.sums.length === 0 ? 'unknown' : amountsText(costAtRequest.sums);
  const newPriceText = currentCost.sums.length === 0 ? 'unknown' : amountsText(currentCost.sums);
  return oldPriceText === newPriceText
    ? 'The price of a name has changed since the request.'
    : `The price has changed from ${oldPriceText} to ${newPriceText} since the request.`;
}

export function priceChangeLine(
  currentCost: OrderCost,
  costAtRequest: OrderCost | undefined,
): string | undefined {
  const change = costChangeText(costAtRequest, currentCost);
  return change === undefined ? undefined : `:warning: ${change}`;
}

/** The thread reply if the price at the approval differs from the price at the request. */
export function priceChangeReply(event: HistoryEvent, history: readonly HistoryEvent[]): Message | undefined {
  if (event.kind !== 'approved' || event.state === 'PENDING') return undefined;
  const change = costChangeText(findLoggedCosts(history).atRequest, event.price);
  return change === undefined ? undefined : textMessage(`:moneybag: ${change}`);
}

export function formatCost(cost: OrderCost, costAtRequest: OrderCost | undefined): string {
  const change = costChangeText(costAtRequest, cost);
  return dropMissing([
    costSummary(cost),
    ...costNotes(cost),
    change !== undefined && `:warning: *${change}*`,
  ]).join('\n');
}

export function quoteCell(priceQuote: Quote | undefined): string {
  return priceQuote === undefined ? 'unknown' : amountText(priceQuote.amount);
}

/** `Deadlines and costs: renew by 17 Dec, about €18.00, then late renewal (not guaranteed) until …` */
export function formatDeadlines(stages: readonly DelayStage[], today?: string): string {
  const [firstStage] = stages;
  if (firstStage === undefined) return '';
  const canBeLostLater = firstStage.kind !== 'lost' && stages.at(-1)?.kind === 'lost';
  const parts = dropMissing([
    formatStage(firstStage, today),
    formatLaterStages(stages, today),
    canBeLostLater && 'then anyone can register it',
  ]);
  return `Deadlines and costs: ${parts.join(', ')}`;
}

/**
 * The stages after the first:
 * `then late renewal (not guaranteed) until 14 Jan, then restore for about €98.00 until 13 Feb`.
 * Undefined if there are none.
 */
export function formatLaterStages(
  [, ...laterStages]: readonly DelayStage[],
  today?: string,
): string | undefined {
  const parts = laterStages.flatMap((stage) => {
    if (stage.kind === 'at_own_risk')
      return [`then late renewal (not guaranteed) until ${dayText(stage.until, today)}`];
    if (stage.kind !== 'restore' || stage.until === undefined) return [];
    const priceText = stage.restore === undefined ? `(${NO_PRICE})` : `for ${formatRestoreStage(stage)}`;
    return [`then restore ${priceText} until ${dayText(stage.until, today)}`];
  });
  return parts.length === 0 ? undefined : parts.join(', ');
}

const NO_PRICE = 'no price';

/** `about €18.00` or `no price`. */
export function formatQuote(priceQuote: Quote | undefined): string {
  return priceQuote === undefined ? NO_PRICE : formatKnownQuote(priceQuote);
}

/** The price of a restore including its renewal: `about €98.00`. */
export function formatRestoreStage(stage: Extract<DelayStage, { kind: 'restore' }>): string {
  const { restore, renewal } = stage;
  if (restore === undefined) return NO_PRICE;
  if (renewal === undefined) return `${formatKnownQuote(restore)} and the renewal`;
  const sum = computeCostAtRisk([stage]);
  return `about ${amountsText(sum === undefined ? [restore.amount, renewal.amount] : [sum])}`;
}

function formatKnownQuote(priceQuote: Quote): string {
  return `about ${amountText(priceQuote.amount)}`;
}

function formatStage(stage: DelayStage, today: string | undefined): string {
  if (stage.kind === 'lost') return 'you can lose it now';
  const untilText = stage.until === undefined ? '' : ` by ${dayText(stage.until, today)}`;
  switch (stage.kind) {
    case 'renew':
      return `renew${untilText}, ${formatQuote(stage.renewal)}`;
    case 'at_own_risk':
      return `late renewal (not guaranteed)${untilText}, ${formatQuote(stage.renewal)}`;
    case 'restore':
      return `restore${untilText}, ${formatRestoreStage(stage)}`;
  }
}

export const PRICED_TASK_LABELS: Readonly<Record<PricedTask, string>> = {
  create: 'Registration',
  transfer: 'Transfer',
  renew: 'Renewal',
  restore: 'Restore',
  'owner-change': 'Owner change',
  authcode: 'Auth code',
};

export const PRICE_ISSUE_TEXTS: Readonly<Record<PriceIssue, string>> = {
  not_a_zone: 'Enter a zone, such as rest or co.uk.',
  unknown_task: `Enter one of ${PRICED_TASKS.join(', ')}.`,
  invalid_period: 'Enter a number of years, such as 1.',
  period_not_supported: 'This task has one price for any number of years. Leave the years empty or enter 1.',
  not_an_amount: 'Enter the amount with a point before the decimals, such as 18.00.',
  too_precise: 'Use fewer decimals, because the currency doesn’t have that many.',
  too_large: 'This price is too high. Enter a lower one.',
  unknown_currency: 'Enter a currency code, such as EUR.',
  invalid_date: 'Enter a date as YYYY-MM-DD, such as 2026-11-01.',
  ambiguous_date: 'This date is ambiguous. Write it as 2026-11-01.',
  no_source: 'Enter the price’s source, such as a contract or a web page.',
  source_too_long: 'Use at most 200 characters.',
};

function lineIssueText(issue: LineIssue): string {
  switch (issue.kind) {
    case 'price':
      return `“${issue.field}”: ${PRICE_ISSUE_TEXTS[issue.issue]}`;
    case 'csv':
      return formatCsvIssue(issue.issue);
    case 'missing_column':
      return `The column “${issue.column}” is missing. Add it.`;
    case 'unknown_column':
      return `Unknown column “${issue.column}”. Remove it.`;
    case 'too_many_cells':
      return `${TOO_MANY_CELLS_TEXT} Write amounts with a point before the decimals, and put texts with commas in quotes.`;
    case 'repeated':
      return `This line has the same zone, task, period and day as line ${issue.firstLine}. Remove one of them.`;
    case 'empty':
      return 'Add a header and at least one price.';
  }
}

/** Slack's approximate length limit for a field error. */
const MAX_ISSUES_LENGTH = 1_900;

/** Plain text, with one line per issue. */
export function lineIssuesText(issues: readonly LineIssue[]): string {
  const issueLines = issues.map((issue) => `Line ${issue.line}: ${lineIssueText(issue)}`);
  let length = 0;
  const shownLines = issueLines.filter((line) => {
    length += line.length + 1;
    return length <= MAX_ISSUES_LENGTH;
  });
  const remainingCount = issueLines.length - shownLines.length;
  return [
    'Nothing was imported.',
    ...shownLines,
    ...(remainingCount === 0 ? [] : [`… and ${remainingCount} more.`]),
  ].join('\n');
}

/** Plain text: `.rest renew, 1 year: €18.00 from 1 Nov 2026 (Contract 7)`. */
export function priceLine({ zone, task, period, amount, validFrom, source }: Price): string {
  return `.${zone} ${task}, ${formatCount(period, 'year')}: ${amountText(amount)} from ${dayText(validFrom)} (${source})`;
}

function getPriceStatus(price: Price, list: readonly Price[], today: string): string {
  if (price.validFrom > today) return 'future';
  return findPrice(list, price, today)?.validFrom === price.validFrom ? 'current' : 'past';
}

export interface PriceListViewer {
  readonly isAdmin: boolean;
  /** BCP 47 language tag, to format amounts. */
  readonly locale: string;
  /** YYYY-MM-DD */
  readonly today: string;
  /** ISO 4217 code for new prices. */
  readonly currency: string;
}

export function priceListMessage(
  list: readonly ListedPrice[],
  offset: number,
  viewer: PriceListViewer,
): Message {
  const editButtons = viewer.isAdmin
    ? [
        button('price_add', 'Add a price…', 'new', { style: 'primary' }),
        button('prices_import', 'Import CSV…', 'import'),
      ]
    : [];
  const downloadButton = button('prices_export', 'Download CSV', 'export');
  if (list.length === 0) {
    return message('The price list is empty', [
      section(
        `*The price list is empty.* Until it has prices, cards show “price unknown”.${viewer.isAdmin ? '' : ' Ask an admin to add them with `/domain prices`.'}`,
      ),
      ...actions('prices', editButtons),
    ]);
  }
  const isPast = (price: Price) => getPriceStatus(price, list, viewer.today) === 'past';
  const sortedPrices = [...list.filter((price) => !isPast(price)), ...list.filter(isPast)];
  const page = slicePage(sortedPrices, offset, MAX_TABLE_ROWS);
  return message(`The price list: ${formatCount(list.length, 'price')}`, [
    section('*The price list*'),
    table({
      caption: formatCount(list.length, 'price'),
      columns: ['Zone', 'Task', 'Years', 'Price', 'Valid from', 'Source', 'Status'],
      rows: page.items.map((price) => [
        `.${formatDomainName(price.zone)}`,
        PRICED_TASK_LABELS[price.task],
        String(price.period),
        formatAmount(price.amount, viewer.locale),
        dayText(price.validFrom),
        price.source,
        getPriceStatus(price, list, viewer.today),
      ]),
    }),
    viewer.isAdmin && buildEditMenu(page.items),
    ...buildPageControls('prices', page, MAX_TABLE_ROWS),
    ...actions('prices', [...editButtons, downloadButton]),
    context(
      `New prices are in ${viewer.currency}. Your team maintains this list, because the domain service doesn’t publish prices.`,
    ),
  ]);
}

function buildEditMenu(shownPrices: readonly ListedPrice[]): AnyBlock {
  return menu(
    'prices_edit',
    'price_edit',
    'Edit a price…',
    shownPrices.map((price) => ({
      text: `.${price.zone} ${PRICED_TASK_LABELS[price.task].toLowerCase()} ${price.period}: ${amountText(price.amount)}, ${dayText(price.validFrom)}`,
      value: price.id,
    })),
  );
}

/** The reply after edits were saved, as mrkdwn. */
export function pricesSavedText(edits: readonly PriceEdit[]): string {
  if (edits.length === 0) return 'Nothing changed, because the list already has these prices.';
  const addedCount = edits.filter(({ before }) => before === undefined).length;
  const changedCount = edits.length - addedCount;
  const parts = dropMissing([
    addedCount !== 0 && `${formatCount(addedCount, 'price')} added`,
    changedCount !== 0 && `${formatCount(changedCount, 'price')} changed`,
  ]);
  return `${joinWords(parts)}. Pending orders now show these prices.`;
}

export const PRICE_LIST_TEXTS = {
  gone: 'This price is no longer on the list. Close the form and check `/domain prices`.',
  taken: 'The list already has a price from this day. Edit that one, or enter another day.',
  changedMeanwhile: 'Nothing was saved, because someone changed the price list at the same time. Try again.',
  tooManyToConfirm: (max: number) =>
    `Nothing was saved, because more than ${max} of these prices need another admin’s confirmation. Import them in smaller parts.`,
  intro: (currency: string) => `The amount is in ${currency}.`,
  importIntro: (currency: string) => `Amounts are in ${currency}, unless the file has a \`currency\` column.`,
} as const;
