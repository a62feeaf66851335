import type { Order } from '../../orders/order.ts';
import type { SendingDifference } from '../../orders/summary.ts';
import { code, escapeText, type Message, textMessage } from '../kit/blocks.ts';
import { orderTitle, wasSent } from '../orders/order.view.ts';

const DIFFERENCE_TEXTS: Readonly<Record<SendingDifference, string>> = {
  unsigned: 'an approval has no signature',
  statement: 'the signed statement differs from the current one',
  approver: 'someone else signed an approval',
  policy: 'a signature is for another policy version',
  order: 'a signature is for another order, requester or set of rules',
  key: 'a passkey is no longer valid',
  signature: 'a signature doesn’t verify',
  count: 'approvals are missing',
  refused: 'the policy refuses it',
  no_keys: 'it needs signatures, which SIGNING_ROOTS or PUBLIC_URL doesn’t allow',
};

/** Finds the differences between the order and its approvals that prevented the bot from sending it. */
export function findSigningDifferences({ items }: Order): readonly SendingDifference[] | undefined {
  for (const { result } of items) {
    const summary = result?.summary;
    if (typeof summary === 'object' && summary.code === 'not_signed') return summary.differs;
  }
  return undefined;
}

export function notSignedNotice(order: Order, differences: readonly SendingDifference[]): Message {
  const sentText = wasSent(order) ? 'sent nothing more' : 'sent nothing';
  const differencesText = differences.map((difference) => DIFFERENCE_TEXTS[difference]).join('; ');
  return textMessage(
    `:rotating_light: *${escapeText(orderTitle(order))}*: a required signature is missing or invalid, so I ${sentText} (${differencesText}). If no one revoked a passkey, left, or changed the policy, someone with write access to my database may have done this. Find out who has access. To see it, use ${code(`/domain order ${order.id}`)}.`,
  );
}
