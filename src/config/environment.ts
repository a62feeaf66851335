import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CronExpressionParser } from 'cron-parser';
import { z } from 'zod';
import { FINGERPRINT_PATTERN } from '../approvals/signing/public-key.ts';
import { parseLedgerKey } from '../ledger/key.ts';
import { parseDuration } from '../lib/duration.ts';
import { computeEditDistance } from '../lib/edit-distance.ts';
import { getCurrencyDecimals } from '../money/amount.ts';
import { DEFAULT_APPROVAL_TASKS, ORDER_TASK_NAMES } from '../orders/order.ts';
import { parseDnsServers } from '../registry/dns/servers.ts';
import { parseWhoisServers } from '../registry/whois/servers.ts';
import { DEFAULT_HEADER_PREFIX } from '../service/authenticator/signature.ts';
import { Secret } from '../service/secret.ts';

export interface VaultKey {
  readonly id: string;
  readonly key: Buffer;
}
/** The first key encrypts, and all keys decrypt. */
export type VaultKeys = [VaultKey, ...VaultKey[]];

const IANA_BOOTSTRAP_URL = 'https://data.iana.org/rdap/dns.json';
const DEFAULT_PORT = 3000;
const BACKUPS_OFF = 'none';

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

const buildSecretSchema = (pattern: RegExp, message: string) =>
  z
    .string()
    .regex(pattern, message)
    .transform((text) => new Secret(text));

const httpUrlSchema = z
  .string()
  .refine((text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, username, password } = new URL(text);
    return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
  }, 'must be an http or https address without a user name')
  .refine((text) => !text.includes('#'), 'must not have a fragment (#…): it would not be sent');

const baseUrlSchema = httpUrlSchema.refine(
  (text) => !text.includes('?'),
  'must not have a query (?…): it would not be sent',
);

const SUPPORTED_DATABASE_PARAMETERS: ReadonlySet<string> = new Set([
  'host',
  'port',
  'user',
  'password',
  'application_name',
  ...['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'],
]);
/** Error messages name only these parameters. Any other may be part of an unescaped password. */
const UNSUPPORTED_PARAMETERS_TO_NAME = [
  'options',
  'pgbouncer',
  'connection_limit',
  'pool_timeout',
  'connect_timeout',
].concat(
  ['socket_timeout', 'statement_timeout', 'statement_cache_size', 'channel_binding', 'target_session_attrs'],
  ['sslaccept', 'sslidentity', 'sslpassword', 'client_encoding', 'keepalives'],
);

const databaseUrlSchema = buildSecretSchema(
  /^postgres(ql)?:\/\/\S+$/,
  'must be a PostgreSQL address',
).superRefine((url, { addIssue }) => {
  const reject = (message: string) => addIssue({ code: 'custom', message });
  const [, query = ''] = url.reveal().split('?', 2);
  if (url.reveal().includes('#')) return reject('must not have a fragment (#…); write %23 in a password');
  const unsupported = [...new URLSearchParams(query).keys()].filter(
    (name) => !SUPPORTED_DATABASE_PARAMETERS.has(name),
  );
  if (unsupported.includes('schema'))
    return reject('must not have a schema: the tables are always in “public”; give the bot its own database');
  const namedParameters = unsupported.filter((name) => UNSUPPORTED_PARAMETERS_TO_NAME.includes(name));
  if (namedParameters.length > 0)
    reject(`must not have unsupported parameters: ${namedParameters.join(', ')}`);
  else if (unsupported.length > 0)
    reject('must not have an unsupported parameter; if the ? belongs to the password, write %3F');
});

const durationSchema = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms === undefined) {
    context.addIssue({ code: 'custom', message: 'must be a duration: a number and s, m, h or d' });
    return z.NEVER;
  }
  return ms;
});

const buildIntegerSchema = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);

const booleanSchema = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false', 'yes', 'no', '1', '0'], 'must be true or false'))
  .transform((text) => text === 'true' || text === 'yes' || text === '1');

