import type { AccountStore } from '../accounts/account.ts';
import { toAccount, toSealedAccount, toStoredProfile } from './account-rows.ts';
import { createBatcher } from './batch.ts';
import { createExclusiveRunner } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';
import { createTeamAccountStore } from './team-account.ts';

export function createAccountStore(database: Database): AccountStore {
  const { prisma } = database;
  /** Runs changes to a person's accounts one at a time, because each change writes several rows. */
  const changeAccounts = <T>(teamId: string, userId: string, change: (tx: Transaction) => Promise<T>) =>
    createExclusiveRunner(prisma, JSON.stringify(['accounts', teamId, userId]))(change);

  /** Batched, because a burst of clicks can read more accounts at once than there are connections. */
  const findRow = createBatcher(async (ids: readonly string[]) => {
    const rows = await prisma.account.findMany({ where: { id: { in: [...ids] } } });
    return ids.map((id) => rows.find((row) => row.id === id));
  });

  const deactivateActiveAccount = (tx: Transaction, teamId: string, userId: string) =>
    tx.account.updateMany({
      where: { activeKey: formatActiveKey(teamId, userId) },
      data: { activeKey: null },
    });

  return {
    team: createTeamAccountStore(database),
    ...wrapStore<Omit<AccountStore, 'team'>>('accounts', {
      list: async (teamId, userId) => {
        // The trusted application has no context and comes last.
        const orderBy = { context: { sort: 'asc', nulls: 'last' } } as const;
        return (await prisma.account.findMany({ where: { teamId, userId }, orderBy })).map(toAccount);
      },

      listUserIds: async (teamId) => {
        const rows = await prisma.account.findMany({
          where: { teamId, userId: { not: null } },
          select: { userId: true },
          distinct: ['userId'],
          orderBy: { userId: 'asc' },
        });
        return rows.flatMap(({ userId }) => (userId === null ? [] : [userId]));
      },

      find: async (id) => {
        const row = await findRow(id);
        return row && toSealedAccount(row);
      },

      save: (account, sealed) =>
        changeAccounts(account.teamId, account.userId, async (tx) => {
          const { teamId, userId, slot, method, login } = account;
          await deactivateActiveAccount(tx, teamId, userId);
          const now = new Date();
          const data = {
            method,
            login,
            context: account.context ?? null,
            application: account.application ?? null,
            sealed: sealed.bytes,
            keyId: sealed.keyId,
            activeKey: formatActiveKey(teamId, userId),
            verifiedAt: account.verifiedAt ?? null,
            profile: toStoredProfile(account.profile),
            updatedAt: now,
          };
          const { count } = await tx.account.updateMany({
            where: { teamId, userId, slot, method, login },
            data,
          });
          if (count > 0) return;
          await tx.account.deleteMany({ where: { teamId, userId, slot } });
          await tx.account.create({
            data: { id: account.id, teamId, userId, slot, createdAt: now, ...data },
          });
        }),

      activate: (teamId, userId, slot) =>
        changeAccounts(teamId, userId, async (tx) => {
          const row = await tx.account.findUnique({
            where: { teamId_userId_slot: { teamId, userId, slot } },
            select: { id: true },
          });
          if (row === null) return false;
          await deactivateActiveAccount(tx, teamId, userId);
          await tx.account.update({
            where: { id: row.id },
            data: { activeKey: formatActiveKey(teamId, userId), updatedAt: new Date() },
          });
          return true;
        }),

      remove: async (ids) => {
        await prisma.account.deleteMany({ where: { id: { in: [...ids] } } });
      },

      markVerified: async (id, at, profile) => {
        const changes = profile === undefined ? {} : { profile: toStoredProfile(profile) };
        await prisma.account.updateMany({
          where: { id },
          data: { verifiedAt: at, updatedAt: at, ...changes },
        });
      },

      listSealedWithOtherKey: async (keyId, limit, afterId) => {
        const rows = await prisma.account.findMany({
          where: { keyId: { not: keyId }, ...(afterId === undefined ? {} : { id: { gt: afterId } }) },
          orderBy: { id: 'asc' },
          take: limit,
        });
        return rows.map(toSealedAccount);
      },

      reseal: async (id, before, after) => {
        const { count } = await prisma.account.updateMany({
          where: { id, sealed: before.bytes, keyId: before.keyId },
          data: { sealed: after.bytes, keyId: after.keyId },
        });
        return count === 1;
      },
    }),
  };
}

/** A unique key, so that a person has at most one active account. */
function formatActiveKey(teamId: string, userId: string): string {
  return `${teamId}:${userId}`;
}
