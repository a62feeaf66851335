import { accountName, isDemoContext } from '../../accounts/account.ts';
import {
  type ItemResult,
  type Order,
  type OrderItem,
  type OrderState,
  type OrderTaskName,
  stateInWords,
} from '../../orders/order.ts';
import { taskNamed } from '../../orders/tasks.ts';
import { displayName } from '../../zones/names.ts';
import {
  type AnyBlock,
  actions,
  button,
  code,
  context,
  count,
  escapeText,
  facts,
  header,
  type Message,
  mention,
  mentionApprover,
  moment,
  plain,
  quote,
  section,
  table,
} from './kit.ts';

/** The verb of a task, the same everywhere: `Renew cafe.rest`. */
const VERBS: Readonly<Record<OrderTaskName, string>> = {
  create: 'Register',
  transfer: 'Transfer',
  renew: 'Renew',
  restore: 'Restore',
  delete: 'Delete',
  nameservers: 'Change the nameservers of',
  authcode: 'Fetch the auth code of',
  'owner-change': 'Start the owner change of',
  redirect: 'Change the redirect',
  'ssl-contact': 'Change the SSL contact',
  user: 'Create the user',
};

const ICONS: Readonly<Record<OrderState, string>> = {
  DRAFT: ':memo:',
  PENDING: ':hourglass_flowing_sand:',
  APPROVED: ':ballot_box_with_check:',
  EXECUTING: ':gear:',
  SUCCEEDED: ':white_check_mark:',
  FAILED: ':x:',
  UNKNOWN: ':warning:',
  DENIED: ':no_entry:',
  EXPIRED: ':alarm_clock:',
  CANCELLED: ':wastebasket:',
};

const STATE_LINES: Readonly<Record<OrderState, string>> = {
  DRAFT: 'Not confirmed yet',
  PENDING: 'Waiting for approval',
  APPROVED: 'Approved, about to be sent',
  EXECUTING: 'Being carried out',
  SUCCEEDED: 'Done',
  FAILED: 'Failed',
  UNKNOWN: 'Outcome not known: an approver has to settle it',
  DENIED: 'Denied, nothing was sent',
  EXPIRED: 'Expired without approval, nothing was sent',
  CANCELLED: 'Cancelled, nothing was sent',
};

const LABELS: Readonly<Record<string, string>> = {
  period: 'Period',
  ownerc: 'Owner contact',
  adminc: 'Admin contact',
  techc: 'Tech contact',
  nameServers: 'Nameservers',
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
  city: 'City',
  country: 'Country',
  state: 'State',
  phone: 'Phone',
  fax: 'Fax',
  email: 'E-mail',
  user: 'User',
  context: 'User’s context',
  defaultEmail: 'E-mail',
  language: 'Language',
  status: 'Status',
  substatus: 'Substatus',
  parent: 'Superior user',
};

/** Shown as the order's names, not once more as a field. */
const NAME_FIELDS: ReadonlySet<string> = new Set(['name', 'names', 'source', 'id']);

/** The name of an item as people read it: both forms of a name with other letters. */
export function itemName(order: Pick<Order, 'task'>, name: string): string {
  return taskNamed(order.task).domain ? displayName(name) : name;
}

/** `Renew cafe.rest for 2 years`, `Renew 3 names for 1 year`. Plain text. */
export function orderTitle(order: Order): string {
  const [first] = order.items;
  const what =
    order.items.length === 1 && first !== undefined
      ? itemName(order, first.name)
      : count(order.items.length, 'name');
  const period = inputOf(order)['period'];
  return `${VERBS[order.task]} ${what}${typeof period === 'number' ? ` for ${count(period, 'year')}` : ''}`;
}

function inputOf(order: Order): Readonly<Record<string, unknown>> {
  return typeof order.input === 'object' && order.input !== null ? { ...order.input } : {};
}

function valueInWords(field: string, value: unknown): string {
  if (Array.isArray(value))
    return value
      .map(String)
      .map((each) => escapeText(each))
      .join('\n');
  if (field === 'period' && typeof value === 'number') return count(value, 'year');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => `${LABELS[name] ?? name}: ${valueInWords(name, inner)}`)
      .join('\n');
  }
  return escapeText(String(value));
}

