import type { FeedRecord, FeedStore } from '../expiry/ports.ts';
import { type Database, type Prisma, withStoreError } from './database.ts';

function fromRow(row: Prisma.CalendarFeedModel): FeedRecord {
  return {
    userId: row.userId,
    tokenHash: row.tokenHash,
    sealed: { keyId: row.keyId, bytes: row.sealed },
  };
}

function columnsOf({ tokenHash, sealed }: FeedRecord, now: Date) {
  return { tokenHash, sealed: sealed.bytes, keyId: sealed.keyId, createdAt: now };
}

/** Addresses of calendar feeds in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createFeedStore({ prisma }: Database): FeedStore {
  return {
    find: (userId) =>
      withStoreError('reading the address of a calendar feed', async () => {
        const row = await prisma.calendarFeed.findUnique({ where: { userId } });
        return row === null ? undefined : fromRow(row);
      }),

    save: (record, now) =>
      withStoreError('saving the address of a calendar feed', async () => {
        const columns = columnsOf(record, now);
        await prisma.calendarFeed.upsert({
          where: { userId: record.userId },
          create: { userId: record.userId, ...columns },
          update: columns,
        });
      }),

    keepFirst: (record, now) =>
      withStoreError('keeping the address of a calendar feed', async () => {
        await prisma.calendarFeed.createMany({
          data: [{ userId: record.userId, ...columnsOf(record, now) }],
          skipDuplicates: true,
        });
        return fromRow(await prisma.calendarFeed.findUniqueOrThrow({ where: { userId: record.userId } }));
      }),

    hasToken: (tokenHash) =>
      withStoreError('looking a calendar feed up', async () => {
        return (await prisma.calendarFeed.count({ where: { tokenHash } })) > 0;
      }),

    people: () =>
      withStoreError('listing the people who have calendar feeds', async () => {
        const found = await prisma.calendarFeed.findMany({ select: { userId: true } });
        return found.map(({ userId }) => userId);
      }),

    remove: (userId) =>
      withStoreError('forgetting a calendar feed', async () => {
        await prisma.calendarFeed.deleteMany({ where: { userId } });
      }),
  };
}
