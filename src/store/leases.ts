import { FARTHEST_MS } from '../orders/clock.ts';
import { Prisma } from './database.ts';

/** Whether a lease is over by the database's clock. One from a clock that was set back since counts as over. */
export const isLeaseOver = (
  column: Prisma.Sql,
): Prisma.Sql => Prisma.sql`(${column} IS NULL OR ${column} <= now()
  OR ${column} > now() + ${FARTHEST_MS}::float8 * interval '1 ms')`;

/** The end of a lease that begins now, by the database's clock. */
export const leaseOf = (ms: number): Prisma.Sql => Prisma.sql`now() + ${ms}::float8 * interval '1 ms'`;
