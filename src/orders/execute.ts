import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Sealed, UnknownKeyError, type Vault, VaultError } from '../accounts/vault.ts';
import { HOUR_MS } from '../lib/duration.ts';
import type { HeldCode } from '../mandates/codes.ts';
import { clearForMandate } from '../mandates/sending.ts';
import type { ServiceClient } from '../service/client.ts';
import { ServiceError } from '../service/errors.ts';
import type { Secret } from '../service/secret.ts';
import { beforeWave, type PauseEnd, sendWaves } from './bulk/send-waves.ts';
import { nextItems, reasonToPause } from './bulk/waves.ts';
import { type ChangeOutcome, changeOrder, type Decision, type UnguardedEvent } from './change-order.ts';
import {
  changedParts,
  isSameRequest,
  StatementChangedError,
  stopChanged,
  stopContradicted,
  stopIfChanged,
} from './check-statement.ts';
import { isOver } from './clock.ts';
import type { SendingContext } from './context.ts';
import { type ItemResult, type Order, type OrderItem, waitingItems } from './order.ts';
import type { CompletedRequest, OrderTask, OutgoingRequest } from './order-task.ts';
import { type AnsweredEvent, eventOfOutcome, lostRequest, type SendOutcome } from './outcome.ts';
import { accountGone, checkMembers, type Party, partiesOf } from './parties.ts';
import type { MandatedSending } from './ports.ts';
import { inputOwner, itemInputOwner, resultOwner } from './request-order.ts';
import {
  decideRetry,
  failedResponse,
  fullResponse,
  RetryRefusedError,
  resultOfError,
  resultOfResponse,
  SuspendedError,
} from './result.ts';
import { unsaltSecret } from './salted-secret.ts';
import { transition } from './state-machine.ts';
import { verifiedStatement } from './statement.ts';
import type { Statement, StatementItem } from './statement-shape.ts';
import { stopEarlier } from './stop.ts';
import type { SendingDifference } from './summary.ts';
import { taskNamed } from './tasks.ts';

/** How long a worker may be silent before its order is taken for abandoned. */
export const LEASE_MS = 20_000;
/**
 * A request that has not left this long after its mark is not sent, because after the lease somebody may settle the
 * order.
 */
export const SEND_WITHIN_MS = LEASE_MS / 4;
/** Extensions of the lease within one lease. */
const HEARTBEATS = 4;
/** Requests of one order under way at once. */
const PARALLEL_ITEMS = 4;
/** A secret result is kept for this long. */
const REVEAL_MS = HOUR_MS;

/** One claim of an order. */
interface Worker extends SendingContext {
  /** The order as this worker's last change left it. */
  latest: Order;
  /** Ends when the last change that was begun has ended: the items of an order are sent side by side, and changed in turn. */
  turn: Promise<unknown>;
  readonly people: readonly Party[];
}

/**
 * Changes the order of a claim. The order is read again only when somebody else has changed it. Every change renews the
 * lease, so that an item that is marked as sent has all of it to be answered in.
 */
async function change(
  worker: Worker,
  decide: (order: Order) => Decision | Promise<Decision>,
): Promise<ChangeOutcome> {
  const { leaseMs = LEASE_MS } = worker;
  const alive = async (order: Order): Promise<Decision> => {
    const decision = await decide(order);
    return 'refusal' in decision ? decision : { ...decision, extra: { ...decision.extra, leaseMs } };
  };
  const changing = worker.turn.then(() => changeOrder(worker, worker.latest.id, alive, worker.latest));
  worker.turn = changing.catch(() => undefined);
  const outcome = await changing;
  if (outcome.order !== undefined && outcome.order.version > worker.latest.version)
    worker.latest = outcome.order;
  return outcome;
}

const NOT_DUE: Decision = { refusal: { code: 'not_due' } };

function warnOfMembership({ log }: SendingContext, orderId: string, userId: string): void {
  log.warn(
    { orderId, userId },
    'Slack does not tell whether the people of an order are still members: it is not sent yet',
  );
}

/** Another worker has the order, or its state has moved on: nothing may be sent. */
class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/**
 * Carries an approved order out: claims it, sends one request per item, and commits the outcome of each. An order that
 * is not approved any more is left alone; one that cannot go out at this moment is put off.
 * @param known the order as it has just been read
 * @param signal aborts requests under way at shutdown; what was sent becomes `UNKNOWN`
 */
