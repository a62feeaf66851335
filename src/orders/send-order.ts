import { setTimeout as sleep } from 'node:timers/promises';
import { HOUR_MS } from '../lib/duration.ts';
import type { HoldReason } from '../mandates/codes.ts';
import type { SendDeadline } from '../service/client.ts';
import { ServiceError } from '../service/errors.ts';
import type { Secret } from '../service/secret.ts';
import { findNextItems, findPauseReason } from './bulk/waves.ts';
import {
  type ChangeDecision,
  type ChangeOutcome,
  changeOrder,
  type EventDecision,
  type UnguardedEvent,
} from './change-order.ts';
import {
  findChangedParts,
  isSameRequest,
  loadContradiction,
  StatementChangedError,
} from './check-statement.ts';
import {
  type ClaimedOrder,
  claimOrder,
  computePauseEnd,
  LEASE_MS,
  type ReadyRequests,
  recordMandateHold,
  warnUnknownMembership,
} from './claim-order.ts';
import type { SendingContext } from './context.ts';
import { buildMandateHold, decideWave, isDue } from './decide-sending.ts';
import { buildResult, getFailedAnswer, getFullAnswer, RetryRefusedError } from './item-result.ts';
import { findWaitingItems, type ItemResult, type Order, type OrderItem } from './order.ts';
import type { OrderCall, OrderTask } from './order-task.ts';
import {
  buildErrorOutcome,
  buildLostRequest,
  buildOutcomeEvent,
  type RequestProgress,
  type SendOutcome,
} from './outcome-event.ts';
import { checkMembers, summarizeMissingAccount } from './parties.ts';
import type { Refusal } from './refusal.ts';
import { buildResultAssociatedData } from './salted-secret.ts';
import { transition } from './state-machine.ts';
import type { Statement, StatementItem } from './statement-shape.ts';
import { stopEarlierNames } from './stop.ts';
import type { RetryReason, StatementPart } from './summary.ts';
import { findTask } from './tasks.ts';

/**
 * The longest delay between the mark and the request. After the lease, a person may settle the order, so a later
 * request is not sent.
 */
export const MAX_SEND_DELAY_MS = LEASE_MS / 4;
/** How often a lease is renewed before it would end. */
const RENEWALS_PER_LEASE = 4;
const PARALLEL_ITEMS = 4;
/** How long a secret result is kept. */
const REVEAL_MS = HOUR_MS;

interface Sending extends ClaimedOrder {
  readonly context: SendingContext;
  readonly task: OrderTask;
  /** The order after this worker's last change. */
  latest: Order;
  /** Resolves with the last change that was started. Items are sent in parallel, but commits are sequential. */
  lastChange: Promise<unknown>;
}

/**
 * Sends an approved order: claims it, sends one request per item, and commits each outcome. At shutdown, running
 * requests are aborted; sent items become `UNKNOWN`.
 * @param snapshot the order as just read
 */
export async function sendOrder(context: SendingContext, snapshot: Order): Promise<void> {
  const claimed = await claimOrder(context, snapshot);
  if (claimed === undefined) return;
  const { order, workerId } = claimed;
  const { leaseMs, store, log } = context;
  const task = findTask(order.task);
  const sending: Sending = { ...claimed, context, task, latest: order, lastChange: Promise.resolve() };
  const heartbeat = setInterval(() => {
    store
      .extendLease(order.id, workerId, leaseMs)
      .catch((err: unknown) =>
        log.warn({ err, orderId: order.id }, 'extending the lease of an order failed'),
      );
  }, leaseMs / RENEWALS_PER_LEASE);
  try {
    await sendItems(sending);
    await releaseClaim(sending);
  } finally {
    clearInterval(heartbeat);
  }
}

