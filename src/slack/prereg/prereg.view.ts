import type { KnownBlock } from '@slack/types';
import { dropMissing } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { ServiceError } from '../../service/errors.ts';
import type { Interface } from '../../service/task.ts';
import type { PREREG_FILTERS, Preregistration, Preregistrations } from '../../service/tasks/prereg.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  type AnyBlock,
  actions,
  button,
  capitalize,
  code,
  context,
  divider,
  escapeLine,
  escapeText,
  formatCount,
  formatUtcDate,
  LIMITS,
  type Message,
  menu,
  message,
  section,
  sectionFields,
  table,
  textMessage,
} from '../kit/blocks.ts';
import { isDateOrTime, listAnswerFields } from '../orders/answer.view.ts';
import { requestIssueText } from '../orders/request-issue.view.ts';

/* Results of a preregistration search: a table, and full records. */

/** Fields that are returned only on request. See “Preregistration search” in the API documentation. */
export const OPTIONAL_PREREG_KEYS = ['tmch_mark', 'extension', 'nsentry'] as const;

export interface PreregQuery {
  readonly filters: Readonly<Partial<Record<(typeof PREREG_FILTERS)[number], string | undefined>>>;
  readonly operator?: 'EQUAL' | 'like' | undefined;
  /** The sort key. Only ascending order is documented. */
  readonly order?: string | undefined;
  readonly children: boolean;
  readonly keys: readonly string[];
  readonly offset: number;
  readonly limit: number;
}

const FIELD_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  status: 'Status',
  phase: 'Phase',
  period: 'Period',
  owner: 'Owner',
  created: 'Created',
  updated: 'Updated',
  updater: 'Updated by',
  order_reference: 'Order',
  ownerc: 'Owner contact',
  adminc: 'Admin contact',
  techc: 'Tech contact',
  zonec: 'Zone contact',
  nserver: 'Nameservers',
  recommended: 'Recommended',
  confirmed: 'Confirmed',
  confirmation: 'Confirmation',
  phase_period: 'Phase period',
  tmch_mark: 'Trademark claim',
  extension: 'Extension',
  nsentry: 'Nameserver entries',
};

/** Undocumented fields are labeled with their name. */
export function fieldLabel(field: string): string {
  return FIELD_LABELS[field] ?? field;
}

/** The fields that the service returns by default, in reading order. */
const DEFAULT_COLUMNS = [
  ...['name', 'status', 'phase', 'period', 'owner', 'created', 'updated', 'updater', 'order_reference'],
  ...['adminc', 'techc', 'nserver', 'confirmation', 'phase_period', 'recommended', 'confirmed'],
] as const;

/** Slack's limit on the columns of a table. */
const MAX_COLUMNS = 20;

/** The service writes booleans in different ways. */
const BOOLEAN_TEXTS: ReadonlyMap<string, string> = new Map([
  ['true', 'yes'],
  ['1', 'yes'],
  ['false', 'no'],
  ['0', 'no'],
]);

const NAMESERVER_PATH_PATTERN = /^(?:\d+\.?)?(?:name)?$/;
const CONTACT_PATH_PATTERN = /^(?:id)?$/;

function formatCell(record: Preregistration, column: string): string {
  const value = listSpellings(column)
    .map((name) => record[name])
    .find(hasValue);
  switch (column) {
    case 'name':
      return formatDomainName(formatData(value));
    case 'nserver':
      return findValues(record['nameServers'], NAMESERVER_PATH_PATTERN).join(', ');
    case 'confirmation':
      return formatSpan(record, 'confirmation');
    case 'phase_period':
      return formatSpan(record, 'period');
    case 'ownerc':
    case 'adminc':
    case 'techc':
    case 'zonec':
      return findValues(value, CONTACT_PATH_PATTERN).join(', ');
    case 'created':
    case 'updated':
      return formatServiceTime(formatData(value));
    case 'status':
    case 'phase':
      return formatEnumValue(formatData(value));
    case 'recommended':
    case 'confirmed':
      return BOOLEAN_TEXTS.get(formatData(value)) ?? formatData(value);
    default:
      return formatData(value);
  }
}

