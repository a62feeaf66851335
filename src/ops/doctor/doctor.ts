import { stat } from 'node:fs/promises';
import type { AccountStore } from '../../accounts/account.ts';
import { canDecryptCredential } from '../../accounts/accounts.ts';
import type { Vault } from '../../accounts/vault.ts';
import { getCredentialsKeyFile, loadCredentialsKeys } from '../../config/credentials-key.ts';
import type { Config, TeamSettings } from '../../config/environment.ts';
import { createSlackWeb, okResponseSchema, SlackApiError, type SlackWeb } from '../../slack/outbound/web.ts';
import { readSealedKeyUsages } from '../../store/sealed-keys.ts';
import { readServerFacts } from '../../store/server-facts.ts';
import { withSession } from '../../store/session.ts';
import { checkDisk, checkKeys, checkServer } from './database-checks.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';
import { checkPublicUrl, checkReachable, checkRegistryList, checkSlackClock } from './network-checks.ts';
import { checkSlack, type SlackIdSettings } from './slack-checks.ts';

export interface DoctorContext {
  readonly config: Config;
  /** Undefined if the database can't be used. The caller reports the problem. */
  readonly database: { readonly url: string; readonly accounts: AccountStore } | undefined;
  readonly vault: Vault;
  readonly web: SlackWeb;
  readonly settings: TeamSettings;
  readonly now: () => Date;
}

/** Yields each check's findings as soon as they are known. An error in a check becomes a finding. */
export async function* runChecks(deps: DoctorContext): AsyncGenerator<Finding> {
  const groups: readonly (readonly [subject: string, check: () => Promise<readonly Finding[]>])[] = [
    ['Settings', async () => findTypos(deps.config)],
    ['Database', () => checkDatabase(deps)],
    ['Key file', async () => checkKeyFile(deps.config)],
    ['Disk', () => checkDisks(deps.config)],
    ['Slack', () => checkSlack(deps.web, getSlackIdSettings(deps))],
    ['Slack', () => checkAppToken(deps.config)],
    [
      'Slack’s clock',
      async () => [await checkSlackClock(deps.config.slack.apiUrl ?? SLACK_API_URL, deps.now)],
    ],
    ['Domain service', () => checkService(deps)],
    ['Registries', async () => [await checkRegistryList(deps.config.rdapBootstrapUrl)]],
    ['PUBLIC_URL', () => checkPublicUrlSetting(deps.config)],
  ];
  for (const [subject, check] of groups) {
    yield* await check().catch((error: unknown) => [
      wrong(
        subject,
        `${(error instanceof Error ? error.message : String(error)).replace(/\.$/, '')}.`,
        'Fix that, and try again.',
      ),
    ]);
  }
}

function findTypos({ typos }: Config): readonly Finding[] {
  return typos.map(([variable, suggestion]) =>
    warning('Settings', `${variable} is unknown.`, `Did you mean ${suggestion}?`),
  );
}

const SLACK_API_URL = 'https://slack.com/api/';

function getSlackIdSettings({ config, settings }: DoctorContext): SlackIdSettings {
  return { settings, admins: config.admins, allowOrgMembers: config.allowOrgMembers };
}

/** Requests a Socket Mode connection URL without connecting to it. */
async function checkAppToken({ slack: { appToken, apiUrl } }: Config): Promise<readonly Finding[]> {
  if (appToken === undefined) return [];
  try {
    await createSlackWeb(appToken, apiUrl).call('apps.connections.open', {}, okResponseSchema);
    return [ok('Slack', 'SLACK_APP_TOKEN opens Socket Mode.')];
  } catch (error) {
    const code = error instanceof SlackApiError ? (error.code ?? 'Slack can’t be reached') : String(error);
    const action = 'On the app’s page Basic Information, create an app-level token with connections:write.';
    return [wrong('Slack', `SLACK_APP_TOKEN: ${code}.`, action)];
  }
}

async function checkService({ config: { service }, now }: DoctorContext): Promise<readonly Finding[]> {
  if (service.jsonUrl === undefined)
    return [ok('Domain service', 'none connected, so the bot only watches: SERVICE_JSON_URL connects one.')];
  const urls = { SERVICE_JSON_URL: service.jsonUrl, SERVICE_XML_URL: service.xmlUrl };
  return Promise.all(
    Object.entries(urls).flatMap(([name, url]) =>
      url === undefined ? [] : [checkReachable(name, url, now())],
    ),
  );
}

async function checkPublicUrlSetting({ publicUrl }: Config): Promise<readonly Finding[]> {
  if (publicUrl !== undefined) return [await checkPublicUrl(publicUrl)];
  return [
    warning(
      'PUBLIC_URL',
      'not set, so calendars work only on this machine.',
      'Set it if people use calendars.',
    ),
  ];
}

async function checkDatabase({ config, database, vault, now }: DoctorContext): Promise<readonly Finding[]> {
  if (database === undefined) return [];
  return withSession(database.url, async (client): Promise<readonly Finding[]> => {
    const serverFacts = await readServerFacts(client);
    const canDecryptByKeyId = new Map<string, boolean>();
    // No key has an empty id, so accounts of all keys are listed.
    for (const { account, sealed } of await database.accounts.listSealedWithOtherKey(
      '',
      MAX_TESTED_ACCOUNTS,
    )) {
      if (!canDecryptByKeyId.has(sealed.keyId))
        canDecryptByKeyId.set(sealed.keyId, canDecryptCredential(vault, account, sealed));
    }
    const knownKeyIds = loadCredentialsKeys(config).map(({ id }) => id);
    return [
      ...checkServer(serverFacts, now()),
      ...checkKeys(await readSealedKeyUsages(client), knownKeyIds, (keyId) => canDecryptByKeyId.get(keyId)),
    ];
  });
}

/** Enough to include an account for each key. */
const MAX_TESTED_ACCOUNTS = 1_000;

async function checkKeyFile(config: Config): Promise<readonly Finding[]> {
  if (config.credentialsKeys !== undefined) return [];
  const file = getCredentialsKeyFile(config);
  const isReadableByOthers = ((await stat(file)).mode & 0o077) !== 0;
  return isReadableByOthers
    ? [wrong('Key file', `others can read ${file}.`, `Run chmod 600 ${file}.`)]
    : [ok('Key file', `${file} encrypts credentials. No backup contains it: keep a copy in a safe place.`)];
}

async function checkDisks({ databaseUrl, dataDir, backupDir }: Config): Promise<readonly Finding[]> {
  return Promise.all([
    ...(databaseUrl === undefined ? [checkDisk('Database disk', dataDir)] : []),
    ...(backupDir === undefined ? [] : [checkDisk('Backup disk', backupDir)]),
  ]);
}
