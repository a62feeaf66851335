import { z } from 'zod';
import { MAX_NIGHT_WAIT_MS, MAX_WAIT_MS } from '../orders/clock.ts';
import {
  type ClaimedSubject,
  type ClaimOutcome,
  type Notification,
  type NotificationStore,
  type PostedMessage,
  type ShownContent,
  SUBJECT_KINDS,
  type Subject,
} from '../outbox/notifications.ts';
import { buildPlanNotificationKey } from './changes.ts';
import { defineRow, optional, optionalText } from './columns.ts';
import { type Database, Prisma, wrapStore } from './database.ts';
import { buildLeaseEnd, isLeaseExpired } from './leases.ts';

const subjectFieldsSchema = z.object({ kind: z.enum(SUBJECT_KINDS), id: z.string() });
const subjectExpressions = { kind: Prisma.sql`n.subject_kind`, id: Prisma.sql`n.subject_id` };
const subjectRow = defineRow(subjectFieldsSchema, 'n.', subjectExpressions);
const purposeRowsSchema = z.array(z.object({ purpose: z.string() }));
const replacementRowsSchema = z.array(
  subjectFieldsSchema.extend({ channelId: optionalText, ts: optionalText }),
);

const messageRow = defineRow(
  z.object({
    purpose: z.string(),
    channelId: optionalText,
    ts: optionalText,
    shownVersion: optionalText,
    contentHash: optionalText,
    dueAt: optional(z.coerce.date()),
    attempts: z.number(),
    refusalCode: optionalText,
  }),
  'm.',
  { shownVersion: Prisma.sql`m.shows`, refusalCode: Prisma.sql`m.refused` },
);

/** Columns of a plan (alias `n`), the row that schedules a subject's messages, with those messages. */
const planRow = defineRow(
  z.compile(
    subjectFieldsSchema.extend({
      version: z.number(),
      isBackground: z.boolean(),
      attempts: z.number(),
      refusalCode: optionalText,
      notifications: z.array(
        messageRow.schema.transform(
          ({ channelId, ts, ...fields }): Notification => ({
            ...fields,
            message: channelId === undefined || ts === undefined ? undefined : { channelId, ts },
          }),
        ),
      ),
    }),
  ),
  'n.',
  {
    ...subjectExpressions,
    refusalCode: Prisma.sql`n.refused`,
    notifications: Prisma.sql`(
      SELECT coalesce(json_agg(${messageRow.json} ORDER BY m.posted_at, m.ts, m.purpose), '[]') FROM notifications m
      WHERE m.team_id = n.team_id AND m.subject_kind = n.subject_kind AND m.subject_id = n.subject_id
        AND m.purpose <> 'plan' AND m.purpose NOT LIKE 'retired:%'
    )`,
  },
);

/**
 * Condition: the plan (alias `n`) is due. A time that is too far ahead comes from a wrong clock and counts as now. A
 * completed plan can only be waiting for quiet hours to end, so a shorter limit applies to it.
 */
function isDue(now: Date): Prisma.Sql {
  const maxDueAt = new Date(now.getTime() + MAX_WAIT_MS);
  const latestQuietHoursEnd = new Date(now.getTime() + MAX_NIGHT_WAIT_MS);
  return Prisma.sql`(n.due_at <= ${now} OR (n.due_at > ${maxDueAt}
    AND (n.shows IS DISTINCT FROM n.version::text OR n.attempts > 0 OR n.due_at > ${latestQuietHoursEnd})))`;
}

/** Condition: the plan (alias `n`) is due. Only for subjects that are posted in Slack. */
function isSlackPlanDue(now: Date, isBackground: boolean): Prisma.Sql {
  return Prisma.sql`n.subject_kind = ANY(${[...SUBJECT_KINDS]}::text[]) AND n.is_background = ${isBackground} AND ${isDue(now)}`;
}

/**
 * Inserts the plans of new subjects.
 * @param subjects a query that returns their team_id, subject_kind, subject_id and due_at
 */
