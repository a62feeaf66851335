import { z } from 'zod';
import type { CalendarName } from '../expiry/calendar.ts';
import { utcDay } from '../expiry/days.ts';
import type { WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import { type Database, isUniqueViolation, type RunStatement, withStoreError } from './database.ts';
import {
  claimDue,
  claimedSuccessRows,
  claimSuccess,
  domainFromRow,
  domainRows,
  EXPIRY_DAY,
  expirySource,
  insertDomain,
  NO_REMINDER,
  recordReminder,
  selectDomain,
  swapDomain,
  swappedRows,
} from './domain-rows.ts';

/** Dates of one end of a name differ by less than this; those of two ends by a year. */
const SAME_END_MS = 30 * 86_400_000;
const BATCH = 2_000;

const monthCount = z.array(z.object({ month: z.string(), count: z.coerce.number() }));
const imported = z.array(z.object({ added: z.boolean() }));

/** The watch list in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createWatchListStore({ prisma, run, transaction }: Database): WatchListStore {
  return {
    find: (name) =>
      withStoreError(
        'looking a watched name up',
        async () => domainRows.parse(await run(selectDomain(name)))[0],
      ),

    findMany: (names) =>
      withStoreError('looking watched names up', async () => {
        const rows = await prisma.domain.findMany({ where: { name: { in: [...names] } } });
        return rows.map(domainFromRow);
      }),

    add: (domain) =>
      withStoreError('putting a name on the watch list', async () => {
        try {
          await run(insertDomain(domain));
          return true;
        } catch (error) {
          if (isUniqueViolation(error)) return false;
          throw error;
        }
      }),

    change: (before, after) =>
      withStoreError('changing a watched name', () =>
        // One statement is a transaction by itself.
        watchListChange(before, after) === undefined
          ? swap(run, before, after)
          : transaction((runInside) => swap(runInside, before, after)),
      ),

    remove: (name) =>
      withStoreError('taking a name off the watch list', async () => {
        const { count } = await prisma.domain.deleteMany({ where: { name } });
        return count > 0;
      }),

    importBatch: (names, by, now) =>
      withStoreError('importing names', async () => {
        const given = names.map(({ name }) => name);
        const dates = names.map(({ expiresAt }) => expiresAt?.toISOString() ?? '');
        // Without any row for a name that stays as it is; xmax tells a new row from a changed one.
        const rows = await prisma.$queryRaw`
        INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_check_at, reminded_threshold)
        SELECT name, expires_at, CASE WHEN expires_at IS NOT NULL THEN 'person' END,
               ${by}, ${now}::timestamptz, ${now}::timestamptz,
               COALESCE((SELECT min(threshold) FROM reminders r WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}),
                        ${NO_REMINDER})
        FROM (SELECT name, NULLIF(date, '')::timestamptz AS expires_at
              FROM unnest(${given}::text[], ${dates}::text[]) AS given (name, date)) d
        ON CONFLICT (name) DO UPDATE
          SET expires_at = EXCLUDED.expires_at, expiry_source = 'person', version = domains.version + 1,
              reminded_threshold = EXCLUDED.reminded_threshold
          WHERE EXCLUDED.expires_at IS NOT NULL
            AND (domains.expiry_source IS NULL OR domains.expiry_source = 'person')
            AND domains.expires_at IS DISTINCT FROM EXCLUDED.expires_at
        RETURNING (xmax = 0) AS added`;
        const changed = imported.parse(rows);
        const added = changed.filter((row) => row.added).length;
        return { added, dated: changed.length - added };
      }),

    claimDueChecks: (now, until, limit) =>
      withStoreError('claiming names to look up', async () =>
        domainRows.parse(await run(claimDue(now, until, limit))),
      ),

    page: (from, until, offset, limit) =>
      withStoreError('reading the watch list', async () => {
        const dated = await prisma.domain.findMany({
          where: { expiresAt: { gte: from, lt: until } },
          orderBy: [{ expiresAt: 'asc' }, { name: 'asc' }],
          skip: offset,
          take: limit,
        });
        if (dated.length === limit) return dated.map(domainFromRow);
        const before = await prisma.domain.count({ where: { expiresAt: { gte: from, lt: until } } });
        const undated = await prisma.domain.findMany({
          where: { expiresAt: null },
          orderBy: { name: 'asc' },
          skip: Math.max(0, offset - before),
          take: limit - dated.length,
        });
        return [...dated, ...undated].map(domainFromRow);
      }),

    count: (from, until) =>
      withStoreError('counting the watch list', async () => {
        const [dated, undated] = await Promise.all([
          prisma.domain.count({ where: { expiresAt: { gte: from, lt: until } } }),
          prisma.domain.count({ where: { expiresAt: null } }),
        ]);
        return { dated, undated };
      }),

    countByMonth: (from, until, timeZone) =>
      withStoreError('counting names by month', async () => {
        const rows = await prisma.$queryRaw`
        SELECT to_char(expires_at AT TIME ZONE ${timeZone}, 'YYYY-MM') AS month, count(*)::int AS count
        FROM domains
        WHERE expires_at >= ${from}::timestamptz AND expires_at < ${until}::timestamptz AND lapse_confirmed_at IS NULL
        GROUP BY 1`;
        return monthCount.parse(rows).map(({ month, count }) => [month, count] as const);
      }),

    async *calendarNames(from): AsyncGenerator<CalendarName> {
      for (let after = { at: from, name: '' }; ; ) {
        const rows = await withStoreError('reading names for a calendar', () =>
          prisma.domain.findMany({
            where: {
              expiresAt: { gte: after.at },
              OR: [{ expiresAt: { gt: after.at } }, { expiresAt: after.at, name: { gt: after.name } }],
            },
            orderBy: [{ expiresAt: 'asc' }, { name: 'asc' }],
            take: BATCH,
            select: { name: true, expiresAt: true, expirySource: true, lapseConfirmedAt: true },
          }),
        );
        for (const { name, expiresAt, expirySource: source, lapseConfirmedAt } of rows) {
          if (expiresAt === null) continue;
          yield { name, expiresAt, source: expirySource.parse(source), lapsing: lapseConfirmedAt !== null };
          after = { at: expiresAt, name };
        }
        if (rows.length < BATCH) return;
      }
    },

    follow: (orderId, n, now, change) =>
      withStoreError('following a success', () =>
        transaction(async (runInside) => {
          const taken = claimedSuccessRows.parse(await runInside(claimSuccess(orderId, n, now)));
          if (taken.length === 0) return false;
          const [before] = taken;
          const after = change(before);
          if (after === undefined) return true;
          if (before === undefined) await runInside(insertDomain(after));
          else await swap(runInside, before, after);
          return true;
        }),
      ),
  };
}

/**
 * The day on which a name expires, where a change moves it.
 * @returns `from`: the former date, if it is one of the same end
 */
function watchListChange(
  before: WatchedDomain,
  after: WatchedDomain,
): { to: Date; from: Date | undefined } | undefined {
  const from = before.expiry?.at;
  const to = after.expiry?.at;
  if (to === undefined || (from !== undefined && utcDay(from) === utcDay(to))) return undefined;
  const isSameEnd = from !== undefined && Math.abs(to.getTime() - from.getTime()) < SAME_END_MS;
  return { to, from: isSameEnd ? from : undefined };
}

/** @param run in a transaction, where the expiry moves. @returns false when somebody else was faster */
async function swap(run: RunStatement, before: WatchedDomain, after: WatchedDomain): Promise<boolean> {
  if (swappedRows.parse(await run(swapDomain(before, after))).length === 0) return false;
  const move = watchListChange(before, after);
  if (move !== undefined) await run(recordReminder(before.name, move.to, move.from));
  return true;
}
