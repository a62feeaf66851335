/*
 * What a session is told first, and asked.
 */

/**
 * A commit that was confirmed is on disk, whatever the server, the database or the role say. A stronger setting stays.
 * By a statement and not as the connection starts, where PgBouncer refuses it.
 */
export const DURABLE_COMMITS = `SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`;

/** Names the run of the server: each start of it, and each other server, has another name. */
export const SERVER = 'extract(epoch FROM pg_postmaster_start_time())::text';

/** How far the server's log reaches, in bytes; what is committed after this is asked for stands behind it. */
export const LOG_POSITION = `pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`;
