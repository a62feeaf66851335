import type { Credential } from '../service/authenticator/signature.ts';
import type { AccountProfile } from './profile.ts';
import type { SealedSecret } from './vault.ts';

export type LinkMethod = Credential['method'];

/** A linked credential, without its secrets. */
export interface Account {
  readonly id: string;
  readonly teamId: string;
  /** Undefined for the team's account. */
  readonly userId: string | undefined;
  /** The admin who linked the team's account. */
  readonly linkedBy?: string | undefined;
  readonly method: LinkMethod;
  /** The context number as text, or `application`. A person has at most one account per slot. */
  readonly slot: string;
  /** Undefined for a trusted application. */
  readonly context: number | undefined;
  /** User name at the service, or the application's UUID. */
  readonly login: string;
  readonly application: string | undefined;
  readonly isActive: boolean;
  /** When the service last accepted the credential. */
  readonly verifiedAt: Date | undefined;
  /** From the last check of the credential. */
  readonly profile?: AccountProfile | undefined;
}

export interface PersonAccount extends Account {
  readonly userId: string;
}

export const APPLICATION_SLOT = 'application';

export interface AccountStore {
  list(teamId: string, userId: string): Promise<readonly Account[]>;
  /** Lists everyone who has a personal account. */
  listUserIds(teamId: string): Promise<readonly string[]>;
  find(id: string): Promise<{ readonly account: Account; readonly sealed: SealedSecret } | undefined>;
  /** Replaces the account in its slot and makes it the person's active one. */
  save(account: PersonAccount, sealed: SealedSecret): Promise<void>;
  /** @returns false if the person has no account in the slot */
  activate(teamId: string, userId: string, slot: string): Promise<boolean>;
  remove(ids: readonly string[]): Promise<void>;
  /** @param profile undefined keeps the stored profile */
  markVerified(id: string, verifiedAt: Date, profile?: AccountProfile): Promise<void>;
  /** Lists accounts encrypted with a key other than `keyId`, sorted by id, starting after `afterId`. */
  listSealedWithOtherKey(
    keyId: string,
    limit: number,
    afterId?: string,
  ): Promise<readonly { readonly account: Account; readonly sealed: SealedSecret }[]>;
  /** Replaces the encrypted credential. @returns false if it has changed since it was read */
  reseal(id: string, previousSecret: SealedSecret, newSecret: SealedSecret): Promise<boolean>;
  readonly team: TeamAccountStore;
}

/** Stores the team's account, if there is one. Logs every change. */
export interface TeamAccountStore {
  find(teamId: string): Promise<Account | undefined>;
  /** Replaces the previous account. If the login is the same, the account keeps its id. */
  save(account: TeamAccount, sealed: SealedSecret, savedAt: Date): Promise<void>;
  /** @returns the deleted account */
  remove(teamId: string, adminUserId: string, removedAt: Date): Promise<Account | undefined>;
}

/** A trusted application, linked by an admin. */
export interface TeamAccount extends Account {
  readonly method: 'trusted_application';
  readonly userId: undefined;
  readonly linkedBy: string;
  readonly application: string;
}

export function isTeamAccount(account: Account): boolean {
  return account.userId === undefined;
}

export type { UsedTokenSteps } from '../service/authenticator/token-steps.ts';

/** Returns `alice in context 4`, for example. */
export function formatAccountName(account: {
  readonly login: string;
  readonly context: number | undefined;
}): string {
  return account.context === undefined
    ? `application ${account.login}`
    : `${account.login} in context ${account.context}`;
}

/** All other contexts are live (service API, section Authentication). */
export const DEMO_CONTEXT = 1;

export function isDemoContext(context: number | undefined): boolean {
  return context === DEMO_CONTEXT;
}

/** Binds an encrypted credential to its row: it can't be decrypted for another team, person or context. */
export function buildCredentialAssociatedData({ teamId, userId, slot }: Account): readonly string[] {
  return userId === undefined ? ['team-account', teamId, slot] : ['account', teamId, userId, slot];
}
