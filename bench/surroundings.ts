import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import pg from 'pg';
import { z } from 'zod';
import { serializeCredential } from '../src/accounts/credential.ts';
import { createVault } from '../src/accounts/vault.ts';
import { loadCredentialsKeys } from '../src/config/credentials-key.ts';
import { readConfig } from '../src/config/environment.ts';
import { CHARGED_TASKS, diffPrices } from '../src/money/prices.ts';
import { Secret } from '../src/service/secret.ts';
import { createAccountStore } from '../src/store/accounts.ts';
import { openDatabase } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { createPriceStore } from '../src/store/prices.ts';
import { type Process, startProcess } from './processes.ts';
import { SlackLoad } from './slack-load.ts';

/** The requesters; the approver is another person. */
const PEOPLE = Array.from({ length: 50 }, (_, n) => `U0PERSON${n}`);
const APPROVER = 'U0APPROVER';
const SIGNING_SECRET = randomBytes(16).toString('hex');
/** The zone of the bench's names, and 250 others, because a registrar's price list is long. */
const PRICED_ZONES = ['rest', ...Array.from({ length: 250 }, (_, n) => `zone-${n}`)];
const PRICE = { amount: { currency: 'EUR', minor: 1_850 }, validFrom: '2026-01-01', source: 'Contract 7' };
export const TEAM_ID = 'T0STEWARD';
const KEYS = `bench:${randomBytes(32).toString('base64')}`;

/** The bot's embedded PostgreSQL, with the durable settings that users have. */
export class Postgres {
  readonly #server: EmbeddedPostgres;
  readonly #dataDir: string;

  private constructor(server: EmbeddedPostgres, dataDir: string) {
    this.#server = server;
    this.#dataDir = dataDir;
  }

  static async start(): Promise<Postgres> {
    const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-bench-'));
    // For root: PostgreSQL's user must be able to enter it.
    await chmod(dataDir, 0o755);
    // Three replicas and their references need more connections than the embedded one has for one bot.
    const server = await startEmbeddedPostgres({ dataDir, settings: { max_connections: '100' } });
    return new Postgres(server, dataDir);
  }

