import { setTimeout as sleep } from 'node:timers/promises';
import type { Vault } from '../accounts/vault.ts';
import type { ServiceClient } from '../client/client.ts';
import { ServiceError } from '../client/errors.ts';
import type { Secret } from '../client/secret.ts';
import type { Log } from '../log.ts';
import { type ChangeOutcome, changeOrder, type Decision } from './change.ts';
import { isOver } from './clock.ts';
import { ACCOUNT_GONE, rulesChanged } from './decide.ts';
import { jobsAfterOutcome } from './jobs.ts';
import { afterDoubt, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { OrderTask, Sent } from './order-task.ts';
import type { OrderStore } from './ports.ts';
import { inputOwner, resultOwner } from './request.ts';
import { resultOfAnswer, resultOfError, whatToDo } from './result.ts';
import { stopEarlier } from './stop.ts';
import { taskNamed } from './tasks.ts';

export interface ExecuteDeps {
  readonly store: OrderStore;
  readonly vault: Vault;
  readonly now: () => Date;
  readonly log: Log;
  /** The client that carries an account's credential, or undefined when the account is gone. */
  readonly clientFor: (accountId: string) => Promise<ServiceClient | undefined>;
  /** Told that the service has accepted an account's credential. */
  readonly accepted: (accountId: string) => Promise<void>;
  /** Names this process among all that share the database; new at every start. */
  readonly workerId: string;
  /** How long this worker may be silent before its order is taken for abandoned; {@link LEASE_MS} when left out. */
  readonly leaseMs?: number;
  /** Told of every request to the service: task, outcome, seconds. */
  readonly observe: (task: string, outcome: string, seconds: number) => void;
}

/** How long a worker may be silent before its order is taken for abandoned. */
export const LEASE_MS = 20_000;
/** Slack is told that an order is under way when it takes longer than this; mostly the outcome is there before. */
const SLOW_MS = 1_000;
/** A job that comes earlier than this, in milliseconds, is not waited for. */
const EARLY_MS = 1_000;
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
}

/** Changes the order of a claim, without reading it anew when nobody else has changed it. */
async function change(worker: Worker, decide: (order: Order) => Decision): Promise<ChangeOutcome> {
  const outcome = await changeOrder(worker, worker.latest.id, decide, worker.latest);
  // Items are sent side by side: answers may come in another sequence than changes.
  if (outcome.order !== undefined && outcome.order.version > worker.latest.version)
    worker.latest = outcome.order;
  return outcome;
}

/** Another worker has the order, or its state has moved on: nothing may be sent. */
class ClaimLost extends Error {
  override readonly name = 'ClaimLost';
}

/**
 * Carries an approved order out: claims it, sends one request an item, and commits what became of each.
 * Returns without doing anything when the order is not approved (any more).
 * @param signal aborts requests under way at shutdown; what was sent becomes `UNKNOWN`
 * @param known the order as its approval left it, if that was just now
 */
export async function executeOrder(
  deps: ExecuteDeps,
  orderId: string,
  signal: AbortSignal,
  known?: Order,
): Promise<void> {
  const { leaseMs = LEASE_MS } = deps;
  const claim = async (order: Order): Promise<Decision> => {
    if (order.state !== 'APPROVED') return { refusal: 'not approved' };
    if (!(await isTime(deps, order))) return { refusal: 'it waits for its time' };
    const changed = rulesChanged(order);
    // Nothing is stopped for what it was like before: a refusal has it read.
    if (changed !== undefined)
      return order === known ? { refusal: changed } : { event: { type: 'stopped', summary: changed } };
    const leaseUntil = new Date(deps.now().getTime() + leaseMs);
    // Named by the version too: a process that lost an order and claims it again is another worker. What its
    // first go still has to say must not touch what the second one sends.
    const workerId = `${deps.workerId}/${order.version}`;
    return { event: { type: 'claimed', workerId, leaseUntil }, jobs: [] };
  };
  const claimed = await changeOrder(deps, orderId, claim, known);
  if (!claimed.ok || claimed.order.claim === undefined) return;

  const { workerId } = claimed.order.claim;
  const worker: Worker = { ...deps, workerId, latest: claimed.order };
  const heartbeat = setInterval(() => {
    deps.store
      .extendLease(orderId, workerId, new Date(deps.now().getTime() + leaseMs))
      .catch((err: unknown) => deps.log.warn({ err, orderId }, 'extending the lease of an order'));
  }, leaseMs / HEARTBEATS);
  const slow = setTimeout(() => {
    deps.store
      .enqueue([{ queue: 'order.show', data: { orderId } }])
      .catch((err: unknown) => deps.log.warn({ err, orderId }, 'having an order shown'));
  }, SLOW_MS);
  try {
    await sendItems(worker, claimed.order, signal);
    await handOn(worker);
  } finally {
    clearInterval(heartbeat);
    clearTimeout(slow);
  }
}

