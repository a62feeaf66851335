import type { VARIABLE_EXAMPLES } from '../../src/config/environment.ts';

type Variable = keyof typeof VARIABLE_EXAMPLES;

export interface Setting {
  readonly meaning: string;
  /** As in `.env.example`, or in words. */
  readonly ifUnset: string;
}

const setting = (meaning: string, ifUnset: string): Setting => ({ meaning, ifUnset });

/** Every variable, in the order of the reference. */
export const SETTINGS: Readonly<Record<string, Readonly<Partial<Record<Variable, Setting>>>>> = {
  Slack: {
    SLACK_BOT_TOKEN: setting('bot token, `xoxb-…`', 'required'),
    SLACK_APP_TOKEN: setting('app-level token, `xapp-…`; turns on Socket Mode', 'none'),
    SLACK_SIGNING_SECRET: setting('signing secret of the app, for HTTP mode', 'required unless Socket Mode'),
    SLACK_API_URL: setting('Web API root, ends in `/api/`', 'Slack’s'),
  },
  People: {
    APPROVERS: setting(
      'Slack user IDs and user-group IDs (`S…`), comma-separated',
      'required with `SERVICE_JSON_URL`; else the admins',
    ),
    ADMINS: setting(
      'user IDs of people who may change settings, besides workspace admins and owners. They also get admin notifications',
      'the workspace’s admins and owners get them',
    ),
    ALLOW_ORG_MEMBERS: setting(
      'whether members of other workspaces in the same Enterprise Grid organization can use the bot',
      '`false`',
    ),
  },
  'Domain service': {
    SERVICE_JSON_URL: setting(
      'URL of the JSON interface, with its version segment',
      'none: the bot only watches names',
    ),
    SERVICE_XML_URL: setting('URL for XML requests', 'none: XML-only features say so'),
    SERVICE_AUTH: setting(
      'how JSON requests authenticate an account linked with a password: `basic` or `session`',
      '`basic`',
    ),
    SERVICE_XML_AUTH: setting(
      'how XML requests authenticate an account linked with a password: `auth` or `session`',
      '`auth`',
    ),
    SERVICE_SESSION_PLACE: setting('where JSON requests carry the session: `header` or `cookie`', '`header`'),
    SERVICE_SESSION_TIMEOUT: setting('lifetime of a JSON session, in minutes', '`10`'),
    SERVICE_TIMEOUT: setting('timeout of one request', '`30s`'),
    SERVICE_DEFAULT_CONTEXT: setting('context that the form for `/domain link` suggests', '`4`'),
    SERVICE_REPLY_TO: setting('`replyTo` in every JSON request except logout', 'none'),
    SERVICE_HEADER_PREFIX: setting(
      'prefix of the service’s own headers, such as `X-Service-Context`',
      '`X-Service-`',
    ),
  },
  Storage: {
    DATABASE_URL: setting('your own PostgreSQL database', 'embedded PostgreSQL in `DATA_DIR`'),
    DATA_DIR: setting('folder for the embedded database; supports one bot only', '`./data`'),
    BACKUP_DIR: setting(
      'folder for daily backups, kept for 14 days; `none` turns them off',
      '`DATA_DIR/backups` with the embedded database, else none',
    ),
    CREDENTIALS_KEYS: setting(
      '`id:base64(32 bytes)`, comma-separated: the first key encrypts, all keys decrypt',
      'with the embedded database, a key in `DATA_DIR/credentials.key`; required with `DATABASE_URL`',
    ),
    LEDGER_KEY: setting(
      'Ed25519 key (PKCS #8, base64) that signs [seals](ledger.md)',
      'the bot generates one and stores it encrypted',
    ),
  },
  Approvals: {
    SILENT_APPROVERS: setting(
      'people and user groups who may approve like `APPROVERS`, but are [never mentioned or messaged](approvals.md#reminders-and-special-cases)',
      'none',
    ),
    APPROVALS_REQUIRED: setting('approvals needed for one order', '`1`'),
    APPROVAL_TASKS: setting(
      'tasks that need approval',
      '`create,transfer,renew,restore,delete,nameservers,owner-change,authcode`',
    ),
    APPROVAL_TTL: setting('how long an order can be pending before it expires', '`72h`'),
    APPROVAL_REMIND_AFTER: setting('how long until approvers are reminded', '`4h`'),
    APPROVAL_CHANNEL: setting('channel where every pending card is also posted', 'none'),
    APPROVAL_ESCALATE_AFTER: setting('how long until a pending order is escalated', '`24h`'),
    APPROVAL_ESCALATE_TO: setting('people and groups it is escalated to', 'the admins'),
    ALLOW_SELF_APPROVAL: setting('lets requesters approve their own orders', '`false`'),
    SIGNING_ROOTS: setting(
      'fingerprints of [passkeys](passkeys.md#set-up-passkeys) that may vouch for others, comma-separated',
      'none: nothing can be signed',
    ),
  },
  'Reminders and money': {
    REMINDER_CHANNEL: setting('channel for expiry reminders', 'none: no reminders'),
    REMINDER_DAYS: setting('thresholds, in days before expiry', '`60,30,14,7,3,1`'),
    REMINDER_CRON: setting('schedule for the digest', '`0 9 * * *`'),
    REMINDER_TIMEZONE: setting('time zone for the schedule', '`UTC`'),
    ALERT_CHANNEL: setting('channel for incidents', '`REMINDER_CHANNEL`'),
    REPORT_CHANNEL: setting('channel for the monthly spending report', '`REMINDER_CHANNEL`'),
    CURRENCY: setting('currency of the price list (ISO 4217)', '`EUR`'),
  },
  Network: {
    PORT: setting(
      'HTTP port: `/slack/events`, `/calendar/…`, `/sign/…`, `/keys/…`, `/healthz`, `/readyz`, and `/metrics` unless `METRICS_PORT` is set',
      '`3000`',
    ),
    METRICS_PORT: setting('separate port for `/metrics`, if `PORT` is reachable from the internet', '`PORT`'),
    PUBLIC_URL: setting(
      'where browsers and calendar programs reach `PORT`; passkeys need `https`, or `localhost`',
      '`http://localhost:PORT`',
    ),
    WEBHOOK_URLS: setting('endpoints for [webhooks](webhooks.md), comma-separated', 'none'),
    WEBHOOK_SECRET: setting('`whsec_…`, signs webhooks', 'required with `WEBHOOK_URLS`'),
    RDAP_BOOTSTRAP_URL: setting('RFC 9224 bootstrap file', 'IANA’s'),
    WHOIS: setting(
      '`auto`: query WHOIS if a zone has no RDAP server, or the RDAP record has no expiry date; `off`: never',
      '`auto`',
    ),
    WHOIS_SERVERS: setting(
      'WHOIS servers by zone, `zone=host[:port]`, comma-separated',
      'those that IANA refers to',
    ),
    CERTIFICATE_DAYS: setting('days before a certificate expires on which the digest warns', '`14,7,3,1`'),
    LOOKUP_PRIVATE_ADDRESSES: setting(
      '`true` reads certificates from private and loopback addresses too, for a bot inside the network',
      '`false`',
    ),
    DNS_SERVERS: setting('resolvers, `address` or `address:port`, comma-separated', 'the system’s'),
  },
  Logs: {
    LOG_LEVEL: setting('pino level', '`info`'),
    LOG_FORMAT: setting('`json`, or `pretty` for easy reading', '`json`'),
  },
};
