import type { BotSigner } from '../approvals/charter.ts';
import type { Reservation } from '../money/budget.ts';
import { deriveEarlierFindings } from '../orders/earlier.ts';
import { createBotSignatureCheck, findSendBlocker, signRetryEvents } from '../orders/log-limits.ts';
import type { Order, OrderItem } from '../orders/order.ts';
import type { CommitOutcome, MandateUse, OrderCommit, OrderStore, SendingGuard } from '../orders/ports.ts';
import { createBatcher } from './batch.ts';
import { type Database, isUniqueViolation, Prisma, type RunStatement, wrapStore } from './database.ts';
import { orderHistoriesSchema, selectSendLimitingEvents } from './events.ts';
import { findActByOrder, findName, lockMandate, readAffectedTags, readUsedAmounts } from './mandate-reads.ts';
import {
  idRowsSchema,
  readEarlierItems,
  readOrders,
  selectEarlierItems,
  selectOrdersById,
} from './order-rows.ts';
import { formatOpenKey, insertOrder, updateOrders } from './order-save.ts';
import { lockAndCheckBudgets } from './reservations.ts';
import { readSigningRows } from './signing-rows.ts';

/*
 * Commits changes to orders. A transaction takes its locks, checks everything that could forbid the change, and saves
 * the order with everything that belongs to it (`order-save.ts`).
 */

interface OrderCommitContext {
  readonly database: Database;
  /** Signs the events that allow a retry. */
  readonly botSigner: BotSigner | undefined;
}

/** How many times to try to create an order if the conflicting order can no longer be found. */
const MAX_CREATE_TRIES = 5;

export function createOrderWriter(context: OrderCommitContext): Pick<OrderStore, 'create' | 'commit'> {
  const { database, botSigner } = context;
  // Under load, commits of different orders share a transaction (docs/performance.md).
  const commitBatched = createBatcher(
    (commits: readonly OrderCommit[]) => commitTogether(context, commits),
    ({ before }) => before.id,
  );
  return wrapStore('orders', {
    create: async (unsignedCreation) => {
      const { id } = unsignedCreation.order;
      const creation = { ...unsignedCreation, log: signRetryEvents(botSigner, id, unsignedCreation.log) };
      const { order, reservation } = creation;
      for (let tries = 1; ; tries += 1) {
        try {
          const wasCreated = await database.transaction(async (run) => {
            if (!(await isWithinBudgets(run, reservation))) return false;
            await insertOrder(run, creation);
            return true;
          });
          return wasCreated ? undefined : { conflictingOrderId: undefined };
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          const conflictingOrderId = await findConflictingOrderId(database, order);
          if (conflictingOrderId !== undefined) return { conflictingOrderId };
          if (tries >= MAX_CREATE_TRIES) throw error;
        }
      }
    },

    commit: async (unsignedCommit) => {
      const { id } = unsignedCommit.before;
      const commit = { ...unsignedCommit, log: signRetryEvents(botSigner, id, unsignedCommit.log) };
      try {
        return needsOwnTransaction(commit)
          ? await commitTogether(context, [commit]).then(([outcome = REFUSAL]) => outcome)
          : await commitBatched(commit);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        return { ok: false, conflictingOrderId: await findOpenOrderId(database, commit.after) };
      }
    },
  });
}

type Refusal = Extract<CommitOutcome, { ok: false }>;
const REFUSAL: Refusal = { ok: false, conflictingOrderId: undefined };

/** Whether a commit locks more than its own order. If so, it never shares a transaction. */
function needsOwnTransaction(commit: OrderCommit): boolean {
  const { before, after, guard, reservation } = commit;
  if (listItemsToSend(commit).length === 0)
    return after.state === 'APPROVED' && reservation?.hasBudget === true;
  return guard !== 'no_signatures' || before.retryOf !== undefined || before.mandate !== undefined;
}

/** Commits changes of different orders in one transaction. Each change is saved or refused separately. */
async function commitTogether(
  context: OrderCommitContext,
  commits: readonly OrderCommit[],
): Promise<readonly CommitOutcome[]> {
  const { database } = context;
  const serverTrust = commits.some(startsWork) ? 'verified' : 'any';
  const { refusals, ids, walPosition } = await database.transaction(async (run) => {
    const refusals = await findRefusals(context, run, commits);
    const allowedCommits = commits.filter(({ before }) => !refusals.has(before.id));
    return { refusals, ...(await updateOrders(run, allowedCommits)) };
  }, serverTrust);
  // The WAL is now on disk up to this position.
  if (walPosition !== undefined) database.server.recordWalPosition(walPosition);
  return commits.map(({ before: { id } }) => refusals.get(id) ?? (ids.has(id) ? { ok: true } : REFUSAL));
}

