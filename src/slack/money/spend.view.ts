import { shortMonth } from '../../expiry/chart.ts';
import { toWholeUnits } from '../../money/amount.ts';
import type { BudgetStatus } from '../../money/budget.ts';
import { CONCEALED, type Spend, type SpendLine, type SpendSum } from '../../money/spend.ts';
import {
  type AnyBlock,
  actions,
  button,
  type Cell,
  code,
  context,
  count,
  header,
  type Message,
  message,
  monthChart,
  section,
  table,
} from '../kit/blocks.ts';
import { budgetBlocks, periodText } from './budget.view.ts';
import { amountsText } from './price.view.ts';

/* Past spending and upcoming cost. */

/** Content of `/domain spend`. */
export interface SpendShown {
  /** `2026` or `2026-11`. */
  readonly span: string;
  readonly spend: Spend;
  readonly unknownOutcomes: number;
  /** The next twelve months by today's list. */
  readonly ahead: readonly SpendLine[];
  /** Next renewals of names without known use, by today's list. */
  readonly unused: SpendSum;
  readonly budgets: readonly BudgetStatus[];
  readonly isAdmin: boolean;
  /** ISO 4217 code of the chart. */
  readonly currency: string;
  /** The reader's BCP 47 tag. */
  readonly locale: string;
}

const SECTIONS = ['month', 'task', 'zone', 'tag', 'person', 'mandate'] as const;

function spendLines(spend: Spend, by: (typeof SECTIONS)[number]): readonly SpendLine[] {
  const { byMonth, byTask, byZone, byTag, byPerson, byMandate } = spend;
  const all = {
    month: byMonth,
    task: byTask,
    zone: byZone,
    tag: byTag,
    person: byPerson,
    mandate: byMandate,
  };
  return all[by];
}

/** `about €36.00, 1 name without a price`. */
export function sumText({ names, unknown, sums }: SpendSum, locale?: string): string {
  if (names === 0) return '–';
  const amounts = sums.length === 0 ? [] : [`about ${amountsText(sums, locale)}`];
  return [...amounts, ...(unknown === 0 ? [] : [`${count(unknown, 'name')} without a price`])].join(', ');
}

export function spendMessage(shown: SpendShown, offset: number): Message {
  const { span, spend, unknownOutcomes, ahead, locale } = shown;
  const { total } = spend;
  const text =
    total.names === 0
      ? `Nothing was spent in ${periodText(span)}.`
      : `Spent in ${periodText(span)}: ${sumText(total, locale)}, for ${count(total.names, 'name')}.`;
  // Phones show only the first columns, so the cost precedes the number of names.
  const rows: (readonly Cell[])[] = [
    ...SECTIONS.flatMap((by) =>
      spendLines(spend, by).map((line): readonly Cell[] => [
        `By ${by}`,
        toCell(by, line.key),
        sumText(line, locale),
        String(line.names),
      ]),
    ),
    ...ahead
      .filter(({ names }) => names > 0)
      .map((line): readonly Cell[] => [
        'Ahead',
        periodText(line.key),
        sumText(line, locale),
        String(line.names),
      ]),
  ];
  return message(text, [
    header(`Spent in ${periodText(span)}`),
    section(text),
    unknownOutcomes !== 0 &&
      section(
        `:grey_question: ${count(unknownOutcomes, 'name')} with an unknown outcome, not included; may have cost money.`,
      ),
    ...budgetBlocks(shown.budgets, { of: shown.span, offset }, shown),
    ...aheadChart(shown),
    ...unusedBlocks(shown),
    ...(rows.length === 0
      ? []
      : [
          table({
            caption: 'Spending, and the cost of renewing all names',
            columns: ['By', 'Item', 'Cost', 'Names'],
            rows,
          }),
          ...actions('spend', [button('spend_export', 'Download CSV', span)]),
        ]),
    context(
      'Live systems only, by the price on the day each order was carried out. Forecast: today’s prices, one year for every watched name. Premium names may cost more. Other periods: `/domain spend 2026-11`.',
    ),
  ]);
}

function unusedBlocks({ unused, locale }: SpendShown): AnyBlock[] {
  if (unused.names === 0) return [];
  const one = unused.names === 1;
  const cost =
    unused.sums.length === 0
      ? `The price list has no renewal price for ${one ? 'it' : 'them'}.`
      : `The next renewal${one ? '' : 's'} for 1 year: ${sumText(unused, locale)}.`;
  return [
    section(
      `:mag: ${count(unused.names, 'name')} without website and mail. ${cost} \`/domain names unused\` lists ${one ? 'it' : 'them'}.`,
    ),
  ];
}

/** Replaces zone or person of orders that the reader may not see. */
const PRIVATE_ORDERS = 'private orders';

function toCell(by: (typeof SECTIONS)[number], key: string): Cell {
  if (key === CONCEALED) return PRIVATE_ORDERS;
  switch (by) {
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

function aheadChart({ ahead, currency }: SpendShown): AnyBlock[] {
  const months = ahead.map(({ key, sums }) => {
    const own = sums.find((sum) => sum.currency === currency);
    return { label: shortMonth(key), count: own === undefined ? 0 : toWholeUnits(own) };
  });
  return months.every(({ count }) => count === 0) ? [] : [monthChart('Renewals ahead', currency, months)];
}

function csvKey(by: (typeof SECTIONS)[number], key: string, nameOf: (userId: string) => string): string {
  if (key === CONCEALED) return PRIVATE_ORDERS;
  return by === 'person' ? nameOf(key) : key;
}

export const SPEND_COLUMNS = ['list', 'what', 'names', 'names_without_price', 'amount', 'currency'] as const;

/** As file rows. A line with several currencies becomes several rows. */
export function spendRows(
  { spend, ahead, unused }: Pick<SpendShown, 'spend' | 'ahead' | 'unused'>,
  nameOf: (userId: string) => string,
  decimalOf: (sum: SpendSum['sums'][number]) => string,
): string[][] {
  const rowsOf = (list: string, what: string, { names, unknown, sums }: SpendSum): string[][] => {
    const start = [list, what, String(names), String(unknown)];
    return sums.length === 0
      ? [[...start, '', '']]
      : sums.map((sum) => [...start, decimalOf(sum), sum.currency]);
  };
  return [
    ...rowsOf('total', '', spend.total),
    ...SECTIONS.flatMap((by) =>
      spendLines(spend, by).flatMap((line) => rowsOf(by, csvKey(by, line.key, nameOf), line)),
    ),
    ...ahead.flatMap((line) => rowsOf('ahead', line.key, line)),
    ...(unused.names === 0 ? [] : rowsOf('unused', '', unused)),
  ];
}

export function noSpanText(given: string): string {
  return `${code(given)} isn’t a year or month. Use \`/domain spend 2026\` or \`/domain spend 2026-11\`, for example.`;
}
