import { DAY_MS } from '../lib/duration.ts';
import { NONE_FILTER } from './portfolio.ts';
import {
  type AssessedName,
  assessName,
  DELEGATION_FINDINGS,
  FINDING_CODES,
  type FindingCode,
  getEarliestCertificateExpiry,
} from './posture.ts';

/** Filters of the portfolio. Filters of different kinds combine with AND, those of the same kind with OR. */

export interface NameFilter {
  readonly tags: readonly string[];
  /** As entered: a user id, a name, `me`, `none` or `left`. */
  readonly owners: readonly string[];
  readonly zones: readonly string[];
  readonly registrars: readonly string[];
  /** Text that the name or note contains. */
  readonly texts: readonly string[];
  /** Also matches expired names. */
  readonly expiresWithinDays: number | undefined;
  /** Also matches expired certificates. */
  readonly certificateExpiresWithinDays: number | undefined;
  readonly expiresAfterDays: number | undefined;
  /** Matches names with neither website nor mail. */
  readonly isUnused: boolean;
  readonly findingWords: readonly FindingWord[];
  /** Matches names with at least one of these. */
  readonly findingCodes: readonly FindingCode[];
  readonly sort: NameSort;
}

const NAME_SORTS = ['expiry', '-expiry', 'name', '-name'] as const;
export type NameSort = (typeof NAME_SORTS)[number];

/** Filters with a value after a colon. */
export const FILTER_KEYS = ['tag', 'owner', 'zone', 'registrar', 'finding', 'sort'] as const;
type FilterKey = (typeof FILTER_KEYS)[number];

export type FilterIssue =
  | { readonly code: 'unknown_filter'; readonly key: string; readonly word: string }
  | { readonly code: 'missing_value'; readonly key: FilterKey }
  | { readonly code: 'invalid_days'; readonly word: string }
  | { readonly code: 'unknown_sort'; readonly value: string }
  | { readonly code: 'unknown_finding'; readonly value: string }
  | { readonly code: 'too_long' };

/** Filters are stored in button values, which Slack limits to 2,000 characters. */
const MAX_FILTER_LENGTH = 800;
const MAX_DAYS = 36_500;

const FINDING_WORDS = ['unlocked', 'unsigned', 'undated', 'lame'] as const;
type FindingWord = (typeof FINDING_WORDS)[number];
const FINDINGS_BY_WORD: Readonly<Record<FindingWord, readonly FindingCode[]>> = {
  unlocked: ['unlocked'],
  unsigned: ['unsigned'],
  undated: ['undated'],
  lame: DELEGATION_FINDINGS,
};

type ListKey = 'tags' | 'owners' | 'zones' | 'registrars';
const LIST_BY_KEY: Readonly<Record<Exclude<FilterKey, 'sort' | 'finding'>, ListKey>> = {
  tag: 'tags',
  owner: 'owners',
  zone: 'zones',
  registrar: 'registrars',
};

export type FilterResult =
  | { readonly ok: true; readonly filter: NameFilter }
  | { readonly ok: false; readonly issues: readonly FilterIssue[] };

export const NO_FILTER: NameFilter = {
  tags: [],
  owners: [],
  zones: [],
  registrars: [],
  texts: [],
  expiresWithinDays: undefined,
  certificateExpiresWithinDays: undefined,
  expiresAfterDays: undefined,
  isUnused: false,
  findingWords: [],
  findingCodes: [],
  sort: 'expiry',
};

/** Parses a filter such as `tag:brand expiring<60 "sandbox registrar"`. */
export function parseFilter(text: string): FilterResult {
  if (text.length > MAX_FILTER_LENGTH) return { ok: false, issues: [{ code: 'too_long' }] };
  const issues: FilterIssue[] = [];
  let filter = NO_FILTER;
  for (const word of splitWords(text)) {
    const parsed = parseWord(filter, word);
    if ('issue' in parsed) issues.push(parsed.issue);
    else filter = parsed.filter;
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, filter };
}

/** Quotes keep words together: `registrar:"Sandbox Registrar"`. Phones type curly quotes. */
function splitWords(text: string): string[] {
  return [...text.replace(/[“”„]/g, '"').matchAll(/(?:"[^"]*"?|[^\s"])+/g)]
    .map(([word]) => word.replaceAll('"', '').trim())
    .filter((word) => word !== '');
}