/** Everything that goes out, so that the approver sees what the click does. */
function inputFacts(order: Order): (readonly [string, string])[] {
  const input = inputOf(order);
  const pairs = Object.entries(input)
    .filter(([field, value]) => value !== undefined && !NAME_FIELDS.has(field))
    // The user's name is the order's name already.
    .filter(([field]) => !(order.task === 'user' && field === 'user'))
    .map(([field, value]) => [LABELS[field] ?? field, valueInWords(field, value)] as const);
  const { secretField } = taskNamed(order.task);
  if (secretField === 'auth') return [...pairs, ['Auth code', 'given, kept sealed']];
  if (secretField === 'password') {
    return [...pairs, ['Password', order.hasSecretInput ? 'given, kept sealed' : 'made by the service']];
  }
  return pairs;
}

/** LIVE or DEMO in plain sight. */
export function contextInWords(contextNumber: number | undefined): string {
  if (contextNumber === undefined) return 'the application’s own';
  return isDemoContext(contextNumber)
    ? `*DEMO* (context ${contextNumber})`
    : `*LIVE* (context ${contextNumber})`;
}

export interface CardExtras {
  /** People and user groups who may approve, as set now. */
  readonly approvers: readonly string[];
  /** Said under the card: how to have it in the right channel. */
  readonly hint?: string;
}

/** The order's card: what it is, where it stands, what a click does. */
export function orderCard(order: Order, extras: CardExtras): Message {
  const title = orderTitle(order);
  const task = taskNamed(order.task);
  const names = order.items.map((item) => item.name);
  const notes = task.notes(names);
  const pairs: (readonly [string, string])[] = [
    ['Where', contextInWords(order.account.context)],
    ['Costs money', task.effect === 'charge' ? '*Yes*' : 'No'],
    ...inputFacts(order),
    ['With the account of', `${mention(order.requesterId)} (${code(accountName(order.account))})`],
  ];
  const blocks: AnyBlock[] = [
    header(title),
    section(`${ICONS[order.state]} *${STATE_LINES[order.state]}*${stateDetail(order)}`),
    section(
      `Asked by ${mention(order.requesterId)}${order.reason === undefined ? '' : `: “${quote(order.reason, 500)}”`}`,
    ),
    ...facts(pairs),
    ...(order.items.length > 1 ? [itemTable(order)] : []),
    ...(order.state === 'PENDING' && notes.length > 0
      ? [section(notes.map((note) => `• ${escapeText(note)}`).join('\n'))]
      : []),
    ...(order.items.length === 1 ? resultLines(order) : []),
    ...(order.state === 'PENDING' && extras.approvers.length > 0
      ? [section(`Can approve: ${extras.approvers.slice(0, 12).map(mentionApprover).join(', ')}`)]
      : []),
    ...actions(`order_${order.id}`, cardButtons(order)),
    context(`Order ${code(order.id)} · asked ${moment(order.createdAt)}`),
    ...(extras.hint === undefined ? [] : [context(extras.hint)]),
  ];
  return { text: `${title}: ${STATE_LINES[order.state]}`, blocks };
}

function stateDetail(order: Order): string {
  switch (order.state) {
    case 'PENDING': {
      const given = order.approvals.length;
      const missing = order.approvalsRequired - given;
      const approvals =
        order.approvalsRequired > 1
          ? ` · ${given} of ${count(order.approvalsRequired, 'approval')}${given > 0 ? ` (${order.approvals.map(({ userId }) => mention(userId)).join(', ')})` : ''}${missing > 0 ? '' : ', being checked'}`
          : '';
      return `${approvals}${order.expiresAt === undefined ? '' : ` · expires ${moment(order.expiresAt)}`}`;
    }
    case 'APPROVED':
    case 'EXECUTING':
    case 'SUCCEEDED':
    case 'FAILED':
    case 'UNKNOWN':
      return order.approvals.length === 0
        ? ''
        : ` · approved by ${order.approvals.map(({ userId }) => mention(userId)).join(', ')}`;
    default:
      return '';
  }
}

