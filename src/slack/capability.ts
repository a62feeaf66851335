/* Preconditions of commands, forms and buttons. Those that need a domain service aren't offered without one. */

/**
 * `service`: a domain service is connected. `linked`: the person has also linked an account. `account`: their own
 * account or the team's. `linked_if_service`: their own account, if a domain service is connected. `linked_or_owner`: the
 * same, unless they own the name of the button.
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
