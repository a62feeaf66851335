import type { BudgetStatus } from '../../money/budget.ts';
import type { DecisionStatistics } from '../../money/ports.ts';
import type { SpendLine, SpendSum } from '../../money/spend.ts';
import type { countFindingChanges } from '../../names/posture.ts';
import {
  code,
  context,
  formatCount,
  header,
  lineSections,
  type Message,
  mention,
  message,
} from '../kit/blocks.ts';
import { findingLabel } from '../names/posture.view.ts';
import { budgetStatusLines, periodText } from './budget.view.ts';
import { sumText } from './spend.view.ts';

/* The monthly money report, for accountants. */

export interface MoneyReport {
  readonly month: string;
  readonly spent: SpendSum;
  readonly byTask: readonly SpendLine[];
  /** Renewals by mandates. The key is the id of the mandate's order. */
  readonly byMandate: readonly SpendLine[];
  readonly unknownOutcomes: number;
  /** The yearly cost of the names that lapsed. */
  readonly lapsedCost: SpendSum;
  /** The next twelve months, at current prices. */
  readonly forecast: readonly SpendLine[];
  readonly forecastTotal: SpendSum;
  /** As of the last day of the month. */
  readonly budgets: readonly BudgetStatus[];
  readonly decisions: readonly DecisionStatistics[];
  readonly problems: ReturnType<typeof countFindingChanges>;
}

/** Maximum number of lines per section. The CSV file of `/domain spend` has all of them. */
const MAX_SHOWN_LINES = 3;

export function moneyReportMessage(report: MoneyReport): Message {
  const { month, spent, byTask, byMandate, unknownOutcomes, lapsedCost, forecast, forecastTotal } = report;
  const { budgets, decisions, problems } = report;
  const formatSum = (sum: SpendSum) =>
    sum.nameCount === 0 ? 'nothing' : `${sumText(sum)}, for ${formatCount(sum.nameCount, 'name')}`;
  const [nextMonth] = forecast;
  return message(`Spent ${formatSum(spent)}, in ${periodText(month)}`, [
    header(`Money report for ${periodText(month)}`),
    ...lineSections([
      `*Spent*: ${formatSum(spent)}`,
      ...(byTask.length > 1 ? shortenList(byTask.map((line) => `• ${line.key}: ${formatSum(line)}`)) : []),
      ...shortenList(byMandate.map((line) => `• through mandate ${code(line.key)}: ${formatSum(line)}`)),
      unknownOutcomes !== 0 &&
        `:warning: Not included: ${formatCount(unknownOutcomes, 'name')} with an unknown outcome`,
      lapsedCost.nameCount !== 0 && `*Saved by lapsing*: ${formatSum(lapsedCost)} a year`,
      `*Next 12 months*: ${formatSum(forecastTotal)}${nextMonth === undefined || nextMonth.nameCount === 0 ? '' : `, including ${sumText(nextMonth)} in ${periodText(nextMonth.key)}`}`,
      ...shortenList(budgetStatusLines(budgets)),
      ...shortenList(decisions.map(decisionLine)),
      problemsLine('New', problems.new),
      problemsLine('Fixed', problems.fixed),
    ]),
    context(
      `Prices are from your price list; months are in UTC. For details, use \`/domain spend ${month}\`.`,
    ),
  ]);
}

/** The worst problems, with the number of names that have them. */
function problemsLine(changeLabel: string, problems: MoneyReport['problems']['new']): string | false {
  const byLabel = new Map<string, number>();
  for (const { code: findingCode, names: nameCount } of problems) {
    const label = findingLabel(findingCode);
    byLabel.set(label, (byLabel.get(label) ?? 0) + nameCount);
  }
  const problemTexts = [...byLabel].map(([label, nameCount]) => `${label} (${nameCount})`);
  const remainingCount = problemTexts.length - MAX_SHOWN_LINES;
  const shownTexts = [
    ...problemTexts.slice(0, MAX_SHOWN_LINES),
    ...(remainingCount > 0 ? [`${remainingCount} more`] : []),
  ];
  return problemTexts.length > 0 && `*${changeLabel} problems*: ${shownTexts.join(', ')}`;
}

function shortenList(items: readonly string[]): string[] {
  const remainingCount = items.length - MAX_SHOWN_LINES;
  return [
    ...items.slice(0, MAX_SHOWN_LINES),
    ...(remainingCount > 0 ? [`• and ${remainingCount} more`] : []),
  ];
}

function decisionLine({ by, kind, count: orderCount, seconds }: DecisionStatistics): string {
  const duration =
    orderCount === 1 ? ` in ${durationText(seconds)}` : `, usually within ${durationText(seconds)}`;
  return `• ${mention(by)} ${kind} ${formatCount(orderCount, 'order')}${duration}`;
}

/** In the largest unit that fits, rounded up. */
function durationText(seconds: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const;
  const [unit, unitSeconds] = units.find(([, size]) => seconds >= size) ?? ['minute', 60];
  return formatCount(Math.max(1, Math.ceil(seconds / unitSeconds)), unit);
}