export function insertPlans(subjects: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO notifications (team_id, subject_kind, subject_id, purpose, version, due_at)
    SELECT team_id, subject_kind, subject_id, 'plan', 1, due_at FROM (${subjects}) AS subjects
    ON CONFLICT DO NOTHING`;
}

/** Like {@link insertPlans}, but marks existing plans as outdated. */
export function upsertPlans(subjects: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, version, due_at)
    SELECT team_id, subject_kind, subject_id, 'plan', 1, due_at FROM (${subjects}) AS subjects
    ON CONFLICT (team_id, subject_kind, subject_id, purpose) DO UPDATE
      SET version = n.version + 1, is_background = false, due_at = LEAST(n.due_at, excluded.due_at)`;
}

export function markPlanOutdated(teamId: string, { kind, id }: Subject, now: Date): Prisma.Sql {
  return Prisma.sql`
    UPDATE notifications SET version = version + 1, is_background = false, due_at = LEAST(due_at, ${now}::timestamptz)
    WHERE team_id = ${teamId} AND subject_kind = ${kind} AND subject_id = ${id} AND purpose = 'plan'`;
}

export function createNotificationStore({ run, prisma }: Database, teamId: string): NotificationStore {
  const readPlan = async (statement: Prisma.Sql) => planRow.read(await run(statement))[0];
  const runWithoutResult = async (statement: Prisma.Sql) => void (await run(statement));
  const buildSubjectKey = ({ kind, id }: Subject) => ({ teamId, subjectKind: kind, subjectId: id });

  const createPlan = async (
    { kind, id }: Subject,
    plan: { dueAt: Date; version?: number; refused?: string },
  ) => {
    await prisma.notification.createMany({
      data: [{ ...buildPlanNotificationKey(teamId, kind, id), ...plan }],
      skipDuplicates: true,
    });
  };

  const upsertMessage = async (
    key: Prisma.NotificationTeamIdSubjectKindSubjectIdPurposeCompoundUniqueInput,
    {
      create,
      update,
    }: { create: Partial<Prisma.NotificationCreateInput>; update: Prisma.NotificationUpdateInput },
  ) => {
    await prisma.notification.upsert({
      where: { teamId_subjectKind_subjectId_purpose: key },
      create: { ...key, ...create },
      update,
    });
  };

  return wrapStore('notifications', {
    claimDueSubjects: async (now, leaseMs, limit, isBackground = false) =>
      subjectRow.read(await run(claimDuePlans(teamId, isSlackPlanDue(now, isBackground), leaseMs, limit))),

    claim: (subject, now, leaseMs) => readPlan(claimSubject(teamId, subject, now, leaseMs)),

    loadSubject: ({ kind, id }) =>
      readPlan(Prisma.sql`
        SELECT ${planRow.columns} FROM notifications n
        WHERE n.team_id = ${teamId} AND n.subject_kind = ${kind} AND n.subject_id = ${id} AND n.purpose = 'plan'`),

    extendLease: ({ kind, id }, leaseMs) =>
      runWithoutResult(Prisma.sql`
        UPDATE notifications SET lease_until = ${buildLeaseEnd(leaseMs)}
        WHERE team_id = ${teamId} AND subject_kind = ${kind} AND subject_id = ${id} AND purpose = 'plan'`),

    release: async (claim, outcome) =>
      subjectRow.read(await run(releaseSubject(teamId, claim, outcome))).length === 1,

    postponeSubject: async ({ kind, id }, until) => {
      await prisma.notification.updateMany({
        where: buildPlanNotificationKey(teamId, kind, id),
        data: { leaseUntil: null, dueAt: until, attempts: { increment: 1 } },
      });
    },

    recordPosted: async (subject, notification) =>
      purposeRowsSchema.parse(await run(recordMessage(teamId, subject, notification))).length === 1,

    retireMessage: ({ kind, id }, purpose) =>
      runWithoutResult(Prisma.sql`
        UPDATE notifications SET purpose = 'retired:' || ts, shows = purpose, due_at = NULL, attempts = 0
        WHERE team_id = ${teamId} AND subject_kind = ${kind} AND subject_id = ${id} AND purpose = ${purpose}
          AND ts IS NOT NULL`),

    findReplacement: async (message) => {
      const [row] = replacementRowsSchema.parse(await run(selectReplacement(teamId, message)));
      if (row === undefined) return undefined;
      const { channelId, ts, ...subject } = row;
      return {
        subject,
        currentMessage: channelId === undefined || ts === undefined ? undefined : { channelId, ts },
      };
    },

    postponeMessage: (subject, purpose, until) =>
      upsertMessage(
        { ...buildSubjectKey(subject), purpose },
        {
          create: { dueAt: until, attempts: 1 },
          update: { dueAt: until, attempts: { increment: 1 }, contentHash: null },
        },
      ),

    markMessageRefused: (subject, { purpose, shownVersion, code: refusalCode }) =>
      upsertMessage(
        { ...buildSubjectKey(subject), purpose },
        {
          create: { shows: shownVersion, refused: refusalCode },
          update: { shows: shownVersion, refused: refusalCode, dueAt: null, attempts: 0 },
        },
      ),

    markSubjectRefused: (subject, refusalCode, now) =>
      createPlan(subject, { dueAt: now, refused: refusalCode }),

    listRefusedChannels: async () => {
      const rows = await prisma.notification.findMany({
        where: { teamId, subjectKind: 'channel', purpose: 'plan', refused: { not: null } },
        orderBy: { subjectId: 'asc' },
      });
      return rows.flatMap(({ subjectId: channelId, refused: code }) =>
        code === null ? [] : { channelId, code },
      );
    },

    addSubjectIfMissing: (subject, now) => createPlan(subject, { dueAt: now, version: 1 }),

    requestUpdate: (subject, now) => runWithoutResult(markPlanOutdated(teamId, subject, now)),

    adoptMessage: (subject, message, purposes, now) =>
      runWithoutResult(adoptMessage(teamId, subject, message, purposes, now)),
  });
}

