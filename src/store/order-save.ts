import { z } from 'zod';
import type { Reservation } from '../money/budget.ts';
import { dueAt, notificationDueAt } from '../orders/due.ts';
import { isOpen, type Order, type OrderItem, type OrderState } from '../orders/order.ts';
import type { OrderCommit, OrderCreation } from '../orders/ports.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import { assignments, byteaText, columnOf, insertRows, recordset } from './columns.ts';
import { Prisma, type RunStatement, type Statement } from './database.ts';
import { eventsOf, insertEvents, publishDraftEvents, storedEvents } from './events.ts';
import { leaseOf } from './leases.ts';
import { insertPlans } from './notifications.ts';
import { LOG_POSITION } from './session-settings.ts';
import { queueWebhooks } from './webhooks.ts';

/* Saves orders inside a transaction: the row first, then everything that belongs to the change. The caller commits. */

/** The states in which the sealed input may still be sent; in all others it is wiped. */
const STATES_WITH_INPUT: ReadonlySet<OrderState> = new Set(['DRAFT', 'PENDING', 'APPROVED', 'EXECUTING']);

/** The key that an item holds while its order is open. It is unique: one open order per task and name. */
export function openKey(task: string, name: string): string {
  return `${task}:${name}`;
}

/**
 * Inserts a new order, or one that the database has lost. Violates a unique key if another order has its delivery, or
 * holds one of its names.
 */
export async function insertOrder(run: RunStatement, creation: OrderCreation): Promise<void> {
  const { order, log, reservation } = creation;
  const at = log.at(-1)?.at ?? order.createdAt;
  const events = eventsOf(order.id, log);
  const isDraft = order.state === 'DRAFT';
  await run(insertOrderRow(creation, at, isDraft ? storedEvents(events) : null));
  await insertItems(run, creation);
  // An abandoned draft leaves nothing in the log.
  if (!isDraft) await insertEvents(run, events);
  await run(
    insertPlans(Prisma.sql`
      SELECT team_id, 'order' AS subject_kind, id AS subject_id, ${notificationDueAt(order, at) ?? null}::timestamptz AS due_at
      FROM orders WHERE id = ${order.id}`),
  );
  await saveApprovals(run, approvalRows(order.id, order.approvals));
  await saveReservations(run, reservationRows(order.id, reservation));
  if (order.state === 'UNKNOWN') await queueWebhooks(run, [unknownWebhook({ after: order, at })]);
}

/**
 * Saves changes of different orders, each by compare-and-swap.
 * @returns the ids of the saved orders, and the position of the server's log before the commit
 * @throws if a change has no line in the audit log
 */
export async function updateOrders(run: RunStatement, commits: readonly OrderCommit[]): Promise<SavedOrders> {
  // Always in the same order, so that replicas hardly ever wait for each other.
  const changes = commits.map(changeOf).toSorted((a, b) => (a.after.id < b.after.id ? -1 : 1));
  // Statements without an `await` between them share a round trip; the server runs them in order.
  const swaps = await Promise.all(changes.map((change) => run(swapOrder(change))));
  const saved = changes.flatMap((change, index): readonly SavedChange[] =>
    swappedRows.parse(swaps[index]).map((swapped) => ({ ...change, ...swapped })),
  );
  if (saved.length === 0) return { ids: new Set(), position: undefined };

  for (const { before } of saved) if (before.state === 'DRAFT') await publishDraftEvents(run, before.id);
  await Promise.all([
    insertEvents(
      run,
      saved.flatMap(({ after, log }) => eventsOf(after.id, log)),
    ),
    markOrderPlans(run, saved),
    updateItems(run, saved),
    dropApprovals(run, saved),
    saveApprovals(run, saved.flatMap(newApprovals)),
    saveReservations(run, saved.flatMap(newReservations)),
    insertRows(run, 'order_answers', saved.flatMap(newAnswers)),
    saveSecrets(run, saved.flatMap(newSecrets)),
    queueWebhooks(run, saved.filter(isNewlyUnknown).map(unknownWebhook)),
  ]);
  return { ids: new Set(saved.map(({ after }) => after.id)), position: saved[0]?.position };
}

export interface SavedOrders {
  readonly ids: ReadonlySet<string>;
  readonly position: number | undefined;
}

