import { z } from 'zod';
import type { Witness } from '../approvals/charter.ts';
import type { Reservation } from '../money/budget.ts';
import { findingsIn } from '../orders/earlier.ts';
import { limitOf, signLog, witnessedBy } from '../orders/log-limits.ts';
import type { Order, OrderItem } from '../orders/order.ts';
import type {
  CommitOutcome,
  OrderCommit,
  OrderCreation,
  OrderStore,
  SendingGuard,
  SendingObstacle,
} from '../orders/ports.ts';
import type { LogDifference } from '../orders/summary.ts';
import { batch } from './batch.ts';
import { type Database, isUniqueViolation, Prisma, type RunStatement, storeOf } from './database.ts';
import { orderHistories, selectLimits } from './events.ts';
import { findActOf, findName, lockMandate, readTaken, readTouched } from './mandate-reads.ts';
import { fitsBudgets } from './reservations.ts';
import { earlierItemRows, idRows, orderRows, selectById, selectEarlierItems } from './rows.ts';
import { readSigningRows } from './signing-rows.ts';
import { insertOrder, lockRetried, openKey, updateOrders } from './statements.ts';

/** The database, and the witness of events that allow a repeat. */
interface WitnessedDatabase {
  readonly database: Database;
  readonly witness: Witness | undefined;
}

/** Tries to keep a new order whose way is barred by one that is gone when we look. */
const CREATE_TRIES = 5;

/** Changing orders: every change is one statement, which says when the order is due next as well. */
export function createOrderChanges(on: WitnessedDatabase): Pick<OrderStore, 'create' | 'commit'> {
  const { database, witness } = on;
  const commitTogether = createCommitBatch(on);

  const commitAlone = async (commit: OrderCommit): Promise<CommitOutcome> => {
    // Only a change that lets an order go, or go on, takes something out of a budget.
    if (commit.after.state !== 'APPROVED' || !isLimited(commit)) return commitTogether(commit);
    return (await commitLimited(database, commit)) ? { ok: true } : REFUSED;
  };

  const send = (commit: OrderCommit): Promise<CommitOutcome> => {
    const { guard } = commit;
    if (guard === undefined) throw new Error('a request leaves without its guard');
    const { mandated } = commit.before;
    if (mandated !== undefined) return commitMandated(on, commit, mandated.id, guard);
    const isPlain = guard === 'no_signatures' && commit.before.retryOf === undefined;
    return isPlain ? commitAlone(commit) : commitSending(on, commit, guard);
  };

  return storeOf('orders', {
    create: async (given) => {
      const { order } = given;
      const creation = { ...given, log: signLog(witness, order.id, given.log) };
      let fits = true;
      const conflictingOrderId = await insert(database, order, async () => {
        if (isLimited(creation)) fits = await createLimited(database, creation);
        else await database.run(insertOrder(creation));
      });
      return conflictingOrderId !== undefined || !fits ? { conflictingOrderId } : undefined;
    },

    commit: async (given) => {
      const commit = { ...given, log: signLog(witness, given.before.id, given.log) };
      try {
        return await (sentItems(commit).length === 0 ? commitAlone(commit) : send(commit));
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        return { ok: false, conflictingOrderId: await holderOfNames(database, commit.after) };
      }
    },
  });
}

/** @param keep inserts it @returns the order that stands in its way, if one does */
async function insert(
  database: Database,
  order: Order,
  keep: () => Promise<void>,
): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      await keep();
      return undefined;
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const [same] = idRows.parse(
        await database.run(Prisma.sql`SELECT id FROM orders WHERE delivery_id = ${order.deliveryId}`),
      );
      const conflictingOrderId = same ?? (await holderOfNames(database, order));
      if (conflictingOrderId !== undefined) return conflictingOrderId;
      if (tries >= CREATE_TRIES) throw error;
    }
  }
}

const REFUSED = { ok: false, conflictingOrderId: undefined } as const;

/** All changes of a moment in one transaction. Of one order only one goes at a time. */
function createCommitBatch({ database, witness }: WitnessedDatabase) {
  return batch(
    async (commits: readonly OrderCommit[]) => {
      const trust = commits.some(startsWork) ? 'verified' : 'any';
      const { ids, position, limits } = commits.some((commit) => sentItems(commit).length > 0)
        ? await database.transaction((run) => updateWithinLimits(run, commits, witness), trust)
        : { ...(await update((statement) => database.run(statement, trust), commits)), limits: NO_LIMITS };
      noteCommitted(database, position);
      return commits.map(({ before: { id } }): CommitOutcome => {
        const differs = limits.get(id);
        if (differs !== undefined) return { ...REFUSED, differs };
        return ids.has(id) ? { ok: true } : REFUSED;
      });
    },
    ({ before }) => before.id,
  );
}

