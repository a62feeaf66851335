import type { SectionBlock } from '@slack/types';
import { findUpcomingSendTime, isReopened, type Order } from '../../orders/order.ts';
import type {
  Statement,
  StatementItem,
  StatementObject,
  StatementValue,
} from '../../orders/statement-shape.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  type AnyBlock,
  escapeText,
  formatCount,
  formatLocalTime,
  getVisibleText,
  section,
  untruncatedSections,
} from '../kit/blocks.ts';
import { formatItemName } from './order.view.ts';

/*
 * The statement of an order: every value exactly as it is sent, with its label. All views use this code to show what an
 * order sends.
 */

/** The keys are paths. A field that isn't listed is labeled with its path. */
const FIELD_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  source: 'Source',
  id: 'Contact',
  period: 'Period',
  'ownerc.id': 'Owner contact',
  'adminc.id': 'Admin contact',
  'techc.id': 'Tech contact',
  'nameServers.name': 'Nameservers',
  auth: 'Auth code',
  confirmOrder: 'Sent as confirmed',
  target: 'Target',
  type: 'Type',
  mode: 'Mode',
  title: 'Title',
  backup: 'Backup target',
  fname: 'First name',
  lname: 'Last name',
  organization: 'Organization',
  address: 'Address',
  pcode: 'Postal code',
  postal_code: 'Postal code',
  city: 'City',
  country: 'Country',
  state: 'State',
  phone: 'Phone',
  fax: 'Fax',
  email: 'Email',
  user: 'User',
  context: 'User’s context',
  defaultEmail: 'Email',
  default_mail: 'Email',
  password: 'Password',
  language: 'Language',
  status: 'Status',
  substatus: 'Substatus',
  user_mail_key: 'Mail key',
  'parent.user': 'Parent user',
  'parent.context': 'Parent user’s context',
  'parent.defaultEmail': 'Parent user’s email',
  'parent.status': 'Parent user’s status',
  'parent.substatus': 'Parent user’s substatus',
  'parent.authType': 'Parent user’s sign-in',
  'parent.lock': 'Parent user’s lock',
  'owner.user': 'Parent user',
  'owner.context': 'Parent user’s context',
  max_price: 'Max per name/year',
  max_total: 'Max total',
  span: 'Per',
  until: 'Until',
  notice: 'Renews',
};

/** Fields that may contain the name of the item, which is shown above them. */
const NAME_FIELDS: ReadonlySet<string> = new Set(['name', 'source', 'id', 'user']);

/** A value and its path. Positions in a list aren't part of the path. */
type Leaf = readonly [path: string, value: string | number | boolean | { readonly secret: string }];

function listLeaves(value: StatementValue, path = ''): Leaf[] {
  if (typeof value !== 'object') return [[path, value]];
  if (isList(value)) return value.flatMap((element) => listLeaves(element, path));
  const { secret, ...others } = value;
  if (typeof secret === 'string' && Object.keys(others).length === 0) return [[path, { secret }]];
  return Object.entries(value).flatMap(([field, inner]) =>
    listLeaves(inner, path === '' ? field : `${path}.${field}`),
  );
}

function isList(value: readonly StatementValue[] | StatementObject): value is readonly StatementValue[] {
  return Array.isArray(value);
}

/** In XML, the values are inside an element that is named after the task. */
function listRequestLeaves({ request }: StatementItem): Leaf[] {
  if (request.interface === 'none') return listLeaves(request.terms);
  if (request.interface === 'json') return request.body === undefined ? [] : listLeaves(request.body);
  return Object.entries(request.element).flatMap(([name, value]) =>
    listLeaves(value, typeof value === 'object' && !isList(value) ? '' : name),
  );
}

