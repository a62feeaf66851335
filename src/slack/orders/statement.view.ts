import type { SectionBlock } from '@slack/types';
import { findUpcomingTime, isReopened, type Order } from '../../orders/order.ts';
import type {
  Statement,
  StatementItem,
  StatementObject,
  StatementValue,
} from '../../orders/statement-shape.ts';
import { findTask } from '../../orders/tasks.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import {
  type AnyBlock,
  count,
  escapeText,
  formatLocalTime,
  section,
  visibleText,
  wholeLineSections,
} from '../kit/blocks.ts';
import { itemName } from './order.view.ts';

/*
 * The statement of an order: every value exactly as it is sent, with its label. All views show the content of an order
 * with this code.
 */

/** By path. A field that isn't listed is labeled with its path. */
const LABELS: Readonly<Record<string, string>> = {
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
function revealInvisible(text: string): string {
  return text.replace(
    /[\p{Cf}\p{Cc}]/gu,
    (character) => `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** Escapes untrusted text so that every character is visible and nothing becomes an emoji or a quote. */
function exactText(text: string): string {
  return escapeText(revealInvisible(text))
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
  return [...valuesByPath].map(([path, values]) => ({ path, label: LABELS[path] ?? path, values }));
}

/** Labels with mrkdwn values. If there are several values, one per line. */
function itemFields(item: StatementItem): (readonly [string, string])[] {
  return listReadableFields(item).map((field) => [
    exactText(field.label),
    field.values.map(exactText).join('\n'),
  ]);
}

/** Formats values for people, by path. */
const VALUE_FORMATS: Readonly<Record<string, (value: string) => string>> = {
  period: (years) => count(Number(years), 'year'),
  confirmOrder: (isConfirmed) => (isConfirmed === 'true' ? 'yes' : 'no'),
  until: (day) => formatDay(day),
  notice: (days) => `${days} days early`,
};

export function listReadableFields(item: StatementItem): readonly StatementField[] {
  const fields = listStatementFields(item).map((field) => ({
    ...field,
    values: field.values.map((value) => VALUE_FORMATS[field.path]?.(value) ?? value),
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

const UNREADABLE = 'This can’t be shown, because it no longer matches the request. It won’t be sent.';

/** For example, `Will be sent Sun 6 Dec, 02:00`. */
export function timeText(sendTime: Date): string {
  return `Will be sent ${formatLocalTime(sendTime)}`;
}

const formatSendTime = ({ notBefore }: Pick<Statement, 'notBefore'>) =>
  notBefore && formatLocalTime(new Date(notBefore));

function timeFields(statement: Pick<Statement, 'notBefore'>, order: Order): (readonly [string, string])[] {
  const time = formatSendTime(statement);
  if (time === undefined) return [];
  if (isReopened(order)) return [['Will be sent', `right after approval (was scheduled for ${time})`]];
  return [[findUpcomingTime(order) === undefined ? 'Scheduled for' : 'Will be sent', time]];
}

/** The fields of the request. If there are several requests, only the fields that are the same in all of them. */
export function commonFields(statement: Statement | undefined, order: Order): (readonly [string, string])[] {
  if (statement === undefined) return [['What will be sent', UNREADABLE]];
  const { task, items } = statement;
  const [first, ...others] = items.map(itemFields);
  const sharedFields = (first ?? []).filter(([label, value]) =>
    others.every((otherFields) => otherFields.some((other) => other[0] === label && other[1] === value)),
  );
  const fields = [...timeFields(statement, order), ...sharedFields];
  const isPasswordGenerated =
    findTask(task).secretField === 'password' && !fields.some(([label]) => label === LABELS['password']);
  return isPasswordGenerated ? [...fields, ['Password', 'generated by the service']] : fields;
}

export function isOverXml(statement: Pick<Statement, 'items'> | undefined): boolean {
  return statement?.items.some(({ request }) => request.interface === 'xml') ?? false;
}

/** The names and the common fields as a single line of mrkdwn. */
export function briefText(statement: Statement, order: Order): string {
  const { items } = statement;
  const names = items.map((item) => exactText(itemName(statement, item.name))).join(', ');
  return [
    ...(items.length === 1 ? [] : [`Names: ${names}`]),
    ...commonFields(statement, order).map(([label, value]) => `${label}: ${value.replaceAll('\n', ', ')}`),
  ].join(' · ');
}

/** Whether blocks show every name and value of a statement without truncation. */
export function isStatementShown(blocks: readonly AnyBlock[], statement: Statement | undefined): boolean {
  if (statement === undefined) return false;
  const text = visibleText(blocks);
  if (!text.includes(formatSendTime(statement) ?? '')) return false;
  return statement.items.every((item) => {
    const name = itemName(statement, item.name);
    return (
      (text.includes(name) || text.includes(escapeText(name))) &&
      itemFields(item).every(([, value]) => value.split('\n').every((line) => text.includes(line)))
    );
  });
}

function statementItemText(statement: Statement, item: StatementItem): string {
  return [
    `*${item.n}. ${exactText(itemName(statement, item.name))}*`,
    ...itemFields(item).map(([label, value]) => `*${label}*: ${value}`),
    ...listRequestLeaves(item).flatMap(([, value]) =>
      typeof value === 'object' ? [exactText(value.secret)] : [],
    ),
    `${addressText(item)} · ${exactText(item.ctid)}`,
  ].join('\n');
}

/** The route of a request, or its XML task code. */
function addressText({ request }: StatementItem): string {
  if (request.interface === 'none') return 'Nothing will be sent';
  if (request.interface === 'xml') return `Task ${exactText(request.code)}`;
  const query = request.query?.map(([name, value]) => `${name}=${value}`) ?? [];
  return exactText([`${request.method} ${request.path}`, ...query].join(' '));
}

const METHOD_TEXTS: Readonly<Record<string, string>> = {
  password: 'signs in with a password',
  trusted_application: 'trusted application',
  two_factor: 'two-factor sign-in',
};

function headText({ account, service, replyTo, ...statement }: Statement, order: Order): string {
  const { method, login, context, team } = account;
  return [
    `*Account*: ${exactText(login)} (${METHOD_TEXTS[method] ?? exactText(method)})${team ? ', the team’s account' : ''}`,
    `*Context*: ${context ?? 'the application’s own'}`,
    `*Service*: ${exactText(service)}, ${isOverXml(statement) ? 'XML' : 'JSON'} interface`,
    ...timeFields(statement, order).map(([label, value]) => `*${label}*: ${value}`),
    ...(replyTo === undefined ? [] : [`*The service replies to*: ${exactText(replyTo)}`]),
  ].join('\n');
}

/** Readable on one page, and far below Slack's limit. */
const PAGE_LENGTH = 12_000;

/**
 * The whole statement, with one list of blocks per page.
 * @param appendix mrkdwn after the statement
 */
export function statementPages(
  statement: Statement | undefined,
  order: Order,
  appendix: readonly string[],
): readonly (readonly SectionBlock[])[] {
  if (statement === undefined) return [[section(UNREADABLE)]];
  const pages: SectionBlock[][] = [];
  let remaining = 0;
  for (const block of wholeLineSections([
    headText(statement, order),
    ...statement.items.map((item) => statementItemText(statement, item)),
    ...appendix,
  ])) {
    const length = block.text?.text.length ?? 0;
    if (remaining < length) {
      pages.push([]);
      remaining = PAGE_LENGTH;
    }
    pages.at(-1)?.push(block);
    remaining -= length;
  }
  return pages;
}
