import { z } from 'zod';
import { DEMO_CONTEXT } from '../accounts/account.ts';
import { approvalSignature } from '../approvals/signing/approval.ts';
import { present } from '../lib/collections.ts';
import { storedMandateEnd } from '../mandates/codes.ts';
import { storedMissingAmount } from '../money/budget.ts';
import { bulkInput } from '../orders/bulk/bulk.ts';
import { storedBulk } from '../orders/bulk/stored-bulk.ts';
import type { EarlierItem } from '../orders/earlier.ts';
import {
  ORDER_STATES,
  ORDER_TASK_NAMES,
  type Order,
  storedItemResult,
  storedOwnership,
} from '../orders/order.ts';
import type { OrderFilter } from '../orders/ports.ts';
import { storedRequirements } from '../policy/stored-requirements.ts';
import { optional, optionalText } from './columns.ts';
import { Prisma, type Statement } from './database.ts';

/*
 * Reading orders: SQL and its rows, which are checked like all external data. The schemas that every order needs are
 * compiled, because they run often.
 */

/** A timestamp, as a column (`Date`) or within an aggregate (ISO 8601). */
const moment = z.coerce.date();
const optionalMoment = optional(moment);
const optionalNumber = optional(z.number());

const item = z.object({
  n: z.number(),
  name: z.string(),
  ctid: z.string(),
  input: z
    .unknown()
    .transform((input) => input ?? undefined)
    .optional(),
  secretHash: optionalText,
  state: z.enum(['WAITING', 'SENT', 'SUCCEEDED', 'FAILED', 'UNKNOWN']),
  attempts: z.number(),
  notBefore: optionalMoment,
  sentAt: optionalMoment,
  answeredAt: optionalMoment,
  result: optional(storedItemResult),
  isFollowed: z.boolean(),
});

const task = z.enum(ORDER_TASK_NAMES);
const state = z.enum(ORDER_STATES);

/** Columns of {@link ORDER_COLUMNS}. */
export const orderColumns = z.object({
  id: z.string(),
  task,
  state,
  version: z.number(),
  requester_id: z.string(),
  account_id: z.string(),
  account_login: z.string(),
  account_method: z.string(),
  uses_team_account: z.boolean(),
  context: optionalNumber,
  input: z.unknown(),
  bulk: optional(storedBulk),
  statement_hash: z.string(),
  secret_hash: optionalText,
  reason: optionalText,
  ownership: optional(storedOwnership),
  channel_id: z.string(),
  thread_ts: optionalText,
  approvals_required: z.number(),
  policy_version: z.number(),
  demand: storedRequirements,
  retry_of: optionalText,
  earlier_requesters: z.array(z.string()),
  mandate_id: optionalText,
  send_after: optionalMoment,
  approval_round: z.number(),
  mandate_end: optional(storedMandateEnd),
  delivery_id: z.string(),
  expires_at: optionalMoment,
  remind_at: optionalMoment,
  escalate_at: optionalMoment,
  is_private: z.boolean(),
  shown_excess: z.array(storedMissingAmount),
  emergency_approved_by: optionalText,
  signed_off_by: optionalText,
  worker_id: z.string().nullable(),
  created_at: moment,
  closed_at: optionalMoment,
  items: z.array(item),
  approvals: z.array(
    z.object({
      userId: z.string(),
      at: moment,
      agreedExcess: z.array(storedMissingAmount),
      // An unreadable signature doesn't count.
      signed: optional(approvalSignature).catch(undefined),
    }),
  ),
});

export function orderOf(row: z.output<typeof orderColumns>): Order {
  return {
    id: row.id,
    task: row.task,
    state: row.state,
    version: row.version,
    requesterId: row.requester_id,
    account: {
      id: row.account_id,
      login: row.account_login,
      method: row.account_method,
      context: row.context,
      ...(row.uses_team_account ? { isTeamAccount: true } : {}),
    },
    items: row.items,
    input: row.bulk === undefined ? row.input : bulkInput(row.items),
    bulk: row.bulk,
    statementHash: row.statement_hash,
    secretHash: row.secret_hash,
    reason: row.reason,
    ownership: row.ownership,
    channelId: row.channel_id,
    threadTs: row.thread_ts,
    approvals: row.approvals,
    approvalsRequired: row.approvals_required,
    policyVersion: row.policy_version,
    demand: row.demand,
    expiresAt: row.expires_at,
    remindAt: row.remind_at,
    escalateAt: row.escalate_at,
    isPrivate: row.is_private,
    shownExcess: row.shown_excess,
    emergencyApprovedBy: row.emergency_approved_by,
    signedOffBy: row.signed_off_by,
    claim: row.worker_id === null ? undefined : { workerId: row.worker_id },
    retryOf: row.retry_of,
    earlierRequesters: row.earlier_requesters,
    sendAfter: row.send_after,
    approvalRound: row.approval_round === 0 ? undefined : row.approval_round,
    mandated: row.mandate_id === undefined ? undefined : { id: row.mandate_id },
    mandateEnd: row.mandate_end,
    deliveryId: row.delivery_id,
    createdAt: row.created_at,
    closedAt: row.closed_at,
  };
}