/** Shows the code points of invisible characters and bidi controls. Plain text. */
function revealInvisibleCharacters(text: string): string {
  return text.replace(
    /[\p{Cf}\p{Cc}]/gu,
    (character) => `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** Escapes untrusted text so that every character is visible and nothing becomes an emoji or a quote. */
function escapeUntrustedText(text: string): string {
  return escapeText(revealInvisibleCharacters(text))
    .replace(/:(?=[\w'+-]+:)/g, ':\u2060')
    .replace(/^&gt;/, '\u2060&gt;');
}

interface StatementField {
  readonly path: string;
  readonly label: string;
  readonly values: readonly string[];
}

/**
 * The fields of a request, except its name.
 * @param secretText shown instead of a secret
 */
export function listStatementFields(
  item: StatementItem,
  secretText = 'provided, stored encrypted',
): readonly StatementField[] {
  const valuesByPath = new Map<string, string[]>();
  for (const [path, value] of listRequestLeaves(item)) {
    if (NAME_FIELDS.has(path) && String(value) === item.name) continue;
    const text = typeof value === 'object' ? secretText : String(value);
    valuesByPath.set(path, [...(valuesByPath.get(path) ?? []), text]);
  }
  return [...valuesByPath].map(([path, values]) => ({ path, label: FIELD_LABELS[path] ?? path, values }));
}

/** Labels and their mrkdwn, with one value per line. */
function formatItemFields(item: StatementItem): (readonly [string, string])[] {
  return listReadableFields(item).map((field) => [
    escapeUntrustedText(field.label),
    field.values.map(escapeUntrustedText).join('\n'),
  ]);
}

/** The keys are paths. Other values are shown as they are sent. */
const VALUE_FORMATTERS: Readonly<Record<string, (value: string) => string>> = {
  period: (years) => formatCount(Number(years), 'year'),
  confirmOrder: (isConfirmed) => (isConfirmed === 'true' ? 'yes' : 'no'),
  until: (day) => formatDay(day),
  notice: (days) => `${days} days early`,
};

export function listReadableFields(item: StatementItem): readonly StatementField[] {
  const fields = listStatementFields(item).map((field) => ({
    ...field,
    values: field.values.map((value) => VALUE_FORMATTERS[field.path]?.(value) ?? value),
  }));
  return mergeTotalAndSpan(fields);
}

/** `Max total: 54.00 EUR per calendar year`. */
function mergeTotalAndSpan(fields: readonly StatementField[]): readonly StatementField[] {
  const span = fields.find(({ path }) => path === 'span')?.values.join();
  if (span === undefined) return fields;
  return fields
    .filter(({ path }) => path !== 'span')
    .map((field) =>
      field.path === 'max_total'
        ? { ...field, values: field.values.map((total) => `${total} per calendar ${span}`) }
        : field,
    );
}

const UNREADABLE_TEXT = 'This can’t be shown, because it no longer matches the request. It won’t be sent.';

/** For example, `Will be sent Sun 6 Dec, 02:00`. */
export function sendTimeText(sendTime: Date): string {
  return `Will be sent ${formatLocalTime(sendTime)}`;
}

const formatSendTime = ({ notBefore }: Pick<Statement, 'notBefore'>) =>
  notBefore && formatLocalTime(new Date(notBefore));

function sendTimeFields(
  statement: Pick<Statement, 'notBefore'>,
  order: Order,
): (readonly [string, string])[] {
  const time = formatSendTime(statement);
  if (time === undefined) return [];
  if (isReopened(order)) return [['Will be sent', `right after approval (was scheduled for ${time})`]];
  return [[findUpcomingSendTime(order) === undefined ? 'Scheduled for' : 'Will be sent', time]];
}

/** The fields of the request. If there are several requests, only the fields that are the same in all of them. */
export function commonFields(statement: Statement | undefined, order: Order): (readonly [string, string])[] {
  if (statement === undefined) return [['What will be sent', UNREADABLE_TEXT]];
  const { task, items } = statement;
  const [first, ...others] = items.map(formatItemFields);
  const sharedFields = (first ?? []).filter(([label, value]) =>
    others.every((otherFields) => otherFields.some((other) => other[0] === label && other[1] === value)),
  );
  const fields = [...sendTimeFields(statement, order), ...sharedFields];
  const isPasswordGenerated =
    getOrderTask(task).secretField === 'password' &&
    !fields.some(([label]) => label === FIELD_LABELS['password']);
  return isPasswordGenerated ? [...fields, ['Password', 'generated by the service']] : fields;
}

export function isSentOverXml(statement: Pick<Statement, 'items'> | undefined): boolean {
  return statement?.items.some(({ request }) => request.interface === 'xml') ?? false;
}

/** The names and the common fields as a single line of mrkdwn. */
export function briefStatementText(statement: Statement, order: Order): string {
  const { items } = statement;
  const names = items.map((item) => escapeUntrustedText(formatItemName(statement, item.name))).join(', ');
  return [
    ...(items.length === 1 ? [] : [`Names: ${names}`]),
    ...commonFields(statement, order).map(([label, value]) => `${label}: ${value.replaceAll('\n', ', ')}`),
  ].join(' · ');
}

/** Whether blocks show every name and value of a statement without truncation. */
export function isStatementShown(blocks: readonly AnyBlock[], statement: Statement | undefined): boolean {
  if (statement === undefined) return false;
  const text = getVisibleText(blocks);
  if (!text.includes(formatSendTime(statement) ?? '')) return false;
  return statement.items.every((item) => {
    const name = formatItemName(statement, item.name);
    return (
      (text.includes(name) || text.includes(escapeText(name))) &&
      formatItemFields(item).every(([, value]) => value.split('\n').every((line) => text.includes(line)))
    );
  });
}

function statementItemText(statement: Statement, item: StatementItem): string {
  return [
    `*${item.n}. ${escapeUntrustedText(formatItemName(statement, item.name))}*`,
    ...formatItemFields(item).map(([label, value]) => `*${label}*: ${value}`),
    ...listRequestLeaves(item).flatMap(([, value]) =>
      typeof value === 'object' ? [escapeUntrustedText(value.secret)] : [],
    ),
    `${requestTargetText(item)} · ${escapeUntrustedText(item.ctid)}`,
  ].join('\n');
}

/** The method and path of a request, or its XML task code. */
function requestTargetText({ request }: StatementItem): string {
  if (request.interface === 'none') return 'Nothing will be sent';
  if (request.interface === 'xml') return `Task ${escapeUntrustedText(request.code)}`;
  const query = request.query?.map(([name, value]) => `${name}=${value}`) ?? [];
  return escapeUntrustedText([`${request.method} ${request.path}`, ...query].join(' '));
}

const SIGN_IN_METHOD_TEXTS: Readonly<Record<string, string>> = {
  password: 'signs in with a password',
  trusted_application: 'trusted application',
  two_factor: 'two-factor sign-in',
};

function headerText({ account, service, replyTo, ...statement }: Statement, order: Order): string {
  const { method, login, context, team } = account;
  return [
    `*Account*: ${escapeUntrustedText(login)} (${SIGN_IN_METHOD_TEXTS[method] ?? escapeUntrustedText(method)})${team ? ', the team’s account' : ''}`,
    `*Context*: ${context ?? 'the application’s own'}`,
    `*Service*: ${escapeUntrustedText(service)}, ${isSentOverXml(statement) ? 'XML' : 'JSON'} interface`,
    ...sendTimeFields(statement, order).map(([label, value]) => `*${label}*: ${value}`),
    ...(replyTo === undefined ? [] : [`*The service replies to*: ${escapeUntrustedText(replyTo)}`]),
  ].join('\n');
}

/** Readable on one page, and far below Slack's limit. */
const MAX_PAGE_LENGTH = 12_000;

/**
 * The whole statement, with one list of blocks per page.
 * @param appendix mrkdwn after the statement
 */
export function statementPages(
  statement: Statement | undefined,
  order: Order,
  appendix: readonly string[],
): readonly (readonly SectionBlock[])[] {
  if (statement === undefined) return [[section(UNREADABLE_TEXT)]];
  const pages: SectionBlock[][] = [];
  let remainingLength = 0;
  for (const block of untruncatedSections([
    headerText(statement, order),
    ...statement.items.map((item) => statementItemText(statement, item)),
    ...appendix,
  ])) {
    const length = block.text?.text.length ?? 0;
    if (remainingLength < length) {
      pages.push([]);
      remainingLength = MAX_PAGE_LENGTH;
    }
    pages.at(-1)?.push(block);
    remainingLength -= length;
  }
  return pages;
}
