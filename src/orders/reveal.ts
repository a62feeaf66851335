import { UnknownKeyError, type Vault, VaultError } from '../accounts/vault.ts';
import type { Secret } from '../service/secret.ts';
import type { Order } from './order.ts';
import type { OrderStore } from './ports.ts';
import type { Refusal } from './refusal.ts';
import { buildResultAssociatedData } from './salted-secret.ts';

export type RevealOutcome =
  | {
      readonly kind: 'revealed';
      readonly secret: Secret;
      readonly order: Order;
      /** Call this if the secret couldn't be shown. The requester can then try again until the secret expires. */
      readonly restore: () => Promise<void>;
    }
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      /** The error to log if the secret can't be decrypted. */
      readonly err?: VaultError;
    };

/** Shows an order's secret result to its requester, once. */
export async function revealSecret(
  deps: { readonly store: OrderStore; readonly vault: Vault; readonly now: () => Date },
  orderId: string,
  userId: string,
): Promise<RevealOutcome> {
  const refuse = (refusal: Refusal): RevealOutcome => ({ kind: 'refused', refusal });
  const order = await deps.store.load(orderId, 'system');
  if (order === undefined) return refuse({ code: 'no_such_order' });
  if (order.requesterId !== userId) return refuse({ code: 'not_the_requester', action: 'reveal' });
  const item = order.items.find((candidate) => candidate.result?.hasSecret === true);
  const sealedSecret = item && (await deps.store.takeRevealableSecret(orderId, item.n, deps.now()));
  if (item === undefined || sealedSecret === undefined) return refuse({ code: 'nothing_to_reveal' });
  if (sealedSecret === 'gone') return refuse({ code: 'secret_expired' });
  const restore = () => deps.store.restoreRevealableSecret(orderId, item.n, sealedSecret);
  try {
    return {
      kind: 'revealed',
      secret: deps.vault.open(sealedSecret, buildResultAssociatedData(order, item.n)),
      order,
      restore,
    };
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    // The operator may add the missing key before the secret expires.
    await restore();
    return {
      kind: 'refused',
      err: error,
      refusal: { code: error instanceof UnknownKeyError ? 'secret_key_missing' : 'secret_undecryptable' },
    };
  }
}
