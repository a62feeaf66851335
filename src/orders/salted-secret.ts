import { createHash, randomBytes } from 'node:crypto';
import type { Sealed, Vault } from '../accounts/vault.ts';
import { Secret } from '../service/secret.ts';
import type { BulkRequest } from './bulk/request-bulk.ts';
import type { Order, OrderItem } from './order.ts';

/**
 * An order's secret is encrypted together with a salt, and the hash of both is in the order's statement: it proves
 * that what is sent was approved, and the hash doesn't reveal the secret, however short.
 */

/** A salted secret, before encryption, and its hash. */
export interface SaltedSecret {
  readonly salted: Secret;
  readonly hash: string;
}

const SALT_BYTES = 32;
const SALT_LENGTH = 2 * SALT_BYTES;

export function saltSecret(secret: Secret): SaltedSecret {
  const salted = new Secret(randomBytes(SALT_BYTES).toString('hex') + secret.reveal());
  return { salted, hash: hashOf(salted) };
}

/** @returns the secret, or undefined when it doesn't match the hash */
export function unsaltSecret(salted: Secret, hash: string): Secret | undefined {
  return hashOf(salted) === hash ? new Secret(salted.reveal().slice(SALT_LENGTH)) : undefined;
}

function hashOf(salted: Secret): string {
  return `sha256:${createHash('sha256').update(salted.reveal()).digest('hex')}`;
}

/** The secrets of a request: its own, and those of its rows. */
export interface SaltedSecrets {
  readonly own: SaltedSecret | undefined;
  readonly rows: readonly (SaltedSecret | undefined)[];
}

export function saltSecrets({
  secret,
  bulk,
}: {
  readonly secret: Secret | undefined;
  readonly bulk?: BulkRequest;
}): SaltedSecrets {
  return {
    own: secret && saltSecret(secret),
    rows: bulk?.rows.map((row) => row.secret && saltSecret(row.secret)) ?? [],
  };
}

/** Seals the secrets of a new order. Rows are keyed by item number. */
export function sealSecrets(
  vault: Vault,
  order: Order,
  { own, rows }: SaltedSecrets,
): { readonly sealedInput: Sealed | undefined; readonly sealedItems: ReadonlyMap<number, Sealed> } {
  const items = order.items.flatMap((item, index) => {
    const secret = rows[index];
    if (secret === undefined) return [];
    return [[item.n, vault.seal(secret.salted, itemInputOwner(order, item))] as const];
  });
  return {
    sealedInput: own && vault.seal(own.salted, inputOwner(order)),
    sealedItems: new Map(items),
  };
}

/** Bound into every sealed value of an order. */
type Sealable = { readonly id: string; readonly requesterId: string };

export function inputOwner(order: Sealable): readonly string[] {
  return ['order-input', order.id, order.requesterId];
}

export function itemInputOwner(order: Sealable, item: OrderItem): readonly string[] {
  return ['order-item-input', order.id, String(item.n), item.name, order.requesterId];
}

export function resultOwner(order: Sealable, n: number): readonly string[] {
  return ['order-result', order.id, String(n), order.requesterId];
}
