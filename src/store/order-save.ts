import { z } from 'zod';
import type { SealedSecret } from '../accounts/vault.ts';
import type { Reservation } from '../money/budget.ts';
import { computeDueTime, computeNotificationTime } from '../orders/due.ts';
import { isOpen, type Order, type OrderItem, type OrderState } from '../orders/order.ts';
import type { OrderCommit, OrderCreation } from '../orders/ports.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import {
  assignColumns,
  buildRecordset,
  copyColumns,
  formatBytea,
  insertRows,
  upsertRows,
} from './columns.ts';
import { Prisma, type RunStatement, type Statement } from './database.ts';
import { insertEvents, publishDraftEvents, toDraftEvents, toOrderEvents } from './events.ts';
import { buildLeaseEnd } from './leases.ts';
import { insertPlans } from './notifications.ts';
import { approvalRow, itemProgressRow, itemRow, toOrderRow } from './order-rows.ts';
import { WAL_POSITION_SQL } from './session-settings.ts';
import { queueWebhooks } from './webhooks.ts';

/* Saves orders in the caller's transaction: first the order's row, then everything that belongs to the change. */

/** The states in which the encrypted input may still be sent. It is deleted in all other states. */
const STATES_WITH_INPUT: ReadonlySet<OrderState> = new Set(['DRAFT', 'PENDING', 'APPROVED', 'EXECUTING']);

/**
 * The key that an item holds while its order is open. The key is unique, so that there is one open order per task and
 * name.
 */
export function formatOpenKey(task: string, name: string): string {
  return `${task}:${name}`;
}

/**
 * Inserts a new order, or one that the database has lost. Violates a unique key if another order has the same delivery
 * id, or is open for one of the names.
 */
export async function insertOrder(run: RunStatement, creation: OrderCreation): Promise<void> {
  const { order, log, reservation, sealedInput } = creation;
  const changedAt = log.at(-1)?.at ?? order.createdAt;
  const events = toOrderEvents(order.id, log);
  const isDraft = order.state === 'DRAFT';
  const fields = {
    ...toOrderRow(order),
    ...toSealedColumns(sealedInput),
    names: order.items.map(({ name }) => name),
    draftEvents: isDraft ? toDraftEvents(events) : undefined,
    updatedAt: order.createdAt,
    dueAt: computeDueTime(order, changedAt),
  };
  await insertRows(run, 'orders', [fields]);
  await insertItems(run, creation);
  // An abandoned draft leaves nothing in the log.
  if (!isDraft) await insertEvents(run, events);
  await run(
    insertPlans(Prisma.sql`
      SELECT team_id, 'order' AS subject_kind, id AS subject_id, ${computeNotificationTime(order, changedAt) ?? null}::timestamptz AS due_at
      FROM orders WHERE id = ${order.id}`),
  );
  await saveApprovals(run, toApprovalRows(order.id, order.approvals));
  await saveReservations(run, toReservationRows(order.id, reservation));
  if (order.state === 'UNKNOWN')
    await queueWebhooks(run, [buildUnknownWebhook({ after: order, at: changedAt })]);
}

/**
 * Saves changes of different orders, each by compare-and-swap.
 * @returns the ids of the saved orders, and the WAL position before the commit
 * @throws if a change has no entry in the audit log
 */
export async function updateOrders(run: RunStatement, commits: readonly OrderCommit[]): Promise<SavedOrders> {
  // Sorted, so that replicas rarely wait for each other's locks.
  const changes = commits.map(toOrderChange).toSorted((a, b) => (a.after.id < b.after.id ? -1 : 1));
  // Statements without an `await` between them share a round trip. The server runs them in order.
  const results = await Promise.all(changes.map((change) => run(compareAndSwapOrder(change))));
  const savedChanges = changes.flatMap((change, index): readonly SavedChange[] =>
    savedRowsSchema.parse(results[index]).map((row) => ({ ...change, ...row })),
  );
  if (savedChanges.length === 0) return { ids: new Set(), walPosition: undefined };

  for (const { before } of savedChanges)
    if (before.state === 'DRAFT') await publishDraftEvents(run, before.id);
  await Promise.all([
    insertEvents(
      run,
      savedChanges.flatMap(({ after, log }) => toOrderEvents(after.id, log)),
    ),
    markOrderPlansOutdated(run, savedChanges),
    updateItems(run, savedChanges),
    dropApprovalsAndReservations(run, savedChanges),
    saveApprovals(run, savedChanges.flatMap(listNewApprovals)),
    saveReservations(run, savedChanges.flatMap(listNewReservations)),
    insertRows(run, 'order_answers', savedChanges.flatMap(listNewAnswers)),
    upsertRows(run, 'revealable_secrets', ['orderId', 'n'], savedChanges.flatMap(listNewSecrets)),
    queueWebhooks(run, savedChanges.filter(isNewlyUnknown).map(buildUnknownWebhook)),
  ]);
  return { ids: new Set(savedChanges.map(({ after }) => after.id)), walPosition: savedChanges[0]?.position };
}

