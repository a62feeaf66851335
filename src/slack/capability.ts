/* Preconditions of commands, forms and buttons. Those that need a domain service are hidden without one. */

/**
 * - `service`: a domain service is connected.
 * - `linked`: a domain service is connected, and the person has linked an account.
 * - `account`: a domain service is connected, and the person can use their own account or the team's.
 * - `linked_if_service`: if a domain service is connected, the person has linked an account.
 * - `linked_or_owner`: like `linked_if_service`, but the owner of the button's name needs no account.
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

export interface Capability {
  /** Whether a domain service is connected. Without one, the bot only watches. */
  readonly hasService: boolean;
}

const NEEDS_THAT_REQUIRE_SERVICE: ReadonlySet<Needs> = new Set<Needs>(['service', 'linked', 'account']);

export function isOffered({ needs }: { readonly needs: Needs }, { hasService }: Capability): boolean {
  return hasService || !NEEDS_THAT_REQUIRE_SERVICE.has(needs);
}
