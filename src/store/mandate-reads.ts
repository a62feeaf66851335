import { z } from 'zod';
import type { BotSigner } from '../approvals/charter.ts';
import type { UsedAmounts } from '../mandates/acting.ts';
import { holdReasonSchema } from '../mandates/codes.ts';
import type { MandateAct, MandateName } from '../mandates/ports.ts';
import {
  createBotSignatureCheck,
  findLoggedOutcome,
  MANDATE_ENDING_EVENT_KINDS,
} from '../orders/log-limits.ts';
import type { Order } from '../orders/order.ts';
import { findAffectedTags, toAffectedName } from '../policy/subject.ts';
import { defineRow, optional, optionalText } from './columns.ts';
import { Prisma, type RunStatement } from './database.ts';
import { orderHistoriesSchema, selectSendLimitingEvents } from './events.ts';
import { idRowsSchema, readOrders, selectOrders } from './order-rows.ts';
import { IS_RELEASED } from './reservations.ts';

/* Queries about mandates. The transaction that marks a mandate's order as sent also uses them. */

/** Columns of names (alias `d`) that have an expiry date. */
export const nameRow = defineRow(
  z.object({
    name: z.string(),
    expiresAt: z.date(),
    isDateCertain: z.boolean(),
    lastLookupAt: optional(z.date()),
    owner: optionalText,
    isLapsing: z.boolean(),
    deletedAt: optional(z.date()),
  }),
  'd.',
  {
    isDateCertain: Prisma.sql`d.expiry_source = 'rdap' AND d.doubt IS NULL`,
    owner: Prisma.sql`d.owner_id`,
    isLapsing: Prisma.sql`d.lapse_confirmed_at IS NOT NULL`,
  },
) satisfies { read(rows: unknown): MandateName[] };

/** Columns of mandate acts (alias `a`). */
export const actRow = defineRow(
  z.object({
    id: z.string(),
    name: z.string(),
    expiresAt: z.date(),
    mandateId: z.string(),
    at: z.date(),
    amountMinor: optional(z.string().transform(Number)),
    currency: optionalText,
    held: optional(holdReasonSchema),
    orderId: optionalText,
    announcedAt: optional(z.date()),
  }),
  'a.',
);

export function readActs(rows: unknown): MandateAct[] {
  return actRow.read(rows).map(({ amountMinor: minor, currency, ...act }) => ({
    ...act,
    amount: minor === undefined || currency === undefined ? undefined : { currency, minor },
  }));
}

const usedAmountRowsSchema = z.array(
  z.object({ day: z.string(), minor: z.string(), isOwn: z.boolean(), count: z.number() }),
);

const buildMandateRequestsClause = (teamId: string) =>
  Prisma.sql`events e WHERE e.team_id = ${teamId} AND e.kind = 'sending' AND e.data ? 'mandate'`;

export interface TeamSigner {
  readonly teamId: string;
  readonly botSigner: BotSigner | undefined;
}

/** Returns the ids of mandates' orders that weren't carried out, according to events that the bot signed. */
async function listUnexecutedOrderIds(
  run: RunStatement,
  { teamId, botSigner }: TeamSigner,
): Promise<readonly string[]> {
  // Few orders have a scheduled retry or a failure, so few histories are read.
  const ids = idRowsSchema.parse(
    await run(Prisma.sql`
      SELECT DISTINCT e.subject_id AS id FROM ${buildMandateRequestsClause(teamId)} AND EXISTS (
        SELECT FROM events l WHERE l.subject_kind = 'order' AND l.subject_id = e.subject_id
          AND (l.kind = 'retry_scheduled' OR l.data->>'outcome' = 'FAILED'))`),
  );
  if (ids.length === 0) return [];
  const rows = await run(selectSendLimitingEvents(ids.map((id) => ({ id, n: 1 }))));
  return orderHistoriesSchema
    .parse(rows)
    .flatMap(([id, history]) =>
      findLoggedOutcome(history, createBotSignatureCheck(botSigner)(id)) === undefined ? id : [],
    );
}

/**
 * Reads the amounts that mandates have spent according to the log, and reserved according to the rows. A forged event
 * can't lower the total, because the highest amount logged for an order and day counts.
 */
