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
  hasSameRequest,
  loadContradictionEvent,
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
import { buildMandateHoldDecision, decideWave, isDue } from './decide-sending.ts';
import { buildSuccessResult, getFailedAnswer, getFullAnswer, RetryRefusedError } from './item-result.ts';
import { findWaitingItems, type ItemResult, type Order, type OrderItem } from './order.ts';
import type { OrderCall, OrderTask } from './order-task.ts';
import {
  buildErrorOutcome,
  buildLostRequestEvent,
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
import { getOrderTask } from './tasks.ts';

/**
 * The longest delay between marking an item as sent and sending its request. It is shorter than the lease, because a
 * person may settle the order once the lease has ended.
 */
export const MAX_SEND_DELAY_MS = LEASE_MS / 4;
const HEARTBEATS_PER_LEASE = 4;
const MAX_PARALLEL_ITEMS = 4;
const SECRET_TTL_MS = HOUR_MS;

interface SendJob extends ClaimedOrder {
  readonly context: SendingContext;
  readonly task: OrderTask;
  /** The order after this worker's last change. */
  latestOrder: Order;
  /** The latest change, started or done. Items are sent in parallel, but changes are committed one after another. */
  lastChange: Promise<unknown>;
}

/**
 * Claims an approved order, sends one request per item, and commits each outcome. At shutdown, running requests are
 * aborted, and their items become `UNKNOWN`.
 * @param snapshot the order as it was just loaded
 */
export async function sendOrder(context: SendingContext, snapshot: Order): Promise<void> {
  const claimed = await claimOrder(context, snapshot);
  if (claimed === undefined) return;
  const { order, workerId } = claimed;
  const { leaseMs, store, log } = context;
  const task = getOrderTask(order.task);
  const job: SendJob = { ...claimed, context, task, latestOrder: order, lastChange: Promise.resolve() };
  const heartbeat = setInterval(() => {
    store
      .extendLease(order.id, workerId, leaseMs)
      .catch((err: unknown) =>
        log.warn({ err, orderId: order.id }, 'extending the lease of an order failed'),
      );
  }, leaseMs / HEARTBEATS_PER_LEASE);
  try {
    await sendItems(job);
    await releaseClaim(job);
  } finally {
    clearInterval(heartbeat);
  }
}

async function sendItems(job: SendJob): Promise<void> {
  const { order, preparation, context } = job;
  const { account } = order;
  const dueItems = findDueItems(job, order);
  switch (preparation.kind) {
    case 'failed':
      context.log.error(
        { err: preparation.error, orderId: order.id },
        'preparing the requests of an order failed',
      );
      for (const item of dueItems) {
        const progress: RequestProgress = {
          ...job,
          account,
          item,
          sentItem: undefined,
          mayBeDone: false,
        };
        await commitOutcome(job, item, buildErrorOutcome(preparation.error, progress, context.now()));
      }
      return;
    case 'account_gone':
      await changeUntilCommitted(job, { type: 'stopped', summary: summarizeMissingAccount(order) });
      return;
    case 'ready':
      return order.bulk === undefined
        ? sendInParallel(job, preparation, dueItems)
        : sendWaves(job, preparation);
  }
}

function findDueItems({ context }: SendJob, order: Order): readonly OrderItem[] {
  return findNextItems(order).filter((item) => isDue(item, context.now()));
}

async function sendInParallel(
  job: SendJob,
  prepared: ReadyRequests,
  items: readonly OrderItem[],
): Promise<void> {
  const remainingItems = items.values();
  const sendNextItems = async () => {
    for (const item of remainingItems) {
      if (job.context.sendingSignal.aborted || findPauseReason(job.latestOrder) !== undefined) return;
      if (!(await checkMembersOrStop(job))) return;
      await sendItem(job, item, prepared);
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL_ITEMS, items.length) }, sendNextItems));
}

/** Sends wave after wave until all items are sent, the rest must wait, or a person is needed. */
async function sendWaves(job: SendJob, prepared: ReadyRequests): Promise<void> {
  while (!job.context.sendingSignal.aborted) {
    const dueItems = findDueItems(job, job.latestOrder);
    if (!(await checkWaveOrStop(job)) || dueItems.length === 0 || !(await checkStatementOrStop(job))) return;
    const { version } = job.latestOrder;
    await sendInParallel(job, prepared, dueItems);
    // Nothing could be sent, for example because Slack can't look up a person. Another claim will try again.
    if (job.latestOrder.version === version) return;
  }
}