const dayThresholdsSchema = z
  .string()
  .transform(splitList)
  .refine(
    (days) => days.length > 0 && days.every((day) => /^\d{1,4}$/.test(day) && Number(day) <= 3_650),
    'must be whole numbers of days, separated by commas',
  )
  .transform((days) => [...new Set(days.map(Number))].sort((a, b) => b - a))
  .readonly();

const channelIdSchema = z
  .string()
  .regex(/^([CG][A-Z0-9]{2,})?$/, 'must be a channel id (C…), not a name')
  .transform((text) => (text === '' ? undefined : text))
  .prefault('');

const peopleAndGroupsSchema = z
  .string()
  .transform(splitList)
  .refine(
    (ids) => ids.every((id) => /^[UWS][A-Z0-9]{2,}$/.test(id)),
    'must be Slack user IDs (U…) or user-group IDs (S…), separated by commas',
  )
  .readonly();

/** In the order in which the settings form shows them. */
export const settingValuesSchema = z.object({
  approvers: peopleAndGroupsSchema.refine((ids) => ids.length > 0, 'must name at least one approver'),
  silent_approvers: peopleAndGroupsSchema.prefault(''),
  approvals_required: buildIntegerSchema(1, 20).prefault('1'),
  approval_tasks: z
    .string()
    .transform(splitList)
    .pipe(z.array(z.enum(ORDER_TASK_NAMES, `must be tasks: ${ORDER_TASK_NAMES.join(', ')}`)))
    .readonly()
    .prefault(DEFAULT_APPROVAL_TASKS.join(',')),
  approval_ttl: durationSchema.prefault('72h'),
  approval_remind_after: durationSchema.prefault('4h'),
  allow_self_approval: booleanSchema.prefault('false'),
  approval_channel: channelIdSchema,
  approval_escalate_after: durationSchema.prefault('24h'),
  approval_escalate_to: peopleAndGroupsSchema.prefault(''),
  alert_channel: channelIdSchema,
  report_channel: channelIdSchema,
  reminder_channel: channelIdSchema,
  reminder_days: dayThresholdsSchema.prefault('60,30,14,7,3,1'),
  reminder_cron: z
    .string()
    .trim()
    .refine(
      isCronExpression,
      'must be a cron expression of five fields that matches at least one date, such as 0 9 * * 1-5',
    )
    .prefault('0 9 * * *'),
  reminder_timezone: z.string().refine(isTimeZone, 'must be a time zone name').prefault('UTC'),
});
export type SettingValues = z.output<typeof settingValuesSchema>;
/** Without a domain service, `APPROVERS` defaults to the admins. */
const watchOnlySettingsSchema = settingValuesSchema.extend({ approvers: peopleAndGroupsSchema.prefault('') });

export function buildTeamSettings(
  getSetting: <Name extends keyof SettingValues>(name: Name) => SettingValues[Name],
) {
  return {
    approvers: getSetting('approvers'),
    /** Approvers who are never notified. */
    silentApprovers: getSetting('silent_approvers'),
    approvalsRequired: getSetting('approvals_required'),
    approvalTasks: getSetting('approval_tasks'),
    approvalTtlMs: getSetting('approval_ttl'),
    approvalRemindAfterMs: getSetting('approval_remind_after'),
    allowSelfApproval: getSetting('allow_self_approval'),
    /** Pending orders' cards are also posted here. */
    approvalChannel: getSetting('approval_channel'),
    approvalEscalateAfterMs: getSetting('approval_escalate_after'),
    /** If empty, the admins are notified. */
    approvalEscalateTo: getSetting('approval_escalate_to'),
    alertChannel: getSetting('alert_channel'),
    reportChannel: getSetting('report_channel'),
    reminderChannel: getSetting('reminder_channel'),
    reminderDays: getSetting('reminder_days'),
    reminderCron: getSetting('reminder_cron'),
    reminderTimezone: getSetting('reminder_timezone'),
  };
}
/** The environment sets the defaults, and `/domain settings` overrides them. */
export type TeamSettings = Readonly<ReturnType<typeof buildTeamSettings>>;