async function sendItems(sending: Sending): Promise<void> {
  const { order, prepared, context } = sending;
  const { account } = order;
  const due = findDueItems(sending, order);
  switch (prepared.kind) {
    case 'failed':
      context.log.error(
        { err: prepared.error, orderId: order.id },
        'preparing the requests of an order failed',
      );
      for (const item of due) {
        const progress: RequestProgress = {
          ...sending,
          account,
          item,
          sentItem: undefined,
          mayBeDone: false,
        };
        await commitOutcome(sending, item, buildErrorOutcome(prepared.error, progress, context.now()));
      }
      return;
    case 'account_gone':
      await changeUntilCommitted(sending, { type: 'stopped', summary: summarizeMissingAccount(order) });
      return;
    case 'ready':
      return order.bulk === undefined ? sendInParallel(sending, prepared, due) : sendWaves(sending, prepared);
  }
}

function findDueItems({ context }: Sending, order: Order): readonly OrderItem[] {
  return findNextItems(order).filter((item) => isDue(item, context.now()));
}

async function sendInParallel(
  sending: Sending,
  prepared: ReadyRequests,
  items: readonly OrderItem[],
): Promise<void> {
  const next = items.values();
  const sendInTurn = async () => {
    for (const item of next) {
      if (sending.context.sendingSignal.aborted || findPauseReason(sending.latest) !== undefined) return;
      if (!(await areStillMembers(sending))) return;
      await sendItem(sending, item, prepared);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_ITEMS, items.length) }, sendInTurn));
}

/** Sends one wave after the other. Ends when nothing is left, when a person is needed, or when the rest must wait. */
async function sendWaves(sending: Sending, prepared: ReadyRequests): Promise<void> {
  while (!sending.context.sendingSignal.aborted) {
    const due = findDueItems(sending, sending.latest);
    if (!(await canContinue(sending)) || due.length === 0 || !(await matchesStatement(sending))) return;
    const { version } = sending.latest;
    await sendInParallel(sending, prepared, due);
    // Nothing could be sent, for example because Slack can't look up a person. Another claim will try again.
    if (sending.latest.version === version) return;
  }
}

/** Whether the next wave may be sent. If not, pauses or stops the order. */
async function canContinue(sending: Sending): Promise<boolean> {
  const { context, workerId } = sending;
  const pauseEndsAt = await retryUntilCommitted(context, () => computePauseEnd(context));
  if (decideWave(sending.latest, pauseEndsAt, workerId) === undefined) return true;
  await changeUntilCommitted(sending, (current) => {
    const decision = decideWave(current, pauseEndsAt, workerId);
    return decision?.kind === 'end' ? decision.event : undefined;
  });
  return false;
}

/** Reads a bulk order's rows again before a wave, and stops the order if they no longer match its statement. */
async function matchesStatement(sending: Sending): Promise<boolean> {
  const { context } = sending;
  const parts = await retryUntilCommitted(context, () => loadChangesSinceClaim(sending));
  if (parts === undefined) return true;
  await changeUntilCommitted(sending, {
    type: 'stopped',
    summary: { code: 'statement_changed', parts: [...parts] },
  });
  return false;
}

/** Changes of the order's rows since it was claimed; undefined if none. */
async function loadChangesSinceClaim({
  context,
  order,
}: Sending): Promise<readonly StatementPart[] | undefined> {
  const { store, serviceEndpoints } = context;
  const current = await store.load(order.id, 'system');
  if (current === undefined || isSameRequest(current, order)) return undefined;
  return findChangedParts(current, await store.loadHistory(order.id, 'system'), serviceEndpoints);
}

/**
 * Whether an order's people are still members. Checked before each item, because an order with many names takes long.
 * If a person has left, unsent items are stopped. While Slack can't look up a person, they are left for another claim.
 */
async function areStillMembers(sending: Sending): Promise<boolean> {
  const { context, order, people } = sending;
  const members = await checkMembers(context.directory, people);
  if (members.kind === 'unknown') warnUnknownMembership(context.log, order.id, members.userId);
  if (members.kind === 'left')
    await changeUntilCommitted(sending, { type: 'stopped', summary: members.summary });
  return members.kind === 'members';
}

