/* The settings and first queries of every session. */

/**
 * The client names the schema of its tables, other statements don't. The role or the database may be set to another
 * one.
 */
export const SEARCH_PATH = 'SET search_path = public';

/**
 * A confirmed commit is on disk, whatever the server, the database or the role are set to. A stronger setting is kept.
 * It is a statement, because PgBouncer refuses it as a parameter of the connection.
 */
export const DURABLE_COMMITS = `SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`;

/** Identifies the run of the server: each start, and each other server, has another id. */
export const SERVER = 'extract(epoch FROM pg_postmaster_start_time())::text';

/** The end of the server's write-ahead log, in bytes. Later commits have higher positions. */
export const LOG_POSITION = `pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`;
