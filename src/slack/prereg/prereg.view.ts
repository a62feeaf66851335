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
  count,
  divider,
  escapeText,
  formatUtcDate,
  LIMITS,
  type Message,
  menu,
  message,
  quote,
  section,
  sectionFields,
  table,
  textMessage,
} from '../kit/blocks.ts';
import { isMoment, listAnswerFields } from '../orders/answer.view.ts';
import { requestIssueText } from '../orders/request-issue.view.ts';

/* Results of a preregistration search: a table, and full records. */

/** Data that is returned on request. See “Preregistration search” in the service's API documentation. */
export const PREREG_KEYS = ['tmch_mark', 'extension', 'nsentry'] as const;

export interface PreregQuery {
  readonly filters: Readonly<Partial<Record<(typeof PREREG_FILTERS)[number], string | undefined>>>;
  readonly operator?: 'EQUAL' | 'like' | undefined;
  /** The key for sorting. Only ascending order is documented. */
  readonly order?: string | undefined;
  readonly children: boolean;
  readonly keys: readonly string[];
  readonly offset: number;
  readonly limit: number;
}

const LABELS: Readonly<Record<string, string>> = {
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
  return LABELS[field] ?? field;
}

/** The data that the service returns by default, in reading order. */
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

const NAMESERVER_MEMBER = /^(?:\d+\.?)?(?:name)?$/;
const CONTACT_MEMBER = /^(?:id)?$/;

