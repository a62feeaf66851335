import type { ServiceClient } from '../service/client.ts';
import { type Account, buildCredentialAssociatedData } from './account.ts';
import type { AccountsContext } from './context.ts';
import { parseCredential } from './credential.ts';
import type { SealedSecret } from './vault.ts';

/** Clients of linked accounts. They share sessions and are created on demand. */

/** The client of one encrypted credential. If the credential changes, a new client is created. */
interface CachedClient {
  readonly sealed: SealedSecret;
  readonly client: ServiceClient;
  /** The service has accepted it, and the account's row is up to date. */
  readonly isVerified: boolean;
}

/** Above this number, the least recently used client is closed, because each may hold a session at the service. */
const MAX_CLIENTS = 500;

export type ClientCache = ReturnType<typeof createClientCache>;

export function createClientCache(context: AccountsContext) {
  const { store, vault, now, log } = context;
  /** Least recently used first. */
  const clients = new Map<string, CachedClient>();

  async function close(accountId: string, sessions: 'own' | 'all'): Promise<void> {
    const cached = clients.get(accountId);
    clients.delete(accountId);
    try {
      await cached?.client.close(sessions);
    } catch (err) {
      log.warn({ err }, 'ending a session at the domain service failed');
    }
  }

  function addClient(
    previous: CachedClient | undefined,
    account: Account,
    sealed: SealedSecret,
  ): ServiceClient {
    const client = context.createClient(
      parseCredential(vault.open(sealed, buildCredentialAssociatedData(account))),
    );
    clients.set(account.id, { sealed, client, isVerified: account.verifiedAt !== undefined });
    if (previous !== undefined) void previous.client.close().catch(() => undefined);
    const oldest = clients.keys().next();
    if (clients.size > MAX_CLIENTS && oldest.done !== true) void close(oldest.value, 'own');
    return client;
  }

  return {
    close,

    closeAll: async () => {
      await Promise.all([...clients.keys()].map((accountId) => close(accountId, 'own')));
    },

    /** @returns undefined if the account no longer exists */
    async open(accountId: string): Promise<ServiceClient | undefined> {
      const found = await store.find(accountId);
      if (found === undefined) {
        await close(accountId, 'own');
        return undefined;
      }
      const cached = clients.get(accountId);
      if (cached === undefined || !isSameCredential(cached.sealed, found.sealed))
        return addClient(cached, found.account, found.sealed);
      clients.delete(accountId);
      clients.set(accountId, cached);
      return cached.client;
    },

    async markAccepted(accountId: string): Promise<void> {
      const cached = clients.get(accountId);
      if (cached === undefined || cached.isVerified) return;
      clients.set(accountId, { ...cached, isVerified: true });
      try {
        await store.markVerified(accountId, now());
      } catch (err) {
        // It is saved at the next use.
        if (clients.get(accountId)?.client === cached.client) clients.set(accountId, cached);
        log.warn({ err, accountId }, 'noting that an account was accepted failed');
      }
    },
  };
}

function isSameCredential(one: SealedSecret, other: SealedSecret): boolean {
  return one.keyId === other.keyId && Buffer.from(one.bytes).equals(other.bytes);
}