function isDue({ state, notBefore }: OrderItem, now: Date): boolean {
  return state === 'WAITING' && (notBefore === undefined || isOver(notBefore, now));
}

/**
 * Whether an item may go out. A job comes a little early where the database's clock is ahead of ours: that is waited
 * for. Far too early, the order is left to recovery, which goes by our clock.
 */
async function isTime({ now }: ExecuteDeps, order: Order): Promise<boolean> {
  const waiting = order.items.filter(({ state }) => state === 'WAITING');
  const someIsDue = () => waiting.length === 0 || waiting.some((item) => isDue(item, now()));
  if (someIsDue()) return true;
  const first = Math.min(...waiting.map(({ notBefore }) => notBefore?.getTime() ?? 0));
  const earlyMs = first - now().getTime();
  if (earlyMs > EARLY_MS) return false;
  await sleep(earlyMs);
  return someIsDue();
}

async function sendItems(deps: Worker, order: Order, signal: AbortSignal): Promise<void> {
  const task = taskNamed(order.task);
  const due = order.items.filter((item) => isDue(item, deps.now()));
  let means: Means | undefined;
  try {
    means = await meansOf(deps, order);
  } catch (error) {
    deps.log.error({ err: error, orderId: order.id }, 'preparing the requests of an order');
    for (const item of due) {
      const outcome = outcomeOfError(deps, task, order, item, error, false);
      await commitOutcome(deps, order, item, outcome, signal);
    }
    return;
  }
  if (means === undefined) {
    await keepTrying(deps, signal, () =>
      change(deps, () => ({ event: { type: 'stopped', summary: ACCOUNT_GONE } })),
    );
    return;
  }
  const { client, secret } = means;
  const next = due.values();
  const sendInTurn = async () => {
    for (const item of next) {
      if (signal.aborted) return;
      await sendItem(deps, task, order, item, client, secret, signal);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_ITEMS, due.length) }, sendInTurn));
}

/** What every request of an order needs. */
interface Means {
  readonly client: ServiceClient;
  readonly secret: Secret | undefined;
}

/**
 * @returns undefined when the account is gone
 * @throws when what is sealed cannot be opened, or the database fails
 */
async function meansOf(deps: ExecuteDeps, order: Order): Promise<Means | undefined> {
  const client = await deps.clientFor(order.account.id);
  if (client === undefined) return undefined;
  const sealed = order.hasSecretInput ? await deps.store.sealedInput(order.id) : undefined;
  return { client, secret: sealed === undefined ? undefined : deps.vault.open(sealed, inputOwner(order)) };
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
  const startedAt = performance.now();
  let sent = false;
  const beforeSend = async () => {
    const marked = await change(deps, () => ({
      event: { type: 'sending', workerId: deps.workerId, n: item.n },
    }));
    if (!marked.ok) {
      if (marked.earlier !== undefined) await stopEarlier(deps, order.id);
      throw new ClaimLost(marked.refusal);
    }
    sent = true;
  };
  let outcome: Outcome;
  try {
    const answer = await task.send(client, {
      input: order.input,
      name: item.name,
      secret,
      ctid: item.ctid,
      signal,
      beforeSend,
    });
    outcome = {
      event: { type: 'answered', n: item.n, outcome: 'SUCCEEDED', result: resultOfAnswer(answer, task) },
      answer,
    };
  } catch (error) {
    if (error instanceof ClaimLost) return;
    if (!(error instanceof ServiceError)) {
      deps.log.error({ err: error, orderId: order.id, ctid: item.ctid, sent }, 'carrying out an order');
    }
    outcome = outcomeOfError(deps, task, order, item, error, sent);
  }
  const { event } = outcome;
  const ended = event.type === 'answered' ? event.outcome : event.type;
  deps.observe(task.name, ended, (performance.now() - startedAt) / 1_000);
  const result = event.type === 'answered' ? event.result : undefined;
  deps.log.info(
    { orderId: order.id, ctid: item.ctid, task: task.name, ended, result },
    'request to the service ended',
  );
  await commitOutcome(deps, order, item, outcome, signal);
  if (outcome.answer !== undefined) await deps.accepted(order.account.id);
}

