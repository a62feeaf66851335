import type pg from 'pg';
import { z } from 'zod';

export interface ServerFacts {
  /** `180001` for 18.1. */
  readonly versionNumber: number;
  readonly version: string;
  readonly fsync: boolean;
  readonly now: Date;
  readonly freeConnections: number;
  /** Size of this database, in bytes. */
  readonly size: number;
}

const factsSchema = z.tuple([
  z.object({
    versionNumber: z.number(),
    version: z.string(),
    fsync: z.boolean(),
    now: z.date(),
    freeConnections: z.number(),
    size: z.number(),
  }),
]);

export async function readServerFacts(client: pg.ClientBase): Promise<ServerFacts> {
  const { rows } = await client.query(`
    SELECT current_setting('server_version_num')::int AS "versionNumber", current_setting('server_version') AS version,
      current_setting('fsync')::bool AS fsync, clock_timestamp() AS now,
      pg_database_size(current_database())::float8 AS size,
      (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'))::int AS "freeConnections"`);
  return factsSchema.parse(rows)[0];
}
