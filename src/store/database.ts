import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { z } from 'zod';
import { MINUTE_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import { Prisma, PrismaClient } from './generated/client.ts';
import { VerifiedSigningLog } from './known-key-log.ts';
import { DatabaseUnverifiedError, KnownServer } from './known-server.ts';
import { LivePool } from './live-pool.ts';
import { SERVER_ID_SQL, SET_DURABLE_COMMITS, SET_SEARCH_PATH } from './session-settings.ts';
import { createStatementNamer } from './statement-names.ts';

export { Prisma } from './generated/client.ts';
export { DatabaseUnverifiedError } from './known-server.ts';

export type Transaction = Prisma.TransactionClient;

/** Created by `Prisma.sql`. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** @returns the rows, which the caller must check */
export type RunStatement = (statement: Statement) => Promise<unknown>;

/** `verified`: the statement runs only on a server that is known to have every commit. */
export type ServerTrust = 'any' | 'verified';

/** The bot's connections to PostgreSQL: one pool, shared by Prisma and raw SQL. */
export interface Database {
  readonly prisma: PrismaClient;
  /**
   * Runs a statement without Prisma, which saves CPU time for frequent queries. Timestamps are returned as `Date`,
   * 64-bit integers as strings.
   * @throws {DatabaseUnverifiedError} if `trust` is `verified` and the server isn't
   */
  run(statement: Statement, trust?: ServerTrust): Promise<unknown>;
  /** Runs statements in one transaction, which is rolled back if `work` throws. */
  transaction<T>(work: (run: RunStatement) => Promise<T>, trust?: ServerTrust): Promise<T>;
  /** The server that {@link run} and {@link transaction} use. */
  readonly server: KnownServer;
  readonly signingLog: VerifiedSigningLog;
  /** Waits for running queries and closes the connections. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** `postgresql://…` */
  readonly url: string;
  /** Receives a warning when an idle connection breaks. */
  readonly log?: Log;
  /** When all connections are in use, further queries wait. */
  readonly maxConnections?: number;
  /** Connections that have been idle for this long are tested before use. */
  readonly testAfterIdleMs?: number;
}

const MAX_CONNECTIONS = 10;
/** On a busy database, connections are rarely idle for this long, so the test rarely runs. */
const TEST_AFTER_IDLE_MS = 50;
/** The longest wait for a new connection or for a free one in the pool. */
const CONNECT_TIMEOUT_MS = 8_000;
/** Idle connections are kept for long, because opening a new one is slow on a busy machine. */
const IDLE_CONNECTION_TIMEOUT_MS = 5 * MINUTE_MS;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Client-side timeout, in case the server doesn't report that it stopped the statement. */
const QUERY_TIMEOUT_MS = 12_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;

/**
 * The time zone is UTC, because Prisma's adapter writes timestamps without an offset and ignores the offset
 * when it reads them. `random_page_cost` is tuned for RAM and SSDs. Its low value also makes
 * PostgreSQL use indexes on small tables. The plans are cached, so they still apply when the tables have grown.
 */
const SETTINGS = `SET TIME ZONE 'UTC'; SET statement_timeout = ${STATEMENT_TIMEOUT_MS};
  SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}; SET random_page_cost = 1.1`;

const SESSION_SETUP = `${SETTINGS}; ${SET_SEARCH_PATH}; ${SET_DURABLE_COMMITS}; SELECT ${SERVER_ID_SQL} AS server`;
/** Extracts the server ID from the results of {@link SESSION_SETUP}. */
const sessionResultSchema = z
  .array(z.object({ rows: z.array(z.unknown()) }))
  .transform((results) => z.tuple([z.object({ server: z.string() })]).parse(results.at(-1)?.rows)[0].server);

/** Connects on the first query. Every query has a timeout. */
export function openDatabase({
  url,
  log,
  maxConnections = MAX_CONNECTIONS,
  testAfterIdleMs = TEST_AFTER_IDLE_MS,
}: DatabaseOptions): Database {
  let isClosing = false;
  const logBrokenConnection = (err: Error) => {
    // When an embedded server stops, it breaks connections that are already closing.
    if (!isClosing) log?.warn({ err }, 'a connection to the database broke');
  };
  const server = new KnownServer();
  const options: pg.PoolConfig = {
    connectionString: url,
    application_name: 'domain-steward',
    max: maxConnections,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CONNECTION_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    // Statements can be sent before the previous one's result arrives.
    pipeline: true,
    onConnect: async (client) => {
      server.addConnection(client, sessionResultSchema.parse(await client.query(SESSION_SETUP)));
    },
  };
  const pool = new LivePool(options, testAfterIdleMs, server);
  // The running query already fails with the error. Without a listener, the error would also crash the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', logBrokenConnection);
  const nameStatement = createStatementNamer();
  const adapter = new PrismaPg(pool, {
    onConnectionError: logBrokenConnection,
    statementNameGenerator: ({ sql }) => nameStatement(sql),
  });
  const prisma = new PrismaClient({
    adapter,
    transactionOptions: { maxWait: CONNECT_TIMEOUT_MS, timeout: STATEMENT_TIMEOUT_MS },
    // Prisma's full messages contain the values of a query.
    errorFormat: 'minimal',
    log: [],
  });

  async function connect(trust: ServerTrust): Promise<pg.PoolClient> {
    const client = await pool.connect();
    if (trust === 'any' || server.isVerified) return client;
    client.release();
    throw new DatabaseUnverifiedError();
  }

  async function runOnClient(client: pg.PoolClient, { text, values }: Statement): Promise<unknown> {
    try {
      return (await client.query({ name: nameStatement(text), text, values })).rows;
    } catch (error) {
      // `detail` and `where` can contain values of rows, which must not get into the log.
      if (error instanceof pg.DatabaseError) Object.assign(error, { detail: undefined, where: undefined });
      throw error;
    }
  }

  return {
    prisma,
    server,
    signingLog: new VerifiedSigningLog(),

    async run(statement, trust = 'any') {
      const client = await connect(trust);
      try {
        const rows = await runOnClient(client, statement);
        client.release();
        return rows;
      } catch (error) {
        // After an error, the connection's state is unknown.
        client.release(true);
        throw error;
      }
    },

    async transaction(work, trust = 'any') {
      const client = await connect(trust);
      let mustDiscard = true;
      try {
        await client.query('BEGIN');
        const result = await work((statement) => runOnClient(client, statement));
        await client.query('COMMIT');
        mustDiscard = false;
        return result;
      } catch (error) {
        if (error instanceof pg.DatabaseError) {
          await client.query('ROLLBACK');
          mustDiscard = false;
        }
        throw error;
      } finally {
        // If the connection is closed, the server rolls back its transaction.
        client.release(mustDiscard);
      }
    },

    async close() {
      isClosing = true;
      await prisma.$disconnect();
      if (!pool.ending) await pool.end();
    },
  };
}

/**
 * A query failed. The message contains only the activity and the error code. The database's own message is in `cause`.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  /** The server's SQLSTATE, or else the adapter's or Prisma's error code. */
  readonly code: string | undefined;

  constructor(activity: string, cause: unknown) {
    const code = findErrorCode(cause);
    super(`${activity}: the database failed${code === undefined ? '' : ` (${code})`}`, { cause });
    this.code = code;
  }
}

