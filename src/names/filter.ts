import { DAY_MS } from '../lib/duration.ts';
import { NONE } from './portfolio.ts';
import {
  certificateEnd,
  DELEGATION_FINDINGS,
  FINDING_CODES,
  type FindingCode,
  type JudgedName,
  judge,
} from './posture.ts';

/** Filters of the portfolio. Different kinds combine with AND, the same kind with OR. */

export interface NameFilter {
  readonly tags: readonly string[];
  /** As typed: an id, a name, `me`, `none`, `left`. */
  readonly owners: readonly string[];
  readonly zones: readonly string[];
  readonly registrars: readonly string[];
  /** Parts of the name or the note. */
  readonly texts: readonly string[];
  /** In days; includes expired names. */
  readonly expiresWithin: number | undefined;
  /** In days; includes expired certificates. */
  readonly certificateWithin: number | undefined;
  /** In days. */
  readonly expiresAfter: number | undefined;
  /** No website and no mail. */
  readonly unused: boolean;
  readonly words: readonly FindingWord[];
  /** Has at least one of them. */
  readonly findings: readonly FindingCode[];
  readonly sort: NameSort;
}

const NAME_SORTS = ['expiry', '-expiry', 'name', '-name'] as const;
export type NameSort = (typeof NAME_SORTS)[number];

/** Filters with a value after a colon. */
export const FILTER_KEYS = ['tag', 'owner', 'zone', 'registrar', 'finding', 'sort'] as const;
type FilterKey = (typeof FILTER_KEYS)[number];

export type FilterIssue =
  | { readonly code: 'unknown_filter'; readonly key: string; readonly word: string }
  | { readonly code: 'no_value'; readonly key: FilterKey }
  | { readonly code: 'not_days'; readonly word: string }
  | { readonly code: 'unknown_sort'; readonly value: string }
  | { readonly code: 'unknown_finding'; readonly value: string }
  | { readonly code: 'too_long' };

/** Filters are stored in button values, which Slack limits to 2,000 characters. */
const MAX_FILTER = 800;
const MAX_DAYS = 36_500;

const FINDING_WORDS = ['unlocked', 'unsigned', 'undated', 'lame'] as const;
type FindingWord = (typeof FINDING_WORDS)[number];
const FINDINGS_OF: Readonly<Record<FindingWord, readonly FindingCode[]>> = {
  unlocked: ['unlocked'],
  unsigned: ['unsigned'],
  undated: ['undated'],
  lame: DELEGATION_FINDINGS,
};

type ListKey = 'tags' | 'owners' | 'zones' | 'registrars';
const LISTS: Readonly<Record<Exclude<FilterKey, 'sort' | 'finding'>, ListKey>> = {
  tag: 'tags',
  owner: 'owners',
  zone: 'zones',
  registrar: 'registrars',
};

export type ReadFilter =
  | { readonly ok: true; readonly filter: NameFilter }
  | { readonly ok: false; readonly issues: readonly FilterIssue[] };

export const EVERY_NAME: NameFilter = {
  tags: [],
  owners: [],
  zones: [],
  registrars: [],
  texts: [],
  expiresWithin: undefined,
  certificateWithin: undefined,
  expiresAfter: undefined,
  unused: false,
  words: [],
  findings: [],
  sort: 'expiry',
};

/** Such as `tag:brand expiring<60 "sandbox registrar"`. */
export function readFilter(text: string): ReadFilter {
  if (text.length > MAX_FILTER) return { ok: false, issues: [{ code: 'too_long' }] };
  const issues: FilterIssue[] = [];
  let filter = EVERY_NAME;
  for (const word of splitWords(text)) {
    const read = readWord(filter, word);
    if ('issue' in read) issues.push(read.issue);
    else filter = read.filter;
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, filter };
}

/** A quoted part belongs to one word: `registrar:"Sandbox Registrar"`. Phones type curly quotes. */
function splitWords(text: string): string[] {
  return [...text.replace(/[“”„]/g, '"').matchAll(/(?:"[^"]*"?|[^\s"])+/g)]
    .map(([word]) => word.replaceAll('"', '').trim())
    .filter((word) => word !== '');
}

