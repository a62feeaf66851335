import type { ServiceClient } from '../service/client.ts';
import { type Account, buildCredentialAssociatedData } from './account.ts';
import type { AccountsContext } from './context.ts';
import { parseCredential } from './credential.ts';
import type { SealedSecret } from './vault.ts';

/** A cached client is replaced if the account's encrypted credential changes. */
interface CachedClient {
  readonly sealed: SealedSecret;
  readonly client: ServiceClient;
  /** Whether the service has accepted the credential, as recorded in the account's row. */
  readonly isVerified: boolean;
}

/** The limit exists because each client may hold a session at the service. */
const MAX_CLIENTS = 500;

export type ClientCache = ReturnType<typeof createClientCache>;

export function createClientCache(context: AccountsContext) {
  const { store, vault, now, log } = context;
  /** Keyed by account id, least recently used first. */
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
    const [oldestId] = clients.keys();
    if (clients.size > MAX_CLIENTS && oldestId !== undefined) void close(oldestId, 'own');
    return client;
  }

  return {
    close,

    closeAll: async () => {
      await Promise.all([...clients.keys()].map((accountId) => close(accountId, 'own')));
    },

    /** @returns undefined if the account no longer exists */
    async open(accountId: string): Promise<ServiceClient | undefined> {
      const stored = await store.find(accountId);
      if (stored === undefined) {
        await close(accountId, 'own');
        return undefined;
      }
      const cached = clients.get(accountId);
      if (cached === undefined || !isSameCredential(cached.sealed, stored.sealed))
        return addClient(cached, stored.account, stored.sealed);
      clients.delete(accountId);
      clients.set(accountId, cached);
      return cached.client;
    },

    async recordAccepted(accountId: string): Promise<void> {
      const cached = clients.get(accountId);
      if (cached === undefined || cached.isVerified) return;
      clients.set(accountId, { ...cached, isVerified: true });
      try {
        await store.markVerified(accountId, now());
      } catch (err) {
        // The next call tries again.
        if (clients.get(accountId)?.client === cached.client) clients.set(accountId, cached);
        log.warn({ err, accountId }, 'recording that the service accepted a credential failed');
      }
    },
  };
}

function isSameCredential(a: SealedSecret, b: SealedSecret): boolean {
  return a.keyId === b.keyId && Buffer.from(a.bytes).equals(b.bytes);
}