const ITEM_WORDS: Readonly<Record<OrderItem['state'], string>> = {
  WAITING: 'Waiting',
  SENT: 'Sent, no answer yet',
  SUCCEEDED: 'Done',
  FAILED: 'Failed',
  UNKNOWN: 'Not known',
};

function itemTable(order: Order): AnyBlock {
  const stopped = order.state === 'DENIED' || order.state === 'EXPIRED' || order.state === 'CANCELLED';
  return table({
    caption: orderTitle(order),
    columns: ['Name', 'State', 'The service says'],
    rows: order.items.map((item) => [
      itemName(order, item.name),
      stopped ? 'Not sent' : ITEM_WORDS[item.state],
      item.result === undefined ? '' : [item.result.code, item.result.text].filter(Boolean).join(' '),
    ]),
  });
}

/** What is known of a single item, as facts people can quote to the service. */
function resultLines(order: Order): AnyBlock[] {
  const [item] = order.items;
  return item?.result === undefined ? [] : [section(resultText(item.result))];
}

/** Status code and text, transaction id and messages of the service, with the bot's own sentence first. */
function resultText(result: ItemResult): string {
  const said = [
    result.code === undefined ? undefined : code(result.code),
    result.text === undefined || result.text === '' ? undefined : quote(result.text, 500),
  ]
    .filter((part) => part !== undefined)
    .join(' ');
  const messages = (result.messages ?? []).map(
    (message) =>
      `• ${[message.code === undefined ? '' : code(message.code), quote(message.text ?? '', 500)].filter(Boolean).join(' ')}`,
  );
  return [
    result.summary,
    ...(said === '' ? [] : [`The service says: ${said}`]),
    ...messages,
    ...(result.stid === undefined ? [] : [`Transaction ${code(result.stid)}`]),
  ].join('\n');
}

function cardButtons(order: Order) {
  const value = order.id;
  const title = orderTitle(order);
  if (order.state === 'PENDING') {
    return [
      button({
        actionId: 'order_approve',
        text: 'Approve',
        value,
        style: 'primary',
        label: `Approve: ${title}`,
      }),
      button({ actionId: 'order_deny', text: 'Deny', value, style: 'danger', label: `Deny: ${title}` }),
      button({ actionId: 'order_cancel', text: 'Cancel', value, label: `Cancel: ${title}` }),
    ];
  }
  if (order.state === 'UNKNOWN') return settleButtons(order);
  if (order.state === 'FAILED') {
    return [button({ actionId: 'order_retry', text: 'Retry', value, label: `Retry: ${title}` })];
  }
  return [];
}

function settleButtons(order: Order) {
  return [
    button({ actionId: 'order_resolve_done', text: 'It was done', value: order.id }),
    button({ actionId: 'order_resolve_failed', text: 'It was not done', value: order.id }),
  ];
}

/** What is asked of the requester before a draft becomes an order. */
export function confirmMessage(order: Order): Message {
  const title = orderTitle(order);
  const notes = taskNamed(order.task).notes(order.items.map((item) => item.name));
  return {
    text: `${title}?`,
    blocks: [
      section(
        `*${escapeText(title)}?*\nWith ${code(accountName(order.account))}, ${contextInWords(order.account.context)}.`,
      ),
      ...(notes.length === 0 ? [] : [section(notes.map((note) => `• ${escapeText(note)}`).join('\n'))]),
      ...actions(`confirm_${order.id}`, [
        button({
          actionId: 'order_confirm',
          text: `Yes, ${VERBS[order.task].toLowerCase()}`,
          value: order.id,
          style: 'danger',
        }),
      ]),
      context('Nothing has been sent. Without your confirmation this is forgotten after 15 minutes.'),
    ],
  };
}

