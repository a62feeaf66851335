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
  count,
  formatUtcDate,
  joinWords,
  type Message,
  menu,
  message,
  quote,
  section,
  TABLE_ROWS,
  table,
  textMessage,
} from '../kit/blocks.ts';
import { formatCsvIssue, MORE_CELLS } from '../kit/csv-issue.view.ts';
import { buildPageControls, slicePage } from '../kit/pages.ts';
import type { HistoryEvent } from '../orders/order.view.ts';

/** For messages that several people read, such as cards. */
const SHARED_LOCALE = 'en-GB';

function amountText(amount: Amount): string {
  return formatAmount(amount, SHARED_LOCALE);
}

/** @param today if given, the year of near days is left out */
const dayText = (calendarDay: string, today?: string) =>
  formatUtcDate(new Date(`${calendarDay}T00:00:00Z`), today === undefined ? undefined : new Date(today));

/** `about €36.00 for 2 of 3 names (price list of 1 Nov 2026); price unknown for 1 name`. */
function costText(cost: OrderCost): string {
  const { names, sums, unknown } = cost;
  if (sums.length === 0) return 'unknown';
  const knownPart = unknown === 0 ? '' : ` for ${names.length - unknown} of ${count(names.length, 'name')}`;
  const priceListText = `price list of ${joinWords(cost.days.map((startDay) => dayText(startDay)))}`;
  const unknownPart = unknown === 0 ? '' : `; price unknown for ${count(unknown, 'name')}`;
  return `about ${amountsText(sums)}${knownPart} (${priceListText})${unknownPart}`;
}

export function amountsText(amounts: readonly Amount[], locale = SHARED_LOCALE): string {
  return joinWords(amounts.map((amount) => formatAmount(amount, locale)));
}

export function hasPremiumNote({ sums, mayCostMore }: OrderCost): boolean {
  return sums.length > 0 && mayCostMore;
}

/** Explains the sum. Empty if the price is unknown. */
function costNotes(cost: OrderCost): string[] {
  if (cost.sums.length === 0) return [];
  const multipliers = new Set(cost.names.flatMap(({ quote: found }) => found?.times ?? []));
  const [multiplier = 1] = multipliers;
  const lead = multipliers.size > 1 ? 'I multiplied' : `This is ${multiplier} times`;
  return dropMissing([
    (multipliers.size > 1 || multiplier > 1) &&
      `${lead} the 1-year price${multipliers.size > 1 ? ' by the number of years' : ''}, because there’s no multi-year price.`,
    hasPremiumNote(cost) && 'A premium name may cost more.',
    cost.sources.length > 0 &&
      `Source: ${cost.sources.map((source) => `“${quote(source, 80)}”`).join(', ')}.`,
  ]);
}

export function findHistoricCosts(history: readonly HistoryEvent[]): {
  readonly atRequest: OrderCost | undefined;
  readonly atApproval: OrderCost | undefined;
} {
  return {
    atRequest: history.findLast((event) => event.kind === 'requested')?.price,
    atApproval: history.findLast((event) => event.kind === 'approved')?.price,
  };
}

/** Undefined if the price hasn't changed since the request. */
function costChange(atRequest: OrderCost | undefined, current: OrderCost | undefined): string | undefined {
  if (atRequest === undefined || current === undefined || isSameCost(atRequest, current)) return undefined;
  const before = atRequest.sums.length === 0 ? 'unknown' : amountsText(atRequest.sums);
  const after = current.sums.length === 0 ? 'unknown' : amountsText(current.sums);
  return before === after
    ? 'The price of a name has changed since the request.'
    : `The price has changed from ${before} to ${after} since the request.`;
}

export function priceChangeLine(current: OrderCost, atRequest: OrderCost | undefined): string | undefined {
  const change = costChange(atRequest, current);
  return change === undefined ? undefined : `:warning: ${change}`;
}

/** The thread reply if the price at the approval differs from the price at the request. */
export function repricedReply(event: HistoryEvent, history: readonly HistoryEvent[]): Message | undefined {
  if (event.kind !== 'approved' || event.state === 'PENDING') return undefined;
  const change = costChange(findHistoricCosts(history).atRequest, event.price);
  return change === undefined ? undefined : textMessage(`:moneybag: ${change}`);
}

