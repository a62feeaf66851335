import { z } from 'zod';
import { FACT_NAMES } from '../names/facts.ts';
import { INCIDENT_STATES, type Incident, type IncidentUpdate, kindsOf } from '../names/incident.ts';
import type { IncidentStore } from '../names/ports.ts';
import { INCIDENT_KINDS, NAME_TASKS, RULED_OUT_REASONS } from '../names/unexplained-changes.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import { optional, optionalText } from './columns.ts';
import { type Database, Prisma, storeOf } from './database.ts';
import { insertEvents } from './events.ts';
import { insertPlans, markPlan } from './notifications.ts';
import { idRows } from './rows.ts';
import { queueWebhooks } from './webhooks.ts';

const value = z.array(z.string());
const moment = z.coerce.date();
const change = z
  .object({
    kind: z.enum(INCIDENT_KINDS),
    fact: z.enum(FACT_NAMES),
    before: value,
    after: value,
    expiry: z.object({ before: z.string(), after: z.string() }).optional(),
    lastSeenBefore: moment,
    firstSeenAfter: moment,
    noticedAt: moment,
    orders: z.array(z.object({ id: z.string(), task: z.enum(NAME_TASKS), why: z.enum(RULED_OUT_REASONS) })),
  })
  .transform(({ expiry, ...kept }) => ({ ...kept, expiry }));
const row = z
  .object({
    id: z.string(),
    name: z.string(),
    version: z.number(),
    state: z.enum(INCIDENT_STATES),
    openedAt: z.date(),
    changes: z.array(change),
    proposedBy: optionalText,
    proposedReason: optionalText,
    explainedBy: optionalText,
    reason: optionalText,
    raisedBy: optionalText,
    overAt: optional(z.date()),
    channelId: optionalText,
  })
  .transform(
    ({ proposedBy, proposedReason, explainedBy, reason, ...kept }): Incident => ({
      ...kept,
      proposed: proposedBy === undefined ? undefined : { by: proposedBy, reason: proposedReason ?? '' },
      explained: explainedBy === undefined ? undefined : { by: explainedBy, reason: reason ?? '' },
    }),
  );
const rows = z.array(row);
const warningRows = z.array(
  z.object({ incidentId: z.string(), userId: z.string(), changes: z.number(), at: z.date() }),
);

const COLUMNS = Prisma.raw(
  'id, name, version, state, opened_at AS "openedAt", changes, proposed_by AS "proposedBy", proposed_reason AS "proposedReason", explained_by AS "explainedBy", reason, raised_by AS "raisedBy", over_at AS "overAt", (SELECT n.channel_id FROM notifications n WHERE n.team_id = incidents.team_id AND n.subject_kind = \'incident\' AND n.subject_id = incidents.id AND n.purpose = \'incident\') AS "channelId"',
);

/** A part of a `WITH` that has a row only while nobody else has changed the incident that a look goes on with. */
export function lockIncident(teamId: string, { before }: IncidentUpdate): Prisma.Sql {
  return before === undefined
    ? Prisma.sql`incident AS (SELECT 1)`
    : Prisma.sql`incident AS (
        SELECT 1 FROM incidents WHERE team_id = ${teamId} AND id = ${before.id} AND version = ${before.version} FOR UPDATE)`;
}

/**
 * Parts of a `WITH` that keep what a look has made of an incident, for the statement that keeps the look.
 * @param saved a query that has a row only when the look was kept
 */
export function keepIncident(teamId: string, update: IncidentUpdate, saved: Prisma.Sql): Prisma.Sql {
  const { before, after, added, at } = update;
  const where = Prisma.sql`EXISTS (${saved})`;
  const about = { subject: { kind: 'name', id: after.name }, actor: 'system', at } as const;
  const events = [
    ...added.map(({ kind: incident, fact, before: was, after: is }) => ({
      ...about,
      kind: before === undefined ? ('incident_opened' as const) : ('incident_joined' as const),
      ...{ incident, fact, before: was, after: is },
    })),
    ...(after.state === 'over'
      ? [{ ...about, kind: 'incident_over' as const, incidents: [...kindsOf(after)] }]
      : []),
  ];
  const kept =
    before === undefined
      ? Prisma.sql`
        INSERT INTO incidents (id, team_id, name, state, opened_at, changes)
        SELECT ${after.id}, ${teamId}, ${after.name}, ${after.state}, ${after.openedAt}, ${JSON.stringify(after.changes)}::jsonb
        WHERE ${where} RETURNING team_id, 'incident'::text AS subject_kind, id AS subject_id, opened_at AS due_at`
      : updateIncident(teamId, before, after, Prisma.sql`AND ${where}`);
  const plan =
    before === undefined
      ? insertPlans(Prisma.sql`SELECT * FROM kept_incident`)
      : Prisma.sql`${markPlan(teamId, { kind: 'incident', id: after.id }, at)} AND ${where}`;
  // The cards of orders that wait say it.
  const cards = Prisma.sql`
    UPDATE notifications n SET version = n.version + 1, due_at = LEAST(n.due_at, ${at}::timestamptz)
    FROM orders o WHERE o.state = 'PENDING' AND n.team_id = o.team_id AND n.subject_kind = 'order' AND n.subject_id = o.id
      AND n.purpose = 'plan' AND ${where}
      AND EXISTS (SELECT 1 FROM order_items i WHERE i.order_id = o.id AND i.name = ${after.name})`;
  return Prisma.sql`kept_incident AS (${kept}), incident_plan AS (${plan}), incident_cards AS (${cards}),
    incident_events AS (${insertEvents(events, { teamId, where })}),
    ${queueWebhooks(webhooksOf(update), { teamId, where })}`;
}

