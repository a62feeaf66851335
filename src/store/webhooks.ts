import { z } from 'zod';
import { HOUR_MS } from '../lib/duration.ts';
import { type WebhookEvent, webhookBody, webhookOf } from '../outbox/webhooks/messages.ts';
import type { WebhookStore } from '../outbox/webhooks/ports.ts';
import { optional, storableJson } from './columns.ts';
import { type Database, Prisma, storeOf } from './database.ts';
import { leaseOf } from './leases.ts';
import { claimDuePlans } from './notifications.ts';

/*
 * Webhooks in the outbox. The plan of a subject `webhook_queue` is the queue of one endpoint and one subject, its other rows the
 * webhooks, numbered by the plan’s version: the plan’s row is locked when one is queued, so they are numbered as they were
 * committed. The plan of a subject `webhook_endpoint` says that there is an endpoint, and how it stands; its row of the purpose
 * `test` shows the month of the last test, and was posted when the endpoint took something last; its row `served` was posted when a
 * process said last that it sends to it.
 */

const ENDPOINT = 'webhook_endpoint';
const QUEUE = 'webhook_queue';

interface Queued {
  /** Left out: the team of the installation. */
  readonly teamId?: string;
  /** Which of the webhooks `w` are queued: of one subject all or none. Left out: all. */
  readonly where?: Prisma.Sql;
}

/**
 * Parts of a `WITH` that queue webhooks for every endpoint, for the statement of what they tell of. Where there is no endpoint
 * they do nothing.
 */
export function queueWebhooks(
  events: readonly WebhookEvent[],
  { teamId, where = Prisma.sql`true` }: Queued = {},
): Prisma.Sql {
  const webhooks = events.map(webhookOf);
  const rows = webhooks.map((webhook, index) => ({
    ...webhook,
    /** How many of its subject follow. */
    later: webhooks.slice(index + 1).filter(({ subject }) => subject === webhook.subject).length,
  }));
  return Prisma.sql`
    webhooks AS (
      SELECT w.* FROM jsonb_to_recordset(${storableJson(rows)}::jsonb)
        AS w (id text, subject text, at timestamptz, body text, later int)
      WHERE ${where}
    ), webhook_queues AS (
      INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, version, due_at)
      SELECT e.team_id, ${QUEUE}, e.subject_id || ' ' || w.subject, 'plan', count(*), min(w.at)
      FROM notifications e, webhooks w
      WHERE e.team_id = COALESCE(${teamId ?? null}::text, installation_team())
        AND e.subject_kind = ${ENDPOINT} AND e.purpose = 'plan'
      GROUP BY e.team_id, e.subject_id, w.subject ORDER BY 3
      ON CONFLICT (team_id, subject_kind, subject_id, purpose) DO UPDATE SET version = n.version + excluded.version,
        due_at = CASE WHEN n.attempts > 0 THEN n.due_at ELSE LEAST(n.due_at, excluded.due_at) END
      RETURNING n.team_id, n.subject_id, n.version
    ), queued_webhooks AS (
      INSERT INTO notifications (team_id, subject_kind, subject_id, purpose, version, body)
      SELECT q.team_id, ${QUEUE}, q.subject_id, w.id, q.version - w.later, w.body
      FROM webhook_queues q JOIN webhooks w ON w.subject = substr(q.subject_id, strpos(q.subject_id, ' ') + 1)
    )`;
}

const queueIds = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

const first = z.object({ id: z.string(), body: z.string() }).transform(({ id, body }) => {
  const { type, timestamp } = webhookBody.parse(JSON.parse(body));
  return { id, body, type, at: new Date(timestamp) };
});
const queueRows = z.array(z.object({ version: z.number(), attempts: z.number(), first: optional(first) }));

const outageRows = z.array(z.object({ since: z.date(), isTold: z.boolean() }));

/** Nothing is put off for longer: a later moment was written by a clock that has been put back since. */
const FARTHEST_MS = 2 * HOUR_MS;