/**
 * Claims due plans that have no lease, longest overdue first.
 * @param dueCondition for a plan (alias `n`)
 */
function claimDuePlans(teamId: string, dueCondition: Prisma.Sql, leaseMs: number, limit: number) {
  return Prisma.sql`
      WITH due AS (
        SELECT n.subject_kind AS kind, n.subject_id AS id, n.due_at AS since FROM notifications n
        WHERE n.team_id = ${teamId} AND n.purpose = 'plan' AND n.due_at IS NOT NULL AND ${dueCondition}
          AND ${isLeaseExpired(Prisma.sql`n.lease_until`)}
        ORDER BY n.due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ), claimed AS (
        UPDATE notifications n SET lease_until = ${buildLeaseEnd(leaseMs)} FROM due
        WHERE n.team_id = ${teamId} AND n.subject_kind = due.kind AND n.subject_id = due.id AND n.purpose = 'plan'
        RETURNING due.kind, due.id, due.since
      )
      SELECT kind, id FROM claimed ORDER BY since`;
}

/** Claims a subject that has no lease, unless it is scheduled for later. */
function claimSubject(teamId: string, { kind, id }: Subject, now: Date, leaseMs: number) {
  return Prisma.sql`
      UPDATE notifications n SET lease_until = ${buildLeaseEnd(leaseMs)}
      WHERE n.team_id = ${teamId} AND n.subject_kind = ${kind} AND n.subject_id = ${id} AND n.purpose = 'plan'
        AND ${isLeaseExpired(Prisma.sql`n.lease_until`)} AND (n.due_at IS NULL OR ${isDue(now)})
      RETURNING ${planRow.columns}`;
}

/** Ends a claim and saves what messages now show. Returns a row unless the plan was changed concurrently. */
function releaseSubject(
  teamId: string,
  { kind, id, version }: ClaimedSubject,
  { updatedMessages, repeatAt, isComplete }: ClaimOutcome,
) {
  return Prisma.sql`
      WITH updated AS (
        UPDATE notifications n SET shows = u."shownVersion", content_hash = COALESCE(u."contentHash", n.content_hash),
          due_at = NULL, attempts = 0
        FROM jsonb_to_recordset(${JSON.stringify(updatedMessages)}::jsonb) AS u (purpose text, "shownVersion" text, "contentHash" text)
        WHERE n.team_id = ${teamId} AND n.subject_kind = ${kind} AND n.subject_id = ${id} AND n.purpose = u.purpose
      )
      UPDATE notifications n SET lease_until = NULL, due_at = ${repeatAt ?? null}, attempts = 0,
        shows = CASE WHEN ${isComplete} THEN n.version::text END, is_background = n.is_background AND NOT ${isComplete}
      WHERE n.team_id = ${teamId} AND n.subject_kind = ${kind} AND n.subject_id = ${id} AND n.purpose = 'plan'
        AND n.version = ${version}
      RETURNING ${subjectRow.columns}`;
}