export async function executeOrder(deps: SendingContext, known: Order, signal: AbortSignal): Promise<void> {
  const { leaseMs = LEASE_MS } = deps;
  const orderId = known.id;
  let people: readonly Party[] = [];
  let prepared: PreparedExecution | undefined;
  /** What becomes of an order that cannot go out now. */
  let postponement: 'putOff' | 'leaveToOthers' | undefined;
  /** Of whom Slack does not tell whether they are still members. */
  let unknownMember: string | undefined;
  /** Until when an order of a mandate waits. */
  let later: { readonly order: Order; readonly until: Date } | undefined;
  let mandated: MandatedSending | undefined;
  const postpone = (how: typeof postponement): Decision => {
    postponement = how;
    return NOT_DUE;
  };
  const claim = async (order: Order): Promise<Decision> => {
    postponement = undefined;
    unknownMember = undefined;
    later = undefined;
    if (order.state !== 'APPROVED') return NOT_DUE;
    if (order.mandated !== undefined && order.mandated.sendAfter > deps.now()) return NOT_DUE;
    const waiting = nextItems(order);
    if (waiting.length > 0 && !waiting.some((item) => isDue(item, deps.now()))) return NOT_DUE;
    const blocked = await beforeWave(order, pauseEndOf(deps));
    if (blocked !== undefined) return blocked;
    const statement = verifiedStatement(order, deps.servicePlaces);
    if (statement === undefined) return stopChanged(deps, order);
    if (order.mandated !== undefined) {
      const cleared = await clearForMandate(deps, order);
      if (cleared.kind === 'held') return holdForMandate(deps, order, cleared.code);
      if (cleared.kind === 'later') {
        later = { order, until: cleared.until };
        return NOT_DUE;
      }
      mandated = cleared.sending;
    }
    // Both look the account up: asked at once, they share a statement.
    const [parties, preparing] = await Promise.all([
      partiesOf(deps.findAccount, order),
      prepare(deps, order, statement),
    ]);
    ({ people } = parties);
    prepared = preparing;
    const members = await checkMembers(deps.directory, people);
    if (members.kind === 'left') return { event: { type: 'stopped', summary: members.summary } };
    if (members.kind === 'unknown') {
      unknownMember = members.userId;
      return postpone('putOff');
    }
    // A replica that knows the key carries it out, or this one does once it knows it.
    if (prepared.error instanceof UnknownKeyError) return postpone('leaveToOthers');
    // Each claim has an id of its own. A process may lose an order and claim it again, and what comes late from the
    // first claim must not touch what the second one sends. The version does not tell the two apart: a database that
    // loses commits gives the same version twice.
    const workerId = `${deps.workerId}/${randomUUID()}`;
    return { event: { type: 'claimed', workerId }, extra: { leaseMs } };
  };
  const claimed = await changeOrder(deps, orderId, claim, known);
  if (unknownMember !== undefined) warnOfMembership(deps, orderId, unknownMember);
  if (postponement !== undefined) await deps.store[postponement](orderId);
  if (later !== undefined) await deps.store.reschedule(later.order, later.until);
  if (!claimed.ok || claimed.order.claim === undefined || prepared === undefined) return;

  const { workerId } = claimed.order.claim;
  const worker: Worker = { ...deps, workerId, latest: claimed.order, turn: Promise.resolve(), people };
  const heartbeat = setInterval(() => {
    deps.store
      .extendLease(orderId, workerId, leaseMs)
      .catch((err: unknown) => deps.log.warn({ err, orderId }, 'extending the lease of an order'));
  }, leaseMs / HEARTBEATS);
  try {
    await sendItems(worker, claimed.order, { ...prepared, mandated }, signal);
    await release(worker);
  } finally {
    clearInterval(heartbeat);
  }
}

/** The mandate does not let an order go. That is kept first, so that its mark is refused whatever happens in between. */
async function holdForMandate(
  { mandates, now }: SendingContext,
  { id }: Order,
  because: HeldCode,
): Promise<Decision> {
  // What its mandate does not renew any more needs nobody: another mandate may act for it.
  if (because !== 'mandate_ended') await mandates.hold(id, because, now());
  return { event: { type: 'stopped', summary: { code: 'mandate_held', because } } };
}

