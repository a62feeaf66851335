import { z } from 'zod';
import { ALARM_STATES, type Alarm, type NewAlarm } from '../names/alarm.ts';
import { FACT_NAMES } from '../names/facts.ts';
import type { AlarmStore } from '../names/ports.ts';
import { ALARM_KINDS, NAME_TASKS, RULED_OUT_REASONS } from '../names/unexplained-changes.ts';
import { optional, optionalText } from './columns.ts';
import { type Database, Prisma, storeOf } from './database.ts';
import { insertEvents } from './events.ts';
import { markPlan } from './notifications.ts';
import { idRows } from './rows.ts';

const value = z.array(z.string());
const row = z
  .object({
    id: z.string(),
    name: z.string(),
    version: z.number(),
    kind: z.enum(ALARM_KINDS),
    fact: z.enum(FACT_NAMES),
    before: value,
    after: value,
    expiry: optional(z.object({ before: z.string(), after: z.string() })),
    lastSeenBefore: z.date(),
    firstSeenAfter: z.date(),
    raisedAt: z.date(),
    orders: z.array(z.object({ id: z.string(), task: z.enum(NAME_TASKS), why: z.enum(RULED_OUT_REASONS) })),
    state: z.enum(ALARM_STATES),
    proposedBy: optionalText,
    proposedReason: optionalText,
    explainedBy: optionalText,
    reason: optionalText,
    escalatedBy: optionalText,
    channelId: optionalText,
  })
  .transform(
    ({ proposedBy, proposedReason, explainedBy, reason, ...kept }): Alarm => ({
      ...kept,
      proposed: proposedBy === undefined ? undefined : { by: proposedBy, reason: proposedReason ?? '' },
      explained: explainedBy === undefined ? undefined : { by: explainedBy, reason: reason ?? '' },
    }),
  );
const rows = z.array(row);

const COLUMNS = Prisma.raw(
  'id, name, version, kind, fact, before, after, expiry, last_seen_before AS "lastSeenBefore", first_seen_after AS "firstSeenAfter", raised_at AS "raisedAt", orders, state, proposed_by AS "proposedBy", proposed_reason AS "proposedReason", explained_by AS "explainedBy", reason, escalated_by AS "escalatedBy", (SELECT n.channel_id FROM notifications n WHERE n.team_id = alarms.team_id AND n.subject_kind = \'alarm\' AND n.subject_id = alarms.id AND n.purpose = \'alarm\') AS "channelId"',
);

/**
 * Parts of a `WITH`: the rows of new alarms as `raised`, with their subjects, and their events, for the statement that keeps
 * the look which raised them.
 * @param saved a query that has a row only when the look was kept
 */
export function insertAlarms(teamId: string, alarms: readonly NewAlarm[], saved: Prisma.Sql): Prisma.Sql {
  const json = JSON.stringify(
    alarms.map((alarm) => ({
      ...alarm,
      expiry: alarm.expiry ?? null,
      last_seen_before: alarm.lastSeenBefore,
      first_seen_after: alarm.firstSeenAfter,
      raised_at: alarm.raisedAt,
    })),
  );
  const events = alarms.map(({ name, kind, fact, before, after, raisedAt }) => ({
    kind: 'alarm_raised' as const,
    subject: { kind: 'name' as const, id: name },
    actor: 'system',
    at: raisedAt,
    alarm: kind,
    fact,
    before,
    after,
  }));
  return Prisma.sql`raised AS (
    INSERT INTO alarms (id, team_id, name, kind, fact, before, after, expiry, last_seen_before, first_seen_after,
      raised_at, orders, state)
    SELECT id, ${teamId}, name, kind, fact, before, after, NULLIF(expiry, 'null'::jsonb), last_seen_before,
      first_seen_after, raised_at, orders, 'raised'
    FROM jsonb_to_recordset(${json}::jsonb) AS raised (id text, name text, kind text, fact text, before jsonb,
      after jsonb, expiry jsonb, last_seen_before timestamptz, first_seen_after timestamptz, raised_at timestamptz,
      orders jsonb)
    WHERE EXISTS (${saved})
    RETURNING team_id, 'alarm'::text AS subject_kind, id AS subject_id, raised_at AS due_at
  ), raised_events AS (${insertEvents(events, { teamId, where: Prisma.sql`EXISTS (${saved})` })})`;
}

/** Alarms, in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createAlarmStore({ run, transaction }: Database, teamId: string): AlarmStore {
  return storeOf('alarms', {
    find: async (id) => {
      const found = await run(
        Prisma.sql`SELECT ${COLUMNS} FROM alarms WHERE team_id = ${teamId} AND id = ${id}`,
      );
      return rows.parse(found)[0];
    },

    ofName: async (name, limit) =>
      rows.parse(
        await run(
          Prisma.sql`SELECT ${COLUMNS} FROM alarms WHERE team_id = ${teamId} AND name = ${name} ORDER BY raised_at DESC LIMIT ${limit}`,
        ),
      ),

    change: (before, { state, proposed, explained, escalatedBy }, decision, now) =>
      transaction(async (runInside) => {
        const changed = await runInside(Prisma.sql`
          UPDATE alarms SET version = version + 1, state = ${state},
          proposed_by = ${proposed?.by ?? null}, proposed_reason = ${proposed?.reason ?? null},
          explained_by = ${explained?.by ?? null}, reason = ${explained?.reason ?? null},
          escalated_by = ${escalatedBy ?? null}
          WHERE team_id = ${teamId} AND id = ${before.id} AND version = ${before.version} RETURNING id`);
        if (idRows.parse(changed).length === 0) return false;
        await runInside(markPlan(teamId, { kind: 'alarm', id: before.id }, now));
        const subject = { kind: 'name', id: before.name } as const;
        const event = { ...decision, subject, at: now, alarm: before.kind };
        await runInside(insertEvents([event], { teamId }));
        return true;
      }),
  });
}