async function sendItem(sending: Sending, item: OrderItem, prepared: ReadyRequests): Promise<void> {
  const startedAt = performance.now();
  const outcome = await requestItem(sending, item, prepared);
  if (outcome === undefined) return;
  reportOutcome(sending, item, outcome, (performance.now() - startedAt) / 1_000);
  await commitOutcome(sending, item, outcome);
  if (outcome.isAccepted === true) await sending.context.recordAcceptedCredential(sending.order.account.id);
}

/** How one request ended, with the stored part of its answer. */
interface Outcome extends SendOutcome {
  /** The service's answer, readable or not. */
  readonly response?: unknown;
  readonly secret?: Secret | undefined;
  /** The service has carried it out. */
  readonly isAccepted?: true;
}

/**
 * Sends an item's request; each attempt is marked first.
 * @returns undefined if the claim was lost before the request was sent: another worker has the item now
 */
async function requestItem(
  sending: Sending,
  item: OrderItem,
  { client, statement, secrets }: ReadyRequests,
): Promise<Outcome | undefined> {
  const { context, task, order } = sending;
  let call: OrderCall | undefined;
  let sentItem: OrderItem | undefined;
  let mayBeDone = false;
  try {
    const { replyTo } = statement;
    call = task.beginCall(client, {
      ...{ item: findStatementItem(statement, item), secrets, replyTo, signal: context.sendingSignal },
    });
    await call.sign();
    const first = await markSending(sending, item);
    if (first === undefined) return undefined;
    ({ sentItem } = first);
    mayBeDone = true;
    let answer = await call.send(first.sendDeadline);
    if (answer.kind === 'session_ended') {
      await call.sign();
      // The refusal proves that it wasn't carried out.
      mayBeDone = false;
      const second = await markSending(sending, item, 'session_ended');
      if (second === undefined) throw new RetryRefusedError(answer.refusal);
      ({ sentItem } = second);
      mayBeDone = true;
      answer = await call.send(second.sendDeadline);
      if (answer.kind === 'session_ended') throw answer.refusal;
    }
    const result = buildResult(answer, task);
    const event = { type: 'answered', n: item.n, outcome: 'SUCCEEDED', result } as const;
    return {
      event,
      sentItem,
      isAccepted: true,
      secret: answer.output,
      response: getFullAnswer(answer.envelope),
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      const details = { orderId: order.id, ctid: item.ctid, sent: sentItem !== undefined, mayBeDone };
      context.log.error({ err: error, ...details }, 'executing an order failed');
    }
    const progress: RequestProgress = { ...sending, account: order.account, item, sentItem, mayBeDone };
    const response = error instanceof ServiceError ? getFailedAnswer(error) : undefined;
    return { ...buildErrorOutcome(error, progress, context.now()), response };
  } finally {
    call?.end();
  }
}

function findStatementItem({ items }: Statement, { n }: OrderItem): StatementItem {
  const item = items.find((each) => each.n === n);
  if (item === undefined) throw new StatementChangedError(['names']);
  return item;
}

interface Mark {
  readonly sentItem: OrderItem | undefined;
  readonly sendDeadline: SendDeadline;
}

/**
 * Commits that a request is about to be sent.
 * @param reason why it may be sent once more within one claim
 * @returns undefined if it may not
 * @throws {StatementChangedError} if the rows no longer match the statement
 */
