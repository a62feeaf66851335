import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { CandidateRange } from '../expiry/candidates.ts';
import { utcDay } from '../expiry/days.ts';
import type { DigestRun, ReminderKey, ReminderStore, WatchedReminder } from '../expiry/ports.ts';
import { DISPUTED_PROBLEM } from '../expiry/refresh.ts';
import {
  type Database,
  isUniqueViolation,
  named,
  Prisma,
  type Statement,
  type Transaction,
  withStoreError,
} from './database.ts';
import { domainFromRow, expirySource } from './domain-rows.ts';
import { EXPIRY_DAY, NO_REMINDER } from './domain-statements.ts';

/** One more than a digest says at once: one question tells, too, whether there are more. */
const BATCH = 1_001;
const DAY_MS = 86_400_000;
/** A digest is put off for less than this. */
const FARTHEST_LEASE_MS = 2 * 3_600_000;
const TRANSACTION = { maxWait: 3_000, timeout: 10_000 };

const text = z.string().nullable();
const moment = z.date().nullable();
const candidateRow = z.object({
  name: z.string(),
  expiresAt: z.date(),
  expirySource,
  renewedUntil: moment,
  deletedAt: moment,
  snoozedUntil: moment,
  remindedThreshold: z.number(),
  addedBy: z.string(),
  registeredBy: text,
  checkProblem: text,
  lapseReason: text,
  lapseRequestedBy: text,
}) satisfies z.ZodType<Partial<Prisma.DomainModel>>;
const deletedRows = z.array(candidateRow);
const candidateRows = z.array(candidateRow.extend({ range: z.number() }));
const key = z.object({ name: z.string(), expires_at: z.date(), threshold: z.number() });

/** What {@link candidateRow} holds: all that the plan and the digest need. */
const CANDIDATE_COLUMNS = Prisma.sql`
  d.name, d.expires_at AS "expiresAt", d.expiry_source AS "expirySource", d.renewed_until AS "renewedUntil",
  d.deleted_at AS "deletedAt", d.snoozed_until AS "snoozedUntil", d.reminded_threshold AS "remindedThreshold",
  d.added_by AS "addedBy", d.registered_by AS "registeredBy", d.check_problem AS "checkProblem",
  d.lapse_reason AS "lapseReason", d.lapse_requested_by AS "lapseRequestedBy"`;

/** Where a walk over names that can be due goes on in a range: after a name at its first moment. */
export interface CandidateStep extends CandidateRange {
  readonly afterName: string;
}

/**
 * The query behind `candidates`, one text for all ranges; apart, so that its plan can be looked at. Sorted by the range
 * alone, rows go out as they are found: within a range they come as the inner query orders them.
 */
export function candidatesQuery(steps: readonly CandidateStep[]): Statement {
  return named(
    'candidates for reminders',
    Prisma.sql`
      SELECT step.n::int AS range, found.* FROM (
        SELECT * FROM unnest(
          ${steps.map(({ threshold }) => threshold)}::int[], ${steps.map(({ from }) => from)}::timestamptz[],
          ${steps.map(({ until }) => until)}::timestamptz[], ${steps.map(({ afterName }) => afterName)}::text[])
          WITH ORDINALITY AS step (threshold, since, until, after_name, n)
        ORDER BY n) step
      CROSS JOIN LATERAL (
        SELECT ${CANDIDATE_COLUMNS} FROM domains d
        WHERE d.expires_at >= step.since AND d.expires_at < step.until AND d.reminded_threshold > step.threshold
          AND d.lapse_confirmed_at IS NULL AND (d.expires_at > step.since OR d.name > step.after_name)
        ORDER BY d.expires_at, d.name LIMIT ${BATCH}) found
      ORDER BY step.n LIMIT ${BATCH}`,
  );
}

/** Frees the reminders that digests claimed and did not post. */
async function free(db: Pick<Transaction, '$executeRaw'>, digestIds: readonly string[]): Promise<void> {
  const ids = [...digestIds];
  await db.$executeRaw`
    WITH freed AS (
      DELETE FROM reminders WHERE digest_id = ANY (${ids}::text[]) AND posted_at IS NULL RETURNING name)
    UPDATE domains d SET reminded_threshold = COALESCE(
      (SELECT min(r.threshold) FROM reminders r
       WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}
         AND (r.posted_at IS NOT NULL OR r.digest_id <> ALL (${ids}::text[]))),
      ${NO_REMINDER})
    FROM freed WHERE d.name = freed.name`;
}

