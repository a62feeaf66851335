import type { SectionBlock } from '@slack/types';
import type { StatedObject, StatedValue, Statement, StatementItem } from '../../orders/statement-shape.ts';
import { taskNamed } from '../../orders/tasks.ts';
import { displayName } from '../../zones/names.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import { type AnyBlock, count, escapeText, section, visibleText, wholeLines } from '../kit/blocks.ts';

/*
 * What an order sends, as people read it: every value of its statement, exactly, under the name that people know it by. All that
 * is shown of an order's content comes from here.
 */

/** The names of fields, by the names that lead to them. A field that is not listed is shown under its own name. */
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
  confirmOrder: 'Order confirmed',
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
  email: 'E-mail',
  user: 'User',
  context: 'User’s context',
  defaultEmail: 'E-mail',
  default_mail: 'E-mail',
  password: 'Password',
  language: 'Language',
  status: 'Status',
  substatus: 'Substatus',
  user_mail_key: 'Mail key',
  'parent.user': 'Superior user',
  'parent.context': 'Superior user’s context',
  'parent.defaultEmail': 'Superior user’s email',
  'parent.status': 'Superior user’s status',
  'parent.substatus': 'Superior user’s substatus',
  'parent.authType': 'Superior user’s sign-in',
  'parent.lock': 'Superior user’s lock',
  'owner.user': 'Superior user',
  'owner.context': 'Superior user’s context',
  max_price: 'A name and year',
  max_total: 'In all',
  span: 'Per',
  until: 'Until',
  notice: 'Renews',
};

/** Fields that hold the item's name, which stands above them. */
const NAME_FIELDS: ReadonlySet<string> = new Set(['name', 'source', 'id', 'user']);

/** A value, and the names that lead to it; places in lists have none. */
type Leaf = readonly [path: string, value: string | number | boolean | { readonly secret: string }];

function leavesIn(value: StatedValue, path = ''): Leaf[] {
  if (typeof value !== 'object') return [[path, value]];
  if (isList(value)) return value.flatMap((each) => leavesIn(each, path));
  const { secret, ...others } = value;
  if (typeof secret === 'string' && Object.keys(others).length === 0) return [[path, { secret }]];
  return Object.entries(value).flatMap(([field, inner]) =>
    leavesIn(inner, path === '' ? field : `${path}.${field}`),
  );
}

function isList(value: readonly StatedValue[] | StatedObject): value is readonly StatedValue[] {
  return Array.isArray(value);
}

/** The values of a request. Over XML they stand in one element, whose name is that of the task. */
function leavesOf({ request }: StatementItem): Leaf[] {
  if (request.interface === 'none') return leavesIn(request.terms);
  if (request.interface === 'json') return request.body === undefined ? [] : leavesIn(request.body);
  return Object.entries(request.element).flatMap(([name, value]) =>
    leavesIn(value, typeof value === 'object' && !isList(value) ? '' : name),
  );
}

