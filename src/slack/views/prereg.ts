import type { Preregistration, Preregistrations } from '../../client/tasks/prereg.ts';
import { displayName } from '../../zones/names.ts';
import { actions, button, escapeText, type Message, message, section, table, truncate } from './kit.ts';

/** Data that a search adds to the records when asked to. Service API, section "Preregistration search". */
export const PREREG_KEYS = ['tmch_mark', 'extension', 'nsentry'] as const;
export type PreregKey = (typeof PREREG_KEYS)[number];

/** A search, and from which record on it is shown. */
export interface PreregQuery {
  readonly sld?: string;
  readonly tld?: string;
  readonly keys: readonly PreregKey[];
  readonly offset: number;
}

/** Under which names an interface may give the data. */
const KEY_NAMES: Readonly<Record<PreregKey, readonly string[]>> = {
  tmch_mark: ['tmch_mark', 'tmchMark'],
  extension: ['extension'],
  nsentry: ['nsentry'],
};

const KEY_LABELS: Readonly<Record<PreregKey, string>> = {
  tmch_mark: 'Trademark claim',
  extension: 'Extension',
  nsentry: 'Nameserver entries',
};

const CELL = 80;

/** One page of what a search found, with the buttons to the pages beside it. */
export function preregPage(query: PreregQuery, found: Preregistrations, pageLength: number): Message {
  const { records, summary } = found;
  const what = `preregistrations${inWords(query)}`;
  const buttons = actions('prereg', pageButtons(query, found, pageLength));
  if (records.length === 0) {
    const none = `There are no ${query.offset === 0 ? '' : 'more '}${escapeText(what)}.`;
    return message(none, [section(none), ...buttons]);
  }
  const from = query.offset + 1;
  const until = query.offset + records.length;
  const range = `${from}–${until}${summary === undefined ? '' : ` of ${summary}`}`;
  const title = `P${what.slice(1)}: ${range}`;
  return message(escapeText(title), [
    section(`*${escapeText(title)}*`),
    table({
      caption: title,
      columns: [
        'Name',
        'Status',
        'Phase',
        'Owner',
        'Created',
        'Order',
        ...query.keys.map((key) => KEY_LABELS[key]),
      ],
      rows: records.map((record) => rowOf(record, query.keys)),
      pageSize: pageLength,
    }),
    ...buttons,
  ]);
}

function inWords({ sld, tld }: PreregQuery): string {
  if (sld === undefined) return tld === undefined ? '' : ` in .${tld}`;
  return tld === undefined ? ` of the name ${sld}` : ` of ${sld}.${tld}`;
}

function pageButtons(query: PreregQuery, { records, summary }: Preregistrations, pageLength: number) {
  const { offset } = query;
  const at = (place: number) => JSON.stringify({ ...query, offset: place } satisfies PreregQuery);
  const next = offset + records.length;
  const more = summary === undefined ? records.length === pageLength : records.length > 0 && next < summary;
  const previous = Math.max(0, offset - pageLength);
  return [
    ...(offset > 0 ? [button({ actionId: 'prereg_previous', text: 'Previous', value: at(previous) })] : []),
    ...(more ? [button({ actionId: 'prereg_next', text: 'Next', value: at(next) })] : []),
  ];
}

function rowOf(record: Preregistration, keys: readonly PreregKey[]): string[] {
  const owner = [record.owner?.user, record.owner?.context].filter((part) => part !== undefined).join(', ');
  return [
    record.name === undefined ? '' : displayName(record.name),
    record.status ?? '',
    record.phase ?? '',
    owner,
    record.created?.slice(0, 10) ?? '',
    record.orderReference ?? '',
    ...keys.map((key) => dataInWords(KEY_NAMES[key].map((name) => record.more[name]).find(isGiven))),
  ].map((text) => truncate(text, CELL));
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** Data whose shape nothing documents: its values, with their names. */
function dataInWords(value: unknown): string {
  if (!isGiven(value)) return '';
  if (Array.isArray(value)) return value.map(dataInWords).filter(isGiven).join('; ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .filter(([, inner]) => isGiven(inner))
    .map(([name, inner]) => `${name}: ${dataInWords(inner)}`)
    .join(', ');
}
