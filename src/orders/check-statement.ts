import { isDeepStrictEqual } from 'node:util';
import { formatAccountName } from '../accounts/account.ts';
import type { ChangeDecision } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { buildContradictionEvent } from './log-limits.ts';
import { getChosenSendTime, type Order } from './order.ts';
import type { OrderLogEntry } from './order-events.ts';
import { type ServiceEndpoints, verifyStatement } from './statement.ts';
import type { StatementPart } from './summary.ts';

/**
 * Checks that an order still matches its original statement. If it doesn't, someone tampered with the database, or the
 * service's URL has changed: nothing is sent, and admins are notified of the differences that the log shows.
 */

export class StatementChangedError extends Error {
  override readonly name = 'StatementChangedError';
  readonly parts: readonly StatementPart[];

  constructor(parts: readonly StatementPart[], options?: ErrorOptions) {
    super('the order no longer matches its statement', options);
    this.parts = parts;
  }
}

/** Whether an order's request fields are the same as in a verified order. Much faster than rebuilding the statement. */
export function hasSameRequest(order: Order, verifiedOrder: Order): boolean {
  return isDeepStrictEqual(pickRequestFields(order), pickRequestFields(verifiedOrder));
}

function pickRequestFields(order: Order) {
  const { task, account, input, secretHash, statementHash, items } = order;
  return [
    ...[task, account, input, secretHash, statementHash, getChosenSendTime(order)],
    ...items.map((item) => [item.n, item.name, item.ctid, item.input, item.secretHash]),
  ];
}

/** How an order's rows differ from its statement; undefined if they match. */
export async function loadChangedParts(
  { store, serviceEndpoints }: OrdersContext,
  order: Order,
): Promise<readonly StatementPart[] | undefined> {
  if (verifyStatement(order, serviceEndpoints) !== undefined) return undefined;
  return findChangedParts(order, await store.loadHistory(order.id, 'system'), serviceEndpoints);
}

export async function loadContradictionEvent({ store }: OrdersContext, order: Order) {
  return buildContradictionEvent(order, await store.loadHistory(order.id, 'system'), store.isSignedByBot);
}

export async function decideContradiction(context: OrdersContext, order: Order): Promise<ChangeDecision> {
  const event = await loadContradictionEvent(context, order);
  return event === undefined ? { refusal: { code: 'not_due' } } : { event };
}

/** Finds differences between an order and its logged request. Pure. */
export function findChangedParts(
  order: Order,
  history: readonly OrderLogEntry[],
  endpoints: ServiceEndpoints,
): readonly StatementPart[] {
  const request = history.find((entry) => entry.kind === 'requested');
  if (request === undefined) return [];
  const { jsonUrl, xmlUrl } = endpoints;
  const expectedReplyTo = request.service === jsonUrl ? endpoints.replyTo : undefined;
  const names = order.items.map(({ name }) => name);
  const isChangedByPart: Readonly<Record<Exclude<StatementPart, 'secret'>, boolean>> = {
    hash: request.statement !== order.statementHash,
    service: ![jsonUrl, xmlUrl].includes(request.service) || request.replyTo !== expectedReplyTo,
    task: request.task !== order.task,
    account: request.account !== formatAccountName(order.account),
    // The log has only the number of rows for an order created from a file.
    names:
      request.names === undefined ? request.rows !== names.length : !isDeepStrictEqual(request.names, names),
    time: request.notBefore?.getTime() !== getChosenSendTime(order)?.getTime(),
    input: request.names !== undefined && !isDeepStrictEqual(request.input, order.input),
  };
  const parts = ['hash', 'service', 'task', 'time', 'account', 'names', 'input'] as const;
  return parts.filter((part) => isChangedByPart[part]);
}