export async function readUsedAmounts(
  run: RunStatement,
  team: TeamSigner,
  mandateId: string,
  excludedOrderId: string | undefined,
): Promise<UsedAmounts> {
  const { teamId } = team;
  const unexecutedOrderIds = await listUnexecutedOrderIds(run, team);
  const rows = usedAmountRowsSchema.parse(
    await run(Prisma.sql`
      WITH sent AS (
        SELECT e.subject_id AS id, (e.at AT TIME ZONE 'UTC')::date AS day,
          e.data->>'mandate' AS mandate, max((e.data->'amount'->>'minor')::bigint) AS minor
        FROM ${buildMandateRequestsClause(teamId)} AND e.subject_id <> ALL(${[...unexecutedOrderIds]}) GROUP BY 1, 2, 3
      ), taken AS (
        SELECT id, day, mandate, minor FROM sent
        UNION ALL
        SELECT o.id, r.day, o.mandate_id, r.amount_minor
        FROM orders o JOIN budget_reservations r ON r.order_id = o.id
        JOIN order_items i ON i.order_id = r.order_id AND i.n = r.n
        WHERE o.mandate_id IS NOT NULL AND o.team_id = ${teamId} AND NOT ${IS_RELEASED}
          AND o.id NOT IN (SELECT id FROM sent)
      )
      SELECT to_char(day, 'YYYY-MM-DD') AS day, mandate = ${mandateId} AS "isOwn",
        COALESCE(sum(minor), 0)::text AS minor, count(*)::int AS count
      FROM taken WHERE id <> ${excludedOrderId ?? ''} GROUP BY 1, 2`),
  );
  return {
    amountsByDay: rows.filter(({ isOwn }) => isOwn).map(({ day, minor }) => ({ day, minor: BigInt(minor) })),
    countOrdersOn: (day) => rows.reduce((sum, row) => (row.day === day ? sum + row.count : sum), 0),
  };
}

/**
 * Locks a mandate's order until the transaction ends. Other transactions that use the mandate wait.
 * @returns undefined unless the mandate is in force according to the log
 */
export async function lockMandate(run: RunStatement, id: string): Promise<Order | undefined> {
  await run(Prisma.sql`SELECT id FROM orders WHERE id = ${id} FOR NO KEY UPDATE`);
  const kinds = kindRowsSchema.parse(
    await run(Prisma.sql`
      SELECT DISTINCT kind FROM events WHERE subject_kind = 'order' AND subject_id = ${id}
        AND kind = ANY(${['in_force', ...MANDATE_ENDING_EVENT_KINDS]})`),
  );
  if (kinds.join() !== 'in_force') return undefined;
  return readOrders(await run(selectOrders(Prisma.sql`WHERE o.id = ${id}`)))[0];
}

const kindRowsSchema = z.array(z.object({ kind: z.string() }).transform(({ kind }) => kind));

export async function findName(run: RunStatement, name: string): Promise<MandateName | undefined> {
  const rows = await run(Prisma.sql`
    SELECT ${nameRow.columns} FROM domains d WHERE d.name = ${name} AND d.expires_at IS NOT NULL`);
  return nameRow.read(rows)[0];
}

export async function findActByOrder(run: RunStatement, orderId: string): Promise<MandateAct | undefined> {
  return readActs(
    await run(Prisma.sql`SELECT ${actRow.columns} FROM mandate_acts a WHERE a.order_id = ${orderId}`),
  )[0];
}

const tagRowsSchema = z.array(z.object({ name: z.string(), tags: z.array(z.string()).nullable() }));

/** Reads the tags that a change to a name affects: the name's own and those of its parent domains. */
export async function readAffectedTags(run: RunStatement, name: string): Promise<readonly string[]> {
  const affectedName = toAffectedName(name, 'host');
  const hosts = [...affectedName.hosts];
  const rows = tagRowsSchema.parse(
    await run(Prisma.sql`SELECT name, tags FROM domains WHERE name = ANY(${hosts})`),
  );
  const tagsByHost = new Map(rows.map((row) => [row.name, row.tags ?? []]));
  return (
    findAffectedTags(affectedName, new Map(hosts.map((host) => [host, tagsByHost.get(host) ?? []]))) ?? []
  );
}