/** For example, `tmch_mark` and `tmchMark`, because the interfaces spell names differently. */
function listSpellings(name: string): readonly string[] {
  return [name, name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())];
}

/** A record's fields that are objects. Their values that no column or phase shows are listed separately. */
const OBJECT_FIELDS = [
  { label: 'Nameservers', name: 'nameServers', shownPathPattern: NAMESERVER_PATH_PATTERN },
  ...(['ownerc', 'adminc', 'techc', 'zonec'] as const).map((name) => ({
    label: FIELD_LABELS[name] ?? name,
    name,
    shownPathPattern: CONTACT_PATH_PATTERN,
  })),
  {
    label: 'Phases',
    name: 'preregConfig',
    shownPathPattern: /^(?:confirmation|period)(?:_start|_end|Start|End)$/,
  },
];

const LOCAL_TIME_PATTERN = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d)?$/;

/**
 * Formats a time from the service, in UTC because plain text can't show the reader's time zone. The time zone of times
 * in XML isn't documented, so none is shown. Other text is returned unchanged.
 */
function formatServiceTime(text: string): string {
  const [, localDay, clock] = LOCAL_TIME_PATTERN.exec(text) ?? [];
  if (localDay !== undefined && isDateOrTime(localDay))
    return `${formatUtcDate(new Date(localDay))}, ${clock}`;
  if (!isDateOrTime(text)) return text;
  const date = new Date(text);
  return text.length === 'YYYY-MM-DD'.length
    ? formatUtcDate(date)
    : `${formatUtcDate(date)}, ${date.toISOString().slice(11, 16)} UTC`;
}

/** `ON_HOLD` becomes `on hold`. The values aren't documented. */
function formatEnumValue(text: string): string {
  return /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*$/.test(text) ? text.toLowerCase().replaceAll('_', ' ') : text;
}

/** Finds values by their paths. A value that isn't in an object has an empty path. */
function findValues(data: unknown, pathPattern: RegExp): string[] {
  return listAnswerFields(data).flatMap(([path, value]) => (pathPattern.test(path) ? [value] : []));
}

function findConfigValue({ preregConfig }: Preregistration, name: string): string | undefined {
  return listAnswerFields(preregConfig).find(([key]) => listSpellings(name).includes(key))?.[1];
}

type Phase = 'confirmation' | 'period';

/** Start and end of a phase in the service's format; undefined if both are missing. */
function findPhaseSpan(record: Preregistration, phase: Phase) {
  const start = findConfigValue(record, `${phase}_start`);
  const end = findConfigValue(record, `${phase}_end`);
  return start === undefined && end === undefined ? undefined : { start, end };
}

function formatSpan(record: Preregistration, phase: Phase): string {
  const span = findPhaseSpan(record, phase);
  return span === undefined
    ? ''
    : `${formatServiceTime(span.start ?? '?')} – ${formatServiceTime(span.end ?? '?')}`;
}

/** One page of results, with buttons for paging and for full records. */
export function preregPage(query: PreregQuery, page: Preregistrations, usedInterface: Interface): Message {
  const { records, summary } = page;
  const description = `preregistrations${formatQuery(query)}`;
  const buttons = actions('prereg', pageButtons(query, page));
  if (records.length === 0) {
    const text = `No ${query.offset === 0 ? '' : 'more '}${escapeText(description)}.`;
    return message(text, [section(text), context(describeFilter(query, usedInterface)), ...buttons]);
  }
  const range = `${query.offset + 1}–${query.offset + records.length}${summary === undefined ? '' : ` of ${summary}`}`;
  const title = `${capitalize(description)}: ${range}`;
  const { columns, omittedColumns } = selectColumns(records, query.keys);
  return message(escapeText(title), [
    section(`*${escapeText(title)}*`),
    table({
      caption: title,
      columns: columns.map(fieldLabel),
      rows: records.map((record) => columns.map((column) => formatCell(record, column))),
      pageSize: query.limit,
    }),
    omittedColumns.length > 0 &&
      context(
        `Columns that don’t fit: ${escapeText(omittedColumns.map(fieldLabel).join(', '))}. Open a record to see them, or show fewer records per page.`,
      ),
    context(describeFilter(query, usedInterface)),
    ...recordMenu(records),
    ...buttons,
  ]);
}

