import { domainToASCII, domainToUnicode } from 'node:url';
import { type DateOrder, parseWhoisDate } from './date.ts';
import {
  CREATION_LABELS,
  EXPIRED_LABEL,
  EXPIRY_LABELS,
  findWhoisZoneFormat,
  NAME_LABELS,
  REGISTRAR_LABELS,
  REGISTRY_EXPIRY_LABELS,
  type WhoisZoneFormat,
} from './zones.ts';

export type WhoisDate =
  | { readonly kind: 'read'; readonly date: Date }
  | { readonly kind: 'unreadable'; readonly text: string };

export interface WhoisRecord {
  /** Undefined if the registry publishes no date. */
  readonly expiry: WhoisDate | undefined;
  readonly creationDate: Date | undefined;
  readonly registrar: string | undefined;
}

export type ParsedWhoisResponse =
  | ({ readonly kind: 'record' } & WhoisRecord)
  | { readonly kind: 'not_found' | 'limited' | 'name_mismatch' | 'not_whois' };

interface Line {
  readonly label: string;
  readonly value: string;
  /** The order of day and month, if the label gives it. */
  readonly dateOrder: DateOrder | undefined;
  /** Whether no separator follows the label. */
  readonly isUnseparated: boolean;
}

const COMMENT_LINE = /^(?:[%#;>]|\*(?!\*)|--|<<<)/;
/** Matches never span lines, so that matching takes linear time. */
const RATE_LIMITED_LINE =
  /^(?:[^\w\n\r\u2028\u2029]|error|whois|query|queries|request|lookup|rate|daily|hourly|connection|your|the|has|is|been|you|have|ip|address|\d)*(?:limit|quota)s?(?: (?:is|was|has been))? (?:exceeded|reached)\b|^[^\w\n\r\u2028\u2029]*(?:you have )?exceeded (?:your|the|maximum)\b|^[^\w\n\r\u2028\u2029]*too many (?:requests|queries|connections)\b/im;
const RATE_LIMITED_TEXT =
  /limit exceeded|quota exceeded|exceeded .{0,60}(?:limit|quota|rate|queries|requests)|too many (?:requests|queries)|rate.?limit|blacklisted|access denied|try again later/i;
const NOT_FOUND_TEXT =
  /no match\b|not found|no entries found|no data found|no object found|nothing found|not registered|is available|is free\b|no such domain|status:\s*(?:available|free)\b|does not exist|no information available/i;
const HIDDEN_VALUE =
  /^(?:-+|n\/?a|none|null|not (?:shown|published|available|applicable).*|redacted.*|hidden.*)$/i;
const MAX_SHOWN_LENGTH = 80;

/** @param name in ASCII. */
export function parseWhoisResponse(text: string, name: string, now: Date): ParsedWhoisResponse {
  const lines = parseLines(text);
  if (RATE_LIMITED_LINE.test(text) || lines.some(({ value }) => RATE_LIMITED_LINE.test(value)))
    return { kind: 'limited' };
  const zoneFormat = findWhoisZoneFormat(name);
  const ownLines = dropOtherRecords(lines, name);
  const record = buildRecord(ownLines ?? [], zoneFormat, now);
  const isEmpty = (record.expiry ?? record.creationDate ?? record.registrar) === undefined;
  if (isEmpty && RATE_LIMITED_TEXT.test(text)) return { kind: 'limited' };
  if (isEmpty && NOT_FOUND_TEXT.test(text)) return { kind: 'not_found' };
  if (ownLines !== undefined && mentionsName(text, name)) return { kind: 'record', ...record };
  return { kind: isEmpty && ownLines !== undefined ? 'not_whois' : 'name_mismatch' };
}

function buildRecord(lines: readonly Line[], zoneFormat: WhoisZoneFormat, now: Date): WhoisRecord {
  const creationDate = lines
    .filter(({ label }) => CREATION_LABELS.has(label))
    // Brazil's registry appends a ticket number.
    .map(({ value, dateOrder }) => parseWhoisDate(value.replace(/ #\d+$/, ''), zoneFormat, dateOrder))
    .find((date) => date !== undefined);
  const registrar = lines.find(
    ({ label, value }) => REGISTRAR_LABELS.has(label) && !HIDDEN_VALUE.test(value),
  );
  return {
    expiry: findExpiry(lines, zoneFormat, now, creationDate),
    creationDate,
    registrar: registrar && shorten(registrar.value.replace(/ \[Tag = [^[\]]+\]$/, '')),
  };
}

function findExpiry(
  lines: readonly Line[],
  zoneFormat: WhoisZoneFormat,
  now: Date,
  creationDate: Date | undefined,
): WhoisDate | undefined {
  const dates = lines.flatMap((line) => {
    const text = findExpiryText(line, zoneFormat);
    if (text === undefined || HIDDEN_VALUE.test(text)) return [];
    const date = parseWhoisDate(text, zoneFormat, line.dateOrder);
    // `Expired:` is the expiry only if the date is in the future.
    if (line.label === EXPIRED_LABEL && (date === undefined || date <= now)) return [];
    if (line.isUnseparated && date === undefined && !/^\W*\d/.test(text)) return [];
    const isPossible = date !== undefined && (creationDate === undefined || date >= creationDate);
    return [{ label: line.label, text, date: isPossible ? date : undefined }];
  });
  const registryDates = dates.filter(({ label }) => REGISTRY_EXPIRY_LABELS.has(label));
  const candidates = registryDates.length > 0 ? registryDates : dates;
  const [earliest] = candidates.flatMap(({ date }) => date ?? []).sort((a, b) => a.getTime() - b.getTime());
  if (earliest !== undefined) return { kind: 'read', date: earliest };
  const [unreadable] = candidates;
  return unreadable && { kind: 'unreadable', text: shorten(unreadable.text) };
}

function findExpiryText(
  { label, value }: Line,
  { expiryLabels, embeddedExpiry }: WhoisZoneFormat,
): string | undefined {
  if (embeddedExpiry?.label === label) return embeddedExpiry.pattern.exec(value)?.[1];
  return EXPIRY_LABELS.has(label) || label === EXPIRED_LABEL || expiryLabels?.includes(label) === true
    ? value
    : undefined;
}

/**
 * @returns the lines about this name; undefined if the response has only records of other names
 */
function dropOtherRecords(lines: readonly Line[], name: string): readonly Line[] | undefined {
  let isOwn = true;
  let hasOtherName = false;
  let hasOwnName = false;
  const ownLines: Line[] = [];
  for (const line of lines) {
    const statedName = NAME_LABELS.has(line.label) ? readName(line.value) : undefined;
    if (statedName !== undefined) {
      isOwn = statedName === name;
      hasOwnName ||= isOwn;
      hasOtherName ||= !isOwn;
    }
    if (isOwn) ownLines.push(line);
  }
  return hasOtherName && !hasOwnName ? undefined : ownLines;
}

function readName(value: string): string | undefined {
  const [firstWord = ''] = value.toLowerCase().split(/[\s(]/);
  const host = firstWord.replace(/\.$/, '');
  return host.includes('.') ? domainToASCII(host) || host : undefined;
}

function mentionsName(text: string, name: string): boolean {
  const words = new Set(text.toLowerCase().split(/[\s"'<>()[\]:,;]+/));
  return [name, domainToUnicode(name)].some((form) => words.has(form) || words.has(`${form}.`));
}

function parseLines(text: string): readonly Line[] {
  const lines: Line[] = [];
  let pendingLabel: Omit<Line, 'value' | 'isUnseparated'> | undefined;
  for (const rawLine of text.split(/\r\n?|\n/)) {
    const lineText = rawLine.trim();
    if (COMMENT_LINE.test(lineText)) continue;
    const line = parseLine(lineText);
    // The value may be on the next line.
    if (line === undefined && pendingLabel !== undefined && lineText !== '')
      lines.push({ ...pendingLabel, value: lineText, isUnseparated: false });
    pendingLabel = undefined;
    if (line === undefined) continue;
    if (line.value === '') pendingLabel = line;
    else lines.push(line);
  }
  return lines;
}

/** For example `a. [Domain Name]   value`. */
const BRACKETED = /^(?:[a-z]\.? +)?\[(?<label>[^[\]]{1,60})\]\s*(?<value>.*)$/i;
/** For example `label......: value`. */
const SEPARATED = /^(?:\*\* *)?(?<label>[^:\t]{1,80}?)[\s.]*[:\t][\s.]*(?<value>.*)$/;
const UNSEPARATED =
  /^(?<label>record (?:expires|created)(?: on)?|expires +on|valid-date|domain (?:expires|registered))[ .]+(?<value>(?!on\b)[^\s.:].*)$/i;

function parseLine(text: string): Line | undefined {
  const unseparated = UNSEPARATED.exec(text)?.groups;
  if (unseparated !== undefined) return toLine(unseparated, true);
  const parts = (BRACKETED.exec(text) ?? SEPARATED.exec(text))?.groups;
  return parts && toLine(parts, false);
}

function toLine(
  { label = '', value = '' }: Record<string, string | undefined>,
  isUnseparated: boolean,
): Line {
  return {
    label: normalizeLabel(label),
    value: value.trim(),
    dateOrder: readDateOrder(label),
    isUnseparated,
  };
}

const DAY_FIRST_HINT = /\((?:dd|jj)[-./]mm[-./](?:yyyy|aaaa)\)/i;
const MONTH_FIRST_HINT = /\(mm[-./](?:dd|jj)[-./](?:yyyy|aaaa)\)/i;

function readDateOrder(label: string): DateOrder | undefined {
  if (DAY_FIRST_HINT.test(label)) return 'day_first';
  return MONTH_FIRST_HINT.test(label) ? 'month_first' : undefined;
}

function normalizeLabel(label: string): string {
  return label
    .toLowerCase()
    .normalize('NFC')
    .replace(/\([^()]*\)/g, '')
    .replace(/[\s_.-]+/g, ' ')
    .trim();
}

function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