async function markSending(
  sending: Sending,
  item: OrderItem,
  reason?: RetryReason,
): Promise<Mark | undefined> {
  const { context, order } = sending;
  const { wallClock, maxSendDelayMs } = context;
  // A bulk order's rows are read before each wave.
  const parts = order.bulk === undefined ? await loadChangesSinceClaim(sending) : undefined;
  if (parts !== undefined) throw new StatementChangedError(parts);
  // The clock is read before the commit, because the process may be suspended during it.
  const sendDeadline = { at: wallClock() + maxSendDelayMs, clock: wallClock };
  const marked = await runInTurn(sending, () =>
    changeOrder(context, order.id, () => decideMark(sending, item, reason), sending.latest),
  );
  if (marked.ok) return { sendDeadline, sentItem: marked.order.items.find(({ n }) => n === item.n) };
  await handleMarkRefusal(sending, marked.refusal);
  return undefined;
}

/** The mark with its guard, which the commit checks against the rows it has locked. */
async function decideMark(sending: Sending, { n }: OrderItem, reason?: RetryReason): Promise<ChangeDecision> {
  const { context, order, workerId, mandateUse } = sending;
  // A mandate's order is sent with the mandate's approvals.
  const guard = await context.signing.loadGuard(mandateUse?.signedMandate ?? order);
  if (guard === undefined) return NOT_DUE;
  const amount = mandateUse?.reservation.items[0]?.amount;
  return {
    guard,
    event: {
      type: 'sending',
      ...{ workerId, n },
      ...(reason === undefined ? {} : { retryReason: reason }),
      ...(amount === undefined ? {} : { amount }),
    },
    extra: { leaseMs: context.leaseMs, ...(mandateUse === undefined ? {} : { mandateUse }) },
  };
}

/** Temporary reasons: the order is checked again later. */
const TEMPORARY_HOLDS: ReadonlySet<HoldReason> = new Set<HoldReason>(['not_announced', 'day_full']);

/**
 * Stops an order whose mark was refused permanently. After any other refusal, another worker has the order or its state
 * has changed.
 */
async function handleMarkRefusal(sending: Sending, refusal: Refusal): Promise<void> {
  const { context, order } = sending;
  const orderId = order.id;
  if (refusal.code === 'earlier_order') await stopEarlierNames(context, orderId);
  if (refusal.code === 'mandate_held' && !TEMPORARY_HOLDS.has(refusal.holdReason)) {
    await recordMandateHold(context, orderId, refusal.holdReason);
    await commitChange(sending, buildMandateHold(refusal.holdReason).event);
  }
  if (refusal.code === 'log_differs')
    await commitChange(sending, (current) => loadContradiction(context, current));
  if (refusal.code === 'not_signed') {
    const differs = [...refusal.differences];
    context.log.error({ orderId, differs }, 'an order’s approvals lack required signatures');
    await commitChange(sending, { type: 'stopped', summary: { code: 'not_signed', differs } });
  }
}

function reportOutcome(
  { context, task, order }: Sending,
  { ctid }: OrderItem,
  { event }: Outcome,
  seconds: number,
): void {
  const ended = event.type === 'answered' ? event.outcome : event.type;
  context.recordDuration(task.name, ended, seconds);
  // The answer's data can contain names of people and assets. It is stored with the order, not in the log.
  const { data: _data, ...result }: Partial<ItemResult> = event.type === 'answered' ? event.result : {};
  context.log.info(
    { orderId: order.id, ctid, task: task.name, ended, result },
    'request to the service ended',
  );
}

async function commitOutcome(sending: Sending, { n, ctid }: OrderItem, outcome: Outcome): Promise<void> {
  const { context, order } = sending;
  const { response, secret } = outcome;
  const revealable = secret && {
    ...{ n, sealed: context.vault.seal(secret, buildResultAssociatedData(order, n)) },
    expiresAt: new Date(context.now().getTime() + REVEAL_MS),
  };
  const extra = {
    ...(response === undefined ? {} : { answer: { n, answer: response } }),
    ...(revealable === undefined ? {} : { revealable }),
  };
  await retryUntilCommitted(context, async () => {
    const saved = await commitChange(sending, (current) => buildOutcomeEvent(current, outcome), extra);
    if (saved.order === undefined) await restoreLostOrder(sending, outcome);
    else if (saved.ok && buildOutcomeEvent(saved.before, outcome).type === 'invalidated')
      context.log.error({ orderId: order.id, ctid }, 'the database lost the record of a sent request');
  });
}

