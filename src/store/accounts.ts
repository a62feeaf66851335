import { z } from 'zod';
import type { Account, AccountStore } from '../accounts/account.ts';
import type { Database, Prisma } from './database.ts';

const method = z.enum(['password', 'trusted_application', 'two_factor']);

function accountFromRow(row: Prisma.AccountModel): Account {
  return {
    id: row.id,
    teamId: row.teamId,
    userId: row.userId,
    method: method.parse(row.method),
    slot: row.slot,
    context: row.context ?? undefined,
    login: row.login,
    application: row.application ?? undefined,
    active: row.activeKey !== null,
    verifiedAt: row.verifiedAt ?? undefined,
  };
}

function withSealed(row: Prisma.AccountModel) {
  return { account: accountFromRow(row), sealed: { keyId: row.keyId, bytes: Uint8Array.from(row.sealed) } };
}

function activeKeyOf(teamId: string, userId: string): string {
  return `${teamId}:${userId}`;
}

/** The linked accounts in PostgreSQL. */
export function createAccountStore(database: Database): AccountStore {
  const { prisma } = database;
  return {
    async list(teamId, userId) {
      const rows = await prisma.account.findMany({ where: { teamId, userId }, orderBy: { slot: 'asc' } });
      return rows.map(accountFromRow);
    },

    async find(id) {
      const row = await prisma.account.findUnique({ where: { id } });
      return row === null ? undefined : withSealed(row);
    },

    async save(account, sealed) {
      const { teamId, userId, slot } = account;
      const activeKey = activeKeyOf(teamId, userId);
      const now = new Date();
      const data = {
        teamId,
        userId,
        slot,
        method: account.method,
        context: account.context ?? null,
        login: account.login,
        application: account.application ?? null,
        sealed: sealed.bytes,
        keyId: sealed.keyId,
        activeKey,
        verifiedAt: account.verifiedAt ?? null,
        updatedAt: now,
      };
      await prisma.$transaction([
        prisma.account.updateMany({ where: { activeKey }, data: { activeKey: null } }),
        prisma.account.deleteMany({ where: { teamId, userId, slot, NOT: { id: account.id } } }),
        prisma.account.upsert({
          where: { id: account.id },
          create: { id: account.id, createdAt: now, ...data },
          update: data,
        }),
      ]);
    },

    async activate(teamId, userId, slot) {
      const activeKey = activeKeyOf(teamId, userId);
      return prisma.$transaction(async (tx) => {
        const chosen = await tx.account.findUnique({
          where: { teamId_userId_slot: { teamId, userId, slot } },
        });
        if (chosen === null) return false;
        await tx.account.updateMany({ where: { activeKey }, data: { activeKey: null } });
        await tx.account.update({ where: { id: chosen.id }, data: { activeKey } });
        return true;
      });
    },

    async remove(ids) {
      await prisma.account.deleteMany({ where: { id: { in: [...ids] } } });
    },

    async markVerified(id, at) {
      await prisma.account.updateMany({ where: { id }, data: { verifiedAt: at } });
    },

    async sealedWithOtherKey(keyId, limit) {
      const rows = await prisma.account.findMany({
        where: { NOT: { keyId } },
        orderBy: { id: 'asc' },
        take: limit,
      });
      return rows.map(withSealed);
    },

    async reseal(id, before, after) {
      const { count } = await prisma.account.updateMany({
        where: { id, keyId: before.keyId, sealed: before.bytes },
        data: { keyId: after.keyId, sealed: after.bytes },
      });
      return count === 1;
    },
  };
}