/**
 * @param activity for the log, for example `counting orders`
 * @throws {StoreError} for every error
 */
export async function withStoreError<T>(activity: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StoreError ? error : new StoreError(activity, error);
  }
}

type StoreMethods<Methods> = Readonly<Record<keyof Methods, (...values: never[]) => Promise<unknown>>>;

/**
 * Makes all methods of a store throw {@link StoreError} on failure. The activity consists of the store's and
 * the method's name, for example `orders.load`.
 */
export function wrapStore<Methods extends StoreMethods<Methods>>(name: string, methods: Methods): Methods {
  return new Proxy(methods, {
    get(target, key) {
      const method: unknown = Reflect.get(target, key);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) =>
        withStoreError(`${name}.${String(key)}`, async () => Reflect.apply(method, target, args));
    },
  });
}

export function isUniqueViolation(error: unknown): boolean {
  const isDatabaseError =
    error instanceof Prisma.PrismaClientKnownRequestError || error instanceof pg.DatabaseError;
  return isDatabaseError && findErrorCode(error) === UNIQUE_VIOLATION;
}

/** SQLSTATE (PostgreSQL, appendix A). */
const UNIQUE_VIOLATION = '23505';

const adapterMetaSchema = z.object({
  driverAdapterError: z.object({
    cause: z.object({ originalCode: z.string().optional(), kind: z.string() }),
  }),
});

function findErrorCode(error: unknown): string | undefined {
  if (error instanceof Prisma.PrismaClientKnownRequestError) {
    const meta = adapterMetaSchema.safeParse(error.meta);
    return meta.success
      ? (meta.data.driverAdapterError.cause.originalCode ?? meta.data.driverAdapterError.cause.kind)
      : error.code;
  }
  if (error instanceof Prisma.PrismaClientInitializationError) return error.errorCode;
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
