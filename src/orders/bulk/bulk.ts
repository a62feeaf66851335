import { dropMissing, groupBy } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { Amount } from '../../money/amount.ts';
import { readPeriod } from '../order.ts';
import type { BulkTask } from './columns.ts';
import type { BadRow, BulkRow, RowIssue } from './read-csv.ts';
import type { PlanFinding } from './stored-bulk.ts';

/** Plans a bulk order from a file's rows: which to request, which to skip and why, and findings. Pure. */

/** Stored facts about the name in a row. */
export interface RowFacts {
  readonly openOrderId?: string | undefined;
  /** Whether the name has an open order that the requester can't see. */
  readonly hasHiddenOrder?: boolean;
  /** The policy rule that refuses the order. */
  readonly refusedBy?: string | undefined;
  readonly isWatched: boolean;
  readonly expiresAt?: Date | undefined;
  readonly deletedAt?: Date | undefined;
  /** Whether people decided to let the name lapse. */
  readonly isLapsing: boolean;
  /** Undefined if the price isn't listed, or the task has no price. */
  readonly price?: Amount | undefined;
  /** Undefined if the task puts nothing at risk. */
  readonly isInUse?: 'yes' | 'no' | 'unknown' | undefined;
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
const SOON_MS = 30 * DAY_MS;
/** A period that occurs in a smaller share of the rows may be a mistake. */
const RARE_SHARE = 0.1;
const UNUSUAL_PERIOD_FACTOR = 2;
const MIN_UNUSUAL_YEARS = 2;
const UNUSUAL_PRICE_FACTOR = 3;
const MAX_LISTED_NAMES = 10;

/** Checks parsed rows against the facts about their names. */
export function planBulk(
  task: BulkTask,
  parsed: { readonly rows: readonly BulkRow[]; readonly badRows: readonly BadRow[] },
  getFacts: (name: string) => RowFacts,
  now: Date,
): BulkPlan {
  const rows: BulkRow[] = [];
  const skipped: SkippedRow[] = [...parsed.badRows];
  for (const row of parsed.rows) {
    const issues = findIssues(task, getFacts(row.name));
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

function findIssues(
  task: BulkTask,
  { openOrderId, hasHiddenOrder, refusedBy, deletedAt }: RowFacts,
): PlanIssue[] {
  return dropMissing([
    openOrderId !== undefined && ({ code: 'open_order', orderId: openOrderId } as const),
    hasHiddenOrder === true && ({ code: 'hidden_order' } as const),
    refusedBy !== undefined && ({ code: 'refused_by_policy', rule: refusedBy } as const),
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
  const listFinding = (
    code: PlanFinding['code'],
    isAffected: (row: BulkRow, facts: RowFacts) => boolean,
  ): PlanFinding[] => {
    const names = rows.filter((row) => isAffected(row, getFacts(row.name))).map(({ name }) => name);
    return names.length === 0 ? [] : [{ code, count: names.length, names: names.slice(0, MAX_LISTED_NAMES) }];
  };
  const isUnusualPeriod = createPeriodCheck(rows);
  const isUnusualPrice = createPriceCheck(rows.flatMap(({ name }) => getFacts(name).price ?? []));
  return [
    ...listFinding('in_use', (_, { isInUse }) => isInUse === 'yes'),
    ...listFinding('use_unknown', (_, { isInUse }) => isInUse === 'unknown'),
    ...(task === 'renew' ? listFinding('unusual_period', ({ input }) => isUnusualPeriod(input)) : []),
    ...listFinding('unusual_price', (_, { price }) => price !== undefined && isUnusualPrice(price)),
    ...(PRICED_TASKS.has(task) ? listFinding('price_unknown', (_, { price }) => price === undefined) : []),
    ...(OWN_NAME_TASKS.has(task) ? listFinding('not_watched', (_, { isWatched }) => !isWatched) : []),
    ...(task === 'renew' ? listFinding('set_to_lapse', (_, { isLapsing }) => isLapsing) : []),
    ...(task === 'renew' || task === 'create'
      ? []
      : listFinding(
          'expires_soon',
          (_, { expiresAt }) => expiresAt !== undefined && expiresAt.getTime() - now.getTime() < SOON_MS,
        )),
  ];
}

/** Returns a function that checks whether a period is unusual in this file. */
function createPeriodCheck(rows: readonly BulkRow[]): (input: unknown) => boolean {
  const periods = rows.flatMap(({ input }) => readPeriod(input) ?? []);
  const usualPeriod = median(periods);
  const periodGroups = groupBy(periods, (period) => period);
  return (input) => {
    const period = readPeriod(input);
    if (period === undefined || usualPeriod === undefined) return false;
    const isUnusual =
      Math.abs(period - usualPeriod) >= MIN_UNUSUAL_YEARS &&
      Math.max(period, usualPeriod) >= UNUSUAL_PERIOD_FACTOR * Math.min(period, usualPeriod);
    return isUnusual && (periodGroups.get(period)?.length ?? 0) <= Math.max(1, rows.length * RARE_SHARE);
  };
}

/** Returns a function that checks whether a price is far above the median in its currency. */
function createPriceCheck(prices: readonly Amount[]): (price: Amount) => boolean {
  const pricesByCurrency = groupBy(prices, ({ currency }) => currency);
  const medians = new Map(
    [...pricesByCurrency].map(([currency, amounts]) => [currency, median(amounts.map(({ minor }) => minor))]),
  );
  return ({ currency, minor }) => {
    const usualPrice = medians.get(currency);
    return usualPrice !== undefined && minor > UNUSUAL_PRICE_FACTOR * usualPrice;
  };
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}

/** The bulk order's own input: the period of each name, for its price. */
export function buildBulkInput(
  rows: readonly { readonly name: string; readonly input?: unknown }[],
): unknown {
  const periods = rows.flatMap(({ name, input }) => {
    const period = readPeriod(input);
    return period === undefined ? [] : [[name, period] as const];
  });
  return periods.length === 0 ? {} : { periods: Object.fromEntries(periods) };
}
