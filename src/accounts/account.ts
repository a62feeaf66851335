import type { Credential } from '../service/authenticator/signature.ts';
import type { Sealed } from './vault.ts';

export type LinkMethod = Credential['method'];

/** What the answer to a login says of its user. Service API, section "User". */
export interface AccountProfile {
  readonly defaultEmail?: string | undefined;
  readonly status?: number | undefined;
  readonly substatus?: number | undefined;
  readonly language?: string | undefined;
  readonly owner?: { readonly user?: string | undefined; readonly context?: number | undefined } | undefined;
}

/** A linked credential, without its secrets. */
export interface Account {
  readonly id: string;
  readonly teamId: string;
  /** Slack user id of the person whose credential it is. */
  readonly userId: string;
  readonly method: LinkMethod;
  /** The context number as text, or `application`. A person has one account for each slot. */
  readonly slot: string;
  /** Undefined for a trusted application. */
  readonly context: number | undefined;
  /** User name at the service, or the application's UUID. */
  readonly login: string;
  /** Name of the trusted application. */
  readonly application: string | undefined;
  readonly active: boolean;
  /** When the service last accepted it; undefined while it was not used. */
  readonly verifiedAt: Date | undefined;
  /** What the service told of the user when the credential was last checked; undefined where no login tells. */
  readonly profile?: AccountProfile | undefined;
}

/** The slot of a trusted application, which has no context. */
export const APPLICATION_SLOT = 'application';

/** Where accounts are kept. Implemented by the store. */
export interface AccountStore {
  /** A person's accounts, by slot. */
  list(teamId: string, userId: string): Promise<readonly Account[]>;
  /** Everybody who has an account. */
  people(teamId: string): Promise<readonly string[]>;
  find(id: string): Promise<{ readonly account: Account; readonly sealed: Sealed } | undefined>;
  /** Stores the account in its slot in place of the one that was there, and makes it the person's active one. */
  save(account: Account, sealed: Sealed): Promise<void>;
  /** @returns false when the person has no account in the slot */
  activate(teamId: string, userId: string, slot: string): Promise<boolean>;
  /** Forgets the accounts and their secrets. */
  remove(ids: readonly string[]): Promise<void>;
  /** @param profile what the service told of the user; what is known stays when left out */
  markVerified(id: string, at: Date, profile?: AccountProfile): Promise<void>;
  /** Up to `limit` accounts sealed with another key than `keyId`, in the order of their ids, after `afterId`. */
  sealedWithOtherKey(
    keyId: string,
    limit: number,
    afterId?: string,
  ): Promise<readonly { readonly account: Account; readonly sealed: Sealed }[]>;
  /** Replaces the sealed credential if it is still the one that was read. */
  reseal(id: string, before: Sealed, after: Sealed): Promise<boolean>;
}

export type { TokenSteps } from '../service/authenticator/token-steps.ts';

/** How an account is named to people: `alice in context 4`. */
export function accountName(account: Pick<Account, 'login' | 'context'>): string {
  return account.context === undefined
    ? `application ${account.login}`
    : `${account.login} in context ${account.context}`;
}

/** Context 1 is the demo system; every other context is the live one (service API, Authentication). */
export function isDemoContext(context: number | undefined): boolean {
  return context === 1;
}