/** What happened to an order, as the thread needs to know it. */
export interface Happening {
  readonly kind: string;
  readonly actor: string;
  readonly state: OrderState;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The reply in the card's thread to something that happened, or undefined when the card says enough. */
export function orderReply(
  order: Order,
  happening: Happening,
  approvers: readonly string[],
): Message | undefined {
  const asker = mention(order.requesterId);
  const title = escapeText(orderTitle(order));
  const reason =
    typeof happening.detail['reason'] === 'string' ? ` “${quote(happening.detail['reason'], 500)}”` : '';
  switch (happening.kind) {
    case 'approved':
      return happening.state === 'PENDING'
        ? sentence(
            `${mention(happening.actor)} approved. ${count(order.approvalsRequired, 'approval')} are needed.`,
          )
        : undefined;
    case 'denied':
      return sentence(
        `${ICONS.DENIED} ${asker}, ${mention(happening.actor)} denied this: ${title}.${reason} Nothing was sent.`,
      );
    case 'cancelled':
      return sentence(`${ICONS.CANCELLED} ${asker} cancelled this. Nothing was sent.`);
    case 'ran_out':
      return sentence(
        `${ICONS.EXPIRED} ${asker}, nobody approved in time: ${title}. Nothing was sent. Ask again if it is still wanted.`,
      );
    case 'nudged':
      return sentence(
        `:bell: ${approvers.slice(0, 12).map(mentionApprover).join(', ')} This still waits for approval: ${title}.`,
      );
    case 'settled':
      return sentence(
        `${ICONS[happening.state]} ${mention(happening.actor)} settled this as ${happening.detail['outcome'] === 'SUCCEEDED' ? 'done' : 'not done'}.${reason} ${asker}`,
      );
    case 'finished':
      return resultReply(order, approvers);
    default:
      return undefined;
  }
}

function sentence(text: string): Message {
  return { text: plain(text), blocks: [section(text)] };
}

function resultReply(order: Order, approvers: readonly string[]): Message {
  const title = orderTitle(order);
  const lead = `${ICONS[order.state]} ${mention(order.requesterId)} *${escapeText(title)}*: ${STATE_LINES[order.state].toLowerCase()}.`;
  const lines = order.items.map((item) => itemLine(order, item));
  const secret = order.items.some((item) => item.result?.hasSecret === true);
  return {
    text: `${title}: ${STATE_LINES[order.state]}`,
    blocks: [
      section(lead),
      ...chunks(lines).map((part) => section(part)),
      ...(order.state === 'UNKNOWN' ? unknownHelp(order, approvers) : []),
      ...actions(`result_${order.id}`, [
        ...(secret
          ? [
              button({
                actionId: 'order_reveal',
                text: order.task === 'authcode' ? 'Show the auth code' : 'Show the password',
                value: order.id,
                style: 'primary',
              }),
            ]
          : []),
        ...(order.state === 'UNKNOWN' ? settleButtons(order) : []),
        ...(order.state === 'FAILED'
          ? [button({ actionId: 'order_retry', text: 'Retry', value: order.id, label: `Retry: ${title}` })]
          : []),
      ]),
      ...(secret ? [context('Only the person who asked can see it, once, within an hour.')] : []),
    ],
  };
}

function itemLine(order: Order, item: OrderItem): string {
  const result = item.result === undefined ? ITEM_WORDS[item.state] : resultText(item.result);
  return order.items.length === 1
    ? result
    : `*${escapeText(itemName(order, item.name))}*: ${ITEM_WORDS[item.state]}. ${result}`;
}

/** Joined so that each part fits into one section. */
function chunks(lines: readonly string[]): string[] {
  const parts: string[] = [];
  for (const line of lines) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + line.length < 2_900) parts[parts.length - 1] = `${last}\n${line}`;
    else parts.push(line);
  }
  return parts.slice(0, 40);
}

function unknownHelp(order: Order, approvers: readonly string[]): AnyBlock[] {
  const unknown = order.items.filter((item) => item.state === 'UNKNOWN');
  const known = unknown
    .map(
      (item) =>
        `${escapeText(itemName(order, item.name))}: client transaction ${code(item.ctid)}${item.sentAt === undefined ? '' : `, sent ${moment(item.sentAt)}`}`,
    )
    .join('\n');
  return [
    section(
      `${known}\nIt is not sent again by itself. ${approvers.slice(0, 12).map(mentionApprover).join(', ')}: look at the domain service whether it was carried out, then press what you found.`,
    ),
  ];
}

/** One line of a list of orders. */
export function orderLine(order: Order): string {
  return `${ICONS[order.state]} ${code(order.id)} *${escapeText(orderTitle(order))}* – ${stateInWords(order.state)}, asked by ${mention(order.requesterId)} ${moment(order.createdAt)}`;
}
