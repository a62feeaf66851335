import pg from 'pg';
import { SET_DURABLE_COMMITS, SET_SEARCH_PATH } from './session-settings.ts';

/** An operator's command can't use the database. The message is for the operator. */
export class DatabaseAccessError extends Error {
  override readonly name = 'DatabaseAccessError';
}

/** Opens a connection for one command, without the bot's timeouts. */
export async function withSession<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'domain-steward (command)',
  });
  // The running query rejects with the error. Without a listener, the error would also end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    throw new DatabaseAccessError(
      `The database ${client.database ?? ''} at ${client.host}:${client.port} cannot be reached: ${getErrorText(cause)}`,
      { cause },
    );
  }
  try {
    await client.query(`SET TIME ZONE 'UTC'; ${SET_SEARCH_PATH}; ${SET_DURABLE_COMMITS}`);
    return await work(client);
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
    throw new DatabaseAccessError(`The database says: ${cause.message}`, { cause });
  } finally {
    await client.end().catch(() => undefined);
  }
}

export async function hasTables(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS found`,
  );
  return rows[0]?.found === true;
}

/** An `AggregateError`, such as one about several addresses, has no text of its own. */
export function getErrorText(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(getErrorText).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
}

export interface TableChange {
  readonly table: string;
  readonly rowCount: number;
}

/**
 * Runs the work in a transaction. A dry run does everything and then rolls it back, so its counts are exact.
 * @throws every error of `work`, after a rollback
 */
export async function inTransaction<T>(
  client: pg.Client,
  { dryRun }: { readonly dryRun: boolean },
  work: () => Promise<T>,
): Promise<T> {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query(dryRun ? 'ROLLBACK' : 'COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Leaves out unchanged tables. */
export function sumByTable(changes: readonly TableChange[]): readonly TableChange[] {
  const sums = new Map<string, number>();
  for (const { table, rowCount } of changes) sums.set(table, (sums.get(table) ?? 0) + rowCount);
  return [...sums].filter(([, rowCount]) => rowCount > 0).map(([table, rowCount]) => ({ table, rowCount }));
}
