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
import { readProfile } from './profile.ts';
import { type SealedSecret, UnknownKeyError, type Vault, VaultError } from './vault.ts';

export type ReadUserOutcome =
  | { readonly kind: 'found'; readonly record: Readonly<Record<string, unknown>> }
  /** The service API has no task that reads this account's user. */
  | { readonly kind: 'not_documented' }
  | { readonly kind: 'failed'; readonly refusal: LinkRefusal };

export type TeamCredential = Extract<Credential, { method: 'trusted_application' }>;

/** The account of the whole team, for people without an account. Used only for approved orders. */
export interface TeamAccounts {
  current(): Promise<Account | undefined>;
  /**
   * Encrypts and saves an application as the team's account. Replaces the previous one.
   * @param by the admin
   */
  link(by: string, credential: TeamCredential): Promise<LinkOutcome>;
  /** @returns the deleted account; undefined if there was none */
  unlink(by: string): Promise<Account | undefined>;
}

export interface Accounts {
  readonly team: TeamAccounts;
  list(userId: string): Promise<readonly Account[]>;
  listPeople(): Promise<readonly string[]>;
  findActive(userId: string): Promise<Account | undefined>;
  /** The account for a person's orders: their own active one, or else the team's. */
  findDefault(userId: string): Promise<Account | undefined>;
  find(accountId: string): Promise<Account | undefined>;
  /** Checks a credential at the service. If it is valid, encrypts and saves it. */
  link(userId: string, credential: Credential): Promise<LinkOutcome>;
  /**
   * Deletes the account in the slot, or all of the person's accounts if no slot is given. Ends their sessions.
   * @returns the deleted accounts
   */
  unlink(userId: string, slot?: string): Promise<readonly Account[]>;
  /** @returns the account, which is now active; undefined if the person has none in the slot */
  activate(userId: string, slot: string): Promise<Account | undefined>;
  loadClient(accountId: string): Promise<ServiceClient | undefined>;
  /**
   * Logs in with a password account to read the user's rights, profile and customer data. They aren't stored.
   * @returns undefined if the account no longer exists
   */
  readUser(accountId: string): Promise<ReadUserOutcome | undefined>;
  /** Records that the service accepted the account's credential. */
  recordAccepted(accountId: string): Promise<void>;
  /** Re-encrypts credentials with the current key, and returns their number. */
  reseal(): Promise<number>;
  close(): Promise<void>;
}

const RESEAL_BATCH_SIZE = 100;

export function canDecryptAccount(vault: Vault, account: Account, sealed: SealedSecret): boolean {
  try {
    vault.open(sealed, buildCredentialAssociatedData(account));
    return true;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    return false;
  }
}

interface Scope extends AccountsContext {
  readonly clients: ClientCache;
}

export function createAccounts(context: AccountsContext): Accounts {
  const { teamId, store } = context;
  const clients = createClientCache(context);
  const scope: Scope = { ...context, clients };
  const findActive = async (userId: string) =>
    (await store.list(teamId, userId)).find((each) => each.isActive);
  return {
    team: {
      current: () => store.team.find(teamId),
      link: (by, credential) => linkTeam(scope, by, credential),
      unlink: (by) => unlinkTeam(scope, by),
    },
    list: (userId) => store.list(teamId, userId),
    listPeople: () => store.listUserIds(teamId),
    findActive,
    findDefault: async (userId) => (await findActive(userId)) ?? store.team.find(teamId),
    find: async (accountId) => (await store.find(accountId))?.account,
    link: (userId, credential) => linkPerson(scope, userId, credential),
    unlink: (userId, slot) => unlinkPerson(scope, userId, slot),
    activate: async (userId, slot) =>
      (await store.activate(teamId, userId, slot)) ? findActive(userId) : undefined,
    loadClient: clients.open,
    readUser: (accountId) => readUser(scope, accountId),
    recordAccepted: clients.markAccepted,
    reseal: () => reseal(scope),
    close: clients.closeAll,
  };
}

