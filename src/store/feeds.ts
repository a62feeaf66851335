import type { FeedRecord, FeedStore } from '../expiry/ports.ts';
import { type Database, type Prisma, wrapStore } from './database.ts';

function toFeed(row: Prisma.CalendarFeedModel): FeedRecord {
  return {
    userId: row.userId,
    tokenHash: row.tokenHash,
    sealed: { keyId: row.keyId, bytes: row.sealed },
  };
}

function toFeedColumns({ tokenHash, sealed }: FeedRecord, now: Date) {
  return { tokenHash, sealed: sealed.bytes, keyId: sealed.keyId, createdAt: now };
}

export function createFeedStore({ prisma }: Database): FeedStore {
  return wrapStore('feeds', {
    find: async (userId) => {
      const row = await prisma.calendarFeed.findUnique({ where: { userId } });
      return row === null ? undefined : toFeed(row);
    },

    save: async (record, now) => {
      const columns = toFeedColumns(record, now);
      await prisma.calendarFeed.upsert({
        where: { userId: record.userId },
        create: { userId: record.userId, ...columns },
        update: columns,
      });
    },

    saveIfAbsent: async (record, now) => {
      await prisma.calendarFeed.createMany({
        data: [{ userId: record.userId, ...toFeedColumns(record, now) }],
        skipDuplicates: true,
      });
      return toFeed(await prisma.calendarFeed.findUniqueOrThrow({ where: { userId: record.userId } }));
    },

    hasToken: async (tokenHash) => (await prisma.calendarFeed.count({ where: { tokenHash } })) > 0,

    listUserIds: async () => {
      const rows = await prisma.calendarFeed.findMany({ select: { userId: true } });
      return rows.map(({ userId }) => userId);
    },

    remove: async (userId) => {
      await prisma.calendarFeed.deleteMany({ where: { userId } });
    },
  });
}
