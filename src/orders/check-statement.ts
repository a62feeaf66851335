import { isDeepStrictEqual } from 'node:util';
import { formatAccountName } from '../accounts/account.ts';
import type { ChangeDecision } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { buildContradictedEvent } from './log-limits.ts';
import { getChosenTime, type Order } from './order.ts';
import type { OrderLogEntry } from './order-events.ts';
import { type ServiceEndpoints, verifyStatement } from './statement.ts';
import type { StatementPart } from './summary.ts';

/**
 * Checks that an order still matches its original statement. If it doesn't, the database was tampered with, or the
 * service's URL has changed. Nothing is sent then, and admins are notified of the differences that the log shows.
 */

/** An order's rows or its encrypted input no longer match its statement. Nothing is sent. */
export class StatementChangedError extends Error {
  override readonly name = 'StatementChangedError';
  readonly parts: readonly StatementPart[];

  constructor(parts: readonly StatementPart[], options?: ErrorOptions) {
    super('the order no longer matches its statement', options);
    this.parts = parts;
  }
}

/** Whether an order's rows equal those verified before. Much faster than rebuilding the statement. */
export function isSameRequest(order: Order, verified: Order): boolean {
  return isDeepStrictEqual(pickRequestFields(order), pickRequestFields(verified));
}

function pickRequestFields(order: Order) {
  const { task, account, input, secretHash, statementHash, items } = order;
  return [
    ...[task, account, input, secretHash, statementHash, getChosenTime(order)],
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

/** The event that stops an order if its rows differ from its log; undefined if they match. */
export async function loadContradiction({ store }: OrdersContext, order: Order) {
  return buildContradictedEvent(order, await store.loadHistory(order.id, 'system'), store.isSignedByBot);
}

export async function decideContradiction(context: OrdersContext, order: Order): Promise<ChangeDecision> {
  const event = await loadContradiction(context, order);
  return event === undefined ? { refusal: { code: 'not_due' } } : { event };
}

/** Differences between an order and its request, as far as the log records the request. Pure. */
export function findChangedParts(
  order: Order,
  history: readonly OrderLogEntry[],
  endpoints: ServiceEndpoints,
): readonly StatementPart[] {
  // For an order made from a file, the log has only the number of rows.
  const logged = history.find((entry) => entry.kind === 'requested');
  if (logged === undefined) return [];
  const { jsonUrl, xmlUrl } = endpoints;
  const replyTo = logged.service === jsonUrl ? endpoints.replyTo : undefined;
  const names = order.items.map(({ name }) => name);
  const differs: Readonly<Record<Exclude<StatementPart, 'secret'>, boolean>> = {
    hash: logged.statement !== order.statementHash,
    service: ![jsonUrl, xmlUrl].includes(logged.service) || logged.replyTo !== replyTo,
    task: logged.task !== order.task,
    account: logged.account !== formatAccountName(order.account),
    names:
      logged.names === undefined ? logged.rows !== names.length : !isDeepStrictEqual(logged.names, names),
    time: logged.notBefore?.getTime() !== getChosenTime(order)?.getTime(),
    input: logged.names !== undefined && !isDeepStrictEqual(logged.input, order.input),
  };
  const parts = ['hash', 'service', 'task', 'time', 'account', 'names', 'input'] as const;
  return parts.filter((part) => differs[part]);
}
