/**
 * Amounts are integers in the currency's minor unit. They are parsed and formatted digit by digit to avoid floating
 * point.
 */

/** `{ currency: 'EUR', minor: 1250 }` is €12.50. */
export interface Amount {
  /** ISO 4217 code. */
  readonly currency: string;
  readonly minor: number;
}

/** The sum of 9,000 such amounts is still a safe integer. */
const MAX_AMOUNT_MINOR = 1_000_000_000_000;

/** ISO 4217 currencies whose number of decimals isn't two. */
const DECIMAL_COUNTS = new Map<string, number>([
  ...['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF']
    .concat('XOF', 'XPF')
    .map((code) => [code, 0] as const),
  ...['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'].map((code) => [code, 3] as const),
  ...['CLF', 'UYW'].map((code) => [code, 4] as const),
]);

const CURRENCY_CODES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Number of decimals; undefined for an unknown currency. */
export function getCurrencyDecimals(currency: string): number | undefined {
  return CURRENCY_CODES.has(currency) ? (DECIMAL_COUNTS.get(currency) ?? 2) : undefined;
}

export type AmountIssue = 'unknown_currency' | 'not_an_amount' | 'too_precise' | 'too_large';

export type AmountResult =
  | { readonly ok: true; readonly amount: Amount }
  | { readonly ok: false; readonly issue: AmountIssue };

/** Accepts `100`, `100.5` and `100.00`, without signs or thousands separators. @param currency ISO 4217 code */
export function parseAmount(text: string, currency: string): AmountResult {
  const decimalCount = getCurrencyDecimals(currency);
  if (decimalCount === undefined) return { ok: false, issue: 'unknown_currency' };
  const [matched, whole = '', decimals = ''] = /^(\d{1,30})(?:\.(\d{1,30}))?$/.exec(text.trim()) ?? [];
  if (matched === undefined) return { ok: false, issue: 'not_an_amount' };
  if (/[^0]/.test(decimals.slice(decimalCount))) return { ok: false, issue: 'too_precise' };
  const minor = BigInt(whole + decimals.slice(0, decimalCount).padEnd(decimalCount, '0'));
  if (minor > BigInt(MAX_AMOUNT_MINOR)) return { ok: false, issue: 'too_large' };
  return { ok: true, amount: { currency, minor: Number(minor) } };
}

/** The inverse of {@link parseAmount}. */
export function formatDecimal({ currency, minor }: Amount): string {
  const decimalCount = getCurrencyDecimals(currency) ?? 2;
  const digits = String(Math.abs(minor)).padStart(decimalCount + 1, '0');
  const sign = minor < 0 ? '-' : '';
  const pointIndex = digits.length - decimalCount;
  return decimalCount === 0
    ? sign + digits
    : `${sign}${digits.slice(0, pointIndex)}.${digits.slice(pointIndex)}`;
}

/** @returns one sum per currency, in order of first appearance */
export function sumByCurrency(amounts: Iterable<Amount>): Amount[] {
  const sums = new Map<string, number>();
  for (const { currency, minor } of amounts) {
    const sum = (sums.get(currency) ?? 0) + minor;
    if (!Number.isSafeInteger(sum)) throw new RangeError(`the sum in ${currency} is too large to be exact`);
    sums.set(currency, sum);
  }
  return [...sums].map(([currency, minor]) => ({ currency, minor }));
}

/**
 * Formats an amount, such as `€36.00` or `36,00 €`. `Intl` formats only the integer part, so nothing is rounded. The
 * number of decimals is set according to ISO 4217, because `Intl` uses another number for some currencies.
 * @param locale BCP 47 tag, such as `de-DE`
 */
export function formatAmount({ currency, minor }: Amount, locale: string): string {
  const decimalCount = getCurrencyDecimals(currency) ?? 2;
  const divisor = 10n ** BigInt(decimalCount);
  const absoluteMinor = BigInt(Math.abs(minor));
  const fraction = String(absoluteMinor % divisor).padStart(decimalCount, '0');
  const parts = getCurrencyFormat(locale, currency, decimalCount).formatToParts(absoluteMinor / divisor);
  const text = parts.map(({ type, value }) => (type === 'fraction' ? fraction : value)).join('');
  return minor < 0 ? `\u2212${text}` : text;
}

/** Drops the decimals, for charts, which accept only plain numbers. */
export function toWholeUnits({ currency, minor }: Amount): number {
  return Number(BigInt(minor) / 10n ** BigInt(getCurrencyDecimals(currency) ?? 2));
}

const cachedFormats = new Map<string, Intl.NumberFormat>();

/** Cached, because creating a formatter is slow. */
function getCurrencyFormat(locale: string, currency: string, decimalCount: number): Intl.NumberFormat {
  const key = `${locale} ${currency}`;
  const cachedFormat = cachedFormats.get(key);
  if (cachedFormat !== undefined) return cachedFormat;
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    numberingSystem: 'latn',
    minimumFractionDigits: decimalCount,
    maximumFractionDigits: decimalCount,
  });
  cachedFormats.set(key, format);
  return format;
}