/** The name, the requested columns and the default columns that aren't empty, as many as fit in a table. */
function selectColumns(
  records: readonly Preregistration[],
  keys: readonly string[],
): { readonly columns: readonly string[]; readonly omittedColumns: readonly string[] } {
  const [name, ...otherColumns] = DEFAULT_COLUMNS;
  const candidateColumns = [...new Set([name, ...keys, ...otherColumns])].filter(
    (column) => keys.includes(column) || records.some((record) => formatCell(record, column) !== ''),
  );
  let remainingLength = LIMITS.tableText - 200;
  const columns: string[] = [];
  for (const column of candidateColumns) {
    const length = records.reduce((sum, record) => sum + formatCell(record, column).length + 1, 0);
    if (columns.length > 0 && (length > remainingLength || columns.length >= MAX_COLUMNS)) continue;
    remainingLength -= length;
    columns.push(column);
  }
  return { columns, omittedColumns: candidateColumns.filter((column) => !columns.includes(column)) };
}

/** Filters other than the name, as written within a sentence. */
const FILTER_TEXTS: Readonly<Record<string, string>> = {
  'prereg_config.confirmation_start': 'confirmation start',
  'prereg_config.confirmation_end': 'confirmation end',
  'prereg_config.period_start': 'phase start',
  'prereg_config.period_end': 'phase end',
  id: 'ID',
};

function formatQuery({ filters: { sld, tld, subtld, ...otherFilters } }: PreregQuery): string {
  const fullTld = subtld ?? tld;
  const name =
    sld === undefined
      ? fullTld === undefined
        ? ''
        : ` in .${fullTld}`
      : fullTld === undefined
        ? ` for the name ${sld}`
        : ` for ${sld}.${fullTld}`;
  const filterTexts = Object.entries(otherFilters).map(
    ([key, value]) => `${FILTER_TEXTS[key] ?? key} ${formatServiceTime(value ?? '')}`,
  );
  return `${name}${filterTexts.length === 0 ? '' : ` with ${filterTexts.join(', ')}`}`;
}

function describeFilter({ filters }: PreregQuery, usedInterface: Interface): string {
  const source = `Searched through the service’s ${usedInterface === 'json' ? 'JSON' : 'XML'} interface`;
  if (Object.keys(filters).length === 0) return `${source}, without a filter.`;
  return usedInterface === 'json'
    ? `${source} for exact matches (EQUAL).`
    : `${source} with “like”. The documentation doesn’t say how “like” compares values or which wildcards it supports.${Object.keys(filters).length > 1 ? ' It shows only one filter at a time, so I assume that a name must match all of yours.' : ''}`;
}

function pageButtons(query: PreregQuery, { records, summary }: Preregistrations) {
  const { offset, limit } = query;
  const buildButtonValue = (newOffset: number) =>
    JSON.stringify({ ...query, offset: newOffset } satisfies PreregQuery);
  const nextOffset = offset + records.length;
  const hasMore =
    summary === undefined ? records.length === limit : records.length > 0 && nextOffset < summary;
  const previousOffset = Math.max(0, offset - limit);
  return dropMissing([
    offset > 0 && button('prereg_previous', 'Previous', buildButtonValue(previousOffset)),
    hasMore && button('prereg_next', 'Next', buildButtonValue(nextOffset)),
  ]);
}

