import type { z } from 'zod';
import type { Assertion, CharterChallenge, RevokeChallenge, VouchChallenge } from './assertion.ts';
import type { CharterProblem } from './difference.ts';
import type { AddedKey } from './key-ring.ts';

/** What a link is for: an order’s approval or resumption, a key, or what decides. */
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

/** An address under which one person signs one thing, once. */
export interface SigningLink {
  /** SHA-256 of the token in the address, in hex. */
  readonly tokenHash: string;
  /** Slack user id of whose link it is. */
  readonly userId: string;
  readonly purpose: LinkPurpose;
  /** The order, key, draft or change; empty for a key to be added and for the charter in force. */
  readonly subject: string;
  /** 64 hex digits that are never used again: makes what is signed its own. */
  readonly salt: string;
  readonly expiresAt: Date;
}

/** Where links are kept. Implemented by the store. */
export interface LinkStore {
  open(link: SigningLink): Promise<void>;
  /** A link, spent or not. */
  find(tokenHash: string): Promise<(SigningLink & { readonly isSpent: boolean }) | undefined>;
  /** Spends a link. Of several that try at once, exactly one does. @returns false when it was spent before, or is over */
  spend(tokenHash: string, now: Date): Promise<boolean>;
  /** Deletes links that were over long ago. */
  purge(now: Date): Promise<number>;
}

/** A charter with the signatures under it, as it goes into the log. */
export interface SignedCharter {
  readonly charter: z.core.util.JSONType;
  readonly signature: Assertion<CharterChallenge>;
  readonly witness: string;
}

/** Where keys are kept: the log. Implemented by the store. */
export interface KeyStore {
  /** @returns false at `MAX_KEYS` */
  add(key: AddedKey): Promise<boolean>;
  vouch(owner: string, signature: Assertion<VouchChallenge>, at: Date): Promise<void>;
  revoke(owner: string, signature: Assertion<RevokeChallenge>, at: Date): Promise<void>;
  /** Revokes the keys of somebody who has left. @returns how many */
  revokeOfLeaver(owner: string, at: Date): Promise<number>;
  /** @returns false when another charter was signed meanwhile */
  signCharter(signed: SignedCharter, at: Date): Promise<boolean>;
  /** Who published the version of the policy that was confirmed last, by the log. */
  lastPublisher(): Promise<string | undefined>;
  /** Has people told that no charter counts, or that one counts again. @returns whether they are told */
  noteStatus(status: 'counts' | CharterProblem, at: Date): Promise<boolean>;
  /**
   * Keeps the counter that a key has shown. One that stays at 0 counts nothing.
   * @returns false when it has not grown: the key may have been copied
   */
  raiseCounter(fingerprint: string, counter: number): Promise<boolean>;
}
