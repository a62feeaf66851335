import type { Credential } from '../service/authenticator/signature.ts';
import type { AccountProfile } from './profile.ts';
import type { Sealed } from './vault.ts';

export type LinkMethod = Credential['method'];

/** A linked credential, without its secrets. */
export interface Account {
  readonly id: string;
  readonly teamId: string;
  /** Slack user id of the person whose credential it is; undefined for the team's account. */
  readonly userId: string | undefined;
  /** The admin who linked the team's account; undefined for a person's. */
  readonly linkedBy?: string | undefined;
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

export interface PersonAccount extends Account {
  readonly userId: string;
}

/** The slot of a trusted application, which has no context. */
export const APPLICATION_SLOT = 'application';

/** Where accounts are kept. Implemented by the store. */
export interface AccountStore {
  /** A person's accounts, by slot. */
  list(teamId: string, userId: string): Promise<readonly Account[]>;
  /** Everybody who has an account of their own. */
  people(teamId: string): Promise<readonly string[]>;
  find(id: string): Promise<{ readonly account: Account; readonly sealed: Sealed } | undefined>;
  /** Stores the account in its slot in place of the one that was there, and makes it the person's active one. */
  save(account: PersonAccount, sealed: Sealed): Promise<void>;
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
  readonly team: TeamAccountStore;
}

/**
 * Where the team's account is kept, beside the accounts of people. There is at most one, and every change has a line in the
 * audit log.
 */
export interface TeamAccountStore {
  find(teamId: string): Promise<Account | undefined>;
  /** Stores it in place of the one that was there. One with the same login keeps its id. */
  save(account: TeamAccount, sealed: Sealed, at: Date): Promise<void>;
  /** Forgets it and its secrets. @returns what was forgotten */
  remove(teamId: string, by: string, at: Date): Promise<Account | undefined>;
}

/** The account of the whole team: a trusted application that an admin has linked. */
export interface TeamAccount extends Account {
  readonly method: 'trusted_application';
  readonly userId: undefined;
  readonly linkedBy: string;
  readonly application: string;
}

/** Whether an account is the team's, which only approved orders may use. */
export function isTeamAccount(account: Account): boolean {
  return account.userId === undefined;
}

export type { TokenSteps } from '../service/authenticator/token-steps.ts';

/** How an account is named to people: `alice in context 4`. */
export function accountName(account: {
  readonly login: string;
  readonly context: number | undefined;
}): string {
  return account.context === undefined
    ? `application ${account.login}`
    : `${account.login} in context ${account.context}`;
}

/** The demo system; every other context is the live one (service API, Authentication). */
export const DEMO_CONTEXT = 1;

export function isDemoContext(context: number | undefined): boolean {
  return context === DEMO_CONTEXT;
}

/** Binds a sealed credential to its row: it does not open in the row of another team, person or context. */
export function holderOf({ teamId, userId, slot }: Account): readonly string[] {
  return userId === undefined ? ['team-account', teamId, slot] : ['account', teamId, userId, slot];
}
