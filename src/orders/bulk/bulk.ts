import { groupBy, present } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { Amount } from '../../money/amount.ts';
import { periodOf } from '../order.ts';
import type { BulkTask } from './columns.ts';
import type { BadRow, BulkRow, RowIssue } from './read-csv.ts';
import type { PlanFinding } from './stored-bulk.ts';

/*
 * The plan of a file: what of it can be asked for, what cannot and why, and what people should look at first. Pure: what is
 * known of the names is given.
 */

/** What is known of a name beside its row. */
export interface RowFacts {
  /** An order for the same task and name is open. */
  readonly openOrderId?: string | undefined;
  /** An order for it is open that who asks may not see. */
  readonly hasHiddenOrder?: boolean;
  /** A rule of the policy refuses it: the rule's name. */
  readonly refusedBy?: string | undefined;
  readonly isWatched: boolean;
  readonly expiresAt?: Date | undefined;
  readonly deletedAt?: Date | undefined;
  /** Somebody decided to let it go. */
  readonly isLetGo: boolean;
  /** Undefined where the list does not tell, or the task has no price. */
  readonly price?: Amount | undefined;
  /** Whether anything lives on it; undefined where the task takes nothing away. */
  readonly isInUse?: 'yes' | 'no' | 'unknown' | undefined;
}

/** Why a row of a file cannot be asked for. */
export type PlanIssue =
  | RowIssue
  | { readonly code: 'open_order'; readonly orderId: string }
  | { readonly code: 'hidden_order' }
  | { readonly code: 'refused_by_policy'; readonly rule: string }
  | { readonly code: 'deleted_already'; readonly deletedAt: Date };

export interface LeftOutRow {
  readonly line: number;
  readonly name: string;
  readonly issues: readonly PlanIssue[];
}

export interface BulkPlan {
  readonly task: BulkTask;
  /** What is fine, in the sequence of the file. */
  readonly rows: readonly BulkRow[];
  /** What is not, by line. */
  readonly leftOut: readonly LeftOutRow[];
  readonly findings: readonly PlanFinding[];
}

/** Tasks for names that the team has already. */
const FOR_OWN_NAMES: ReadonlySet<BulkTask> = new Set(['renew', 'nameservers', 'delete']);
const PRICED: ReadonlySet<BulkTask> = new Set(['renew', 'transfer', 'create']);
const SOON_MS = 30 * DAY_MS;
/** A value that so small a share of the rows has may be a slip. */
const RARE_SHARE = 0.1;
const FAR_FACTOR = 2;
const FAR_YEARS = 2;
const FAR_PRICE_FACTOR = 3;
/** Names that stand with a finding. */
const SHOWN_NAMES = 10;

/** Checks the rows that were read against what is known. */
export function planBulk(
  task: BulkTask,
  read: { readonly rows: readonly BulkRow[]; readonly bad: readonly BadRow[] },
  factsOf: (name: string) => RowFacts,
  now: Date,
): BulkPlan {
  const rows: BulkRow[] = [];
  const leftOut: LeftOutRow[] = [...read.bad];
  for (const row of read.rows) {
    const issues = issuesOf(task, factsOf(row.name));
    if (issues.length === 0) rows.push(row);
    else leftOut.push({ line: row.line, name: row.name, issues });
  }
  return {
    task,
    rows,
    leftOut: leftOut.sort((a, b) => a.line - b.line),
    findings: findingsOf(task, rows, factsOf, now),
  };
}

function issuesOf(
  task: BulkTask,
  { openOrderId, hasHiddenOrder, refusedBy, deletedAt }: RowFacts,
): PlanIssue[] {
  return present([
    openOrderId !== undefined && ({ code: 'open_order', orderId: openOrderId } as const),
    hasHiddenOrder === true && ({ code: 'hidden_order' } as const),
    refusedBy !== undefined && ({ code: 'refused_by_policy', rule: refusedBy } as const),
    deletedAt !== undefined && FOR_OWN_NAMES.has(task) && ({ code: 'deleted_already', deletedAt } as const),
  ]);
}

/** What people should look at before they ask, and before they approve. */
function findingsOf(
  task: BulkTask,
  rows: readonly BulkRow[],
  factsOf: (name: string) => RowFacts,
  now: Date,
): PlanFinding[] {
  const finding = (
    code: PlanFinding['code'],
    applies: (row: BulkRow, facts: RowFacts) => boolean,
  ): PlanFinding[] => {
    const names = rows.filter((row) => applies(row, factsOf(row.name))).map(({ name }) => name);
    return names.length === 0 ? [] : [{ code, count: names.length, names: names.slice(0, SHOWN_NAMES) }];
  };
  const isFarPeriod = farPeriods(rows);
  const isFarPrice = farPrices(rows.flatMap(({ name }) => factsOf(name).price ?? []));
  return [
    ...finding('lives_on_it', (_, { isInUse }) => isInUse === 'yes'),
    ...finding('unseen', (_, { isInUse }) => isInUse === 'unknown'),
    ...(task === 'renew' ? finding('far_period', ({ input }) => isFarPeriod(input)) : []),
    ...finding('far_price', (_, { price }) => price !== undefined && isFarPrice(price)),
    ...(PRICED.has(task) ? finding('price_unknown', (_, { price }) => price === undefined) : []),
    ...(FOR_OWN_NAMES.has(task) ? finding('not_watched', (_, { isWatched }) => !isWatched) : []),
    ...(task === 'renew' ? finding('let_go', (_, { isLetGo }) => isLetGo) : []),
    ...(task === 'renew' || task === 'create'
      ? []
      : finding(
          'expires_soon',
          (_, { expiresAt }) => expiresAt !== undefined && expiresAt.getTime() - now.getTime() < SOON_MS,
        )),
  ];
}

/** Tells whether a period is far from those of the other rows, and hardly any other row has it. */
function farPeriods(rows: readonly BulkRow[]): (input: unknown) => boolean {
  const periods = rows.flatMap(({ input }) => periodOf(input) ?? []);
  const usual = median(periods);
  const same = groupBy(periods, (period) => period);
  return (input) => {
    const period = periodOf(input);
    if (period === undefined || usual === undefined) return false;
    const isFar =
      Math.abs(period - usual) >= FAR_YEARS &&
      Math.max(period, usual) >= FAR_FACTOR * Math.min(period, usual);
    return isFar && (same.get(period)?.length ?? 0) <= Math.max(1, rows.length * RARE_SHARE);
  };
}

/** Tells whether a price is far above the median of its currency. */
function farPrices(prices: readonly Amount[]): (price: Amount) => boolean {
  const same = groupBy(prices, ({ currency }) => currency);
  const medians = new Map(
    [...same].map(([currency, amounts]) => [currency, median(amounts.map(({ minor }) => minor))]),
  );
  return ({ currency, minor }) => {
    const usual = medians.get(currency);
    return usual !== undefined && minor > FAR_PRICE_FACTOR * usual;
  };
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}

/** What an order of rows asks for as a whole: the periods by name, which its price goes by. */
export function bulkInput(rows: readonly { readonly name: string; readonly input?: unknown }[]): unknown {
  const periods = rows.flatMap(({ name, input }) => {
    const period = periodOf(input);
    return period === undefined ? [] : [[name, period] as const];
  });
  return periods.length === 0 ? {} : { periods: Object.fromEntries(periods) };
}