/** Rejects expressions that match no date. */
function isCronExpression(expression: string): boolean {
  if (expression.split(/\s+/).length !== 5) return false;
  try {
    CronExpressionParser.parse(expression, { tz: 'UTC' }).next();
    return true;
  } catch {
    return false;
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const dnsServersSchema = z.string().transform((text, context) => {
  const servers = parseDnsServers(text);
  if (servers !== undefined) return servers;
  context.addIssue({ code: 'custom', message: 'must be resolver addresses, separated by commas' });
  return z.NEVER;
});

const whoisServersSchema = z.string().transform((text, context) => {
  const servers = parseWhoisServers(text);
  if (servers !== undefined) return servers;
  context.addIssue({ code: 'custom', message: 'must be zone=host or zone=host:port, separated by commas' });
  return z.NEVER;
});

const vaultKeysSchema = z.string().transform((text, context) => {
  const reject = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  const keys: VaultKey[] = [];
  for (const [index, item] of splitList(text).entries()) {
    const keyLabel = `key ${index + 1}`;
    const colonIndex = item.indexOf(':');
    const id = item.slice(0, colonIndex);
    const encodedKey = item.slice(colonIndex + 1);
    // The message doesn't quote the id, in case someone swapped the id and the key.
    if (colonIndex < 1 || !/^[A-Za-z0-9_.-]{1,32}$/.test(id))
      return reject(
        `must be id:base64 for each key, with an id of letters and digits, but ${keyLabel} isn’t`,
      );
    if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(encodedKey)) return reject(`has invalid base64 in ${keyLabel}`);
    const key = Buffer.from(encodedKey, 'base64');
    if (key.length !== 32) return reject(`must have keys of 32 bytes, but ${keyLabel} has ${key.length}`);
    if (keys.some((other) => other.id === id)) return reject(`has a duplicate id in ${keyLabel}`);
    keys.push({ id, key });
  }
  const [first, ...rest] = keys;
  if (first === undefined) return reject('must have at least one key');
  return [first, ...rest] satisfies VaultKeys;
});

/** @returns undefined unless the text is a comma-separated list of `id:base64(32 bytes)` */
export function parseVaultKeys(text: string): VaultKeys | undefined {
  return vaultKeysSchema.safeParse(text).data;
}

/** A webhook URL can contain a secret, as Slack's and PagerDuty's URLs do. */
const webhookUrlsSchema = z
  .string()
  .transform(splitList)
  .pipe(z.array(httpUrlSchema.transform((url) => new Secret(url))))
  .readonly();

const webhookSecretSchema = z
  .string()
  .refine((text) => {
    const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
    const { length } = Buffer.from(encoded, 'base64');
    return encoded.length % 4 === 0 && length >= 24 && length <= 64;
  }, 'must be whsec_ and the base64 of 24 to 64 bytes')
  .transform((text) => new Secret(text));

const ledgerKeySchema = z.string().transform((text, context) => {
  try {
    return parseLedgerKey(new Secret(text));
  } catch {
    context.addIssue({ code: 'custom', message: 'must be an Ed25519 key (PKCS #8, DER) in base64' });
    return z.NEVER;
  }
});

const environmentSchema = z.object({
  SLACK_BOT_TOKEN: buildSecretSchema(/^xoxb-\S+$/, 'must be a bot token that starts with xoxb-'),
  SLACK_SIGNING_SECRET: buildSecretSchema(
    /^\S{8,}$/,
    'must be the app’s signing secret, without spaces',
  ).optional(),
  SLACK_APP_TOKEN: buildSecretSchema(
    /^xapp-\S+$/,
    'must be an app-level token that starts with xapp-',
  ).optional(),
  SLACK_API_URL: baseUrlSchema.refine((text) => text.endsWith('/api/'), 'must end in /api/').optional(),
  PORT: buildIntegerSchema(0, 65_535).default(DEFAULT_PORT),
  METRICS_PORT: buildIntegerSchema(0, 65_535).optional(),
  PUBLIC_URL: baseUrlSchema.transform((text) => text.replace(/\/+$/, '')).optional(),
  WEBHOOK_URLS: webhookUrlsSchema.default([]),
  WEBHOOK_SECRET: webhookSecretSchema.optional(),
  SIGNING_ROOTS: z
    .string()
    .transform(splitList)
    .refine(
      (roots) => roots.every((root) => FINGERPRINT_PATTERN.test(root)),
      'must be passkey fingerprints (SHA256:…), separated by commas',
    )
    .default([]),
  SERVICE_JSON_URL: baseUrlSchema.transform((text) => text.replace(/\/+$/, '')).optional(),
  SERVICE_XML_URL: httpUrlSchema.optional(),
  // Header names are tokens (RFC 9110, section 5.6.2).
  SERVICE_HEADER_PREFIX: z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, 'must be the first part of a header name')
    .default(DEFAULT_HEADER_PREFIX),
  SERVICE_AUTH: z.enum(['basic', 'session'], 'must be basic or session').default('basic'),
  SERVICE_XML_AUTH: z.enum(['auth', 'session'], 'must be auth or session').default('auth'),
  SERVICE_SESSION_PLACE: z.enum(['header', 'cookie'], 'must be header or cookie').default('header'),
  SERVICE_SESSION_TIMEOUT: buildIntegerSchema(1, 1_440).default(10),
  SERVICE_TIMEOUT: durationSchema.refine((ms) => ms <= 600_000, 'must be at most 10m').default(30_000),
  SERVICE_REPLY_TO: z.email('must be an email address').optional(),
  SERVICE_DEFAULT_CONTEXT: buildIntegerSchema(1, 2_147_483_647).default(4),
  CREDENTIALS_KEYS: vaultKeysSchema.optional(),
  LEDGER_KEY: ledgerKeySchema.optional(),
  DATABASE_URL: databaseUrlSchema.optional(),
  DATA_DIR: z
    .string()
    .default('./data')
    .transform((text) => resolve(text)),
  BACKUP_DIR: z
    .string()
    .transform((text) => (text === BACKUPS_OFF ? text : resolve(text)))
    .optional(),
  ADMINS: z
    .string()
    .transform(splitList)
    .refine(
      (ids) => ids.every((id) => /^[UW][A-Z0-9]{2,}$/.test(id)),
      'must be Slack user IDs, separated by commas',
    )
    .default([]),
  ALLOW_ORG_MEMBERS: booleanSchema.default(false),
  CURRENCY: z
    .string()
    .toUpperCase()
    .refine((code) => getCurrencyDecimals(code) !== undefined, 'must be a currency code (ISO 4217)')
    .default('EUR'),
  RDAP_BOOTSTRAP_URL: httpUrlSchema.default(IANA_BOOTSTRAP_URL),
  WHOIS: z.enum(['auto', 'off'], 'must be auto or off').default('auto'),
  WHOIS_SERVERS: whoisServersSchema.prefault(''),
  DNS_SERVERS: dnsServersSchema.optional(),
  CERTIFICATE_DAYS: dayThresholdsSchema.prefault('14,7,3,1'),
  LOOKUP_PRIVATE_ADDRESSES: booleanSchema.default(false),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a pino level')
    .default('info'),
  LOG_FORMAT: z.enum(['json', 'pretty'], 'must be json or pretty').default('json'),
});

