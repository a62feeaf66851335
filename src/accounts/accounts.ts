import { randomUUID } from 'node:crypto';
import type { Credential } from '../service/authenticator/signature.ts';
import type { ServiceClient } from '../service/client.ts';
import { ServiceError } from '../service/errors.ts';
import {
  type Account,
  APPLICATION_SLOT,
  buildCredentialAssociatedData,
  type PersonAccount,
  type TeamAccount,
} from './account.ts';
import { checkCredential, type LinkOutcome, type LinkRefusal, toLinkFailure } from './check.ts';
import { type ClientCache, createClientCache } from './client-cache.ts';
import type { AccountsContext } from './context.ts';
import { serializeCredential } from './credential.ts';
import { parseProfile } from './profile.ts';
import { type SealedSecret, UnknownKeyError, type Vault, VaultError } from './vault.ts';

export type ReadUserOutcome =
  | { readonly kind: 'found'; readonly record: Readonly<Record<string, unknown>> }
  /** The service API has no task that reads this account's user. */
  | { readonly kind: 'not_documented' }
  | { readonly kind: 'failed'; readonly refusal: LinkRefusal };

export type TeamCredential = Extract<Credential, { method: 'trusted_application' }>;

/** The team's account is for people without an account, and is used only for approved orders. */
export interface TeamAccounts {
  find(): Promise<Account | undefined>;
  /** Checks and saves an application as the team's account. Replaces the previous one. */
  link(adminUserId: string, credential: TeamCredential): Promise<LinkOutcome>;
  /** @returns the deleted account; undefined if there was none */
  unlink(adminUserId: string): Promise<Account | undefined>;
}

export interface Accounts {
  readonly team: TeamAccounts;
  list(userId: string): Promise<readonly Account[]>;
  listUserIds(): Promise<readonly string[]>;
  findActive(userId: string): Promise<Account | undefined>;
  /** Finds the account for a person's orders: their own active one, or else the team's. */
  findDefault(userId: string): Promise<Account | undefined>;
  find(accountId: string): Promise<Account | undefined>;
  /** Checks a credential with the service, and saves it if it is accepted or can't be checked. */
  link(userId: string, credential: Credential): Promise<LinkOutcome>;
  /**
   * Deletes the account in the slot or, without a slot, all of the person's accounts. Ends their sessions.
   * @returns the deleted accounts
   */
  unlink(userId: string, slot?: string): Promise<readonly Account[]>;
  /** @returns the activated account; undefined if the person has none in the slot */
  activate(userId: string, slot: string): Promise<Account | undefined>;
  loadClient(accountId: string): Promise<ServiceClient | undefined>;
  /**
   * Logs in to read the user's rights, profile and customer data, and stores only the profile.
   * @returns undefined if the account no longer exists
   */
  readUser(accountId: string): Promise<ReadUserOutcome | undefined>;
  /** Records that the service accepted the account's credential. */
  recordAccepted(accountId: string): Promise<void>;
  /** Encrypts credentials again with the current key. @returns the number of credentials */
  reseal(): Promise<number>;
  close(): Promise<void>;
}

const RESEAL_BATCH_SIZE = 100;

export function canDecryptCredential(vault: Vault, account: Account, sealed: SealedSecret): boolean {
  try {
    vault.open(sealed, buildCredentialAssociatedData(account));
    return true;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    return false;
  }
}

interface ContextWithClients extends AccountsContext {
  readonly clients: ClientCache;
}

export function createAccounts(context: AccountsContext): Accounts {
  const { teamId, store } = context;
  const clients = createClientCache(context);
  const contextWithClients: ContextWithClients = { ...context, clients };
  const findActive = async (userId: string) =>
    (await store.list(teamId, userId)).find((account) => account.isActive);
  return {
    team: {
      find: () => store.team.find(teamId),
      link: (adminUserId, credential) => linkTeam(contextWithClients, adminUserId, credential),
      unlink: (adminUserId) => unlinkTeam(contextWithClients, adminUserId),
    },
    list: (userId) => store.list(teamId, userId),
    listUserIds: () => store.listUserIds(teamId),
    findActive,
    findDefault: async (userId) => (await findActive(userId)) ?? store.team.find(teamId),
    find: async (accountId) => (await store.find(accountId))?.account,
    link: (userId, credential) => linkPerson(contextWithClients, userId, credential),
    unlink: (userId, slot) => unlinkPerson(contextWithClients, userId, slot),
    activate: async (userId, slot) =>
      (await store.activate(teamId, userId, slot)) ? findActive(userId) : undefined,
    loadClient: clients.open,
    readUser: (accountId) => readUser(contextWithClients, accountId),
    recordAccepted: clients.recordAccepted,
    reseal: () => reseal(contextWithClients),
    close: clients.closeAll,
  };
}

