import { z } from 'zod';
import type { LeaseStore } from '../names/ports.ts';
import { MAX_WAIT_MS } from '../orders/clock.ts';
import { type Database, Prisma, wrapStore } from './database.ts';

/**
 * Whether a lease has expired, by the database's clock. A lease that ends implausibly late counts as expired too,
 * because the clock may have been set back.
 */
export const isLeaseExpired = (
  column: Prisma.Sql,
): Prisma.Sql => Prisma.sql`(${column} IS NULL OR ${column} <= now()
  OR ${column} > now() + ${MAX_WAIT_MS}::float8 * interval '1 ms')`;

/** The end of a lease that starts now, by the database's clock. */
export const buildLeaseEnd = (leaseMs: number): Prisma.Sql =>
  Prisma.sql`now() + ${leaseMs}::float8 * interval '1 ms'`;

const holderRowsSchema = z.array(z.object({ holder: z.string() }));

export function createLeaseStore({ run }: Database): LeaseStore {
  return wrapStore('leases', {
    acquire: async (work, holder, leaseMs) => {
      const rows = await run(Prisma.sql`
        INSERT INTO leases AS l (work, holder, until) VALUES (${work}, ${holder}, ${buildLeaseEnd(leaseMs)})
        ON CONFLICT (work) DO UPDATE SET holder = excluded.holder, until = excluded.until
          WHERE l.holder = excluded.holder OR ${isLeaseExpired(Prisma.sql`l.until`)}
        RETURNING holder`);
      return holderRowsSchema.parse(rows).length === 1;
    },
  });
}
