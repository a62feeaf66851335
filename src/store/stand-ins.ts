import type { StandIn } from '../approvals/progress.ts';
import type { TeamEventOf } from '../ledger/events.ts';
import type { StandInStore } from '../policy/ports.ts';
import { shareRead } from './batch.ts';
import { createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

type StandInChange = Pick<TeamEventOf<'stand_in_changed'>, 'at' | 'standIn' | 'replaced'>;

/** @param teamId the team of both people */
export function createStandInStore({ prisma }: Database, teamId: string): StandInStore {
  const readAll = shareRead(() => prisma.standIn.findMany({ where: { teamId } }));

  /** Changes run one at a time, so that the log has them in order. */
  const runExclusively = createExclusiveRunner(prisma, `stand-ins ${teamId}`);

  /** @returns the stand-in at that time */
  const readStandIn = async (tx: Transaction, userId: string, at: Date): Promise<StandIn | undefined> => {
    const row = await tx.standIn.findUnique({ where: { teamId_userId: { teamId, userId } } });
    return row === null || row.until <= at ? undefined : { userId: row.standInId, until: row.until };
  };

  const logChange = (tx: Transaction, userId: string, change: StandInChange) => {
    const subject = { kind: 'person', id: userId } as const;
    return writeEvents(tx, [{ kind: 'stand_in_changed', subject, actor: userId, ...change }], teamId);
  };

  return wrapStore('standIns', {
    current: async (now) => {
      const rows = (await readAll()).filter(({ until }) => until > now);
      return new Map(rows.map(({ userId, standInId, until }) => [userId, { userId: standInId, until }]));
    },

    begin: (userId, standIn, at) =>
      runExclusively(async (tx) => {
        const before = await readStandIn(tx, userId, at);
        const fields = { standInId: standIn.userId, until: standIn.until, since: at };
        await tx.standIn.upsert({
          where: { teamId_userId: { teamId, userId } },
          create: { teamId, userId, ...fields },
          update: fields,
        });
        await logChange(tx, userId, { at, standIn, replaced: before?.userId });
      }),

    end: (userId, at) =>
      runExclusively(async (tx) => {
        const before = await readStandIn(tx, userId, at);
        if (before === undefined) return undefined;
        await tx.standIn.delete({ where: { teamId_userId: { teamId, userId } } });
        await logChange(tx, userId, { at, replaced: before.userId });
        return before;
      }),
  });
}
