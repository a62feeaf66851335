import { createHash, randomBytes } from 'node:crypto';
import { Secret } from '../service/secret.ts';

/*
 * A secret of an order is sealed together with a salt, and the hash of both stands in the order's statement: what is sent can be
 * proved to be what was approved, and the hash tells nobody the secret, however short it is.
 */

/** A secret behind its salt, as it is sealed, and the hash of that. */
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

/** @returns the secret, or undefined when it is not the one that the hash was made of */
export function unsaltSecret(salted: Secret, hash: string): Secret | undefined {
  return hashOf(salted) === hash ? new Secret(salted.reveal().slice(SALT_LENGTH)) : undefined;
}

function hashOf(salted: Secret): string {
  return `sha256:${createHash('sha256').update(salted.reveal()).digest('hex')}`;
}
