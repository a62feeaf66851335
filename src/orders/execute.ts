import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { UnknownKeyError, type Vault } from '../accounts/vault.ts';
import type { Log } from '../log.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Envelope } from '../service/envelope.ts';
import { ServiceError } from '../service/errors.ts';
import type { Secret } from '../service/secret.ts';
import { type ChangeOutcome, changeOrder, type Decision } from './change.ts';
import { isOver } from './clock.ts';
import {
  type ItemResult,
  inputOfItem,
  type Order,
  type OrderEvent,
  type OrderItem,
  waitingItems,
} from './order.ts';
import type { CompletedRequest, OrderTask } from './order-task.ts';
import { type AnsweredEvent, eventOfOutcome, lostRequest, type SendOutcome } from './outcome.ts';
import { checkMembers, type FindAccount, type Party, partiesOf } from './parties.ts';
import type { Directory, OrderStore } from './ports.ts';
import { inputOwner, itemInputOwner, resultOwner } from './request.ts';
import {
  decideRetry,
  fullResponse,
  RetryRefusedError,
  resultOfError,
  resultOfResponse,
  SuspendedError,
} from './result.ts';
import { beforeWave, sendWaves } from './send-waves.ts';
import { transition } from './state-machine.ts';
import { stopEarlier } from './stop.ts';
import { taskNamed } from './tasks.ts';
import { nextItems, reasonToPause } from './waves.ts';

export interface ExecuteDeps {
  readonly store: OrderStore;
  readonly vault: Vault;
  readonly now: () => Date;
  readonly log: Log;
  /** The client that carries an account's credential, or undefined when the account is gone. */
  readonly clientFor: (accountId: string) => Promise<ServiceClient | undefined>;
  readonly findAccount: FindAccount;
  readonly directory: Pick<Directory, 'membership'>;
  /** Told that the service has accepted an account's credential. */
  readonly accepted: (accountId: string) => Promise<void>;
  /** Names this process among all that share the database; new at every start. */
  readonly workerId: string;
  /** How long this worker may be silent before its order is taken for abandoned; {@link LEASE_MS} when left out. */
  readonly leaseMs?: number;
  /** How long after its mark a request may leave; {@link SEND_WITHIN_MS} when left out. */
  readonly sendWithinMs?: number;
  /**
   * Tells how long that took, in milliseconds since 1970; `Date.now` when left out. No monotonic clock: a virtual
   * machine that is frozen stops those too.
   */
  readonly wallClock?: () => number;
  /** Told of every request to the service: task, outcome, seconds. */
  readonly observe: (task: string, outcome: string, seconds: number) => void;
}

/** How long a worker may be silent before its order is taken for abandoned. */
export const LEASE_MS = 20_000;
/** What has not left so long after its mark does not leave: by the end of the lease somebody else may settle it. */
export const SEND_WITHIN_MS = LEASE_MS / 4;
/** Signs of life within one lease. */
const HEARTBEATS = 4;
/** Requests of one order under way at once. */
const PARALLEL_ITEMS = 4;
/** A secret result can be looked at for this long. */
const REVEAL_MS = 60 * 60_000;

/** One claim of an order. */
interface Worker extends ExecuteDeps {
  /** The order as this worker's last change left it. */
  latest: Order;
  /** Ends when the last change that was begun has ended: the items of an order are sent side by side, and changed in turn. */
  turn: Promise<unknown>;
  readonly people: readonly Party[];
}

/**
 * Changes the order of a claim, without reading it anew when nobody else has changed it. A change is a sign of life: what
 * is marked as sent has a whole lease before it.
 */
async function change(worker: Worker, decide: (order: Order) => Decision): Promise<ChangeOutcome> {
  const { leaseMs = LEASE_MS } = worker;
  const alive = (order: Order): Decision => {
    const decision = decide(order);
    return 'refusal' in decision ? decision : { ...decision, extra: { ...decision.extra, leaseMs } };
  };
  const changing = worker.turn.then(() => changeOrder(worker, worker.latest.id, alive, worker.latest));
  worker.turn = changing.catch(() => undefined);
  const outcome = await changing;
  // Items are sent side by side: answers may come in another sequence than changes.
  if (outcome.order !== undefined && outcome.order.version > worker.latest.version)
    worker.latest = outcome.order;
  return outcome;
}

const NOT_DUE: Decision = { refusal: { code: 'not_due' } };