/** Rows that name orders. */
export const idRows = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

/** Rows of {@link selectOrders}. */
export const orderRows = z.compile(z.array(orderColumns.transform(orderOf)));

/** Of orders `o`, with their items and approvals. */
export const ORDER_COLUMNS = Prisma.sql`
  o.id, o.task, o.state, o.version, o.requester_id, o.account_id, o.account_login, o.account_method,
  o.uses_team_account, o.context, o.input, o.bulk, o.statement_hash, o.secret_hash, o.reason, o.ownership, o.channel_id, o.thread_ts,
  o.approvals_required, o.policy_version,
  o.demand, o.retry_of,
  o.earlier_requesters,
  o.mandate_id, o.send_after, o.approval_round, o.mandate_end, o.delivery_id, o.expires_at, o.remind_at, o.escalate_at, o.is_private, o.shown_excess,
  o.emergency_approved_by, o.signed_off_by, o.worker_id, o.created_at, o.closed_at,
  (
    SELECT json_agg(json_build_object(
      'n', i.n, 'name', i.name, 'ctid', i.client_tid, 'input', i.input, 'secretHash', i.secret_hash, 'state', i.state, 'attempts', i.attempts,
      'notBefore', i.not_before, 'sentAt', i.sent_at, 'answeredAt', i.answered_at, 'result', i.result,
      'isFollowed', i.followed_at IS NOT NULL
    ) ORDER BY i.n) FROM order_items i WHERE i.order_id = o.id
  ) AS items,
  (
    SELECT coalesce(
      json_agg(
        json_build_object('userId', a.user_id, 'at', a.at, 'agreedExcess', a.agreed_excess, 'signed', a.signature) ORDER BY a.at, a.user_id
      ), '[]'
    ) FROM approvals a WHERE a.order_id = o.id
  ) AS approvals`;

/**
 * Orders with their items and approvals, in one round trip.
 * @param rest the SQL after `FROM orders o`
 */
export function selectOrders(rest: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`SELECT ${ORDER_COLUMNS} FROM orders o ${rest}`;
}

/** Unordered. */
export function selectById(ids: readonly string[]): Statement {
  return Prisma.sql`SELECT ${ORDER_COLUMNS} FROM orders o WHERE o.id = ANY(${[...ids]})`;
}

/** Rows of {@link selectEarlierItems}. */
export const earlierItemRows = z.array(
  z
    .object({
      order_id: z.string(),
      name: z.string(),
      state: item.shape.state,
      late: z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']).nullable(),
    })
    .transform(
      ({ order_id, late, ...rest }): EarlierItem => ({
        orderId: order_id,
        late: late ?? undefined,
        ...rest,
      }),
    ),
);

export function selectEarlierItems(orderIds: readonly string[], names: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    SELECT order_id, name, state, result->>'late' AS late FROM order_items
    WHERE order_id = ANY(${orderIds}) AND name = ANY(${names}) ORDER BY order_id, n`;
}

/** The SQL after `FROM orders o` for a filter, newest first; drafts only if the filter names them. */
export function whereFilter({
  states,
  tasks,
  requesterId,
  viewer,
  name,
  isLive,
  isReviewOpen,
  limit,
}: OrderFilter): Prisma.Sql {
  const conditions = present([
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

/** Ids of orders that are approved and haven't ended, oldest change first. */
export function selectUnsent(): Prisma.Sql {
  return Prisma.sql`SELECT id FROM orders WHERE state IN ('APPROVED', 'EXECUTING') ORDER BY updated_at`;
}
