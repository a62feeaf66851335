import { formatShortMonth } from '../../expiry/chart.ts';
import { toWholeUnits } from '../../money/amount.ts';
import type { BudgetStatus } from '../../money/budget.ts';
import { CONCEALED_KEY, type Spend, type SpendLine, type SpendSum } from '../../money/spend.ts';
import {
  type AnyBlock,
  actions,
  button,
  type Cell,
  code,
  context,
  formatCount,
  header,
  type Message,
  message,
  monthChart,
  section,
  table,
} from '../kit/blocks.ts';
import { budgetBlocks, periodText } from './budget.view.ts';
import { amountsText } from './price.view.ts';

export interface SpendFigures {
  /** `2026` or `2026-11`. */
  readonly period: string;
  readonly spend: Spend;
  readonly unknownOutcomes: number;
  /** The next twelve months, at current prices. */
  readonly forecast: readonly SpendLine[];
  /** The next renewals of unused names, at current prices. */
  readonly unused: SpendSum;
  readonly budgets: readonly BudgetStatus[];
  readonly isAdmin: boolean;
  /** ISO 4217 code for the chart. */
  readonly currency: string;
  /** The reader's BCP 47 language tag. */
  readonly locale: string;
}

const GROUPINGS = ['month', 'task', 'zone', 'tag', 'person', 'mandate'] as const;
type Grouping = (typeof GROUPINGS)[number];

function getSpendLines(spend: Spend, grouping: Grouping): readonly SpendLine[] {
  const linesByGrouping = {
    month: spend.byMonth,
    task: spend.byTask,
    zone: spend.byZone,
    tag: spend.byTag,
    person: spend.byPerson,
    mandate: spend.byMandate,
  };
  return linesByGrouping[grouping];
}

/** `about €36.00 plus 1 name without a price`. */
export function sumText({ nameCount, unpricedCount, sums }: SpendSum, locale?: string): string {
  if (nameCount === 0) return '–';
  if (sums.length === 0) return 'an unknown amount';
  const unpricedText =
    unpricedCount === 0 ? '' : ` plus ${formatCount(unpricedCount, 'name')} without a price`;
  return `about ${amountsText(sums, locale)}${unpricedText}`;
}

export function spendMessage(figures: SpendFigures, offset: number): Message {
  const { period, spend, unknownOutcomes, forecast, locale } = figures;
  const { total } = spend;
  const text =
    total.nameCount === 0
      ? `No spending in ${periodText(period)}.`
      : `Spent ${sumText(total, locale)} in ${periodText(period)}, for ${formatCount(total.nameCount, 'name')}.`;
  // The cost comes before the number of names, because phones show only the first columns.
  const rows: (readonly Cell[])[] = [
    ...GROUPINGS.flatMap((grouping) =>
      getSpendLines(spend, grouping).map((line): readonly Cell[] => [
        `By ${grouping}`,
        toItemCell(grouping, line.key),
        sumText(line, locale),
        String(line.nameCount),
      ]),
    ),
    ...forecast
      .filter(({ nameCount }) => nameCount > 0)
      .map((line): readonly Cell[] => [
        'Upcoming',
        periodText(line.key),
        sumText(line, locale),
        String(line.nameCount),
      ]),
  ];
  return message(text, [
    header(`Spending in ${periodText(period)}`),
    section(text),
    unknownOutcomes !== 0 &&
      section(
        `:grey_question: Not included: ${formatCount(unknownOutcomes, 'name')} with an unknown outcome, which may have cost money.`,
      ),
    ...budgetBlocks(figures.budgets, { of: period, offset }, figures),
    ...forecastChart(figures),
    ...unusedBlocks(figures),
    ...(rows.length === 0
      ? []
      : [
          table({
            caption: 'Spending and upcoming renewals',
            columns: ['Group', 'Item', 'Cost', 'Names'],
            rows,
          }),
          ...actions('spend', [button('spend_export', 'Download CSV', period)]),
        ]),
    context(
      'Includes only orders on the live system, at the price on the day each was carried out. The forecast assumes that every watched name is renewed for 1 year at today’s prices. Premium names may cost more. To see another period: `/domain spend 2026-11`.',
    ),
  ]);
}

function unusedBlocks({ unused, locale }: SpendFigures): AnyBlock[] {
  if (unused.nameCount === 0) return [];
  const isSingle = unused.nameCount === 1;
  const cost =
    unused.sums.length === 0
      ? `The price list has no renewal price for ${isSingle ? 'it' : 'them'}.`
      : `Renewing ${isSingle ? 'it' : 'them'} for 1 year would cost ${sumText(unused, locale)}.`;
  return [
    section(
      `:mag: ${formatCount(unused.nameCount, 'name')} ${isSingle ? 'has' : 'have'} no website or mail. ${cost} To list ${isSingle ? 'it' : 'them'}, use \`/domain names unused\`.`,
    ),
  ];
}

/** Replaces the zone or person of orders that the reader can't see. */
const PRIVATE_ORDERS_LABEL = 'private orders';

function toItemCell(grouping: Grouping, key: string): Cell {
  if (key === CONCEALED_KEY) return PRIVATE_ORDERS_LABEL;
  switch (grouping) {
    case 'person':
      return { person: key };
    case 'zone':
      return `.${key}`;
    case 'month':
      return periodText(key);
    default:
      return key;
  }
}

function forecastChart({ forecast, currency }: SpendFigures): AnyBlock[] {
  const months = forecast.map(({ key, sums }) => {
    const currencySum = sums.find((sum) => sum.currency === currency);
    return { label: formatShortMonth(key), count: currencySum === undefined ? 0 : toWholeUnits(currencySum) };
  });
  return months.every(({ count }) => count === 0) ? [] : [monthChart('Upcoming renewals', currency, months)];
}

function toCsvItem(grouping: Grouping, key: string, getName: (userId: string) => string): string {
  if (key === CONCEALED_KEY) return PRIVATE_ORDERS_LABEL;
  return grouping === 'person' ? getName(key) : key;
}

export const SPEND_COLUMNS = ['list', 'what', 'names', 'names_without_price', 'amount', 'currency'] as const;

/** A line with several currencies has a row for each. */
export function spendRows(
  { spend, forecast, unused }: Pick<SpendFigures, 'spend' | 'forecast' | 'unused'>,
  getName: (userId: string) => string,
  formatDecimal: (sum: SpendSum['sums'][number]) => string,
): string[][] {
  const toRows = (
    listName: string,
    item: string,
    { nameCount, unpricedCount, sums }: SpendSum,
  ): string[][] => {
    const commonCells = [listName, item, String(nameCount), String(unpricedCount)];
    return sums.length === 0
      ? [[...commonCells, '', '']]
      : sums.map((sum) => [...commonCells, formatDecimal(sum), sum.currency]);
  };
  return [
    ...toRows('total', '', spend.total),
    ...GROUPINGS.flatMap((grouping) =>
      getSpendLines(spend, grouping).flatMap((line) =>
        toRows(grouping, toCsvItem(grouping, line.key, getName), line),
      ),
    ),
    ...forecast.flatMap((line) => toRows('ahead', line.key, line)),
    ...(unused.nameCount === 0 ? [] : toRows('unused', '', unused)),
  ];
}

export function invalidSpendPeriodText(input: string): string {
  return `${code(input)} isn’t a year or month. Use, for example, \`/domain spend 2026\` or \`/domain spend 2026-11\`.`;
}
