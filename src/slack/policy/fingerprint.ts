import { createHash } from 'node:crypto';

/** Identifies what a form shows, so that two people who edit it at once do not overwrite each other's changes. */
export function fingerprint(shown: unknown): string {
  return createHash('sha256').update(JSON.stringify(shown)).digest('base64url').slice(0, 16);
}