export interface SavedOrders {
  readonly ids: ReadonlySet<string>;
  readonly walPosition: number | undefined;
}

type OrderChange = OrderCommit & { readonly at: Date };
type SavedChange = OrderChange & z.output<typeof savedRowSchema>;

function toOrderChange(commit: OrderCommit): OrderChange {
  const at = commit.log.at(-1)?.at;
  if (at === undefined) throw new Error('the change has no entry in the audit log');
  return { ...commit, at };
}

const savedRowSchema = z.object({ teamId: z.string(), position: z.number() });
const savedRowsSchema = z.array(savedRowSchema);

/** Writes the columns that changed. A change by the order's worker extends its lease; other changes end the lease. */
function compareAndSwapOrder({ before, after, leaseMs, at }: OrderChange): Statement {
  const previousRow = toOrderRow(before);
  const changedEntries = Object.entries(toOrderRow(after)).filter(
    ([field, value]) => value !== previousRow[field],
  );
  const fields = {
    ...Object.fromEntries(changedEntries),
    ...{ updatedAt: at, dueAt: computeDueTime(after, at), failedAttempts: 0 },
    ...(!STATES_WITH_INPUT.has(after.state) && toSealedColumns(undefined)),
    ...(after.claim === undefined
      ? { leaseUntil: null }
      : leaseMs !== undefined && { leaseUntil: buildLeaseEnd(leaseMs) }),
  };
  return Prisma.sql`
    UPDATE orders SET ${assignColumns(fields)}
    WHERE id = ${before.id} AND version = ${before.version} AND state = ${before.state}
      AND worker_id IS NOT DISTINCT FROM ${before.claim?.workerId ?? null}
    RETURNING team_id AS "teamId", ${Prisma.raw(WAL_POSITION_SQL)} AS position`;
}

/**
 * Notifications are due from the first change that they don't show yet. During a Slack outage, changes don't
 * make the next retry earlier.
 */
async function markOrderPlansOutdated(
  run: RunStatement,
  savedChanges: readonly SavedChange[],
): Promise<void> {
  const plans = savedChanges.map(({ teamId, after, at }) => ({
    teamId,
    subjectId: after.id,
    dueAt: computeNotificationTime(after, at),
  }));
  await run(Prisma.sql`
    UPDATE notifications n SET version = n.version + 1, is_background = false,
      due_at = CASE WHEN n.attempts > 0 THEN GREATEST(n.due_at, p.due_at) ELSE LEAST(n.due_at, p.due_at) END
    FROM ${buildRecordset('notifications', plans)} AS p
    WHERE n.team_id = p.team_id AND n.subject_kind = 'order' AND n.subject_id = p.subject_id AND n.purpose = 'plan'`);
}

function toSealedColumns(sealedSecret: SealedSecret | undefined) {
  return {
    sealedInput: sealedSecret && formatBytea(sealedSecret.bytes),
    sealedInputKeyId: sealedSecret?.keyId,
  };
}

/** Inserts open keys in sorted order, so that two orders for the same names can’t deadlock. */
async function insertItems(run: RunStatement, { order, sealedItems }: OrderCreation): Promise<void> {
  const openKeys = await findOpenKeys(run, order, order.items);
  const rows = order.items.map((item) => ({
    ...itemRow.toStoredFields(item),
    ...toSealedColumns(sealedItems?.get(item.n)),
    ...{ orderId: order.id, clientTid: item.ctid, openKey: openKeys.get(item.n) },
  }));
  await insertRows(
    run,
    'order_items',
    rows.toSorted((a, b) => ((a.openKey ?? '') < (b.openKey ?? '') ? -1 : 1)),
  );
}

/** Saves changed items, and deletes the encrypted input of items that have ended or whose order has ended. */
async function updateItems(run: RunStatement, savedChanges: readonly SavedChange[]): Promise<void> {
  const rows: Readonly<Record<string, unknown>>[] = [];
  for (const { before, after } of savedChanges) {
    const items = listChangedItems(before, after);
    const openKeys = await findOpenKeys(run, after, items);
    for (const item of items)
      rows.push({
        ...itemProgressRow.toStoredFields(item),
        orderId: after.id,
        n: item.n,
        openKey: openKeys.get(item.n),
      });
  }
  if (rows.length === 0) return;
  const orderIdsWithInput = savedChanges.flatMap(({ after }) =>
    STATES_WITH_INPUT.has(after.state) ? after.id : [],
  );
  const keepsInput = Prisma.sql`i.order_id = ANY(${orderIdsWithInput}) AND i.state IN ('WAITING', 'SENT')`;
  await run(Prisma.sql`
    UPDATE order_items AS kept SET ${copyColumns('i', ['openKey', ...itemProgressRow.storedFields])},
      sealed_input = CASE WHEN ${keepsInput} THEN kept.sealed_input END,
      sealed_input_key_id = CASE WHEN ${keepsInput} THEN kept.sealed_input_key_id END
    FROM ${buildRecordset('order_items', rows)} AS i WHERE kept.order_id = i.order_id AND kept.n = i.n`);
}

