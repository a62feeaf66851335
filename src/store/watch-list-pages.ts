import type { CalendarName } from '../expiry/calendar.ts';
import type { ListCounts, ListRange, WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import { type Database, type Prisma, withStoreError, wrapStore } from './database.ts';
import { expirySourceSchema, readDomains } from './domain-rows.ts';

/** Limits the memory that a calendar needs. */
const PAGE_SIZE = 2_000;

export function createWatchListPages(prisma: Database['prisma']) {
  const pages = {
    listPage: async (range, offset, limit) => {
      const names: WatchedDomain[] = [];
      let skip = offset;
      for (const part of Object.values(buildParts(range))) {
        const take = limit - names.length;
        names.push(...readDomains(await prisma.domain.findMany({ ...part, skip, take })));
        if (names.length === limit) break;
        if (skip > 0) skip = Math.max(0, skip - (await prisma.domain.count({ where: part.where })));
      }
      return names;
    },

    count: async (range) => {
      const count = ({ where }: ListPart) => prisma.domain.count({ where });
      const parts = buildParts(range);
      const [dated, deleted, undated] = await Promise.all([
        count(parts.dated),
        count(parts.deleted),
        count(parts.undated),
      ]);
      return { dated, deleted, undated };
    },

    countUndated: () =>
      prisma.domain.count({ where: { expiresAt: null, deletedAt: null, lapseConfirmedAt: null } }),

    countOwnerless: async () => {
      const [withoutOwner, ownerLeft] = await Promise.all([
        prisma.domain.count({ where: { ownerId: null, lapseConfirmedAt: null } }),
        prisma.domain.count({ where: { ownerLeftAt: { not: null }, lapseConfirmedAt: null } }),
      ]);
      return { withoutOwner, ownerLeft };
    },
  } satisfies Partial<WatchListStore>;

  return {
    ...wrapStore('domains', pages),

    async *streamCalendarNames(from): AsyncGenerator<CalendarName> {
      for (let cursor = { at: from, name: '' }; ; ) {
        const rows = await withStoreError('reading names for a calendar', () =>
          prisma.domain.findMany({
            where: {
              expiresAt: { gte: cursor.at },
              OR: [{ expiresAt: { gt: cursor.at } }, { expiresAt: cursor.at, name: { gt: cursor.name } }],
            },
            orderBy: [{ expiresAt: 'asc' }, { name: 'asc' }],
            take: PAGE_SIZE,
            select: { name: true, expiresAt: true, expirySource: true, lapseConfirmedAt: true },
          }),
        );
        for (const { name, expiresAt, expirySource: source, lapseConfirmedAt } of rows) {
          if (expiresAt === null) continue;
          yield {
            name,
            expiresAt,
            source: expirySourceSchema.parse(source),
            isLapsing: lapseConfirmedAt !== null,
          };
          cursor = { at: expiresAt, name };
        }
        if (rows.length < PAGE_SIZE) return;
      }
    },
  } satisfies Partial<WatchListStore>;
}

type ListPart = Required<Pick<Prisma.DomainFindManyArgs, 'where' | 'orderBy'>>;

/** The queries for the names of a range, in display order. */
function buildParts({ from, until, deletedFrom }: ListRange): Readonly<Record<keyof ListCounts, ListPart>> {
  return {
    dated: {
      where: { expiresAt: { gte: from, lt: until } },
      orderBy: [{ expiresAt: 'asc' }, { name: 'asc' }],
    },
    deleted: {
      where: { deletedAt: { gte: deletedFrom }, OR: [{ expiresAt: { gte: until } }, { expiresAt: null }] },
      orderBy: [{ deletedAt: 'asc' }, { name: 'asc' }],
    },
    undated: {
      where: { expiresAt: null, OR: [{ deletedAt: null }, { deletedAt: { lt: deletedFrom } }] },
      orderBy: [{ name: 'asc' }],
    },
  };
}
