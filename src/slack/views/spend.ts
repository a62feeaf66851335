import { wholeUnits } from '../../money/amount.ts';
import type { BudgetStanding } from '../../money/budget.ts';
import type { Spend, SpendLine, SpendSum } from '../../money/spend.ts';
import {
  type AnyBlock,
  actions,
  barChart,
  button,
  type Cell,
  context,
  count,
  header,
  type Message,
  message,
  section,
  table,
} from './blocks.ts';
import { budgetBlocks } from './budget.ts';
import { amountsText } from './price.ts';

/*
 * What was spent, and what is ahead.
 */

/** The content of the answer to `/domain spend`. */
export interface SpendShown {
  /** `2026` or `2026-11`. */
  readonly span: string;
  readonly spend: Spend;
  /** The number of names whose outcome is unknown. */
  readonly unknownOutcomes: number;
  /** The next twelve months by today's list. */
  readonly ahead: readonly SpendLine[];
  /** How the budgets stand in the span. */
  readonly budgets: readonly BudgetStanding[];
  /** Whether the reader may change the budgets. */
  readonly isAdmin: boolean;
  /** ISO 4217 code of the chart's bars. */
  readonly currency: string;
  /** BCP 47 tag of the reader. */
  readonly locale: string;
}

const SECTIONS = ['month', 'task', 'zone', 'tag', 'person'] as const;

function linesOf(spend: Spend, by: (typeof SECTIONS)[number]): readonly SpendLine[] {
  const { byMonth, byTask, byZone, byTag, byPerson } = spend;
  return { month: byMonth, task: byTask, zone: byZone, tag: byTag, person: byPerson }[by];
}

/** `about €36.00, 1 name without a price`. */
export function sumText({ names, unknown, sums }: SpendSum, locale?: string): string {
  if (names === 0) return '–';
  const amounts = sums.length === 0 ? [] : [`about ${amountsText(sums, locale)}`];
  return [...amounts, ...(unknown === 0 ? [] : [`${count(unknown, 'name')} without a price`])].join(', ');
}

/** What was spent in a year or month, by whom and for what, with a chart of what is ahead. */
export function spendMessage(shown: SpendShown): Message {
  const { span, spend, unknownOutcomes, ahead, locale } = shown;
  const { total } = spend;
  const text =
    total.names === 0
      ? `Nothing that costs money was carried out in ${span}.`
      : `Spent in ${span}: ${sumText(total, locale)}, for ${count(total.names, 'name')}.`;
  const rows: (readonly Cell[])[] = [
    ...SECTIONS.flatMap((by) =>
      linesOf(spend, by).map((line): readonly Cell[] => [
        `By ${by}`,
        by === 'person' ? { person: line.key } : by === 'zone' ? `.${line.key}` : line.key,
        String(line.names),
        sumText(line, locale),
      ]),
    ),
    ...ahead
      .filter(({ names }) => names > 0)
      .map((line): readonly Cell[] => ['Ahead', line.key, String(line.names), sumText(line, locale)]),
  ];
  return message(text, [
    header(`Spent in ${span}`),
    section(text),
    ...(unknownOutcomes === 0
      ? []
      : [
          section(
            `:grey_question: The outcome of ${count(unknownOutcomes, 'name')} is not known: it is in no sum, and may have cost money.`,
          ),
        ]),
    ...budgetBlocks(shown.budgets, shown),
    ...aheadChart(shown),
    ...(rows.length === 0
      ? []
      : [
          table({
            caption: 'What was spent, and what renewing all names costs',
            columns: ['List', 'What', 'Names', 'Cost'],
            rows,
          }),
          ...actions('spend', [button({ actionId: 'spend_export', text: 'As a CSV file', value: span })]),
        ]),
    context(
      'Counted by the price list of the day on which each name was carried out, on live systems; what is ahead by the list of today, a year for every watched name. Premium names may cost more. Another time: `/domain spend 2026-11`.',
    ),
  ]);
}

function aheadChart({ ahead, currency }: SpendShown): AnyBlock[] {
  const bars = ahead.map(({ key, sums }) => {
    const own = sums.find((sum) => sum.currency === currency);
    return { label: key, value: own === undefined ? 0 : wholeUnits(own) };
  });
  return bars.every(({ value }) => value === 0)
    ? []
    : [barChart({ title: 'Renewals ahead', series: currency, bars, xLabel: 'Month', yLabel: currency })];
}

/** The header row of the file. */
export const SPEND_COLUMNS = ['list', 'what', 'names', 'names_without_price', 'amount', 'currency'] as const;

/** The same as rows of a file. A line with several currencies becomes several rows. */
export function spendRows(
  { spend, ahead }: Pick<SpendShown, 'spend' | 'ahead'>,
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
      linesOf(spend, by).flatMap((line) => rowsOf(by, by === 'person' ? nameOf(line.key) : line.key, line)),
    ),
    ...ahead.flatMap((line) => rowsOf('ahead', line.key, line)),
  ];
}