const NO_LIMITS: ReadonlyMap<string, LogDifference> = new Map();

/** Makes the changes that the log allows. */
async function updateWithinLimits(
  run: RunStatement,
  commits: readonly OrderCommit[],
  witness: Witness | undefined,
) {
  const limits = await readLimitsFromLog(run, commits, witness);
  const allowed = commits.filter(({ before }) => !limits.has(before.id));
  return { ...(await update(run, allowed)), limits };
}

/** Which changes would send what the log says was sent before, or has ended: by the id of the order. */
async function readLimitsFromLog(
  run: RunStatement,
  commits: readonly OrderCommit[],
  witness: Witness | undefined,
): Promise<ReadonlyMap<string, LogDifference>> {
  const sent = commits.flatMap((commit) =>
    sentItems(commit).map(({ n }) => ({ id: commit.before.id, n, order: commit.before })),
  );
  const rows = await run(selectLimits(sent.map(({ id, n }) => ({ id, n }))));
  const histories = new Map(orderHistories.parse(rows));
  return new Map(
    sent.flatMap(({ id, n, order }) => {
      const item = order.items.find((each) => each.n === n);
      const limit =
        item === undefined ? 'missing' : limitOf(order, item, histories.get(id) ?? [], witnessedBy(witness));
      return limit === undefined ? [] : [[id, limit] as const];
    }),
  );
}

type Limited<T> = T & { readonly reservation: Reservation };

/** Whether an order takes something out of a budget. */
function isLimited<T extends OrderCommit | OrderCreation>(change: T): change is Limited<T> {
  return change.reservation?.isLimited === true;
}

/** Lets an order go, or go on, that takes something out of a budget. @returns whether it was committed */
async function commitLimited(database: Database, commit: Limited<OrderCommit>): Promise<boolean> {
  const { id, state } = commit.before;
  const { ids, position } = await database.transaction(async (run) =>
    (await fitsBudgets(run, commit.reservation, state === 'APPROVED' ? id : undefined))
      ? update(run, [commit])
      : { ids: new Set<string>(), position: undefined },
  );
  noteCommitted(database, position);
  return ids.has(id);
}

/** The same for a new order that nobody has to decide about. @returns whether it fits, and so was kept */
function createLimited(database: Database, creation: Limited<OrderCreation>): Promise<boolean> {
  return database.transaction(async (run) => {
    const fits = await fitsBudgets(run, creation.reservation);
    if (fits) await run(insertOrder(creation));
    return fits;
  });
}

/**
 * Commits that an item is about to be sent, unless an order that it asks for again has done that name, or its approvals are not
 * signed as they have to be. The rows of those orders are locked meanwhile: an answer that comes late is kept before, and
 * seen here, or after. Everything that signatures are compared with is read here.
 */
async function commitSending(
  on: WitnessedDatabase,
  commit: OrderCommit,
  guard: SendingGuard,
): Promise<CommitOutcome> {
  const { database } = on;
  const { outcome, position } = await database.transaction<{
    outcome: CommitOutcome;
    position?: number | undefined;
  }>(async (run) => {
    const { id } = commit.before;
    const retried = idRows.parse(await run(lockRetried(id))).filter((each) => each !== id);
    const names = sentItems(commit).map(({ name }) => name);
    const items = earlierItemRows.parse(await run(selectEarlierItems(retried, names)));
    const [earlier] = findingsIn(items, names);
    if (earlier !== undefined) return { outcome: { ...REFUSED, earlier } };
    return sendUnlessObstructed(on, run, commit, id, guard);
  }, 'verified');
  noteCommitted(database, position);
  return outcome;
}

/** Marks a request as sent, if the log and the signatures allow it. @param signedId the order whose approvals let it go */
async function sendUnlessObstructed(
  { database, witness }: WitnessedDatabase,
  run: RunStatement,
  commit: OrderCommit,
  signedId: string,
  guard: SendingGuard,
): Promise<{ outcome: CommitOutcome; position?: number | undefined }> {
  const obstacle = await obstacleTo(database, run, signedId, guard);
  if (obstacle?.kind === 'not_signed') return { outcome: { ...REFUSED, notSigned: obstacle.differs } };
  if (obstacle !== undefined) return { outcome: REFUSED };
  const { ids, position, limits } = await updateWithinLimits(run, [commit], witness);
  const { id } = commit.before;
  const differs = limits.get(id);
  if (differs !== undefined) return { outcome: { ...REFUSED, differs } };
  return ids.has(id) ? { outcome: { ok: true }, position } : { outcome: REFUSED };
}

