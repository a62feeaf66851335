import { z } from 'zod';
import { DEMO_CONTEXT } from '../accounts/account.ts';
import { approvalSignatureSchema } from '../approvals/signing/approval.ts';
import { dropMissing } from '../lib/collections.ts';
import { storedMandateEndSchema } from '../mandates/codes.ts';
import { budgetOverrunSchema } from '../money/budget.ts';
import { buildBulkInput } from '../orders/bulk/bulk.ts';
import { storedBulkSchema } from '../orders/bulk/stored-bulk.ts';
import type { EarlierItem } from '../orders/earlier.ts';
import {
  ORDER_STATES,
  ORDER_TASK_NAMES,
  type Order,
  storedItemResultSchema,
  storedOwnershipSchema,
} from '../orders/order.ts';
import type { OrderFilter } from '../orders/ports.ts';
import { storedRequirementsSchema } from '../policy/stored-requirements.ts';
import { defineRow, optional, optionalText } from './columns.ts';
import { Prisma, type Statement } from './database.ts';

/*
 * The SQL that reads orders. Rows are validated, like all external data. The order schema is compiled for speed.
 */

/** Columns return a `Date`, JSON aggregates an ISO 8601 string. */
const timestampSchema = z.coerce.date();
const optionalTimestamp = optional(timestampSchema);

/** The columns of an item that change after the order was requested. */
export const itemProgressRow = defineRow(
  z.object({
    state: z.enum(['WAITING', 'SENT', 'SUCCEEDED', 'FAILED', 'UNKNOWN']),
    attempts: z.number(),
    notBefore: optionalTimestamp,
    sentAt: optionalTimestamp,
    answeredAt: optionalTimestamp,
    result: optional(storedItemResultSchema),
  }),
);

export const itemRow = defineRow(
  itemProgressRow.schema.extend({
    n: z.number(),
    name: z.string(),
    ctid: z.string(),
    input: z
      .unknown()
      .transform((input): unknown => input ?? undefined)
      .optional(),
    secretHash: optionalText,
    isWatchListUpdated: z.boolean(),
  }),
  'i.',
  { ctid: Prisma.sql`i.client_tid`, isWatchListUpdated: Prisma.sql`i.followed_at IS NOT NULL` },
);

export const approvalRow = defineRow(
  z.object({
    userId: z.string(),
    at: timestampSchema,
    agreedExcess: z.array(budgetOverrunSchema),
    // An unreadable signature is treated as missing.
    signed: optional(approvalSignatureSchema).catch(undefined),
  }),
  'a.',
  { signed: Prisma.sql`a.signature` },
);

/** Columns of orders (alias `o`), with their items and approvals. */
export const orderRow = defineRow(
  z.compile(
    z.object({
      id: z.string(),
      task: z.enum(ORDER_TASK_NAMES),
      state: z.enum(ORDER_STATES),
      version: z.number(),
      requesterId: z.string(),
      accountId: z.string(),
      accountLogin: z.string(),
      accountMethod: z.string(),
      usesTeamAccount: z.boolean(),
      context: optional(z.number()),
      input: z.unknown(),
      bulk: optional(storedBulkSchema),
      statementHash: z.string(),
      secretHash: optionalText,
      reason: optionalText,
      ownership: optional(storedOwnershipSchema),
      channelId: z.string(),
      threadTs: optionalText,
      approvalsRequired: z.number(),
      policyVersion: z.number(),
      requirements: storedRequirementsSchema,
      retryOf: optionalText,
      earlierRequesters: z.array(z.string()),
      mandateId: optionalText,
      sendAfter: optionalTimestamp,
      approvalRound: z.number(),
      mandateEnd: optional(storedMandateEndSchema),
      deliveryId: z.string(),
      expiresAt: optionalTimestamp,
      remindAt: optionalTimestamp,
      escalateAt: optionalTimestamp,
      isPrivate: z.boolean(),
      shownExcess: z.array(budgetOverrunSchema),
      emergencyApprovedBy: optionalText,
      signedOffBy: optionalText,
      workerId: optionalText,
      createdAt: timestampSchema,
      closedAt: optionalTimestamp,
      items: z.array(itemRow.schema),
      approvals: z.array(approvalRow.schema),
    }),
  ),
  'o.',
  {
    items: Prisma.sql`(
      SELECT json_agg(${itemRow.json} ORDER BY i.n) FROM order_items i WHERE i.order_id = o.id)`,
    approvals: Prisma.sql`(
      SELECT coalesce(json_agg(${approvalRow.json} ORDER BY a.at, a.user_id), '[]')
      FROM approvals a WHERE a.order_id = o.id)`,
  },
);