function isDue({ state, notBefore }: OrderItem, now: Date): boolean {
  return state === 'WAITING' && (notBefore === undefined || isOver(notBefore, now));
}

async function sendItems(
  worker: Worker,
  order: Order,
  { context, error, mandated }: PreparedExecution & { readonly mandated: MandatedSending | undefined },
  signal: AbortSignal,
): Promise<void> {
  const task = taskNamed(order.task);
  const dueIn = (current: Order) => nextItems(current).filter((item) => isDue(item, worker.now()));
  const due = dueIn(order);
  if (error !== undefined) {
    worker.log.error({ err: error, orderId: order.id }, 'preparing the requests of an order');
    for (const item of due) {
      const execution = { worker, task, order, item, signal };
      await commitOutcome(execution, outcomeOfError(execution, error, NOT_BEGUN));
    }
    return;
  }
  if (context === undefined) {
    await retryUntilCommitted(worker, signal, () =>
      change(worker, () => ({ event: { type: 'stopped', summary: accountGone(order) } })),
    );
    return;
  }
  const send = async (items: readonly OrderItem[]) => {
    const next = items.values();
    const sendInTurn = async () => {
      for (const item of next) {
        if (signal.aborted || reasonToPause(worker.latest) !== undefined) return;
        if (!(await areMembersPresent(worker, signal))) return;
        await sendItem({ worker, task, order, item, signal }, { ...context, mandated });
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL_ITEMS, items.length) }, sendInTurn));
  };
  if (order.bulk === undefined) return send(due);
  await sendWaves({
    stopIfChanged: () =>
      retryUntilCommitted(worker, signal, async () => {
        const current = await worker.store.load(order.id, 'system');
        if (current === undefined || isSameRequest(current, order)) return undefined;
        return stopIfChanged(worker, current);
      }),
    workerId: worker.workerId,
    pauseEnd: pauseEndOf(worker),
    order: () => worker.latest,
    dueIn,
    send,
    change: (decide) => retryUntilCommitted(worker, signal, () => change(worker, decide)),
    signal,
  });
}

function pauseEndOf({ settings, now }: SendingContext): PauseEnd {
  return async () => new Date(now().getTime() + (await settings()).approvalTtl);
}

/**
 * Whether the people of an order are still members. This is asked before each item, because an order of many names
 * takes long. When somebody has left, the items that have not been sent are stopped; while Slack does not tell, they
 * are left for another claim.
 */
async function areMembersPresent(worker: Worker, signal: AbortSignal): Promise<boolean> {
  const members = await checkMembers(worker.directory, worker.people);
  if (members.kind === 'unknown') warnOfMembership(worker, worker.latest.id, members.userId);
  if (members.kind !== 'left') return members.kind === 'members';
  const { summary } = members;
  await retryUntilCommitted(worker, signal, () =>
    change(worker, () => ({ event: { type: 'stopped', summary } })),
  );
  return false;
}

/** One item of a claimed order, about to be sent. */
interface ItemExecution {
  readonly worker: Worker;
  readonly task: OrderTask;
  readonly order: Order;
  readonly item: OrderItem;
  readonly signal: AbortSignal;
}

/** What every request of an order needs. */
interface ExecutionContext {
  readonly client: ServiceClient;
  /** What is sent, and nothing else. */
  readonly statement: Statement;
  /** By what stands for them in the statement. */
  readonly secrets: ReadonlyMap<string, Secret>;
}

/** The context of one request, with what its mark is checked by. */
interface RequestContext extends ExecutionContext {
  readonly mandated: MandatedSending | undefined;
}

/** The context, or why there is none. Both are undefined when the account is gone. */
interface PreparedExecution {
  readonly context?: ExecutionContext | undefined;
  readonly error?: unknown;
}

async function prepare(deps: SendingContext, order: Order, statement: Statement): Promise<PreparedExecution> {
  try {
    return { context: await executionContext(deps, order, statement) };
  } catch (error) {
    return { error };
  }
}

/**
 * @returns undefined when the account is gone
 * @throws when the credential is not of the stated account, what is sealed cannot be opened, or the database fails
 */
