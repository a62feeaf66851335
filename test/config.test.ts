import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig, VARIABLES } from '../src/config.ts';

const key = randomBytes(32).toString('base64');
const least = {
  SLACK_BOT_TOKEN: 'xoxb-canary-bot',
  SLACK_SIGNING_SECRET: 'canary-signing-secret',
  SERVICE_JSON_URL: 'https://service.example/v1/',
  CREDENTIALS_KEYS: `2026-11:${key}`,
  APPROVERS: 'U0BOB, S0APPROVERS',
};

function problemsOf(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('these settings were taken');
}

describe('the settings', () => {
  it('have the defaults of the README', () => {
    const config = readConfig(least);
    expect(config).toMatchObject({
      port: 3000,
      service: {
        jsonUrl: 'https://service.example/v1',
        xmlUrl: undefined,
        auth: 'basic',
        timeout: 30_000,
        replyTo: undefined,
        defaultContext: 4,
      },
      databaseUrl: undefined,
      admins: [],
      team: {
        approvers: ['U0BOB', 'S0APPROVERS'],
        approvalsRequired: 1,
        approvalTasks: ['create', 'transfer', 'renew', 'restore'],
        approvalTtl: 72 * 3_600_000,
        approvalRemindAfter: 4 * 3_600_000,
        allowSelfApproval: false,
        reminderChannel: undefined,
        reminderDays: [60, 30, 14, 7, 3, 1],
        reminderCron: '0 9 * * *',
        reminderTimezone: 'UTC',
      },
      logLevel: 'info',
    });
    expect(config.dataDir).toMatch(/\/data$/);
  });

  it('keep secrets out of sight', () => {
    const config = readConfig({ ...least, DATABASE_URL: 'postgresql://steward:canary-password@db/steward' });
    expect(inspect({ ...config, credentialsKeys: undefined }, { depth: 9 })).not.toContain('canary');
  });

  it('need nothing but an app token beside the bot token for Socket Mode', () => {
    const { SLACK_SIGNING_SECRET: _left, ...rest } = least;
    expect(readConfig({ ...rest, SLACK_APP_TOKEN: 'xapp-1' }).slack.signingSecret).toBeUndefined();
    expect(problemsOf(rest)).toMatch(/SLACK_SIGNING_SECRET is required unless SLACK_APP_TOKEN/);
  });

  it('take several keys, the first to seal', () => {
    const older = randomBytes(32).toString('base64');
    const config = readConfig({ ...least, CREDENTIALS_KEYS: `new:${key}, old:${older}` });
    expect(config.credentialsKeys.map(({ id }) => id)).toEqual(['new', 'old']);
  });

  it('list everything that is missing, with an example each', () => {
    const message = problemsOf({});
    for (const name of [
      'SLACK_BOT_TOKEN',
      'SLACK_SIGNING_SECRET',
      'SERVICE_JSON_URL',
      'CREDENTIALS_KEYS',
      'APPROVERS',
    ]) {
      expect(message).toContain(`  ${name} is required`);
    }
    expect(message.match(/example:/g)).toHaveLength(5);
  });

  it('list everything that is wrong in one message, and never a value', () => {
    const wrong: Record<keyof typeof VARIABLES, string> = {
      SLACK_BOT_TOKEN: 'canary-1',
      SLACK_SIGNING_SECRET: 'canary',
      SLACK_APP_TOKEN: 'canary-2',
      SLACK_API_URL: 'https://slack.com/canary',
      PORT: '70000',
      PUBLIC_URL: 'canary',
      SERVICE_JSON_URL: 'ftp://canary',
      SERVICE_XML_URL: 'canary',
      SERVICE_AUTH: 'canary',
      SERVICE_TIMEOUT: 'canary',
      SERVICE_REPLY_TO: 'canary',
      SERVICE_DEFAULT_CONTEXT: 'canary',
      CREDENTIALS_KEYS: 'id:canary',
      DATABASE_URL: 'mysql://root:canary@db',
      DATA_DIR: '/tmp/anything',
      ADMINS: 'canary',
      APPROVERS: 'canary',
      APPROVALS_REQUIRED: '0',
      APPROVAL_TASKS: 'canary',
      APPROVAL_TTL: 'canary',
      APPROVAL_REMIND_AFTER: 'canary',
      ALLOW_SELF_APPROVAL: 'canary',
      REMINDER_CHANNEL: '#canary',
      REMINDER_DAYS: 'canary',
      REMINDER_CRON: 'canary',
      REMINDER_TIMEZONE: 'Canary/Canary',
      RDAP_BOOTSTRAP_URL: 'canary',
      LOG_LEVEL: 'canary',
    };
    const message = problemsOf(wrong);
    for (const name of Object.keys(wrong)) {
      if (name !== 'DATA_DIR') expect(message).toMatch(new RegExp(`^  ${name} .+ \\(example: .+\\)$`, 'm'));
    }
    expect(message.toLowerCase()).not.toContain('canary');
  });

  it.each([
    ['a key of the wrong length', 'id:c2hvcnQ=', /must be 32 bytes/],
    ['a key id twice', `a:${key},a:${key}`, /stands twice/],
    ['no key', ',', /at least one key/],
    ['a key without id', key, /must be id:base64/],
  ])('refuse %s', (_name, keys, problem) => {
    expect(problemsOf({ ...least, CREDENTIALS_KEYS: keys })).toMatch(problem);
  });

  it('are all in .env.example and in the README', () => {
    const example = readFileSync('.env.example', 'utf8');
    const named = [...example.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual(Object.keys(VARIABLES).sort());
    const readme = readFileSync('README.md', 'utf8');
    for (const name of Object.keys(VARIABLES)) expect(readme, name).toContain(`\`${name}\``);
  });
});