async function linkTeam(
  context: ContextWithClients,
  adminUserId: string,
  credential: TeamCredential,
): Promise<LinkOutcome> {
  const { teamId, store, vault } = context;
  const checkResult = await checkCredential(context, credential);
  if (checkResult.kind !== 'checked') return checkResult;
  const now = context.now();
  const previousAccount = await store.team.find(teamId);
  // An account of the same application keeps its id, so that pending orders stay bound to it.
  const id = previousAccount?.login === credential.uuid ? previousAccount.id : randomUUID();
  const account: TeamAccount = {
    id,
    teamId,
    userId: undefined,
    linkedBy: adminUserId,
    method: credential.method,
    slot: APPLICATION_SLOT,
    context: undefined,
    login: credential.uuid,
    application: credential.application,
    isActive: false,
    verifiedAt: checkResult.isVerified ? now : undefined,
    profile: checkResult.profile,
  };
  await store.team.save(
    account,
    vault.seal(serializeCredential(checkResult.credentialToStore), buildCredentialAssociatedData(account)),
    now,
  );
  return finishLink(context, account, previousAccount);
}

async function unlinkTeam(
  { teamId, store, now, clients }: ContextWithClients,
  adminUserId: string,
): Promise<Account | undefined> {
  const removedAccount = await store.team.remove(teamId, adminUserId, now());
  if (removedAccount !== undefined) await clients.close(removedAccount.id, 'all');
  return removedAccount;
}

async function linkPerson(
  context: ContextWithClients,
  userId: string,
  credential: Credential,
): Promise<LinkOutcome> {
  const { teamId, store, vault } = context;
  const checkResult = await checkCredential(context, credential);
  if (checkResult.kind !== 'checked') return checkResult;
  const { credentialToStore, isVerified, profile } = checkResult;
  const now = context.now();
  const slot = credential.method === 'trusted_application' ? APPLICATION_SLOT : String(credential.context);
  const login = credential.method === 'trusted_application' ? credential.uuid : credential.user;
  const previousAccount = (await store.list(teamId, userId)).find((account) => account.slot === slot);
  // An account with the same login keeps its id, so that pending orders stay bound to it.
  const id =
    previousAccount?.login === login && previousAccount.method === credential.method
      ? previousAccount.id
      : randomUUID();
  const account: PersonAccount = {
    id,
    teamId,
    userId,
    method: credential.method,
    slot,
    context: credential.method === 'trusted_application' ? undefined : credential.context,
    login,
    application: credential.method === 'trusted_application' ? credential.application : undefined,
    isActive: true,
    verifiedAt: isVerified ? now : undefined,
    profile,
  };
  await store.save(
    account,
    vault.seal(serializeCredential(credentialToStore), buildCredentialAssociatedData(account)),
  );
  return finishLink(context, account, previousAccount);
}

/** Ends the previous account's sessions. */
async function finishLink(
  { clients }: ContextWithClients,
  account: Account,
  previousAccount: Account | undefined,
): Promise<LinkOutcome> {
  if (previousAccount !== undefined) await clients.close(previousAccount.id, 'all');
  const replaced =
    previousAccount === undefined || previousAccount.id === account.id ? {} : { replaced: previousAccount };
  return { kind: 'linked', account, isVerified: account.verifiedAt !== undefined, ...replaced };
}

async function unlinkPerson(
  { teamId, store, clients }: ContextWithClients,
  userId: string,
  slot: string | undefined,
): Promise<readonly Account[]> {
  const removedAccounts = (await store.list(teamId, userId)).filter(
    (account) => slot === undefined || account.slot === slot,
  );
  for (const account of removedAccounts) {
    // `close` can end a stored session only through an open client.
    if (account.method === 'two_factor') await clients.open(account.id).catch(() => undefined);
  }
  await store.remove(removedAccounts.map((account) => account.id));
  await Promise.all(removedAccounts.map((account) => clients.close(account.id, 'all')));
  return removedAccounts;
}

async function readUser(
  { store, now, clients }: ContextWithClients,
  accountId: string,
): Promise<ReadUserOutcome | undefined> {
  const client = await clients.open(accountId);
  if (client === undefined) return undefined;
  try {
    const verification = await client.verify({ acl: true, profile: true, customer: true });
    if (!verification.verified || verification.user === undefined) return { kind: 'not_documented' };
    await store.markVerified(accountId, now(), parseProfile(verification.user));
    return { kind: 'found', record: verification.user };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'failed', refusal: toLinkFailure(error).refusal };
  }
}

async function reseal({ store, vault, log }: ContextWithClients): Promise<number> {
  let resealedCount = 0;
  for (let afterId: string | undefined; ; ) {
    const batch = await store.listSealedWithOtherKey(vault.currentKeyId, RESEAL_BATCH_SIZE, afterId);
    for (const { account, sealed } of batch) {
      try {
        const associatedData = buildCredentialAssociatedData(account);
        const resealed = vault.seal(vault.open(sealed, associatedData), associatedData);
        if (await store.reseal(account.id, sealed, resealed)) resealedCount += 1;
      } catch (err) {
        // The vault has already logged the missing key.
        if (err instanceof UnknownKeyError) continue;
        log.error({ err, accountId: account.id }, 'encrypting a credential with the current key failed');
      }
    }
    afterId = batch.at(-1)?.account.id;
    if (afterId === undefined) return resealedCount;
  }
}
