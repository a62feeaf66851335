import { dropMissing, groupBy } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { Amount } from '../../money/amount.ts';
import { getPeriodYears } from '../order.ts';
import type { BulkTask } from './columns.ts';
import type { BadRow, BulkRow, RowIssue } from './read-csv.ts';
import type { PlanFinding } from './stored-bulk.ts';

/** Decides which rows of a file a bulk order includes and which it skips, and collects warnings. Pure. */

/** Stored facts about the name in a row. */
export interface RowFacts {
  readonly openOrderId?: string | undefined;
  /** Whether the name has an open order that the requester can't see. */
  readonly hasHiddenOrder?: boolean;
  /** The policy rules that refuse the order, as text. */
  readonly refusingRuleNames?: string | undefined;
  readonly isWatched: boolean;
  readonly expiresAt?: Date | undefined;
  readonly deletedAt?: Date | undefined;
  /** Whether people decided to let the name lapse. */
  readonly isLapsing: boolean;
  /** Undefined if the price isn't listed, or the task has no price. */
  readonly price?: Amount | undefined;
  /** Undefined if the task puts nothing at risk. */
  readonly usage?: 'yes' | 'no' | 'unknown' | undefined;
}

/** Why a row is skipped. */
export type PlanIssue =
  | RowIssue
  | { readonly code: 'open_order'; readonly orderId: string }
  | { readonly code: 'hidden_order' }
  | { readonly code: 'refused_by_policy'; readonly rule: string }
  | { readonly code: 'already_deleted'; readonly deletedAt: Date };

export interface SkippedRow {
  readonly line: number;
  readonly name: string;
  readonly issues: readonly PlanIssue[];
}

export interface BulkPlan {
  readonly task: BulkTask;
  /** Valid rows, in file order. */
  readonly rows: readonly BulkRow[];
  readonly skipped: readonly SkippedRow[];
  readonly findings: readonly PlanFinding[];
}

const OWN_NAME_TASKS: ReadonlySet<BulkTask> = new Set(['renew', 'nameservers', 'delete']);
const PRICED_TASKS: ReadonlySet<BulkTask> = new Set(['renew', 'transfer', 'create']);
const EXPIRES_SOON_MS = 30 * DAY_MS;
/** An unusual period may be a mistake if only one row, or no more than this share of the rows, has it. */
const RARE_PERIOD_SHARE = 0.1;
const UNUSUAL_PERIOD_FACTOR = 2;
const MIN_UNUSUAL_DIFFERENCE_YEARS = 2;
const UNUSUAL_PRICE_FACTOR = 3;
const MAX_LISTED_NAMES = 10;

/** Checks parsed rows against the facts about their names. */
export function planBulk(
  task: BulkTask,
  parsedFile: { readonly rows: readonly BulkRow[]; readonly badRows: readonly BadRow[] },
  getFacts: (name: string) => RowFacts,
  now: Date,
): BulkPlan {
  const rows: BulkRow[] = [];
  const skipped: SkippedRow[] = [...parsedFile.badRows];
  for (const row of parsedFile.rows) {
    const issues = findPlanIssues(task, getFacts(row.name));
    if (issues.length === 0) rows.push(row);
    else skipped.push({ line: row.line, name: row.name, issues });
  }
  return {
    task,
    rows,
    skipped: skipped.sort((a, b) => a.line - b.line),
    findings: collectFindings(task, rows, getFacts, now),
  };
}

function findPlanIssues(
  task: BulkTask,
  { openOrderId, hasHiddenOrder, refusingRuleNames, deletedAt }: RowFacts,
): PlanIssue[] {
  return dropMissing([
    openOrderId !== undefined && ({ code: 'open_order', orderId: openOrderId } as const),
    hasHiddenOrder === true && ({ code: 'hidden_order' } as const),
    refusingRuleNames !== undefined && ({ code: 'refused_by_policy', rule: refusingRuleNames } as const),
    deletedAt !== undefined && OWN_NAME_TASKS.has(task) && ({ code: 'already_deleted', deletedAt } as const),
  ]);
}

