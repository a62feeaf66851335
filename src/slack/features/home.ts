import { accountName } from '../../accounts/account.ts';
import type { Order } from '../../orders/order.ts';
import type { SlackDeps } from '../feature.ts';
import { type AnyBlock, actions, button, code, divider, header, section } from '../views/kit.ts';
import { contextInWords, orderLine, orderTitle } from '../views/order.ts';
import { done } from '../web.ts';

/*
 * The bot's Home tab, for the person who opens it.
 */

const LIST_LENGTH = 10;

/** Publishes a person's Home tab. */
export async function publishHome(deps: SlackDeps, userId: string): Promise<void> {
  const [account, policy, pending, mine] = await Promise.all([
    deps.accounts.active(userId),
    deps.orders.policy(),
    deps.orders.list({ states: ['PENDING'], limit: LIST_LENGTH }),
    deps.orders.list({
      requesterId: userId,
      states: ['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN'],
      limit: LIST_LENGTH,
    }),
  ]);
  const toDecide = policy.approvers.has(userId)
    ? pending.filter((order) => order.requesterId !== userId || policy.allowSelfApproval)
    : [];
  const blocks: AnyBlock[] = [
    header('Domain Steward'),
    section(
      account === undefined
        ? 'You have no linked account. Type `/domain link` in any channel.'
        : `Linked: ${code(accountName(account))}, ${contextInWords(account.context)}.`,
    ),
    ...(policy.approvers.has(userId)
      ? [divider, header('Waiting for your approval'), ...waiting(toDecide)]
      : []),
    divider,
    header('Your open orders'),
    ...(mine.length === 0
      ? [section('None. Ask with `/domain`, or see `/domain help`.')]
      : mine.map((order) => section(orderLine(order)))),
  ];
  await deps.web.call('views.publish', { user_id: userId, view: { type: 'home', blocks } }, done);
}

function waiting(orders: readonly Order[]): AnyBlock[] {
  if (orders.length === 0) return [section('Nothing waits for you.')];
  return orders.flatMap((order) => [
    section(orderLine(order)),
    ...actions(`home_${order.id}`, [
      button({
        actionId: 'order_approve',
        text: 'Approve',
        value: order.id,
        style: 'primary',
        label: `Approve: ${orderTitle(order)}`,
      }),
      button({
        actionId: 'order_deny',
        text: 'Deny',
        value: order.id,
        style: 'danger',
        label: `Deny: ${orderTitle(order)}`,
      }),
    ]),
  ]);
}
