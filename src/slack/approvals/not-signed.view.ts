import type { Order } from '../../orders/order.ts';
import type { SendingDifference } from '../../orders/summary.ts';
import { code, escapeText, type Message, textMessage } from '../kit/blocks.ts';
import { orderTitle } from '../orders/order.view.ts';

const DIFFERENCES: Readonly<Record<SendingDifference, string>> = {
  unsigned: 'an approval has no signature',
  statement: 'what was signed is not what stands there now',
  approver: 'an approval was signed by somebody else',
  policy: 'it was signed under another version of the policy',
  order: 'it was signed for another order, another requester or other rules',
  key: 'a passkey does not count any more',
  signature: 'a signature does not verify',
  count: 'approvals are missing',
  refused: 'the policy refuses it',
  no_keys: 'it was to be signed, and SIGNING_ROOTS or PUBLIC_URL does not allow that',
};

/** What of an order’s approvals did not fit when it was to be sent; undefined when everything did. */
export function unsignedPartsOf({ items }: Order): readonly SendingDifference[] | undefined {
  for (const { result } of items) {
    const summary = result?.summary;
    if (typeof summary === 'object' && summary.code === 'not_signed') return summary.differs;
  }
  return undefined;
}

/** What differs, as part of a sentence. */
function differencesText(differs: readonly SendingDifference[]): string {
  return differs.map((each) => DIFFERENCES[each]).join('; ');
}

/** To an admin: the approvals of an order were not signed as they have to be. */
export function notSignedNotice(order: Order, differs: readonly SendingDifference[]): Message {
  const sent = order.items.some(({ sentAt }) => sentAt !== undefined) ? 'sent nothing more' : 'sent nothing';
  return textMessage(
    `:rotating_light: *${escapeText(orderTitle(order))}* was not approved with the signatures that it needs, so I ${sent}: ${differencesText(differs)}. Did nobody revoke a passkey, leave, or change the policy meanwhile? Then somebody who can write into my database may have done this: find out who can. See it with ${code(`/domain order ${order.id}`)}.`,
  );
}