async function executionContext(
  deps: SendingContext,
  order: Order,
  statement: Statement,
): Promise<ExecutionContext | undefined> {
  const client = await deps.clientFor(order.account.id);
  if (client === undefined) return undefined;
  const { method, login, context } = order.account;
  if (!isDeepStrictEqual(client.account, { method, login, context }))
    throw new StatementChangedError(['account']);
  return { client, statement, secrets: await secretsOf(deps, order) };
}

/** @throws when one of them is not what was stated */
async function secretsOf(deps: SendingContext, order: Order): Promise<ReadonlyMap<string, Secret>> {
  const secrets = new Map<string, Secret>();
  const open = (hash: string, sealed: Sealed | undefined, owner: readonly string[]): void => {
    const secret = sealed && unsaltSecret(openSealed(deps.vault, sealed, owner), hash);
    if (secret === undefined) throw new StatementChangedError(['secret']);
    secrets.set(hash, secret);
  };
  if (order.secretHash !== undefined)
    open(order.secretHash, await deps.store.sealedInput(order.id), inputOwner(order));
  const items = waitingItems(order).filter(({ secretHash }) => secretHash !== undefined);
  if (items.length === 0) return secrets;
  const sealed = await deps.store.sealedItemInputs(order.id);
  for (const item of items)
    if (item.secretHash !== undefined) open(item.secretHash, sealed.get(item.n), itemInputOwner(order, item));
  return secrets;
}

/** @throws {UnknownKeyError | StatementChangedError} when it does not open: it was changed */
function openSealed(vault: Vault, sealed: Sealed, owner: readonly string[]): Secret {
  try {
    return vault.open(sealed, owner);
  } catch (error) {
    if (!(error instanceof VaultError) || error instanceof UnknownKeyError) throw error;
    throw new StatementChangedError(['secret'], { cause: error });
  }
}

async function sendItem(execution: ItemExecution, context: RequestContext): Promise<void> {
  const { worker, order } = execution;
  const startedAt = performance.now();
  const outcome = await requestItem(execution, context);
  if (outcome === undefined) return;
  reportOutcome(execution, outcome, (performance.now() - startedAt) / 1_000);
  await commitOutcome(execution, outcome);
  if (outcome.answer !== undefined) await worker.accepted(order.account.id);
}

/** @returns undefined when the claim was lost before the request left: the item belongs to another worker now */
async function requestItem(execution: ItemExecution, context: RequestContext): Promise<Outcome | undefined> {
  const { worker, task, order, item, signal } = execution;
  const { client, statement, secrets, mandated } = context;
  const progress: SendProgress = { sent: undefined, mayBeDone: false };
  try {
    const answer = await task.send(client, {
      item: statedItem(statement, item),
      replyTo: statement.replyTo,
      secrets,
      signal,
      ...markSending(execution, progress, mandated),
    });
    const result = resultOfResponse(answer, task);
    return {
      event: { type: 'answered', n: item.n, outcome: 'SUCCEEDED', result },
      sent: progress.sent,
      answer,
      said: fullResponse(answer.envelope),
    };
  } catch (error) {
    if (error instanceof ClaimLostError) return undefined;
    if (!(error instanceof ServiceError)) {
      const { sent, mayBeDone } = progress;
      const about = { orderId: order.id, ctid: item.ctid, sent: sent !== undefined, mayBeDone };
      worker.log.error({ err: error, ...about }, 'carrying out an order');
    }
    const outcome = outcomeOfError(execution, error, progress);
    const said = error instanceof ServiceError ? failedResponse(error) : undefined;
    return said === undefined ? outcome : { ...outcome, said };
  }
}

function statedItem({ items }: Statement, { n }: OrderItem): StatementItem {
  const item = items.find((each) => each.n === n);
  if (item === undefined) throw new StatementChangedError(['names']);
  return item;
}

/**
 * Reads an order anew right before a request of it leaves.
 * @throws {StatementChangedError} when its rows no longer give its statement
 */
async function assertUnchanged({ store, servicePlaces, latest }: Worker): Promise<void> {
  const order = await store.load(latest.id, 'system');
  if (order === undefined || isSameRequest(order, latest)) return;
  throw new StatementChangedError(
    changedParts(order, await store.history(order.id, 'system'), servicePlaces),
  );
}

