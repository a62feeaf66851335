import { z } from 'zod';
import { HOUR_MS } from '../lib/duration.ts';
import { buildWebhook, type WebhookEvent, webhookBodySchema } from '../outbox/webhooks/messages.ts';
import type { WebhookDelivery, WebhookStore } from '../outbox/webhooks/ports.ts';
import { buildRecordset, defineRow } from './columns.ts';
import { type Database, Prisma, type RunStatement, wrapStore } from './database.ts';
import { buildLeaseEnd, isLeaseExpired } from './leases.ts';

/**
 * Queues webhooks for every endpoint. Runs in the same transaction as the change that they report.
 * @param teamId default: the installation's team
 */
export async function queueWebhooks(
  run: RunStatement,
  events: readonly WebhookEvent[],
  teamId?: string,
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event, seq) => {
    const { id: webhookId, subject, at, body } = buildWebhook(event);
    return { seq, webhookId, subject, at, body };
  });
  await run(Prisma.sql`
    INSERT INTO webhook_deliveries (team_id, endpoint_id, subject, webhook_id, at, body, due_at)
    SELECT e.team_id, e.id, w.subject, w.webhook_id, w.at, w.body, w.at
    FROM webhook_endpoints e, ${buildRecordset('webhook_deliveries', rows)} AS w
    WHERE e.team_id = COALESCE(${teamId ?? null}::text, installation_team()) ORDER BY w.seq`);
}

const deliveryRow = defineRow(
  z.object({
    id: z.string(),
    subject: z.string(),
    webhookId: z.string(),
    at: z.date(),
    body: z.string(),
    attempts: z.number(),
  }),
  'd.',
  { id: Prisma.sql`d.seq::text` },
);

function parseDeliveries(rows: unknown): WebhookDelivery[] {
  return deliveryRow
    .read(rows)
    .map((delivery) => ({ ...delivery, type: webhookBodySchema.parse(JSON.parse(delivery.body)).type }));
}

/** Deliveries are never scheduled further ahead. A later time was set before the clock was set back. */
const MAX_DUE_AHEAD_MS = 2 * HOUR_MS;

export function createWebhookStore({ run, prisma, transaction }: Database, teamId: string): WebhookStore {
  const buildNotificationFilter = (endpointId: string) => ({
    teamId,
    subjectKind: 'webhook_endpoint',
    subjectId: endpointId,
  });

  return wrapStore('webhooks', {
    registerEndpoints: (endpointIds, now, staleBefore) =>
      prisma.$transaction(async (tx) => {
        await tx.webhookEndpoint.createMany({
          data: endpointIds.map((id) => ({ teamId, id, servedAt: now, testedMonth: formatMonth(now) })),
          skipDuplicates: true,
        });
        await tx.webhookEndpoint.updateMany({
          where: { teamId, id: { in: [...endpointIds] } },
          data: { servedAt: now },
        });
        const where = { teamId, servedAt: { lt: staleBefore } };
        for (const { id } of await tx.webhookEndpoint.findMany({ where, select: { id: true } }))
          await tx.notification.deleteMany({ where: buildNotificationFilter(id) });
        await tx.webhookEndpoint.deleteMany({ where });
      }),

    claimDue: async (endpointId, now, leaseMs, limit) =>
      parseDeliveries(
        await run(buildClaimStatement(teamId, endpointId, now, leaseMs, limit, Prisma.empty)),
      ).map(({ id }) => id),

    loadDelivery: async (id) =>
      parseDeliveries(
        await run(
          Prisma.sql`SELECT ${deliveryRow.columns} FROM webhook_deliveries d WHERE d.seq = ${id}::bigint`,
        ),
      )[0],

    async finish(endpointId, { id, subject }, now, leaseMs) {
      await prisma.webhookDelivery.deleteMany({ where: { seq: BigInt(id) } });
      const subjectCondition = Prisma.sql`AND d.subject = ${subject}`;
      return parseDeliveries(
        await run(buildClaimStatement(teamId, endpointId, now, leaseMs, 1, subjectCondition)),
      )[0];
    },

    recordSuccess: (endpointId, now) =>
      prisma.$transaction(async (tx) => {
        await tx.webhookEndpoint.updateMany({ where: { teamId, id: endpointId }, data: { takenAt: now } });
        await tx.notification.deleteMany({ where: buildNotificationFilter(endpointId) });
      }),

    postpone: (endpointId, id, { code, retryAt, alertAt }) =>
      transaction(async (tx) => {
        await tx(Prisma.sql`
          UPDATE webhook_deliveries SET lease_until = NULL, due_at = ${retryAt}, attempts = attempts + 1
          WHERE seq = ${id}::bigint`);
        await tx(Prisma.sql`
          INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, version, refused, due_at)
          VALUES (${teamId}, 'webhook_endpoint', ${endpointId}, 'plan', 1, ${code}, ${alertAt})
          ON CONFLICT (team_id, subject_kind, subject_id, purpose) DO UPDATE SET refused = excluded.refused,
            version = n.version + 1, due_at = CASE WHEN n.due_at > excluded.due_at THEN excluded.due_at ELSE n.due_at END
          WHERE n.refused <> excluded.refused OR n.due_at > excluded.due_at`);
      }),

    release: async (id) => {
      await prisma.webhookDelivery.updateMany({ where: { seq: BigInt(id) }, data: { leaseUntil: null } });
    },

    queue: (event) => queueWebhooks(run, [event], teamId),

    queueMonthlyTest: (now) =>
      transaction(async (tx) => {
        const rows = await tx(Prisma.sql`
          UPDATE webhook_endpoints SET tested_month = ${formatMonth(now)}
          WHERE team_id = ${teamId} AND tested_month < ${formatMonth(now)} RETURNING id`);
        if (z.array(z.unknown()).parse(rows).length > 0)
          await queueWebhooks(tx, [{ type: 'test', at: now, data: { code: 'monthly' } }], teamId);
      }),

    async recordSlackOutage(outage, alertBefore, now) {
      if (outage === undefined) {
        await prisma.slackOutage.deleteMany({ where: { teamId } });
        return;
      }
      await transaction((tx) => recordOutage(tx, teamId, outage, alertBefore, now));
    },
  });
}