/** Returns refusals by order id. */
async function findRefusals(
  context: OrderCommitContext,
  run: RunStatement,
  commits: readonly OrderCommit[],
): Promise<ReadonlyMap<string, Refusal>> {
  const refusals = new Map<string, Refusal>();
  const sendingCommits = commits.filter((commit) => listItemsToSend(commit).length > 0);
  for (const commit of commits) {
    const refusal = sendingCommits.includes(commit)
      ? await findSendRefusal(context, run, commit)
      : await findBudgetRefusal(run, commit);
    if (refusal !== undefined) refusals.set(commit.before.id, refusal);
  }
  if (sendingCommits.length === 0) return refusals;
  return new Map([...(await findLogRefusals(context, run, sendingCommits)), ...refusals]);
}

/** Only a change that approves an order, or keeps it approved, uses a budget. */
async function findBudgetRefusal(
  run: RunStatement,
  { before, after, reservation }: OrderCommit,
): Promise<Refusal | undefined> {
  if (after.state !== 'APPROVED') return undefined;
  const excludedOrderId = before.state === 'APPROVED' ? before.id : undefined;
  return (await isWithinBudgets(run, reservation, excludedOrderId)) ? undefined : REFUSAL;
}

/** Whether the budgets cover an order. The budgets stay locked until the transaction ends. */
async function isWithinBudgets(
  run: RunStatement,
  reservation: Reservation | undefined,
  excludedOrderId?: string,
): Promise<boolean> {
  return reservation?.hasBudget !== true || lockAndCheckBudgets(run, reservation, excludedOrderId);
}

/** Checks an order's mandate, the orders that it retries, and its signatures. Their rows stay locked. */
async function findSendRefusal(
  context: OrderCommitContext,
  run: RunStatement,
  commit: OrderCommit,
): Promise<Refusal | undefined> {
  const { before, guard, mandateUse } = commit;
  if (guard === undefined) throw new Error('a request to send has no guard');
  if (before.mandate !== undefined) {
    if (mandateUse === undefined) throw new Error('the order’s mandate was not checked');
    const refusal = await findMandateRefusal(context, run, commit, before.mandate.id, mandateUse);
    if (refusal !== undefined) return refusal;
  } else if (guard !== 'no_signatures' || before.retryOf !== undefined) {
    const refusal = await findRetryRefusal(run, commit);
    if (refusal !== undefined) return refusal;
  }
  const signedOrderId = mandateUse?.signedMandate?.id ?? before.id;
  return findSignatureRefusal(context.database, run, signedOrderId, guard);
}

/**
 * A retry is refused if an earlier order has carried out the task, or may have. The rows of those orders stay locked,
 * so a late response is committed either before this transaction, which then sees it, or after it.
 */
async function findRetryRefusal(run: RunStatement, commit: OrderCommit): Promise<Refusal | undefined> {
  const { id } = commit.before;
  const lockedIds = idRowsSchema.parse(await run(selectRetriedOrdersForUpdate(id)));
  const retriedOrderIds = lockedIds.filter((lockedId) => lockedId !== id);
  const names = listItemsToSend(commit).map(({ name }) => name);
  const items = readEarlierItems(await run(selectEarlierItems(retriedOrderIds, names)));
  const [earlierFinding] = deriveEarlierFindings(items, names);
  return earlierFinding && { ...REFUSAL, earlierFinding };
}

/**
 * Locks an order and all orders that it retries, directly or indirectly. All such statements lock by ascending id, so
 * that they can't deadlock.
 */
function selectRetriedOrdersForUpdate(orderId: string): Prisma.Sql {
  return Prisma.sql`
    WITH RECURSIVE retried AS (
      SELECT ${orderId}::text AS id
      UNION
      SELECT o.retry_of FROM retried JOIN orders o ON o.id = retried.id WHERE o.retry_of IS NOT NULL
    )
    SELECT o.id FROM orders o WHERE o.id IN (SELECT id FROM retried) ORDER BY o.id FOR NO KEY UPDATE OF o`;
}