/** A button if there is one record, or a menu if there are several. Records are looked up by name. */
function recordMenu(records: readonly Preregistration[]): AnyBlock[] {
  const names = [...new Set(records.map(({ name }) => formatData(name)))].filter(
    (name) => name !== '' && name.length <= LIMITS.optionValue,
  );
  const [first, second] = names;
  if (first === undefined) return [];
  if (second === undefined) {
    return actions('prereg_records', [
      button('prereg_open', 'Show full record', first, { label: `Show full record: ${first}` }),
    ]);
  }
  return [
    menu(
      'prereg_records',
      'prereg_open',
      'Show a full record',
      names.map((name) => ({ text: formatDomainName(name), value: name })),
    ),
  ];
}

/** Few names have more records. */
const MAX_SHOWN_RECORDS = 8;

export function preregRecords(
  name: string,
  records: readonly Preregistration[],
  now: Date,
): readonly KnownBlock[] {
  const shownRecords = records.slice(0, MAX_SHOWN_RECORDS);
  return [
    section(
      `*${escapeText(formatDomainName(name))}*${records.length > 1 ? `: ${formatCount(records.length, 'record')}` : ''}`,
    ),
    ...shownRecords.flatMap((record, index) => [
      ...(index === 0 ? [] : [divider]),
      ...recordBlocks(record, now),
    ]),
    ...(records.length > shownRecords.length
      ? [
          context(
            `${formatCount(records.length - shownRecords.length, 'more record')} not shown. Ask the domain service for the rest.`,
          ),
        ]
      : []),
  ];
}

function recordBlocks(record: Preregistration, now: Date) {
  const columns = [...DEFAULT_COLUMNS, 'ownerc', 'zonec', ...OPTIONAL_PREREG_KEYS].filter(
    (column) => column !== 'name' && column !== 'confirmation' && column !== 'phase_period',
  );
  const phases = dropMissing([
    phaseLine('Confirmation', record, 'confirmation', now),
    phaseLine('Phase period', record, 'period', now),
  ]);
  const shownKeys = new Set(['name', 'nameServers', 'preregConfig', ...columns.flatMap(listSpellings)]);
  const otherFields = Object.fromEntries(Object.entries(record).filter(([key]) => !shownKeys.has(key)));
  const pairs = [
    ...columns.map((column) => [FIELD_LABELS[column] ?? column, formatCell(record, column)] as const),
    ...OBJECT_FIELDS.flatMap(({ label, name, shownPathPattern }) =>
      listAnswerFields(record[name])
        .filter(([path]) => !shownPathPattern.test(path))
        .map(([path, value]) => [path === '' ? label : `${label}: ${path}`, value] as const),
    ),
    ...listAnswerFields(otherFields),
  ].filter(([, value]) => value !== '');
  return dropMissing([
    phases.length > 0 && section(...phases),
    ...sectionFields(pairs.map(([label, value]) => [escapeText(label), escapeLine(value, 1_000)] as const)),
  ]);
}

/** For example, `Confirmation: from … until … (ends in 3 days)`. */
function phaseLine(label: string, record: Preregistration, phase: Phase, now: Date): string | undefined {
  const span = findPhaseSpan(record, phase);
  if (span === undefined) return undefined;
  const { start, end } = span;
  const formatTime = (time: string | undefined) =>
    time === undefined ? 'an unknown time' : escapeLine(formatServiceTime(time));
  return `*${label}*: from ${formatTime(start)} until ${formatTime(end)}${formatDaysLeft(end, now)}`;
}

/** The number of days until the end. Hours aren't shown, because the time zone in XML isn't documented. */
function formatDaysLeft(end: string | undefined, now: Date): string {
  const endMs =
    end === undefined
      ? Number.NaN
      : Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(end) ? end : `${end.replace(' ', 'T')}Z`);
  if (Number.isNaN(endMs)) return '';
  const days = Math.floor((endMs - now.getTime()) / DAY_MS);
  if (days < 0) return ' (ended)';
  return days === 0 ? ' (ends within a day)' : ` (ends in ${formatCount(days, 'day')})`;
}

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** Formats data with an undocumented structure, for example as `name: value, name: value`. */
function formatData(value: unknown): string {
  if (!hasValue(value)) return '';
  if (typeof value !== 'object') return String(value);
  return listAnswerFields(value)
    .map(([name, inner]) => (/^(?:user|context|id|\d+)?$/.test(name) ? inner : `${name}: ${inner}`))
    .join(', ');
}