/** Pauses or stops the order if the next wave must not be sent. @returns whether the wave can be sent */
async function checkWaveOrStop(job: SendJob): Promise<boolean> {
  const { context, workerId } = job;
  const pauseEndsAt = await retryUntilSuccessful(context, () => computePauseEnd(context));
  if (decideWave(job.latestOrder, pauseEndsAt, workerId) === undefined) return true;
  await changeUntilCommitted(job, (current) => {
    const decision = decideWave(current, pauseEndsAt, workerId);
    return decision?.kind === 'end' ? decision.event : undefined;
  });
  return false;
}

/** Stops a bulk order if its rows no longer match its statement. @returns whether the rows match */
async function checkStatementOrStop(job: SendJob): Promise<boolean> {
  const { context } = job;
  const changedParts = await retryUntilSuccessful(context, () => loadPartsChangedSinceClaim(job));
  if (changedParts === undefined) return true;
  await changeUntilCommitted(job, {
    type: 'stopped',
    summary: { code: 'statement_changed', parts: [...changedParts] },
  });
  return false;
}

/** @returns undefined if the rows haven't changed since the claim; otherwise how they differ from the log */
async function loadPartsChangedSinceClaim({
  context,
  order,
}: SendJob): Promise<readonly StatementPart[] | undefined> {
  const { store, serviceEndpoints } = context;
  const current = await store.load(order.id, 'system');
  if (current === undefined || hasSameRequest(current, order)) return undefined;
  return findChangedParts(current, await store.loadHistory(order.id, 'system'), serviceEndpoints);
}

/**
 * Stops unsent items if a person on whom the order depends has left. Runs before each item, because an order with many
 * names takes long. While Slack can't look up a person, unsent items wait for another claim.
 * @returns whether all people are still members
 */
async function checkMembersOrStop(job: SendJob): Promise<boolean> {
  const { context, order, people } = job;
  const membership = await checkMembers(context.directory, people);
  if (membership.kind === 'unknown') warnUnknownMembership(context.log, order.id, membership.userId);
  if (membership.kind === 'left')
    await changeUntilCommitted(job, { type: 'stopped', summary: membership.summary });
  return membership.kind === 'members';
}

async function sendItem(job: SendJob, item: OrderItem, prepared: ReadyRequests): Promise<void> {
  const startedAt = performance.now();
  const outcome = await requestItem(job, item, prepared);
  if (outcome === undefined) return;
  reportOutcome(job, item, outcome, (performance.now() - startedAt) / 1_000);
  await commitOutcome(job, item, outcome);
  if (outcome.isAccepted === true) await job.context.recordAcceptedCredential(job.order.account.id);
}

/** The outcome of one request, with the parts of the answer that are stored separately. */
interface SendOutcomeWithAnswer extends SendOutcome {
  /** The service's answer, readable or not. */
  readonly rawAnswer?: unknown;
  readonly secret?: Secret | undefined;
  /** The service has accepted the request. */
  readonly isAccepted?: true;
}

/**
 * Sends an item's request, after marking the item as sent.
 * @returns undefined if the item couldn't be marked, for example because another worker has claimed the order
 */
async function requestItem(
  job: SendJob,
  item: OrderItem,
  { client, statement, secrets }: ReadyRequests,
): Promise<SendOutcomeWithAnswer | undefined> {
  const { context, task, order } = job;
  let call: OrderCall | undefined;
  let sentItem: OrderItem | undefined;
  let mayBeDone = false;
  try {
    const { replyTo } = statement;
    const statementItem = findStatementItem(statement, item);
    const signal = context.sendingSignal;
    call = task.beginCall(client, { item: statementItem, secrets, replyTo, signal });
    await call.sign();
    const firstMark = await markSending(job, item);
    if (firstMark === undefined) return undefined;
    ({ sentItem } = firstMark);
    mayBeDone = true;
    let answer = await call.send(firstMark.sendDeadline);
    if (answer.kind === 'session_ended') {
      await call.sign();
      // The service refused the request, so it wasn't carried out.
      mayBeDone = false;
      const secondMark = await markSending(job, item, 'session_ended');
      if (secondMark === undefined) throw new RetryRefusedError(answer.refusal);
      ({ sentItem } = secondMark);
      mayBeDone = true;
      answer = await call.send(secondMark.sendDeadline);
      if (answer.kind === 'session_ended') throw answer.refusal;
    }
    const result = buildSuccessResult(answer, task);
    const event = { type: 'answered', n: item.n, outcome: 'SUCCEEDED', result } as const;
    return {
      event,
      sentItem,
      isAccepted: true,
      secret: answer.output,
      rawAnswer: getFullAnswer(answer.envelope),
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      const details = { orderId: order.id, ctid: item.ctid, sent: sentItem !== undefined, mayBeDone };
      context.log.error({ err: error, ...details }, 'sending an item’s request failed');
    }
    const progress: RequestProgress = { ...job, account: order.account, item, sentItem, mayBeDone };
    const rawAnswer = error instanceof ServiceError ? getFailedAnswer(error) : undefined;
    return { ...buildErrorOutcome(error, progress, context.now()), rawAnswer };
  } finally {
    call?.end();
  }
}