export function formatCost(cost: OrderCost, atRequest: OrderCost | undefined): string {
  const change = costChange(atRequest, cost);
  return dropMissing([
    costText(cost),
    ...costNotes(cost),
    change !== undefined && `:warning: *${change}*`,
  ]).join('\n');
}

export function quoteCell(priceQuote: Quote | undefined): string {
  return priceQuote === undefined ? 'unknown' : amountText(priceQuote.amount);
}

/** `Deadlines and costs: renew by 17 Dec, about €18.00, then late renewal (not guaranteed) until 31 Jan, …` */
export function waitingText(steps: readonly DelayStage[], today?: string): string {
  const [first] = steps;
  if (first === undefined) return '';
  const canBeLostLater = first.kind !== 'lost' && steps.at(-1)?.kind === 'lost';
  const parts = dropMissing([
    formatStep(first, today),
    laterStepsText(steps, today),
    canBeLostLater && 'then anyone can register it',
  ]);
  return `Deadlines and costs: ${parts.join(', ')}`;
}

/**
 * The later steps: `then late renewal (not guaranteed) until 14 Jan, then restore for about €98.00 until 13 Feb`.
 * Undefined if there are none.
 */
export function laterStepsText([, ...later]: readonly DelayStage[], today?: string): string | undefined {
  const parts = later.flatMap((step) => {
    if (step.kind === 'at_own_risk')
      return [`then late renewal (not guaranteed) until ${dayText(step.until, today)}`];
    if (step.kind !== 'restore' || step.until === undefined) return [];
    const price = step.restore === undefined ? `(${NO_PRICE})` : `for ${formatRestoreStep(step)}`;
    return [`then restore ${price} until ${dayText(step.until, today)}`];
  });
  return parts.length === 0 ? undefined : parts.join(', ');
}

const NO_PRICE = 'no price';

/** `about €18.00` or `no price`. */
export function formatQuote(priceQuote: Quote | undefined): string {
  return priceQuote === undefined ? NO_PRICE : formatKnownQuote(priceQuote);
}

/** The price of a restore including its renewal: `about €98.00`. */
export function formatRestoreStep(step: Extract<DelayStage, { kind: 'restore' }>): string {
  const { restore, renewal } = step;
  if (restore === undefined) return NO_PRICE;
  if (renewal === undefined) return `${formatKnownQuote(restore)} and the renewal`;
  const sum = computeCostAtRisk([step]);
  return `about ${amountsText(sum === undefined ? [restore.amount, renewal.amount] : [sum])}`;
}

function formatKnownQuote(priceQuote: Quote): string {
  return `about ${amountText(priceQuote.amount)}`;
}

