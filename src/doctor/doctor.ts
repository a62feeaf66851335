import type { AccountStore } from '../accounts/account.ts';
import { opensAccount } from '../accounts/accounts.ts';
import type { Vault } from '../accounts/vault.ts';
import type { Config } from '../config.ts';
import { findSealedKeys } from '../store/sealed-keys.ts';
import { readServerFacts } from '../store/server-facts.ts';
import { withSession } from '../store/session.ts';
import { checkDisk, checkKeys, checkServer } from './database-checks.ts';
import { type Finding, wrong } from './finding.ts';

export interface DoctorDeps {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly accounts: Pick<AccountStore, 'sealedWithOtherKey'>;
  readonly vault: Vault;
  readonly now: () => Date;
}

/** Tries every setting for real. Each group of checks yields its findings when it is done; none of them throws. */
export async function* examine(deps: DoctorDeps): AsyncGenerator<Finding> {
  const groups: readonly (readonly [subject: string, look: () => Promise<readonly Finding[]>])[] = [
    ['Database', () => examineDatabase(deps)],
    ['Disk', () => examineDisks(deps.config)],
  ];
  for (const [subject, look] of groups) {
    yield* await look().catch((error: unknown) => [
      wrong(subject, error instanceof Error ? error.message : String(error), 'Mend that, and try again.'),
    ]);
  }
}

function examineDatabase({ config, databaseUrl, accounts, vault, now }: DoctorDeps) {
  return withSession(databaseUrl, async (client): Promise<readonly Finding[]> => {
    const facts = await readServerFacts(client);
    const opened = new Map<string, boolean>();
    // No key has this id, so that the accounts of all keys are found.
    for (const { account, sealed } of await accounts.sealedWithOtherKey('', MAX_ACCOUNTS)) {
      if (!opened.has(sealed.keyId)) opened.set(sealed.keyId, opensAccount(vault, account, sealed));
    }
    const known = config.credentialsKeys.map(({ id }) => id);
    return [
      ...checkServer(facts, now()),
      ...checkKeys(await findSealedKeys(client), known, (keyId) => opened.get(keyId)),
    ];
  });
}

/** One of each key is tried. */
const MAX_ACCOUNTS = 1_000;

async function examineDisks({ databaseUrl, dataDir, backupDir }: Config): Promise<readonly Finding[]> {
  return Promise.all([
    ...(databaseUrl === undefined ? [checkDisk('Disk of the database', dataDir)] : []),
    ...(backupDir === undefined ? [] : [checkDisk('Disk of the backups', backupDir)]),
  ]);
}