function findStatementItem({ items }: Statement, { n }: OrderItem): StatementItem {
  const item = items.find((candidate) => candidate.n === n);
  if (item === undefined) throw new StatementChangedError(['names']);
  return item;
}

interface SendingMark {
  readonly sentItem: OrderItem | undefined;
  readonly sendDeadline: SendDeadline;
}

/**
 * Commits that a request is about to be sent.
 * @param retryReason why a second request within a claim is allowed; undefined for the first request
 * @returns undefined if the request must not be sent
 * @throws {StatementChangedError} if the rows no longer match the statement
 */
async function markSending(
  job: SendJob,
  item: OrderItem,
  retryReason?: RetryReason,
): Promise<SendingMark | undefined> {
  const { context, order } = job;
  const { wallClock, maxSendDelayMs } = context;
  // The rows of a bulk order are checked before each wave.
  const changedParts = order.bulk === undefined ? await loadPartsChangedSinceClaim(job) : undefined;
  if (changedParts !== undefined) throw new StatementChangedError(changedParts);
  // The clock is read first, because the process may be suspended during the commit.
  const sendDeadline = { epochMs: wallClock() + maxSendDelayMs, clock: wallClock };
  const markOutcome = await runInTurn(job, () =>
    changeOrder(context, order.id, () => decideMark(job, item, retryReason), job.latestOrder),
  );
  if (markOutcome.ok)
    return { sendDeadline, sentItem: markOutcome.order.items.find(({ n }) => n === item.n) };
  await handleMarkRefusal(job, markOutcome.refusal);
  return undefined;
}

/** The store checks the guard against the rows that the commit has locked. */
async function decideMark(
  job: SendJob,
  { n }: OrderItem,
  retryReason?: RetryReason,
): Promise<ChangeDecision> {
  const { context, order, workerId, mandateUse } = job;
  // A renewal under a mandate is sent with the mandate's approvals.
  const guard = await context.signing.loadSendingGuard(mandateUse?.signedMandate ?? order);
  if (guard === undefined) return NOT_DUE;
  const amount = mandateUse?.reservation.items[0]?.amount;
  return {
    guard,
    event: {
      type: 'sending',
      workerId,
      n,
      ...(retryReason === undefined ? {} : { retryReason }),
      ...(amount === undefined ? {} : { amount }),
    },
    extra: { leaseMs: context.leaseMs, ...(mandateUse === undefined ? {} : { mandateUse }) },
  };
}

/** Reasons that may no longer apply when the order is checked again. */
const TEMPORARY_HOLD_REASONS: ReadonlySet<HoldReason> = new Set<HoldReason>(['not_announced', 'day_full']);

/**
 * Stops unsent items if the refusal is permanent. After any other refusal, nothing needs to be done: another worker has
 * the order, its state has changed, or it is checked again later.
 */
async function handleMarkRefusal(job: SendJob, refusal: Refusal): Promise<void> {
  const { context, order } = job;
  const orderId = order.id;
  if (refusal.code === 'earlier_order') await stopEarlierNames(context, orderId);
  if (refusal.code === 'mandate_held' && !TEMPORARY_HOLD_REASONS.has(refusal.holdReason)) {
    await recordMandateHold(context, orderId, refusal.holdReason);
    await commitChange(job, buildMandateHoldDecision(refusal.holdReason).event);
  }
  if (refusal.code === 'log_differs')
    await commitChange(job, (current) => loadContradictionEvent(context, current));
  if (refusal.code === 'not_signed') {
    const differs = [...refusal.differences];
    context.log.error({ orderId, differs }, 'an order’s approvals lack required signatures');
    await commitChange(job, { type: 'stopped', summary: { code: 'not_signed', differs } });
  }
}

function reportOutcome(
  { context, task, order }: SendJob,
  { ctid }: OrderItem,
  { event }: SendOutcomeWithAnswer,
  seconds: number,
): void {
  const outcomeLabel = event.type === 'answered' ? event.outcome : event.type;
  context.recordRequestDuration(task.name, outcomeLabel, seconds);
  // The answer's data can contain personal data, so it is stored only with the order.
  const { data: _data, ...result }: Partial<ItemResult> = event.type === 'answered' ? event.result : {};
  context.log.info(
    { orderId: order.id, ctid, task: task.name, ended: outcomeLabel, result },
    'request to the service ended',
  );
}

