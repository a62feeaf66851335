import type { StandIn } from '../approvals/progress.ts';
import type { TeamEventOf } from '../ledger/events.ts';
import type { StandInStore } from '../policy/ports.ts';
import { createSharedRead } from './batch.ts';
import { createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

type StandInChange = Pick<TeamEventOf<'stand_in_changed'>, 'at' | 'standIn' | 'replaced'>;

export function createStandInStore({ prisma }: Database, teamId: string): StandInStore {
  const readAllRows = createSharedRead(() => prisma.standIn.findMany({ where: { teamId } }));

  /** Runs one change at a time, so that changes are logged in order. */
  const runExclusively = createExclusiveRunner(prisma, `stand-ins ${teamId}`);

  const readActiveStandIn = async (
    tx: Transaction,
    userId: string,
    at: Date,
  ): Promise<StandIn | undefined> => {
    const row = await tx.standIn.findUnique({ where: { teamId_userId: { teamId, userId } } });
    return row === null || row.until <= at ? undefined : { userId: row.standInId, until: row.until };
  };

  const logChange = (tx: Transaction, userId: string, change: StandInChange) => {
    const subject = { kind: 'person', id: userId } as const;
    return writeEvents(tx, [{ kind: 'stand_in_changed', subject, actor: userId, ...change }], teamId);
  };

  return wrapStore('standIns', {
    loadActiveStandIns: async (now) => {
      const rows = (await readAllRows()).filter(({ until }) => until > now);
      return new Map(rows.map(({ userId, standInId, until }) => [userId, { userId: standInId, until }]));
    },

    begin: (userId, standIn, at) =>
      runExclusively(async (tx) => {
        const previousStandIn = await readActiveStandIn(tx, userId, at);
        const fields = { standInId: standIn.userId, until: standIn.until, since: at };
        await tx.standIn.upsert({
          where: { teamId_userId: { teamId, userId } },
          create: { teamId, userId, ...fields },
          update: fields,
        });
        await logChange(tx, userId, { at, standIn, replaced: previousStandIn?.userId });
      }),

    end: (userId, at) =>
      runExclusively(async (tx) => {
        const previousStandIn = await readActiveStandIn(tx, userId, at);
        if (previousStandIn === undefined) return undefined;
        await tx.standIn.delete({ where: { teamId_userId: { teamId, userId } } });
        await logChange(tx, userId, { at, replaced: previousStandIn.userId });
        return previousStandIn;
      }),
  });
}
