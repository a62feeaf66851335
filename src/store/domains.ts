import { z } from 'zod';
import type { CalendarName } from '../expiry/calendar.ts';
import { utcDay } from '../expiry/days.ts';
import type { WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import { FOLLOWED_TASKS } from '../orders/order.ts';
import { type Database, during, isUniqueViolation, Prisma, type Transaction } from './database.ts';

/** Dates of one end of a name differ by less than this; those of two ends by a year. */
const SAME_END_MS = 30 * 86_400_000;
/** `said_threshold` of a name whose present expiry nothing was said about. */
export const NOTHING_SAID = 2_147_483_647;
/** Midnight UTC of the day of the expiry of `d`, as reminders keep it. */
export const EXPIRY_DAY = Prisma.sql`(date_trunc('day', d.expires_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')`;
const BATCH = 2_000;
const TRANSACTION = { maxWait: 3_000, timeout: 10_000 };

export const expirySource = z.enum(['rdap', 'order', 'person']);
const monthCount = z.array(z.object({ month: z.string(), count: z.coerce.number() }));
const unfollowedRows = z.array(z.object({ orderId: z.string(), n: z.number() }));
const imported = z.array(z.object({ added: z.boolean() }));

/** A name of the watch list out of its row. */
export function domainFromRow(row: Prisma.DomainModel): WatchedDomain {
  const { expiresAt, renewedUntil, renewedAt, previousExpiresAt, movedAt, snoozedUntil, lapseReason } = row;
  return {
    name: row.name,
    version: row.version,
    expiry: expiresAt === null ? undefined : { at: expiresAt, source: expirySource.parse(row.expirySource) },
    addedBy: row.addedBy,
    addedAt: row.addedAt,
    registeredBy: row.registeredBy ?? undefined,
    renewed: renewedUntil === null || renewedAt === null ? undefined : { until: renewedUntil, at: renewedAt },
    moved:
      previousExpiresAt === null || movedAt === null ? undefined : { from: previousExpiresAt, at: movedAt },
    deletedAt: row.deletedAt ?? undefined,
    checkedAt: row.checkedAt ?? undefined,
    nextCheckAt: row.nextCheckAt,
    checkProblem: row.checkProblem ?? undefined,
    snooze:
      snoozedUntil === null
        ? undefined
        : { until: snoozedUntil, by: row.snoozedBy ?? '', reason: row.snoozeReason ?? undefined },
    lapse:
      lapseReason === null
        ? undefined
        : {
            reason: lapseReason,
            requestedBy: row.lapseRequestedBy ?? '',
            confirmed:
              row.lapseConfirmedBy === null || row.lapseConfirmedAt === null
                ? undefined
                : { by: row.lapseConfirmedBy, at: row.lapseConfirmedAt },
          },
  };
}

function columnsOf(domain: WatchedDomain) {
  return {
    expiresAt: domain.expiry?.at ?? null,
    expirySource: domain.expiry?.source ?? null,
    registeredBy: domain.registeredBy ?? null,
    renewedUntil: domain.renewed?.until ?? null,
    renewedAt: domain.renewed?.at ?? null,
    previousExpiresAt: domain.moved?.from ?? null,
    movedAt: domain.moved?.at ?? null,
    deletedAt: domain.deletedAt ?? null,
    checkedAt: domain.checkedAt ?? null,
    nextCheckAt: domain.nextCheckAt,
    checkProblem: domain.checkProblem ?? null,
    snoozedUntil: domain.snooze?.until ?? null,
    snoozedBy: domain.snooze?.by ?? null,
    snoozeReason: domain.snooze?.reason ?? null,
    lapseReason: domain.lapse?.reason ?? null,
    lapseRequestedBy: domain.lapse?.requestedBy ?? null,
    lapseConfirmedBy: domain.lapse?.confirmed?.by ?? null,
    lapseConfirmedAt: domain.lapse?.confirmed?.at ?? null,
  };
}

/** The watch list in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createWatchListStore({ prisma, run }: Database): WatchListStore {
  return {
    find: (name) =>
      during('looking a watched name up', async () => {
        const row = await prisma.domain.findUnique({ where: { name } });
        return row === null ? undefined : domainFromRow(row);
      }),

    findMany: (names) =>
      during('looking watched names up', async () => {
        const rows = await prisma.domain.findMany({ where: { name: { in: [...names] } } });
        return rows.map(domainFromRow);
      }),

    add: (domain) =>
      during('putting a name on the watch list', async () => {
        try {
          await prisma.$transaction((tx) => insert(tx, domain));
          return true;
        } catch (error) {
          if (isUniqueViolation(error)) return false;
          throw error;
        }
      }),

    change: (before, after) =>
      during('changing a watched name', () =>
        prisma.$transaction((tx) => swap(tx, before, after), TRANSACTION),
      ),

    remove: (name) =>
      during('taking a name off the watch list', async () => {
        const { count } = await prisma.domain.deleteMany({ where: { name } });
        return count > 0;
      }),

    importBatch: (names, by, now) =>
      during('importing names', async () => {
        const given = names.map(({ name }) => name);
        const dates = names.map(({ expiresAt }) => expiresAt?.toISOString() ?? '');
        // Without any row for a name that stays as it is; xmax tells a new row from a changed one.
        const rows = await prisma.$queryRaw`
        INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_check_at, said_threshold)
        SELECT name, expires_at, CASE WHEN expires_at IS NOT NULL THEN 'person' END,
               ${by}, ${now}::timestamptz, ${now}::timestamptz,
               COALESCE((SELECT min(threshold) FROM reminders r WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}),
                        ${NOTHING_SAID})
        FROM (SELECT name, NULLIF(date, '')::timestamptz AS expires_at
              FROM unnest(${given}::text[], ${dates}::text[]) AS given (name, date)) d
        ON CONFLICT (name) DO UPDATE
          SET expires_at = EXCLUDED.expires_at, expiry_source = 'person', version = domains.version + 1,
              said_threshold = EXCLUDED.said_threshold
          WHERE EXCLUDED.expires_at IS NOT NULL
            AND (domains.expiry_source IS NULL OR domains.expiry_source = 'person')
            AND domains.expires_at IS DISTINCT FROM EXCLUDED.expires_at
        RETURNING (xmax = 0) AS added`;
        const changed = imported.parse(rows);
        const added = changed.filter((row) => row.added).length;
        return { added, dated: changed.length - added };
      }),

    claimDueChecks: (now, until, limit) =>
      during('claiming names to look up', async () => {
        const claimed = z.array(z.object({ name: z.string() })).parse(
          await prisma.$queryRaw`
          UPDATE domains SET next_check_at = ${until}::timestamptz
          WHERE name IN (
            SELECT name FROM domains WHERE next_check_at <= ${now}::timestamptz
            ORDER BY next_check_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
          RETURNING name`,
        );
        if (claimed.length === 0) return [];
        const rows = await prisma.domain.findMany({
          where: { name: { in: claimed.map(({ name }) => name) } },
        });
        return rows.map(domainFromRow);
      }),

    page: (from, until, offset, limit) =>
      during('reading the watch list', async () => {
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
      during('counting the watch list', async () => {
        const [dated, undated] = await Promise.all([
          prisma.domain.count({ where: { expiresAt: { gte: from, lt: until } } }),
          prisma.domain.count({ where: { expiresAt: null } }),
        ]);
        return { dated, undated };
      }),

    countByMonth: (from, until, timeZone) =>
      during('counting names by month', async () => {
        const rows = await prisma.$queryRaw`
        SELECT to_char(expires_at AT TIME ZONE ${timeZone}, 'YYYY-MM') AS month, count(*)::int AS count
        FROM domains
        WHERE expires_at >= ${from}::timestamptz AND expires_at < ${until}::timestamptz AND lapse_confirmed_at IS NULL
        GROUP BY 1`;
        return monthCount.parse(rows).map(({ month, count }) => [month, count] as const);
      }),

    async *calendarNames(from): AsyncGenerator<CalendarName> {
      for (let after = { at: from, name: '' }; ; ) {
        const rows = await during('reading names for a calendar', () =>
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
      during('following a success', () =>
        prisma.$transaction(async (tx) => {
          const [item] = await tx.orderItem.updateManyAndReturn({
            where: { orderId, n, followedAt: null },
            data: { followedAt: now },
            select: { name: true },
          });
          if (item === undefined) return false;
          // Locked, so that what is computed from the row is not computed from an older one.
          await tx.$queryRaw`SELECT 1 FROM domains WHERE name = ${item.name} FOR UPDATE`;
          const row = await tx.domain.findUnique({ where: { name: item.name } });
          const before = row === null ? undefined : domainFromRow(row);
          const after = change(before);
          if (after === undefined) return true;
          if (before !== undefined) await swap(tx, before, after);
          else await insert(tx, after);
          return true;
        }, TRANSACTION),
      ),

    unfollowed: (since) =>
      during('looking for successes that were not followed', async () => {
        // OFFSET keeps the order of things: from the few orders of late to their items, not through all items.
        return unfollowedRows.parse(
          await run(Prisma.sql`
            SELECT i.order_id AS "orderId", i.n FROM orders o CROSS JOIN LATERAL (
              SELECT order_id, n FROM order_items
              WHERE order_id = o.id AND followed_at IS NULL AND state = 'SUCCEEDED' OFFSET 0
            ) i
            WHERE o.state IN ('EXECUTING', 'SUCCEEDED', 'FAILED', 'UNKNOWN') AND o.updated_at >= ${since}
              AND o.task = ANY(${[...FOLLOWED_TASKS]}) LIMIT ${BATCH}`),
        );
      }),
  };
}

async function insert(tx: Transaction, domain: WatchedDomain): Promise<void> {
  await tx.domain.create({
    data: {
      name: domain.name,
      version: domain.version,
      addedBy: domain.addedBy,
      addedAt: domain.addedAt,
      ...columnsOf(domain),
    },
  });
  // It may have been on the list before.
  if (domain.expiry !== undefined) await noteSaid(tx, domain.name, domain.expiry.at);
}

async function swap(tx: Transaction, before: WatchedDomain, after: WatchedDomain): Promise<boolean> {
  const from = before.expiry?.at;
  const to = after.expiry?.at;
  const moved = to !== undefined && (from === undefined || utcDay(from) !== utcDay(to));
  const { count } = await tx.domain.updateMany({
    where: { name: before.name, version: before.version },
    data: { ...columnsOf(after), version: before.version + 1 },
  });
  if (count === 0) return false;
  if (moved) {
    const sameEnd = from !== undefined && Math.abs(to.getTime() - from.getTime()) < SAME_END_MS;
    await noteSaid(tx, before.name, to, sameEnd ? from : undefined);
  }
  return true;
}

/**
 * Notes beside a name what was said about its new expiry: what is due is found by that alone.
 *
 * @param from the former date of the same end: what was said about it counts as said.
 */
async function noteSaid(tx: Transaction, name: string, expiresAt: Date, from?: Date): Promise<void> {
  const day = new Date(utcDay(expiresAt));
  const formerDay = from === undefined ? null : new Date(utcDay(from));
  await tx.$executeRaw`
    WITH kept AS (
      INSERT INTO reminders (name, expires_at, threshold, digest_id, claimed_at, posted_at)
      SELECT name, ${day}::timestamptz, threshold, digest_id, claimed_at, posted_at
      FROM reminders WHERE name = ${name} AND expires_at = ${formerDay}::timestamptz
      ON CONFLICT DO NOTHING
      RETURNING threshold)
    UPDATE domains d SET said_threshold = said.threshold
    FROM (
      SELECT COALESCE(min(threshold), ${NOTHING_SAID}) AS threshold FROM (
        SELECT threshold FROM kept
        UNION ALL SELECT threshold FROM reminders WHERE name = ${name} AND expires_at = ${day}::timestamptz) each
    ) said
    WHERE d.name = ${name} AND d.said_threshold <> said.threshold`;
}
