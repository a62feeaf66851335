import type { z } from 'zod';
import type { Assertion, CharterChallenge, RevokeChallenge, VouchChallenge } from './assertion.ts';
import type { CharterProblem } from './difference.ts';
import type { AddedKey } from './key-ring.ts';

/** The purposes of links: approving or resuming an order, a key, or a charter. */
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
  /** The order, key, draft or change. Empty for a new key and for the current charter. */
  readonly subject: string;
  /** 64 random hex digits that make each challenge unique. */
  readonly salt: string;
  readonly expiresAt: Date;
}

export interface LinkStore {
  open(link: SigningLink): Promise<void>;
  find(tokenHash: string): Promise<(SigningLink & { readonly isSpent: boolean }) | undefined>;
  /**
   * Marks a link as used. Of concurrent calls, exactly one succeeds.
   * @returns false if it was already used or has expired
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

/** Keys are stored in the log. Implemented by the store. */
export interface KeyStore {
  /** @returns false at `MAX_KEYS` */
  add(key: AddedKey): Promise<boolean>;
  vouch(owner: string, signature: Assertion<VouchChallenge>, at: Date): Promise<void>;
  revoke(owner: string, signature: Assertion<RevokeChallenge>, at: Date): Promise<void>;
  /** Revokes the keys of a person who has left. @returns how many */
  revokeForDeparture(owner: string, at: Date): Promise<number>;
  /** @returns false if another charter was signed meanwhile */
  signCharter(signed: SignedCharter, at: Date): Promise<boolean>;
  findLastPublisher(): Promise<string | undefined>;
  /** Queues the notification that charters have become invalid or valid. @returns whether people are notified */
  recordStatus(status: 'valid' | CharterProblem, at: Date): Promise<boolean>;
  /**
   * Saves a key's counter. A counter that stays at 0 is unused.
   * @returns false if the counter hasn't increased: the key may have been copied
   */
  raiseCounter(fingerprint: string, counter: number): Promise<boolean>;
}