function parseWord(
  filter: NameFilter,
  word: string,
): { readonly filter: NameFilter } | { readonly issue: FilterIssue } {
  const lowerWord = word.toLowerCase();
  if (lowerWord === 'unused') return { filter: { ...filter, isUnused: true } };
  const finding = FINDING_WORDS.find((findingWord) => findingWord === lowerWord);
  if (finding !== undefined)
    return { filter: { ...filter, findingWords: [...filter.findingWords, finding] } };
  if (lowerWord === 'expired') return { filter: { ...filter, expiresWithinDays: 0 } };
  const expiryMatch = /^expir(?:ing|es|y)\s*([<>=:]+)(.*)$/.exec(lowerWord);
  if (expiryMatch !== null) return parseExpiryDays(filter, word, expiryMatch[1] ?? '', expiryMatch[2] ?? '');
  const certificateDays = /^cert(?:ificate)?\s*<=?\s*(\d{1,5})d?$/.exec(lowerWord)?.[1];
  if (certificateDays !== undefined)
    return { filter: { ...filter, certificateExpiresWithinDays: Number(certificateDays) } };
  if (/^cert(?:ificate)?\s*[<>=:]/.test(lowerWord)) return { issue: { code: 'invalid_days', word } };
  const separatorIndex = word.search(/[:=<>]/);
  if (separatorIndex < 0) return { filter: { ...filter, texts: [...filter.texts, lowerWord] } };
  const key = lowerWord.slice(0, separatorIndex);
  const filterKey = FILTER_KEYS.find((known) => known === key || `${known}s` === key);
  if (filterKey === undefined) return { issue: { code: 'unknown_filter', key, word } };
  const values = word
    .slice(separatorIndex + 1)
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
  const [firstValue] = values;
  if (firstValue === undefined) return { issue: { code: 'missing_value', key: filterKey } };
  if (filterKey === 'sort') return parseSort(filter, firstValue);
  if (filterKey === 'finding') return parseFindings(filter, values);
  const listKey = LIST_BY_KEY[filterKey];
  const normalizedValues = values.map((value) => normalizeValue(filterKey, value));
  return { filter: { ...filter, [listKey]: [...filter[listKey], ...normalizedValues] } };
}

function normalizeValue(key: FilterKey, value: string): string {
  switch (key) {
    case 'tag':
      return value.replace(/^#/, '').toLowerCase();
    case 'zone':
      return value.replace(/^[*.]+/, '').toLowerCase();
    default:
      return value;
  }
}

function parseExpiryDays(
  filter: NameFilter,
  word: string,
  operator: string,
  value: string,
): ReturnType<typeof parseWord> {
  const days = /^\d{1,5}d?$/.test(value.trim()) ? Number.parseInt(value, 10) : Number.NaN;
  if (!(days <= MAX_DAYS)) return { issue: { code: 'invalid_days', word } };
  return {
    filter: operator.startsWith('>')
      ? { ...filter, expiresAfterDays: days }
      : { ...filter, expiresWithinDays: days },
  };
}

function parseSort(filter: NameFilter, value: string): ReturnType<typeof parseWord> {
  const sort = NAME_SORTS.find((known) => known === value.toLowerCase());
  return sort === undefined ? { issue: { code: 'unknown_sort', value } } : { filter: { ...filter, sort } };
}

function parseFindings(filter: NameFilter, values: readonly string[]): ReturnType<typeof parseWord> {
  const findCode = (value: string) => FINDING_CODES.find((code) => code === value.toLowerCase());
  const unknownValue = values.find((value) => findCode(value) === undefined);
  if (unknownValue !== undefined) return { issue: { code: 'unknown_finding', value: unknownValue } };
  const codes = values.flatMap((value) => findCode(value) ?? []);
  return { filter: { ...filter, findingCodes: [...filter.findingCodes, ...codes] } };
}

/** Checks only the filter's conditions on findings and certificates. */
export function matchesFindings(filter: NameFilter, name: AssessedName, now: Date): boolean {
  const { findingWords, findingCodes: filterCodes, certificateExpiresWithinDays } = filter;
  if (
    certificateExpiresWithinDays !== undefined &&
    getEarliestCertificateExpiry(name) >= now.getTime() + certificateExpiresWithinDays * DAY_MS
  )
    return false;
  const groups = [
    ...findingWords.map((word) => FINDINGS_BY_WORD[word]),
    ...(filterCodes.length > 0 ? [filterCodes] : []),
  ];
  if (groups.length === 0) return true;
  const { findings } = assessName(name, now);
  return groups.every((group) => findings.some(({ code }) => group.includes(code)));
}

export function hasFindingFilter({
  findingWords,
  findingCodes,
  certificateExpiresWithinDays,
}: NameFilter): boolean {
  return findingWords.length + findingCodes.length > 0 || certificateExpiresWithinDays !== undefined;
}

export function isNone(value: string): boolean {
  return value.toLowerCase() === NONE_FILTER;
}

export function matchesDepartedOwners(value: string): boolean {
  return value.toLowerCase() === 'left';
}