async function linkTeam(scope: Scope, by: string, credential: TeamCredential): Promise<LinkOutcome> {
  const { teamId, store, vault } = scope;
  const checked = await checkCredential(scope, credential);
  if (checked.kind !== 'checked') return checked;
  const now = scope.now();
  const previous = await store.team.find(teamId);
  // The same application keeps its id, so that pending orders stay bound to it.
  const id = previous?.login === credential.uuid ? previous.id : randomUUID();
  const account: TeamAccount = {
    id,
    teamId,
    userId: undefined,
    linkedBy: by,
    method: credential.method,
    slot: APPLICATION_SLOT,
    context: undefined,
    login: credential.uuid,
    application: credential.application,
    isActive: false,
    verifiedAt: checked.verified ? now : undefined,
    profile: checked.profile,
  };
  await store.team.save(
    account,
    vault.seal(serializeCredential(checked.stored), buildCredentialAssociatedData(account)),
    now,
  );
  return finishLink(scope, account, previous);
}

async function unlinkTeam({ teamId, store, now, clients }: Scope, by: string): Promise<Account | undefined> {
  const removed = await store.team.remove(teamId, by, now());
  if (removed !== undefined) await clients.close(removed.id, 'all');
  return removed;
}

async function linkPerson(scope: Scope, userId: string, credential: Credential): Promise<LinkOutcome> {
  const { teamId, store, vault } = scope;
  const checked = await checkCredential(scope, credential);
  if (checked.kind !== 'checked') return checked;
  const { stored, verified, profile } = checked;
  const now = scope.now();
  const slot = credential.method === 'trusted_application' ? APPLICATION_SLOT : String(credential.context);
  const login = credential.method === 'trusted_application' ? credential.uuid : credential.user;
  const previous = (await store.list(teamId, userId)).find((account) => account.slot === slot);
  // The same login keeps its id, so that pending orders stay bound to it.
  const id = previous?.login === login && previous.method === credential.method ? previous.id : randomUUID();
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
    verifiedAt: verified ? now : undefined,
    profile,
  };
  await store.save(account, vault.seal(serializeCredential(stored), buildCredentialAssociatedData(account)));
  return finishLink(scope, account, previous);
}

/** Ends the sessions of the account that was replaced. */
async function finishLink(
  { clients }: Scope,
  account: Account,
  previous: Account | undefined,
): Promise<LinkOutcome> {
  if (previous !== undefined) await clients.close(previous.id, 'all');
  const replaced = previous === undefined || previous.id === account.id ? {} : { replaced: previous };
  return { kind: 'linked', account, isVerified: account.verifiedAt !== undefined, ...replaced };
}

async function unlinkPerson(
  { teamId, store, clients }: Scope,
  userId: string,
  slot: string | undefined,
): Promise<readonly Account[]> {
  const removed = (await store.list(teamId, userId)).filter(
    (account) => slot === undefined || account.slot === slot,
  );
  for (const account of removed) {
    // A client is needed to end a stored session.
    if (account.method === 'two_factor') await clients.open(account.id).catch(() => undefined);
  }
  await store.remove(removed.map((account) => account.id));
  await Promise.all(removed.map((account) => clients.close(account.id, 'all')));
  return removed;
}

async function readUser(
  { store, now, clients }: Scope,
  accountId: string,
): Promise<ReadUserOutcome | undefined> {
  const client = await clients.open(accountId);
  if (client === undefined) return undefined;
  try {
    const verification = await client.verify({ acl: true, profile: true, customer: true });
    if (!verification.verified || verification.user === undefined) return { kind: 'not_documented' };
    await store.markVerified(accountId, now(), readProfile(verification.user));
    return { kind: 'found', record: verification.user };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'failed', refusal: toLinkFailure(error).refusal };
  }
}

async function reseal({ store, vault, log }: Scope): Promise<number> {
  let count = 0;
  // One at a time, so that an account that can't be decrypted doesn't block the others.
  for (let afterId: string | undefined; ; ) {
    const batch = await store.listSealedWithOtherKey(vault.currentKeyId, RESEAL_BATCH_SIZE, afterId);
    for (const { account, sealed } of batch) {
      try {
        const associatedData = buildCredentialAssociatedData(account);
        const resealed = vault.seal(vault.open(sealed, associatedData), associatedData);
        if (await store.reseal(account.id, sealed, resealed)) count += 1;
      } catch (err) {
        // The vault has already logged the missing key.
        if (err instanceof UnknownKeyError) continue;
        log.error({ err, accountId: account.id }, 'encrypting a credential with the current key failed');
      }
    }
    afterId = batch.at(-1)?.account.id;
    if (afterId === undefined) return count;
  }
}