/** What keeps a request from leaving, by the rows as this transaction sees them. */
async function obstacleTo(
  database: Database,
  run: RunStatement,
  orderId: string,
  guard: SendingGuard,
): Promise<SendingObstacle | undefined> {
  if (guard === 'no_signatures') return undefined;
  const [order] = orderRows.parse(await run(selectById([orderId])));
  if (order === undefined) return { kind: 'changed' };
  return guard.verify({ order, ...(await readSigningRows(database.keyLog, run)) });
}

/**
 * Commits that an order of a mandate is about to be sent, if the mandate lets it go by what is true under its lock: whoever
 * sends another one waits, and so does who ends it.
 */
async function commitMandated(
  on: WitnessedDatabase,
  commit: OrderCommit,
  mandateId: string,
  guard: SendingGuard,
): Promise<CommitOutcome> {
  const { mandated, after } = commit;
  if (mandated === undefined) throw new Error('what its mandate lets go was not checked');
  const { reservation, refusal, signedBy } = mandated;
  const { teamId } = reservation;
  const { database } = on;
  const { outcome, position } = await database.transaction<{
    outcome: CommitOutcome;
    position?: number | undefined;
  }>(async (run) => {
    const [{ name } = { name: '' }] = sentItems(commit);
    const fits = !reservation.isLimited || (await fitsBudgets(run, reservation, after.id));
    const mandate = await lockMandate(run, mandateId);
    const [watched, act] = [await findName(run, name), await findActOf(run, after.id)];
    const taken = await readTaken(run, { teamId, witness: on.witness }, mandateId, after.id);
    const held =
      act === undefined
        ? 'mandate_ended'
        : refusal(mandate, {
            name,
            touched: await readTouched(run, name),
            actedFor: act.expiresAt,
            expiresAt: watched?.expiresAt,
            isLapsing: watched?.isLapsing === true,
            announcedAt: act.announcedAt,
            amount: reservation.items[0]?.amount,
            taken,
          });
    if (held !== undefined || !fits) return { outcome: { ...REFUSED, held: held ?? 'budget_empty' } };
    return sendUnlessObstructed(on, run, commit, signedBy?.id ?? after.id, guard);
  }, 'verified');
  noteCommitted(database, position);
  return outcome;
}

const changedRows = z.array(z.object({ id: z.string(), position: z.number() }));

/**
 * All in one sequence, so that replicas hardly ever wait for each other; where they do, each order goes alone.
 * @returns the ids of the orders that were changed, and how far the server's log had reached before
 */
async function update(run: RunStatement, commits: readonly OrderCommit[]) {
  if (commits.length === 0) return { ids: new Set<string>(), position: undefined };
  const sorted = commits.toSorted((a, b) => (a.before.id < b.before.id ? -1 : 1));
  const rows = changedRows.parse(await run(updateOrders(sorted)));
  return { ids: new Set(rows.map(({ id }) => id)), position: rows[0]?.position };
}

/** It was committed behind this position: by now the log is on disk up to there. */
function noteCommitted({ server }: Database, position: number | undefined): void {
  if (position !== undefined) server.note(position);
}

/** The open order that holds one of an order's task and names. */
export async function holderOfNames({ run }: Database, order: Order): Promise<string | undefined> {
  const keys = order.items.map((item) => openKey(order.task, item.name));
  const rows = await run(Prisma.sql`
    SELECT order_id AS id FROM order_items WHERE open_key = ANY(${keys}) AND order_id <> ${order.id}
    ORDER BY order_id LIMIT 1`);
  return idRows.parse(rows)[0];
}

/** Whether a change claims an order, or marks a request as sent. */
function startsWork({ before, after }: OrderCommit): boolean {
  const isClaimed = after.claim !== undefined && after.claim !== before.claim;
  return (
    isClaimed || after.items.some((item, index) => item.state === 'SENT' && item !== before.items[index])
  );
}

function sentItems({ before, after }: OrderCommit): readonly OrderItem[] {
  return after.items.filter(
    (item, index) => item.state === 'SENT' && item.attempts !== before.items[index]?.attempts,
  );
}
