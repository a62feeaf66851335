import type { CalendarName } from '../expiry/calendar.ts';
import type { ListCounts, ListRange, WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import { type Database, type Prisma, withStoreError, wrapStore } from './database.ts';
import { expirySourceSchema, readDomains } from './domain-rows.ts';

/** Limits the memory that a calendar needs. */
const CALENDAR_BATCH_SIZE = 2_000;

export function createWatchListPages(prisma: Database['prisma']) {
  const methods = {
    listPage: async (range, offset, limit) => {
      const names: WatchedDomain[] = [];
      let skip = offset;
      for (const query of Object.values(buildListQueries(range))) {
        const take = limit - names.length;
        names.push(...readDomains(await prisma.domain.findMany({ ...query, skip, take })));
        if (names.length === limit) break;
        if (skip > 0) skip = Math.max(0, skip - (await prisma.domain.count({ where: query.where })));
      }
      return names;
    },

    count: async (range) => {
      const count = ({ where }: ListQuery) => prisma.domain.count({ where });
      const queries = buildListQueries(range);
      const [dated, deleted, undated] = await Promise.all([
        count(queries.dated),
        count(queries.deleted),
        count(queries.undated),
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
    ...wrapStore('domains', methods),

    async *streamCalendarNames(from): AsyncGenerator<CalendarName> {
      for (let cursor = { expiresAt: from, name: '' }; ; ) {
        const rows = await withStoreError('reading names for a calendar', () =>
          prisma.domain.findMany({
            where: {
              expiresAt: { gte: cursor.expiresAt },
              OR: [
                { expiresAt: { gt: cursor.expiresAt } },
                { expiresAt: cursor.expiresAt, name: { gt: cursor.name } },
              ],
            },
            orderBy: [{ expiresAt: 'asc' }, { name: 'asc' }],
            take: CALENDAR_BATCH_SIZE,
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
          cursor = { expiresAt, name };
        }
        if (rows.length < CALENDAR_BATCH_SIZE) return;
      }
    },
  } satisfies Partial<WatchListStore>;
}

type ListQuery = Required<Pick<Prisma.DomainFindManyArgs, 'where' | 'orderBy'>>;

/** Builds one query for each section of the list, in display order. */
function buildListQueries({
  from,
  until,
  deletedFrom,
}: ListRange): Readonly<Record<keyof ListCounts, ListQuery>> {
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