function warnOfMembership({ log }: ExecuteDeps, orderId: string, userId: string): void {
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
 * Carries an approved order out: claims it, sends one request an item, and commits what became of each.
 * Returns without doing anything when the order is not approved (any more). Where it cannot go out at this moment, it is
 * put off.
 * @param signal aborts requests under way at shutdown; what was sent becomes `UNKNOWN`
 */
export async function executeOrder(deps: ExecuteDeps, orderId: string, signal: AbortSignal): Promise<void> {
  const { leaseMs = LEASE_MS } = deps;
  let people: readonly Party[] = [];
  let prepared: PreparedExecution | undefined;
  let isPutOff = false;
  const putOff = (): Decision => {
    isPutOff = true;
    return NOT_DUE;
  };
  const claim = async (order: Order): Promise<Decision> => {
    isPutOff = false;
    if (order.state !== 'APPROVED') return NOT_DUE;
    const waiting = nextItems(order);
    if (waiting.length > 0 && !waiting.some((item) => isDue(item, deps.now()))) return NOT_DUE;
    const blocked = beforeWave(order);
    if (blocked !== undefined) return blocked;
    ({ people } = await partiesOf(deps.findAccount, order));
    const members = await checkMembers(deps.directory, people);
    if (members.kind === 'left') return { event: { type: 'stopped', summary: members.summary } };
    if (members.kind === 'unknown') {
      warnOfMembership(deps, orderId, members.userId);
      return putOff();
    }
    prepared = await prepare(deps, order);
    // A replica that knows the key carries it out, or this one does once it knows it.
    if (prepared.error instanceof UnknownKeyError) return putOff();
    // Of each claim its own: a process that lost an order and claims it again is another worker. What its first go
    // still has to say must not touch what the second one sends. A database that loses commits repeats versions.
    const workerId = `${deps.workerId}/${randomUUID()}`;
    return { event: { type: 'claimed', workerId }, extra: { leaseMs } };
  };
  const claimed = await changeOrder(deps, orderId, claim);
  if (isPutOff) await deps.store.putOff(orderId);
  if (!claimed.ok || claimed.order.claim === undefined || prepared === undefined) return;

  const { workerId } = claimed.order.claim;
  const worker: Worker = { ...deps, workerId, latest: claimed.order, turn: Promise.resolve(), people };
  const heartbeat = setInterval(() => {
    deps.store
      .extendLease(orderId, workerId, leaseMs)
      .catch((err: unknown) => deps.log.warn({ err, orderId }, 'extending the lease of an order'));
  }, leaseMs / HEARTBEATS);
  try {
    await sendItems(worker, claimed.order, prepared, signal);
    await release(worker);
  } finally {
    clearInterval(heartbeat);
  }
}

function isDue({ state, notBefore }: OrderItem, now: Date): boolean {
  return state === 'WAITING' && (notBefore === undefined || isOver(notBefore, now));
}

async function sendItems(
  deps: Worker,
  order: Order,
  { context, error }: PreparedExecution,
  signal: AbortSignal,
): Promise<void> {
  const task = taskNamed(order.task);
  const dueIn = (current: Order) => nextItems(current).filter((item) => isDue(item, deps.now()));
  const due = dueIn(order);
  if (error !== undefined) {
    deps.log.error({ err: error, orderId: order.id }, 'preparing the requests of an order');
    for (const item of due) {
      const outcome = outcomeOfError(deps, task, order, item, error);
      await commitOutcome(deps, order, item, outcome, signal);
    }
    return;
  }
  if (context === undefined) {
    await retryUntilCommitted(deps, signal, () =>
      change(deps, () => ({ event: { type: 'stopped', summary: { code: 'account_gone' } } })),
    );
    return;
  }
  const { client } = context;
  const send = async (items: readonly OrderItem[]) => {
    const next = items.values();
    const sendInTurn = async () => {
      for (const item of next) {
        if (signal.aborted || reasonToPause(deps.latest) !== undefined) return;
        if (!(await areMembersPresent(deps, signal))) return;
        await sendItem(deps, task, order, item, client, secretOf(context, item), signal);
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL_ITEMS, items.length) }, sendInTurn));
  };
  if (order.bulk === undefined) return send(due);
  await sendWaves({
    workerId: deps.workerId,
    order: () => deps.latest,
    dueIn,
    send,
    change: (decide) => retryUntilCommitted(deps, signal, () => change(deps, decide)),
    signal,
  });
}

/**
 * Looked at before each item, for an order of many names takes long. Once somebody has left, what has not been sent is
 * stopped; while Slack does not tell, it is left for another claim.
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

/** What every request of an order needs. */
interface ExecutionContext {
  readonly client: ServiceClient;
  readonly secret: Secret | undefined;
  /** Of an order whose items have inputs of their own: their secrets by number. */
  readonly secrets: ReadonlyMap<number, Secret>;
}

