import { randomUUID } from 'node:crypto';
import type { Log } from '../lib/log.ts';
import type { Credential } from '../service/authenticator/signature.ts';
import type { ServiceClient } from '../service/client.ts';
import { ServiceError } from '../service/errors.ts';
import { NOT_SENDABLE, type RequestIssue } from '../service/request-issue.ts';
import type { Secret } from '../service/secret.ts';
import {
  type Account,
  type AccountStore,
  APPLICATION_SLOT,
  type PersonAccount,
  type TeamAccount,
} from './account.ts';
import { credentialFromText, credentialToText } from './credential.ts';
import { type AccountProfile, readProfile } from './profile.ts';
import { type Sealed, UnknownKeyError, type Vault, VaultError } from './vault.ts';

export type LinkOutcome =
  /** `verified` is false where the document shows no check of the credential: its first use shows whether it is good. */
  | {
      readonly kind: 'linked';
      readonly account: Account;
      readonly verified: boolean;
      /** Another account that stood in its slot and is forgotten. */
      readonly replaced?: Account;
    }
  /** The service did not accept it, or it cannot be sent. */
  | { readonly kind: 'refused'; readonly refusal: CredentialRefusal }
  /** The service could not be asked: nothing was stored. */
  | { readonly kind: 'unreachable'; readonly refusal: CheckRefusal };

/** Why a credential is not good. */
export type CredentialRefusal =
  | { readonly code: 'not_accepted'; readonly said: ServiceStatement | undefined }
  /** It cannot be sent as it is. */
  | { readonly code: 'not_sendable'; readonly issue: RequestIssue };

/** Why a credential could not be checked. */
export type CheckRefusal =
  | { readonly code: 'busy'; readonly said: ServiceStatement | undefined }
  /** A one-time token is good once; `retryAfterMs` is the time until the next one. */
  | { readonly code: 'token_used'; readonly retryAfterMs: number }
  | { readonly code: 'no_clear_answer'; readonly said: ServiceStatement | undefined };

/** Why the service did not tell of an account. */
export type LinkRefusal = CredentialRefusal | CheckRefusal;

/** The service's own words with a refusal. */
export interface ServiceStatement {
  /** Its code and text. */
  readonly words: string;
  /** The server transaction that it names. */
  readonly stid: string | undefined;
}

export type LookUpOutcome =
  | { readonly kind: 'told'; readonly record: Readonly<Record<string, unknown>> }
  /** The document shows no way to ask about such an account's user. */
  | { readonly kind: 'not_documented' }
  | { readonly kind: 'failed'; readonly refusal: LinkRefusal };

/** A credential that can be the team's: one that is nobody's own. */
export type TeamCredential = Extract<Credential, { method: 'trusted_application' }>;

/** The account of the whole team, for people who have none of their own. Only approved orders use it. */
export interface TeamAccounts {
  /** Undefined while nobody has linked one. */
  current(): Promise<Account | undefined>;
  /** Keeps an application sealed as the team's account, in place of the one before. @param by the admin */
  link(by: string, credential: TeamCredential): Promise<LinkOutcome>;
  /** @returns what was forgotten, or undefined when there was nothing */
  unlink(by: string): Promise<Account | undefined>;
}

/** The linked credentials of the team. */
export interface Accounts {
  readonly team: TeamAccounts;
  list(userId: string): Promise<readonly Account[]>;
  /** Everybody who has an account of their own. */
  people(): Promise<readonly string[]>;
  /** The account that a person's commands use. */
  active(userId: string): Promise<Account | undefined>;
  /** The account that a person's orders go out with: their own active one, or the team's where they have none. */
  forOrders(userId: string): Promise<Account | undefined>;
  find(accountId: string): Promise<Account | undefined>;
  /** Checks a credential at the service, and keeps it sealed when it is good. */
  link(userId: string, credential: Credential): Promise<LinkOutcome>;
  /** Forgets one account, or all when no slot is given, and ends their sessions. @returns what was forgotten */
  unlink(userId: string, slot?: string): Promise<readonly Account[]>;
  /** @returns the account that is active now, or undefined when the person has none in the slot */
  use(userId: string, slot: string): Promise<Account | undefined>;
  /** The client that carries an account's credential, or undefined when the account is gone. */
  clientFor(accountId: string): Promise<ServiceClient | undefined>;
  /**
   * Logs a password account in again to read all that the service says of the user: rights, profile and customer data.
   * They are returned and not kept.
   * @returns undefined when the account is gone
   */
  lookUp(accountId: string): Promise<LookUpOutcome | undefined>;
  /** The service has accepted an account's credential: an account that was not yet used counts as checked. */
  accepted(accountId: string): Promise<void>;
  /** Seals credentials again that an older key has sealed. @returns how many */
  reseal(): Promise<number>;
  /** Ends all sessions. */
  close(): Promise<void>;
}

export interface AccountsContext {
  readonly teamId: string;
  readonly store: AccountStore;
  readonly vault: Vault;
  readonly now: () => Date;
  readonly log: Log;
  readonly createClient: (credential: Credential) => ServiceClient;
}

