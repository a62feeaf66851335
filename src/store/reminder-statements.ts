import { z } from 'zod';
import type { CandidateRange } from '../expiry/candidates.ts';
import { MIN_DISPUTE_THRESHOLD } from '../expiry/marks.ts';
import { buildOwnerDayKey, parseOwner } from '../expiry/owner-question.ts';
import type {
  Destination,
  NewQuestions,
  PlannedReminder,
  ReminderClaim,
  ReminderKey,
  WatchedReminder,
} from '../expiry/ports.ts';
import { SAME_EXPIRY_MS, type UnreliableDateReason } from '../names/dates.ts';
import { storedQuestionSchema } from '../names/portfolio.ts';
import { storedUnreliableDateReasonSchema } from '../names/stored.ts';
import type { SubjectKind } from '../outbox/notifications.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { defineRow, insertRows, jsonColumn, optional, optionalText } from './columns.ts';
import { Prisma, type RunStatement, type Statement } from './database.ts';
import { deletionPhaseSchema, domainRow, expirySourceSchema } from './domain-rows.ts';
import { EXPIRES_AT, EXPIRY_DAY, NO_REMINDER } from './domain-statements.ts';
import { upsertPlans } from './notifications.ts';
import { queueWebhooks } from './webhooks.ts';

/*
 * Reminder queries that Prisma can't express: finding due names in a very long list, and claiming many
 * reminders at once.
 */

/** One row more than a digest shows, to detect whether there are more. */
export const PAGE_SIZE = 1_001;
const WEEK_SECONDS = 7 * 86_400;

/** The registry still doesn't show a renewal that was carried out. */
const RENEWAL_NOT_SHOWN: UnreliableDateReason['code'] = 'renewal_not_shown';

const optionalTimestamp = optional(z.date());
const candidateSchema = z.object({
  name: z.string(),
  expiresAt: z.date(),
  expirySource: expirySourceSchema,
  renewedUntil: optionalTimestamp,
  deletedAt: optionalTimestamp,
  deletionPhase: deletionPhaseSchema,
  snoozedUntil: optionalTimestamp,
  remindedThreshold: z.number(),
  addedBy: z.string(),
  registeredBy: optionalText,
  doubt: jsonColumn(storedUnreliableDateReasonSchema),
  lastLookupAt: optionalTimestamp,
  lapseReason: optionalText,
  lapseRequestedBy: optionalText,
  ownerId: optionalText,
  ownerLeftAt: optionalTimestamp,
  question: jsonColumn(storedQuestionSchema),
  registrar: optionalText,
  channelId: optionalText,
}) satisfies z.ZodType<unknown, Partial<Prisma.DomainModel>>;
const candidateColumns = {
  expiresAt: EXPIRES_AT,
  expirySource: Prisma.sql`COALESCE(d.expiry_source, 'rdap')`,
};
/** Rows of {@link selectDeletedCandidates}. */
export const candidateRow = defineRow(candidateSchema, 'd.', candidateColumns);
/** Rows of {@link selectCandidates}. */
export const candidateRowsSchema = z.array(candidateSchema.extend({ range: z.number() }));

/** The lapse is never confirmed, because the queries leave out names with a confirmed lapse. */
export function toReminder(row: z.infer<typeof candidateSchema>): WatchedReminder {
  const { expirySource: source, remindedThreshold, ownerId: owner, channelId: channel, ...rest } = row;
  const { lapseReason, lapseRequestedBy: requestedBy = '', ...reminder } = rest;
  const lapse =
    lapseReason === undefined ? undefined : { reason: lapseReason, requestedBy, confirmed: undefined };
  return { ...reminder, source, remindedThresholds: [remindedThreshold], owner, channel, lapse };
}

/** Where a scan for due names continues: in a range of expiry dates, after `afterName` on its first date. */
export interface CandidateCursor extends CandidateRange {
  readonly afterName: string;
}

/**
 * Selects names that may be due. The SQL is the same for any number of ranges. The outer query sorts only by
 * range, so that rows are returned as they are found, in the order of the inner query.
 */