/** Nothing more of an order is sent whose approvals are not signed as they have to be. */
function stopUnsigned(worker: Worker, differs: readonly SendingDifference[]): Promise<ChangeOutcome> {
  worker.log.error(
    { orderId: worker.latest.id, differs },
    'the approvals of an order are not signed as they have to be',
  );
  return change(worker, () => ({
    event: { type: 'stopped', summary: { code: 'not_signed', differs: [...differs] } },
  }));
}

/** Commits that an item is about to be sent, and does not send a request that is held up after that. */
function markSending(
  { worker, order, item }: ItemExecution,
  progress: SendProgress,
  mandated: MandatedSending | undefined,
): Pick<OutgoingRequest, 'beforeSend' | 'beforeFirstByte'> {
  const { wallClock = Date.now, sendWithinMs = SEND_WITHIN_MS } = worker;
  let markedAt = 0;
  return {
    async beforeSend(refusal) {
      progress.mayBeDone = false;
      // The rows of a file are read before each wave.
      if (order.bulk === undefined) await assertUnchanged(worker);
      // The clock is read before the commit, because the process may be suspended during it.
      markedAt = wallClock();
      const amount = mandated?.reservation.items[0]?.amount;
      const again = refusal === undefined ? {} : { again: 'session_ended' as const };
      const marked = await change(worker, async () => {
        // What a mandate has made goes out with the approvals of the mandate.
        const guard = await worker.signing.guardOf(mandated?.signedBy ?? order);
        if (guard === undefined) return NOT_DUE;
        return {
          guard,
          event: {
            type: 'sending',
            workerId: worker.workerId,
            n: item.n,
            ...again,
            ...(amount === undefined ? {} : { amount }),
          },
          ...(mandated === undefined ? {} : { extra: { mandated } }),
        };
      });
      if (!marked.ok) {
        if (marked.refusal.code === 'earlier_order') await stopEarlier(worker, order.id);
        if (marked.refusal.code === 'mandate_held' && !WAITS.has(marked.refusal.because)) {
          const { because } = marked.refusal;
          await change(worker, (current) => holdForMandate(worker, current, because));
        }
        if (marked.refusal.code === 'log_differs')
          await change(worker, (current) => stopContradicted(worker, current));
        if (marked.refusal.code === 'not_signed') await stopUnsigned(worker, marked.refusal.differs);
        throw refusal === undefined
          ? new ClaimLostError(marked.refusal.code)
          : new RetryRefusedError(refusal);
      }
      progress.sent = marked.order.items.find(({ n }) => n === item.n);
      progress.mayBeDone = true;
    },
    beforeFirstByte() {
      const sinceMs = wallClock() - markedAt;
      if (sinceMs > sendWithinMs)
        throw new SuspendedError(`${sinceMs} ms have passed since the mark of sending`);
    },
  };
}

/** What only has to wait, and is looked at again. */
const WAITS: ReadonlySet<HeldCode> = new Set<HeldCode>(['not_announced', 'day_full']);

function reportOutcome(
  { worker, task, order, item }: ItemExecution,
  { event }: Outcome,
  seconds: number,
): void {
  const ended = event.type === 'answered' ? event.outcome : event.type;
  worker.observe(task.name, ended, seconds);
  // The data of an answer names people and belongings. It is kept with the order, and not in the log.
  const { data: _data, ...result }: Partial<ItemResult> = event.type === 'answered' ? event.result : {};
  worker.log.info(
    { orderId: order.id, ctid: item.ctid, task: task.name, ended, result },
    'request to the service ended',
  );
}

/** How far an item's request has come. */
interface SendProgress {
  /** The item as its last request was marked; undefined while none may have left. */
  sent: OrderItem | undefined;
  /** Nothing proves that this request was not carried out. */
  mayBeDone: boolean;
}

const NOT_BEGUN: Readonly<SendProgress> = { sent: undefined, mayBeDone: false };

/** What became of one request, with the answer when it was good. */
interface Outcome extends SendOutcome {
  readonly answer?: CompletedRequest;
  /** What the service answered, whatever it means. */
  readonly said?: unknown;
}