function readWord(
  filter: NameFilter,
  word: string,
): { readonly filter: NameFilter } | { readonly issue: FilterIssue } {
  const lower = word.toLowerCase();
  if (lower === 'unused') return { filter: { ...filter, unused: true } };
  const finding = FINDING_WORDS.find((each) => each === lower);
  if (finding !== undefined) return { filter: { ...filter, words: [...filter.words, finding] } };
  if (lower === 'expired') return { filter: { ...filter, expiresWithin: 0 } };
  const days = /^expir(?:ing|es|y)\s*([<>=:]+)(.*)$/.exec(lower);
  if (days !== null) return readDays(filter, word, days[1] ?? '', days[2] ?? '');
  const certificate = /^cert(?:ificate)?\s*<=?\s*(\d{1,5})d?$/.exec(lower)?.[1];
  if (certificate !== undefined) return { filter: { ...filter, certificateWithin: Number(certificate) } };
  if (/^cert(?:ificate)?\s*[<>=:]/.test(lower)) return { issue: { code: 'not_days', word } };
  const at = word.search(/[:=<>]/);
  if (at < 0) return { filter: { ...filter, texts: [...filter.texts, lower] } };
  const key = lower.slice(0, at);
  const known = FILTER_KEYS.find((each) => each === key || `${each}s` === key);
  if (known === undefined) return { issue: { code: 'unknown_filter', key, word } };
  const values = word
    .slice(at + 1)
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
  const [first] = values;
  if (first === undefined) return { issue: { code: 'no_value', key: known } };
  if (known === 'sort') return readSort(filter, first);
  if (known === 'finding') return readFindings(filter, values);
  const list = LISTS[known];
  return { filter: { ...filter, [list]: [...filter[list], ...values.map((value) => clean(known, value))] } };
}

function clean(key: FilterKey, value: string): string {
  switch (key) {
    case 'tag':
      return value.replace(/^#/, '').toLowerCase();
    case 'zone':
      return value.replace(/^[*.]+/, '').toLowerCase();
    default:
      return value;
  }
}

function readDays(
  filter: NameFilter,
  word: string,
  sign: string,
  value: string,
): ReturnType<typeof readWord> {
  const days = /^\d{1,5}d?$/.test(value.trim()) ? Number.parseInt(value, 10) : Number.NaN;
  if (!(days <= MAX_DAYS)) return { issue: { code: 'not_days', word } };
  return {
    filter: sign.startsWith('>') ? { ...filter, expiresAfter: days } : { ...filter, expiresWithin: days },
  };
}

function readSort(filter: NameFilter, value: string): ReturnType<typeof readWord> {
  const sort = NAME_SORTS.find((each) => each === value.toLowerCase());
  return sort === undefined ? { issue: { code: 'unknown_sort', value } } : { filter: { ...filter, sort } };
}

function readFindings(filter: NameFilter, values: readonly string[]): ReturnType<typeof readWord> {
  const found = values.map((value) => ({
    value,
    code: FINDING_CODES.find((each) => each === value.toLowerCase()),
  }));
  const unknown = found.find(({ code }) => code === undefined);
  if (unknown !== undefined) return { issue: { code: 'unknown_finding', value: unknown.value } };
  const codes = found.flatMap(({ code }) => code ?? []);
  return { filter: { ...filter, findings: [...filter.findings, ...codes] } };
}

/** Whether a name matches a filter's conditions on findings and certificates. */
export function matchesFindings(filter: NameFilter, name: JudgedName, now: Date): boolean {
  const { words, findings: wanted, certificateWithin } = filter;
  if (certificateWithin !== undefined && certificateEnd(name) >= now.getTime() + certificateWithin * DAY_MS)
    return false;
  const groups = [...words.map((word) => FINDINGS_OF[word]), ...(wanted.length > 0 ? [wanted] : [])];
  if (groups.length === 0) return true;
  const { findings } = judge(name, now);
  return groups.every((group) => findings.some(({ code }) => group.includes(code)));
}

export function filtersFindings({ words, findings, certificateWithin }: NameFilter): boolean {
  return words.length + findings.length > 0 || certificateWithin !== undefined;
}

export function isNone(value: string): boolean {
  return value.toLowerCase() === NONE;
}

/** Selects owners who have left. */
export function isLeft(value: string): boolean {
  return value.toLowerCase() === 'left';
}