export function toOrder(row: z.output<typeof orderRow.schema>): Order {
  const { accountId, accountLogin, accountMethod, usesTeamAccount, context, ...fields } = row;
  const { workerId, mandateId, ...order } = fields;
  return {
    ...order,
    account: {
      ...{ id: accountId, login: accountLogin, method: accountMethod, context },
      ...(usesTeamAccount ? { isTeamAccount: true } : {}),
    },
    input: row.bulk === undefined ? row.input : buildBulkInput(row.items),
    claim: workerId === undefined ? undefined : { workerId },
    mandate: mandateId === undefined ? undefined : { id: mandateId },
  };
}

export function toOrderRow({ account, claim, mandate, ...order }: Order) {
  const { id: accountId, login: accountLogin, method: accountMethod, context, isTeamAccount } = account;
  return orderRow.toStoredFields({
    ...order,
    ...{ accountId, accountLogin, accountMethod, context, usesTeamAccount: isTeamAccount === true },
    ...{ workerId: claim?.workerId, mandateId: mandate?.id },
  });
}

export function readOrders(rows: unknown): Order[] {
  return orderRow.read(rows).map(toOrder);
}

export const idRowsSchema = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

/**
 * Selects orders with their items and approvals in one round trip.
 * @param clauses the SQL after `FROM orders o`
 */
export function selectOrders(clauses: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`SELECT ${orderRow.columns} FROM orders o ${clauses}`;
}

/** Returns the rows in any order. */
export function selectOrdersById(ids: readonly string[]): Statement {
  return Prisma.sql`SELECT ${orderRow.columns} FROM orders o WHERE o.id = ANY(${[...ids]})`;
}

const earlierItemRow = defineRow(
  itemRow.schema.pick({ name: true, state: true }).extend({
    orderId: z.string(),
    lateOutcome: optional(z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN'])),
  }),
  '',
  { lateOutcome: Prisma.sql`result->>'lateOutcome'` },
);

export const readEarlierItems: (rows: unknown) => EarlierItem[] = earlierItemRow.read;

export function selectEarlierItems(orderIds: readonly string[], names: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    SELECT ${earlierItemRow.columns} FROM order_items
    WHERE order_id = ANY(${orderIds}) AND name = ANY(${names}) ORDER BY order_id, n`;
}

/** Builds the SQL after `FROM orders o`, newest order first. Omits drafts unless `states` includes `DRAFT`. */
export function buildFilterClauses({
  states,
  tasks,
  requesterId,
  viewer,
  name,
  isLive,
  isReviewOpen,
  limit,
}: OrderFilter): Prisma.Sql {
  const conditions = dropMissing([
    states === undefined ? Prisma.sql`o.state <> 'DRAFT'` : Prisma.sql`o.state = ANY(${[...states]})`,
    tasks !== undefined && Prisma.sql`o.task = ANY(${[...tasks]})`,
    requesterId !== undefined && Prisma.sql`o.requester_id = ${requesterId}`,
    viewer !== 'system' &&
      Prisma.sql`(NOT o.is_private OR o.requester_id = ${viewer.id} OR ${viewer.id} = ANY(o.earlier_requesters))`,
    name !== undefined && Prisma.sql`o.id IN (SELECT order_id FROM order_items WHERE name = ${name})`,
    isLive !== undefined && Prisma.sql`o.context IS DISTINCT FROM ${DEMO_CONTEXT}`,
    isReviewOpen !== undefined && Prisma.sql`o.emergency_approved_by IS NOT NULL AND o.signed_off_by IS NULL`,
  ]);
  return Prisma.sql`
    WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY o.created_at DESC, o.id DESC LIMIT ${limit}`;
}
