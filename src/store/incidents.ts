import { z } from 'zod';
import type { TeamEvent } from '../ledger/events.ts';
import { FACT_NAMES } from '../names/facts.ts';
import { INCIDENT_STATES, type Incident, type IncidentUpdate, listIncidentKinds } from '../names/incident.ts';
import type { IncidentStore } from '../names/ports.ts';
import { INCIDENT_KINDS, NAME_TASKS, RULED_OUT_REASONS } from '../names/unexplained-changes.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import { assignColumns, defineRow, insertRows, optional, optionalText } from './columns.ts';
import { type Database, Prisma, type RunStatement, wrapStore } from './database.ts';
import { insertEvents } from './events.ts';
import { insertPlans, markPlanOutdated } from './notifications.ts';
import { idRowsSchema } from './order-rows.ts';
import { queueWebhooks } from './webhooks.ts';

const valuesSchema = z.array(z.string());
const timestampSchema = z.coerce.date();
const incidentChangeSchema = z
  .object({
    kind: z.enum(INCIDENT_KINDS),
    fact: z.enum(FACT_NAMES),
    before: valuesSchema,
    after: valuesSchema,
    expiry: z.object({ before: z.string(), after: z.string() }).optional(),
    beforeLastSeenAt: timestampSchema,
    afterFirstSeenAt: timestampSchema,
    noticedAt: timestampSchema,
    orders: z.array(
      z.object({ id: z.string(), task: z.enum(NAME_TASKS), reason: z.enum(RULED_OUT_REASONS) }),
    ),
  })
  .transform(({ expiry, ...fields }) => ({ ...fields, expiry }));
const incidentRow = defineRow(
  z.object({
    id: z.string(),
    name: z.string(),
    version: z.number(),
    state: z.enum(INCIDENT_STATES),
    openedAt: z.date(),
    changes: z.array(incidentChangeSchema),
    proposedBy: optionalText,
    proposedReason: optionalText,
    explainedBy: optionalText,
    reason: optionalText,
    raisedBy: optionalText,
    overAt: optional(z.date()),
    channelId: optionalText,
  }),
  '',
  {
    channelId: Prisma.sql`(
      SELECT n.channel_id FROM notifications n WHERE n.team_id = incidents.team_id AND n.subject_kind = 'incident'
        AND n.subject_id = incidents.id AND n.purpose = 'incident')`,
  },
);
const warningRow = defineRow(
  z.object({ incidentId: z.string(), userId: z.string(), changeCount: z.number(), at: z.date() }),
  '',
  { changeCount: Prisma.sql`changes` },
);

function toIncident({
  proposedBy,
  proposedReason,
  explainedBy,
  reason,
  ...fields
}: z.output<typeof incidentRow.schema>): Incident {
  return {
    ...fields,
    proposedExplanation:
      proposedBy === undefined ? undefined : { by: proposedBy, reason: proposedReason ?? '' },
    explanation: explainedBy === undefined ? undefined : { by: explainedBy, reason: reason ?? '' },
  };
}

/**
 * Saves the changes that a lookup made to an incident, in the same transaction as the lookup.
 * @returns false if the incident was changed concurrently
 */
export async function saveIncident(
  run: RunStatement,
  teamId: string,
  update: IncidentUpdate,
): Promise<boolean> {
  const { before, after, at } = update;
  if (before === undefined) {
    const { id, name, state, openedAt, changes } = after;
    await insertRows(run, 'incidents', [{ id, teamId, name, state, openedAt, changes }]);
    await run(
      insertPlans(Prisma.sql`
        SELECT ${teamId} AS team_id, 'incident' AS subject_kind, ${id} AS subject_id, ${openedAt}::timestamptz AS due_at`),
    );
  } else {
    if (!(await swapIncident(run, teamId, before, after))) return false;
    await run(markPlanOutdated(teamId, { kind: 'incident', id: after.id }, at));
  }
  // Refreshes the cards of pending orders, because they show the incident.
  await run(Prisma.sql`
    UPDATE notifications n SET version = n.version + 1, due_at = LEAST(n.due_at, ${at}::timestamptz)
    FROM orders o WHERE o.state = 'PENDING' AND n.team_id = o.team_id AND n.subject_kind = 'order' AND n.subject_id = o.id
      AND n.purpose = 'plan' AND EXISTS (SELECT 1 FROM order_items i WHERE i.order_id = o.id AND i.name = ${after.name})`);
  await insertEvents(run, buildIncidentEvents(update), teamId);
  await queueWebhooks(run, buildLookupWebhooks(update), teamId);
  return true;
}