/** Saves a posted message, and deletes the record that its channel refused messages. */
function recordMessage(
  teamId: string,
  { kind, id }: Subject,
  { purpose, channelId, ts, shownVersion, contentHash }: ShownContent & PostedMessage,
) {
  return Prisma.sql`
      WITH reached AS (
        DELETE FROM notifications WHERE team_id = ${teamId} AND subject_kind = 'channel' AND subject_id = ${channelId}
      )
      INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, channel_id, ts, shows, content_hash,
        posted_at)
      VALUES (${teamId}, ${kind}, ${id}, ${purpose}, ${channelId}, ${ts}, ${shownVersion ?? null}, ${contentHash ?? null},
        ${new Date()})
      ON CONFLICT (team_id, subject_kind, subject_id, purpose) DO UPDATE SET channel_id = excluded.channel_id,
        ts = excluded.ts, shows = excluded.shows, content_hash = excluded.content_hash, posted_at = excluded.posted_at,
        due_at = NULL, attempts = 0, refused = NULL
      WHERE n.ts IS NULL
      RETURNING purpose`;
}

/** Selects the message that replaced a retired one: the one with the same purpose, or else the card. */
function selectReplacement(teamId: string, { channelId, ts }: PostedMessage) {
  return Prisma.sql`
      SELECT r.subject_kind AS kind, r.subject_id AS id, m.channel_id AS "channelId", m.ts
      FROM notifications r LEFT JOIN notifications m ON m.team_id = r.team_id AND m.subject_kind = r.subject_kind
        AND m.subject_id = r.subject_id AND m.purpose IN (r.shows, 'card') AND m.ts IS NOT NULL
      WHERE r.purpose LIKE 'retired:%' AND r.purpose = ${`retired:${ts}`} AND r.team_id = ${teamId}
        AND r.channel_id = ${channelId}
      ORDER BY m.purpose = r.shows DESC NULLS LAST LIMIT 1`;
}

/** Assigns an unknown message to the first purpose that has no message, and marks the plan as outdated. */
function adoptMessage(
  teamId: string,
  { kind, id }: Subject,
  { channelId, ts }: PostedMessage,
  purposes: readonly string[],
  now: Date,
) {
  return Prisma.sql`
      WITH known AS (
        SELECT purpose, ts FROM notifications
        WHERE team_id = ${teamId} AND subject_kind = ${kind} AND subject_id = ${id}
      ), kept AS (
        INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, channel_id, ts, posted_at)
        SELECT ${teamId}, ${kind}, ${id}, p.purpose, ${channelId}, ${ts}, ${new Date()}::timestamptz
        FROM unnest(${[...purposes]}::text[]) WITH ORDINALITY AS p (purpose, position)
        WHERE EXISTS (SELECT FROM known) AND ${ts} NOT IN (SELECT ts FROM known WHERE ts IS NOT NULL)
          AND p.purpose NOT IN (SELECT purpose FROM known WHERE ts IS NOT NULL)
        ORDER BY p.position LIMIT 1
        ON CONFLICT (team_id, subject_kind, subject_id, purpose)
          DO UPDATE SET channel_id = excluded.channel_id, ts = excluded.ts, posted_at = excluded.posted_at, shows = NULL,
            content_hash = NULL
          WHERE n.ts IS NULL
        RETURNING purpose
      )
      UPDATE notifications SET version = version + 1, is_background = false, due_at = LEAST(due_at, ${now}::timestamptz)
      FROM kept WHERE team_id = ${teamId} AND subject_kind = ${kind} AND subject_id = ${id}
        AND notifications.purpose = 'plan'`;
}
