import type { Order } from '../../orders/order.ts';
import type { StatementPart } from '../../orders/summary.ts';
import { code, escapeText, type Message, textMessage } from '../kit/blocks.ts';
import { orderTitle } from './order.view.ts';

const PARTS: Readonly<Record<StatementPart, string>> = {
  account: 'the account',
  hash: 'the statement’s own hash',
  input: 'what is asked for',
  names: 'the names',
  secret: 'the sealed secret',
  service: 'where the service is (`SERVICE_JSON_URL`, `SERVICE_XML_URL`, `SERVICE_REPLY_TO`)',
  task: 'the task',
};

/** What of an order was found to differ from what was asked for; undefined when nothing was. */
export function changedStatementOf({ items }: Order): readonly StatementPart[] | undefined {
  for (const { result } of items) {
    const summary = result?.summary;
    if (typeof summary === 'object' && summary.code === 'statement_changed') return summary.parts;
  }
  return undefined;
}

/** To an admin: an order is not what was asked for and approved. */
export function statementChangedNotice(order: Order, parts: readonly StatementPart[]): Message {
  const what =
    parts.length === 0 ? 'I cannot tell what.' : `Different: ${parts.map((part) => PARTS[part]).join(', ')}.`;
  const sent = order.items.some(({ sentAt }) => sentAt !== undefined) ? 'sent nothing more' : 'sent nothing';
  const cause =
    parts.length === 1 && parts[0] === 'service'
      ? 'The settings of the bot have changed since; people can ask again.'
      : 'Somebody who can write into the bot’s database may have done this: find out who can, and what else was changed, before anybody asks again.';
  return textMessage(
    `:rotating_light: *${escapeText(orderTitle(order))}* is not what was asked for and approved any more, so I ${sent}. ${what} ${cause} See it with ${code(`/domain order ${order.id}`)}.`,
  );
}