/** The client of one sealed credential. An account whose credential changes gets another client. */
interface HeldClient {
  readonly sealed: Sealed;
  readonly client: ServiceClient;
  /** The service has accepted it, and the account's row says so. */
  readonly verified: boolean;
}

/** With more clients than this the one that was idle longest is closed: each may hold a session at the service. */
const MAX_CLIENTS = 500;
const RESEAL_BATCH = 100;

/** Whether an account's credential opens with the keys of the vault. */
export function opensAccount(vault: Vault, account: Account, sealed: Sealed): boolean {
  try {
    vault.open(sealed, ownerOf(account));
    return true;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    return false;
  }
}

/**
 * What a sealed credential is bound to: a row that is moved to another team, person or context does not open, nor does one
 * of the team as a person's or the other way round.
 */
function ownerOf({ teamId, userId, slot }: Account): readonly string[] {
  return userId === undefined ? ['team-account', teamId, slot] : ['account', teamId, userId, slot];
}

/** A credential that the service takes, or of which nothing documented tells. */
interface CheckedCredential {
  readonly kind: 'checked';
  /** As it is to be kept. */
  readonly kept: Credential;
  readonly verified: boolean;
  readonly profile: AccountProfile | undefined;
}

export function createAccounts(deps: AccountsContext): Accounts {
  const { teamId, store, vault } = deps;
  const clients = new Map<string, HeldClient>();

  const closeClient = async (accountId: string, sessions: 'own' | 'all') => {
    const held = clients.get(accountId);
    clients.delete(accountId);
    try {
      await held?.client.close(sessions);
    } catch (err) {
      deps.log.warn({ err }, 'ending a session at the domain service');
    }
  };

  const check = async (credential: Credential): Promise<CheckedCredential | LinkFailure> => {
    const client = deps.createClient(credential);
    try {
      const verification = await client.verify();
      const { verified } = verification;
      if (!verified) return { kind: 'checked', kept: credential, verified, profile: undefined };
      const { sessionHash, sessionEndsAt } = verification;
      const kept =
        credential.method === 'two_factor' && sessionHash !== undefined
          ? withSession(credential, sessionHash, sessionEndsAt)
          : credential;
      return { kind: 'checked', kept, verified, profile: readProfile(verification.user) };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return linkFailure(error);
    } finally {
      await client.close().catch((err: unknown) => deps.log.warn({ err }, 'ending the session of a check'));
    }
  };

  /** Ends the sessions of the account that stood in the place of a linked one. */
  const linked = async (account: Account, previous: Account | undefined): Promise<LinkOutcome> => {
    if (previous !== undefined) await closeClient(previous.id, 'all');
    const replaced = previous === undefined || previous.id === account.id ? {} : { replaced: previous };
    return { kind: 'linked', account, verified: account.verifiedAt !== undefined, ...replaced };
  };

  const team: TeamAccounts = {
    current: () => store.team.find(teamId),

    async link(by, credential) {
      const checked = await check(credential);
      if (checked.kind !== 'checked') return checked;
      const now = deps.now();
      const previous = await team.current();
      // The same application keeps its id, so that orders that wait stay bound to it.
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
        active: false,
        verifiedAt: checked.verified ? now : undefined,
        profile: checked.profile,
      };
      await store.team.save(account, vault.seal(credentialToText(checked.kept), ownerOf(account)), now);
      return linked(account, previous);
    },

    async unlink(by) {
      const gone = await store.team.remove(teamId, by, deps.now());
      if (gone !== undefined) await closeClient(gone.id, 'all');
      return gone;
    },
  };

  const accounts: Accounts = {
    team,

    list: (userId) => store.list(teamId, userId),

    people: () => store.people(teamId),

    async active(userId) {
      return (await store.list(teamId, userId)).find((account) => account.active);
    },

    async forOrders(userId) {
      return (await accounts.active(userId)) ?? team.current();
    },

    async find(accountId) {
      return (await store.find(accountId))?.account;
    },

    async link(userId, credential) {
      const checked = await check(credential);
      if (checked.kind !== 'checked') return checked;
      const { kept, verified, profile } = checked;
      const now = deps.now();
      const slot =
        credential.method === 'trusted_application' ? APPLICATION_SLOT : String(credential.context);
      const login = credential.method === 'trusted_application' ? credential.uuid : credential.user;
      const previous = (await store.list(teamId, userId)).find((account) => account.slot === slot);
      // The same login keeps its id, so that orders that wait stay bound to it.
      const id =
        previous?.login === login && previous.method === credential.method ? previous.id : randomUUID();
      const account: PersonAccount = {
        id,
        teamId,
        userId,
        method: credential.method,
        slot,
        context: credential.method === 'trusted_application' ? undefined : credential.context,
        login,
        application: credential.method === 'trusted_application' ? credential.application : undefined,
        active: true,
        verifiedAt: verified ? now : undefined,
        profile,
      };
      await store.save(account, vault.seal(credentialToText(kept), ownerOf(account)));
      return linked(account, previous);
    },

    async unlink(userId, slot) {
      const gone = (await store.list(teamId, userId)).filter(
        (account) => slot === undefined || account.slot === slot,
      );
      for (const account of gone) {
        // The client is opened if need be, so that a session that was kept for the account ends with it.
        if (account.method === 'two_factor') await accounts.clientFor(account.id).catch(() => undefined);
      }
      await store.remove(gone.map((account) => account.id));
      await Promise.all(gone.map((account) => closeClient(account.id, 'all')));
      return gone;
    },

    async use(userId, slot) {
      if (!(await store.activate(teamId, userId, slot))) return undefined;
      return accounts.active(userId);
    },

    async clientFor(accountId) {
      const found = await store.find(accountId);
      if (found === undefined) {
        await closeClient(accountId, 'own');
        return undefined;
      }
      const held = clients.get(accountId);
      if (held !== undefined && isSame(held.sealed, found.sealed)) {
        // Inserted again, so that the map's order is the order of use.
        clients.delete(accountId);
        clients.set(accountId, held);
        return held.client;
      }
      const credential = credentialFromText(vault.open(found.sealed, ownerOf(found.account)));
      const client = deps.createClient(credential);
      clients.set(accountId, {
        sealed: found.sealed,
        client,
        verified: found.account.verifiedAt !== undefined,
      });
      if (held !== undefined) void held.client.close().catch(() => undefined);
      const oldest = clients.keys().next();
      if (clients.size > MAX_CLIENTS && oldest.done !== true) void closeClient(oldest.value, 'own');
      return client;
    },

    async lookUp(accountId) {
      const client = await accounts.clientFor(accountId);
      if (client === undefined) return undefined;
      try {
        const verification = await client.verify({ acl: true, profile: true, customer: true });
        if (!verification.verified || verification.user === undefined) return { kind: 'not_documented' };
        await store.markVerified(accountId, deps.now(), readProfile(verification.user));
        return { kind: 'told', record: verification.user };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return { kind: 'failed', refusal: linkFailure(error).refusal };
      }
    },

    async accepted(accountId) {
      const held = clients.get(accountId);
      if (held === undefined || held.verified) return;
      clients.set(accountId, { ...held, verified: true });
      try {
        await store.markVerified(accountId, deps.now());
      } catch (err) {
        // The next use notes it.
        if (clients.get(accountId)?.client === held.client) clients.set(accountId, held);
        deps.log.warn({ err, accountId }, 'noting that an account was accepted');
      }
    },

    async reseal() {
      let count = 0;
      // Each row by itself: one that cannot be opened must not hold up the others.
      for (let afterId: string | undefined; ; ) {
        const batch = await store.sealedWithOtherKey(vault.currentKeyId, RESEAL_BATCH, afterId);
        for (const { account, sealed } of batch) {
          try {
            const owner = ownerOf(account);
            const again = vault.seal(vault.open(sealed, owner), owner);
            if (await store.reseal(account.id, sealed, again)) count += 1;
          } catch (err) {
            // The vault reports a missing key, once for all rows.
            if (err instanceof UnknownKeyError) continue;
            deps.log.error({ err, accountId: account.id }, 'sealing a credential with the current key');
          }
        }
        afterId = batch.at(-1)?.account.id;
        if (afterId === undefined) return count;
      }
    },

    async close() {
      await Promise.all([...clients.keys()].map((accountId) => closeClient(accountId, 'own')));
    },
  };
  return accounts;
}