function secretOf({ secret, secrets }: ExecutionContext, item: OrderItem): Secret | undefined {
  return secrets.get(item.n) ?? secret;
}

/** What came of gathering that. Neither a context nor an error: the account is gone. */
interface PreparedExecution {
  readonly context?: ExecutionContext | undefined;
  readonly error?: unknown;
}

async function prepare(deps: ExecuteDeps, order: Order): Promise<PreparedExecution> {
  try {
    return { context: await executionContext(deps, order) };
  } catch (error) {
    return { error };
  }
}

/**
 * @returns undefined when the account is gone
 * @throws when what is sealed cannot be opened, or the database fails
 */
async function executionContext(deps: ExecuteDeps, order: Order): Promise<ExecutionContext | undefined> {
  const client = await deps.clientFor(order.account.id);
  if (client === undefined) return undefined;
  const sealed = order.hasSecretInput ? await deps.store.sealedInput(order.id) : undefined;
  const secret = sealed === undefined ? undefined : deps.vault.open(sealed, inputOwner(order));
  return { client, secret, secrets: await itemSecrets(deps, order) };
}

/** @throws when one of them cannot be opened */
async function itemSecrets(deps: ExecuteDeps, order: Order): Promise<ReadonlyMap<number, Secret>> {
  if (order.bulk === undefined || !order.hasSecretInput) return new Map();
  const sealed = await deps.store.sealedItemInputs(order.id);
  return new Map(
    waitingItems(order).flatMap((item) => {
      const kept = sealed.get(item.n);
      return kept === undefined
        ? []
        : [[item.n, deps.vault.open(kept, itemInputOwner(order, item))] as const];
    }),
  );
}

async function sendItem(
  deps: Worker,
  task: OrderTask,
  order: Order,
  item: OrderItem,
  client: ServiceClient,
  secret: Secret | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { wallClock = Date.now, sendWithinMs = SEND_WITHIN_MS } = deps;
  const startedAt = performance.now();
  const go: SendResult = { sent: undefined, mayBeDone: false };
  let markedAt = 0;
  const beforeSend = async (refusal?: ServiceError) => {
    go.mayBeDone = false;
    // Before the commit: the process may be suspended during it.
    markedAt = wallClock();
    const again = refusal === undefined ? {} : { again: 'session_ended' as const };
    const marked = await change(deps, () => ({
      event: { type: 'sending', workerId: deps.workerId, n: item.n, ...again },
    }));
    if (!marked.ok) {
      if (marked.refusal.code === 'earlier_order') await stopEarlier(deps, order.id);
      throw refusal === undefined ? new ClaimLostError(marked.refusal.code) : new RetryRefusedError(refusal);
    }
    go.sent = marked.order.items.find(({ n }) => n === item.n);
    go.mayBeDone = true;
  };
  const beforeFirstByte = () => {
    const sinceMs = wallClock() - markedAt;
    if (sinceMs > sendWithinMs)
      throw new SuspendedError(`${sinceMs} ms have passed since the mark of sending`);
  };
  let outcome: Outcome;
  try {
    const answer = await task.send(client, {
      input: inputOfItem(order, item),
      name: item.name,
      secret,
      ctid: item.ctid,
      signal,
      beforeSend,
      beforeFirstByte,
    });
    outcome = {
      event: { type: 'answered', n: item.n, outcome: 'SUCCEEDED', result: resultOfResponse(answer, task) },
      sent: go.sent,
      answer,
      said: answer.envelope,
    };
  } catch (error) {
    if (error instanceof ClaimLostError) return;
    if (!(error instanceof ServiceError)) {
      const { sent, mayBeDone } = go;
      const about = { orderId: order.id, ctid: item.ctid, sent: sent !== undefined, mayBeDone };
      deps.log.error({ err: error, ...about }, 'carrying out an order');
    }
    outcome = outcomeOfError(deps, task, order, item, error, go);
    if (error instanceof ServiceError && error.envelope !== undefined)
      outcome = { ...outcome, said: error.envelope };
  }
  const { event } = outcome;
  const ended = event.type === 'answered' ? event.outcome : event.type;
  deps.observe(task.name, ended, (performance.now() - startedAt) / 1_000);
  // What the answer says of people and things is kept with the order and not in the log.
  const { data: _data, ...result }: Partial<ItemResult> = event.type === 'answered' ? event.result : {};
  deps.log.info(
    { orderId: order.id, ctid: item.ctid, task: task.name, ended, result },
    'request to the service ended',
  );
  await commitOutcome(deps, order, item, outcome, signal);
  if (outcome.answer !== undefined) await deps.accepted(order.account.id);
}