type VariableName = keyof z.input<typeof environmentSchema> | Uppercase<keyof SettingValues>;

export const VARIABLE_EXAMPLES: Readonly<Record<VariableName, string>> = {
  SLACK_BOT_TOKEN: 'xoxb-your-bot-token',
  SLACK_SIGNING_SECRET: '32 hex digits from the app’s Basic Information page',
  SLACK_APP_TOKEN: 'xapp-your-app-level-token',
  SLACK_API_URL: 'https://slack.com/api/',
  PORT: '3000',
  METRICS_PORT: '9464',
  PUBLIC_URL: 'https://steward.example.com',
  WEBHOOK_URLS: 'https://alerts.example.com/hook,http://10.0.0.5:8080/steward',
  WEBHOOK_SECRET: 'whsec_<base64 of 32 random bytes>, made with: echo whsec_$(openssl rand -base64 32)',
  SIGNING_ROOTS: 'SHA256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU',
  SERVICE_JSON_URL: 'https://service.example/v1',
  SERVICE_XML_URL: 'https://service.example/xml',
  SERVICE_HEADER_PREFIX: DEFAULT_HEADER_PREFIX,
  SERVICE_AUTH: 'basic',
  SERVICE_XML_AUTH: 'auth',
  SERVICE_SESSION_PLACE: 'header',
  SERVICE_SESSION_TIMEOUT: '10',
  SERVICE_TIMEOUT: '30s',
  SERVICE_REPLY_TO: 'domains@example.com',
  SERVICE_DEFAULT_CONTEXT: '4',
  CREDENTIALS_KEYS: '2026-11:<base64 of 32 random bytes>, made with: openssl rand -base64 32',
  LEDGER_KEY: 'made with: openssl genpkey -algorithm ed25519 -outform DER | base64 -w0',
  DATABASE_URL: 'postgresql://user:password@host:5432/database',
  DATA_DIR: './data',
  BACKUP_DIR: './data/backups',
  ADMINS: 'U024BE7LH',
  ALLOW_ORG_MEMBERS: 'false',
  APPROVERS: 'U024BE7LH,S0614TZR7',
  SILENT_APPROVERS: 'U024BE7LH,S0614TZR7',
  APPROVALS_REQUIRED: '1',
  APPROVAL_TASKS: DEFAULT_APPROVAL_TASKS.join(','),
  APPROVAL_TTL: '72h',
  APPROVAL_REMIND_AFTER: '4h',
  ALLOW_SELF_APPROVAL: 'false',
  APPROVAL_CHANNEL: 'C024BE91L',
  APPROVAL_ESCALATE_AFTER: '24h',
  APPROVAL_ESCALATE_TO: 'U024BE7LH,S0614TZR7',
  ALERT_CHANNEL: 'C024BE91L',
  REPORT_CHANNEL: 'C024BE91L',
  CURRENCY: 'EUR',
  REMINDER_CHANNEL: 'C024BE91L',
  REMINDER_DAYS: '60,30,14,7,3,1',
  REMINDER_CRON: '0 9 * * *',
  REMINDER_TIMEZONE: 'Europe/Berlin',
  RDAP_BOOTSTRAP_URL: IANA_BOOTSTRAP_URL,
  WHOIS: 'auto',
  WHOIS_SERVERS: 'de=whois.denic.de,example=192.0.2.43:4343',
  DNS_SERVERS: '192.0.2.53,[2001:db8::53]:5353',
  CERTIFICATE_DAYS: '14,7,3,1',
  LOOKUP_PRIVATE_ADDRESSES: 'false',
  LOG_LEVEL: 'info',
  LOG_FORMAT: 'json',
};