/** Recreates an order that the database has lost, as far as this worker knows it. */
async function restoreLostOrder({ context, latest }: Sending, outcome: SendOutcome): Promise<void> {
  const { event, sentItem, finalAnswer } = outcome;
  const response = event.type === 'answered' ? event : finalAnswer;
  if (sentItem === undefined || response === undefined) return;
  const lost = transition(latest, buildLostRequest(response, sentItem), context.now());
  const { id } = latest;
  context.log.error({ orderId: id, ctid: sentItem.ctid }, 'the database lost a sent order');
  if (!lost.ok) return;
  const { order, log } = lost;
  const first = await context.store.create({ order, log });
  if (first === undefined) return context.advance(order);
  // Slack has redelivered the command meanwhile, and its delivery id belongs to another order.
  const second =
    first.conflictingOrderId === id
      ? first
      : await context.store.create({ order: { ...order, deliveryId: `lost:${id}` }, log });
  if (second !== undefined)
    throw new Error(`recreating order ${id}: it conflicts with ${second.conflictingOrderId}`);
  context.advance(order);
}

/** Releases an order whose items wait for their `notBefore`, for a later claim. */
async function releaseClaim(sending: Sending): Promise<void> {
  // Only this worker schedules retries for items of its claim, so its own snapshot is sufficient.
  if (findWaitingItems(sending.latest).length === 0) return;
  await commitChange(sending, (order) =>
    order.claim?.workerId === sending.workerId ? { type: 'released' } : undefined,
  );
}

const NOT_DUE: ChangeDecision = { refusal: { code: 'not_due' } };

/** An event, or a function of the current order; undefined changes nothing. */
type OptionalEvent = UnguardedEvent | undefined;
type EventSource = UnguardedEvent | ((current: Order) => OptionalEvent | Promise<OptionalEvent>);

/**
 * Commits an event. The order is read again only after a conflict. Every change renews the lease, so a marked item has
 * the full lease for its answer.
 */
function commitChange(
  sending: Sending,
  source: EventSource,
  extra: EventDecision['extra'] = {},
): Promise<ChangeOutcome> {
  const { context } = sending;
  const decide = async (current: Order): Promise<ChangeDecision> => {
    const event = typeof source === 'function' ? await source(current) : source;
    return event === undefined ? NOT_DUE : { event, extra: { ...extra, leaseMs: context.leaseMs } };
  };
  return runInTurn(sending, () => changeOrder(context, sending.order.id, decide, sending.latest));
}

async function runInTurn(sending: Sending, commit: () => Promise<ChangeOutcome>): Promise<ChangeOutcome> {
  const change = sending.lastChange.then(commit);
  sending.lastChange = change.catch(() => undefined);
  const outcome = await change;
  if (outcome.order !== undefined && outcome.order.version > sending.latest.version)
    sending.latest = outcome.order;
  return outcome;
}

function changeUntilCommitted(sending: Sending, event: EventSource): Promise<ChangeOutcome> {
  return retryUntilCommitted(sending.context, () => commitChange(sending, event));
}

/**
 * Repeats a commit until the database accepts it, so that no outcome is lost while the database is down. If the process
 * ends before that, the worker that takes over the order marks it as `UNKNOWN`.
 */
async function retryUntilCommitted<T>(
  { log, sendingSignal }: SendingContext,
  commit: () => Promise<T>,
): Promise<T> {
  for (let wait = 100; ; wait = Math.min(wait * 2, 2_000)) {
    try {
      return await commit();
    } catch (err) {
      log.error({ err }, 'saving the outcome of a request failed, will retry');
      if (sendingSignal.aborted) throw err;
      await sleep(wait);
    }
  }
}