function formatCell(record: Preregistration, column: string): string {
  const value = listSpellings(column)
    .map((name) => record[name])
    .find(hasValue);
  switch (column) {
    case 'name':
      return formatDomainName(formatData(value));
    case 'nserver':
      return findValues(record['nameServers'], NAMESERVER_MEMBER).join(', ');
    case 'confirmation':
      return formatSpan(record, 'confirmation');
    case 'phase_period':
      return formatSpan(record, 'period');
    case 'ownerc':
    case 'adminc':
    case 'techc':
    case 'zonec':
      return findValues(value, CONTACT_MEMBER).join(', ');
    case 'created':
    case 'updated':
      return momentCell(formatData(value));
    case 'status':
    case 'phase':
      return stateCell(formatData(value));
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

/** Objects in a record. Members that no column or phase shows are listed separately. */
const OBJECT_FIELDS = [
  { label: 'Nameservers', name: 'nameServers', shownMembers: NAMESERVER_MEMBER },
  ...(['ownerc', 'adminc', 'techc', 'zonec'] as const).map((name) => ({
    label: LABELS[name] ?? name,
    name,
    shownMembers: CONTACT_MEMBER,
  })),
  {
    label: 'Phases',
    name: 'preregConfig',
    shownMembers: /^(?:confirmation|period)(?:_start|_end|Start|End)$/,
  },
];

const LOCAL_MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d)?$/;

/**
 * Formats a time from the service, in UTC because plain text can't show the reader's time zone. The time zone of times
 * in XML isn't documented, so none is shown. Other text is returned unchanged.
 */
function momentCell(text: string): string {
  const [, localDay, clock] = LOCAL_MOMENT.exec(text) ?? [];
  if (localDay !== undefined && isMoment(localDay)) return `${formatUtcDate(new Date(localDay))}, ${clock}`;
  if (!isMoment(text)) return text;
  const date = new Date(text);
  return text.length === 'YYYY-MM-DD'.length
    ? formatUtcDate(date)
    : `${formatUtcDate(date)}, ${date.toISOString().slice(11, 16)} UTC`;
}

/** `ON_HOLD` becomes `on hold`. The values aren't documented. */
function stateCell(text: string): string {
  return /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*$/.test(text) ? text.toLowerCase().replaceAll('_', ' ') : text;
}

/** Finds values by their paths. A value that isn't in an object has an empty path. */
function findValues(data: unknown, pattern: RegExp): string[] {
  return listAnswerFields(data).flatMap(([path, value]) => (pattern.test(path) ? [value] : []));
}

function findConfigValue({ preregConfig }: Preregistration, name: string): string | undefined {
  return listAnswerFields(preregConfig).find(([key]) => listSpellings(name).includes(key))?.[1];
}

type Phase = 'confirmation' | 'period';

/** Start and end of a phase in the service's format; undefined if it has neither. */
function findPhase(record: Preregistration, phase: Phase) {
  const start = findConfigValue(record, `${phase}_start`);
  const end = findConfigValue(record, `${phase}_end`);
  return start === undefined && end === undefined ? undefined : { start, end };
}

function formatSpan(record: Preregistration, phase: Phase): string {
  const span = findPhase(record, phase);
  return span === undefined ? '' : `${momentCell(span.start ?? '?')} – ${momentCell(span.end ?? '?')}`;
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
  const { columns, omitted } = selectColumns(records, query.keys);
  return message(escapeText(title), [
    section(`*${escapeText(title)}*`),
    table({
      caption: title,
      columns: columns.map(fieldLabel),
      rows: records.map((record) => columns.map((column) => formatCell(record, column))),
      pageSize: query.limit,
    }),
    omitted.length > 0 &&
      context(
        `Columns that don’t fit: ${escapeText(omitted.map(fieldLabel).join(', '))}. Open a record to see them, or show fewer records per page.`,
      ),
    context(describeFilter(query, usedInterface)),
    ...recordMenu(records),
    ...buttons,
  ]);
}

/** The requested columns that have content, as many as fit in a table. The name comes first. */
function selectColumns(
  records: readonly Preregistration[],
  keys: readonly string[],
): { readonly columns: readonly string[]; readonly omitted: readonly string[] } {
  const [name, ...others] = DEFAULT_COLUMNS;
  const wantedColumns = [...new Set([name, ...keys, ...others])].filter(
    (column) => keys.includes(column) || records.some((record) => formatCell(record, column) !== ''),
  );
  let remainingLength = LIMITS.tableText - 200;
  const columns: string[] = [];
  for (const column of wantedColumns) {
    const length = records.reduce((sum, record) => sum + formatCell(record, column).length + 1, 0);
    if (columns.length > 0 && (length > remainingLength || columns.length >= MAX_COLUMNS)) continue;
    remainingLength -= length;
    columns.push(column);
  }
  return { columns, omitted: wantedColumns.filter((column) => !columns.includes(column)) };
}

/** For search criteria other than the name, within a sentence. */
const FILTER_TEXTS: Readonly<Record<string, string>> = {
  'prereg_config.confirmation_start': 'confirmation start',
  'prereg_config.confirmation_end': 'confirmation end',
  'prereg_config.period_start': 'phase start',
  'prereg_config.period_end': 'phase end',
  id: 'ID',
};

function formatQuery({ filters: { sld, tld, subtld, ...others } }: PreregQuery): string {
  const fullTld = subtld ?? tld;
  const name =
    sld === undefined
      ? fullTld === undefined
        ? ''
        : ` in .${fullTld}`
      : fullTld === undefined
        ? ` for the name ${sld}`
        : ` for ${sld}.${fullTld}`;
  const filterTexts = Object.entries(others).map(
    ([key, value]) => `${FILTER_TEXTS[key] ?? key} ${momentCell(value ?? '')}`,
  );
  return `${name}${filterTexts.length === 0 ? '' : ` with ${filterTexts.join(', ')}`}`;
}

function describeFilter({ filters }: PreregQuery, usedInterface: Interface): string {
  const source = `Searched through the service’s ${usedInterface === 'json' ? 'JSON' : 'XML'} interface`;
  if (Object.keys(filters).length === 0) return `${source}, without a filter.`;
  return usedInterface === 'json'
    ? `${source} for exact matches (EQUAL).`
    : `${source} with “like”. The documentation doesn’t say how “like” compares values or which wildcards it supports.${Object.keys(filters).length > 1 ? ' Its examples have only one filter. I sent several and assume that all of them must match.' : ''}`;
}

function pageButtons(query: PreregQuery, { records, summary }: Preregistrations) {
  const { offset, limit } = query;
  const buildValue = (newOffset: number) =>
    JSON.stringify({ ...query, offset: newOffset } satisfies PreregQuery);
  const nextOffset = offset + records.length;
  const hasMore =
    summary === undefined ? records.length === limit : records.length > 0 && nextOffset < summary;
  const previousOffset = Math.max(0, offset - limit);
  return dropMissing([
    offset > 0 && button('prereg_previous', 'Previous', buildValue(previousOffset)),
    hasMore && button('prereg_next', 'Next', buildValue(nextOffset)),
  ]);
}

/** A button if there is one record, or a menu if there are several. Records are looked up by name. */
function recordMenu(records: readonly Preregistration[]): AnyBlock[] {
  const names = [...new Set(records.map(({ name }) => formatData(name)))].filter(
    (name) => name !== '' && name.length <= LIMITS.optionValue,
  );
  const [only, second] = names;
  if (only === undefined) return [];
  if (second === undefined) {
    return actions('prereg_records', [
      button('prereg_open', 'Show full record', only, { label: `Show full record: ${only}` }),
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
      `*${escapeText(formatDomainName(name))}*${records.length > 1 ? `: ${count(records.length, 'record')}` : ''}`,
    ),
    ...shownRecords.flatMap((record, index) => [
      ...(index === 0 ? [] : [divider]),
      ...recordBlocks(record, now),
    ]),
    ...(records.length > shownRecords.length
      ? [
          context(
            `${count(records.length - shownRecords.length, 'more record')} not shown. Ask the domain service for the rest.`,
          ),
        ]
      : []),
  ];
}

function recordBlocks(record: Preregistration, now: Date) {
  const columns = [...DEFAULT_COLUMNS, 'ownerc', 'zonec', ...PREREG_KEYS].filter(
    (column) => column !== 'name' && column !== 'confirmation' && column !== 'phase_period',
  );
  const phases = dropMissing([
    phaseLine('Confirmation', record, 'confirmation', now),
    phaseLine('Phase period', record, 'period', now),
  ]);
  const shownKeys = new Set(['name', 'nameServers', 'preregConfig', ...columns.flatMap(listSpellings)]);
  const otherFields = Object.fromEntries(Object.entries(record).filter(([key]) => !shownKeys.has(key)));
  const pairs = [
    ...columns.map((column) => [LABELS[column] ?? column, formatCell(record, column)] as const),
    ...OBJECT_FIELDS.flatMap(({ label, name, shownMembers }) =>
      listAnswerFields(record[name])
        .filter(([member]) => !shownMembers.test(member))
        .map(([member, value]) => [member === '' ? label : `${label}: ${member}`, value] as const),
    ),
    ...listAnswerFields(otherFields),
  ].filter(([, value]) => value !== '');
  return dropMissing([
    phases.length > 0 && section(...phases),
    ...sectionFields(pairs.map(([label, value]) => [escapeText(label), quote(value, 1_000)] as const)),
  ]);
}

/** For example, `Confirmation: from … until … (ends in 3 days)`. */
function phaseLine(label: string, record: Preregistration, phase: Phase, now: Date): string | undefined {
  const span = findPhase(record, phase);
  if (span === undefined) return undefined;
  const { start, end } = span;
  const formatTime = (time: string | undefined) =>
    time === undefined ? 'an unknown time' : quote(momentCell(time));
  return `*${label}*: from ${formatTime(start)} until ${formatTime(end)}${formatEnd(end, now)}`;
}

/** The number of days until the end. Hours aren't shown, because the time zone in XML isn't documented. */
function formatEnd(end: string | undefined, now: Date): string {
  const endMs =
    end === undefined
      ? Number.NaN
      : Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(end) ? end : `${end.replace(' ', 'T')}Z`);
  if (Number.isNaN(endMs)) return '';
  const days = Math.floor((endMs - now.getTime()) / DAY_MS);
  if (days < 0) return ' (ended)';
  return days === 0 ? ' (ends within a day)' : ` (ends in ${count(days, 'day')})`;
}

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** Formats undocumented data as values with their names. */
function formatData(value: unknown): string {
  if (!hasValue(value)) return '';
  if (typeof value !== 'object') return String(value);
  return listAnswerFields(value)
    .map(([name, inner]) => (/^(?:user|context|id|\d+)?$/.test(name) ? inner : `${name}: ${inner}`))
    .join(', ');
}

export function searchErrorMessage(error: ServiceError): Message {
  return textMessage(failureText(error));
}

function failureText(error: ServiceError): string {
  const answer = [error.code, error.text].filter((part) => part !== undefined && part !== '').join(' ');
  const transaction = error.stid === undefined ? '' : ` (server transaction ${code(error.stid)})`;
  const quotedAnswer = answer === '' ? transaction : ` It says: ${quote(answer, 500)}${transaction}`;
  switch (error.kind) {
    case 'auth':
      return `The service refused your linked account. Link it again with \`/domain link\`, then search again.${quotedAnswer}`;
    case 'refused':
      return `The service refused this search.${quotedAnswer}`;
    case 'busy':
      return `The service is busy. Wait a minute, then search again.${quotedAnswer}`;
    case 'token_used':
      return `The current one-time token is already used. Search again in ${count(Math.ceil((error.retryAfterMs ?? 0) / 1_000), 'second')}.`;
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

/** Search features that only one interface documents. */
export type SearchConstraint =
  | { readonly code: 'equal' | 'like' | 'order' }
  | { readonly code: 'key'; readonly key: string };

export function constraintText(constraint: SearchConstraint): string {
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

export const equalAndXmlText = (xml: SearchConstraint) =>
  `EQUAL needs the JSON interface, and ${constraintText(xml)} needs XML. Choose “like”, or leave the other out.`;
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
