import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { BotSigner } from '../approvals/charter.ts';
import { HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import { findExceededLimit, needsRegularOrder, SAME_PERIOD_MS } from '../mandates/acting.ts';
import type { HoldReason } from '../mandates/codes.ts';
import { isActive, readMandate } from '../mandates/mandate.ts';
import type { ActOutcome, MandateStore, NewAct } from '../mandates/ports.ts';
import type { OrderCreation } from '../orders/ports.ts';
import { matchPatterns, splitPatterns } from '../policy/name-patterns.ts';
import { toAffectedName } from '../policy/subject.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { insertRows } from './columns.ts';
import { type Database, isUniqueViolation, Prisma, type RunStatement, wrapStore } from './database.ts';
import { insertEvents } from './events.ts';
import {
  actRow,
  findActByOrder,
  findName,
  lockMandate,
  nameRow,
  readActs,
  readUsedAmounts,
  type TeamSigner,
} from './mandate-reads.ts';
import { findOpenOrderId } from './order-changes.ts';
import { ORDERS_IN_PROGRESS, toIds } from './order-reads.ts';
import { idRowsSchema } from './order-rows.ts';
import { insertOrder } from './order-save.ts';
import { IS_BOOKED, IS_RELEASED, lockAndCheckBudgets } from './reservations.ts';
import { queueWebhooks } from './webhooks.ts';

/*
 * Stores the acts of mandates. A team's acts are saved one at a time, so that a name has at most one act per
 * expiry. The mandate's order is locked after the budgets, and amounts are read while it is locked.
 */

const watchedNameRowsSchema = z.array(
  z.object({ name: z.string(), tags: z.array(z.string()).nullable(), isLapsing: z.boolean() }),
);

/** After a failure, the regular order for a name is retried with exponential backoff. */
const MIN_RETRY_DELAY_MS = 10 * MINUTE_MS;
const MAX_RETRY_DELAY_MS = 6 * HOUR_MS;

/** Condition: act `a` can be replaced, because its order was stopped when the mandate ended or people left. */
const IS_REPLACEABLE = Prisma.sql`(a.held IS NULL AND EXISTS (
  SELECT FROM order_items i WHERE i.order_id = a.order_id AND i.state = 'FAILED' AND i.sent_at IS NULL
    AND (i.result->'summary'->>'holdReason' = 'mandate_ended'
      OR i.result->'summary'->>'code' IN ('requester_left', 'owner_left'))))`;

function isSameExpiry(expiresAt: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`abs(extract(epoch FROM a.expires_at - ${expiresAt})) < ${SAME_PERIOD_MS / 1_000}`;
}

export function createMandateStore(
  database: Database,
  teamId: string,
  botSigner: BotSigner | undefined,
): MandateStore {
  const { run, prisma } = database;
  const team = { teamId, botSigner };
  const queryActs = async (clauses: Prisma.Sql) =>
    readActs(await run(Prisma.sql`SELECT ${actRow.columns} FROM mandate_acts a ${clauses}`));

  /** Condition: name `d` isn't marked to lapse, and no mandate has acted for its expiry date. */
  const isUnhandled = Prisma.sql`(d.lapse_confirmed_at IS NULL AND NOT EXISTS (
    SELECT FROM mandate_acts a WHERE a.team_id = ${teamId} AND a.name = d.name
      AND ${isSameExpiry(Prisma.sql`d.expires_at`)} AND NOT ${IS_REPLACEABLE}))`;

  return wrapStore('mandates', {
    listDueNames: async (from, until, cursor, limit) =>
      nameRow.read(
        await run(Prisma.sql`
          SELECT ${nameRow.columns} FROM domains d
          WHERE d.expires_at > ${from} AND d.expires_at <= ${until} AND ${isUnhandled}
            AND (d.expires_at, d.name) > (${cursor?.expiresAt ?? from}, ${cursor?.name ?? ''})
          ORDER BY d.expires_at, d.name LIMIT ${limit}`),
      ),

    filterUnhandledNames: async (names) =>
      nameRow.read(
        await run(Prisma.sql`
          SELECT ${nameRow.columns} FROM domains d
          WHERE d.name = ANY(${[...names]}) AND d.expires_at IS NOT NULL AND ${isUnhandled}
          ORDER BY d.expires_at, d.name`),
      ),

    find: (name) => findName(run, name),

    findMany: async (names) =>
      nameRow.read(
        await run(Prisma.sql`
          SELECT ${nameRow.columns} FROM domains d
          WHERE d.name = ANY(${[...names]}) AND d.expires_at IS NOT NULL ORDER BY d.expires_at, d.name`),
      ),

    listActs: (mandateId, since) =>
      queryActs(
        Prisma.sql`WHERE a.mandate_id = ${mandateId} AND a.at >= ${since} ORDER BY a.at DESC, a.name`,
      ),

    loadSpending: async (mandateId, from, until) => {
      const [sums] = z.array(z.object({ booked: z.string(), reserved: z.string() })).parse(
        await run(Prisma.sql`
            SELECT COALESCE(sum(r.amount_minor) FILTER (WHERE ${IS_BOOKED}), 0)::text AS booked,
              COALESCE(sum(r.amount_minor) FILTER (WHERE NOT ${IS_BOOKED} AND NOT ${IS_RELEASED}), 0)::text AS reserved
            FROM orders o JOIN budget_reservations r ON r.order_id = o.id
            JOIN order_items i ON i.order_id = r.order_id AND i.n = r.n
            WHERE o.mandate_id = ${mandateId} AND r.day >= ${from}::date AND r.day < ${until}::date`),
      );
      return { booked: BigInt(sums?.booked ?? 0), reserved: BigInt(sums?.reserved ?? 0) };
    },

    findMatchingNames: async (patterns) => {
      const rows = await run(Prisma.sql`
        SELECT name, tags, lapse_confirmed_at IS NOT NULL AS "isLapsing" FROM domains ORDER BY name`);
      const watchedNames = watchedNameRowsSchema.parse(rows);
      const tagsByName = new Map(watchedNames.map(({ name, tags }) => [name, tags ?? []]));
      const parsedPatterns = splitPatterns(patterns);
      return watchedNames.flatMap(({ name, isLapsing }) => {
        const affectedName = toAffectedName(name, 'host');
        const affectedTags = affectedName.hosts.flatMap((host) => tagsByName.get(host) ?? []);
        const isMatch = !isLapsing && matchPatterns(parsedPatterns, affectedName, affectedTags) === 'yes';
        return isMatch ? [name] : [];
      });
    },

    loadUsedAmounts: (mandateId, excludedOrderId) => readUsedAmounts(run, team, mandateId, excludedOrderId),

    findLatestAccountId: async (name) => {
      const item = await prisma.orderItem.findFirst({
        where: { name, state: 'SUCCEEDED', order: { task: { in: ['create', 'transfer', 'renew'] } } },
        orderBy: { answeredAt: { sort: 'desc', nulls: 'last' } },
        select: { order: { select: { accountId: true } } },
      });
      return item?.order.accountId;
    },

    async saveOrder(act, creation) {
      try {
        return await database.transaction((tx) => saveOrder(tx, team, act, creation));
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        const orderId = await findOpenOrderId(database, creation.order);
        return orderId === undefined ? { kind: 'taken' } : { kind: 'already_open', orderId };
      }
    },

    saveHold: (act, holdReason) =>
      database.transaction(async (tx): Promise<ActOutcome> => {
        if (!(await claimExpiry(tx, teamId, act))) return { kind: 'taken' };
        return { kind: 'saved', id: await insertAct(tx, teamId, act, { holdReason }) };
      }),

    holdOrder: (orderId, holdReason, at) =>
      database.transaction(async (tx) => {
        const [act] = readActs(
          await tx(Prisma.sql`
            UPDATE mandate_acts a SET held = ${holdReason}, order_id = NULL,
              ask_at = ${needsRegularOrder(holdReason) ? at : null}::timestamptz, day = (${at}::timestamptz AT TIME ZONE 'UTC')::date
            WHERE order_id = ${orderId} AND held IS NULL RETURNING ${actRow.columns}`),
        );
        if (act === undefined) return false;
        await recordHold(tx, teamId, { ...act, at }, holdReason, orderId);
        return true;
      }),

    listDueForRegularOrder: (now, limit) =>
      queryActs(
        Prisma.sql`WHERE a.team_id = ${teamId} AND a.ask_at <= ${now} ORDER BY a.ask_at, a.id LIMIT ${limit}`,
      ),

    delayRegularOrder: async (actId, at) => {
      await run(Prisma.sql`
        UPDATE mandate_acts SET ask_failures = ask_failures + 1, ask_at = ${at}::timestamptz
          + LEAST(${MAX_RETRY_DELAY_MS}, ${MIN_RETRY_DELAY_MS} * 2 ^ LEAST(ask_failures, 10)) * interval '1 ms'
        WHERE id = ${actId}`);
    },

    countDelayedOrders: () =>
      prisma.mandateAct.count({ where: { teamId, askAt: { not: null }, askFailures: { gt: 0 } } }),

    recordRegularOrder: async (actId, orderId, at) => {
      await database.transaction(async (tx) => {
        await tx(Prisma.sql`
          UPDATE mandate_acts SET ask_at = NULL, order_id = ${orderId ?? null} WHERE id = ${actId}`);
        await tx(requestDayMessageUpdate(teamId, actId, at));
      });
    },

    findByOrder: (orderId) => findActByOrder(run, orderId),

    listActsOfDay: (day) =>
      queryActs(Prisma.sql`WHERE a.team_id = ${teamId} AND a.day = ${day}::date ORDER BY a.name`),

    recordAnnouncement: async (actIds, at, { channelId, ts }) => {
      await database.transaction(async (tx) => {
        const announcedIds = idRowsSchema.parse(
          await tx(Prisma.sql`
            UPDATE mandate_acts SET announced_at = ${at} WHERE id = ANY(${[...actIds]}) AND announced_at IS NULL
              AND held IS NULL RETURNING order_id AS id`),
        );
        // The cards of these orders can now be posted.
        await tx(Prisma.sql`
          UPDATE orders SET channel_id = ${channelId}, thread_ts = ${ts} WHERE id = ANY(${announcedIds})`);
        await tx(Prisma.sql`
          UPDATE notifications SET version = version + 1, due_at = ${at}
          WHERE team_id = ${teamId} AND subject_kind = 'order' AND subject_id = ANY(${announcedIds}) AND purpose = 'plan'`);
      });
    },

    requestMessageUpdate: async (orderId, at) => {
      const act = await findActByOrder(run, orderId);
      if (act !== undefined) await run(requestDayMessageUpdate(teamId, act.id, at));
    },

    listInProgressOrderIds: async (mandateId) =>
      toIds(
        await prisma.order.findMany({
          ...ORDERS_IN_PROGRESS,
          where: { mandateId, ...ORDERS_IN_PROGRESS.where },
        }),
      ),
  } satisfies MandateStore);
}

async function saveOrder(
  run: RunStatement,
  team: TeamSigner,
  act: NewAct,
  creation: OrderCreation,
): Promise<ActOutcome> {
  const { teamId } = team;
  const { order, reservation } = creation;
  if (!(await claimExpiry(run, teamId, act))) return { kind: 'taken' };
  if (reservation === undefined) throw new Error('a mandate’s order has no reservation');
  if (reservation.hasBudget && !(await lockAndCheckBudgets(run, reservation)))
    return { kind: 'limit_exceeded' };
  const mandateOrder = await lockMandate(run, act.mandateId);
  const mandate = mandateOrder && readMandate(mandateOrder);
  if (mandate === undefined || !isActive(mandate, act.at)) return { kind: 'limit_exceeded' };
  const usedAmounts = await readUsedAmounts(run, team, mandate.id, undefined);
  if (findExceededLimit(mandate.terms, act.amount, reservation.day, usedAmounts) !== undefined)
    return { kind: 'limit_exceeded' };
  await insertOrder(run, creation);
  return { kind: 'saved', id: await insertAct(run, teamId, act, { orderId: order.id }) };
}

/**
 * Locks the team's acts until the transaction ends, and deletes the expiry's act if it can be replaced.
 * @returns false if a mandate has already acted for this expiry of the name
 */
async function claimExpiry(run: RunStatement, teamId: string, { name, expiresAt }: NewAct): Promise<boolean> {
  await run(Prisma.sql`SELECT pg_advisory_xact_lock(hashtextextended(${`mandates ${teamId}`}, 0))::text`);
  const isActForExpiry = Prisma.sql`a.team_id = ${teamId} AND a.name = ${name} AND ${isSameExpiry(Prisma.sql`${expiresAt}::timestamptz`)}`;
  await run(Prisma.sql`DELETE FROM mandate_acts a WHERE ${isActForExpiry} AND ${IS_REPLACEABLE}`);
  return (
    idRowsSchema.parse(await run(Prisma.sql`SELECT a.id FROM mandate_acts a WHERE ${isActForExpiry}`))
      .length === 0
  );
}

async function insertAct(
  run: RunStatement,
  teamId: string,
  act: NewAct,
  { holdReason, orderId }: { readonly holdReason?: HoldReason; readonly orderId?: string },
): Promise<string> {
  const id = randomUUID();
  const { name, expiresAt, mandateId, at, amount } = act;
  const { minor: amountMinor, currency } = amount ?? {};
  const askAt = holdReason !== undefined && needsRegularOrder(holdReason) ? at : undefined;
  const fields = { id, teamId, name, expiresAt, mandateId, at, day: getUtcDay(at), held: holdReason };
  await insertRows(run, 'mandate_acts', [{ ...fields, amountMinor, currency, orderId, askAt }]);
  if (holdReason === undefined) await run(requestDayMessageUpdate(teamId, id, at));
  else await recordHold(run, teamId, { ...act, id }, holdReason, undefined);
  return id;
}

async function recordHold(
  run: RunStatement,
  teamId: string,
  { id, name, mandateId, at }: NewAct & { readonly id: string },
  holdReason: HoldReason,
  orderId: string | undefined,
): Promise<void> {
  const eventFields = { kind: 'mandate_held', actor: 'system', at, mandate: mandateId, holdReason } as const;
  const event = { ...eventFields, subject: { kind: 'name', id: name } as const, orderId };
  const webhookData = {
    name,
    mandate: mandateId,
    code: holdReason,
    ...(orderId === undefined ? {} : { order_id: orderId }),
  };
  await insertEvents(run, [event], teamId);
  await queueWebhooks(run, [{ type: 'mandate.held', at, data: webhookData }], teamId);
  await run(requestDayMessageUpdate(teamId, id, at));
}

function requestDayMessageUpdate(teamId: string, actId: string, at: Date): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO notifications AS n (team_id, subject_kind, subject_id, purpose, version, due_at)
    SELECT ${teamId}, 'mandate_day', to_char(a.day, 'YYYY-MM-DD'), 'plan', 1, ${at} FROM mandate_acts a WHERE a.id = ${actId}
    ON CONFLICT (team_id, subject_kind, subject_id, purpose) DO UPDATE SET version = n.version + 1,
      due_at = CASE WHEN n.attempts > 0 THEN GREATEST(n.due_at, excluded.due_at) ELSE LEAST(n.due_at, excluded.due_at) END`;
}