function outcomeOfError(
  { worker, task, order, item }: ItemExecution,
  error: unknown,
  { sent, mayBeDone }: Readonly<SendProgress>,
): Outcome {
  const { n } = item;
  const decision = decideRetry(error, task, sent?.attempts ?? item.attempts + 1, mayBeDone);
  const answered = (outcome: 'FAILED' | 'UNKNOWN'): AnsweredEvent => {
    const result = resultOfError(error, outcome, order.account);
    // That the last request was not carried out proves nothing about the one before it.
    const isOpen = outcome === 'FAILED' && item.result?.inDoubt === true;
    return {
      type: 'answered',
      n,
      ...(isOpen
        ? {
            outcome: 'UNKNOWN',
            result: { ...result, summary: { code: 'earlier_unanswered', since: result.summary } },
          }
        : { outcome, result }),
      ...(sent === undefined ? { givenUpBy: worker.workerId } : {}),
    };
  };
  if (decision.kind === 'over') return { event: answered(decision.outcome), sent };
  const { why, inDoubt = item.result?.inDoubt ?? false } = decision;
  return {
    event: {
      type: 'retry_scheduled',
      workerId: worker.workerId,
      n,
      notBefore: new Date(worker.now().getTime() + decision.afterMs),
      why,
      ...(inDoubt ? { doubt: { code: 'sent_again' } as const } : {}),
    },
    sent,
    ...(sent === undefined ? {} : { end: answered(inDoubt ? 'UNKNOWN' : 'FAILED') }),
  };
}

async function commitOutcome(execution: ItemExecution, outcome: Outcome): Promise<void> {
  const { worker, order, item, signal } = execution;
  const { said } = outcome;
  const secret = outcome.answer?.secret;
  const extra = {
    ...(said === undefined ? {} : { answer: { n: item.n, answer: said } }),
    ...(secret === undefined
      ? {}
      : {
          revealable: {
            n: item.n,
            sealed: worker.vault.seal(secret, resultOwner(order, item.n)),
            expiresAt: new Date(worker.now().getTime() + REVEAL_MS),
          },
        }),
  };
  await retryUntilCommitted(worker, signal, async () => {
    let event: UnguardedEvent | undefined;
    const kept = await change(worker, (current) => {
      event = eventOfOutcome(current, outcome);
      return { event, extra };
    });
    if (kept.order === undefined) await recommitOutcome(worker, outcome);
    else if (kept.ok && event?.type === 'invalidated') {
      const about = { orderId: order.id, ctid: item.ctid };
      worker.log.error(about, 'the database has lost that this was sent');
    }
  });
}

/** Creates an order again that the database has lost, as far as this worker knows it. */
async function recommitOutcome(worker: Worker, outcome: Outcome): Promise<void> {
  const { event, sent, end } = outcome;
  const said = event.type === 'answered' ? event : end;
  if (sent === undefined || said === undefined) return;
  const lost = transition(worker.latest, lostRequest(said, sent), worker.now());
  const { id } = worker.latest;
  worker.log.error({ orderId: id, ctid: sent.ctid }, 'the database has lost an order that was sent');
  if (!lost.ok) return;
  const { order, log } = lost;
  const first = await worker.store.create({ order, log });
  if (first === undefined) return;
  // Slack has delivered the command again meanwhile, and its delivery id belongs to another order.
  const second =
    first.conflictingOrderId === id
      ? first
      : await worker.store.create({ order: { ...order, deliveryId: `lost:${id}` }, log });
  if (second !== undefined)
    throw new Error(`writing order ${id} again: ${second.conflictingOrderId} is there`);
}

/** Releases an order whose items wait for their `notBefore`. Another claim sends them then. */
async function release(worker: Worker): Promise<void> {
  // Only this worker schedules retries for items of its claim, so its own snapshot is enough.
  if (waitingItems(worker.latest).length === 0) return;
  await change(worker, (order) =>
    order.claim?.workerId === worker.workerId && waitingItems(order).length > 0
      ? { event: { type: 'released' } }
      : NOT_DUE,
  );
}

/**
 * Repeats a commit until the database takes it, because an outcome must not be lost while the database is away. When the
 * process ends before that, whoever takes the order over makes it `UNKNOWN`.
 */
async function retryUntilCommitted<T>(
  deps: SendingContext,
  signal: AbortSignal,
  commit: () => Promise<T>,
): Promise<T> {
  for (let wait = 100; ; wait = Math.min(wait * 2, 2_000)) {
    try {
      return await commit();
    } catch (err) {
      deps.log.error({ err }, 'keeping the outcome of a request; will try again');
      if (signal.aborted) throw err;
      await sleep(wait);
    }
  }
}
