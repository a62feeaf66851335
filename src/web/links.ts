import { createHash, randomBytes } from 'node:crypto';
import type { RelyingParty } from '../approvals/signing/assertion.ts';
import type { LinkPurpose, LinkStore } from '../approvals/signing/ports.ts';
import { MINUTE_MS } from '../lib/duration.ts';

const LINK_TTL_MS = 10 * MINUTE_MS;
const TOKEN_BYTES = 32;
export const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/;

const KEY_PURPOSES: ReadonlySet<LinkPurpose> = new Set(['add', 'vouch', 'revoke']);

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export interface SigningLinks {
  /**
   * Creates a link for one person and one subject. The link works once and expires after ten minutes.
   * @param subject id of an order, key, draft or proposal; empty for a new key and for the current charter
   * @returns undefined if WebAuthn doesn't work at `PUBLIC_URL`
   */
  createLink(purpose: LinkPurpose, userId: string, subject: string): Promise<string | undefined>;
}

export interface LinkDeps {
  readonly store: LinkStore;
  readonly publicUrl: string;
  readonly relyingParty: RelyingParty | undefined;
  readonly now: () => Date;
}

export function createSigningLinks({ store, publicUrl, relyingParty, now }: LinkDeps): SigningLinks {
  return {
    async createLink(purpose, userId, subject) {
      if (relyingParty === undefined) return undefined;
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      await store.add({
        tokenHash: hashToken(token),
        userId,
        purpose,
        subject,
        salt: randomBytes(TOKEN_BYTES).toString('hex'),
        expiresAt: new Date(now().getTime() + LINK_TTL_MS),
      });
      return `${publicUrl}/${KEY_PURPOSES.has(purpose) ? 'keys' : 'sign'}/${token}`;
    },
  };
}