/** Webhooks in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createWebhookStore({ run, transaction }: Database, teamId: string): WebhookStore {
  const change = async (statement: Prisma.Sql) => void (await run(statement));
  /** Rows of a subject. */
  const of = (kind: string, id: string) =>
    Prisma.sql`n.team_id = ${teamId} AND n.subject_kind = ${kind} AND n.subject_id = ${id}`;
  const plan = (kind: string, id: string) => Prisma.sql`${of(kind, id)} AND n.purpose = 'plan'`;

  return storeOf('webhooks', {
    serve: (endpoints, now, since) =>
      transaction(async (runInside) => {
        await runInside(Prisma.sql`
          INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, shows, posted_at)
          SELECT ${teamId}, ${ENDPOINT}, id, row.purpose, row.shows, row.posted_at
          FROM unnest(${[...endpoints]}::text[]) AS id,
            (VALUES ('plan', NULL, NULL), ('test', ${monthOf(now)}, NULL), ('served', NULL, ${now}::timestamptz))
              AS row (purpose, shows, posted_at)
          ON CONFLICT (team_id, subject_kind, subject_id, purpose)
            DO UPDATE SET posted_at = excluded.posted_at WHERE n.purpose = 'served'`);
        await runInside(Prisma.sql`
          DELETE FROM notifications n USING notifications e WHERE e.team_id = ${teamId} AND n.team_id = ${teamId}
            AND e.subject_kind = ${ENDPOINT} AND e.purpose = 'served' AND e.posted_at < ${since}
            AND n.subject_kind IN (${ENDPOINT}, ${QUEUE}) AND split_part(n.subject_id, ' ', 1) = e.subject_id`);
      }),

    claimDue: async (endpoint, now, leaseMs, limit) => {
      const farthest = new Date(now.getTime() + FARTHEST_MS);
      const due = Prisma.sql`n.subject_kind = ${QUEUE} AND starts_with(n.subject_id, ${`${endpoint} `})
        AND (n.due_at <= ${now} OR n.due_at > ${farthest})`;
      return queueIds.parse(await run(claimDuePlans(teamId, due, leaseMs, limit)));
    },

    read: async (queue) =>
      queueRows.parse(
        await run(Prisma.sql`
          SELECT n.version, n.attempts, (
            SELECT json_build_object('id', w.purpose, 'body', w.body) FROM notifications w
            WHERE w.team_id = n.team_id AND w.subject_kind = n.subject_kind AND w.subject_id = n.subject_id
              AND w.purpose <> 'plan' ORDER BY w.version LIMIT 1) AS first
          FROM notifications n WHERE ${plan(QUEUE, queue)}`),
      )[0],

    remove: (queue, id, leaseMs) =>
      change(Prisma.sql`
        WITH gone AS (DELETE FROM notifications n WHERE ${of(QUEUE, queue)} AND n.purpose = ${id})
        UPDATE notifications n SET lease_until = ${leaseOf(leaseMs)}, attempts = 0 WHERE ${plan(QUEUE, queue)}`),

    noteTaken: (endpoint, now) =>
      change(Prisma.sql`
        WITH shown AS (
          UPDATE notifications n SET posted_at = ${now} WHERE ${of(ENDPOINT, endpoint)} AND n.purpose = 'test'
        ), taken AS (
          UPDATE notifications n SET refused = NULL, due_at = NULL, version = version + 1
          WHERE ${plan(ENDPOINT, endpoint)} AND n.refused IS NOT NULL RETURNING subject_id
        )
        DELETE FROM notifications n USING taken WHERE ${of(ENDPOINT, endpoint)} AND starts_with(n.purpose, 'to:')`),

    postpone: (endpoint, queue, { code, until, alertAt }) =>
      change(Prisma.sql`
        WITH failed AS (
          UPDATE notifications n SET refused = ${code}, version = version + 1,
            due_at = CASE WHEN n.refused IS NULL OR n.due_at > ${alertAt} THEN ${alertAt}::timestamptz ELSE n.due_at END
          WHERE ${plan(ENDPOINT, endpoint)}
            AND (n.refused IS NULL OR n.refused <> ${code} OR n.due_at > ${alertAt})
        )
        UPDATE notifications n SET lease_until = NULL, due_at = ${until}, attempts = attempts + 1
        WHERE ${plan(QUEUE, queue)}`),

    release: (queue) =>
      change(Prisma.sql`UPDATE notifications n SET lease_until = NULL WHERE ${plan(QUEUE, queue)}`),

    close: async (queue, version) =>
      queueIds.parse(
        await run(Prisma.sql`
          DELETE FROM notifications n WHERE ${plan(QUEUE, queue)} AND n.version = ${version}
          RETURNING n.subject_id AS id`),
      ).length === 1,

    queue: (event) => change(Prisma.sql`WITH ${queueWebhooks([event], { teamId })} SELECT`),

    testMonthly: (now) =>
      change(Prisma.sql`
        WITH due AS (
          UPDATE notifications n SET shows = ${monthOf(now)}
          WHERE n.team_id = ${teamId} AND n.subject_kind = ${ENDPOINT} AND n.purpose = 'test' AND n.shows < ${monthOf(now)}
          RETURNING 1
        ), ${queueWebhooks([{ type: 'test', at: now, data: { code: 'monthly' } }], {
          teamId,
          where: Prisma.sql`EXISTS (SELECT FROM due)`,
        })} SELECT`),

    noteSlack: (outage, before, now) =>
      transaction(async (runInside) => {
        if (outage === undefined) {
          await runInside(Prisma.sql`DELETE FROM notifications n WHERE ${of('slack', 'api')}`);
          return;
        }
        const [noted] = outageRows.parse(
          await runInside(Prisma.sql`
            INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, refused, posted_at)
            VALUES (${teamId}, 'slack', 'api', 'plan', ${outage.code}, ${outage.since})
            ON CONFLICT (team_id, subject_kind, subject_id, purpose) DO UPDATE SET refused = excluded.refused,
              posted_at = LEAST(n.posted_at, excluded.posted_at)
            RETURNING n.posted_at AS since, n.shows IS NOT NULL AS "isTold"`),
        );
        if (noted === undefined || noted.isTold || noted.since > before) return;
        const since = noted.since.toISOString();
        await runInside(Prisma.sql`
          WITH told AS (UPDATE notifications n SET shows = 'told' WHERE ${of('slack', 'api')}),
          ${queueWebhooks([{ type: 'slack.unreachable', at: now, data: { code: outage.code, since } }], { teamId })} SELECT`);
      }),
  });
}

/** As `YYYY-MM`, in UTC. */
function monthOf(moment: Date): string {
  return moment.toISOString().slice(0, 7);
}
