import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect, parseEnv } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import {
  ConfigError,
  listVariablesWithUserId,
  loadConfig,
  readConfig,
  readDatabaseSettings,
  VARIABLE_EXAMPLES,
} from '../../src/config/environment.ts';

const key = randomBytes(32).toString('base64');
const BASE = {
  SLACK_BOT_TOKEN: 'xoxb-canary-bot',
  SLACK_SIGNING_SECRET: 'canary-signing-secret',
  SERVICE_JSON_URL: 'https://service.example/v1/',
  CREDENTIALS_KEYS: `2026-11:${key}`,
  APPROVERS: 'U0BOB, S0APPROVERS',
};

/** Needed because its example in .env.example is a command that generates one. */
const webhookSecret = { WEBHOOK_SECRET: `whsec_${randomBytes(24).toString('base64')}` };

/** URL parameters that the database connection would ignore. */
const UNSUPPORTED_PARAMETERS = [
  ...['schema=bot', 'sslmode=require&schema=bot', 'options=-csearch_path%3Dbot', 'pgbouncer=true'],
  ...['connection_limit=1', 'statement_timeout=9', 'unheard=of', '#fragment'],
];

function getProblems(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the settings were accepted');
}

describe('the settings', () => {
  it.each([
    [{ METRICS_PORT: '3000' }, false],
    [{ PORT: '8080', METRICS_PORT: '8080' }, false],
    [{ PORT: '8080', METRICS_PORT: '08080' }, false],
    [{ PORT: '8080', METRICS_PORT: '3000' }, true],
    // Both use any free port.
    [{ PORT: '0', METRICS_PORT: '0' }, true],
  ])('with %j: metrics have their own port: %s', (ports, good) => {
    if (good) expect(readConfig({ ...BASE, ...ports }).metricsPort).toBe(Number(ports.METRICS_PORT));
    else expect(getProblems({ ...BASE, ...ports })).toContain('METRICS_PORT must differ from PORT');
  });

  it('can omit the domain service, in which case the admins approve', () => {
    const { SERVICE_JSON_URL: _service, APPROVERS: _approvers, ...tokens } = BASE;
    expect(readConfig(tokens)).toMatchObject({
      service: { jsonUrl: undefined },
      defaultSettings: { approvers: [] },
    });
    expect(readConfig({ ...tokens, ADMINS: 'U0ADA' }).defaultSettings.approvers).toEqual(['U0ADA']);
    expect(readConfig({ ...tokens, ADMINS: 'U0ADA', APPROVERS: 'U0BOB' }).defaultSettings.approvers).toEqual([
      'U0BOB',
    ]);
    expect(
      getProblems({ ...tokens, SERVICE_XML_URL: 'https://service.example/xml', SERVICE_AUTH: 'basic' }),
    ).toMatch(
      /1 to fix:\n {2}SERVICE_JSON_URL is required with SERVICE_XML_URL, SERVICE_AUTH \(example: https/,
    );
    expect(getProblems({ ...tokens, SERVICE_JSON_URL: 'https://service.example/v1' })).toMatch(
      /1 to fix:\n {2}APPROVERS is required/,
    );
  });

  it('hide secrets', () => {
    const config = readConfig({ ...BASE, DATABASE_URL: 'postgresql://steward:canary-password@db/steward' });
    expect(inspect({ ...config, credentialsKeys: undefined }, { depth: 9 })).not.toContain('canary');
  });

  it('need no signing secret for Socket Mode', () => {
    const { SLACK_SIGNING_SECRET: _left, ...rest } = BASE;
    expect(readConfig({ ...rest, SLACK_APP_TOKEN: 'xapp-1' }).slack.signingSecret).toBeUndefined();
    expect(getProblems(rest)).toMatch(/SLACK_SIGNING_SECRET is required unless SLACK_APP_TOKEN/);
  });

  it('accept several keys, the first one for sealing', () => {
    const older = randomBytes(32).toString('base64');
    const config = readConfig({ ...BASE, CREDENTIALS_KEYS: `new:${key}, old:${older}` });
    expect(config.credentialsKeys?.map(({ id }) => id)).toEqual(['new', 'old']);
  });

  it('list every missing setting, with an example each', () => {
    const message = getProblems({});
    for (const name of ['SLACK_BOT_TOKEN', 'SLACK_SIGNING_SECRET']) {
      expect(message).toContain(`  ${name} is required`);
    }
    expect(message.match(/example:/g)).toHaveLength(2);
  });

  it('list missing settings in the order of the setup, with where to find each', () => {
    const given = { DATABASE_URL: 'postgresql://db/steward', SERVICE_AUTH: 'basic' };
    const lines = getProblems(given).split('\n');
    const names = lines.map((line) => /^ {2}([A-Z_]+) is required/.exec(line)?.[1]);
    expect(names.filter((name) => name !== undefined)).toEqual([
      'SLACK_SIGNING_SECRET',
      'SLACK_BOT_TOKEN',
      'SERVICE_JSON_URL',
      'CREDENTIALS_KEYS',
    ]);
    const places = lines.filter((line) => /^ {6}(At https:|In Slack|From|Make)/.test(line));
    expect(places).toHaveLength(4);
    expect(lines[1]).toContain('npm run manifest -- --socket');
    // If there is a bot token, the app exists.
    const { SLACK_SIGNING_SECRET: _left, ...rest } = BASE;
    expect(getProblems(rest)).not.toContain('npm run manifest');
  });

  it('list every invalid setting in one message, without values', () => {
    const wrong: Record<keyof typeof VARIABLE_EXAMPLES, string> = {
      SLACK_BOT_TOKEN: 'canary-1',
      SLACK_SIGNING_SECRET: 'canary',
      SLACK_APP_TOKEN: 'canary-2',
      SLACK_API_URL: 'https://slack.com/canary',
      PORT: '70000',
      METRICS_PORT: 'canary',
      PUBLIC_URL: 'canary',
      WEBHOOK_URLS: 'https://alerts.example,canary',
      WEBHOOK_SECRET: 'whsec_canary',
      SIGNING_ROOTS: 'canary',
      SERVICE_JSON_URL: 'ftp://canary',
      LEDGER_KEY: 'canary',
      SERVICE_XML_URL: 'canary',
      SERVICE_HEADER_PREFIX: 'canary: ',
      SERVICE_AUTH: 'canary',
      SERVICE_XML_AUTH: 'canary',
      SERVICE_SESSION_PLACE: 'canary',
      SERVICE_SESSION_TIMEOUT: 'canary',
      SERVICE_TIMEOUT: 'canary',
      SERVICE_REPLY_TO: 'canary',
      SERVICE_DEFAULT_CONTEXT: 'canary',
      CREDENTIALS_KEYS: 'id:canary',
      DATABASE_URL: 'mysql://root:canary@db',
      DATA_DIR: '/tmp/anything',
      BACKUP_DIR: '/tmp/anything',
      ADMINS: 'canary',
      APPROVERS: 'canary',
      SILENT_APPROVERS: 'canary',
      APPROVALS_REQUIRED: '0',
      APPROVAL_TASKS: 'canary',
      APPROVAL_TTL: 'canary',
      APPROVAL_REMIND_AFTER: 'canary',
      ALLOW_ORG_MEMBERS: 'canary',
      ALLOW_SELF_APPROVAL: 'canary',
      APPROVAL_CHANNEL: '#canary',
      APPROVAL_ESCALATE_AFTER: 'canary',
      APPROVAL_ESCALATE_TO: 'canary',
      ALERT_CHANNEL: '#canary',
      REPORT_CHANNEL: '#canary',
      CURRENCY: 'canary',
      REMINDER_CHANNEL: '#canary',
      REMINDER_DAYS: 'canary',
      REMINDER_CRON: 'canary',
      REMINDER_TIMEZONE: 'Canary/Canary',
      RDAP_BOOTSTRAP_URL: 'canary',
      WHOIS: 'canary',
      WHOIS_SERVERS: 'canary',
      DNS_SERVERS: 'canary',
      CERTIFICATE_DAYS: 'canary',
      LOOKUP_PRIVATE_ADDRESSES: 'canary',
      LOG_FORMAT: 'canary',
      LOG_LEVEL: 'canary',
    };
    const message = getProblems(wrong);
    for (const name of Object.keys(wrong)) {
      if (!/^(DATA|BACKUP)_DIR$/.test(name))
        expect(message).toMatch(new RegExp(`^  ${name} .+ \\(example: .+\\)$`, 'm'));
    }
    expect(message.toLowerCase()).not.toContain('canary');
  });

  it.each([
    ['a key of the wrong length', `a:${key},b:c2hvcnQ=`, /keys of 32 bytes, but key 2 has 5/],
    ['a duplicate key ID', `a:${key},a:${key}`, /has a duplicate id in key 2/],
    ['no key', ',', /at least one key/],
    ['a key without an ID', key, /must be id:base64 for each key/],
    ['a key that isn’t base64', 'a:canary!', /has invalid base64 in key 1/],
    ['a key before its ID', 'CanaryCanaryCanaryCanaryCanary==:a', /must be id:base64 for each key/],
    ['a short key before its ID', 'canarycanary:a', /keys of 32 bytes/],
  ])('refuse %s', (_name, keys, problem) => {
    const message = getProblems({ ...BASE, CREDENTIALS_KEYS: keys });
    expect(message).toMatch(problem);
    expect(message.toLowerCase()).not.toContain('canary');
  });

  it.each([
    ['PORT', ['0', '65535'], ['65536', '-1', '80a', '1e3', ' ,']],
    ['SERVICE_JSON_URL', ['http://127.0.0.1:8080/v1'], ['service.example/v1', 'https://me:secret@x.example']],
    ['SERVICE_HEADER_PREFIX', ['X-Acme-', 'acme.'], ['X Acme-', 'X-Acme:', 'X-Ácme-', 'x\r\ny: z']],
    ['SERVICE_AUTH', ['session'], ['Session', 'cookie']],
    [
      'WEBHOOK_SECRET',
      [webhookSecret.WEBHOOK_SECRET, `whsec_${randomBytes(64).toString('base64')}`],
      [key, 'whsec_c2hvcnQ=', `whsec_${randomBytes(65).toString('base64')}`, `whsec_${'a'.repeat(33)}`],
    ],
    [
      'DNS_SERVERS',
      ['192.0.2.53', '192.0.2.53:5353, [2001:db8::53]:53', '::1'],
      ['resolver.example', '192.0.2.53:0', '192.0.2.53,,192.0.2.54'],
    ],
    ['SERVICE_XML_AUTH', ['session'], ['basic', 'Auth']],
    ['SERVICE_SESSION_PLACE', ['cookie'], ['body', 'Header']],
    ['SERVICE_SESSION_TIMEOUT', ['1', '1440'], ['0', '1441', '10m', '1.5']],
    ['SERVICE_TIMEOUT', ['1s', '10m'], ['0s', '11m', '30', '30 seconds']],
    ['SERVICE_REPLY_TO', ['a@example.com'], ['a', 'a@b', 'A <a@example.com>']],
    ['SERVICE_DEFAULT_CONTEXT', ['1', '2147483647'], ['0', '2147483648', 'live']],
    [
      'DATABASE_URL',
      [
        'postgres://db/steward',
        'postgresql://db:5433/steward',
        'postgresql://u:p%3F%23@db/steward?sslmode=verify-full&sslrootcert=/ca.pem&application_name=bot',
        'postgresql://u@/steward?host=/run/postgresql',
      ],
      [
        'mysql://db',
        'steward',
        ...UNSUPPORTED_PARAMETERS.map((unused) => `postgresql://db/steward?${unused}`),
      ],
    ],
    ['ADMINS', ['U0ADA', 'U0ADA,W0BOB'], ['S0LEADS', 'ada', '@U0ADA']],
    ['ALLOW_ORG_MEMBERS', ['true', 'no'], ['E0ORG', 'all']],
    ['APPROVERS', ['U0BOB', 'S0LEADS, W0BOB'], [',', '<@U0BOB>', 'C0DOMAINS']],
    ['APPROVALS_REQUIRED', ['1', '20'], ['0', '21', '1.5', 'two']],
    ['APPROVAL_TASKS', ['renew', ' create , owner-change ', ','], ['renewal', 'create renew']],
    ['APPROVAL_TTL', ['90s', '72h', '7d'], ['0h', '72', '1w', '4000d']],
    ['ALLOW_SELF_APPROVAL', ['true', 'NO', '1'], ['maybe', 'on']],
    ['APPROVAL_CHANNEL', ['C0DOMAINS', 'G0PRIVATE'], ['#domains', 'D0ALICE', 'U0ALICE']],
    ['APPROVAL_ESCALATE_AFTER', ['90s', '7d'], ['soon', '0h']],
    ['APPROVAL_ESCALATE_TO', ['U0ADA', 'S0BOARD, U0ADA'], ['ada', '@board', 'C0DOMAINS']],
    ['ALERT_CHANNEL', ['C0DOMAINS', 'G0PRIVATE'], ['#domains', 'D0ALICE', 'U0ALICE']],
    ['REPORT_CHANNEL', ['C0DOMAINS', 'G0PRIVATE'], ['#domains', 'D0ALICE', 'U0ALICE']],
    ['REMINDER_CHANNEL', ['C0DOMAINS', 'G0PRIVATE'], ['#domains', 'D0ALICE', 'U0ALICE']],
    ['REMINDER_DAYS', ['30', '1, 7,30', '0'], ['3651', '-1', '7.5', 'weekly']],
    ['REMINDER_CRON', ['*/5 * * * *', '0 9 * * 1-5'], ['0 9 * *', '0 0 9 * * *', '0 25 * * *', '0 0 31 2 *']],
    ['REMINDER_TIMEZONE', ['Europe/Berlin', 'UTC'], ['Berlin', 'GMT+25']],
    ['LOG_LEVEL', ['silent', 'trace'], ['verbose', 'INFO']],
    ['LOG_FORMAT', ['json', 'pretty'], ['text', 'JSON']],
  ])('%s accepts %j and refuses %j', (name, good, bad) => {
    for (const value of good) expect(() => readConfig({ ...BASE, [name]: value }), value).not.toThrow();
    for (const value of bad) {
      expect(getProblems({ ...BASE, [name]: value }), value).toMatch(
        new RegExp(`1 to fix:\\n  ${name} must .+ \\(example: .+\\)\\n`),
      );
    }
  });

  it.each([
    ['SERVICE_JSON_URL', 'https://service.example/v1?key=canary'],
    ['SERVICE_JSON_URL', 'https://service.example/v1#canary'],
    ['SERVICE_XML_URL', 'https://service.example/xml#canary'],
    ['PUBLIC_URL', 'https://bot.example/?canary'],
    ['SLACK_API_URL', 'https://slack.example/?canary=/api/'],
    ['RDAP_BOOTSTRAP_URL', 'https://rdap.example/dns.json#canary'],
    ['SERVICE_XML_URL', 'https://:canary@service.example/xml'],
    ['DATABASE_URL', 'postgresql://bot:1?canary@db/steward'],
    ['DATABASE_URL', 'postgresql://bot:1#canary@db/steward'],
  ])('%s is refused without being quoted, because a part would be ignored: %s', (name, value) => {
    const problems = getProblems({ ...BASE, [name]: value });
    expect(problems).toMatch(new RegExp(`1 to fix:\\n  ${name} must`));
    expect(problems).not.toContain('canary');
  });

  it('accept a query if requests use it', () => {
    const given = {
      SERVICE_XML_URL: 'https://service.example/xml?a=b',
      RDAP_BOOTSTRAP_URL: 'https://r.example/?a',
    };
    expect(readConfig({ ...BASE, ...given }).service.xmlUrl).toBe(given.SERVICE_XML_URL);
  });

  it('name unsupported parameters of DATABASE_URL, with the reason', () => {
    const url = 'postgresql://db/steward?pgbouncer=true&connection_limit=1';
    expect(getProblems({ ...BASE, DATABASE_URL: url })).toContain('pgbouncer, connection_limit');
    expect(() => readDatabaseSettings({ DATABASE_URL: 'postgresql://db/steward?schema=bot' })).toThrow(
      /“public”/,
    );
  });

  it('are read from files that _FILE variables name, with the same checks', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'domain-steward-secrets-'));
    const file = async (name: string, text: string) => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    const { SLACK_BOT_TOKEN: _token, ...rest } = BASE;
    const token = await file('token', 'xoxb-from-a-file\n');
    expect(readConfig({ ...rest, SLACK_BOT_TOKEN_FILE: token }).slack.botToken.reveal()).toBe(
      'xoxb-from-a-file',
    );
    expect(readConfig({ ...BASE, LOG_LEVEL_FILE: await file('level', 'debug') }).logLevel).toBe('debug');
    expect(
      readDatabaseSettings({ DATABASE_URL_FILE: await file('url', 'postgres://db/x') }).databaseUrl?.reveal(),
    ).toBe('postgres://db/x');
    expect(getProblems({ ...BASE, SLACK_BOT_TOKEN_FILE: token })).toContain(
      'is set twice, also by SLACK_BOT_TOKEN_FILE',
    );
    expect(getProblems({ ...rest, SLACK_BOT_TOKEN_FILE: await file('canary', 'canary') })).toContain(
      'must be a bot token',
    );
    expect(getProblems({ ...rest, SLACK_BOT_TOKEN_FILE: await file('empty', '\n') })).toContain(
      'is empty in the file',
    );
    const missing = getProblems({ ...rest, SLACK_BOT_TOKEN_FILE: 'xoxb-canary' });
    expect(missing).toMatch(
      /SLACK_BOT_TOKEN can’t be read from the file that SLACK_BOT_TOKEN_FILE names \(ENOENT\)/,
    );
    expect(missing).not.toContain('canary');
    await rm(folder, { recursive: true });
  });

  it('refuse every placeholder in .env.example by name', () => {
    const example = parseEnv(readFileSync(new URL('../../.env.example', import.meta.url), 'utf8'));
    const names = Object.keys(example);
    expect(names).toEqual(expect.arrayContaining(['SLACK_BOT_TOKEN', 'SLACK_APP_TOKEN']));
    const message = getProblems(Object.fromEntries(names.map((name) => [name, example[name] ?? ''])));
    for (const name of names)
      expect(message).toContain(`  ${name} still has the placeholder of .env.example (`);
    expect(message).toContain(`${names.length} to fix`);
    expect(message).toContain('Bot User OAuth Token');
  });

  it('report variables that could be typos', () => {
    const env = {
      SLACK_BOT_TOKN: 'x',
      slack_app_token: 'x',
      APPROVER: 'x',
      SLACK_TOKEN_FILE: 'x',
      REMINDER_CRONS: 'x',
    };
    const innocent = {
      ...BASE,
      PATH: '/bin',
      HOME: '/',
      NODE_ENV: 'x',
      PORT_FILE: '',
      TZ: 'UTC',
      npm_config_port: 'x',
      LANG: 'C',
    };
    expect(readConfig({ ...BASE, ...env, ...innocent }).typos).toEqual([
      ['SLACK_BOT_TOKN', 'SLACK_BOT_TOKEN'],
      ['slack_app_token', 'SLACK_APP_TOKEN'],
      ['APPROVER', 'APPROVERS'],
      ['SLACK_TOKEN_FILE', 'SLACK_BOT_TOKEN_FILE'],
      ['REMINDER_CRONS', 'REMINDER_CRON'],
    ]);
  });

  it('trim and deduplicate lists, and sort thresholds in descending order', () => {
    const { defaultSettings } = readConfig({
      ...BASE,
      REMINDER_DAYS: '1, 30,7,30',
      APPROVAL_TASKS: 'renew, user',
    });
    expect(defaultSettings.reminder_days).toEqual([30, 7, 1]);
    expect(defaultSettings.approval_tasks).toEqual(['renew', 'user']);
  });

  it('treat empty and blank values as unset', () => {
    const config = readConfig({ ...BASE, PORT: ' ', REMINDER_CHANNEL: '', LOG_LEVEL: ' debug ' });
    expect(config.port).toBe(3000);
    expect(config.defaultSettings.reminder_channel).toBeUndefined();
    expect(config.logLevel).toBe('debug');
    expect(getProblems({ ...BASE, APPROVERS: '  ' })).toMatch(/APPROVERS is required/);
  });

  it('have valid examples', () => {
    const usable = Object.fromEntries(
      Object.entries(VARIABLE_EXAMPLES).filter(
        ([name]) => !(name in BASE) && name !== 'SLACK_APP_TOKEN' && name !== 'LEDGER_KEY',
      ),
    );
    expect(() => readConfig({ ...BASE, ...usable, ...webhookSecret })).not.toThrow();
    for (const name of ['SERVICE_JSON_URL', 'APPROVERS', 'SLACK_BOT_TOKEN'] as const) {
      expect(() => readConfig({ ...BASE, [name]: VARIABLE_EXAMPLES[name] }), name).not.toThrow();
    }
  });

  it('are all in .env.example', () => {
    const example = readFileSync('.env.example', 'utf8');
    const named = [...example.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual(Object.keys(VARIABLE_EXAMPLES).sort());
  });

  it('have their defaults in .env.example', () => {
    const example = readFileSync('.env.example', 'utf8');
    const shown = Object.fromEntries(
      [...example.matchAll(/^#([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    const optional = [
      'WEBHOOK_URLS',
      'WHOIS_SERVERS',
      'WEBHOOK_SECRET',
      'SLACK_SIGNING_SECRET',
      'CREDENTIALS_KEYS',
      'SLACK_API_URL',
      'SERVICE_JSON_URL',
      'APPROVERS',
      'SERVICE_XML_URL',
      'SERVICE_REPLY_TO',
      'LEDGER_KEY',
      'DATABASE_URL',
      'ADMINS',
      'SILENT_APPROVERS',
      'APPROVAL_CHANNEL',
      'APPROVAL_ESCALATE_TO',
      'ALERT_CHANNEL',
      'REPORT_CHANNEL',
      'REMINDER_CHANNEL',
      'PUBLIC_URL',
      'METRICS_PORT',
      'SIGNING_ROOTS',
      'DNS_SERVERS',
    ];
    const defaults = Object.fromEntries(Object.entries(shown).filter(([name]) => !optional.includes(name)));
    expect(Object.keys(defaults).length).toBeGreaterThan(10);
    expect(readConfig({ ...BASE, ...defaults })).toEqual(readConfig(BASE));
  });
});

it('finds a person in variables and in their files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-env-'));
  await writeFile(join(folder, 'admins'), 'U0BOB,U0ALICE\n');
  const env = {
    APPROVERS: 'U0ALICE',
    ADMINS_FILE: join(folder, 'admins'),
    LEDGER_KEY_FILE: join(folder, 'missing'),
  };
  expect(listVariablesWithUserId(env, 'U0BOB')).toEqual(['ADMINS']);
  expect(listVariablesWithUserId(env, 'U0ALICE').toSorted()).toEqual(['ADMINS', 'APPROVERS']);
  await rm(folder, { recursive: true });
});