  /** @returns the URL of a new database with the current schema */
  async createDatabase(): Promise<string> {
    const name = `bench_${randomUUID().replaceAll('-', '')}`;
    const admin = new pg.Client({ connectionString: this.#server.url });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name}`);
    await admin.end();
    const url = new URL(this.#server.url);
    url.pathname = `/${name}`;
    await migrate({ url: url.href });
    return url.href;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    // For root, the data is in another folder that is linked from here.
    await rm(await realpath(join(this.#dataDir, 'postgres')), { recursive: true, force: true });
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

const ordersSchema = z.array(
  z.object({ id: z.string(), channel_id: z.string(), ts: z.string().nullable(), state: z.string() }),
);

export interface WaitingOrder {
  readonly id: string;
  readonly channelId: string;
  readonly ts: string;
}

/**
 * A database with people who have linked their accounts, the bot's peers, and bots. Each is a separate process; the
 * load comes from this process.
 */
export class Surroundings {
  readonly postgres: Postgres;
  readonly databaseUrl: string;
  readonly peers: Process;
  readonly slack = new SlackLoad(SIGNING_SECRET);
  readonly people = PEOPLE;
  readonly approver = APPROVER;
  readonly db: pg.Pool;
  readonly #processes: Process[] = [];
  readonly #closers: (() => Promise<void>)[] = [];

  private constructor(postgres: Postgres, databaseUrl: string, peers: Process) {
    this.postgres = postgres;
    this.databaseUrl = databaseUrl;
    this.peers = peers;
    this.#processes.push(peers);
    this.db = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    this.db.on('error', () => undefined);
  }

  static async open(): Promise<Surroundings> {
    const postgres = await Postgres.start();
    const peers = await startProcess('peers.ts');
    const surroundings = new Surroundings(postgres, await postgres.createDatabase(), peers);
    await surroundings.#populate();
    return surroundings;
  }

  get peersUrl(): string {
    return `http://127.0.0.1:${this.peers.port}`;
  }

  get responseUrl(): string {
    return `${this.peersUrl}/respond`;
  }

  /** The settings of a bot. The log level is the default. */
  environment(databaseUrl = this.databaseUrl): Readonly<Record<string, string>> {
    return {
      SLACK_BOT_TOKEN: 'xoxb-bench-0000',
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
      SLACK_API_URL: `${this.peersUrl}/api/`,
      PORT: '0',
      SERVICE_JSON_URL: `${this.peersUrl}/v1`,
      CREDENTIALS_KEYS: KEYS,
      DATABASE_URL: databaseUrl,
      APPROVERS: APPROVER,
      RDAP_BOOTSTRAP_URL: `${this.peersUrl}/rdap/bootstrap.json`,
      WHOIS: 'off',
      // Nothing listens on this port, so no query leaves this machine.
      DNS_SERVERS: '127.0.0.1:9',
    };
  }

  /** @param name a file in `bench/children` */
  async start(name: string, env = this.environment()): Promise<Process> {
    const child = await startProcess(name, env);
    this.#processes.push(child);
    return child;
  }

  /** Creates a team's data: people with linked accounts, and the price list of a registrar. */
  async #populate(): Promise<void> {
    const vault = createVault(loadCredentialsKeys(readConfig(this.environment())));
    const database = openDatabase({ url: this.databaseUrl });
    const store = createAccountStore(database);
    const login = { method: 'password', user: 'customer', context: 4 } as const;
    for (const userId of PEOPLE) {
      const account = {
        id: randomUUID(),
        teamId: TEAM_ID,
        userId,
        method: login.method,
        slot: '4',
        context: login.context,
        login: login.user,
        application: undefined,
        isActive: true,
        verifiedAt: new Date(),
      };
      const text = serializeCredential({ ...login, password: new Secret('a password of some length') });
      await store.save(account, vault.seal(text, ['account', account.teamId, userId, account.slot]));
    }
    const prices = PRICED_ZONES.flatMap((zone) =>
      CHARGED_TASKS.map((task) => ({ zone, task, period: 1, ...PRICE })),
    );
    await createPriceStore(database, TEAM_ID).save(diffPrices([], prices), APPROVER, new Date());
    await database.close();
  }

  person(n: number): string {
    return PEOPLE[n % PEOPLE.length] ?? '';
  }

  /** Pending orders whose card has been posted. */
  async listWaitingOrders(): Promise<readonly WaitingOrder[]> {
    const { rows } = await this.db.query(
      `SELECT o.id, o.channel_id, m.ts, o.state FROM orders o
       JOIN notifications p ON p.subject_kind = 'order' AND p.subject_id = o.id AND p.purpose = 'plan'
       JOIN notifications m ON m.subject_kind = 'order' AND m.subject_id = o.id AND m.purpose = 'card'
       WHERE o.state = 'PENDING' AND p.shows = p.version::text ORDER BY o.id`,
    );
    return ordersSchema
      .parse(rows)
      .map(({ id, channel_id, ts }) => ({ id, channelId: channel_id, ts: ts ?? '' }));
  }

  /** Waits until nothing is being carried out and Slack shows the current state of every order. */
  async waitUntilIdle(): Promise<void> {
    await waitUntil('nothing is under way', async () => {
      const { rows } = await this.db.query(
        `SELECT 1 FROM orders WHERE state IN ('APPROVED', 'EXECUTING') UNION ALL
         SELECT 1 FROM notifications WHERE purpose = 'plan' AND due_at IS NOT NULL AND shows IS DISTINCT FROM version::text
         LIMIT 1`,
      );
      return rows.length === 0;
    });
  }

  /** Registers a cleanup that runs on `close`. */
  addCleanup(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
    await Promise.all(this.#processes.map((child) => child.stop()));
    await this.slack.close();
    await this.db.end();
    await this.postgres.stop();
  }
}

/** @throws on a timeout */
export async function waitUntil(
  what: string,
  check: () => Promise<boolean>,
  everyMs = 50,
  minutes = 1,
): Promise<void> {
  const deadline = performance.now() + minutes * 60_000;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`waited ${minutes} min until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