function isSame(one: Sealed, other: Sealed): boolean {
  return one.keyId === other.keyId && Buffer.from(one.bytes).equals(other.bytes);
}

/** A token is good once, so the session that it opened is kept in its place. */
function withSession(
  credential: Extract<Credential, { method: 'two_factor' }>,
  sessionHash: Secret,
  sessionEndsAt: number | undefined,
): Credential {
  const { token: _spent, ...rest } = credential;
  return { ...rest, sessionHash, sessionEndsAt };
}

type LinkFailure = Exclude<LinkOutcome, { readonly kind: 'linked' }>;

/** What a failed check says of the credential. */
function linkFailure(error: ServiceError): LinkFailure {
  const said = statementOf(error);
  switch (error.kind) {
    case 'auth':
    case 'refused':
      return { kind: 'refused', refusal: { code: 'not_accepted', said } };
    case 'invalid_input':
    case 'unsupported':
      return { kind: 'refused', refusal: { code: 'not_sendable', issue: error.issue ?? NOT_SENDABLE } };
    case 'busy':
      return { kind: 'unreachable', refusal: { code: 'busy', said } };
    case 'token_used':
      return {
        kind: 'unreachable',
        refusal: { code: 'token_used', retryAfterMs: error.retryAfterMs ?? 0 },
      };
    case 'not_sent':
    case 'unknown_outcome':
    case 'invalid_response':
      return { kind: 'unreachable', refusal: { code: 'no_clear_answer', said } };
  }
}

function statementOf({ code, text, stid }: ServiceError): ServiceStatement | undefined {
  const words = [code, text].filter((part) => part !== undefined && part !== '').join(' ');
  return words === '' ? undefined : { words, stid };
}
