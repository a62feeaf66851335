import type { z } from 'zod';
import type { Assertion, CharterChallenge, RevokeChallenge, VouchChallenge } from './assertion.ts';
import type { CharterProblem } from './difference.ts';
import type { AddedKey } from './key-ring.ts';

export const LINK_PURPOSES = [
  'order',
  'resume',
  'facts',
  'add',
  'vouch',
  'revoke',
  'revoke_compromised',
  'charter',
  'policy',
  'settings',
] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/** A one-time link for one person and one subject. */
export interface SigningLink {
  /** SHA-256 (hex) of the token in the URL. */
  readonly tokenHash: string;
  readonly userId: string;
  readonly purpose: LinkPurpose;
  /** Id of an order, key, draft or proposal. Empty for a new key and for the current charter. */
  readonly subject: string;
  /** 32 random bytes in hex that make each challenge unique. */
  readonly salt: string;
  readonly expiresAt: Date;
}

export interface LinkStore {
  add(link: SigningLink): Promise<void>;
  find(tokenHash: string): Promise<(SigningLink & { readonly isSpent: boolean }) | undefined>;
  /**
   * Marks a link as spent. Of concurrent calls, exactly one succeeds.
   * @returns false if the link was already spent or has expired
   */
  spend(tokenHash: string, now: Date): Promise<boolean>;
  /** Deletes links that expired long ago. */
  purge(now: Date): Promise<number>;
}

export interface SignedCharter {
  readonly charter: z.core.util.JSONType;
  readonly signature: Assertion<CharterChallenge>;
  readonly botSignature: string;
}

/** Records keys in the log. Implemented by the store. */
export interface KeyStore {
  /** @returns false if the owner already has `MAX_KEYS` */
  add(key: AddedKey): Promise<boolean>;
  vouch(owner: string, signature: Assertion<VouchChallenge>, at: Date): Promise<void>;
  revoke(owner: string, signature: Assertion<RevokeChallenge>, at: Date): Promise<void>;
  /** Revokes all keys of a person who has left. @returns the number of revoked keys */
  revokeForDeparture(owner: string, at: Date): Promise<number>;
  /** @returns false if another charter was signed meanwhile */
  signCharter(signed: SignedCharter, at: Date): Promise<boolean>;
  findLastPublisher(): Promise<string | undefined>;
  /** Logs that the charter's validity changed, and queues a notification. @returns whether people are notified */
  recordStatus(status: 'valid' | CharterProblem, at: Date): Promise<boolean>;
  /**
   * Saves the key's signature counter. Keys without a counter always report 0.
   * @returns false if the counter hasn't increased, so the key may have been cloned
   */
  advanceCounter(fingerprint: string, counter: number): Promise<boolean>;
}
