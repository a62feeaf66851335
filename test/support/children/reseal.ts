// Seals all credentials with the first key, as the bot does on startup.
import { createAccounts } from '../../../src/accounts/accounts.ts';
import { createVault } from '../../../src/accounts/vault.ts';
import { loadCredentialsKeys } from '../../../src/config/credentials-key.ts';
import { readConfig } from '../../../src/config/environment.ts';
import { createLog } from '../../../src/lib/log.ts';
import { createAccountStore } from '../../../src/store/accounts.ts';
import { openDatabase } from '../../../src/store/database.ts';

const config = readConfig(process.env);
const log = createLog('info');
const database = openDatabase({ url: config.databaseUrl?.reveal() ?? '', log });
const accounts = createAccounts({
  teamId: 'T0STEWARD',
  store: createAccountStore(database),
  vault: createVault(loadCredentialsKeys(config)),
  now: () => new Date(),
  log,
  createClient: () => {
    throw new Error('resealing must not call the service');
  },
});
log.info({ count: await accounts.reseal() }, 'sealed');
await database.close();