export function selectCandidates(cursors: readonly CandidateCursor[]): Statement {
  return Prisma.sql`
      SELECT step.n::int AS range, found.* FROM (
        SELECT * FROM unnest(
          ${cursors.map(({ threshold }) => threshold)}::int[], ${cursors.map(({ from }) => from)}::timestamptz[],
          ${cursors.map(({ until }) => until)}::timestamptz[], ${cursors.map(({ afterName }) => afterName)}::text[])
          WITH ORDINALITY AS step (threshold, since, until, after_name, n)
        ORDER BY n) step
      CROSS JOIN LATERAL (
        SELECT ${candidateRow.columns} FROM domains d
        WHERE d.expires_at >= step.since AND d.expires_at < step.until AND d.reminded_threshold > step.threshold
          AND d.lapse_confirmed_at IS NULL AND (d.expires_at > step.since OR d.name > step.after_name)
        ORDER BY d.expires_at, d.name LIMIT ${PAGE_SIZE}) found
      ORDER BY step.n LIMIT ${PAGE_SIZE}`;
}

/** Selects a page of deleted names that may be due. */
export function selectDeletedCandidates(since: Date, afterName: string): Statement {
  return Prisma.sql`
      SELECT ${candidateRow.columns} FROM domains d
      WHERE d.deleted_at >= ${since}::timestamptz AND d.name > ${afterName} AND d.lapse_confirmed_at IS NULL
      ORDER BY d.name LIMIT ${PAGE_SIZE}`;
}

/** Selects renewals that the registry doesn't show. A renewal is reported at most once a week. */
export function selectUnconfirmedRenewals(renewedBefore: Date, now: Date, limit: number): Statement {
  return Prisma.sql`
      SELECT ${domainRow.columns} FROM domains d
      WHERE d.renewed_at < ${renewedBefore}::timestamptz AND d.doubt ->> 'code' = ${RENEWAL_NOT_SHOWN}
        AND d.lapse_confirmed_at IS NULL AND NOT EXISTS (
          SELECT FROM reminders r WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}
            AND r.threshold = ${MIN_DISPUTE_THRESHOLD} + floor(extract(epoch FROM ${now}::timestamptz - d.renewed_at) / ${WEEK_SECONDS}))
      ORDER BY d.renewed_at, d.name LIMIT ${limit}`;
}

/**
 * Whether the reminder `r` was posted in the digest, or belongs to an owner's messages for one day. Their
 * purpose is a subject that contains a space (`U… 2026-11-27`).
 */