/** What is told besides Slack of what a look has made of an incident. */
function webhooksOf({ before, after, added, at }: IncidentUpdate): WebhookEvent[] {
  const { name, id: incident_id } = after;
  const noticed = added.map(({ kind: code, before: was, after: is }, index): WebhookEvent => {
    const type = before === undefined && index === 0 ? 'incident.opened' : 'incident.changed';
    return { type, at, data: { name, incident_id, code, before: was, after: is } };
  });
  const over: WebhookEvent = { type: 'incident.closed', at, data: { name, incident_id, code: 'over' } };
  return after.state === 'over' ? [...noticed, over] : noticed;
}

/** What is told besides Slack of what a person decided about an incident. */
function webhooksOfDecision(
  { id: incident_id, name, state }: Incident,
  kind: string,
  at: Date,
): WebhookEvent[] {
  if (kind === 'incident_raised')
    return [{ type: 'incident.changed', at, data: { name, incident_id, code: 'raised' } }];
  return state === 'ours' ? [{ type: 'incident.closed', at, data: { name, incident_id, code: 'ours' } }] : [];
}

/** The compare-and-swap of an incident. */
function updateIncident(teamId: string, before: Incident, after: Incident, more: Prisma.Sql): Prisma.Sql {
  const { state, changes, proposed, explained, raisedBy, overAt } = after;
  return Prisma.sql`
    UPDATE incidents SET version = version + 1, state = ${state}, changes = ${JSON.stringify(changes)}::jsonb,
      proposed_by = ${proposed?.by ?? null}, proposed_reason = ${proposed?.reason ?? null},
      explained_by = ${explained?.by ?? null}, reason = ${explained?.reason ?? null},
      raised_by = ${raisedBy ?? null}, over_at = ${overAt ?? null}
    WHERE team_id = ${teamId} AND id = ${before.id} AND version = ${before.version} ${more} RETURNING id`;
}

/** Incidents, in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createIncidentStore({ run, transaction }: Database, teamId: string): IncidentStore {
  return storeOf('incidents', {
    find: async (id) => {
      const found = await run(
        Prisma.sql`SELECT ${COLUMNS} FROM incidents WHERE team_id = ${teamId} AND id = ${id}`,
      );
      return rows.parse(found)[0];
    },

    ofName: async (name, limit) =>
      rows.parse(
        await run(
          Prisma.sql`SELECT ${COLUMNS} FROM incidents WHERE team_id = ${teamId} AND name = ${name} ORDER BY opened_at DESC LIMIT ${limit}`,
        ),
      ),

    openOf: async (names) =>
      rows.parse(
        await run(
          Prisma.sql`SELECT ${COLUMNS} FROM incidents
            WHERE team_id = ${teamId} AND name = ANY(${[...names]}) AND state IN ('open', 'raised') ORDER BY name, opened_at DESC`,
        ),
      ),

    allOpen: async (limit) =>
      rows.parse(
        await run(
          Prisma.sql`SELECT ${COLUMNS} FROM incidents
            WHERE team_id = ${teamId} AND state IN ('open', 'raised') ORDER BY opened_at DESC LIMIT ${limit}`,
        ),
      ),

    change: (before, after, decision, now) =>
      transaction(async (runInside) => {
        const changed = await runInside(updateIncident(teamId, before, after, Prisma.empty));
        if (idRows.parse(changed).length === 0) return false;
        await runInside(markPlan(teamId, { kind: 'incident', id: before.id }, now));
        const subject = { kind: 'name', id: before.name } as const;
        const event = { ...decision, subject, at: now, incidents: [...kindsOf(before)] };
        await runInside(insertEvents([event], { teamId }));
        const told = webhooksOfDecision(after, decision.kind, now);
        if (told.length > 0)
          await runInside(Prisma.sql`WITH ${queueWebhooks(told, { teamId })} SELECT 1 AS queued`);
        return true;
      }),

    warningsOf: async (orderId) =>
      warningRows.parse(
        await run(Prisma.sql`
          SELECT incident_id AS "incidentId", user_id AS "userId", changes, at FROM incident_warnings
          WHERE order_id = ${orderId}`),
      ),

    warn: async (orderId, userId, shown, at) => {
      await run(Prisma.sql`
        INSERT INTO incident_warnings (order_id, incident_id, user_id, changes, at)
        SELECT ${orderId}, id, ${userId}, changes, ${at}
        FROM jsonb_to_recordset(${JSON.stringify(shown)}::jsonb) AS shown (id text, changes int)
        ON CONFLICT (order_id, incident_id, user_id) DO UPDATE SET changes = excluded.changes, at = excluded.at
          WHERE incident_warnings.changes < excluded.changes`);
    },
  });
}