async function commitOutcome(
  job: SendJob,
  { n, ctid }: OrderItem,
  outcome: SendOutcomeWithAnswer,
): Promise<void> {
  const { context, order } = job;
  const { rawAnswer, secret } = outcome;
  const revealableSecret = secret && {
    n,
    sealed: context.vault.seal(secret, buildResultAssociatedData(order, n)),
    expiresAt: new Date(context.now().getTime() + SECRET_TTL_MS),
  };
  const extra = {
    ...(rawAnswer === undefined ? {} : { answer: { n, answer: rawAnswer } }),
    ...(revealableSecret === undefined ? {} : { revealableSecret }),
  };
  await retryUntilSuccessful(context, async () => {
    const change = await commitChange(job, (current) => buildOutcomeEvent(current, outcome), extra);
    if (change.order === undefined) await restoreLostOrder(job, outcome);
    else if (change.ok && buildOutcomeEvent(change.previousOrder, outcome).type === 'invalidated')
      context.log.error({ orderId: order.id, ctid }, 'the database lost the record of a sent request');
  });
}

/** Recreates an order that the database has lost, from this worker's copy. */
async function restoreLostOrder({ context, latestOrder }: SendJob, outcome: SendOutcome): Promise<void> {
  const { event, sentItem, finalAnswer } = outcome;
  const knownAnswer = event.type === 'answered' ? event : finalAnswer;
  if (sentItem === undefined || knownAnswer === undefined) return;
  const restored = transition(latestOrder, buildLostRequestEvent(knownAnswer, sentItem), context.now());
  const { id } = latestOrder;
  context.log.error({ orderId: id, ctid: sentItem.ctid }, 'the database lost a sent order');
  if (!restored.ok) return;
  const { order, log } = restored;
  const conflict = await context.store.create({ order, log });
  if (conflict === undefined) return context.advance(order);
  // Slack has redelivered the command meanwhile, so another order has the delivery id.
  const remainingConflict =
    conflict.conflictingOrderId === id
      ? conflict
      : await context.store.create({ order: { ...order, deliveryId: `lost:${id}` }, log });
  if (remainingConflict !== undefined)
    throw new Error(
      `recreating order ${id} failed: it conflicts with ${remainingConflict.conflictingOrderId}`,
    );
  context.advance(order);
}

/** Ends the claim if items are still waiting for their `notBefore`, so that the order can be claimed again. */
async function releaseClaim(job: SendJob): Promise<void> {
  // Only this worker schedules retries within its claim, so its copy of the order is up to date.
  if (findWaitingItems(job.latestOrder).length === 0) return;
  await commitChange(job, (order) =>
    order.claim?.workerId === job.workerId ? { type: 'released' } : undefined,
  );
}

const NOT_DUE: ChangeDecision = { refusal: { code: 'not_due' } };

/** If undefined, nothing is changed. */
type OptionalEvent = UnguardedEvent | undefined;
type EventOrBuilder = UnguardedEvent | ((current: Order) => OptionalEvent | Promise<OptionalEvent>);

/**
 * Commits an event. The order is loaded again only after a conflict. Every change renews the lease, so the service has
 * the full lease to answer an item's request.
 */
function commitChange(
  job: SendJob,
  eventOrBuilder: EventOrBuilder,
  extra: EventDecision['extra'] = {},
): Promise<ChangeOutcome> {
  const { context } = job;
  const decide = async (current: Order): Promise<ChangeDecision> => {
    const event = typeof eventOrBuilder === 'function' ? await eventOrBuilder(current) : eventOrBuilder;
    return event === undefined ? NOT_DUE : { event, extra: { ...extra, leaseMs: context.leaseMs } };
  };
  return runInTurn(job, () => changeOrder(context, job.order.id, decide, job.latestOrder));
}

async function runInTurn(job: SendJob, commit: () => Promise<ChangeOutcome>): Promise<ChangeOutcome> {
  const change = job.lastChange.then(commit);
  job.lastChange = change.catch(() => undefined);
  const outcome = await change;
  if (outcome.order !== undefined && outcome.order.version > job.latestOrder.version)
    job.latestOrder = outcome.order;
  return outcome;
}

function changeUntilCommitted(job: SendJob, eventOrBuilder: EventOrBuilder): Promise<ChangeOutcome> {
  return retryUntilSuccessful(job.context, () => commitChange(job, eventOrBuilder));
}

/**
 * Repeats an operation until it succeeds, so that no outcome is lost while the database is down. If the process ends
 * first, the worker that takes over the order marks the sent items as `UNKNOWN`.
 */
async function retryUntilSuccessful<T>(
  { log, sendingSignal }: SendingContext,
  operation: () => Promise<T>,
): Promise<T> {
  for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, 2_000)) {
    try {
      return await operation();
    } catch (err) {
      log.error({ err }, 'saving the outcome of a request failed, will retry');
      if (sendingSignal.aborted) throw err;
      await sleep(waitMs);
    }
  }
}