/** Warnings for the requester and the approvers. */
function collectFindings(
  task: BulkTask,
  rows: readonly BulkRow[],
  getFacts: (name: string) => RowFacts,
  now: Date,
): PlanFinding[] {
  const buildFindings = (
    code: PlanFinding['code'],
    isAffected: (row: BulkRow, facts: RowFacts) => boolean,
  ): PlanFinding[] => {
    const names = rows.filter((row) => isAffected(row, getFacts(row.name))).map(({ name }) => name);
    return names.length === 0 ? [] : [{ code, count: names.length, names: names.slice(0, MAX_LISTED_NAMES) }];
  };
  const hasUnusualPeriod = createPeriodCheck(rows);
  const isUnusualPrice = createPriceCheck(rows.flatMap(({ name }) => getFacts(name).price ?? []));
  return [
    ...buildFindings('in_use', (_, { usage }) => usage === 'yes'),
    ...buildFindings('use_unknown', (_, { usage }) => usage === 'unknown'),
    ...(task === 'renew' ? buildFindings('unusual_period', ({ input }) => hasUnusualPeriod(input)) : []),
    ...buildFindings('unusual_price', (_, { price }) => price !== undefined && isUnusualPrice(price)),
    ...(PRICED_TASKS.has(task) ? buildFindings('price_unknown', (_, { price }) => price === undefined) : []),
    ...(OWN_NAME_TASKS.has(task) ? buildFindings('not_watched', (_, { isWatched }) => !isWatched) : []),
    ...(task === 'renew' ? buildFindings('set_to_lapse', (_, { isLapsing }) => isLapsing) : []),
    ...(task === 'renew' || task === 'create'
      ? []
      : buildFindings(
          'expires_soon',
          (_, { expiresAt }) =>
            expiresAt !== undefined && expiresAt.getTime() - now.getTime() < EXPIRES_SOON_MS,
        )),
  ];
}

/** Returns a function that checks whether a period is unusual in this file. */
function createPeriodCheck(rows: readonly BulkRow[]): (input: unknown) => boolean {
  const periods = rows.flatMap(({ input }) => getPeriodYears(input) ?? []);
  const usualPeriod = computeMedian(periods);
  const periodGroups = groupBy(periods, (period) => period);
  return (input) => {
    const period = getPeriodYears(input);
    if (period === undefined || usualPeriod === undefined) return false;
    const isUnusual =
      Math.abs(period - usualPeriod) >= MIN_UNUSUAL_DIFFERENCE_YEARS &&
      Math.max(period, usualPeriod) >= UNUSUAL_PERIOD_FACTOR * Math.min(period, usualPeriod);
    return (
      isUnusual && (periodGroups.get(period)?.length ?? 0) <= Math.max(1, rows.length * RARE_PERIOD_SHARE)
    );
  };
}

/** Returns a function that checks whether a price is far above the median in its currency. */
function createPriceCheck(prices: readonly Amount[]): (price: Amount) => boolean {
  const pricesByCurrency = groupBy(prices, ({ currency }) => currency);
  const medians = new Map(
    [...pricesByCurrency].map(([currency, amounts]) => [
      currency,
      computeMedian(amounts.map(({ minor }) => minor)),
    ]),
  );
  return ({ currency, minor }) => {
    const usualPrice = medians.get(currency);
    return usualPrice !== undefined && minor > UNUSUAL_PRICE_FACTOR * usualPrice;
  };
}

function computeMedian(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}

/** Builds the input of the bulk order itself: the period of each name, which determines the name's price. */
export function buildBulkInput(
  rows: readonly { readonly name: string; readonly input?: unknown }[],
): unknown {
  const periods = rows.flatMap(({ name, input }) => {
    const period = getPeriodYears(input);
    return period === undefined ? [] : [[name, period] as const];
  });
  return periods.length === 0 ? {} : { periods: Object.fromEntries(periods) };
}
