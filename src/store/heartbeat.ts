import { z } from 'zod';
import type { Heartbeat } from '../orders/wake.ts';
import { type Database, during } from './database.ts';

/** The only row. */
const ID = 1;

/** When a bot was last at work on this database, in PostgreSQL. @throws {StoreError} from every method */
export function createHeartbeat({ prisma }: Database): Heartbeat {
  return {
    last: () =>
      during('reading the heartbeat', async () => {
        const row = await prisma.heartbeat.findUnique({ where: { id: ID } });
        return row === null ? undefined : { seenAt: row.seenAt, database: row.database };
      }),

    database: () =>
      during('asking which database this is', async () => {
        const [row] = identities.parse(
          await prisma.$queryRaw`
            SELECT concat_ws('/', s.system_identifier, d.oid, c.timeline_id) AS identity
            FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d
            WHERE d.datname = current_database()`,
        );
        return row.identity;
      }),

    beat: (beat) =>
      during('keeping the heartbeat', async () => {
        await prisma.heartbeat.upsert({ where: { id: ID }, create: { id: ID, ...beat }, update: beat });
      }),
  };
}

const identities = z.tuple([z.object({ identity: z.string() })]);