/** A go at an item. */
interface SendResult {
  /** The item as its last request was marked; undefined while none may have left. */
  sent: OrderItem | undefined;
  /** Nothing proves that this request was not carried out. */
  mayBeDone: boolean;
}

/** How a try to carry an item out ended, with the answer that was good. */
interface Outcome extends SendOutcome {
  readonly answer?: CompletedRequest;
  /** What the service answered, whatever it means. */
  readonly said?: Envelope;
}

function outcomeOfError(
  deps: ExecuteDeps,
  task: OrderTask,
  order: Order,
  item: OrderItem,
  error: unknown,
  { sent, mayBeDone }: Readonly<SendResult> = { sent: undefined, mayBeDone: false },
): Outcome {
  const { n } = item;
  const todo = decideRetry(error, task, sent?.attempts ?? item.attempts + 1, mayBeDone);
  const answered = (outcome: 'FAILED' | 'UNKNOWN'): AnsweredEvent => {
    const result = resultOfError(error, outcome, order.account);
    // That the last request was not carried out says nothing about the one before it.
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
      ...(sent === undefined ? { givenUpBy: deps.workerId } : {}),
    };
  };
  if (todo.kind === 'over') return { event: answered(todo.outcome), sent };
  const { why, inDoubt = item.result?.inDoubt ?? false } = todo;
  return {
    event: {
      type: 'retry_scheduled',
      workerId: deps.workerId,
      n,
      notBefore: new Date(deps.now().getTime() + todo.afterMs),
      why,
      ...(inDoubt ? { doubt: { code: 'sent_again' } as const } : {}),
    },
    sent,
    ...(sent === undefined ? {} : { end: answered(inDoubt ? 'UNKNOWN' : 'FAILED') }),
  };
}

async function commitOutcome(
  deps: Worker,
  order: Order,
  item: OrderItem,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const { said } = outcome;
  const secret = outcome.answer?.secret;
  const extra = {
    ...(said === undefined ? {} : { answer: { n: item.n, answer: fullResponse(said) } }),
    ...(secret === undefined
      ? {}
      : {
          revealable: {
            n: item.n,
            sealed: deps.vault.seal(secret, resultOwner(order, item.n)),
            expiresAt: new Date(deps.now().getTime() + REVEAL_MS),
          },
        }),
  };
  const about = { orderId: order.id, ctid: item.ctid };
  await retryUntilCommitted(deps, signal, async () => {
    let event: OrderEvent | undefined;
    const kept = await change(deps, (current) => {
      event = eventOfOutcome(current, outcome);
      return { event, extra };
    });
    if (kept.order === undefined) await recommitOutcome(deps, outcome);
    else if (kept.ok && event?.type === 'invalidated')
      deps.log.error(about, 'the database has lost that this was sent');
  });
}

/** The database knows nothing of the order any more: it is written again as far as this worker knows it. */
async function recommitOutcome(worker: Worker, outcome: Outcome): Promise<void> {
  const { event, sent, end } = outcome;
  const said = event.type === 'answered' ? event : end;
  if (sent === undefined || said === undefined) return;
  const lost = transition(worker.latest, lostRequest(said, sent), worker.now());
  const { id } = worker.latest;
  worker.log.error({ orderId: id, ctid: sent.ctid }, 'the database has lost an order that was sent');
  if (!lost.ok) return;
  const { order, log } = lost;
  const first = await worker.store.create(order, undefined, log);
  if (first === undefined) return;
  // Its command was delivered again, and is another order by now.
  const second =
    first.conflictingOrderId === id
      ? first
      : await worker.store.create({ ...order, deliveryId: `lost:${id}` }, undefined, log);
  if (second !== undefined)
    throw new Error(`writing order ${id} again: ${second.conflictingOrderId} is there`);
}

/** Items that wait for their `notBefore` go on in another claim; the order is given back until then. */
async function release(worker: Worker): Promise<void> {
  // Nobody else makes an item of this claim wait again.
  if (waitingItems(worker.latest).length === 0) return;
  await change(worker, (order) =>
    order.claim?.workerId === worker.workerId && waitingItems(order).length > 0
      ? { event: { type: 'released' } }
      : NOT_DUE,
  );
}

/**
 * An outcome in hand must not be lost because the database is away: tried again until it is kept or the
 * process ends (then whoever takes the order over makes it `UNKNOWN`).
 */
async function retryUntilCommitted<T>(
  deps: ExecuteDeps,
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
