/* SQL for the settings of every session, and SQL expressions about the server. */

/**
 * Set explicitly, because the role or database may have another default schema. Prisma qualifies its tables
 * with the schema, but other statements don't.
 */
export const SET_SEARCH_PATH = 'SET search_path = public';

/**
 * Ensures that a confirmed commit is on disk, even if the server, database or role has a weaker default. A
 * stronger setting is kept. Set by a statement, because PgBouncer rejects it as a connection parameter.
 */
export const SET_DURABLE_COMMITS = `SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`;

/** Identifies the server and its last start: different after each restart and on every other server. */
export const SERVER_ID_SQL = 'extract(epoch FROM pg_postmaster_start_time())::text';

/** The insert position in the server's write-ahead log, in bytes. Later commits have higher positions. */
export const WAL_POSITION_SQL = `pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`;