const VARIABLE_NAMES = Object.keys(VARIABLE_EXAMPLES);
const PLACEHOLDER = '…';

/** The message lists every problem, but contains no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Treats empty values as unset. @throws {ConfigError} */
export function readConfig(env: Environment): Config {
  const { values, problems: variableProblems } = readVariables(env, VARIABLE_NAMES);
  const parsedVariables = environmentSchema.safeParse(values);
  const settingsSchema =
    values['SERVICE_JSON_URL'] === undefined ? watchOnlySettingsSchema : settingValuesSchema;
  const parsedSettings = settingsSchema.safeParse(
    Object.fromEntries(Object.entries(values).map(([name, text]) => [name.toLowerCase(), text])),
  );
  const issues = [...(parsedVariables.error?.issues ?? []), ...(parsedSettings.error?.issues ?? [])];
  const problems = new Map([...collectProblems(values, issues), ...variableProblems]);
  if (!parsedVariables.success || !parsedSettings.success || problems.size > 0)
    throw new ConfigError(formatProblems(problems));
  return buildConfig(parsedVariables.data, parsedSettings.data, findTypos(env));
}

export type Environment = Readonly<Record<string, string | undefined>>;

type VariableValues = Readonly<Record<string, string>>;
type Problems = ReadonlyMap<string, string>;