const keyRowsSchema = z.array(z.object({ key: z.string() }));

/**
 * Returns the open keys of items, by item number. Items of a closed order and stopped items have none. If a draft or
 * lost order turns out to have been sent, an order that was opened for the same name in the meantime keeps its key.
 */
async function findOpenKeys(
  run: RunStatement,
  order: Order,
  items: readonly OrderItem[],
): Promise<ReadonlyMap<number, string>> {
  const isStopped = ({ state, result }: OrderItem) => state === 'FAILED' && result?.stoppedBy !== undefined;
  const openItems = isOpen(order.state) ? items.filter((item) => !isStopped(item)) : [];
  const openKeys = new Map(openItems.map(({ n, name }) => [n, formatOpenKey(order.task, name)]));
  if (order.state !== 'UNKNOWN') return openKeys;
  const takenKeys = keyRowsSchema.parse(
    await run(Prisma.sql`
      SELECT open_key AS key FROM order_items
      WHERE open_key = ANY(${[...openKeys.values()]}) AND order_id <> ${order.id}`),
  );
  return new Map([...openKeys].filter(([, key]) => !takenKeys.some((row) => row.key === key)));
}

/** Lists the items that a change must write: all if the order opens or closes, because open keys change. */
function listChangedItems(before: Order, after: Order): readonly OrderItem[] {
  const hasOpenedOrClosed = isOpen(before.state) !== isOpen(after.state);
  // When a draft ends, its secrets are deleted although nothing else about its items changes.
  const hasInputToDelete =
    after.bulk !== undefined && STATES_WITH_INPUT.has(before.state) && !STATES_WITH_INPUT.has(after.state);
  return after.items.filter(
    (item, index) => hasOpenedOrClosed || hasInputToDelete || item !== before.items[index],
  );
}

/** A reopened order has no approvals and reserves nothing. */
async function dropApprovalsAndReservations(
  run: RunStatement,
  savedChanges: readonly SavedChange[],
): Promise<void> {
  const ids = savedChanges.flatMap(({ before, after }) =>
    after.approvalRound === before.approvalRound ? [] : after.id,
  );
  if (ids.length === 0) return;
  await run(Prisma.sql`DELETE FROM approvals WHERE order_id = ANY(${ids})`);
  await run(Prisma.sql`DELETE FROM budget_reservations WHERE order_id = ANY(${ids})`);
}

const listNewApprovals = ({ before, after }: OrderChange) =>
  toApprovalRows(
    after.id,
    after.approvals.filter((approval) => !before.approvals.includes(approval)),
  );

function toApprovalRows(orderId: string, approvals: Order['approvals']) {
  return approvals.map((approval) => ({
    ...approvalRow.toStoredFields(approval),
    orderId,
    signature: approval.signed,
  }));
}

const saveApprovals = (run: RunStatement, rows: ReturnType<typeof toApprovalRows>) =>
  upsertRows(run, 'approvals', ['orderId', 'userId'], rows);

/** A mandate's order is counted toward the budget of the day on which it is sent. */
const listNewReservations = ({ after, mandateUse, reservation }: OrderChange) =>
  toReservationRows(
    after.id,
    mandateUse?.reservation ?? (after.state === 'APPROVED' ? reservation : undefined),
  );

function toReservationRows(orderId: string, reservation: Reservation | undefined) {
  if (reservation === undefined) return [];
  const { teamId, day, items } = reservation;
  return items.map(({ n, amount, tags }) => ({
    ...{ orderId, n, teamId, day, amountMinor: amount?.minor, currency: amount?.currency, tags },
  }));
}

/** Replaces reserved amounts, because an order that continues reserves them again. */
const saveReservations = (run: RunStatement, rows: ReturnType<typeof toReservationRows>) =>
  upsertRows(run, 'budget_reservations', ['orderId', 'n'], rows);

const listNewAnswers = ({ after, at, answer }: OrderChange) =>
  answer === undefined ? [] : { orderId: after.id, version: after.version, at, ...answer };

function listNewSecrets({ after, revealableSecret }: OrderChange) {
  if (revealableSecret === undefined) return [];
  const { n, sealed, expiresAt } = revealableSecret;
  const fields = { sealed: formatBytea(sealed.bytes), keyId: sealed.keyId, expiresAt, revealedAt: undefined };
  return { orderId: after.id, n, ...fields };
}

const isNewlyUnknown = ({ before, after }: OrderChange) =>
  after.state === 'UNKNOWN' && before.state !== 'UNKNOWN';

function buildUnknownWebhook({ after, at }: Pick<OrderChange, 'after' | 'at'>): WebhookEvent {
  const { id, task, items, isPrivate } = after;
  const names = isPrivate ? {} : { names: items.map(({ name }) => name) };
  return { type: 'order.unknown', at, data: { order_id: id, code: 'unknown', task, ...names } };
}