/** Text in which a character that cannot be seen, or that turns the direction of others, is shown by its number. Plain text. */
function seenText(text: string): string {
  return text.replace(
    /[\p{Cf}\p{Cc}]/gu,
    (character) => `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** Foreign text as mrkdwn that shows every character of it: nothing turns into an emoji or a quotation. */
function exactText(text: string): string {
  return escapeText(seenText(text))
    .replace(/:(?=[\w'+-]+:)/g, ':\u2060')
    .replace(/^&gt;/, '\u2060&gt;');
}

/** A field of a request, with its values in plain text. */
interface StatedField {
  /** The names that lead to it on the wire. */
  readonly path: string;
  readonly label: string;
  readonly values: readonly string[];
}

/**
 * What one request asks for besides its name.
 * @param given takes the place of a secret
 */
export function statedFields(item: StatementItem, given = 'given, stored encrypted'): readonly StatedField[] {
  const found = new Map<string, string[]>();
  for (const [path, value] of leavesOf(item)) {
    if (NAME_FIELDS.has(path) && String(value) === item.name) continue;
    found.set(path, [...(found.get(path) ?? []), typeof value === 'object' ? given : String(value)]);
  }
  return [...found].map(([path, values]) => ({ path, label: LABELS[path] ?? path, values }));
}

/** The same as labels and values in mrkdwn, several values on a line each. */
function itemFacts(item: StatementItem): (readonly [string, string])[] {
  return readableFields(item).map((field) => [
    exactText(field.label),
    field.values.map(exactText).join('\n'),
  ]);
}

/** Values that people read otherwise than they stand in a statement, by the names that lead to them. */
const WORDS: Readonly<Record<string, (value: string) => string>> = {
  period: (years) => count(Number(years), 'year'),
  span: (span) => `calendar ${span}`,
  until: (day) => formatDay(day),
  notice: (days) => `${days} days before expiry`,
};

/** The fields of a request with their values as people read them. */
export function readableFields(item: StatementItem): readonly StatedField[] {
  return statedFields(item).map((field) => ({
    ...field,
    values: field.values.map((value) => WORDS[field.path]?.(value) ?? value),
  }));
}

const UNREADABLE = 'This can’t be shown, because it no longer matches the request. It won’t be sent.';

/** What the request of an order asks for; of several, what they all ask for alike. */
export function commonFacts(statement: Statement | undefined): (readonly [string, string])[] {
  if (statement === undefined) return [['What will be sent', UNREADABLE]];
  const { task, items } = statement;
  const [first, ...others] = items.map(itemFacts);
  const common = (first ?? []).filter(([label, value]) =>
    others.every((facts) => facts.some((fact) => fact[0] === label && fact[1] === value)),
  );
  const isMade =
    taskNamed(task).secretField === 'password' && !common.some(([label]) => label === LABELS['password']);
  return isMade ? [...common, ['Password', 'generated by the service']] : common;
}

/** Whether the requests go over the XML interface. */
export function isOverXml(statement: Pick<Statement, 'items'> | undefined): boolean {
  return statement?.items.some(({ request }) => request.interface === 'xml') ?? false;
}

/** The name of a request as people read it; a name with other letters in both forms. Plain text. */
function statedName({ task }: Statement, { name }: StatementItem): string {
  return taskNamed(task).zoneTask !== undefined ? displayName(name) : name;
}

/** The names of an order and what is asked for all of them alike, in mrkdwn: for a place among other orders. */
export function briefText(statement: Statement): string {
  const { items } = statement;
  const names = items.map((item) => exactText(statedName(statement, item))).join(', ');
  return [
    ...(items.length === 1 ? [] : [`Names: ${names}`]),
    ...commonFacts(statement).map(([label, value]) => `${label}: ${value.replaceAll('\n', ', ')}`),
  ].join(' · ');
}

/** Whether some blocks show, uncut, every name of a statement and all that is asked for it. */
export function showWhole(blocks: readonly AnyBlock[], statement: Statement | undefined): boolean {
  if (statement === undefined) return false;
  const shown = visibleText(blocks);
  return statement.items.every((item) => {
    const name = statedName(statement, item);
    return (
      (shown.includes(name) || shown.includes(escapeText(name))) &&
      itemFacts(item).every(([, value]) => value.split('\n').every((line) => shown.includes(line)))
    );
  });
}

/** One request, whole. */
function itemText(statement: Statement, item: StatementItem): string {
  return [
    `*${item.n}. ${exactText(statedName(statement, item))}*`,
    ...itemFacts(item).map(([label, value]) => `*${label}*: ${value}`),
    ...leavesOf(item).flatMap(([, value]) => (typeof value === 'object' ? [exactText(value.secret)] : [])),
    `${addressText(item)} · ${exactText(item.ctid)}`,
  ].join('\n');
}

/** Where a request goes: its route, or its task code over XML. */
function addressText({ request }: StatementItem): string {
  if (request.interface === 'none') return 'Nothing will be sent for it';
  if (request.interface === 'xml') return `Task ${exactText(request.code)}`;
  const query = request.query?.map(([name, value]) => `${name}=${value}`) ?? [];
  return exactText([`${request.method} ${request.path}`, ...query].join(' '));
}

const METHODS: Readonly<Record<string, string>> = {
  password: 'password',
  trusted_application: 'trusted application',
  two_factor: 'two-factor',
};

/** What holds for all requests of a statement. */
function headText({ account, service, replyTo, ...statement }: Statement): string {
  const { method, login, context, team } = account;
  return [
    `*Account*: ${exactText(login)} (${METHODS[method] ?? exactText(method)})${team ? ', the team’s account' : ''}`,
    `*Context*: ${context ?? 'the application’s own'}`,
    `*Service*: ${exactText(service)}, ${isOverXml(statement) ? 'XML' : 'JSON'} interface`,
    ...(replyTo === undefined ? [] : [`*The service replies to*: ${exactText(replyTo)}`]),
  ].join('\n');
}

/** Text of one page: what a person reads at once, far below what Slack takes. */
const PAGE_LENGTH = 12_000;

/**
 * The whole statement in pages, each as blocks.
 * @param also what stands behind it, in mrkdwn
 */
export function statementPages(
  statement: Statement | undefined,
  also: readonly string[],
): readonly (readonly SectionBlock[])[] {
  if (statement === undefined) return [[section(UNREADABLE)]];
  const pages: SectionBlock[][] = [];
  let room = 0;
  for (const block of wholeLines([
    headText(statement),
    ...statement.items.map((item) => itemText(statement, item)),
    ...also,
  ])) {
    const length = block.text?.text.length ?? 0;
    if (room < length) {
      pages.push([]);
      room = PAGE_LENGTH;
    }
    pages.at(-1)?.push(block);
    room -= length;
  }
  return pages;
}
