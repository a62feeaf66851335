import { z } from 'zod';
import type { CandidateRange } from '../expiry/candidates.ts';
import { DISPUTED_CODE } from '../expiry/marks.ts';
import type { Destination, ReminderKey, WatchedReminder } from '../expiry/ports.ts';
import { DISPUTED_PROBLEM } from '../expiry/refresh.ts';
import { named, Prisma, type Statement } from './database.ts';
import { DOMAIN_COLUMNS, expirySource } from './domain-rows.ts';
import { EXPIRY_DAY, NO_REMINDER } from './domain-statements.ts';

/*
 * Statements of reminders that Prisma cannot express: names that can be due among very many, and claims of many
 * reminders at once.
 */

/** One more than a digest shows, so that one query also tells whether there are more. */
export const BATCH = 1_001;
const WEEK_SECONDS = 7 * 86_400;

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
  ownerId: text,
  channelId: text,
}) satisfies z.ZodType<Partial<Prisma.DomainModel>>;
/** Rows of {@link deletedQuery}. */
export const deletedRows = z.array(candidateRow);
/** Rows of {@link candidatesQuery}. */
export const candidateRows = z.array(candidateRow.extend({ range: z.number() }));

/** A name that nobody lets go. */
export function reminderOf(row: z.infer<typeof candidateRow>): WatchedReminder {
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
    owner: row.ownerId ?? undefined,
    channel: row.channelId ?? undefined,
    lapse:
      row.lapseReason === null
        ? undefined
        : { reason: row.lapseReason, requestedBy: row.lapseRequestedBy ?? '', confirmed: undefined },
  };
}

/** The columns of {@link candidateRow}: all that the plan and the digest need. */
const CANDIDATE_COLUMNS = Prisma.sql`
  d.name, d.expires_at AS "expiresAt", d.expiry_source AS "expirySource", d.renewed_until AS "renewedUntil",
  d.deleted_at AS "deletedAt", d.snoozed_until AS "snoozedUntil", d.reminded_threshold AS "remindedThreshold",
  d.added_by AS "addedBy", d.registered_by AS "registeredBy", d.check_problem AS "checkProblem",
  d.lapse_reason AS "lapseReason", d.lapse_requested_by AS "lapseRequestedBy",
  d.owner_id AS "ownerId", d.channel_id AS "channelId"`;

/** Where a walk over names that can be due continues in a range: after a name at its first moment. */
export interface CandidateStep extends CandidateRange {
  readonly afterName: string;
}

/**
 * The query behind `candidates`, one text for all ranges; a function of its own, so that tests can look at its plan.
 * The outer query sorts by the range alone, so that rows go out as they are found, in the order of the inner query.
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

/** Names with a known deletion that can be due, after a name. */
export function deletedQuery(since: Date, after: string): Statement {
  return named(
    'deleted names for reminders',
    Prisma.sql`
      SELECT ${CANDIDATE_COLUMNS} FROM domains d
      WHERE d.deleted_at >= ${since}::timestamptz AND d.expires_at IS NOT NULL AND d.name > ${after}
        AND d.lapse_confirmed_at IS NULL
      ORDER BY d.name LIMIT ${BATCH}`,
  );
}

/** Renewals that the registry does not show, without those that were told in this week since the renewal. */
export function disputedQuery(before: Date, now: Date, limit: number): Statement {
  return named(
    'disputed renewals',
    Prisma.sql`
      SELECT ${DOMAIN_COLUMNS} FROM domains d
      WHERE d.renewed_at < ${before}::timestamptz AND starts_with(d.check_problem, ${DISPUTED_PROBLEM})
        AND d.lapse_confirmed_at IS NULL AND NOT EXISTS (
          SELECT FROM reminders r WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}
            AND r.threshold = ${DISPUTED_CODE} + floor(extract(epoch FROM ${now}::timestamptz - d.renewed_at) / ${WEEK_SECONDS}))
      ORDER BY d.renewed_at, d.name LIMIT ${limit}`,
  );
}

/** Frees the reminders that digests claimed and did not post. */
export function freeReminders(digestIds: readonly string[]): Prisma.Sql {
  const ids = [...digestIds];
  return Prisma.sql`
    WITH freed AS (
      DELETE FROM reminders WHERE digest_id = ANY (${ids}::text[]) AND posted_at IS NULL RETURNING name)
    UPDATE domains d SET reminded_threshold = COALESCE(
      (SELECT min(r.threshold) FROM reminders r
       WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}
         AND (r.posted_at IS NOT NULL OR r.digest_id <> ALL (${ids}::text[]))),
      ${NO_REMINDER})
    FROM freed WHERE d.name = freed.name`;
}

/** Rows of {@link claimReminders}. */
export const claimedReminderRows = z.array(
  z.object({ name: z.string(), expires_at: z.date(), threshold: z.number() }),
);

/** Claims reminders for a digest that is not over; each goes to one digest. Answers with those that were free. */
export function claimReminders(digestId: string, keys: readonly ReminderKey[], now: Date): Prisma.Sql {
  return Prisma.sql`
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
}

/** Notes that a digest with its reminders was posted, and where. */
export function markPosted(
  digestId: string,
  destination: Destination,
  keys: readonly ReminderKey[],
  now: Date,
): Prisma.Sql {
  return Prisma.sql`
    UPDATE reminders r SET posted_at = ${now}::timestamptz, destination = ${destination}
    FROM unnest(
      ${keys.map(({ name }) => name)}::text[],
      ${keys.map(({ expiry }) => `${expiry}T00:00:00Z`)}::text[],
      ${keys.map(({ threshold }) => threshold)}::int[]) AS said (name, expiry, threshold)
    WHERE r.digest_id = ${digestId} AND r.name = said.name AND r.expires_at = said.expiry::timestamptz
      AND r.threshold = said.threshold`;
}