type Change = OrderCommit & { readonly at: Date };
type SavedChange = Change & z.output<typeof swapped>;

function changeOf(commit: OrderCommit): Change {
  const at = commit.log.at(-1)?.at;
  if (at === undefined) throw new Error('a change needs a line in the audit log');
  return { ...commit, at };
}

const swapped = z.object({ teamId: z.string(), position: z.number() });
const swappedRows = z.array(swapped);

/**
 * Writes the columns that a transition can change. A change ends the order's lease; a change by its worker extends it.
 */
function swapOrder({ before, after, leaseMs, at }: Change): Statement {
  const workerId = after.claim?.workerId;
  const lease = leaseMs === undefined ? undefined : leaseOf(leaseMs);
  const isDecidedAgain = after.demand !== before.demand;
  const columns = {
    state: after.state,
    version: after.version,
    expiresAt: after.expiresAt ?? null,
    remindAt: after.remindAt ?? null,
    escalateAt: after.escalateAt ?? null,
    closedAt: after.closedAt ?? null,
    updatedAt: at,
    dueAt: dueAt(after, at) ?? null,
    failedAttempts: 0,
    workerId: workerId ?? null,
    leaseUntil: workerId === undefined ? null : lease,
    emergencyApprovedBy: after.emergencyApprovedBy ?? null,
    signedOffBy: after.signedOffBy ?? null,
    approvalRound: after.approvalRound,
    mandateEnd: after.mandateEnd && JSON.stringify(after.mandateEnd),
    bulk: after.bulk === before.bulk ? undefined : jsonOf(after.bulk),
    ...(isDecidedAgain && {
      approvalsRequired: after.approvalsRequired,
      policyVersion: after.policyVersion,
      demand: JSON.stringify(after.demand),
    }),
    ...(!STATES_WITH_INPUT.has(after.state) && { sealedInput: null, sealedInputKeyId: null }),
  };
  return Prisma.sql`
    UPDATE orders SET ${assignments(columns)}
    WHERE id = ${before.id} AND version = ${before.version} AND state = ${before.state}
      AND worker_id IS NOT DISTINCT FROM ${before.claim?.workerId ?? null}
    RETURNING team_id AS "teamId", ${Prisma.raw(LOG_POSITION)} AS position`;
}

/**
 * Notifications are due from the first change that they don't show. During a Slack outage, changes don't bring the next
 * retry forward.
 */
async function markOrderPlans(run: RunStatement, saved: readonly SavedChange[]): Promise<void> {
  const plans = saved.map(({ teamId, after, at }) => ({
    teamId,
    subjectId: after.id,
    dueAt: notificationDueAt(after, at),
  }));
  await run(Prisma.sql`
    UPDATE notifications n SET version = n.version + 1, is_background = false,
      due_at = CASE WHEN n.attempts > 0 THEN GREATEST(n.due_at, p.due_at) ELSE LEAST(n.due_at, p.due_at) END
    FROM ${recordset('notifications', plans)} AS p
    WHERE n.team_id = p.team_id AND n.subject_kind = 'order' AND n.subject_id = p.subject_id AND n.purpose = 'plan'`);
}

function insertOrderRow(
  { order, sealedInput }: OrderCreation,
  at: Date,
  draftEvents: string | null,
): Statement {
  const columns = {
    id: order.id,
    task: order.task,
    state: order.state,
    version: order.version,
    requesterId: order.requesterId,
    accountId: order.account.id,
    accountLogin: order.account.login,
    accountMethod: order.account.method,
    usesTeamAccount: order.account.isTeamAccount ?? false,
    context: order.account.context,
    names: order.items.map(({ name }) => name),
    input: JSON.stringify(order.input ?? null),
    statementHash: order.statementHash,
    secretHash: order.secretHash,
    sealedInput: sealedInput?.bytes,
    sealedInputKeyId: sealedInput?.keyId,
    reason: order.reason,
    ownership: jsonOf(order.ownership),
    channelId: order.channelId,
    threadTs: order.threadTs,
    approvalsRequired: order.approvalsRequired,
    policyVersion: order.policyVersion,
    demand: JSON.stringify(order.demand),
    retryOf: order.retryOf,
    earlierRequesters: [...order.earlierRequesters],
    deliveryId: order.deliveryId,
    expiresAt: order.expiresAt,
    remindAt: order.remindAt,
    escalateAt: order.escalateAt,
    isPrivate: order.isPrivate,
    emergencyApprovedBy: order.emergencyApprovedBy,
    signedOffBy: order.signedOffBy,
    createdAt: order.createdAt,
    updatedAt: order.createdAt,
    dueAt: dueAt(order, at),
    bulk: jsonOf(order.bulk),
    draftEvents,
    mandateId: order.mandated?.id,
    sendAfter: order.sendAfter,
    approvalRound: order.approvalRound,
    mandateEnd: jsonOf(order.mandateEnd),
  };
  return Prisma.sql`
    INSERT INTO orders (${Prisma.raw(Object.keys(columns).map(columnOf).join(', '))})
    VALUES (${Prisma.join(Object.values(columns).map((value) => value ?? null))})`;
}

function jsonOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** All orders take their open keys in the same order, so that two orders for the same names can't deadlock. */
async function insertItems(run: RunStatement, { order, sealedItems }: OrderCreation): Promise<void> {
  const free = await freeKeys(run, order, order.items);
  const rows = order.items.map((item) => {
    const sealed = sealedItems?.get(item.n);
    return {
      ...itemRow(order, item, free),
      input: item.input,
      secretHash: item.secretHash,
      sealedInput: sealed && byteaText(sealed.bytes),
      sealedInputKeyId: sealed?.keyId,
    };
  });
  await insertRows(
    run,
    'order_items',
    rows.toSorted((a, b) => ((a.openKey ?? '') < (b.openKey ?? '') ? -1 : 1)),
  );
}

/** Only these columns change. The sealed input is wiped when the item or its order ends. */
async function updateItems(run: RunStatement, saved: readonly SavedChange[]): Promise<void> {
  const rows: ReturnType<typeof itemRow>[] = [];
  for (const { before, after } of saved) {
    const items = changedItems(before, after);
    const free = await freeKeys(run, after, items);
    rows.push(...items.map((item) => itemRow(after, item, free)));
  }
  if (rows.length === 0) return;
  const withInput = saved.flatMap(({ after }) => (STATES_WITH_INPUT.has(after.state) ? after.id : []));
  const keepsInput = Prisma.sql`i.order_id = ANY(${withInput}) AND i.state IN ('WAITING', 'SENT')`;
  await run(Prisma.sql`
    UPDATE order_items AS kept SET state = i.state, open_key = i.open_key, attempts = i.attempts,
      not_before = i.not_before, sent_at = i.sent_at, answered_at = i.answered_at, result = i.result,
      sealed_input = CASE WHEN ${keepsInput} THEN kept.sealed_input END,
      sealed_input_key_id = CASE WHEN ${keepsInput} THEN kept.sealed_input_key_id END
    FROM ${recordset('order_items', rows)} AS i WHERE kept.order_id = i.order_id AND kept.n = i.n`);
}

function itemRow(order: Order, item: OrderItem, free: ReadonlySet<string>) {
  const key = openKey(order.task, item.name);
  return {
    orderId: order.id,
    n: item.n,
    name: item.name,
    clientTid: item.ctid,
    state: item.state,
    attempts: item.attempts,
    notBefore: item.notBefore,
    sentAt: item.sentAt,
    answeredAt: item.answeredAt,
    result: item.result,
    openKey: free.has(key) ? key : undefined,
  };
}

const keyRows = z.array(z.object({ key: z.string() }));

/**
 * The open keys that items take: those of an open order, unless the item was stopped. A draft or a lost order may turn
 * out to have been sent. If another order holds its name meanwhile, that order keeps it.
 */
async function freeKeys(
  run: RunStatement,
  order: Order,
  items: readonly OrderItem[],
): Promise<ReadonlySet<string>> {
  const isStopped = ({ state, result }: OrderItem) => state === 'FAILED' && result?.stoppedBy !== undefined;
  const wanted = isOpen(order.state) ? items.filter((item) => !isStopped(item)) : [];
  const keys = wanted.map(({ name }) => openKey(order.task, name));
  if (order.state !== 'UNKNOWN') return new Set(keys);
  const held = keyRows.parse(
    await run(Prisma.sql`
      SELECT open_key AS key FROM order_items WHERE open_key = ANY(${keys}) AND order_id <> ${order.id}`),
  );
  return new Set(keys.filter((key) => !held.some((each) => each.key === key)));
}

