/* Preconditions of commands, forms and buttons. Without a domain service, those that need one aren't offered. */

/**
 * - `service`: a domain service is connected.
 * - `linked`: the person has also linked an account.
 * - `account`: the person can use their own account or the team's.
 * - `linked_if_service`: if a domain service is connected, the person has linked an account.
 * - `linked_or_owner`: the same, unless the person owns the name that the button is about.
 */
export type Needs =
  | 'nothing'
  | 'member'
  | 'admin'
  | 'service'
  | 'linked'
  | 'account'
  | 'linked_if_service'
  | 'linked_or_owner';

/** Whether a domain service is connected. Without one, the bot only watches. */
export interface Capability {
  readonly hasService: boolean;
}

const NEED_SERVICE: ReadonlySet<Needs> = new Set<Needs>(['service', 'linked', 'account']);

export function isOffered({ needs }: { readonly needs: Needs }, { hasService }: Capability): boolean {
  return hasService || !NEED_SERVICE.has(needs);
}
