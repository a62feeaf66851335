import { z } from 'zod';
import type { Sealed } from '../accounts/vault.ts';
import {
  type ItemResult,
  type LogEntry,
  ORDER_STATES,
  ORDER_TASK_NAMES,
  type Order,
  type OrderItem,
} from '../orders/order.ts';
import type { HistoryEntry } from '../orders/ports.ts';
import type { Prisma } from './database.ts';

/*
 * Rows in and out. What comes from a JSON column is checked like everything else that comes from outside.
 */

const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);

const itemResult = z.object({
  summary: z.string(),
  code: z.string().optional(),
  text: z.string().optional(),
  stid: z.string().optional(),
  httpStatus: z.number().optional(),
  messages: z.array(z.object({ code: z.string().optional(), text: z.string().optional() })).optional(),
  errorKind: z.string().optional(),
  hasSecret: z.boolean().optional(),
  settledBy: z.string().optional(),
});

const item = z.object({
  n: z.number(),
  name: z.string(),
  ctid: z.string(),
  state: z.enum(['WAITING', 'SENT', 'SUCCEEDED', 'FAILED', 'UNKNOWN']),
  attempts: z.number(),
  notBefore: optional(z.date()),
  sentAt: optional(z.date()),
  answeredAt: optional(z.date()),
  result: optional(itemResult),
});

const task = z.enum(ORDER_TASK_NAMES);
const state = z.enum(ORDER_STATES);
const kind = z.enum([
  'requested',
  'confirmed',
  'approved',
  'denied',
  'cancelled',
  'ran_out',
  'nudged',
  'claimed',
  'sending',
  'held_back',
  'answered',
  'stopped',
  'released',
  'settled',
  'finished',
]) satisfies z.ZodType<LogEntry['kind']>;

/** What is read with every order. */
export const ORDER_PARTS = {
  items: { orderBy: { n: 'asc' } },
  approvals: { orderBy: { at: 'asc' } },
} as const satisfies Prisma.OrderInclude;

export type OrderRow = Prisma.OrderGetPayload<{ include: typeof ORDER_PARTS }>;

/** An order out of its rows. */
export function orderFromRow(row: OrderRow): Order {
  return {
    id: row.id,
    task: task.parse(row.task),
    state: state.parse(row.state),
    version: row.version,
    requesterId: row.requesterId,
    account: {
      id: row.accountId,
      login: row.accountLogin,
      method: row.accountMethod,
      context: row.context ?? undefined,
    },
    items: row.items.map((each) => withoutUndefinedResult(item.parse(each))),
    input: row.input,
    hasSecretInput: row.hasSecretInput,
    reason: row.reason ?? undefined,
    channelId: row.channelId,
    threadTs: row.threadTs ?? undefined,
    approvals: row.approvals.map(({ userId, at }) => ({ userId, at })),
    approvalsRequired: row.approvalsRequired,
    expiresAt: row.expiresAt ?? undefined,
    nudgeAt: row.nudgeAt ?? undefined,
    claim:
      row.workerId === null || row.leaseUntil === null
        ? undefined
        : { workerId: row.workerId, leaseUntil: row.leaseUntil },
    retryOf: row.retryOf ?? undefined,
    deliveryId: row.deliveryId,
    createdAt: row.createdAt,
    closedAt: row.closedAt ?? undefined,
  };
}

/** Optional members that are absent are left out, not set to undefined. */
function withoutUndefinedResult(parsed: z.output<typeof item>): OrderItem {
  const { result, ...rest } = parsed;
  return { ...rest, result: result === undefined ? undefined : compact(result) };
}

function compact(result: z.output<typeof itemResult>): ItemResult {
  const { messages, ...rest } = result;
  return {
    ...definedOnly(rest),
    summary: result.summary,
    ...(messages === undefined ? {} : { messages: messages.map(definedOnly) }),
  };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function definedOnly<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>;
}

/** The columns of an order that a change may touch. */
export function changedColumns(before: Order, after: Order, now: Date): Prisma.OrderUpdateManyMutationInput {
  return {
    state: after.state,
    version: after.version,
    expiresAt: after.expiresAt ?? null,
    nudgeAt: after.nudgeAt ?? null,
    closedAt: after.closedAt ?? null,
    updatedAt: now,
    // The heartbeat moves the lease without a new version: it is written only when the claim itself changed.
    ...(before.claim === after.claim
      ? {}
      : { workerId: after.claim?.workerId ?? null, leaseUntil: after.claim?.leaseUntil ?? null }),
  };
}

/** What is unknown to Prisma about JSON: a value that came out of `JSON.parse` or goes into `JSON.stringify`. */
export function toJson(value: unknown): Prisma.InputJsonValue {
  return JSON.parse(JSON.stringify(value ?? null));
}

export function historyFromRow(row: {
  readonly orderId: string;
  readonly version: number;
  readonly at: Date;
  readonly actor: string;
  readonly kind: string;
  readonly state: string;
  readonly detail: unknown;
}): HistoryEntry {
  return {
    orderId: row.orderId,
    version: row.version,
    at: row.at,
    actor: row.actor,
    kind: kind.parse(row.kind),
    state: state.parse(row.state),
    detail: z.record(z.string(), z.unknown()).parse(row.detail),
  };
}

/** The sealed secret in two columns, or undefined when it was wiped or never was. */
export function sealedFrom(bytes: Uint8Array | null, keyId: string | null): Sealed | undefined {
  return bytes === null || keyId === null ? undefined : { bytes: Uint8Array.from(bytes), keyId };
}