/**
 * Claims due deliveries of an endpoint. Webhooks about a subject are sent in order, so a delivery is due only
 * if it is the first for its subject and no process is sending another delivery for that subject.
 */
function buildClaimStatement(
  teamId: string,
  endpointId: string,
  now: Date,
  leaseMs: number,
  limit: number,
  condition: Prisma.Sql,
): Prisma.Sql {
  const maxDueAt = new Date(now.getTime() + MAX_DUE_AHEAD_MS);
  return Prisma.sql`
    WITH due AS (
      SELECT d.seq FROM webhook_deliveries d
      WHERE d.team_id = ${teamId} AND d.endpoint_id = ${endpointId} ${condition}
        AND (d.due_at <= ${now} OR d.due_at > ${maxDueAt}) AND ${isLeaseExpired(Prisma.sql`d.lease_until`)}
        AND NOT EXISTS (
          SELECT FROM webhook_deliveries o
          WHERE o.team_id = d.team_id AND o.endpoint_id = d.endpoint_id AND o.subject = d.subject
            AND (o.seq < d.seq OR NOT ${isLeaseExpired(Prisma.sql`o.lease_until`)}))
      ORDER BY d.due_at, d.seq LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE webhook_deliveries d SET lease_until = ${buildLeaseEnd(leaseMs)} FROM due WHERE d.seq = due.seq
      RETURNING ${deliveryRow.columns}, d.due_at
    )
    SELECT * FROM claimed ORDER BY due_at, id::bigint`;
}

const outageRowsSchema = z.array(z.object({ since: z.date(), isQueued: z.boolean() }));

/** Records a Slack outage. Queues a webhook about it once, if the outage started before `alertBefore`. */
async function recordOutage(
  run: RunStatement,
  teamId: string,
  { code, since }: { readonly code: string; readonly since: Date },
  alertBefore: Date,
  now: Date,
): Promise<void> {
  const [outage] = outageRowsSchema.parse(
    await run(Prisma.sql`
      INSERT INTO slack_outages AS o (team_id, since) VALUES (${teamId}, ${since})
      ON CONFLICT (team_id) DO UPDATE SET since = LEAST(o.since, excluded.since)
      RETURNING since, queued_at IS NOT NULL AS "isQueued"`),
  );
  if (outage === undefined || outage.isQueued || outage.since > alertBefore) return;
  await run(Prisma.sql`UPDATE slack_outages SET queued_at = ${now} WHERE team_id = ${teamId}`);
  const data = { code, since: outage.since.toISOString() };
  await queueWebhooks(run, [{ type: 'slack.unreachable', at: now, data }], teamId);
}

/** Formats `YYYY-MM` in UTC. */
function formatMonth(date: Date): string {
  return date.toISOString().slice(0, 7);
}
