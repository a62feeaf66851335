import type { Log } from '../lib/log.ts';
import type { Credential } from '../service/authenticator/signature.ts';
import type { ServiceClient } from '../service/client.ts';
import type { AccountStore } from './account.ts';
import type { Vault } from './vault.ts';

export interface AccountsContext {
  readonly teamId: string;
  readonly store: AccountStore;
  readonly vault: Vault;
  readonly now: () => Date;
  readonly log: Log;
  readonly createClient: (credential: Credential) => ServiceClient;
}
