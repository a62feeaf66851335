import { type CsvIssue, type CsvRecord, hasExtraCells, iterateWithPauses, readCsv } from '../lib/csv.ts';
import { findColumn } from '../lib/csv-headings.ts';
import { parseEnteredDate } from '../lib/entered-date.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { parseZone } from '../zones/names.ts';
import { type AmountIssue, formatDecimal, parseAmount } from './amount.ts';
import { formatPriceKey, hasPeriod, isPricedTask, type Price } from './prices.ts';

/** The fields of the price form, and the columns of the CSV file. */
export const PRICE_FIELDS = ['zone', 'task', 'period', 'amount', 'valid_from', 'source'] as const;
export type PriceField = (typeof PRICE_FIELDS)[number];
/** Exports include the currency. Imports may omit it. */
export const PRICE_COLUMNS = [...PRICE_FIELDS, 'currency'] as const;

const MAX_SOURCE_LENGTH = 200;
const MAX_YEARS = 99;
const MAX_PRICES_PER_FILE = 2_000;

export type PriceIssue =
  | 'not_a_zone'
  | 'unknown_task'
  | 'invalid_period'
  | 'period_not_supported'
  | AmountIssue
  | 'invalid_date'
  | 'ambiguous_date'
  | 'no_source'
  | 'source_too_long';

type PriceTexts = Readonly<Partial<Record<(typeof PRICE_COLUMNS)[number], string | undefined>>>;

export type PriceResult =
  | { readonly ok: true; readonly price: Price }
  | { readonly ok: false; readonly issues: Readonly<Partial<Record<PriceField | 'currency', PriceIssue>>> };

/** @param currency ISO 4217 code to use if the price has no currency */
export function parsePrice(texts: PriceTexts, currency: string): PriceResult {
  const readField = (field: keyof PriceTexts) => texts[field]?.trim() ?? '';
  const issues: Partial<Record<PriceField | 'currency', PriceIssue>> = {};

  const zone = parseZone(readField('zone'));
  if (zone === undefined) issues.zone = 'not_a_zone';

  const task = readField('task').toLowerCase();
  const isKnownTask = isPricedTask(task);
  if (!isKnownTask) issues.task = 'unknown_task';

  const period = /^\d{0,3}$/.test(readField('period')) ? Number(readField('period') || 1) : 0;
  if (period < 1 || period > MAX_YEARS) issues.period = 'invalid_period';
  else if (isKnownTask && period > 1 && !hasPeriod(task)) issues.period = 'period_not_supported';

  const parsedAmount = parseAmount(readField('amount'), readField('currency').toUpperCase() || currency);
  if (!parsedAmount.ok)
    issues[parsedAmount.issue === 'unknown_currency' ? 'currency' : 'amount'] = parsedAmount.issue;

  const parsedDate = parseEnteredDate(readField('valid_from'));
  if (!parsedDate.ok)
    issues.valid_from = parsedDate.issue.code === 'ambiguous_date' ? 'ambiguous_date' : 'invalid_date';

  const source = readField('source').replace(/\s+/g, ' ');
  if (source === '') issues.source = 'no_source';
  else if (source.length > MAX_SOURCE_LENGTH) issues.source = 'source_too_long';

  if (
    zone === undefined ||
    !isKnownTask ||
    !parsedAmount.ok ||
    !parsedDate.ok ||
    Object.keys(issues).length > 0
  )
    return { ok: false, issues };
  const { amount } = parsedAmount;
  return { ok: true, price: { zone, task, period, amount, validFrom: getUtcDay(parsedDate.value), source } };
}

export type LineIssue =
  | {
      readonly line: number;
      readonly kind: 'price';
      readonly field: PriceField | 'currency';
      readonly issue: PriceIssue;
    }
  | { readonly line: number; readonly kind: 'csv'; readonly issue: CsvIssue }
  | { readonly line: number; readonly kind: 'missing_column' | 'unknown_column'; readonly column: string }
  | { readonly line: number; readonly kind: 'repeated'; readonly firstLine: number }
  | { readonly line: number; readonly kind: 'empty' | 'too_many_cells' };

export type PricesResult =
  | { readonly ok: true; readonly prices: readonly Price[] }
  | { readonly ok: false; readonly issues: readonly LineIssue[] };

/**
 * Parses a CSV file with a header row. Columns are separated by commas, semicolons or tabs.
 * @returns the prices, or all issues: a single issue causes the whole file to be rejected
 */
export async function parsePrices(text: string, currency: string): Promise<PricesResult> {
  const csv = await readCsv(text, { maxRows: MAX_PRICES_PER_FILE, findColumn });
  if (!csv.ok) return { ok: false, issues: [{ line: csv.issue.line, kind: 'csv', issue: csv.issue }] };
  const { header, rows } = csv;
  if (header === undefined || rows.length === 0) return { ok: false, issues: [{ line: 1, kind: 'empty' }] };
  const columns = header.cells.map(findColumn);
  const headerIssues = findHeaderIssues(columns, header);
  if (headerIssues.length > 0) return { ok: false, issues: headerIssues };

  const prices: Price[] = [];
  const issues: LineIssue[] = [];
  const firstLines = new Map<string, number>();
  for await (const { line, cells } of iterateWithPauses(rows)) {
    // If commas separate columns, `36,50` is two cells, and must not be read as 36.
    if (hasExtraCells(cells, columns)) {
      issues.push({ line, kind: 'too_many_cells' });
      continue;
    }
    const texts = Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
    const result = parsePrice(texts, currency);
    if (!result.ok) {
      for (const [field, issue] of Object.entries(result.issues))
        if (isPriceColumn(field)) issues.push({ line, kind: 'price', field, issue });
      continue;
    }
    const key = formatPriceKey(result.price);
    const firstLine = firstLines.get(key);
    if (firstLine !== undefined) issues.push({ line, kind: 'repeated', firstLine });
    else firstLines.set(key, line);
    prices.push(result.price);
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, prices };
}

function isPriceColumn(text: string): text is (typeof PRICE_COLUMNS)[number] {
  return PRICE_COLUMNS.some((column) => column === text);
}

function findHeaderIssues(columns: readonly string[], { line, cells }: CsvRecord): LineIssue[] {
  const missingColumns = PRICE_FIELDS.filter((field) => field !== 'period' && !columns.includes(field));
  return [
    ...missingColumns.map((column): LineIssue => ({ line, kind: 'missing_column', column })),
    ...cells
      .filter((_, index) => !isPriceColumn(columns[index] ?? ''))
      .map((column): LineIssue => ({ line, kind: 'unknown_column', column })),
  ];
}

/** In the order of {@link PRICE_COLUMNS}. */
export function toPriceCells({ zone, task, period, amount, validFrom, source }: Price): string[] {
  return [zone, task, String(period), formatDecimal(amount), validFrom, source, amount.currency];
}