function formatStep(step: DelayStage, today: string | undefined): string {
  if (step.kind === 'lost') return 'you can lose it now';
  const until = step.until === undefined ? '' : ` by ${dayText(step.until, today)}`;
  switch (step.kind) {
    case 'renew':
      return `renew${until}, ${formatQuote(step.renewal)}`;
    case 'at_own_risk':
      return `late renewal (not guaranteed)${until}, ${formatQuote(step.renewal)}`;
    case 'restore':
      return `restore${until}, ${formatRestoreStep(step)}`;
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

export const PRICE_ISSUES: Readonly<Record<PriceIssue, string>> = {
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
      return `“${issue.field}”: ${PRICE_ISSUES[issue.issue]}`;
    case 'csv':
      return formatCsvIssue(issue.issue);
    case 'missing_column':
      return `The column “${issue.column}” is missing. Add it.`;
    case 'unknown_column':
      return `Unknown column “${issue.column}”. Remove it.`;
    case 'too_many_cells':
      return `${MORE_CELLS} Write amounts with a point before the decimals, and put texts with commas in quotes.`;
    case 'repeated':
      return `This line has the same zone, task, period and day as line ${issue.firstLine}. Remove one of them.`;
    case 'empty':
      return 'Add a header and at least one price.';
  }
}

/** The approximate limit of Slack's field errors. */
const MAX_ISSUES_LENGTH = 1_900;

/** Plain text, with one line per issue. */
export function lineIssuesText(issues: readonly LineIssue[]): string {
  const issueLines = issues.map((issue) => `Line ${issue.line}: ${lineIssueText(issue)}`);
  let length = 0;
  const shownLines = issueLines.filter((line) => {
    length += line.length + 1;
    return length <= MAX_ISSUES_LENGTH;
  });
  const left = issueLines.length - shownLines.length;
  return ['Nothing was imported.', ...shownLines, ...(left === 0 ? [] : [`… and ${left} more.`])].join('\n');
}

/** Plain text: `.rest renew, 1 year: €18.00 from 1 Nov 2026 (Contract 7)`. */
export function priceLine({ zone, task, period, amount, validFrom, source }: Price): string {
  return `.${zone} ${task}, ${count(period, 'year')}: ${amountText(amount)} from ${dayText(validFrom)} (${source})`;
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
  reader: PriceListViewer,
): Message {
  const editButtons = reader.isAdmin
    ? [
        button('price_add', 'Add a price…', 'new', { style: 'primary' }),
        button('prices_import', 'Import CSV…', 'import'),
      ]
    : [];
  const downloadButton = button('prices_export', 'Download CSV', 'export');
  if (list.length === 0) {
    return message('The price list is empty', [
      section(
        `*The price list is empty.* Until it has prices, cards show “price unknown”.${reader.isAdmin ? '' : ' Ask an admin to add them with `/domain prices`.'}`,
      ),
      ...actions('prices', editButtons),
    ]);
  }
  const isPast = (price: Price) => getPriceStatus(price, list, reader.today) === 'past';
  const sorted = [...list.filter((price) => !isPast(price)), ...list.filter(isPast)];
  const page = slicePage(sorted, offset, TABLE_ROWS);
  return message(`The price list: ${count(list.length, 'price')}`, [
    section('*The price list*'),
    table({
      caption: count(list.length, 'price'),
      columns: ['Zone', 'Task', 'Years', 'Price', 'Valid from', 'Source', 'Status'],
      rows: page.items.map((price) => [
        `.${formatDomainName(price.zone)}`,
        PRICED_TASK_LABELS[price.task],
        String(price.period),
        formatAmount(price.amount, reader.locale),
        dayText(price.validFrom),
        price.source,
        getPriceStatus(price, list, reader.today),
      ]),
    }),
    reader.isAdmin && editMenu(page.items),
    ...buildPageControls('prices', page, TABLE_ROWS),
    ...actions('prices', [...editButtons, downloadButton]),
    context(
      `New prices are in ${reader.currency}. Your team maintains this list, because the domain service doesn’t publish prices.`,
    ),
  ]);
}

function editMenu(list: readonly ListedPrice[]): AnyBlock {
  return menu(
    'prices_edit',
    'price_edit',
    'Edit a price…',
    list.map((price) => ({
      text: `.${price.zone} ${PRICED_TASK_LABELS[price.task].toLowerCase()} ${price.period}: ${amountText(price.amount)}, ${dayText(price.validFrom)}`,
      value: price.id,
    })),
  );
}

/** The reply after edits were saved, as mrkdwn. */
export function pricesSavedText(edits: readonly PriceEdit[]): string {
  if (edits.length === 0) return 'Nothing changed, because the list already has these prices.';
  const added = edits.filter(({ before }) => before === undefined).length;
  const changed = edits.length - added;
  const parts = dropMissing([
    added !== 0 && `${count(added, 'price')} added`,
    changed !== 0 && `${count(changed, 'price')} changed`,
  ]);
  return `${joinWords(parts)}. Pending orders now show these prices.`;
}

export const PRICES = {
  gone: 'This price is no longer on the list. Close the form and check `/domain prices`.',
  taken: 'The list already has a price from this day. Edit that one, or enter another day.',
  changedMeanwhile: 'Nothing was saved, because someone changed the price list at the same time. Try again.',
  tooManyToConfirm: (max: number) =>
    `Nothing was saved, because more than ${max} of these prices need another admin’s confirmation. Import them in smaller parts.`,
  intro: (currency: string) => `The amount is in ${currency}.`,
  importIntro: (currency: string) => `Amounts are in ${currency}, unless the file has a \`currency\` column.`,
} as const;
