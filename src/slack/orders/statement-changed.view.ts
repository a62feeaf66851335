import type { Order } from '../../orders/order.ts';
import type { StatementPart } from '../../orders/summary.ts';
import { code, escapeText, type Message, textMessage } from '../kit/blocks.ts';
import { orderTitle, wasSent } from './order.view.ts';

const PART_TEXTS: Readonly<Record<StatementPart, string>> = {
  account: 'the account',
  hash: 'the statement’s hash',
  input: 'the request',
  names: 'the names',
  secret: 'the encrypted secret',
  service: 'the service’s address (`SERVICE_JSON_URL`, `SERVICE_XML_URL`, `SERVICE_REPLY_TO`)',
  task: 'the task',
  time: 'the time',
};

export function findChangedStatementParts({ items }: Order): readonly StatementPart[] | undefined {
  for (const { result } of items) {
    const summary = result?.summary;
    if (typeof summary === 'object' && summary.code === 'statement_changed') return summary.parts;
  }
  return undefined;
}

/** Tells an admin that an order differs from what was requested and approved. */
export function statementChangedNotice(order: Order, parts: readonly StatementPart[]): Message {
  const changedText =
    parts.length === 0
      ? 'I can’t tell what changed.'
      : `Changed: ${parts.map((part) => PART_TEXTS[part]).join(', ')}.`;
  const sentText = wasSent(order) ? 'sent nothing more' : 'sent nothing';
  const cause =
    parts.length === 1 && parts[0] === 'service'
      ? 'My settings have changed since. Request it again.'
      : 'Someone with write access to my database may have done this. Before requesting it again, find out who has access, and what else changed.';
  return textMessage(
    `:rotating_light: *${escapeText(orderTitle(order))}*: this order no longer matches what was requested and approved, so I ${sentText}. ${changedText} ${cause} To see it, use ${code(`/domain order ${order.id}`)}.`,
  );
}