function isPostedOrOwnerReminder(teamId: string, purpose: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${purpose} LIKE '% %' OR EXISTS (
    SELECT FROM notifications n WHERE n.team_id = ${teamId} AND n.subject_kind = 'digest' AND n.subject_id = r.digest_id
      AND n.purpose = ${purpose} AND n.ts IS NOT NULL))`;
}

/** Whether the reminder `r` is one of `keys`; always true if `keys` is undefined. */
function isOneOfKeys(keys: readonly ReminderKey[] | undefined): Prisma.Sql {
  return keys === undefined
    ? Prisma.sql`true`
    : Prisma.sql`(r.name, r.expires_at, r.threshold) IN (SELECT * FROM ${unnestKeys(keys)})`;
}

function unnestKeys(keys: readonly ReminderKey[]): Prisma.Sql {
  return Prisma.sql`unnest(
    ${keys.map(({ name }) => name)}::text[], ${keys.map(({ expiry }) => new Date(expiry))}::timestamptz[],
    ${keys.map(({ threshold }) => threshold)}::int[])`;
}

/**
 * Opens the digest for a scheduled time (its id), unless that digest or a later one exists. Deletes earlier
 * digests without messages. The very first digest is created as done. Digests with future times are ignored,
 * because the clock may have been set back.
 */
export function insertDigest(teamId: string, digestId: string, now: Date): Prisma.Sql {
  return Prisma.sql`
    WITH known AS (
      SELECT subject_id FROM notifications
      WHERE team_id = ${teamId} AND subject_kind = 'digest' AND purpose = 'plan' AND subject_id <= ${now.toISOString()}
    ), deleted AS (
      DELETE FROM notifications p
      WHERE p.team_id = ${teamId} AND p.subject_kind = 'digest' AND p.purpose = 'plan' AND p.due_at IS NULL
        AND p.subject_id < ${digestId} AND NOT EXISTS (
          SELECT FROM notifications n WHERE n.team_id = p.team_id AND n.subject_kind = 'digest'
            AND n.subject_id = p.subject_id AND n.purpose <> 'plan')
    )
    INSERT INTO notifications (team_id, subject_kind, subject_id, purpose, due_at)
    SELECT ${teamId}, 'digest', ${digestId}, 'plan', CASE WHEN EXISTS (SELECT FROM known) THEN ${now}::timestamptz END
    WHERE NOT EXISTS (SELECT FROM known WHERE subject_id >= ${digestId})
    ON CONFLICT DO NOTHING`;
}

const idRowsSchema = z.array(z.object({ id: z.string() }));

const claimedRowsSchema = z.array(z.object({ name: z.string() }));

/**
 * Claims reminders for an open digest, unless another digest has claimed them. Increases the version of the
 * digest's plan, so that a process that is already working on the plan checks it again.
 * @returns the number of claimed reminders
 */
export async function claimReminders(
  run: RunStatement,
  teamId: string,
  digestId: string,
  claims: readonly ReminderClaim[],
  now: Date,
): Promise<number> {
  const openDigestRows = await run(Prisma.sql`
    UPDATE notifications SET version = version + 1
    WHERE team_id = ${teamId} AND subject_kind = 'digest' AND subject_id = ${digestId} AND purpose = 'plan'
      AND due_at IS NOT NULL
    RETURNING subject_id AS id`);
  if (idRowsSchema.parse(openDigestRows).length === 0) return 0;
  const rows = claims.map(({ name, expiry, threshold, destination, purpose, isCopied }) => ({
    ...{ name, expiresAt: new Date(expiry), threshold, digestId, destination, claimedAt: now, purpose },
    copyPurpose: isCopied ? '' : null,
  }));
  const onConflict = Prisma.sql`ON CONFLICT DO NOTHING RETURNING name`;
  const claimedRows = claimedRowsSchema.parse(await insertRows(run, 'reminders', rows, onConflict));
  const claimedNames = new Set(claimedRows.map(({ name }) => name));
  await run(Prisma.sql`
    UPDATE domains d SET reminded_threshold = LEAST(d.reminded_threshold, (
      SELECT min(r.threshold) FROM reminders r
      WHERE r.digest_id = ${digestId} AND r.name = d.name AND r.expires_at = ${EXPIRY_DAY}))
    WHERE d.name = ANY(${[...claimedNames]}::text[])`);
  const ownerClaims = claims.filter(({ name, purpose }) => purpose !== '' && claimedNames.has(name));
  await run(
    upsertPlansForSubjects(teamId, 'owner_question', new Set(ownerClaims.map(({ purpose }) => purpose)), now),
  );
  const lastReminderEvents = claims.flatMap(({ name, expiry, lastReminderPhase }): readonly WebhookEvent[] =>
    lastReminderPhase === undefined || !claimedNames.has(name)
      ? []
      : [{ type: 'reminder.last', at: now, data: { name, code: lastReminderPhase, expires: expiry } }],
  );
  await queueWebhooks(run, lastReminderEvents, teamId);
  return claimedRows.length;
}

function upsertPlansForSubjects(
  teamId: string,
  kind: SubjectKind,
  ids: ReadonlySet<string>,
  now: Date,
): Prisma.Sql {
  return upsertPlans(Prisma.sql`
    SELECT ${teamId} AS team_id, ${kind} AS subject_kind, unnest(${[...ids]}::text[]) AS subject_id,
      ${now}::timestamptz AS due_at`);
}

const plannedReminderRow = defineRow(
  candidateSchema.extend({
    day: z.date(),
    threshold: z.number(),
    digestId: z.string(),
    claimedAt: z.date(),
    destination: z.string(),
    purpose: z.string(),
    isCopy: z.boolean(),
    undelivered: optionalText,
  }),
  'd.',
  {
    ...candidateColumns,
    day: Prisma.sql`r.day`,
    threshold: Prisma.sql`r.threshold`,
    digestId: Prisma.sql`r.digest_id`,
    claimedAt: Prisma.sql`r.claimed_at`,
    destination: Prisma.sql`r.destination`,
    purpose: Prisma.sql`r.purpose`,
    isCopy: Prisma.sql`r."isCopy"`,
    undelivered: Prisma.sql`r.undelivered`,
  },
);

/** Reads rows of {@link selectPlannedReminders} and {@link selectOwnerReminders}. */
export function readPlannedReminders(rows: unknown): PlannedReminder[] {
  return plannedReminderRow
    .read(rows)
    .map(
      ({ day, threshold, destination, purpose, isCopy, undelivered, digestId, claimedAt, ...reminder }) => ({
        ...toReminder(reminder),
        remindedThresholds: [],
        key: { name: reminder.name, expiry: getUtcDay(day), threshold },
        ...{ destination, purpose, isCopy, undelivered, digestId, claimedAt },
      }),
    );
}

/** Selects the columns of planned reminders that come from `reminders`, not from `domains`. */
const SELECT_REMINDERS = Prisma.sql`SELECT name, expires_at AS day, threshold, digest_id, claimed_at, destination, purpose,
  false AS "isCopy", undelivered FROM reminders`;

/** Selects the reminders in an owner's messages for one day. */
export function selectOwnerReminders(subject: string): Prisma.Sql {
  return Prisma.sql`
    SELECT ${plannedReminderRow.columns} FROM (${SELECT_REMINDERS} WHERE purpose = ${subject}) r
    JOIN domains d ON d.name = r.name AND ${EXPIRES_AT} IS NOT NULL AND d.lapse_confirmed_at IS NULL`;
}

/** Moves an owner's reminders for one day to the reminder channel, unless their copies are already there. */
export async function redirectOwnerReminders(
  run: RunStatement,
  teamId: string,
  subject: string,
  now: Date,
): Promise<void> {
  const rows = await run(Prisma.sql`
    UPDATE reminders SET destination = '', purpose = COALESCE(copy_purpose, ''), copy_purpose = NULL,
      undelivered = destination
    WHERE purpose = ${subject} RETURNING digest_id AS id`);
  await run(
    upsertPlansForSubjects(teamId, 'digest', new Set(idRowsSchema.parse(rows).map(({ id }) => id)), now),
  );
}

/**
 * Selects a digest's unposted reminders, and copies of owners' reminders for the reminder channel.
 * @param purpose selects only the reminders for this message; undefined: all
 */
export function selectPlannedReminders(
  teamId: string,
  digestId: string,
  purpose: string | undefined,
): Prisma.Sql {
  return Prisma.sql`
    SELECT ${plannedReminderRow.columns}
    FROM (
      ${SELECT_REMINDERS} WHERE digest_id = ${digestId}
      UNION ALL
      SELECT name, expires_at, threshold, digest_id, claimed_at, '', copy_purpose, true, undelivered
      FROM reminders r WHERE digest_id = ${digestId} AND copy_purpose IS NOT NULL AND ${isPostedOrOwnerReminder(teamId, Prisma.sql`r.purpose`)}
    ) r
    JOIN domains d ON d.name = r.name AND ${EXPIRES_AT} IS NOT NULL AND d.lapse_confirmed_at IS NULL
    WHERE r.purpose = COALESCE(${purpose ?? null}::text, r.purpose) AND NOT ${isPostedOrOwnerReminder(teamId, Prisma.sql`r.purpose`)}`;
}

/** Assigns reminders of a digest, or their copies, to a message, unless they already have one. */
export function assignReminders(
  digestId: string,
  purpose: string,
  reminders: readonly PlannedReminder[],
): Prisma.Sql {
  return Prisma.sql`
    UPDATE reminders r SET purpose = CASE WHEN a.is_copy THEN r.purpose ELSE ${purpose} END,
      copy_purpose = CASE WHEN a.is_copy THEN ${purpose} ELSE r.copy_purpose END
    FROM ROWS FROM (${unnestKeys(reminders.map(({ key }) => key))}, unnest(${reminders.map(({ isCopy }) => isCopy)}::boolean[]))
      AS a (name, expires_at, threshold, is_copy)
    WHERE r.digest_id = ${digestId} AND r.name = a.name AND r.expires_at = a.expires_at AND r.threshold = a.threshold
      AND CASE WHEN a.is_copy THEN r.copy_purpose ELSE r.purpose END = ''`;
}

/** Moves unposted reminders to the reminder channel after Slack rejected a message to their destination. */
export function redirectReminders(teamId: string, digestId: string, destination: Destination): Prisma.Sql {
  return Prisma.sql`
    UPDATE reminders r SET destination = '', purpose = '', copy_purpose = NULL, undelivered = destination
    WHERE digest_id = ${digestId} AND destination = ${destination} AND NOT ${isPostedOrOwnerReminder(teamId, Prisma.sql`r.purpose`)}`;
}

/** Releases unposted reminders of a digest (all, or those in `keys`), and cancels unposted copies. */
export function releaseReminders(
  teamId: string,
  digestId: string,
  keys: readonly ReminderKey[] | undefined,
): Prisma.Sql {
  const wasPosted = isPostedOrOwnerReminder(teamId, Prisma.sql`r.purpose`);
  return Prisma.sql`
    WITH released AS (
      DELETE FROM reminders r WHERE digest_id = ${digestId} AND ${isOneOfKeys(keys)} AND NOT ${wasPosted}
      RETURNING name, expires_at, threshold
    ), canceled_copies AS (
      UPDATE reminders r SET copy_purpose = NULL
      WHERE digest_id = ${digestId} AND ${isOneOfKeys(keys)} AND ${wasPosted}
        AND NOT ${isPostedOrOwnerReminder(teamId, Prisma.sql`r.copy_purpose`)}
    )
    UPDATE domains d SET reminded_threshold = COALESCE(
      (SELECT min(r.threshold) FROM reminders r
       WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}
         AND (r.name, r.expires_at, r.threshold) NOT IN (SELECT name, expires_at, threshold FROM released)),
      ${NO_REMINDER})
    FROM released WHERE d.name = released.name`;
}

/** Selects names that expire in the range, if their owner wasn't asked about it and nobody has answered. */
export function selectUnaskedNames(teamId: string, day: string, from: Date, until: Date): Statement {
  return Prisma.sql`
    SELECT ${domainRow.columns} FROM domains d
    WHERE d.expires_at >= ${from}::timestamptz AND d.expires_at < ${until}::timestamptz
      AND d.owner_id IS NOT NULL AND d.owner_left_at IS NULL AND d.lapse_confirmed_at IS NULL AND d.deleted_at IS NULL
      AND d.lapse_requested_by IS DISTINCT FROM d.owner_id
      AND (d.renewed_until IS NULL OR d.renewed_until < ${until}::timestamptz)
      AND (d.question IS NULL
        OR abs(extract(epoch FROM d.expires_at - (d.question ->> 'expiry')::timestamptz)) >= ${SAME_EXPIRY_MS / 1_000}
        OR d.question ->> 'owner' <> d.owner_id AND d.question -> 'kept' IS NULL)
      AND NOT EXISTS (
        SELECT FROM notifications n WHERE n.team_id = ${teamId} AND n.subject_kind = 'owner_question'
          AND n.subject_id = replace(${buildOwnerDayKey('@', day)}, '@', d.owner_id) AND n.purpose = 'plan')
    ORDER BY d.expires_at, d.name`;
}

/** Queues an owner's message for one day. Locks names in alphabetical order to avoid deadlocks. */
export async function queueOwnerQuestion(
  run: RunStatement,
  teamId: string,
  { owner, subject, expiryDays, askedAt }: NewQuestions,
): Promise<void> {
  const planKey = { teamId, subjectKind: 'owner_question', subjectId: subject, purpose: 'plan' };
  const rows = await insertRows(
    run,
    'notifications',
    [{ ...planKey, version: 1, dueAt: askedAt }],
    Prisma.sql`ON CONFLICT DO NOTHING RETURNING subject_id AS id`,
  );
  if (idRowsSchema.parse(rows).length === 0) return;
  const questions = [...expiryDays.values()].map((expiry) =>
    JSON.stringify({ owner, expiry, at: askedAt, subject }),
  );
  await run(Prisma.sql`
    WITH owned AS (
      SELECT name FROM domains WHERE name = ANY(${[...expiryDays.keys()]}::text[]) AND owner_id = ${owner}
        AND owner_left_at IS NULL AND lapse_confirmed_at IS NULL
      ORDER BY name FOR UPDATE)
    UPDATE domains d SET question = asked.question::jsonb
    FROM owned JOIN unnest(${[...expiryDays.keys()]}::text[], ${questions}::text[]) AS asked (name, question) USING (name)
    WHERE d.name = owned.name`);
}

export function selectAskedNames(subject: string): Statement {
  const owner = parseOwner(subject);
  return Prisma.sql`
    SELECT ${domainRow.columns} FROM domains WHERE owner_id = ${owner} AND question ->> 'subject' = ${subject}
    ORDER BY expires_at, name`;
}