/** An order is refused if required signatures are missing from its approvals. */
async function findSignatureRefusal(
  database: Database,
  run: RunStatement,
  orderId: string,
  guard: SendingGuard,
): Promise<Refusal | undefined> {
  if (guard === 'no_signatures') return undefined;
  const [order] = readOrders(await run(selectOrdersById([orderId])));
  if (order === undefined) return REFUSAL;
  const obstacle = await guard.verify({ order, ...(await readSigningRows(database.signingLog, run)) });
  if (obstacle?.kind === 'not_signed') return { ...REFUSAL, sendingDifferences: obstacle.differences };
  return obstacle && REFUSAL;
}

/** Requests are refused if, according to the log, they were already sent or have ended. */
async function findLogRefusals(
  { botSigner }: OrderCommitContext,
  run: RunStatement,
  commits: readonly OrderCommit[],
): Promise<ReadonlyMap<string, Refusal>> {
  const requests = commits.flatMap((commit) =>
    listItemsToSend(commit).map(({ n }) => ({ id: commit.before.id, n, order: commit.before })),
  );
  const rows = await run(selectSendLimitingEvents(requests.map(({ id, n }) => ({ id, n }))));
  const histories = orderHistoriesSchema.parse(rows);
  return new Map(
    requests.flatMap(({ id, n, order }, index) => {
      const item = order.items.find((candidate) => candidate.n === n);
      const history = histories[index]?.[1] ?? [];
      const logDifference =
        item === undefined
          ? 'missing'
          : findSendBlocker(order, item, history, createBotSignatureCheck(botSigner));
      return logDifference === undefined ? [] : [[id, { ...REFUSAL, logDifference }] as const];
    }),
  );
}

/**
 * An order is refused if its mandate doesn't allow it. The mandate stays locked until the transaction ends, so the
 * mandate can't end, and its other orders can't be sent.
 */
async function findMandateRefusal(
  { botSigner }: OrderCommitContext,
  run: RunStatement,
  commit: OrderCommit,
  mandateId: string,
  { reservation, check }: MandateUse,
): Promise<Refusal | undefined> {
  const { after } = commit;
  const { teamId } = reservation;
  const [{ name } = { name: '' }] = listItemsToSend(commit);
  const isCovered = await isWithinBudgets(run, reservation, after.id);
  const mandate = await lockMandate(run, mandateId);
  const watchedName = await findName(run, name);
  const act = await findActByOrder(run, after.id);
  if (act === undefined) return { ...REFUSAL, holdReason: 'mandate_ended' };
  const holdReason = check(mandate, {
    name,
    affectedTags: await readAffectedTags(run, name),
    plannedExpiry: act.expiresAt,
    expiresAt: watchedName?.expiresAt,
    isLapsing: watchedName?.isLapsing === true,
    announcedAt: act.announcedAt,
    amount: reservation.items[0]?.amount,
    usedAmounts: await readUsedAmounts(run, { teamId, botSigner }, mandateId, after.id),
  });
  if (holdReason !== undefined) return { ...REFUSAL, holdReason };
  return isCovered ? undefined : { ...REFUSAL, holdReason: 'budget_empty' };
}

/** Finds the order that has the same delivery id as a new one, or is open for one of its names. */
async function findConflictingOrderId(database: Database, order: Order): Promise<string | undefined> {
  const [duplicateId] = idRowsSchema.parse(
    await database.run(Prisma.sql`SELECT id FROM orders WHERE delivery_id = ${order.deliveryId}`),
  );
  return duplicateId ?? findOpenOrderId(database, order);
}

/** Finds another open order for the same task and one of the order's names. */
export async function findOpenOrderId({ run }: Database, order: Order): Promise<string | undefined> {
  const keys = order.items.map((item) => formatOpenKey(order.task, item.name));
  const rows = await run(Prisma.sql`
    SELECT order_id AS id FROM order_items WHERE open_key = ANY(${keys}) AND order_id <> ${order.id}
    ORDER BY order_id LIMIT 1`);
  return idRowsSchema.parse(rows)[0];
}

/** Whether a change claims an order or marks a request as sent. */
function startsWork({ before, after }: OrderCommit): boolean {
  const isClaimed = after.claim !== undefined && after.claim !== before.claim;
  return (
    isClaimed || after.items.some((item, index) => item.state === 'SENT' && item !== before.items[index])
  );
}

function listItemsToSend({ before, after }: OrderCommit): readonly OrderItem[] {
  return after.items.filter(
    (item, index) => item.state === 'SENT' && item.attempts !== before.items[index]?.attempts,
  );
}