/** The items that a change has to write: all of them if the order opens or closes, because of their open keys. */
function changedItems(before: Order, after: Order): readonly OrderItem[] {
  const opensOrCloses = isOpen(before.state) !== isOpen(after.state);
  // When a draft ends, its secrets are wiped, although nothing else about its items changes.
  const wipes =
    after.bulk !== undefined && STATES_WITH_INPUT.has(before.state) && !STATES_WITH_INPUT.has(after.state);
  return after.items.filter((item, index) => opensOrCloses || wipes || item !== before.items[index]);
}

/** A reopened order has no approvals and reserves nothing. */
async function dropApprovals(run: RunStatement, saved: readonly SavedChange[]): Promise<void> {
  const ids = saved.flatMap(({ before, after }) =>
    after.approvalRound === before.approvalRound ? [] : after.id,
  );
  if (ids.length === 0) return;
  await run(Prisma.sql`DELETE FROM approvals WHERE order_id = ANY(${ids})`);
  await run(Prisma.sql`DELETE FROM budget_reservations WHERE order_id = ANY(${ids})`);
}

const newApprovals = ({ before, after }: Change) =>
  approvalRows(
    after.id,
    after.approvals.filter((approval) => !before.approvals.includes(approval)),
  );

function approvalRows(orderId: string, approvals: Order['approvals']) {
  return approvals.map(({ userId, at, agreedExcess, signed: signature }) => ({
    ...{ orderId, userId, at, agreedExcess, signature },
  }));
}

const saveApprovals = (run: RunStatement, rows: ReturnType<typeof approvalRows>) =>
  insertRows(
    run,
    'approvals',
    rows,
    Prisma.sql`ON CONFLICT (order_id, user_id) DO UPDATE SET at = excluded.at,
      agreed_excess = excluded.agreed_excess, signature = excluded.signature`,
  );

/** For an order of a mandate, the day on which it is sent counts. */
const newReservations = ({ after, mandated, reservation }: Change) =>
  reservationRows(after.id, mandated?.reservation ?? (after.state === 'APPROVED' ? reservation : undefined));

function reservationRows(orderId: string, reservation: Reservation | undefined) {
  if (reservation === undefined) return [];
  const { teamId, day, items } = reservation;
  return items.map(({ n, amount, tags }) => ({
    ...{ orderId, n, teamId, day, amountMinor: amount?.minor, currency: amount?.currency, tags },
  }));
}

/** The amounts that orders reserve from now on. An order that continues reserves again. */
const saveReservations = (run: RunStatement, rows: ReturnType<typeof reservationRows>) =>
  insertRows(
    run,
    'budget_reservations',
    rows,
    Prisma.sql`ON CONFLICT (order_id, n) DO UPDATE SET day = excluded.day, amount_minor = excluded.amount_minor,
      currency = excluded.currency, tags = excluded.tags`,
  );

const newAnswers = ({ after, at, answer }: Change) =>
  answer === undefined ? [] : { orderId: after.id, version: after.version, at, ...answer };

function newSecrets({ after, revealable }: Change) {
  if (revealable === undefined) return [];
  const { n, sealed, expiresAt } = revealable;
  return { orderId: after.id, n, sealed: byteaText(sealed.bytes), keyId: sealed.keyId, expiresAt };
}

const saveSecrets = (run: RunStatement, rows: ReturnType<typeof newSecrets>[]) =>
  insertRows(
    run,
    'revealable_secrets',
    rows.flat(),
    Prisma.sql`ON CONFLICT (order_id, n) DO UPDATE SET sealed = excluded.sealed, key_id = excluded.key_id,
      expires_at = excluded.expires_at, revealed_at = NULL`,
  );

const isNewlyUnknown = ({ before, after }: Change) => after.state === 'UNKNOWN' && before.state !== 'UNKNOWN';

function unknownWebhook({ after, at }: Pick<Change, 'after' | 'at'>): WebhookEvent {
  const { id, task, items, isPrivate } = after;
  const names = isPrivate ? {} : { names: items.map(({ name }) => name) };
  return { type: 'order.unknown', at, data: { order_id: id, code: 'unknown', task, ...names } };
}
