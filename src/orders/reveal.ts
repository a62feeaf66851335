import { UnknownKeyError, type Vault, VaultError } from '../accounts/vault.ts';
import type { Secret } from '../service/secret.ts';
import { NO_SUCH_ORDER } from './change.ts';
import type { Order } from './order.ts';
import type { OrderStore } from './ports.ts';
import { resultOwner } from './request.ts';

export type RevealOutcome =
  | {
      readonly kind: 'revealed';
      readonly secret: Secret;
      readonly order: Order;
      /** It could not be shown: it can be asked for again until its hour is over. */
      readonly giveBack: () => Promise<void>;
    }
  | {
      readonly kind: 'refused';
      readonly why: string;
      /** For the log: it is there and does not open. */
      readonly err?: VaultError;
    };

/** Shows the secret result of an order to its requester, once. */
export async function revealSecret(
  deps: { readonly store: OrderStore; readonly vault: Vault; readonly now: () => Date },
  orderId: string,
  userId: string,
): Promise<RevealOutcome> {
  const order = await deps.store.load(orderId);
  if (order === undefined) return { kind: 'refused', why: NO_SUCH_ORDER };
  if (order.requesterId !== userId) {
    return {
      kind: 'refused',
      why: 'Only the person who asked can see this. Ask for your own with `/domain`.',
    };
  }
  const item = order.items.find((candidate) => candidate.result?.hasSecret === true);
  const sealed =
    item === undefined ? undefined : await deps.store.takeRevealable(orderId, item.n, deps.now());
  if (item === undefined || sealed === undefined) {
    return { kind: 'refused', why: 'This order has nothing to show. Ask for it again with `/domain`.' };
  }
  if (sealed === 'gone') {
    return {
      kind: 'refused',
      why: 'It was shown already, or its hour is over, and it is gone. Ask for it again.',
    };
  }
  const giveBack = () => deps.store.returnRevealable(orderId, item.n, sealed);
  try {
    return {
      kind: 'revealed',
      secret: deps.vault.open(sealed, resultOwner(order, item.n)),
      order,
      giveBack,
    };
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    // Whoever runs the bot may bring the key back within the hour.
    await giveBack();
    return {
      kind: 'refused',
      err: error,
      why:
        error instanceof UnknownKeyError
          ? 'One of my keys is missing here, so this was not shown, and is still kept. Try again in a few minutes, within the hour for which it is kept; whoever runs me finds in my log which key it is.'
          : 'This cannot be opened: its key is missing, or it was changed. Whoever runs me can bring the key back within the hour; else ask for it again.',
    };
  }
}