/** Any variable can be read from a file, such as `SLACK_BOT_TOKEN_FILE=/run/secrets/slack`. */
const FILE_SUFFIX = '_FILE';

/** Problems never quote a path, in case someone entered a secret instead of a path. */
function readVariables(
  env: Environment,
  names: readonly string[],
): { readonly values: VariableValues; readonly problems: Problems } {
  const values: Record<string, string> = {};
  const problems = new Map<string, string>();
  for (const name of names) {
    const fileVariable = `${name}${FILE_SUFFIX}`;
    const path = env[fileVariable]?.trim() ?? '';
    let value = env[name]?.trim() ?? '';
    if (value !== '' && path !== '') problems.set(name, `is set twice, also by ${fileVariable}`);
    else if (path !== '') {
      try {
        value = readFileSync(path, 'utf8').trim();
        if (value === '') problems.set(name, `is empty in the file that ${fileVariable} names`);
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
        problems.set(name, `can’t be read from the file that ${fileVariable} names (${code})`);
      }
    }
    if (value.includes(PLACEHOLDER)) problems.set(name, 'still has the placeholder of .env.example');
    if (value !== '') values[name] = value;
  }
  return { values, problems };
}

/** Finds unknown variables that look like typos of known ones. */
function findTypos(env: Environment): readonly (readonly [name: string, suggestion: string])[] {
  const knownNames = VARIABLE_NAMES.flatMap((name) => [name, `${name}${FILE_SUFFIX}`]);
  const unknownNames = Object.keys(env).filter((name) => env[name] !== '' && !knownNames.includes(name));
  return unknownNames.flatMap((name) => {
    const suggestion = knownNames.find((known) => isSimilar(name.toUpperCase(), known));
    return suggestion === undefined ? [] : [[name, suggestion] as const];
  });
}

/** Allows one different letter in six, or missing words, such as `SLACK_TOKEN` for `SLACK_BOT_TOKEN`. */
function isSimilar(name: string, knownName: string): boolean {
  const words = name.split('_');
  const isMissingWords = words.length > 1 && words.every((word) => knownName.split('_').includes(word));
  return (
    isMissingWords || computeEditDistance(name, knownName) <= Math.max(1, Math.floor(knownName.length / 6))
  );
}

function collectProblems(values: VariableValues, issues: readonly z.core.$ZodIssue[]): Problems {
  const problems = new Map<string, string>();
  for (const issue of issues) {
    const name = String(issue.path[0]).toUpperCase();
    if (!problems.has(name)) problems.set(name, values[name] === undefined ? 'is required' : issue.message);
  }
  if (values['SLACK_APP_TOKEN'] === undefined && values['SLACK_SIGNING_SECRET'] === undefined) {
    problems.set('SLACK_SIGNING_SECRET', 'is required unless SLACK_APP_TOKEN turns on Socket Mode');
  }
  if (values['DATABASE_URL'] !== undefined && values['CREDENTIALS_KEYS'] === undefined) {
    problems.set('CREDENTIALS_KEYS', 'is required with DATABASE_URL');
  }
  if (values['WEBHOOK_URLS'] !== undefined && values['WEBHOOK_SECRET'] === undefined) {
    problems.set('WEBHOOK_SECRET', 'is required with WEBHOOK_URLS');
  }
  const serviceVariables = Object.keys(values).filter((name) => name.startsWith('SERVICE_'));
  if (serviceVariables.length > 0 && values['SERVICE_JSON_URL'] === undefined) {
    problems.set('SERVICE_JSON_URL', `is required with ${serviceVariables.join(', ')}`);
  }
  const port = Number(values['PORT'] ?? DEFAULT_PORT);
  if (port !== 0 && Number(values['METRICS_PORT']) === port) {
    problems.set('METRICS_PORT', 'must differ from PORT');
  }
  return problems;
}

