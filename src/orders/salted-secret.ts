import { createHash, randomBytes } from 'node:crypto';
import type { SealedSecret, Vault } from '../accounts/vault.ts';
import { Secret } from '../service/secret.ts';
import type { BulkRequest } from './bulk/request-bulk.ts';
import type { OrderItem } from './order.ts';

/**
 * An order's secret is encrypted together with a salt, and the hash of both is part of the approved statement. The hash
 * proves that exactly this secret was approved. The salt prevents guessing a short secret from the hash.
 */

export interface SaltedSecret {
  readonly saltedSecret: Secret;
  readonly hash: string;
}

const SALT_BYTES = 32;
const SALT_HEX_LENGTH = 2 * SALT_BYTES;

export function saltSecret(secret: Secret): SaltedSecret {
  const saltedSecret = new Secret(randomBytes(SALT_BYTES).toString('hex') + secret.reveal());
  return { saltedSecret, hash: hashSaltedSecret(saltedSecret) };
}

/** @returns undefined if the secret doesn't match the hash */
export function verifyAndUnsaltSecret(saltedSecret: Secret, hash: string): Secret | undefined {
  return hashSaltedSecret(saltedSecret) === hash
    ? new Secret(saltedSecret.reveal().slice(SALT_HEX_LENGTH))
    : undefined;
}

function hashSaltedSecret(saltedSecret: Secret): string {
  return `sha256:${createHash('sha256').update(saltedSecret.reveal()).digest('hex')}`;
}

/** The encrypted secrets of an order and their hashes. The maps are keyed by item number. */
export interface OrderSecrets {
  readonly inputHash: string | undefined;
  readonly sealedInput: SealedSecret | undefined;
  readonly itemHashes: ReadonlyMap<number, string>;
  readonly sealedItems: ReadonlyMap<number, SealedSecret>;
}

export const NO_SECRETS: OrderSecrets = {
  inputHash: undefined,
  sealedInput: undefined,
  itemHashes: new Map(),
  sealedItems: new Map(),
};

export function sealSecrets(
  vault: Vault,
  order: SealableOrder & { readonly items: readonly SealableItem[] },
  { secret, bulk }: { readonly secret: Secret | undefined; readonly bulk?: BulkRequest },
): OrderSecrets {
  const saltedInput = secret && saltSecret(secret);
  const itemSecrets = order.items.flatMap((item, index) => {
    const rowSecret = bulk?.rows[index]?.secret;
    return rowSecret === undefined ? [] : [{ item, ...saltSecret(rowSecret) }];
  });
  return {
    inputHash: saltedInput?.hash,
    sealedInput: saltedInput && vault.seal(saltedInput.saltedSecret, buildInputAssociatedData(order)),
    itemHashes: new Map(itemSecrets.map(({ item, hash }) => [item.n, hash])),
    sealedItems: new Map(
      itemSecrets.map(({ item, saltedSecret }) => [
        item.n,
        vault.seal(saltedSecret, buildItemInputAssociatedData(order, item)),
      ]),
    ),
  };
}

/** The fields of an order that its secrets' associated data contains. */
type SealableOrder = { readonly id: string; readonly requesterId: string };
type SealableItem = Pick<OrderItem, 'n' | 'name'>;

export function buildInputAssociatedData(order: SealableOrder): readonly string[] {
  return ['order-input', order.id, order.requesterId];
}

export function buildItemInputAssociatedData(order: SealableOrder, item: SealableItem): readonly string[] {
  return ['order-item-input', order.id, String(item.n), item.name, order.requesterId];
}

export function buildResultAssociatedData(order: SealableOrder, n: number): readonly string[] {
  return ['order-result', order.id, String(n), order.requesterId];
}