describe('a .env file', () => {
  const before = { cwd: process.cwd(), env: { ...process.env } };
  afterEach(() => {
    process.chdir(before.cwd);
    for (const name of Object.keys(VARIABLE_EXAMPLES)) delete process.env[name];
    Object.assign(process.env, before.env);
  });

  it('is read from its folder, and the environment overrides it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'domain-steward-env-'));
    const lines = Object.entries({ ...BASE, PORT: '4001', LOG_LEVEL: 'debug' });
    await writeFile(join(folder, '.env'), lines.map(([name, value]) => `${name}=${value}`).join('\n'));
    for (const name of Object.keys(VARIABLE_EXAMPLES)) delete process.env[name];
    process.chdir(folder);
    process.env['PORT'] = '4002';
    const config = loadConfig();
    expect(config).toMatchObject({
      port: 4002,
      logLevel: 'debug',
      dataDir: join(await realpath(folder), 'data'),
    });
    process.chdir(before.cwd);
    await rm(folder, { recursive: true });
  });

  it('is named in the error if it can’t be read, such as a folder that Docker created', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'domain-steward-env-'));
    await mkdir(join(folder, '.env'));
    process.chdir(folder);
    expect(loadConfig).toThrow(ConfigError);
    expect(loadConfig).toThrow(/^The \.env file can’t be read: EISDIR/);
    process.chdir(before.cwd);
    await rm(folder, { recursive: true });
  });
});
