/* Settings and first queries of every session. */

/**
 * Set explicitly, because the role or database may have another default schema. Prisma's client names the schema of its
 * tables, but other statements don't.
 */
export const SEARCH_PATH = 'SET search_path = public';

/**
 * Ensures that a confirmed commit is on disk, whatever the server, database or role is set to. A stronger setting is
 * kept. Set by a statement, because PgBouncer rejects it as a connection parameter.
 */
export const DURABLE_COMMITS = `SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`;

/** Identifies the server and its last start: it differs after each restart and on every other server. */
export const SERVER_ID_SQL = 'extract(epoch FROM pg_postmaster_start_time())::text';

/** The end of the server's write-ahead log, in bytes. Later commits have higher positions. */
export const WAL_POSITION = `pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`;