/** A name that nobody lets go. */
function reminderOf(row: z.infer<typeof candidateRow>): WatchedReminder {
  return {
    name: row.name,
    expiresAt: row.expiresAt,
    source: row.expirySource,
    renewedUntil: row.renewedUntil ?? undefined,
    deletedAt: row.deletedAt ?? undefined,
    snoozedUntil: row.snoozedUntil ?? undefined,
    remindedThresholds: [row.remindedThreshold],
    addedBy: row.addedBy,
    registeredBy: row.registeredBy ?? undefined,
    checkProblem: row.checkProblem ?? undefined,
    lapse:
      row.lapseReason === null
        ? undefined
        : { reason: row.lapseReason, requestedBy: row.lapseRequestedBy ?? '', confirmed: undefined },
  };
}

/** Digests and reminders in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createReminderStore({ prisma, run }: Database): ReminderStore {
  const ask = (query: Statement): Promise<unknown> =>
    withStoreError('looking for names that are due', () => run(query));

  return {
    claimDigest: (scheduledFor, now, leaseUntil) =>
      withStoreError('taking a digest', async () => {
        // What stands ahead of now was noted by a clock that has been put back since.
        const latest = await prisma.digest.findFirst({
          where: { scheduledFor: { lte: now } },
          orderBy: { scheduledFor: 'desc' },
        });
        if (latest === null) {
          await prisma.digest.createMany({
            data: [{ id: randomUUID(), scheduledFor, leaseUntil: now, completedAt: now }],
            skipDuplicates: true,
          });
          return undefined;
        }
        const unfinished = latest.completedAt === null;
        const isHeld =
          latest.leaseUntil > now && latest.leaseUntil.getTime() - now.getTime() < FARTHEST_LEASE_MS;
        if (unfinished && isHeld) return undefined;
        if (latest.scheduledFor >= scheduledFor && !unfinished) return undefined;

        try {
          return await prisma.$transaction(async (tx): Promise<DigestRun | undefined> => {
            let run: DigestRun;
            if (latest.scheduledFor >= scheduledFor) {
              const { count } = await tx.digest.updateMany({
                where: { id: latest.id, leaseUntil: latest.leaseUntil, completedAt: null },
                data: { leaseUntil },
              });
              if (count === 0) return undefined;
              const { channelId, ts } = latest;
              run = {
                id: latest.id,
                head: channelId === null || ts === null ? undefined : { channelId, ts },
              };
            } else {
              run = { id: randomUUID(), head: undefined };
              await tx.digest.create({ data: { id: run.id, scheduledFor, leaseUntil } });
            }
            const abandoned = await tx.digest.findMany({
              where: { completedAt: null },
              select: { id: true },
            });
            const ids = abandoned.map(({ id }) => id);
            // Closed first: whoever was overtaken claims nothing any more that would never be free.
            await tx.digest.updateMany({
              where: { id: { in: ids, not: run.id } },
              data: { completedAt: now },
            });
            await free(tx, ids);
            return run;
          }, TRANSACTION);
        } catch (error) {
          // Another process was faster with the same time of the schedule.
          if (isUniqueViolation(error)) return undefined;
          throw error;
        }
      }),

    extendDigest: (id, leaseUntil) =>
      withStoreError('extending the lease of a digest', async () => {
        const { count } = await prisma.digest.updateMany({
          where: { id, completedAt: null },
          data: { leaseUntil },
        });
        return count === 1;
      }),

    postponeDigest: (id, until) =>
      withStoreError('putting off a digest', async () => {
        await prisma.digest.updateMany({ where: { id, completedAt: null }, data: { leaseUntil: until } });
      }),

    recordHead: (id, { channelId, ts }) =>
      withStoreError('noting where a digest stands', async () => {
        await prisma.digest.update({ where: { id }, data: { channelId, ts } });
      }),

    finishDigest: (id, now) =>
      withStoreError('finishing a digest', async () => {
        const finished = await prisma.digest.update({ where: { id }, data: { completedAt: now } });
        await free(prisma, [id]);
        // Times at which nothing was said need no memory beyond the latest.
        await prisma.digest.deleteMany({
          where: {
            scheduledFor: { lt: finished.scheduledFor },
            completedAt: { not: null },
            ts: null,
            OR: [{ adminsAlertedAt: null }, { adminsAlertedAt: { lt: new Date(now.getTime() - DAY_MS) } }],
          },
        });
      }),

    claimAlert: (id, now) =>
      withStoreError('noting a complaint about a digest', async () => {
        const recent = await prisma.digest.count({
          where: { adminsAlertedAt: { gt: new Date(now.getTime() - DAY_MS) } },
        });
        if (recent > 0) return false;
        const { count } = await prisma.digest.updateMany({ where: { id }, data: { adminsAlertedAt: now } });
        return count === 1;
      }),

    async *candidates(ranges) {
      let steps: readonly CandidateStep[] = ranges.map((range) => ({ ...range, afterName: '' }));
      for (;;) {
        const found = candidateRows.parse(await ask(candidatesQuery(steps)));
        yield found.map(reminderOf);
        const last = found.at(-1);
        if (last === undefined || found.length < BATCH) return;
        const [unfinished, ...later] = steps.slice(last.range - 1);
        if (unfinished === undefined) return;
        steps = [{ ...unfinished, from: last.expiresAt, afterName: last.name }, ...later];
      }
    },

    async *deletedCandidates(since) {
      for (let after = ''; ; ) {
        const found = deletedRows.parse(
          await ask(
            named(
              'deleted names for reminders',
              Prisma.sql`
                SELECT ${CANDIDATE_COLUMNS} FROM domains d
                WHERE d.deleted_at >= ${since}::timestamptz AND d.expires_at IS NOT NULL AND d.name > ${after}
                  AND d.lapse_confirmed_at IS NULL
                ORDER BY d.name LIMIT ${BATCH}`,
            ),
          ),
        );
        yield found.map(reminderOf);
        const last = found.at(-1);
        if (last === undefined || found.length < BATCH) return;
        after = last.name;
      }
    },

    disputed: (before, limit) =>
      withStoreError('looking for disputed renewals', async () => {
        const rows = await prisma.domain.findMany({
          where: {
            renewedAt: { lt: before },
            checkProblem: { startsWith: DISPUTED_PROBLEM },
            lapseConfirmedAt: null,
          },
          orderBy: [{ renewedAt: 'asc' }, { name: 'asc' }],
          take: limit,
        });
        return rows.map(domainFromRow);
      }),

    claim: (digestId, keys, now) =>
      withStoreError('claiming reminders', async () => {
        if (keys.length === 0) return [];
        const rows = await prisma.$queryRaw`
        WITH digest AS (
          SELECT id FROM digests WHERE id = ${digestId} AND completed_at IS NULL FOR SHARE),
        claimed AS (
        INSERT INTO reminders (name, expires_at, threshold, digest_id, claimed_at)
        SELECT name, expiry::timestamptz, threshold, digest.id, ${now}::timestamptz
        FROM digest, unnest(
          ${keys.map(({ name }) => name)}::text[],
          ${keys.map(({ expiry }) => `${expiry}T00:00:00Z`)}::text[],
          ${keys.map(({ threshold }) => threshold)}::int[]) AS due (name, expiry, threshold)
        ON CONFLICT DO NOTHING
        RETURNING name, expires_at, threshold),
        noted AS (
          UPDATE domains d SET reminded_threshold = LEAST(d.reminded_threshold, claimed.threshold)
          FROM claimed WHERE d.name = claimed.name AND ${EXPIRY_DAY} = claimed.expires_at)
        SELECT name, expires_at, threshold FROM claimed`;
        return z
          .array(key)
          .parse(rows)
          .map(({ name, expires_at, threshold }) => ({ name, expiry: utcDay(expires_at), threshold }));
      }),

    recordPosted: (digestId, keys, now) =>
      withStoreError('noting what a digest said', async () => {
        await prisma.$executeRaw`
        UPDATE reminders r SET posted_at = ${now}::timestamptz
        FROM unnest(
          ${keys.map(({ name }) => name)}::text[],
          ${keys.map(({ expiry }) => `${expiry}T00:00:00Z`)}::text[],
          ${keys.map(({ threshold }) => threshold)}::int[]) AS said (name, expiry, threshold)
        WHERE r.digest_id = ${digestId} AND r.name = said.name AND r.expires_at = said.expiry::timestamptz
          AND r.threshold = said.threshold`;
      }),

    remindersOf: (digestId) =>
      withStoreError('reading what a digest said', async () => {
        const rows = await prisma.reminder.findMany({
          where: { digestId },
          select: { name: true, expiresAt: true, threshold: true },
        });
        return rows.map(
          ({ name, expiresAt, threshold }): ReminderKey => ({ name, expiry: utcDay(expiresAt), threshold }),
        );
      }),
  };
}