export function searchErrorMessage(error: ServiceError): Message {
  return textMessage(searchErrorText(error));
}

function searchErrorText(error: ServiceError): string {
  const answer = [error.code, error.text].filter((part) => part !== undefined && part !== '').join(' ');
  const transaction = error.stid === undefined ? '' : ` (server transaction ${code(error.stid)})`;
  const quotedAnswer = answer === '' ? transaction : ` It says: ${escapeLine(answer, 500)}${transaction}`;
  switch (error.kind) {
    case 'auth':
      return `The service refused your linked account. Link it again with \`/domain link\`, then search again.${quotedAnswer}`;
    case 'refused':
      return `The service refused this search.${quotedAnswer}`;
    case 'busy':
      return `The service is busy. Wait a minute, then search again.${quotedAnswer}`;
    case 'token_used':
      return `The current one-time token is already used. Search again in ${formatCount(Math.ceil((error.retryAfterMs ?? 0) / 1_000), 'second')}.`;
    case 'unsupported':
    case 'invalid_input':
      return `This search can’t be sent. ${escapeText(requestIssueText(error.issue ?? { code: 'not_sendable' }))}`;
    case 'not_sent':
    case 'unknown_outcome':
    case 'invalid_response':
      return answer === ''
        ? `The service’s response couldn’t be read. Nothing changed. Search again in a few minutes.${error.ctid === undefined ? '' : ` Client transaction ID ${code(error.ctid)}.`}`
        : `The service gave no clear answer. Nothing changed. Search again in a few minutes.${quotedAnswer}`;
  }
}

/** A part of a search that only one interface documents. */
export type InterfaceConstraint =
  | { readonly code: 'equal' | 'like' | 'order' }
  | { readonly code: 'key'; readonly key: string };

export function constraintText(constraint: InterfaceConstraint): string {
  switch (constraint.code) {
    case 'equal':
      return 'EQUAL';
    case 'like':
      return '“like”';
    case 'order':
      return 'a sort order';
    case 'key':
      return `the key ${constraint.key}`;
  }
}

export const equalNeedsJsonText = (xmlConstraint: InterfaceConstraint) =>
  `EQUAL needs the JSON interface, and ${constraintText(xmlConstraint)} needs XML. Choose “like”, or leave the other out.`;
export const XML_UNAVAILABLE =
  'This needs the service’s XML interface, and its address isn’t set. Ask your operator to set SERVICE_XML_URL.';
export const NO_WILDCARDS =
  'EQUAL finds exact matches and doesn’t support the wildcards % and *. Enter the full value, or choose “like”, which uses XML.';

export const NO_OFFSET =
  'This search uses XML, which documents no UTC offset. Enter the time as 2027-03-01 12:00:00.';

export function noWildcardsText(hasXml: boolean): string {
  const advice = hasXml
    ? 'Enter the full name, or open the form with `/domain prereg` and choose “like”.'
    : 'Enter the full name.';
  return `I didn’t search, because your account only finds exact matches: % and * don’t work as wildcards. ${advice}`;
}

export const ENTER_ONE_NAME =
  'Enter one name, such as `/domain prereg cafe` or `/domain prereg cafe.rest`. `/domain prereg` alone opens the form.';
export const LIST_EXPIRED = 'These pages are no longer available. Search again with `/domain prereg`.';
export const preregGoneText = (name: string) =>
  `${code(name)} has no preregistration anymore. Search again with \`/domain prereg\`.`;

export const XML_FEATURES = 'Searches with “like”, a sort order or other fields';
