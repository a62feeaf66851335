import { createHash, randomBytes } from 'node:crypto';
import type { RelyingParty } from '../approvals/signing/assertion.ts';
import type { LinkPurpose, LinkStore } from '../approvals/signing/ports.ts';

/* Addresses under which one person signs one thing. */

/** For this long after it was made. */
const LINK_MS = 10 * 60_000;
const TOKEN_BYTES = 32;
/** A token in an address. */
export const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Purposes whose pages are about keys. */
const OF_KEYS: ReadonlySet<LinkPurpose> = new Set(['add', 'vouch', 'revoke']);

/** What a token is kept as. */
export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Makes addresses for people. */
export interface Links {
  /**
   * An address for one person and one thing, good once and for ten minutes.
   * @param subject the order, key, draft or change; empty for a key to be added and for the charter in force
   * @returns undefined where browsers sign nothing at `PUBLIC_URL`
   */
  open(purpose: LinkPurpose, userId: string, subject: string): Promise<string | undefined>;
}

export interface LinkDeps {
  readonly store: LinkStore;
  readonly publicUrl: string;
  /** Undefined where WebAuthn does not work at `publicUrl`. */
  readonly relyingParty: RelyingParty | undefined;
  readonly now: () => Date;
}

export function createLinks({ store, publicUrl, relyingParty, now }: LinkDeps): Links {
  return {
    async open(purpose, userId, subject) {
      if (relyingParty === undefined) return undefined;
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      await store.open({
        tokenHash: hashOfToken(token),
        ...{ userId, purpose, subject },
        salt: randomBytes(TOKEN_BYTES).toString('hex'),
        expiresAt: new Date(now().getTime() + LINK_MS),
      });
      return `${publicUrl}/${OF_KEYS.has(purpose) ? 'keys' : 'sign'}/${token}`;
    },
  };
}
