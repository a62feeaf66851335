import type { FeedRecord, FeedStore } from '../expiry/ports.ts';
import type { Database, Prisma } from './database.ts';

function fromRow(row: Prisma.CalendarFeedModel): FeedRecord {
  return {
    userId: row.userId,
    tokenHash: row.tokenHash,
    sealed: { keyId: row.keyId, bytes: Uint8Array.from(row.sealed) },
  };
}

function columnsOf({ tokenHash, sealed }: FeedRecord, now: Date) {
  return { tokenHash, sealed: sealed.bytes, keyId: sealed.keyId, createdAt: now };
}

/** Addresses of calendar feeds in PostgreSQL. */
export function createFeedStore({ prisma }: Database): FeedStore {
  return {
    async find(userId) {
      const row = await prisma.calendarFeed.findUnique({ where: { userId } });
      return row === null ? undefined : fromRow(row);
    },

    async save(record, now) {
      const columns = columnsOf(record, now);
      await prisma.calendarFeed.upsert({
        where: { userId: record.userId },
        create: { userId: record.userId, ...columns },
        update: columns,
      });
    },

    async keepFirst(record, now) {
      await prisma.calendarFeed.createMany({
        data: [{ userId: record.userId, ...columnsOf(record, now) }],
        skipDuplicates: true,
      });
      return fromRow(await prisma.calendarFeed.findUniqueOrThrow({ where: { userId: record.userId } }));
    },

    async hasToken(tokenHash) {
      return (await prisma.calendarFeed.count({ where: { tokenHash } })) > 0;
    },
  };
}