type Answered = OrderEvent & { readonly type: 'answered' };

/** How a try to carry an item out ended. */
interface Outcome {
  readonly event: Answered | (OrderEvent & { readonly type: 'held_back' });
  /** Of an item that was not carried out: its end, should it have been given up meanwhile. */
  readonly end?: Answered;
  readonly answer?: Sent;
}

/** @param sent the item's request may have left */
function outcomeOfError(
  deps: ExecuteDeps,
  task: OrderTask,
  order: Order,
  item: OrderItem,
  error: unknown,
  sent: boolean,
): Outcome {
  const { n } = item;
  const todo = whatToDo(error, task, item.attempts + 1, sent);
  const answered = (outcome: 'FAILED' | 'UNKNOWN'): Answered => {
    const result = resultOfError(error, outcome, order.account);
    // That the last request was not carried out says nothing about the one before it.
    const isOpen = outcome === 'FAILED' && item.result?.inDoubt === true;
    return {
      type: 'answered',
      n,
      ...(isOpen
        ? { outcome: 'UNKNOWN', result: { ...result, summary: afterDoubt(result.summary) } }
        : { outcome, result }),
      ...(sent ? {} : { givenUpBy: deps.workerId }),
    };
  };
  if (todo.kind === 'over') return { event: answered(todo.outcome) };
  const { why, inDoubt = item.result?.inDoubt ?? false } = todo;
  return {
    event: {
      type: 'held_back',
      workerId: deps.workerId,
      n,
      notBefore: new Date(deps.now().getTime() + todo.afterMs),
      why,
      ...(inDoubt ? { doubt: IN_DOUBT } : {}),
    },
    ...(inDoubt || !sent ? {} : { end: answered('FAILED') }),
  };
}

const IN_DOUBT = 'The service did not answer. It is sent again, which does no harm.';

/** What an outcome is to its item as that stands by now: it may have been given up, or settled, in between. */
function eventFor(current: Order, { event, end }: Outcome): OrderEvent {
  const item = current.items.find(({ n }) => n === event.n);
  const isGivenUp = item?.state !== 'SENT' && item?.state !== 'WAITING';
  const said = event.type === 'held_back' && isGivenUp ? (end ?? event) : event;
  if (said.type === 'held_back' || said.outcome === 'UNKNOWN' || said.givenUpBy !== undefined) return said;
  const { n, outcome, result } = said;
  return item?.result?.settledBy === undefined ? said : { type: 'answered_late', n, outcome, result };
}

async function commitOutcome(
  deps: Worker,
  order: Order,
  item: OrderItem,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const secret = outcome.answer?.secret;
  const extra =
    secret === undefined
      ? {}
      : {
          revealable: {
            n: item.n,
            sealed: deps.vault.seal(secret, resultOwner(order, item.n)),
            expiresAt: new Date(deps.now().getTime() + REVEAL_MS),
          },
        };
  const jobs = jobsAfterOutcome(order, outcome.answer === undefined ? [] : [item.n]);
  await keepTrying(deps, signal, () =>
    change(deps, (current) => ({ event: eventFor(current, outcome), extra, jobs })),
  );
}

/** Items that wait for their `notBefore` go on in another claim; the order is given back until then. */
async function handOn(worker: Worker): Promise<void> {
  // Nobody else makes an item of this claim wait again.
  if (worker.latest.items.every((item) => item.state !== 'WAITING')) return;
  await change(worker, (order) => {
    const waiting = order.items.filter((item) => item.state === 'WAITING');
    if (order.claim?.workerId !== worker.workerId || waiting.length === 0)
      return { refusal: 'nothing to hand on' };
    const first = Math.min(...waiting.map((item) => item.notBefore?.getTime() ?? worker.now().getTime()));
    return {
      event: { type: 'released' },
      jobs: [
        { queue: 'order.execute', data: { orderId: order.id }, startAfter: new Date(first) },
        // Its card says until when it waits, and offers to stop it.
        { queue: 'order.show', data: { orderId: order.id } },
      ],
    };
  });
}

/**
 * An outcome in hand must not be lost because the database is away: tried again until it is kept or the
 * process ends (then recovery makes the order `UNKNOWN`).
 */
async function keepTrying<T>(deps: ExecuteDeps, signal: AbortSignal, commit: () => Promise<T>): Promise<T> {
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