const APP_TOKEN_HINT =
  'At https://api.slack.com/apps → your app → Basic Information. Socket Mode: App-Level Tokens → Generate, with the scope connections:write (SLACK_APP_TOKEN).';
/** In the order in which an operator obtains the values. */
const SETUP_HINTS: Readonly<Record<string, string>> = {
  SLACK_APP_TOKEN: APP_TOKEN_HINT,
  SLACK_SIGNING_SECRET: `${APP_TOKEN_HINT} HTTP: App Credentials → Signing Secret.`,
  SLACK_BOT_TOKEN:
    'At https://api.slack.com/apps → your app → Install App → Install to Workspace → Bot User OAuth Token.',
  APPROVERS:
    'In Slack: a person’s profile → ⋮ → Copy member ID. For a group: Directories → User groups → the group → ⋮ → Copy group ID.',
  SERVICE_JSON_URL: 'From your domain service: the address of its JSON interface with the version segment.',
  CREDENTIALS_KEYS: 'Make one: echo "$(date +%Y-%m):$(openssl rand -base64 32)"',
};
const CREATE_APP_HINT = 'No Slack app yet? npm run manifest -- --socket prints the link that creates it.';

function formatProblems(problems: Problems): string {
  const examples = new Map<string, string>(Object.entries(VARIABLE_EXAMPLES));
  const setupVariables = Object.keys(SETUP_HINTS);
  const getPosition = (name: string) =>
    setupVariables.includes(name) ? setupVariables.indexOf(name) : setupVariables.length;
  const lines = [...problems]
    .sort(([a], [b]) => getPosition(a) - getPosition(b))
    .flatMap(([name, problem]) => [
      `  ${name} ${problem} (example: ${examples.get(name)})`,
      ...(name in SETUP_HINTS ? [`      ${SETUP_HINTS[name]}`] : []),
    ]);
  const createAppHint = problems.has('SLACK_BOT_TOKEN') ? `  ${CREATE_APP_HINT}\n` : '';
  return `Invalid settings, ${problems.size} to fix:\n${createAppHint}${lines.join('\n')}\nSet them in the environment or in a .env file. Every step: docs/install.md`;
}

/** By default, only an embedded database is backed up. */
function resolveBackupDir(env: z.output<typeof environmentSchema>): string | undefined {
  if (env.BACKUP_DIR === undefined)
    return env.DATABASE_URL === undefined ? join(env.DATA_DIR, 'backups') : undefined;
  return env.BACKUP_DIR === BACKUPS_OFF ? undefined : env.BACKUP_DIR;
}

export type Config = Readonly<ReturnType<typeof buildConfig>>;

