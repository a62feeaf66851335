import { PrismaPg } from '@prisma/adapter-pg';
import type { Log } from '../log.ts';
import { PrismaClient } from './generated/client.ts';

export type { PrismaClient } from './generated/client.ts';
export { Prisma } from './generated/client.ts';

/** What runs inside a transaction. */
export type Transaction = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];

/** The open database. */
export interface Database {
  readonly prisma: PrismaClient;
  /** Whether the database answers within `timeoutMs`. */
  ping(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly log?: Log;
  readonly maxConnections?: number;
}

/** A command must hear soon that the database is away, not hang with it. */
const CONNECT_MS = 2_000;
const STATEMENT_MS = 10_000;

/** Opens a pool of connections; the first query connects. */
export function openDatabase({ url, log, maxConnections = 10 }: DatabaseOptions): Database {
  const adapter = new PrismaPg(
    {
      connectionString: url,
      application_name: 'domain-steward',
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_MS,
      statement_timeout: STATEMENT_MS,
      // The server may be hung as well as gone: then no statement time-out of its own helps.
      query_timeout: STATEMENT_MS + 1_000,
    },
    {
      onPoolError: (err) => log?.warn({ err }, 'a connection to the database was lost'),
      onConnectionError: (err) => log?.warn({ err }, 'a connection to the database was lost'),
    },
  );
  const prisma = new PrismaClient({ adapter });
  return {
    prisma,
    async ping(timeoutMs) {
      const answered = prisma.$queryRaw`SELECT 1`.then(
        () => true,
        () => false,
      );
      const late = new Promise<false>((resolve) => {
        setTimeout(() => resolve(false), timeoutMs).unref();
      });
      return Promise.race([answered, late]);
    },
    close: () => prisma.$disconnect(),
  };
}

/** Whether an error says that a unique value is taken. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'P2002';
}