function buildIncidentEvents({ before, after, addedChanges, at }: IncidentUpdate): TeamEvent[] {
  const commonFields = { subject: { kind: 'name', id: after.name }, actor: 'system', at } as const;
  const kind = before === undefined ? 'incident_opened' : 'incident_joined';
  const changeEvents = addedChanges.map(
    ({ kind: changeKind, fact, before: oldValue, after: newValue }): TeamEvent => ({
      ...commonFields,
      kind,
      ...{ incident: changeKind, fact, before: oldValue, after: newValue },
    }),
  );
  const overEvent: TeamEvent = {
    ...commonFields,
    kind: 'incident_over',
    incidents: [...listIncidentKinds(after)],
  };
  return after.state === 'over' ? [...changeEvents, overEvent] : changeEvents;
}

function buildLookupWebhooks({ before, after, addedChanges, at }: IncidentUpdate): WebhookEvent[] {
  const { name, id: incident_id } = after;
  const changeEvents = addedChanges.map(
    ({ kind: code, before: oldValue, after: newValue }, index): WebhookEvent => {
      const type = before === undefined && index === 0 ? 'incident.opened' : 'incident.changed';
      return { type, at, data: { name, incident_id, code, before: oldValue, after: newValue } };
    },
  );
  const closedEvent: WebhookEvent = {
    type: 'incident.closed',
    at,
    data: { name, incident_id, code: 'over' },
  };
  return after.state === 'over' ? [...changeEvents, closedEvent] : changeEvents;
}

function buildDecisionWebhooks(
  { id: incident_id, name, state }: Incident,
  kind: string,
  at: Date,
): WebhookEvent[] {
  if (kind === 'incident_raised')
    return [{ type: 'incident.changed', at, data: { name, incident_id, code: 'raised' } }];
  return state === 'ours' ? [{ type: 'incident.closed', at, data: { name, incident_id, code: 'ours' } }] : [];
}

/** Compare-and-swap on the version. */
async function swapIncident(
  run: RunStatement,
  teamId: string,
  before: Incident,
  { state, changes, proposedExplanation, explanation, raisedBy, overAt }: Incident,
): Promise<boolean> {
  const fields = {
    ...{ state, changes, raisedBy, overAt },
    ...{ proposedBy: proposedExplanation?.by, proposedReason: proposedExplanation?.reason },
    ...{ explainedBy: explanation?.by, reason: explanation?.reason },
  };
  const rows = await run(Prisma.sql`
    UPDATE incidents SET version = version + 1, ${assignColumns(fields)}
    WHERE team_id = ${teamId} AND id = ${before.id} AND version = ${before.version} RETURNING id`);
  return idRowsSchema.parse(rows).length === 1;
}

const IS_OPEN = Prisma.sql`state IN ('open', 'raised')`;

export function createIncidentStore({ run, transaction }: Database, teamId: string): IncidentStore {
  const queryIncidents = async (clauses: Prisma.Sql) => {
    const rows = await run(
      Prisma.sql`SELECT ${incidentRow.columns} FROM incidents WHERE team_id = ${teamId} AND ${clauses}`,
    );
    return incidentRow.read(rows).map(toIncident);
  };

  return wrapStore('incidents', {
    find: async (id) => (await queryIncidents(Prisma.sql`id = ${id}`))[0],

    listForName: (name, limit) =>
      queryIncidents(Prisma.sql`name = ${name} ORDER BY opened_at DESC LIMIT ${limit}`),

    listOpen: (names) =>
      queryIncidents(Prisma.sql`name = ANY(${[...names]}) AND ${IS_OPEN} ORDER BY name, opened_at DESC`),

    listAllOpen: (limit) => queryIncidents(Prisma.sql`${IS_OPEN} ORDER BY opened_at DESC LIMIT ${limit}`),

    change: (before, after, decision, now) =>
      transaction(async (tx) => {
        if (!(await swapIncident(tx, teamId, before, after))) return false;
        await tx(markPlanOutdated(teamId, { kind: 'incident', id: before.id }, now));
        const subject = { kind: 'name', id: before.name } as const;
        const event = { ...decision, subject, at: now, incidents: [...listIncidentKinds(before)] };
        await insertEvents(tx, [event], teamId);
        await queueWebhooks(tx, buildDecisionWebhooks(after, decision.kind, now), teamId);
        return true;
      }),

    listWarnings: async (orderId) =>
      warningRow.read(
        await run(
          Prisma.sql`SELECT ${warningRow.columns} FROM incident_warnings WHERE order_id = ${orderId}`,
        ),
      ),

    recordWarnings: async (orderId, userId, incidents, at) => {
      await run(Prisma.sql`
        INSERT INTO incident_warnings (order_id, incident_id, user_id, changes, at)
        SELECT ${orderId}, id, ${userId}, "changeCount", ${at}
        FROM jsonb_to_recordset(${JSON.stringify(incidents)}::jsonb) AS incident (id text, "changeCount" int)
        ON CONFLICT (order_id, incident_id, user_id) DO UPDATE SET changes = excluded.changes, at = excluded.at
          WHERE incident_warnings.changes < excluded.changes`);
    },
  });
}
