import type pg from 'pg';
import { z } from 'zod';

const factsSchema = z.object({
  /** `180001` for 18.1. */
  versionNumber: z.number(),
  version: z.string(),
  fsync: z.boolean(),
  now: z.date(),
  freeConnections: z.number(),
  /** Size of this database, in bytes. */
  size: z.number(),
});
export type ServerFacts = Readonly<z.infer<typeof factsSchema>>;

export async function readServerFacts(client: pg.ClientBase): Promise<ServerFacts> {
  const { rows } = await client.query(`
    SELECT current_setting('server_version_num')::int AS "versionNumber", current_setting('server_version') AS version,
      current_setting('fsync')::bool AS fsync, clock_timestamp() AS now,
      pg_database_size(current_database())::float8 AS size,
      (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'))::int AS "freeConnections"`);
  return z.tuple([factsSchema]).parse(rows)[0];
}