function buildConfig(
  env: z.output<typeof environmentSchema>,
  settings: SettingValues,
  typos: ReturnType<typeof findTypos>,
) {
  return {
    typos,
    slack: {
      botToken: env.SLACK_BOT_TOKEN,
      signingSecret: env.SLACK_SIGNING_SECRET,
      appToken: env.SLACK_APP_TOKEN,
      apiUrl: env.SLACK_API_URL,
    },
    port: env.PORT,
    /** If undefined, metrics are served on `port`. */
    metricsPort: env.METRICS_PORT,
    webhooks: { urls: env.WEBHOOK_URLS, signingSecret: env.WEBHOOK_SECRET },
    /** Without a trailing slash. */
    publicUrl: env.PUBLIC_URL,
    /** Fingerprints of root passkeys. If empty, nothing can be signed. */
    signingRoots: env.SIGNING_ROOTS,
    service: {
      /** If undefined, the bot only watches names. */
      jsonUrl: env.SERVICE_JSON_URL,
      xmlUrl: env.SERVICE_XML_URL,
      headerPrefix: env.SERVICE_HEADER_PREFIX,
      jsonAuth: env.SERVICE_AUTH,
      xmlAuth: env.SERVICE_XML_AUTH,
      sessionPlace: env.SERVICE_SESSION_PLACE,
      sessionMinutes: env.SERVICE_SESSION_TIMEOUT,
      timeoutMs: env.SERVICE_TIMEOUT,
      replyTo: env.SERVICE_REPLY_TO,
      defaultContext: env.SERVICE_DEFAULT_CONTEXT,
    },
    /** If undefined, the key is in a file in `dataDir`. Required with `databaseUrl`. */
    credentialsKeys: env.CREDENTIALS_KEYS,
    /** If undefined, the bot creates a key. */
    ledgerKey: env.LEDGER_KEY,
    databaseUrl: env.DATABASE_URL,
    dataDir: env.DATA_DIR,
    backupDir: resolveBackupDir(env),
    admins: env.ADMINS,
    /** Whether members of the organization's other workspaces may use the bot (Enterprise Grid). */
    allowOrgMembers: env.ALLOW_ORG_MEMBERS,
    currency: env.CURRENCY,
    defaultSettings: settings.approvers.length === 0 ? { ...settings, approvers: env.ADMINS } : settings,
    rdapBootstrapUrl: env.RDAP_BOOTSTRAP_URL,
    whoisServers: env.WHOIS === 'off' ? undefined : env.WHOIS_SERVERS,
    dnsServers: env.DNS_SERVERS,
    /** People are notified this many days before a certificate expires. Sorted from highest to lowest. */
    certificateDays: env.CERTIFICATE_DAYS,
    lookUpPrivateAddresses: env.LOOKUP_PRIVATE_ADDRESSES,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
  };
}

export interface DatabaseSettings {
  readonly databaseUrl: Config['databaseUrl'];
  readonly dataDir: string;
}

/** For commands that don't need the bot's other settings. */
export function readDatabaseSettings(env: Environment): DatabaseSettings {
  const schema = environmentSchema.pick({ DATABASE_URL: true, DATA_DIR: true });
  const { values, problems } = readVariables(env, Object.keys(schema.shape));
  const parsed = schema.safeParse(values);
  const allProblems = new Map([
    ...(parsed.error?.issues ?? []).map(({ path, message }) => [String(path[0]), message] as const),
    ...problems,
  ]);
  if (!parsed.success || allProblems.size > 0) throw new ConfigError(formatProblems(allProblems));
  return { databaseUrl: parsed.data.DATABASE_URL, dataDir: parsed.data.DATA_DIR };
}

export function listVariablesWithUserId(env: Environment, userId: string): readonly string[] {
  const { values } = readVariables(env, VARIABLE_NAMES);
  return VARIABLE_NAMES.filter((name) => splitList(values[name] ?? '').includes(userId));
}

/** The environment overrides `.env`. @throws {ConfigError} if the file can't be read */
export function loadEnvironment(): Environment {
  if (!existsSync('.env')) return process.env;
  try {
    // `process.loadEnvFile` reports every unreadable file as missing.
    readFileSync('.env');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`The .env file can’t be read: ${reason}.`);
  }
  process.loadEnvFile('.env');
  return process.env;
}

export function loadConfig(): Config {
  return readConfig(loadEnvironment());
}
